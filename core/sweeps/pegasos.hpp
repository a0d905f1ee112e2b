// One epoch of Pegasos with single examples: w <- (1 - 1/t) w + (share / (lambda t)) y x if y w.x
// < 1.
#pragma once

#include <cstdint>

#include "losses/sums.hpp"

namespace widemargin {

// Visits order[begin..end). The weights are scale * direction, so that shrinking all of them costs
// nothing; counts[i] grows by one whenever the example is inside the margin. A step is worth
// n c_i, the cost of the example as if all were like it. Returns the new scale.
template <class Rows>
double pegasos_sweep(const Rows& rows, const Examples& data, const std::int64_t* order,
                     std::int64_t begin, std::int64_t end, std::int64_t steps, double scale,
                     double* direction, double* counts) {
  const auto [y, cost, count] = data;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t i = order[k];
    const double t = static_cast<double>(++steps);
    const double margin = y[i] * scale * rows.dot(i, direction);
    // The first step forgets the start altogether: 1 - 1/t is zero, and direction is zero as well.
    scale = steps == 1 ? 1.0 : scale * (1.0 - 1.0 / t);
    if (margin < 1.0) {
      rows.axpy(i, y[i] * (static_cast<double>(count) * cost[i]) / (t * scale), direction);
      counts[i] += 1.0;
    }
  }
  return scale;
}

}  // namespace widemargin
