// Euclidean projection onto  { 0 <= a_i <= upper_i,  sum_i sign_i a_i = 0 }.
//
// The projection is clip(a_i - theta sign_i, 0, upper_i) with theta the root of a piecewise linear,
// non-increasing function; the root is found by Newton steps kept inside a bracket, which end after
// finitely many pieces. Without upper bounds pass null.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace widemargin {

inline void project_box_equality(double* a, const double* sign, const double* upper,
                                 std::int64_t count) {
  const double infinity = std::numeric_limits<double>::infinity();
  double low = -infinity, high = infinity, theta = 0.0;
  auto bound = [&](std::int64_t i) { return upper ? upper[i] : infinity; };

  for (int round = 0; round < 200; ++round) {
    double sum = 0.0, slope = 0.0, size = 0.0;
    double next_low = -infinity, next_high = infinity;  // nearest breakpoints where slope is zero
    for (std::int64_t i = 0; i < count; ++i) {
      const double moved = a[i] - theta * sign[i];
      const double clipped = std::clamp(moved, 0.0, bound(i));
      sum += sign[i] * clipped;
      size += clipped;
      if (moved > 0.0 && moved < bound(i)) {
        slope += 1.0;
      } else {
        const double edge = moved <= 0.0 ? 0.0 : bound(i);
        const double place = (a[i] - edge) * sign[i];
        if (place >= theta) next_high = std::min(next_high, place);
        if (place <= theta) next_low = std::max(next_low, place);
      }
    }
    if (std::abs(sum) <= 1e-16 * size || sum == 0.0) {
      break;
    }
    (sum > 0.0 ? low : high) = theta;
    double next;
    if (slope > 0.0) {
      next = theta + sum / slope;
    } else {
      next = sum > 0.0 ? next_high : next_low;
      next += (sum > 0.0 ? 1.0 : -1.0) * 1e-12 * (1.0 + std::abs(next));
    }
    if (!(next > low && next < high)) {
      next = 0.5 * (low + high);
    }
    if (!std::isfinite(next) || next == theta) {
      break;
    }
    theta = next;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    a[i] = std::clamp(a[i] - theta * sign[i], 0.0, bound(i));
  }
}

}  // namespace widemargin
