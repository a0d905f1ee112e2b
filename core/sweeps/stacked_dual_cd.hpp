// Dual coordinate descent on several problems over the same rows, a lane each: a row that was read
// serves all of them, and their weights for one feature lie side by side. Steps and gaps of the
// lanes are those of sweeps/dual_cd.hpp; only who is visited is decided for all of them together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/stacked.hpp"
#include "losses/stacked_steps.hpp"
#include "rows/prefetch.hpp"
#include "sweeps/dual_cd.hpp"

namespace widemargin {

// Label times cost at C = 1 of each example in each lane; zero where it takes no part.
struct StackedData {
  const double* signed_cost = nullptr;
  double C = 1.0;
  const double* squared_norms = nullptr;
};

// Visits the blocks `blocks[begin, begin + budget)` and adds the gaps that it met to `gaps`. An
// example whose share of the gap, over all lanes, is at most `negligible` leaves the active set
// without a step.
template <class Loss, int Lanes, class Rows>
std::int64_t stacked_dual_sweep(const Rows& rows, const StackedData& data, DualIterate& iterate,
                                double negligible, const std::int64_t* blocks, std::int64_t begin,
                                std::int64_t budget, std::uint64_t seed, double* gaps) {
  const std::int64_t stop = std::min(block_count(iterate.active_count), begin + budget);
  Random random{seed + static_cast<std::uint64_t>(begin)};
  double sums[Lanes] = {};
  for (std::int64_t block = begin; block < stop; ++block) {
    const std::int64_t first = blocks[block] * block_length;
    const std::int64_t length = std::min(block_length, iterate.active_count - first);
    std::int64_t* members = iterate.active + first;
    std::uint8_t turns[block_length];
    for (std::int64_t k = 0; k < length; ++k) turns[k] = static_cast<std::uint8_t>(k);
    for (std::int64_t k = length - 1; k > 0; --k) std::swap(turns[k], turns[random.below(k + 1)]);
    if (block + 1 < stop) {
      const std::int64_t soon = blocks[block + 1] * block_length;
      const std::int64_t row = iterate.active[soon];
      rows.prefetch_pointers(row);
      prefetch_line(iterate.alpha + row * Lanes);
      prefetch_line(data.signed_cost + row * Lanes);
      prefetch_line(data.squared_norms + row);
    }
    for (std::int64_t k = 0; k < length; ++k) {
      if (k + 2 < length) {
        rows.prefetch(members[turns[k + 2]]);
      } else if (block + 1 < stop) {
        const std::int64_t soon = blocks[block + 1] * block_length + k + 2 - length;
        if (soon < iterate.active_count) rows.prefetch(iterate.active[soon]);
      }
      const std::int64_t i = members[turns[k]];
      double scores[Lanes], change[Lanes], gap[Lanes];
      row_dots<Lanes>(rows, i, iterate.w, Lanes, scores);
      double* alpha = iterate.alpha + i * Lanes;
      lane_steps<Loss, Lanes>(data.signed_cost + i * Lanes, data.C, alpha, scores,
                              data.squared_norms[i], change, gap);
      double together = 0.0;
      for (int l = 0; l < Lanes; ++l) {
        sums[l] += gap[l];
        together += gap[l];
      }
      if (together <= negligible) {
        members[turns[k]] = ~i;
        continue;
      }
      for (int l = 0; l < Lanes; ++l) alpha[l] += change[l];
      row_axpys<Lanes>(rows, i, change, iterate.w, Lanes);
    }
  }
  for (int l = 0; l < Lanes; ++l) gaps[l] += sums[l];
  return stop;
}

}  // namespace widemargin
