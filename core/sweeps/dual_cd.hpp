// One sweep of dual coordinate descent, and the extrapolation along it (MATHEMATICS, section 9).
//
// Minimises  f(alpha) = 1/2 ||w||^2 - sum_i dual_term(alpha_i) + b t + rho/2 t^2  with
// w = sum_i alpha_i y_i x_i and t = sum_i alpha_i y_i, one coordinate at a time. The last two terms
// are the multipliers for the constraint t = 0 of an exact intercept; without one, rho = b = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "losses/logistic.hpp"
#include "rows/prefetch.hpp"

namespace widemargin {

// Immutable data of a binary problem, all of length rows.count.
struct BinaryData {
  const double* y = nullptr;
  const double* cost = nullptr;
  const double* squared_norms = nullptr;
};

// The iterate; `active[0, active_count)` are the examples that take part, in increasing order.
struct DualIterate {
  double* alpha = nullptr;
  double* w = nullptr;
  std::int64_t* active = nullptr;
  std::int64_t active_count = 0;
  double residual = 0.0;  // t
};

// Examples are visited in blocks of neighbours, the blocks in random order and the examples in
// random order within a block: nearly as good as a full shuffle for convergence (longer blocks are
// not: measured on a9a), and faster, since
// neighbours lie together in memory.
constexpr std::int64_t block_length = 4;

inline std::int64_t block_count(std::int64_t active_count) {
  return (active_count + block_length - 1) / block_length;
}

struct Multiplier {
  double b = 0.0;
  double rho = 0.0;
};

// An example leaves the active set when its gradient points further out of the box than any
// gradient pointed inwards in the sweep before (LIBLINEAR's rule).
struct ShrinkBounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

struct SweepReport {
  double largest_gradient = -std::numeric_limits<double>::infinity();
  double smallest_gradient = std::numeric_limits<double>::infinity();
  double gap_estimate = 0.0;  // sum of Fenchel-Young gaps at the moment of the visit
  std::int64_t next = 0;      // the block that the next call goes on with
};

// splitmix64: small, fast, and the same on every machine.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(
        (static_cast<std::uint64_t>((*this)() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
};

inline void shuffle(std::int64_t* order, std::int64_t count, std::uint64_t seed) {
  Random random{seed};
  for (std::int64_t i = count - 1; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
}

// Removes the examples that a sweep marked as having left (by the complement of their number).
inline std::int64_t compact(std::int64_t* active, std::int64_t count) {
  return std::remove_if(active, active + count, [](std::int64_t i) { return i < 0; }) - active;
}

// Visits the blocks `blocks[begin, begin + budget)`.
//
// With `ahead` above zero, a first sweep from nothing anticipates what the examples to come will
// add: those visited so far are a sample of all, so w and t are taken n / (visited + ahead) times,
// as if each example stood for that many. Otherwise the first ones would be given all that their
// whole class is to share, and the next sweeps would have to take it back.
template <class Loss, class Rows>
SweepReport dual_sweep(const Rows& rows, const BinaryData& data, DualIterate& iterate,
                       const Multiplier& multiplier, const ShrinkBounds& bounds,
                       const std::int64_t* blocks, std::int64_t begin, std::int64_t budget,
                       std::uint64_t seed, double ahead = 0.0) {
  constexpr bool can_shrink = !std::is_same_v<Loss, Logistic>;
  SweepReport report;
  double* alpha = iterate.alpha;
  double* w = iterate.w;
  double residual = iterate.residual;
  const std::int64_t total = block_count(iterate.active_count);
  const std::int64_t stop = std::min(total, begin + budget);
  Random random{seed + static_cast<std::uint64_t>(begin)};
  for (std::int64_t block = begin; block < stop; ++block) {
    const std::int64_t first = blocks[block] * block_length;
    const std::int64_t length = std::min(block_length, iterate.active_count - first);
    const double stands_for =
        ahead > 0.0 ? std::max(1.0, static_cast<double>(iterate.active_count) /
                                        (static_cast<double>(block * block_length) + ahead))
                    : 1.0;
    std::int64_t* members = iterate.active + first;
    std::uint8_t turns[block_length];
    for (std::int64_t k = 0; k < length; ++k) {
      turns[k] = static_cast<std::uint8_t>(k);
    }
    for (std::int64_t k = length - 1; k > 0; --k) {
      std::swap(turns[k], turns[random.below(k + 1)]);
    }
    if (block + 1 < stop) {
      const std::int64_t soon = blocks[block + 1] * block_length;
      prefetch_line(iterate.active + soon);
      const std::int64_t row = iterate.active[soon];
      rows.prefetch_pointers(row);
      prefetch_line(alpha + row);
      prefetch_line(data.squared_norms + row);
      prefetch_line(data.y + row);
      prefetch_line(data.cost + row);
    }

    for (std::int64_t k = 0; k < length; ++k) {
      if (k + 2 < length) {
        rows.prefetch(members[turns[k + 2]]);
      } else if (block + 1 < stop) {
        const std::int64_t soon = blocks[block + 1] * block_length + k + 2 - length;
        if (soon < iterate.active_count) {
          rows.prefetch(iterate.active[soon]);
        }
      }
      const std::int64_t i = members[turns[k]];
      const double y = data.y[i], c = data.cost[i], old = alpha[i];
      const double q = stands_for * (data.squared_norms[i] + multiplier.rho);
      const double m =
          y * (stands_for * (rows.dot(i, w) + multiplier.rho * residual) + multiplier.b);

      // 1) shrink, and watch the projected gradient
      if constexpr (can_shrink) {
        const double gradient = m + Loss::dual_slope(old, c);
        double projected = gradient;
        bool leaves = false;
        if (old == 0.0) {
          leaves = gradient > bounds.high;
          projected = std::min(gradient, 0.0);
        } else if (Loss::bounded && old == c) {
          leaves = gradient < bounds.low;
          projected = std::max(gradient, 0.0);
        }
        if (leaves) {
          members[turns[k]] = ~i;
          continue;
        }
        report.largest_gradient = std::max(report.largest_gradient, projected);
        report.smallest_gradient = std::min(report.smallest_gradient, projected);
        report.gap_estimate += c * Loss::value(m) - Loss::dual_term(old, c) + old * m;
        if (projected == 0.0) {
          continue;
        }
      }

      // 2) the step in this coordinate: exact for both hinges, near it for the entropy
      double fresh;
      if constexpr (can_shrink) {
        fresh = Loss::step(old, m, q, c);
      } else {
        const double wanted = Loss::alpha_at(m, c);
        fresh = Loss::step(old, m, q, c, wanted);
        report.gap_estimate += Loss::gap_near(old, wanted, c);
        report.largest_gradient = std::max(report.largest_gradient, std::abs(fresh - old) / c);
      }
      const double change = fresh - old;
      if (change != 0.0) {
        alpha[i] = fresh;
        rows.axpy(i, change * y, w);
        residual += change * y;
      }
    }
  }
  iterate.residual = residual;
  report.next = stop;
  return report;
}

// Sweeps over the active examples again and again, shrinking by what the sweep before saw, until at
// least `visits` examples were visited, the gap seen is at most `wanted`, or none is left: where
// few are active, a call a sweep would cost more than the sweep. Returns the visits; `report` and
// `bounds` are those of the last sweep.
template <class Loss, class Rows>
std::int64_t dual_sweeps(const Rows& rows, const BinaryData& data, DualIterate& iterate,
                         const Multiplier& multiplier, ShrinkBounds& bounds, std::int64_t visits,
                         double wanted, std::uint64_t seed, double ahead, SweepReport& report) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> blocks;
  Random random{seed};
  std::int64_t visited = 0;
  do {
    visited += iterate.active_count;
    blocks.resize(static_cast<std::size_t>(block_count(iterate.active_count)));
    std::iota(blocks.begin(), blocks.end(), 0);
    const auto count = static_cast<std::int64_t>(blocks.size());
    shuffle(blocks.data(), count, random());
    report = dual_sweep<Loss>(rows, data, iterate, multiplier, bounds, blocks.data(), 0, count,
                              random(), visited > iterate.active_count ? 0.0 : ahead);
    iterate.active_count = compact(iterate.active, iterate.active_count);
    bounds.high = report.largest_gradient > 0.0 ? report.largest_gradient : infinity;
    bounds.low = report.smallest_gradient < 0.0 ? report.smallest_gradient : -infinity;
  } while (visited < visits && report.gap_estimate > wanted && iterate.active_count > 0);
  return visited;
}

// Exact line search from `alpha` along the last sweep, alpha - alpha_before: its image w - w_before
// is known, so the search needs no pass over the data; only examples that hit a bound do. The
// step is kept if it lowers f. Returns the step that was taken, or zero. `w_moved` is scratch.
template <class Loss, class Rows>
double extrapolate(const Rows& rows, const BinaryData& data, DualIterate& iterate,
                   const Multiplier& multiplier, const double* alpha_before, const double* w_before,
                   double residual_before, std::int64_t width, double* w_moved) {
  const double* alpha = iterate.alpha;
  const double* w = iterate.w;
  const std::int64_t active = iterate.active_count;
  constexpr bool smooth = std::is_same_v<Loss, Logistic>;

  // 1) the quadratic part of f along the direction
  double ww = 0.0, wd = 0.0, dd = 0.0;
  for (std::int64_t j = 0; j < width; ++j) {
    const double d = w[j] - w_before[j];
    ww += w[j] * w[j];
    wd += w[j] * d;
    dd += d * d;
  }
  // A direction made of rounding would only be blown up by the step.
  if (dd <= 1e-20 * ww) {
    return 0.0;
  }
  const double dt = iterate.residual - residual_before;
  const double running = multiplier.b + multiplier.rho * iterate.residual;
  double slope = wd + running * dt;
  double curvature = dd + multiplier.rho * dt * dt;

  // 2) the step: closed form for both hinges, a few Newton steps for the entropy
  auto limited = [&](std::int64_t i, double step) {
    const double moved = alpha[i] + step * (alpha[i] - alpha_before[i]);
    if constexpr (smooth) {
      return std::clamp(moved, 0.1 * alpha[i], data.cost[i] - 0.1 * (data.cost[i] - alpha[i]));
    } else {
      return Loss::clip(moved, data.cost[i]);
    }
  };
  double step = 0.0;
  for (int round = 0; round < (smooth ? 3 : 1); ++round) {
    double first = slope + step * curvature, second = curvature;
    for (std::int64_t k = 0; k < active; ++k) {
      const std::int64_t i = iterate.active[k];
      const double d = alpha[i] - alpha_before[i];
      if (d != 0.0) {
        const double at = smooth ? limited(i, step) : alpha[i];
        first += d * Loss::dual_slope(at, data.cost[i]);
        second += d * d * Loss::dual_curvature(at, data.cost[i]);
      }
    }
    // A gain that drowns in the rounding of f cannot be told from a loss.
    if (!(second > 0.0) || (round == 0 && first * first / second <= 1e-13 * ww)) {
      return 0.0;
    }
    step -= first / second;
    if (!(step > 0.0)) {
      return 0.0;
    }
    step = std::min(step, 1e3);
  }

  // 3) take it, clip into the box, correct w for what was clipped
  for (std::int64_t j = 0; j < width; ++j) {
    w_moved[j] = w[j] + step * (w[j] - w_before[j]);
  }
  double residual = iterate.residual + step * dt;
  double terms_before = 0.0, terms_after = 0.0;
  for (std::int64_t k = 0; k < active; ++k) {
    const std::int64_t i = iterate.active[k];
    const double d = alpha[i] - alpha_before[i];
    if (d == 0.0) {
      continue;
    }
    const double fresh = limited(i, step);
    const double correction = fresh - (alpha[i] + step * d);
    if (correction != 0.0) {
      rows.axpy(i, correction * data.y[i], w_moved);
      residual += correction * data.y[i];
    }
    terms_before += Loss::dual_term(alpha[i], data.cost[i]);
    terms_after += Loss::dual_term(fresh, data.cost[i]);
  }

  // 4) keep it if f went down
  double moved_squared = 0.0;
  for (std::int64_t j = 0; j < width; ++j) {
    moved_squared += w_moved[j] * w_moved[j];
  }
  auto multiplier_part = [&](double t) { return multiplier.b * t + 0.5 * multiplier.rho * t * t; };
  const double before = 0.5 * ww - terms_before + multiplier_part(iterate.residual);
  const double after = 0.5 * moved_squared - terms_after + multiplier_part(residual);
  if (!(after < before)) {
    return 0.0;
  }
  for (std::int64_t k = 0; k < active; ++k) {
    const std::int64_t i = iterate.active[k];
    if (alpha[i] != alpha_before[i]) {
      iterate.alpha[i] = limited(i, step);
    }
  }
  std::copy(w_moved, w_moved + width, iterate.w);
  iterate.residual = residual;
  return step;
}

// Where a move began: the direction is from there to the iterate.
struct Beginning {
  double* alpha = nullptr;
  double* w = nullptr;
  double residual = 0.0;
};

// Joins the moves from two earlier points to the iterate: of their combinations the one that leads
// on to the least f, to second order and as if there were no bounds. `older` becomes the point that
// such a move would have begun at, for `extrapolate` to go on from. Returns how many times the
// moves count in it, all told, by which the rounding in w is blown up; zero if they are as good as
// one, and `older` is as it was.
template <class Loss>
double join_moves(const BinaryData& data, const DualIterate& iterate, const Multiplier& multiplier,
                  const Beginning& newer, Beginning& older, std::int64_t width) {
  // 1) slopes and curvatures of f along both
  double slope[2] = {}, curvature[3] = {};  // 11, 12, 22
  for (std::int64_t j = 0; j < width; ++j) {
    const double d = iterate.w[j] - newer.w[j], e = iterate.w[j] - older.w[j];
    slope[0] += iterate.w[j] * d, slope[1] += iterate.w[j] * e;
    curvature[0] += d * d, curvature[1] += d * e, curvature[2] += e * e;
  }
  const double running = multiplier.b + multiplier.rho * iterate.residual;
  const double dt = iterate.residual - newer.residual, et = iterate.residual - older.residual;
  slope[0] += running * dt, slope[1] += running * et;
  curvature[0] += multiplier.rho * dt * dt;
  curvature[1] += multiplier.rho * dt * et;
  curvature[2] += multiplier.rho * et * et;
  for (std::int64_t k = 0; k < iterate.active_count; ++k) {
    const std::int64_t i = iterate.active[k];
    const double at = iterate.alpha[i], d = at - newer.alpha[i], e = at - older.alpha[i];
    if (d != 0.0 || e != 0.0) {
      const double first = Loss::dual_slope(at, data.cost[i]);
      const double second = Loss::dual_curvature(at, data.cost[i]);
      slope[0] += d * first, slope[1] += e * first;
      curvature[0] += d * d * second, curvature[1] += d * e * second,
          curvature[2] += e * e * second;
    }
  }

  // 2) the least of the quadratic
  const double area = curvature[0] * curvature[2] - curvature[1] * curvature[1];
  if (!(area > 1e-10 * curvature[0] * curvature[2])) {
    return 0.0;
  }
  const double s = (curvature[1] * slope[1] - curvature[2] * slope[0]) / area;
  const double t = (curvature[1] * slope[0] - curvature[0] * slope[1]) / area;
  const double length = std::abs(s) + std::abs(t);
  if (!(length < 1e3)) {
    return 0.0;
  }

  // 3) where the joint move would have begun
  for (std::int64_t j = 0; j < width; ++j) {
    const double d = iterate.w[j] - newer.w[j], e = iterate.w[j] - older.w[j];
    older.w[j] = iterate.w[j] - (s * d + t * e);
  }
  for (std::int64_t k = 0; k < iterate.active_count; ++k) {
    const std::int64_t i = iterate.active[k];
    const double at = iterate.alpha[i], d = at - newer.alpha[i], e = at - older.alpha[i];
    older.alpha[i] = at - (s * d + t * e);
  }
  older.residual = iterate.residual - (s * dt + t * et);
  return length;
}

}  // namespace widemargin
