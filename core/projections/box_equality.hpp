// Euclidean projection onto  { 0 <= a_i <= upper_i,  sum_i sign_i a_i = 0 }.
//
// The projection is clip(a_i - theta sign_i, 0, upper_i) with theta the root of a piecewise linear,
// non-increasing function: Newton steps inside a bracket, and a bisection where the slope is zero.
// What rounding leaves of the equality is shared by the coordinates inside their bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace widemargin {

// No bounds (null) means infinite ones.
struct UpperBounds {
  const double* upper;
  double operator()(std::int64_t i) const {
    return upper ? upper[i] : std::numeric_limits<double>::infinity();
  }
};

struct EqualityValue {
  double sum = 0.0;    // of sign_i clip(a_i - theta sign_i)
  double size = 0.0;   // of the clipped values, for judging the sum
  double slope = 0.0;  // how many of them are strictly inside
};

inline EqualityValue equality_at(const double* a, const double* sign, const double* upper,
                                 double theta, std::int64_t count) {
  const UpperBounds bound{upper};
  EqualityValue value;
  for (std::int64_t i = 0; i < count; ++i) {
    const double moved = a[i] - theta * sign[i];
    const double clipped = std::clamp(moved, 0.0, bound(i));
    value.sum += sign[i] * clipped;
    value.size += clipped;
    value.slope += moved > 0.0 && moved < bound(i) ? 1.0 : 0.0;
  }
  return value;
}

inline void project_box_equality(double* a, const double* sign, const double* upper,
                                 std::int64_t count) {
  const UpperBounds bound{upper};
  double reach = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    reach = std::max(reach, std::abs(a[i]));
  }
  auto solved = [](const EqualityValue& v) { return std::abs(v.sum) <= 1e-15 * v.size; };

  double theta = 0.0;
  EqualityValue value = equality_at(a, sign, upper, theta, count);
  if (!solved(value) && value.sum != 0.0) {
    // 1) a bracket: beyond every a_i in the direction that lowers the sum's size
    const double direction = value.sum > 0.0 ? 1.0 : -1.0;
    double near = 0.0, far = direction * std::max(reach, 1e-300);
    for (int round = 0; round < 1100; ++round) {
      if (equality_at(a, sign, upper, far, count).sum * direction <= 0.0) break;
      near = far;
      far *= 2.0;
    }
    // 2) Newton inside it
    for (int round = 0; round < 200 && !solved(value) && value.sum != 0.0; ++round) {
      (value.sum * direction > 0.0 ? near : far) = theta;
      double next = value.slope > 0.0 ? theta + value.sum / value.slope : 0.5 * (near + far);
      if (!((next - near) * direction > 0.0 && (far - next) * direction > 0.0)) {
        next = 0.5 * (near + far);
      }
      if (next == near || next == far || next == theta) break;
      theta = next;
      value = equality_at(a, sign, upper, theta, count);
    }
  }

  // 3) take it, and share what is left among those inside their bounds
  for (int round = 0; round < 3; ++round) {
    value = EqualityValue{};
    for (std::int64_t i = 0; i < count; ++i) {
      a[i] = std::clamp(a[i] - theta * sign[i], 0.0, bound(i));
      value.sum += sign[i] * a[i];
      value.slope += a[i] > 0.0 && a[i] < bound(i) ? 1.0 : 0.0;
    }
    if (value.sum == 0.0 || value.slope == 0.0) break;
    theta = value.sum / value.slope;
    for (std::int64_t i = 0; i < count; ++i) {
      if (a[i] > 0.0 && a[i] < bound(i)) {
        a[i] = std::clamp(a[i] - theta * sign[i], 0.0, bound(i));
      }
    }
    theta = 0.0;
  }
}

}  // namespace widemargin
