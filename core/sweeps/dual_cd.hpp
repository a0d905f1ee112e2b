// Sweeps of dual coordinate descent (docs/theory/methods.md).
//
// Minimises  f(alpha) = 1/2 ||w||^2 - sum_i dual_term(alpha_i) + b t + rho/2 t^2  with
// w = sum_i alpha_i y_i x_i and t = sum_i alpha_i y_i, one coordinate at a time. The last two terms
// are the multipliers for the constraint t = 0 of an exact intercept; without one, rho = b = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "losses/sums.hpp"
#include "rows/prefetch.hpp"
#include "sweeps/active_set.hpp"

namespace widemargin {

// What a sweep saw.
struct SweepReport {
  double largest_gradient = -std::numeric_limits<double>::infinity();
  double smallest_gradient = std::numeric_limits<double>::infinity();
  double gap = 0.0;  // sum of Fenchel-Young gaps at the moment of the visit
  // Where the loss has a corner: the losses of examples that could still be given more of w, and
  // sum_i alpha_i m_i over those in the corner.
  double missed = 0.0;
  double inside = 0.0;
  double misplaced = 0.0;  // visits to examples on the wrong side

  void add(const SweepReport& more) {
    largest_gradient = std::max(largest_gradient, more.largest_gradient);
    smallest_gradient = std::min(smallest_gradient, more.smallest_gradient);
    gap += more.gap;
    missed += more.missed;
    inside += more.inside;
    misplaced += more.misplaced;
  }

  // What of the gap closes where w is larger by just so much that no margin is missed, except by
  // examples that have all they can get: their losses fall by what the multiple adds to ||w||^2
  // beside its share of the corner.
  double closed_by_larger(double squared) const {
    const double most = -smallest_gradient;
    if (!(missed > 0.0 && most > 0.0 && most < 1.0)) return 0.0;
    const double step = most / (1.0 - most);
    return std::max(0.0, missed - step * inside - 0.5 * step * step * squared);
  }
};

// The iterate of a run of sweeps. An example leaves the active set when its gradient points further
// out of the box than any gradient pointed inwards in the sweep before (LIBLINEAR's rule).
struct DualIterate {
  double* alpha = nullptr;
  double* w = nullptr;
  const double* squared_norms = nullptr;
  double residual = 0.0;  // t
  double b = 0.0;
  double rho = 0.0;
  // Above zero, the first sweep, from nothing, anticipates what the examples to come will add:
  // those visited so far are a sample of all, so w and t are taken n / (visited + ahead) times, as
  // if each example stood for that many. Otherwise the first ones would be given all that their
  // whole class is to share, and the next sweeps would have to take it back.
  double ahead = 0.0;
  double shrink_low = -std::numeric_limits<double>::infinity();
  double shrink_high = std::numeric_limits<double>::infinity();
  ActiveSet active;
  SweepReport report;

  // All that `takes` names take part again.
  template <class Takes>
  void open(std::int64_t examples, Takes&& takes) {
    active.open(examples, takes);
    shrink_low = -std::numeric_limits<double>::infinity();
    shrink_high = std::numeric_limits<double>::infinity();
  }
  void begin_sweep(std::uint64_t shuffled_by, std::uint64_t turns_by) {
    active.begin_sweep(shuffled_by, turns_by);
    report = {};
  }
  void end_sweep() {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    active.remove_marked();
    shrink_high = report.largest_gradient > 0.0 ? report.largest_gradient : infinity;
    shrink_low = report.smallest_gradient < 0.0 ? report.smallest_gradient : -infinity;
    ahead = 0.0;
  }
};

// What a visit decides: the new value of a coordinate, or that it leaves the active set.
struct Visited {
  double fresh = 0.0;
  bool leaves = false;
};

// The dual terms of a loss of margins, one coordinate alpha_i at a time. Every kind of term has
// these members; `d` is the direction of a move away from `at`.
template <class Loss>
struct MarginTerms {
  Examples data;

  // Where the dual term is a parabola, one Newton step along a line is exact.
  static constexpr bool parabola = Loss::dual_quadratic.has_value();

  std::int64_t count() const { return data.count; }
  double sign(std::int64_t i) const { return data.y[i]; }
  void prefetch(std::int64_t i) const {
    prefetch_line(data.y + i);
    prefetch_line(data.cost + i);
  }
  double slope(std::int64_t i, double at, double) const {
    return Loss::dual_slope(at, data.cost[i]);
  }
  double curvature(std::int64_t i, double at) const {
    return Loss::dual_curvature(at, data.cost[i]);
  }
  double term(std::int64_t i, double at) const { return Loss::dual_term(at, data.cost[i]); }

  // The nearest point that a move from `at` may end at.
  double limited(std::int64_t i, double at, double moved) const {
    const double c = data.cost[i];
    if constexpr (Loss::sparse) {
      return Loss::clip(moved, c);
    } else {
      return std::clamp(moved, 0.1 * at, c - 0.1 * (c - at));
    }
  }

  Visited visit(std::int64_t i, double old, double score, double q, const DualIterate& iterate,
                SweepReport& report) const {
    const double c = data.cost[i], m = data.y[i] * score;
    if constexpr (Loss::sparse) {
      // 1) shrink, and watch the projected gradient
      const double gradient = m + Loss::dual_slope(old, c);
      double projected = gradient;
      bool leaves = false;
      if (old == 0.0) {
        leaves = gradient > iterate.shrink_high;
        projected = std::min(gradient, 0.0);
      } else if (Loss::bounded && old == c) {
        leaves = gradient < iterate.shrink_low;
        projected = std::max(gradient, 0.0);
      }
      if (leaves) return {old, true};
      report.largest_gradient = std::max(report.largest_gradient, projected);
      report.smallest_gradient = std::min(report.smallest_gradient, projected);
      report.gap += c * Loss::value(m) - Loss::dual_term(old, c) + old * m;
      report.misplaced += m < 0.0 ? 1.0 : 0.0;
      if constexpr (Loss::bounded) {
        if (old < c) {
          report.missed += c * Loss::value(m);
          report.inside += old * m;
        }
      }
      if (projected == 0.0) return {old};
      // 2) the step in this coordinate, exact
      return {Loss::step(old, m, q, c)};
    } else {
      // near the exact one, for the entropy
      const double wanted = Loss::alpha_at(m, c);
      const double fresh = Loss::step(old, m, q, c, wanted);
      report.gap += Loss::gap_near(old, wanted, c);
      report.largest_gradient = std::max(report.largest_gradient, std::abs(fresh - old) / c);
      return {fresh};
    }
  }
};

// Visits the next `budget` blocks of the sweep that has begun; returns whether it is over.
template <class Terms, class Rows>
bool dual_sweep(const Rows& rows, const Terms& terms, DualIterate& iterate, std::int64_t budget) {
  SweepReport report;
  double* alpha = iterate.alpha;
  double* w = iterate.w;
  double residual = iterate.residual;
  const double b = iterate.b, rho = iterate.rho, ahead = iterate.ahead;
  const double* squared_norms = iterate.squared_norms;
  ActiveSet& active = iterate.active;
  std::int64_t* everyone = active.members.data();
  const std::int64_t* blocks = active.blocks.data();
  const std::int64_t begin = active.next, count = active.count;
  const std::int64_t stop = std::min(std::ssize(active.blocks), begin + budget);
  Random random{active.seed + static_cast<std::uint64_t>(begin)};
  for (std::int64_t block = begin; block < stop; ++block) {
    const std::int64_t first = blocks[block] * block_length;
    const std::int64_t length = std::min(block_length, count - first);
    const double stands_for =
        ahead > 0.0 ? std::max(1.0, static_cast<double>(count) /
                                        (static_cast<double>(block * block_length) + ahead))
                    : 1.0;
    std::int64_t* members = everyone + first;
    const Turns turns(length, random);
    if (block + 1 < stop) {
      const std::int64_t soon = blocks[block + 1] * block_length;
      prefetch_line(everyone + soon);
      const std::int64_t row = everyone[soon];
      rows.prefetch_pointers(row);
      prefetch_line(alpha + row);
      prefetch_line(squared_norms + row);
      terms.prefetch(row);
    }

    for (std::int64_t k = 0; k < length; ++k) {
      if (k + 2 < length) {
        rows.prefetch(members[turns.at[k + 2]]);
      } else if (block + 1 < stop) {
        const std::int64_t soon = blocks[block + 1] * block_length + k + 2 - length;
        if (soon < count) {
          rows.prefetch(everyone[soon]);
        }
      }
      const std::int64_t i = members[turns.at[k]];
      const double old = alpha[i];
      const double q = stands_for * (squared_norms[i] + rho);
      const double score = stands_for * (rows.dot(i, w) + rho * residual) + b;
      const Visited visit = terms.visit(i, old, score, q, iterate, report);
      if (visit.leaves) members[turns.at[k]] = ~i;
      const double change = visit.fresh - old;
      if (change != 0.0) {
        const double y = terms.sign(i);
        alpha[i] = visit.fresh;
        rows.axpy(i, change * y, w);
        residual += change * y;
      }
    }
  }
  iterate.residual = residual;
  iterate.report.add(report);
  active.next = stop;
  if (!active.is_swept()) return false;
  iterate.end_sweep();
  return true;
}

// Sweeps over the active examples again and again until at least `visits` examples were visited,
// the gap seen is at most `wanted`, or none is left: where few are active, a call a sweep would
// cost more than the sweep. Returns the visits.
template <class Terms, class Rows>
std::int64_t dual_sweeps(const Rows& rows, const Terms& terms, DualIterate& iterate,
                         std::int64_t visits, double wanted, std::uint64_t seed) {
  Random random{seed};
  std::int64_t visited = 0;
  do {
    visited += iterate.active.count;
    const std::uint64_t shuffled_by = random();
    iterate.begin_sweep(shuffled_by, random());
    dual_sweep(rows, terms, iterate, std::ssize(iterate.active.blocks));
  } while (visited < visits && iterate.report.gap - iterate.report.closed_by_larger(0.0) > wanted &&
           iterate.active.count > 0);
  return visited;
}

}  // namespace widemargin
