// The exact step of dual coordinate descent for one example in several problems at once, a lane
// each; see losses/stacked.hpp for what a lane is. Loops over the lanes have no branches, so that
// they vectorise.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/exponential.hpp"
#include "losses/logistic.hpp"
#include "losses/squared_hinge.hpp"

namespace widemargin {

// For each lane the change of the signed dual variable and what the example adds to the duality gap
// before it. Lanes that the example takes no part in have a weight of zero, and change nothing.
template <class Loss, int Lanes>
void lane_steps(const double* weight, double C, const double* alpha, const double* scores, double q,
                double* change, double* gap);

template <int Lanes>
inline void squared_hinge_steps(const double* __restrict weight, double C,
                                const double* __restrict alpha, const double* __restrict scores,
                                double q, double* __restrict change, double* __restrict gap) {
  for (int l = 0; l < Lanes; ++l) {
    const double part = weight[l] == 0.0 ? 0.0 : 1.0;
    const double y = std::copysign(1.0, weight[l]);
    const double c = C * std::abs(weight[l]) + (1.0 - part);
    const double a = y * alpha[l], m = y * scores[l], inverse = 0.5 / c;
    const double wanted = a - (m - 1.0 + a * inverse) / (q + inverse);
    const double rest = 1.0 - m;
    const double slack = 0.5 * (std::abs(rest) + rest);
    change[l] = part * y * ((wanted > 0.0 ? wanted : 0.0) - a);
    gap[l] = part * (c * slack * slack - a * rest + 0.5 * a * a * inverse);
  }
}

// Newton on the one-dimensional problem in the variable closer to zero of alpha and c - alpha, as
// in losses/logistic.hpp. To second order, the gap is half the slope times the way to where the
// slope would be zero if the scores stayed.
template <int Lanes>
inline void logistic_steps(const double* __restrict weight, double C,
                           const double* __restrict alpha, const double* __restrict scores,
                           double q, double* __restrict change, double* __restrict gap) {
  double part[Lanes], c[Lanes], start[Lanes], slope[Lanes], side[Lanes], z[Lanes], first[Lanes];
  for (int l = 0; l < Lanes; ++l) {
    part[l] = weight[l] == 0.0 ? 0.0 : 1.0;
    const double y = std::copysign(1.0, weight[l]);
    c[l] = C * std::abs(weight[l]) + (1.0 - part[l]);
    const double a = y * alpha[l] + 0.5 * (1.0 - part[l]);
    const double m = y * scores[l];
    const double middle = m + q * (0.5 * c[l] - a);
    const double upper = middle < 0.0 ? 1.0 : 0.0;  // the minimiser lies above c/2
    side[l] = 1.0 - 2.0 * upper;
    start[l] = upper * c[l] + side[l] * a;
    slope[l] = side[l] * m;
    side[l] *= y;
    z[l] = std::max(std::min(start[l], 0.5 * c[l]), 1e-14 * c[l]);
    const double inside = std::min(std::max(start[l], 1e-14 * c[l]), (1.0 - 1e-14) * c[l]);
    first[l] = inside;
  }
  for (int round = 0; round < 8; ++round) {
    double moved = 0.0;
    for (int l = 0; l < Lanes; ++l) {
      const double rest = c[l] - z[l];
      const double g = q * (z[l] - start[l]) + slope[l] + log_positive(z[l] / rest);
      const double h = q + c[l] / (z[l] * rest);
      double next = z[l] - g / h;
      next = next > 0.1 * z[l] ? next : 0.1 * z[l];
      next = next < 0.5 * c[l] ? next : 0.5 * c[l];
      const double share = std::abs(next - z[l]) - 0.05 * next;
      moved = moved > share ? moved : share;
      z[l] = next;
    }
    if (moved <= 0.0) break;
  }
  for (int l = 0; l < Lanes; ++l) {
    const double step = z[l] - start[l];
    const double odds = first[l] / (c[l] - first[l]);
    const double g = std::abs(slope[l] + (odds > 1.0 ? -1.0 : 1.0) *
                                             log_positive(odds > 1.0 ? 1.0 / odds : odds));
    const double left = g - q * std::abs(step);
    change[l] = part[l] * side[l] * step;
    gap[l] = part[l] * 0.5 * g * g * std::abs(step) / (left > 0.05 * g ? left : 0.05 * g + 1e-300);
  }
}

template <class Loss, int Lanes>
inline void lane_steps(const double* weight, double C, const double* alpha, const double* scores,
                       double q, double* change, double* gap) {
  if constexpr (std::is_same_v<Loss, Logistic>) {
    logistic_steps<Lanes>(weight, C, alpha, scores, q, change, gap);
  } else {
    squared_hinge_steps<Lanes>(weight, C, alpha, scores, q, change, gap);
  }
}

}  // namespace widemargin
