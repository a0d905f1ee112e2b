// Weighted quantiles of vectors over the examples, by selection rather than by sorting.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/chains.hpp"

namespace widemargin {

inline constexpr std::int64_t where_block = 256;

// Visits the places in [begin, end) where a test holds, at most a block of them. They are listed
// without a branch: where rows lie at random, a branch for each is a coin's toss to the processor.
template <class Test, class Visit>
void each_where_in_block(std::int64_t begin, std::int64_t end, Test&& test, Visit&& visit) {
  std::int64_t places[where_block];
  std::int64_t found = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    places[found] = i;
    found += test(i);
  }
  for (std::int64_t k = 0; k < found; ++k) visit(places[k]);
}

// The same of all places below `count`.
template <class Test, class Visit>
void each_where(std::int64_t count, Test&& test, Visit&& visit) {
  for (std::int64_t begin = 0; begin < count; begin += where_block)
    each_where_in_block(begin, std::min(begin + where_block, count), test, visit);
}

// sum_i term(i), with visits to the places where a test holds, in one pass.
template <class Term, class Test, class Visit>
double sum_and_each_where(std::int64_t count, Term&& term, Test&& test, Visit&& visit) {
  double sum = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += where_block) {
    const std::int64_t end = std::min(begin + where_block, count);
    sum += sum_in_chains(end - begin, [&](std::int64_t k) { return term(begin + k); });
    each_where_in_block(begin, end, test, visit);
  }
  return sum;
}

// The smallest value up to which the weights add up to `level`, and the weight strictly before it.
struct Quantile {
  double value = 0.0, before = 0.0;
};

// Values with their weights, of which `total` is the sum if it is known.
struct WeightedValues {
  const double* values = nullptr;
  const double* weights = nullptr;
  std::int64_t count = 0;
  double total = std::numeric_limits<double>::quiet_NaN();
};

class QuantileSearch {
 public:
  // A sample of n^(2/3) values brackets the quantile (Floyd and Rivest (1975)), so that one pass
  // over the others leaves few of them to select from. A guess that is right takes that pass alone.
  Quantile operator()(const WeightedValues& of, double level,
                      double guess = std::numeric_limits<double>::quiet_NaN()) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Quantile found;
    const double slack = 4e-16 * (1.0 + std::abs(guess));  // it may have been rounded
    if (std::isfinite(guess) && within(of, level, guess - slack, guess + slack, found))
      return found;
    if (of.count > 4 * few) {
      const auto [low, high] = bracket(of, level);
      if (within(of, level, low, high, found)) return found;
    }
    within(of, level, -infinity, infinity, found);
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
  std::pair<double, double> bracket(const WeightedValues& of, double level) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto [values, weights, count, known] = of;
    const auto sampled = static_cast<std::int64_t>(std::cbrt(static_cast<double>(count) * count));
    const std::int64_t stride = count / sampled;
    double total = 0.0;
    inside_.clear();
    for (std::int64_t i = 0; i < count; i += stride) {
      if (weights[i] > 0.0) inside_.push_back({values[i], weights[i]});
      total += weights[i];
    }
    const double* each = weights;
    const double all =
        known == known ? known : sum_in_chains(count, [each](std::int64_t i) { return each[i]; });
    const double share = level / all, deviation = std::sqrt(std::max(share * (1.0 - share), 0.0));
    // Near an end of the range a share is as rough as a single value of the sample.
    const double error = (3.0 * deviation + 3.0 / std::sqrt(static_cast<double>(sampled))) /
                         std::sqrt(static_cast<double>(sampled));
    const bool from = share > error, to = share + error < 1.0;
    const double low = from ? select((share - error) * total, 0).value : -infinity;
    const double high = to ? select((share + error) * total, 0).value : infinity;
    return {low, high};
  }

  bool within(const WeightedValues& of, double level, double low, double high, Quantile& found) {
    const double *values = of.values, *weights = of.weights;
    inside_.clear();
    const double sum = sum_and_each_where(
        of.count, [=](std::int64_t i) { return weights[i] * static_cast<double>(values[i] < low); },
        [=](std::int64_t i) { return (values[i] >= low) & (values[i] <= high); },
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
