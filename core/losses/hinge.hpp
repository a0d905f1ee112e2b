// Hinge loss: max(0, 1 - m); dual term alpha on 0 <= alpha <= c.
#pragma once

#include <algorithm>

namespace widemargin {

struct Hinge {
  static constexpr bool bounded = true;  // alpha <= c

  static double value(double m) { return std::max(0.0, 1.0 - m); }
  static double dual_term(double alpha, double) { return alpha; }
  static double alpha_at(double m, double c) { return m < 1.0 ? c : 0.0; }
  static double clip(double alpha, double c) { return std::clamp(alpha, 0.0, c); }

  // d/dalpha and d2/dalpha2 of -dual_term
  static double dual_slope(double, double) { return -1.0; }
  static double dual_curvature(double, double) { return 0.0; }

  // argmin over alpha' of q/2 (alpha' - alpha)^2 + m (alpha' - alpha) - dual_term(alpha')
  static double step(double alpha, double m, double q, double c) {
    return std::clamp(alpha - (m - 1.0) / q, 0.0, c);
  }
};

}  // namespace widemargin
