// Weighted quantiles of vectors over the examples, by selection rather than by sorting.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/chains.hpp"

namespace widemargin {

// Visits the places where a test holds. They are listed block by block without a branch: where
// rows lie at random, a branch for each is a coin's toss to the processor.
template <class Test, class Visit>
void each_where(std::int64_t count, Test&& test, Visit&& visit) {
  constexpr std::int64_t block = 256;
  std::int64_t places[block];
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t end = std::min(begin + block, count);
    std::int64_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      places[found] = i;
      found += test(i);
    }
    for (std::int64_t k = 0; k < found; ++k) visit(places[k]);
  }
}

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
  static constexpr std::int64_t few = 32;  // values that are sorted
  static constexpr int intervals = 256;
  struct Weighted {
    double value, weight;
  };
  static bool by_value(const Weighted& a, const Weighted& b) { return a.value < b.value; }

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
    const double all = sum_in_chains(count, [weights](std::int64_t i) { return weights[i]; });
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
    const double sum = sum_in_chains(
        count, [=](std::int64_t i) { return weights[i] * static_cast<double>(values[i] < low); });
    inside_.clear();
    each_where(
        count, [=](std::int64_t i) { return (values[i] >= low) & (values[i] <= high); },
        [&](std::int64_t i) {
          if (weights[i] > 0.0) inside_.push_back({values[i], weights[i]});
        });
    if (sum >= level) return false;
    found = select(level, sum);
    return high == std::numeric_limits<double>::infinity() || reached_;
  }

  // The quantile among the values inside, which weight `before` precedes.
  Quantile select(double level, double before) {
    double sum = before;
    narrow_ = inside_;
    while (std::ssize(narrow_) > few && narrow(level, sum)) {
    }
    std::sort(narrow_.begin(), narrow_.end(), by_value);
    reached_ = false;
    Quantile found{0.0, sum};
    for (auto each = narrow_.begin(); each != narrow_.end() && !reached_; ++each) {
      if (each->value > found.value || each == narrow_.begin()) found = {each->value, sum};
      sum += each->weight;
      reached_ = sum >= level;
    }
    return found;
  }

  // Leaves the values of that one among equal intervals which the quantile lies in, and adds the
  // weights below it to `sum`; false if they are not far fewer.
  bool narrow(double level, double& sum) {
    const auto [least, most] = std::minmax_element(narrow_.begin(), narrow_.end(), by_value);
    const double low = least->value, scale = (intervals - 0.5) / (most->value - low);
    if (!(scale > 0.0 && std::isfinite(scale))) return false;
    // Monotone in the value, rounding included, so that equal values stay together.
    const auto interval = [=](const Weighted& each) {
      return static_cast<int>((each.value - low) * scale);
    };
    double weights[intervals] = {};
    for (const Weighted& each : narrow_) weights[interval(each)] += each.weight;
    int chosen = 0, last = interval(*most);
    double below = sum;
    while (chosen < last && below + weights[chosen] < level) below += weights[chosen++];
    std::int64_t kept = 0;
    for (const Weighted each : narrow_) {
      narrow_[kept] = each;
      kept += interval(each) == chosen;
    }
    const bool fewer = 2 * kept <= std::ssize(narrow_);
    narrow_.resize(kept);
    sum = below;
    return fewer;
  }

  std::vector<Weighted> inside_, narrow_;
  bool reached_ = false;  // whether the level is inside; but for rounding it is
};

}  // namespace widemargin
