// Weighted quantiles of vectors over the examples, by selection rather than by sorting.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace widemargin {

// The smallest value up to which the weights add up to `level`, and the weight strictly before it.
struct Quantile {
  double value = 0.0, before = 0.0;
};

class QuantileSearch {
 public:
  // A sample of n^(2/3) values brackets the quantile (Floyd and Rivest (1975)), so that one pass
  // over the others leaves few of them to select from.
  Quantile operator()(const double* values, const double* weights, std::int64_t count,
                      double level) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Quantile found;
    if (count > 4 * few) {
      const auto [low, high] = bracket(values, weights, count, level);
      if (within(values, weights, count, level, low, high, found)) return found;
    }
    within(values, weights, count, level, -infinity, infinity, found);
    return found;
  }

 private:
  static constexpr std::int64_t few = 64;  // values that are sorted
  struct Weighted {
    double value, weight;
  };
  static bool by_value(const Weighted& a, const Weighted& b) { return a.value < b.value; }

  // Four sums side by side: each addition waits for the one before.
  template <class Term>
  static double sum_of(std::int64_t count, Term&& term) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      s0 += term(i);
      s1 += term(i + 1);
      s2 += term(i + 2);
      s3 += term(i + 3);
    }
    for (; i < count; ++i) s0 += term(i);
    return (s0 + s1) + (s2 + s3);
  }

  // Quantiles of a sample, three standard errors of a share to both sides.
  std::pair<double, double> bracket(const double* values, const double* weights, std::int64_t count,
                                    double level) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto sampled = static_cast<std::int64_t>(std::cbrt(static_cast<double>(count) * count));
    const std::int64_t stride = count / sampled;
    double total = 0.0;
    inside_.clear();
    for (std::int64_t i = 0; i < count; i += stride) {
      if (weights[i] > 0.0) inside_.push_back({values[i], weights[i]});
      total += weights[i];
    }
    const double all = sum_of(count, [weights](std::int64_t i) { return weights[i]; });
    const double share = level / all, deviation = std::sqrt(std::max(share * (1.0 - share), 0.0));
    // Near an end of the range a share is as rough as a single value of the sample.
    const double error = (3.0 * deviation + 3.0 / std::sqrt(static_cast<double>(sampled))) /
                         std::sqrt(static_cast<double>(sampled));
    const bool from = share > error, to = share + error < 1.0;
    const double low = from ? select((share - error) * total, 0).value : -infinity;
    const double high = to ? select((share + error) * total, 0).value : infinity;
    return {low, high};
  }

  bool within(const double* values, const double* weights, std::int64_t count, double level,
              double low, double high, Quantile& found) {
    const double sum =
        sum_of(count, [=](std::int64_t i) { return values[i] < low ? weights[i] : 0.0; });
    inside_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      // One test that rarely holds; each alone would be a coin's toss to the processor.
      const bool inside = (values[i] >= low) & (values[i] <= high) & (weights[i] > 0.0);
      if (inside) inside_.push_back({values[i], weights[i]});
    }
    if (sum >= level) return false;
    found = select(level, sum);
    return high == std::numeric_limits<double>::infinity() || reached_;
  }

  // The quantile among the values inside, which weight `before` precedes.
  Quantile select(double level, double before) {
    auto begin = inside_.begin(), end = inside_.end();
    double sum = before;
    while (end - begin > few) {
      const auto middle = begin + (end - begin) / 2;
      std::nth_element(begin, middle, end, by_value);
      double half = 0.0;
      for (auto each = begin; each != middle; ++each) half += each->weight;
      if (sum + half >= level) {
        end = middle;
      } else {
        sum += half;
        begin = middle;
      }
    }
    std::sort(begin, end, by_value);
    reached_ = false;
    Quantile found{0.0, before};
    for (auto each = begin; each != end && !reached_; ++each) {
      found.value = each->value;
      sum += each->weight;
      reached_ = sum >= level;
    }
    // Equal values may stand on both sides of a middle.
    for (const Weighted& each : inside_)
      found.before += each.value < found.value ? each.weight : 0.0;
    return found;
  }

  std::vector<Weighted> inside_;
  bool reached_ = false;  // whether the level is inside; but for rounding it is
};

}  // namespace widemargin
