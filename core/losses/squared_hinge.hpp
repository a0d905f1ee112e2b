// Squared hinge loss: max(0, 1 - m)^2; dual term alpha - alpha^2 / (4c) on alpha >= 0.
#pragma once

#include <algorithm>

namespace widemargin {

struct SquaredHinge {
  static constexpr bool bounded = false;

  static double value(double m) {
    const double slack = std::max(0.0, 1.0 - m);
    return slack * slack;
  }
  static double alpha_at(double m, double c) { return 2.0 * c * std::max(0.0, 1.0 - m); }
  static double curvature_at(double m, double c) { return m < 1.0 ? 2.0 * c : 0.0; }
  static double clip(double alpha, double) { return std::max(alpha, 0.0); }

  // An example of cost zero has alpha = 0 and no say.
  static double dual_term(double alpha, double c) {
    return c > 0.0 ? alpha - alpha * alpha / (4.0 * c) : 0.0;
  }
  static double dual_slope(double alpha, double c) { return alpha / (2.0 * c) - 1.0; }
  static double dual_curvature(double, double c) { return 1.0 / (2.0 * c); }

  static double step(double alpha, double m, double q, double c) {
    const double inverse = 1.0 / (2.0 * c);
    return std::max(0.0, alpha - (m - 1.0 + alpha * inverse) / (q + inverse));
  }
};

}  // namespace widemargin
