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

#include "losses/hinge.hpp"
#include "losses/sums.hpp"

namespace widemargin {

struct ProximalHinge {
  Examples data;
  const double* center;
  double h;

  static constexpr double widest = 1e6;  // an interval beyond this has no effect

  double unclipped(std::int64_t i, double m) const {
    return center[i] + (1.0 - m) * data.cost[i] / h;
  }
};

// The dual point that belongs to the margins; returns how many examples lie inside the interval.
inline std::int64_t proximal_alpha(const ProximalHinge& loss, const double* scores, double b,
                                   double* alpha) {
  const auto [y, cost, count] = loss.data;
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double c = cost[i];
    const double a = loss.unclipped(i, y[i] * (scores[i] + b));
    alpha[i] = std::clamp(a, 0.0, c);
    inside += a > 0.0 && a < c;
  }
  return inside;
}

// The curvature there: only inside the interval is the dual variable inside its box.
inline void proximal_curvature(const ProximalHinge& loss, const double* alpha, double* curvature) {
  const auto [y, cost, count] = loss.data;
  for (std::int64_t i = 0; i < count; ++i) {
    curvature[i] = alpha[i] > 0.0 && alpha[i] < cost[i] ? cost[i] / loss.h : 0.0;
  }
}

// First and second derivative of sum_i psi_i along a line.
inline TwoSums proximal_derivatives_along(const ProximalHinge& loss, const Line& line, double t) {
  const Examples& data = loss.data;
  return two_sums_in_chains(
      data.count,
      [&](std::int64_t i) -> TwoSums {
        const double y = data.y[i], c = data.cost[i], slope = line.slopes[i] + line.slope_b;
        const double a = loss.unclipped(i, y * (line.scores[i] + line.b + t * slope));
        return {-std::min(std::max(a, 0.0), c) * y * slope,
                (a > 0.0 && a < c) ? c * slope * slope : 0.0};
      },
      loss.h);
}

// Moves along a direction with a step, in place: `scores` become those of the new point, `slopes`
// the dual variables of the linearised conditions at the old one, clipped.
inline void proximal_move(const ProximalHinge& loss, double* scores, double b, double* slopes,
                          double slope_b, double step) {
  const auto [labels, cost, count] = loss.data;
  for (std::int64_t i = 0; i < count; ++i) {
    const double c = cost[i], y = labels[i];
    const double a = loss.unclipped(i, y * (scores[i] + b));
    const double alpha = std::clamp(a, 0.0, c);
    const double change = (a > 0.0 && a < c) ? c / loss.h * y * (slopes[i] + slope_b) : 0.0;
    scores[i] += step * slopes[i];
    slopes[i] = std::clamp(alpha - change, 0.0, c);
  }
}

// sum_i c_i hinge(m_i), without the smoothing
inline double unsmoothed(const ProximalHinge& loss, const double* scores, double b) {
  return loss_sum<Hinge>(loss.data, scores, b);
}

// sum_i of c_i hinge(m_i) - alpha_i + alpha_i m_i: how far each pair (m, alpha) is from belonging
// together; with ||w - w(alpha)||^2 / 2 it makes up the duality gap.
inline double mismatch(const ProximalHinge& loss, const double* scores, double b,
                       const double* alpha) {
  const Examples& data = loss.data;
  return sum_in_chains(data.count, [&](std::int64_t i) {
    const double slack = 1.0 - data.y[i] * (scores[i] + b);
    return data.cost[i] * std::max(slack, 0.0) - alpha[i] * slack;
  });
}

}  // namespace widemargin
