// Squared hinge loss: max(0, 1 - m)^2; dual term alpha - alpha^2 / (4c) on alpha >= 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "losses/terms.hpp"

namespace widemargin {

struct SquaredHinge {
  static constexpr const char* name = "squared_hinge";
  static constexpr bool bounded = false;
  static constexpr bool sparse = true;
  static constexpr std::optional<double> dual_quadratic = 0.5;
  static constexpr std::optional<double> curvature_level = 2.0;
  static constexpr double stiffness = 2.0;
  static constexpr int visit_cost = 30;

  static double value(double m) {
    const double slack = std::max(0.0, 1.0 - m);
    return slack * slack;
  }
  static double alpha_at(double m, double c) { return 2.0 * c * std::max(0.0, 1.0 - m); }
  static double curvature_at(double m, double c) { return m < 1.0 ? 2.0 * c : 0.0; }
  static double clip(double alpha, double) { return std::max(alpha, 0.0); }

  // The largest c |loss'| within `reach` of m, and a bound on optimal intercepts, as in hinge.hpp.
  static double steepest(double m, double c, double reach) {
    return 2.0 * c * std::max(0.0, (1.0 - m) + reach);
  }
  static double intercept_reach(double, double) { return 1.0; }

  // An example of cost zero has alpha = 0 and no say.
  static double dual_term(double alpha, double c) {
    return c > 0.0 ? alpha - alpha * (alpha / (4.0 * c)) : 0.0;
  }
  static double dual_slope(double alpha, double c) { return alpha / (2.0 * c) - 1.0; }
  static double dual_curvature(double, double c) { return 1.0 / (2.0 * c); }

  static double step(double alpha, double m, double q, double c) {
    const double inverse = 1.0 / (2.0 * c);
    return std::max(0.0, alpha - (m - 1.0 + alpha * inverse) / (q + inverse));
  }

  // The same without branches, so that loops over many examples are vectorised.
  static LossTerms terms(double m, double c) {
    const double rest = 1.0 - m;
    const double slack = 0.5 * (std::abs(rest) + rest);
    return {2.0 * c * slack, c + std::copysign(c, rest), c * slack * slack};
  }

  // See losses/lane_steps.hpp.
  template <int Lanes>
  static void lane_steps(const double* __restrict weight, double C, const double* __restrict alpha,
                         const double* __restrict scores, double q, double* __restrict change,
                         double* __restrict gap) {
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
};

}  // namespace widemargin
