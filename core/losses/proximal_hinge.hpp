// The hinge loss made smooth around a dual point, as the method of multipliers needs it:
//
//   psi_i(m) = max over 0 <= a <= c_i of  a (1 - m) - h / (2 c_i) (a - center_i)^2 .
//
// The maximiser climbs from 0 to c_i while m falls through an interval of length h around 1, whose
// place follows the centre; at the hinge's own solution (centre = optimal dual) nothing is lost by
// the smoothing, whatever h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "losses/sums.hpp"

namespace widemargin {

struct ProximalHinge {
  const double* y;
  const double* cost;
  const double* center;
  double h;

  double unclipped(std::int64_t i, double m) const { return center[i] + (1.0 - m) * cost[i] / h; }
};

// The dual point that belongs to the margins; returns how many examples lie inside the interval.
inline std::int64_t proximal_alpha(const ProximalHinge& loss, const double* scores, double b,
                                   double* alpha, std::int64_t count) {
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double c = loss.cost[i];
    const double a = loss.unclipped(i, loss.y[i] * (scores[i] + b));
    alpha[i] = std::clamp(a, 0.0, c);
    inside += a > 0.0 && a < c;
  }
  return inside;
}

// The curvature there: only inside the interval is the dual variable inside its box.
inline void proximal_curvature(const double* cost, double h, const double* alpha, double* curvature,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    curvature[i] = alpha[i] > 0.0 && alpha[i] < cost[i] ? cost[i] / h : 0.0;
  }
}

// Derivatives of t -> sum_i psi_i(y_i (scores_i + b + t (slopes_i + slope_b))).
inline Derivatives proximal_derivatives_along(const ProximalHinge& loss, const double* scores,
                                              double b, const double* slopes, double slope_b,
                                              double t, std::int64_t count) {
  double first[sum_lanes] = {}, second[sum_lanes] = {};
  auto add = [&](std::int64_t i, int lane) {
    const double c = loss.cost[i];
    const double slope = slopes[i] + slope_b;
    const double a = loss.unclipped(i, loss.y[i] * (scores[i] + b + t * slope));
    first[lane] -= std::min(std::max(a, 0.0), c) * loss.y[i] * slope;
    second[lane] += (a > 0.0 && a < c) ? c * slope * slope : 0.0;
  };
  std::int64_t i = 0;
  for (; i + sum_lanes <= count; i += sum_lanes) {
    for (int lane = 0; lane < sum_lanes; ++lane) {
      add(i + lane, lane);
    }
  }
  for (; i < count; ++i) {
    add(i, 0);
  }
  Derivatives total;
  for (int lane = 0; lane < sum_lanes; ++lane) {
    total.first += first[lane];
    total.second += second[lane] / loss.h;
  }
  return total;
}

// Moves along a direction with a step, in place: `scores` become those of the new point, `slopes`
// the dual variables of the linearised conditions at the old one, clipped.
inline void proximal_move(const ProximalHinge& loss, double* scores, double b, double* slopes,
                          double slope_b, double step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double c = loss.cost[i], y = loss.y[i];
    const double a = loss.unclipped(i, y * (scores[i] + b));
    const double alpha = std::clamp(a, 0.0, c);
    const double change = (a > 0.0 && a < c) ? c / loss.h * y * (slopes[i] + slope_b) : 0.0;
    scores[i] += step * slopes[i];
    slopes[i] = std::clamp(alpha - change, 0.0, c);
  }
}

// sum_i of c_i hinge(m_i) - alpha_i + alpha_i m_i: how far each pair (m, alpha) is from belonging
// together; with ||w - w(alpha)||^2 / 2 it makes up the duality gap.
inline double hinge_mismatch(const double* y, const double* cost, const double* scores, double b,
                             const double* alpha, std::int64_t count) {
  return sum_terms(count, [&](std::int64_t i) {
    const double slack = 1.0 - y[i] * (scores[i] + b);
    return cost[i] * std::max(slack, 0.0) - alpha[i] * slack;
  });
}

}  // namespace widemargin
