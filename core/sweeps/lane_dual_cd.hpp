// Dual coordinate descent on several problems over the same rows, a lane each: a row that was read
// serves all of them, and their weights for one feature lie side by side. Steps and gaps of the
// lanes are those of sweeps/dual_cd.hpp; only who is visited is decided for all of them together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/lane_products.hpp"
#include "losses/lane_steps.hpp"
#include "losses/lane_sums.hpp"
#include "rows/prefetch.hpp"
#include "sweeps/active_set.hpp"

namespace widemargin {

struct LaneIterate {
  double* alpha = nullptr;
  double* w = nullptr;
  const double* squared_norms = nullptr;
  ActiveSet active;
};

// Visits the next `budget` blocks of the sweep that has begun; returns whether it is over. An
// example whose share of the gap, over all lanes, is at most `negligible` leaves the active set
// without a step. What the visits met of the gaps is added to `gaps`.
template <class Loss, int Lanes, class Rows>
bool lane_sweep(const Rows& rows, const LaneExamples& data, LaneIterate& iterate, double negligible,
                std::int64_t budget, double* gaps) {
  ActiveSet& active = iterate.active;
  std::int64_t* everyone = active.members.data();
  const std::int64_t* blocks = active.blocks.data();
  const std::int64_t begin = active.next, count = active.count;
  const std::int64_t stop = std::min(std::ssize(active.blocks), begin + budget);
  Random random{active.seed + static_cast<std::uint64_t>(begin)};
  double sums[Lanes] = {};
  for (std::int64_t block = begin; block < stop; ++block) {
    const std::int64_t first = blocks[block] * block_length;
    const std::int64_t length = std::min(block_length, count - first);
    std::int64_t* members = everyone + first;
    const Turns turns(length, random);
    if (block + 1 < stop) {
      const std::int64_t soon = blocks[block + 1] * block_length;
      const std::int64_t row = everyone[soon];
      rows.prefetch_pointers(row);
      prefetch_line(iterate.alpha + row * Lanes);
      prefetch_line(data.signed_cost + row * Lanes);
      prefetch_line(iterate.squared_norms + row);
    }
    for (std::int64_t k = 0; k < length; ++k) {
      if (k + 2 < length) {
        rows.prefetch(members[turns.at[k + 2]]);
      } else if (block + 1 < stop) {
        const std::int64_t soon = blocks[block + 1] * block_length + k + 2 - length;
        if (soon < count) rows.prefetch(everyone[soon]);
      }
      const std::int64_t i = members[turns.at[k]];
      double scores[Lanes], change[Lanes], gap[Lanes];
      row_dots<Lanes>(rows, i, iterate.w, Lanes, scores);
      double* alpha = iterate.alpha + i * Lanes;
      lane_steps<Loss, Lanes>(data.signed_cost + i * Lanes, data.C, alpha, scores,
                              iterate.squared_norms[i], change, gap);
      double together = 0.0;
      for (int l = 0; l < Lanes; ++l) {
        sums[l] += gap[l];
        together += gap[l];
      }
      if (together <= negligible) {
        members[turns.at[k]] = ~i;
        continue;
      }
      for (int l = 0; l < Lanes; ++l) alpha[l] += change[l];
      row_axpys<Lanes>(rows, i, change, iterate.w, Lanes);
    }
  }
  for (int l = 0; l < Lanes; ++l) gaps[l] += sums[l];
  active.next = stop;
  if (!active.is_swept()) return false;
  active.remove_marked();
  return true;
}

}  // namespace widemargin
