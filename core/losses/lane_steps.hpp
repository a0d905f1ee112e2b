// The exact step of dual coordinate descent for one example in several problems at once, a lane
// each; see losses/lane_sums.hpp for what a lane is.
#pragma once

#include <cmath>

namespace widemargin {

// For each lane the change of the signed dual variable and what the example adds to the duality gap
// before it. Lanes that the example takes no part in have a weight of zero, and change nothing. A
// loss may bring its own loop over the lanes, without branches, so that it is vectorised.
template <class Loss, int Lanes>
inline void lane_steps(const double* weight, double C, const double* alpha, const double* scores,
                       double q, double* change, double* gap) {
  if constexpr (requires {
                  Loss::template lane_steps<Lanes>(weight, C, alpha, scores, q, change, gap);
                }) {
    Loss::template lane_steps<Lanes>(weight, C, alpha, scores, q, change, gap);
  } else {
    for (int l = 0; l < Lanes; ++l) {
      change[l] = gap[l] = 0.0;
      if (weight[l] == 0.0) continue;
      const double y = std::copysign(1.0, weight[l]), c = C * std::abs(weight[l]);
      const double a = y * alpha[l], m = y * scores[l];
      change[l] = y * (Loss::step(a, m, q, c) - a);
      gap[l] = c * Loss::value(m) - Loss::dual_term(a, c) + a * m;
    }
  }
}

}  // namespace widemargin
