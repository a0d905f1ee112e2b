// One sweep of block dual descent for joint multiclass (docs/theory/methods.md): each visit
// minimises the dual exactly in all dual variables of one example.
//
// Minimises  f(beta) = 1/2 ||W||^2 - sum_ij beta_ij + b . r + rho/2 ||r||^2, with the weights
// w_j = sum_i a_ij x_i and the residual r_j = sum_i a_ij, where a_ij = sum_l beta_il for the
// example's own class and -beta_ij for the others. The last two terms are the multipliers of an
// exact intercept's constraint r = 0; without one, b = 0 and rho = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/class_products.hpp"
#include "projections/block_step.hpp"
#include "sweeps/active_set.hpp"
#include "sweeps/block_duals.hpp"

namespace widemargin {

// Scores of what is no rival class of an example: padding, its own class, classes dealt with.
constexpr double no_rival = -1e300;

// Immutable data of a multiclass problem.
struct MulticlassData {
  const std::int32_t* label = nullptr;
  const double* cost = nullptr;
  const double* squared_norms = nullptr;
  std::int64_t classes = 0;
  std::int64_t features = 0;  // rows of W

  std::int64_t stride() const { return padded_classes(classes); }
};

struct BlockIterate {
  BlockDuals* duals = nullptr;
  double* weights = nullptr;   // features x stride
  double* residual = nullptr;  // r, stride values
  const double* b = nullptr;   // stride values
  double rho = 0.0;
};

// What a sweep saw.
struct BlockReport {
  double violation = 0.0;  // largest, of the optimality conditions of a block
  double gap = 0.0;        // sum of Fenchel-Young gaps at the moment of the visit
  std::int64_t visited = 0;

  void add(const BlockReport& more) {
    violation = std::max(violation, more.violation);
    gap += more.gap;
    visited += more.visited;
  }
};

// A sweep over the active examples, which may be broken off and goes on at the place `next` of the
// order: neighbours in blocks, as in dual_sweep.
struct BlockSweep {
  Members active;
  std::vector<std::int64_t> order;  // places among the members
  std::int64_t next = 0;
  BlockReport report;

  void begin(std::uint64_t seed) {
    active.remove_marked();
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(block_count(active.count)));
    std::iota(blocks.begin(), blocks.end(), std::int64_t{0});
    shuffle(blocks, seed);
    Random random{seed + 1};
    order.clear();
    for (const std::int64_t block : blocks) {
      const std::int64_t first = block * block_length;
      const std::int64_t length = std::min(block_length, active.count - first);
      const Turns turns(length, random);
      for (std::int64_t k = 0; k < length; ++k) order.push_back(first + turns.at[k]);
    }
    next = 0;
    report = {};
  }

  // The places that `budget` more visits reach.
  std::int64_t stop(std::int64_t budget) const { return std::min(active.count, next + budget); }

  // Takes note of the visits up to `stop`; returns whether the sweep is over.
  bool go_on(std::int64_t stop, const BlockReport& seen) {
    report.add(seen);
    next = stop;
    if (next < active.count) return false;
    active.remove_marked();
    return true;
  }
};

// What one visit works with; allocated once a call.
struct BlockScratch {
  std::vector<double> scores, start, delta, shifted, levels, fresh, old;
  std::vector<std::int32_t> classes, moved;
  std::vector<double> moved_by;

  explicit BlockScratch(std::int64_t stride)
      : scores(static_cast<std::size_t>(stride)),
        start(static_cast<std::size_t>(stride)),
        delta(static_cast<std::size_t>(stride)),
        shifted(static_cast<std::size_t>(stride)),
        levels(static_cast<std::size_t>(stride)),
        fresh(static_cast<std::size_t>(stride)),
        old(static_cast<std::size_t>(stride)),
        classes(static_cast<std::size_t>(stride)),
        moved(static_cast<std::size_t>(stride)),
        moved_by(static_cast<std::size_t>(stride)) {}
};

// The scores that the intercept alone gives; padding can never be a rival.
inline void start_scores(const BlockIterate& iterate, std::int64_t classes, std::int64_t stride,
                         double* start) {
  for (std::int64_t j = 0; j < classes; ++j) {
    start[j] = iterate.b[j] + iterate.rho * iterate.residual[j];
  }
  std::fill(start + classes, start + stride, no_rival);
}

// An example without features: its loss does not depend on the weights, and the dual variables that
// belong to it cost nothing.
template <class Rule>
void fill_constant_example(BlockDuals& duals, std::int64_t i, std::int32_t y, double c,
                           std::int64_t classes, BlockScratch& scratch) {
  std::int64_t count = 0;
  for (std::int32_t j = 0; j < classes && (Rule::has_upper || count == 0); ++j) {
    if (j != y) {
      scratch.classes[static_cast<std::size_t>(count)] = j;
      scratch.fresh[static_cast<std::size_t>(count++)] = c;
    }
  }
  duals.assign(i, scratch.classes.data(), scratch.fresh.data(), count);
}

// Adds -delta[m] x_i to the weights of the class classes[m], and their sum to the class y.
template <class Rows>
void move_weights(const Rows& rows, std::int64_t i, std::int32_t y, const std::int32_t* classes,
                  const double* delta, std::int64_t count, BlockIterate& iterate,
                  std::int64_t stride, BlockScratch& scratch) {
  // 1) the classes that change
  double sum = 0.0;
  std::int64_t changed = 0;
  std::int32_t* moved = scratch.moved.data();
  double* moved_by = scratch.moved_by.data();
  for (std::int64_t m = 0; m < count; ++m) {
    moved[changed] = classes[m];
    moved_by[changed] = -delta[m];
    changed += delta[m] != 0.0 ? 1 : 0;
    sum += delta[m];
  }
  if (sum != 0.0) {
    moved[changed] = y;
    moved_by[changed++] = sum;
  }

  // 2) a few of them one by one, or all side by side
  double* weights = iterate.weights;
  if (changed == 2 && stride > 2 * vector_length) {
    few_class_axpy<2>(rows, i, moved, moved_by, weights, stride);
  } else if (changed == 3 && stride > 3 * vector_length) {
    few_class_axpy<3>(rows, i, moved, moved_by, weights, stride);
  } else if (stride <= widest_piece || 8 * changed > stride) {
    double* dense = scratch.delta.data();
    for (std::int64_t m = 0; m < changed; ++m) dense[moved[m]] = moved_by[m];
    class_axpy(rows, i, dense, weights, stride);
    for (std::int64_t m = 0; m < changed; ++m) dense[moved[m]] = 0.0;
  } else {
    some_class_axpy(rows, i, moved, moved_by, changed, weights, stride);
  }
  if (iterate.rho != 0.0) {
    for (std::int64_t m = 0; m < count; ++m) iterate.residual[classes[m]] -= delta[m];
    iterate.residual[y] += sum;
  }
}

// What the classes outside an example's list say: their hinges, and the highest score.
struct Rivals {
  double hinges = 0.0;
  double highest = no_rival;
};

template <class Rule>
Rivals look_at_rivals(const double* scores, std::int64_t stride, double base) {
  double sums[vector_length] = {}, tops[vector_length];
  std::fill(tops, tops + vector_length, no_rival);
  for (std::int64_t j = 0; j < stride; j += vector_length) {
    for (int l = 0; l < vector_length; ++l) {
      const double s = scores[j + l];
      tops[l] = s > tops[l] ? s : tops[l];
      if constexpr (Rule::has_upper) {
        const double g = base + s;
        sums[l] += g > 0.0 ? g : 0.0;
      }
    }
  }
  return {(sums[0] + sums[1]) + (sums[2] + sums[3]),
          std::max(std::max(tops[0], tops[1]), std::max(tops[2], tops[3]))};
}

// The exact step for example i. Everything is multiplied by q = ||x_i||^2, which saves dividing the
// scores: with S = sum beta_i, a class outside the list has q v_j = score_j + (1 - score_y + q S).
// Returns whether the example can be left out from now on. `listed_only` looks at no class that is
// outside the list.
template <class Rule, class Rows>
bool visit_block(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                 std::int64_t i, double q, bool listed_only, BlockScratch& scratch,
                 BlockReport& report) {
  const std::int64_t stride = data.stride();
  const std::int32_t y = data.label[i];
  const double c = data.cost[i];
  BlockDuals& duals = *iterate.duals;
  const std::int32_t listed = duals.count(i);
  const double* beta = duals.values(i);
  std::int32_t* classes = scratch.classes.data();
  double* scores = scratch.scores.data();
  double* shifted = scratch.shifted.data();
  double* old = scratch.old.data();
  std::copy(duals.classes(i), duals.classes(i) + listed, classes);

  // 1) scores; the example's own class is no rival
  if (listed_only) {
    classes[listed] = y;
    some_class_scores(rows, i, iterate.weights, stride, scratch.start.data(), classes, listed + 1,
                      scores);
  } else {
    class_scores(rows, i, iterate.weights, stride, scratch.start.data(), scores);
  }
  const double base = 1.0 - scores[y];
  scores[y] = no_rival;
  double sum = 0.0;
  for (std::int32_t m = 0; m < listed; ++m) sum += beta[m];
  const double shift = base + q * sum;

  // 2) the classes on the list: gap, violation, and the level they have among themselves
  double hinges = 0.0, linear = 0.0, violation = 0.0;
  double top = -std::numeric_limits<double>::infinity();
  double bottom = std::numeric_limits<double>::infinity();
  bool at_bounds = true;
  for (std::int32_t m = 0; m < listed; ++m) {
    const double g = base + scores[classes[m]];
    scores[classes[m]] = no_rival;
    old[m] = beta[m];
    shifted[m] = g + q * (sum + beta[m]);
    scratch.levels[static_cast<std::size_t>(m)] = shifted[m];
    linear += beta[m] * g;
    top = std::max(top, g);
    bottom = std::min(bottom, g);
    if constexpr (Rule::has_upper) {
      hinges += std::max(g, 0.0);
      const bool full = beta[m] == c;
      at_bounds = at_bounds && full;
      violation = std::max(violation, full ? -g : std::abs(g));
    }
  }
  const double capacity = q * c;
  double level =
      listed == 0 ? 0.0 : select_level<Rule>(scratch.levels.data(), listed, capacity, 0.0);

  // 3) the others: only those above that level can take part
  Rivals rivals;
  std::int32_t count = listed;
  if (!listed_only) {
    rivals = look_at_rivals<Rule>(scores, stride, base);
    const double threshold = level - shift;
    if (rivals.highest > threshold) {
      for (std::int64_t j = 0; j < stride; j += vector_length) {
        const double* s = scores + j;
        if (std::max(std::max(s[0], s[1]), std::max(s[2], s[3])) <= threshold) continue;
        for (int l = 0; l < vector_length; ++l) {
          if (s[l] > threshold) {
            classes[count] = static_cast<std::int32_t>(j + l);
            shifted[count] = s[l] + shift;
            old[count++] = 0.0;
          }
        }
      }
      std::copy(shifted, shifted + count, scratch.levels.data());
      level = select_level<Rule>(scratch.levels.data(), count, capacity, level);
    }
  }
  const double outside = base + rivals.highest;
  if constexpr (Rule::has_upper) {
    violation = std::max(violation, outside);
    report.gap += c * (hinges + rivals.hinges) - linear;
  } else {
    const bool full = sum >= c * (1.0 - 1e-12);
    const double highest = std::max(std::max(top, outside), 0.0);
    violation = highest - std::min(bottom, full ? highest : 0.0);
    at_bounds = listed == 0 || (listed == 1 && full);
    report.gap += c * highest - linear;
  }
  report.violation = std::max(report.violation, violation);

  // 4) step
  double* fresh = scratch.fresh.data();
  double* delta = scratch.levels.data();
  bool moved = false;
  fill_values<Rule>(shifted, count, level, capacity, fresh);
  for (std::int32_t m = 0; m < count; ++m) {
    fresh[m] = Rule::has_upper && fresh[m] >= capacity ? c : fresh[m] / q;
  }
  restore_sum<Rule>(fresh, count, c, level > capacity);
  for (std::int32_t m = 0; m < count; ++m) {
    delta[m] = fresh[m] - old[m];
    // A change that is rounding would keep the example busy for ever.
    if (std::abs(delta[m]) <= 4e-16 * old[m]) {
      fresh[m] = old[m];
      delta[m] = 0.0;
    }
    moved = moved || delta[m] != 0.0;
  }
  if (moved) {
    move_weights(rows, i, y, classes, delta, count, iterate, stride, scratch);
    if (iterate.rho != 0.0) start_scores(iterate, data.classes, stride, scratch.start.data());
    duals.assign(i, classes, fresh, count);
    return false;
  }

  // 5) nothing moved: is the example so far inside its corner that it can be left out?
  if (!at_bounds || listed_only) return false;
  if (listed == 0) return outside < 0.0;
  // The sum at its limit leaves the other rivals out, whatever their slacks, while they are lower.
  return bottom > 0.0 && (Rule::has_upper ? outside < 0.0 : bottom - outside > 0.0);
}

// Visits the next `budget` examples of the sweep that has begun; returns whether it is over. With
// `listed_only`, only dual variables that are not zero move, and examples without any are passed
// over.
template <class Rule, class Rows>
bool block_sweep(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                 BlockSweep& sweep, std::int64_t budget, bool listed_only) {
  BlockReport report;
  const std::int64_t stride = data.stride();
  BlockScratch scratch(stride);
  start_scores(iterate, data.classes, stride, scratch.start.data());
  std::int64_t* members = sweep.active.members.data();
  const std::int64_t* order = sweep.order.data();
  const std::int64_t stop = sweep.stop(budget);
  const bool far_weights = data.features * stride * 8 > (std::int64_t{1} << 19);
  for (std::int64_t t = sweep.next; t < stop; ++t) {
    // 0) what comes next is fetched while this example is worked on
    if (t + 2 < stop) {
      const std::int64_t later = members[order[t + 2]];
      rows.prefetch_pointers(later);
      rows.prefetch(later);
      prefetch_line(iterate.duals->header(later));
      prefetch_line(data.squared_norms + later);
      prefetch_line(data.label + later);
      prefetch_line(data.cost + later);
    }
    if (t + 1 < stop) {
      const std::int64_t soon = members[order[t + 1]];
      prefetch_line(iterate.duals->values(soon));
      if (far_weights && stride <= widest_piece) {
        prefetch_class_weights(rows, soon, iterate.weights, stride);
      }
    }
    std::int64_t& member = members[order[t]];
    const std::int64_t i = member;
    if (listed_only && iterate.duals->count(i) == 0) continue;
    const double q = data.squared_norms[i] + iterate.rho;
    if (q == 0.0) {
      fill_constant_example<Rule>(*iterate.duals, i, data.label[i], data.cost[i], data.classes,
                                  scratch);
      member = ~i;
      continue;
    }
    const bool few = listed_only && 8 * (iterate.duals->count(i) + 1) <= stride;
    report.visited += 1;
    if (visit_block<Rule>(rows, data, iterate, i, q, few, scratch, report)) {
      member = ~i;
    }
  }
  return sweep.go_on(stop, report);
}

}  // namespace widemargin
