// What a certificate needs to know about sums over the examples so that it can allow for their
// rounding. The bounds themselves are put together in problems/rounding.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/compensated.hpp"
#include "losses/sums.hpp"

namespace widemargin {

struct LossSums {
  double total = 0.0;    // sum_i c_i loss
  double slopes = 0.0;   // sum_i c_i |loss'|, the steepest within `reach` of each margin
  double squares = 0.0;  // sum_i (c_i |loss'|)^2
};

// Losses at margins y (scores + b), and how fast they can grow within `reach` of them.
template <class Loss>
LossSums loss_sums(const Examples& data, const double* scores, double b, double reach) {
  double total[chains] = {}, slopes[chains] = {}, squares[chains] = {};
  auto add = [&](std::int64_t i, int chain) {
    const double m = data.y[i] * (scores[i] + b), c = data.cost[i];
    const double slope = Loss::steepest(m, c, reach);
    total[chain] += c * Loss::value(m);
    slopes[chain] += slope;
    squares[chain] += slope * slope;
  };
  std::int64_t i = 0;
  for (; i + chains <= data.count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) add(i + chain, chain);
  }
  for (; i < data.count; ++i) add(i, static_cast<int>(i % chains));
  LossSums sums;
  for (int chain = 0; chain < chains; ++chain) {
    sums.total += total[chain];
    sums.slopes += slopes[chain];
    sums.squares += squares[chain];
  }
  return sums;
}

struct DualSums {
  double value = 0.0;     // sum_i phi(alpha_i)
  double size = 0.0;      // of the magnitudes that it was summed from
  double linear = 0.0;    // sum_i alpha_i
  double squares = 0.0;   // sum_i alpha_i^2
  double residual = 0.0;  // sum_i y_i alpha_i, as good as exact
};

template <class Loss>
DualSums dual_sums(const Examples& data, const double* alpha) {
  double value[chains] = {}, size[chains] = {}, linear[chains] = {}, squares[chains] = {};
  CompensatedSum residual[chains];
  auto add = [&](std::int64_t i, int chain) {
    const double a = alpha[i], term = Loss::dual_term(a, data.cost[i]);
    value[chain] += term;
    // A parabola is a difference of two parts; the other terms are positive.
    if constexpr (Loss::dual_quadratic) {
      size[chain] += a + std::abs(a - term);
    } else {
      size[chain] += std::abs(term);
    }
    linear[chain] += a;
    squares[chain] += a * a;
    residual[chain].add(data.y[i] * a);
  };
  std::int64_t i = 0;
  for (; i + chains <= data.count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) add(i + chain, chain);
  }
  for (; i < data.count; ++i) add(i, static_cast<int>(i % chains));
  DualSums sums;
  CompensatedSum all;
  for (int chain = 0; chain < chains; ++chain) {
    sums.value += value[chain];
    sums.size += size[chain];
    sums.linear += linear[chain];
    sums.squares += squares[chain];
    all.add(residual[chain].high);
    all.low += residual[chain].low;
  }
  sums.residual = all.value();
  return sums;
}

// max_i |values[i]| / most[i], not counting 0 / 0; not a number if nothing counts.
inline double largest_share(const double* values, const double* most, std::int64_t count) {
  double largest[chains];
  std::fill(largest, largest + chains, -1.0);
  auto see = [&](std::int64_t i, int chain) {
    const double share = std::abs(values[i]) / most[i];
    largest[chain] = share > largest[chain] ? share : largest[chain];
  };
  std::int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) see(i + chain, chain);
  }
  for (; i < count; ++i) see(i, 0);
  const double found = *std::max_element(largest, largest + chains);
  return found < 0.0 ? std::numeric_limits<double>::quiet_NaN() : found;
}

}  // namespace widemargin
