// Dual variables of the hinge at their bounds, where the margins of the weights say they belong.
#pragma once

#include <cstdint>

#include "kernels/chains.hpp"

namespace widemargin {

struct AtBounds {
  const double *y, *cost, *margins, *alpha;
  double width;  // margins further than this from one are decided
  double tiny;   // a variable this close to a bound, relative to the cost, lies on it

  bool low(std::int64_t i) const { return alpha[i] <= tiny * cost[i] || margins[i] > 1.0 + width; }
  bool high(std::int64_t i) const {
    return alpha[i] >= (1.0 - tiny) * cost[i] || margins[i] < 1.0 - width;
  }
  bool between(std::int64_t i) const { return !low(i) && !high(i); }

  // Puts the variables of [begin, end) there; returns the sum of y alpha of those at their bounds.
  double place(std::int64_t begin, std::int64_t end, double* placed) const {
    return sum_in_chains(end - begin, [&](std::int64_t k) {
      const std::int64_t i = begin + k;
      const bool lower = low(i), upper = high(i);
      const double c = cost[i], a = alpha[i];
      placed[i] = lower ? 0.0 : upper ? c : a;
      return y[i] * placed[i] * (lower || upper);  // not a choice, see `sum_in_chains`
    });
  }
};

}  // namespace widemargin
