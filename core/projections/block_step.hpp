// The step of block dual descent for several classes (docs/theory/methods.md, block_dual_cd).
//
// Minimises  1/2 ||b||^2 + 1/2 (sum b)^2 - v . b  over the dual's range of one example: 0 <= b <= c
// for Weston-Watkins, b >= 0 and sum b <= c for Crammer-Singer. The minimiser is a clipped shift
// v - level of v, and the level is the root of
//
//   excess(level) = sum of the clipped shifts - supply(level),
//
// which is continuous, piecewise linear and strictly decreasing wherever it is positive.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace widemargin {

// Sums over the coordinates at one level: those inside their bounds, and those at the upper one.
struct LevelSums {
  double inside_sum = 0.0;  // of v
  double inside = 0.0;
  double upper = 0.0;

  bool same_sets(const LevelSums& other) const {
    return inside == other.inside && upper == other.upper;
  }
};

struct WestonWatkins {
  static constexpr bool has_upper = true;
  static double value(double v, double level, double c) { return std::clamp(v - level, 0.0, c); }
  static double supply(double level, double) { return level; }
  // The root if the coordinates stay on the pieces that they are on.
  static double root(const LevelSums& sums, double c) {
    return (sums.inside_sum + c * sums.upper) / (sums.inside + 1.0);
  }
};

struct CrammerSinger {
  static constexpr bool has_upper = false;
  static double value(double v, double level, double) { return std::max(v - level, 0.0); }
  static double supply(double level, double c) { return std::min(level, c); }
  static double root(const LevelSums& sums, double c) {
    const double free = sums.inside_sum / (sums.inside + 1.0);
    return free <= c ? free : (sums.inside_sum - c) / sums.inside;
  }
};

template <class Rule>
void add_at_level(LevelSums& sums, double v, double level, double c) {
  const double shifted = v - level;
  if constexpr (Rule::has_upper) {
    const bool upper = shifted >= c, inside = shifted > 0.0 && !upper;
    sums.upper += upper ? 1.0 : 0.0;
    sums.inside += inside ? 1.0 : 0.0;
    sums.inside_sum += inside ? v : 0.0;
  } else {
    const bool inside = shifted > 0.0;
    sums.inside += inside ? 1.0 : 0.0;
    sums.inside_sum += inside ? v : 0.0;
  }
}

template <class Rule>
double excess(const LevelSums& sums, double level, double c) {
  return sums.inside_sum - sums.inside * level + sums.upper * c - Rule::supply(level, c);
}

// The level of v[0, count), by Newton's steps inside a bracket. Coordinates whose piece is settled
// leave the list; where a step does not settle a quarter of it, the next one goes to a random
// breakpoint, which settles half of them in expectation: O(count) in all. `start` is any level that
// is known not to lie above the root; zero always is one. The order of v is not kept.
template <class Rule>
double select_level(double* v, std::int64_t count, double c, double start) {
  constexpr std::int64_t short_list = 16;
  const double infinity = std::numeric_limits<double>::infinity();
  double low = -infinity, high = infinity, level = start;
  LevelSums settled, before;
  bool is_root = false;
  std::uint64_t seed = 0x9e3779b97f4a7c15ULL;
  while (true) {
    // 1) the excess here, and the root of this piece
    LevelSums sums = settled;
    for (std::int64_t j = 0; j < count; ++j) {
      add_at_level<Rule>(sums, v[j], level, c);
    }
    if (is_root && sums.same_sets(before)) {
      return level;
    }
    const double here = excess<Rule>(sums, level, c);
    if (here == 0.0) {
      return level;
    }
    (here > 0.0 ? low : high) = level;

    // 2) settle those whose piece is the same in the whole bracket
    const std::int64_t length = count;
    if (count > short_list) {
      std::int64_t kept = 0;
      for (std::int64_t j = 0; j < count; ++j) {
        const double x = v[j];
        if (x <= low) {
          continue;
        }
        if (Rule::has_upper && x - c >= high) {
          settled.upper += 1.0;
        } else if (x >= high && (!Rule::has_upper || x - c <= low)) {
          settled.inside += 1.0;
          settled.inside_sum += x;
        } else {
          v[kept++] = x;
        }
      }
      count = kept;
    }

    // 3) where to look next
    double next = Rule::root(sums, c);
    before = sums;
    is_root = true;
    const bool slow = count > short_list && 4 * count > 3 * length;
    if (slow || !(next > low && next < high)) {
      is_root = false;
      next = 0.5 * (low + high);
      if (slow) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        const double x = v[static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(count))];
        const bool enters = x > low && x < high;
        const bool rises = Rule::has_upper && x - c > low && x - c < high;
        next = enters && !(rises && (seed >> 63)) ? x : rises ? x - c : next;
      }
      if (!(next > low && next < high)) {
        return std::isfinite(high) && std::isfinite(low) ? (here > 0.0 ? high : low) : level;
      }
    }
    level = next;
  }
}

// Memory of the sorting step, kept between calls.
struct SortScratch {
  std::vector<double> sorted;
  std::vector<std::pair<double, bool>> breakpoints;  // (place, whether a coordinate enters)
};

// The same level by sorting (WALRUS, algorithm 2 and subroutines 3 and 4): walk down the sorted
// breakpoints, and stop at the first piece that holds its own root.
template <class Rule>
double sort_level(const double* v, std::int64_t count, double c, SortScratch& scratch) {
  auto& [sorted, breakpoints] = scratch;
  sorted.assign(v, v + count);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if constexpr (Rule::has_upper) {
    breakpoints.clear();
    for (const double x : sorted) {
      if (x > 0.0) breakpoints.emplace_back(x, true);
      if (x > c) breakpoints.emplace_back(x - c, false);
    }
    std::sort(breakpoints.begin(), breakpoints.end(), std::greater<>());
    LevelSums sums;
    std::int64_t entered = 0, risen = 0;
    double level = 0.0;
    for (std::size_t t = 0; t < breakpoints.size(); ++t) {
      if (breakpoints[t].second) {
        sums.inside += 1.0;
        sums.inside_sum += sorted[static_cast<std::size_t>(entered++)];
      } else {
        sums.inside -= 1.0;
        sums.upper += 1.0;
        sums.inside_sum -= sorted[static_cast<std::size_t>(risen++)];
      }
      level = Rule::root(sums, c);
      if (t + 1 == breakpoints.size() || level >= breakpoints[t + 1].first) {
        break;
      }
    }
    return level;
  } else {
    LevelSums sums;
    double level = 0.0;
    for (const double x : sorted) {
      if (x <= level) {
        break;
      }
      sums.inside += 1.0;
      sums.inside_sum += x;
      level = Rule::root(sums, c);
    }
    return level;
  }
}

// max(v - level, 0) with the sum c, from the differences to the largest v: they keep the digits
// that a level so far above c has lost. Coordinates leave one after the other (Michelot 1986).
inline void fill_small_share(const double* v, std::int64_t count, double c, double* out) {
  const double top = *std::max_element(v, v + count);
  double level = -c;
  while (true) {
    double sum = 0.0, inside = 0.0;
    for (std::int64_t j = 0; j < count; ++j) {
      const double below = v[j] - top;
      sum += below > level ? below : 0.0;
      inside += below > level ? 1.0 : 0.0;
    }
    const double next = inside > 0.0 ? (sum - c) / inside : level;
    if (!(next > level)) break;
    level = next;
  }
  for (std::int64_t j = 0; j < count; ++j) out[j] = std::max(v[j] - top - level, 0.0);
}

// The minimiser that belongs to the level.
template <class Rule>
void fill_values(const double* v, std::int64_t count, double level, double c, double* out) {
  if (!Rule::has_upper && c < 1e-6 * level && count > 0) {
    fill_small_share(v, count, c, out);
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) out[j] = Rule::value(v[j], level, c);
}

// Rounding in v - level spoils the sum that the rule holds b to: it is set right again.
template <class Rule>
void restore_sum(double* b, std::int64_t count, double c, bool at_limit) {
  if (Rule::has_upper || !at_limit) return;
  double sum = 0.0;
  for (std::int64_t j = 0; j < count; ++j) sum += b[j];
  if (sum > 0.0 && sum != c) {
    for (std::int64_t j = 0; j < count; ++j) b[j] = b[j] == sum ? c : b[j] * (c / sum);
  }
}

// b = argmin, into `out`; `scratch` has room for count values.
template <class Rule>
void block_step(const double* v, std::int64_t count, double c, bool by_sorting, double* out,
                double* scratch) {
  double level = 0.0;
  if (by_sorting) {
    SortScratch sorting;
    level = sort_level<Rule>(v, count, c, sorting);
  } else {
    std::int64_t kept = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      scratch[kept] = v[j];
      kept += v[j] > 0.0 ? 1 : 0;
    }
    level = kept == 0 ? 0.0 : select_level<Rule>(scratch, kept, c, 0.0);
  }
  fill_values<Rule>(v, count, level, c, out);
  restore_sum<Rule>(out, count, c, level > c);
}

}  // namespace widemargin
