// Logistic loss: log(1 + e^-m); dual term = c times the binary entropy of alpha / c.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/exponential.hpp"
#include "losses/terms.hpp"

namespace widemargin {

struct Logistic {
  static constexpr const char* name = "logistic";
  static constexpr bool bounded = true;
  static constexpr bool sparse = false;
  static constexpr std::optional<double> dual_quadratic = std::nullopt;
  static constexpr std::optional<double> curvature_level = std::nullopt;
  static constexpr double stiffness = 0.25;
  static constexpr int visit_cost = 60;

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

  // The largest c |loss'| within `reach` of m, which grows by e^reach at most, and a bound on
  // optimal intercepts, as in hinge.hpp.
  static double steepest(double m, double c, double reach) {
    return reach < 1.0 ? std::min(c, alpha_at(m, c) * (1.0 + 2.0 * reach)) : c;
  }
  static double intercept_reach(double up, double down) { return std::abs(std::log(up / down)); }

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

  // The same without branches, so that loops over many examples are vectorised.
  static LossTerms terms(double m, double c) {
    const double size = std::abs(m);
    const double e = exp_nonpositive(-size);
    const double inverse = 1.0 / (1.0 + e);
    const double right = 0.5 + std::copysign(0.5, m);  // one where the margin is positive
    return {c * (right * e + (1.0 - right)) * inverse, c * e * inverse * inverse,
            c * (0.5 * (size - m) + log1p_unit(e))};
  }
  static double lane_dual_term(double alpha, double c) {
    const double p = alpha / c, q = 1.0 - p;
    return c * -(p * log_positive(p) + q * log_positive(q));
  }

  // See losses/lane_steps.hpp: `long_step` in all lanes. To second order, the gap is half the slope
  // times the way to where the slope would be zero if the scores stayed.
  template <int Lanes>
  static void lane_steps(const double* __restrict weight, double C, const double* __restrict alpha,
                         const double* __restrict scores, double q, double* __restrict change,
                         double* __restrict gap) {
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
      gap[l] =
          part[l] * 0.5 * g * g * std::abs(step) / (left > 0.05 * g ? left : 0.05 * g + 1e-300);
    }
  }
};

}  // namespace widemargin
