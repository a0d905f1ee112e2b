// Dual descent inside a working set whose kernel matrix is dense: two coordinates at a time where
// the equality binds them (sequential minimal optimisation, second-order choice), else one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace widemargin {

// minimise 1/2 a' Q a - sum a with Q_ij = y_i y_j K_ij + [i=j] shift_i,  0 <= a_i <= upper_i.
struct WorkingSet {
  const double* kernel;  // size x size
  const double* y;
  const double* shift;
  const double* upper;
  double* alpha;
  double* gradient;
  std::int64_t size;

  double q(std::int64_t i, std::int64_t j) const {
    return y[i] * y[j] * kernel[i * size + j] + (i == j ? shift[i] : 0.0);
  }
  bool rises(std::int64_t i) const { return alpha[i] < upper[i]; }
  bool falls(std::int64_t i) const { return alpha[i] > 0.0; }

  void move(std::int64_t i, double change) {
    alpha[i] += change;
    const double* row = kernel + i * size;
    const double factor = y[i] * change;
    for (std::int64_t j = 0; j < size; ++j) {
      gradient[j] += factor * y[j] * row[j];
    }
    gradient[i] += shift[i] * change;
  }
};

inline constexpr double tiny_curvature = 1e-12;

// With the equality; returns the largest violation that was left.
inline double descend_pairs(WorkingSet set, double tolerance, std::int64_t max_steps) {
  double violation = 0.0;
  for (std::int64_t step = 0; step < max_steps; ++step) {
    // 1) the coordinate that wants most to raise y a
    std::int64_t first = -1;
    double highest = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < set.size; ++i) {
      const bool up = set.y[i] > 0.0 ? set.rises(i) : set.falls(i);
      const double value = -set.y[i] * set.gradient[i];
      if (up && value > highest) {
        highest = value;
        first = i;
      }
    }
    if (first < 0) return 0.0;
    // 2) its partner, by the decrease it promises
    std::int64_t second = -1;
    double lowest = std::numeric_limits<double>::infinity(), most = -1.0;
    for (std::int64_t j = 0; j < set.size; ++j) {
      const bool down = set.y[j] > 0.0 ? set.falls(j) : set.rises(j);
      if (!down) continue;
      const double value = -set.y[j] * set.gradient[j];
      lowest = std::min(lowest, value);
      const double slope = highest - value;
      if (slope > 0.0 && j != first) {
        const double curvature =
            set.kernel[first * set.size + first] + set.kernel[j * set.size + j] -
            2.0 * set.kernel[first * set.size + j] + set.shift[first] + set.shift[j];
        const double gain = slope * slope / std::max(curvature, tiny_curvature);
        if (gain > most) {
          most = gain;
          second = j;
        }
      }
    }
    violation = highest - lowest;
    if (second < 0 || violation <= tolerance) return std::max(violation, 0.0);
    // 3) the exact step along y a_first + t, y a_second - t, cut at the bounds
    const double slope = highest + set.y[second] * set.gradient[second];
    const double curvature =
        set.kernel[first * set.size + first] + set.kernel[second * set.size + second] -
        2.0 * set.kernel[first * set.size + second] + set.shift[first] + set.shift[second];
    double length = slope / std::max(curvature, tiny_curvature);
    const double room_first =
        set.y[first] > 0.0 ? set.upper[first] - set.alpha[first] : set.alpha[first];
    const double room_second =
        set.y[second] > 0.0 ? set.alpha[second] : set.upper[second] - set.alpha[second];
    length = std::min({length, room_first, room_second});
    const double before_first = set.alpha[first], before_second = set.alpha[second];
    set.move(first, set.y[first] * length);
    set.move(second, -set.y[second] * length);
    // A bound that was reached is held exactly.
    if (length == room_first) set.alpha[first] = set.y[first] > 0.0 ? set.upper[first] : 0.0;
    if (length == room_second) set.alpha[second] = set.y[second] > 0.0 ? 0.0 : set.upper[second];
    if (set.alpha[first] == before_first && set.alpha[second] == before_second) return violation;
  }
  return violation;
}

// Without the equality; returns the largest violation that was left.
inline double descend_singles(WorkingSet set, double tolerance, std::int64_t max_steps) {
  double violation = 0.0;
  for (std::int64_t step = 0; step < max_steps; ++step) {
    std::int64_t best = -1;
    double most = 0.0;
    violation = 0.0;
    for (std::int64_t i = 0; i < set.size; ++i) {
      const double g = set.gradient[i];
      if ((g < 0.0 && !set.rises(i)) || (g > 0.0 && !set.falls(i))) continue;
      violation = std::max(violation, std::abs(g));
      const double gain = g * g / std::max(set.q(i, i), tiny_curvature);
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    if (best < 0 || violation <= tolerance) return violation;
    const double wanted =
        set.alpha[best] - set.gradient[best] / std::max(set.q(best, best), tiny_curvature);
    const double target = std::clamp(wanted, 0.0, set.upper[best]);
    if (target == set.alpha[best]) return violation;
    set.move(best, target - set.alpha[best]);
    set.alpha[best] = target;
  }
  return violation;
}

}  // namespace widemargin
