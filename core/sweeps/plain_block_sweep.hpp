// Block dual descent as published, to compare with: every example in turn, every class, nothing
// left out. The step is exact by sorting (WALRUS, algorithms 1 and 2), or Shark's greedy ascent.
#pragma once

#include "sweeps/block_dual_cd.hpp"

namespace widemargin {

// WALRUS, algorithm 2, and the same by sorting for Crammer-Singer.
template <class Rule>
struct SortingStep {
  SortScratch& scratch;

  void operator()(const double* v, double* b, std::int64_t count, double c) const {
    const double level = sort_level<Rule>(v, count, c, scratch);
    fill_values<Rule>(v, count, level, c, b);
    restore_sum<Rule>(b, count, c, level > c);
  }
};

// Shark's step for Weston-Watkins (WALRUS, sections 5 and A.6.1): the coordinate that violates its
// optimality condition most moves, against the example's own class, to its best value; again, until
// no violation is above the threshold or as many steps as 10 k are done.
struct GreedyStep {
  double threshold;

  void operator()(const double* v, double* b, std::int64_t count, double c) const {
    double sum = 0.0;
    for (std::int64_t j = 0; j < count; ++j) sum += b[j];
    for (std::int64_t round = 0; round < 10 * count; ++round) {
      std::int64_t worst = -1;
      double violation = threshold;
      for (std::int64_t j = 0; j < count; ++j) {
        const double ascent = v[j] - b[j] - sum;
        const double here = ascent > 0.0 ? (b[j] < c ? ascent : 0.0) : (b[j] > 0.0 ? -ascent : 0.0);
        if (here > violation) {
          violation = here;
          worst = j;
        }
      }
      if (worst < 0) break;
      const double fresh = std::clamp(b[worst] + 0.5 * (v[worst] - b[worst] - sum), 0.0, c);
      sum += fresh - b[worst];
      b[worst] = fresh;
    }
  }
};

// Visits the next `budget` examples of the sweep that has begun; returns whether it is over.
// `threshold` is Shark's, in units of the margin; zero asks for the sorting step.
template <class Rule, class Rows>
bool plain_block_sweep(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                       BlockSweep& sweep, std::int64_t budget, double threshold) {
  BlockReport report;
  const std::int64_t stride = data.stride(), rivals = data.classes - 1;
  BlockScratch scratch(stride);
  SortScratch sorting;
  start_scores(iterate, data.classes, stride, scratch.start.data());
  double* v = scratch.shifted.data();
  double* fresh = scratch.fresh.data();
  double* old = scratch.old.data();
  double* delta = scratch.levels.data();
  std::int32_t* classes = scratch.classes.data();
  const std::int64_t stop = sweep.stop(budget);
  for (std::int64_t t = sweep.next; t < stop; ++t) {
    const std::int64_t i = sweep.active.members[sweep.order[t]];
    const std::int32_t y = data.label[i];
    const double c = data.cost[i], q = data.squared_norms[i] + iterate.rho;
    BlockDuals& duals = *iterate.duals;
    if (q == 0.0) {
      fill_constant_example<Rule>(duals, i, y, c, data.classes, scratch);
      continue;
    }
    class_scores(rows, i, iterate.weights, stride, scratch.start.data(), scratch.scores.data());
    const double base = 1.0 - scratch.scores[static_cast<std::size_t>(y)];

    // 1) the old variables, spread over the rival classes
    double* spread = scratch.delta.data();
    double sum = 0.0;
    for (std::int32_t m = 0; m < duals.count(i); ++m) {
      spread[duals.classes(i)[m]] = duals.values(i)[m];
      sum += duals.values(i)[m];
    }
    double hinges = 0.0, highest = 0.0, linear = 0.0;
    std::int64_t place = 0;
    for (std::int32_t j = 0; j < data.classes; ++j) {
      if (j == y) continue;
      const double g = base + scratch.scores[static_cast<std::size_t>(j)];
      classes[place] = j;
      old[place] = fresh[place] = spread[j];
      v[place] = g / q + spread[j] + sum;
      hinges += std::max(g, 0.0);
      highest = std::max(highest, g);
      linear += spread[j] * g;
      spread[j] = 0.0;
      ++place;
    }
    report.gap += c * (Rule::has_upper ? hinges : highest) - linear;
    report.visited += 1;

    // 2) step
    if (threshold > 0.0) {
      GreedyStep{threshold / q}(v, fresh, rivals, c);
    } else {
      SortingStep<Rule>{sorting}(v, fresh, rivals, c);
    }
    std::int64_t changed = 0;
    bool any = false;
    for (std::int64_t j = 0; j < rivals; ++j) {
      const double d = fresh[j] - old[j];
      report.violation = std::max(report.violation, q * std::abs(d));
      any = any || fresh[j] != old[j];
      if (d != 0.0) {
        v[changed] = d;
        scratch.moved[static_cast<std::size_t>(changed++)] = classes[j];
      }
    }
    if (any) {
      std::copy(v, v + changed, delta);
      move_weights(rows, i, y, scratch.moved.data(), delta, changed, iterate, stride, scratch);
      if (iterate.rho != 0.0) start_scores(iterate, data.classes, stride, scratch.start.data());
      duals.assign(i, classes, fresh, rivals);
    }
  }
  return sweep.go_on(stop, report);
}

}  // namespace widemargin
