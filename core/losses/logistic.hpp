// Logistic loss: log(1 + e^-m); dual term = c times the binary entropy of alpha / c.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/exponential.hpp"

namespace widemargin {

struct Logistic {
  static constexpr bool bounded = true;

  static double value(double m) {
    return std::max(0.0, -m) + log1p_unit(exp_nonpositive(-std::abs(m)));
  }
  static double alpha_at(double m, double c) {
    const double e = exp_nonpositive(-std::abs(m));
    return c * (m > 0.0 ? e : 1.0) / (1.0 + e);
  }
  static double curvature_at(double m, double c) {
    const double e = exp_nonpositive(-std::abs(m));
    return c * e / ((1.0 + e) * (1.0 + e));
  }
  static double clip(double alpha, double c) { return std::clamp(alpha, 0.0, c); }

  static double dual_term(double alpha, double c) {
    // 0 log 0 = 0 comes out of the finite log; without cost both shares are taken as zero.
    const double share = c > 0.0 ? 1.0 / c : 0.0;
    // By the smaller part, so that nothing of the order of c is rounded where that is tiny.
    const double rest = c - alpha, low = std::min(alpha, rest), high = std::max(alpha, rest);
    return -(low * log_positive(low * share) + high * log1m_half(low * share));
  }
  static double dual_slope(double alpha, double c) { return std::log(alpha / (c - alpha)); }
  static double dual_curvature(double alpha, double c) { return c / (alpha * (c - alpha)); }

  // What the example adds to the duality gap at margin m, given alpha_at(m, c): a relative entropy,
  // here with the curvature half way between the two.
  static double gap_near(double alpha, double wanted, double c) {
    const double middle = 0.5 * (alpha + wanted), way = wanted - alpha;
    const double spread = middle * (c - middle);
    return spread > 0.0 ? 0.5 * way * way * c / spread : 0.0;
  }

  // Newton's step for the margin u that the example will have, u = m + q (alpha(u) - alpha), from
  // u = m, where `wanted` is alpha_at(m, c): one exponential, and always between alpha and
  // `wanted`. Where it moves the margin by little, the error is of second order in that.
  static double step(double alpha, double m, double q, double c, double wanted) {
    const double change = (wanted - alpha) / (1.0 + q * wanted * (1.0 - wanted / c));
    return std::abs(q * change) <= 0.3 ? alpha + change : long_step(alpha, m, q, c);
  }

  // Newton on the one-dimensional problem in the variable closer to zero of alpha and c - alpha,
  // which keeps full relative accuracy near both ends (the two are mirror images: m -> -m).
  static double long_step(double alpha, double m, double q, double c) {
    const double slope_at_middle = m + q * (0.5 * c - alpha);
    const bool upper = slope_at_middle < 0.0;  // the minimiser lies above c/2
    const double sign = upper ? -1.0 : 1.0;
    const double start = upper ? c - alpha : alpha;
    const double slope = sign * m;
    double z = start;
    if (z > 0.5 * c) z = 0.5 * c;
    if (z < 1e-12 * c) z = std::min(1e-3 * c, 0.5 * c / (1.0 + std::exp(std::min(slope, 30.0))));
    // Quadratic: a last change of 5 % leaves an error near 0.2 %, and the next sweep goes on from
    // it.
    for (int round = 0; round < 20; ++round) {
      const double g = q * (z - start) + slope + std::log(z / (c - z));
      const double h = q + c / (z * (c - z));
      double next = z - g / h;
      if (next <= 0.0) next = 0.1 * z;
      if (next > 0.75 * c) next = 0.75 * c;
      const double change = std::abs(next - z);
      z = next;
      if (change <= 0.05 * z) break;
    }
    return upper ? c - z : z;
  }
};

}  // namespace widemargin
