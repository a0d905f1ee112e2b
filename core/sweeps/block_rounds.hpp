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

struct RoundReport {
  double gap = 0.0;  // seen by the last sweep
  std::int64_t visited = 0;
  std::int64_t searches = 0;
};

// Sweeps over the active examples and leaves out those that are at rest in a corner, until a limit
// is reached.
template <class Rule, class Rows>
RoundReport block_rounds(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                         BlockSweep& sweep, BlockTrail& trail, std::uint64_t seed,
                         const RoundLimits& limits, bool listed_only) {
  RoundReport total;
  Random random{seed};
  for (std::int64_t round = 0; round < limits.most && sweep.active.count > 0; ++round) {
    sweep.begin(random());
    block_sweep<Rule>(rows, data, iterate, sweep, sweep.active.count, listed_only);
    total.visited += std::max<std::int64_t>(sweep.report.visited, 1);
    total.gap = sweep.report.gap;
    trail.visits += sweep.report.visited;
    if (trail.is_due(sweep.active.count)) {
      block_extrapolate<Rule>(rows, data, iterate, sweep.active, trail);
      total.searches += 1;
    }
    if (total.gap <= limits.goal || total.visited >= limits.budget) break;
  }
  return total;
}

}  // namespace widemargin
