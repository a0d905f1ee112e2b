// Sweeps of block dual descent over the examples that are not at rest, again and again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sweeps/block_extrapolation.hpp"

namespace widemargin {

// When sweeping ends.
struct RoundLimits {
  double goal = 0.0;        // gap seen in a sweep
  std::int64_t budget = 0;  // visits
  std::int64_t most = 0;    // sweeps
};

// Sweeps over the active examples and leaves out those that are at rest in a corner, until a limit
// is reached. `order` is scratch. Violation and gap are those of the last sweep; `next` is the
// number of searches.
template <class Rule, class Rows>
BlockReport block_rounds(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                         BlockTrail& trail, std::int64_t* order, std::uint64_t seed,
                         const RoundLimits& limits, bool listed_only) {
  BlockReport total;
  Random random{seed};
  for (std::int64_t sweep = 0; sweep < limits.most && iterate.active_count > 0; ++sweep) {
    fill_order(order, iterate.active_count, random());
    const BlockReport round =
        block_sweep<Rule>(rows, data, iterate, 0.0, listed_only, order, 0, iterate.active_count);
    iterate.active_count = compact(iterate.active, iterate.active_count);
    total.visited += std::max<std::int64_t>(round.visited, 1);
    total.violation = round.violation;
    total.gap_estimate = round.gap_estimate;
    trail.visits += round.visited;
    if (trail.is_due(iterate.active_count)) {
      block_extrapolate<Rule>(rows, data, iterate, trail);
      total.next += 1;
    }
    if (round.gap_estimate <= limits.goal || total.visited >= limits.budget) break;
  }
  return total;
}

}  // namespace widemargin
