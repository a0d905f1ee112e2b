// Moves of shares between the labelings of one sentence that are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "structures/labelings.hpp"

namespace widemargin {

// Moves that gain less than this times the gap are left: all other sentences change the scores
// before the next visit. With 0.1 the OCR words and CoNLL-2000 take a few per cent longer, with 0.5
// the OCR words do.
constexpr double least_gain = 0.25;

// A labeling put together from others is kept if it closes more than this times the gap.
constexpr double worth_keeping = 0.5;

struct ShareMoves {
  std::vector<double> share;  // as proposed, for each labeling that is kept
  std::vector<double> value;  // what its score, costs included, is above that of the own labeling
  double rest = 1.0;          // the share of the sentence's own labeling
  std::vector<double> zeros;  // the products of that one

  void open(const Labelings& cache) {
    share = cache.share;
    value.resize(share.size());
    double sum = 0.0;
    for (const double each : share) sum += each;
    rest = std::max(0.0, 1.0 - sum);
  }

  double mean() const {
    double sum = 0.0;
    for (std::size_t j = 0; j < value.size(); ++j) sum += share[j] * value[j];
    return sum;
  }

  // The labelings that gain most and least from a larger share; -1 is the sentence's own. Without
  // branches: which of a few numbers is the largest cannot be foreseen.
  bool extremes(std::int64_t& up, std::int64_t& down, double& gain) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    up = -1;
    down = -1;
    double high = 0.0, low = rest > 0.0 ? 0.0 : infinite;
    for (std::int64_t j = 0; j < std::ssize(value); ++j) {
      const double held = share[j] > 0.0 ? value[j] : infinite;
      up = value[j] > high ? j : up;
      high = std::max(high, value[j]);
      down = held < low ? j : down;
      low = std::min(low, held);
    }
    gain = high - low;
    return up != down && gain > 0.0;
  }

  // Moves the share that is best, or all that there is; returns it.
  double shift(std::int64_t up, std::int64_t down, double wanted) {
    double& source = down >= 0 ? share[down] : rest;
    double& target = up >= 0 ? share[up] : rest;
    const double moved = std::min(wanted, source);
    target += moved;
    source = wanted >= source ? 0.0 : source - moved;
    return moved;
  }

  // Moves share from the worst labeling to the best one; false if that gains too little.
  bool move(double cost, const Labelings& cache, double least) {
    std::int64_t up = -1, down = -1;
    double gain = 0.0;
    if (!extremes(up, down, gain) || !(cost * gain > least)) return false;
    const std::int64_t count = std::ssize(value);
    if (std::ssize(zeros) < count) zeros.resize(value.size());
    const double* with_up = up >= 0 ? cache.line(up) : zeros.data();
    const double* with_down = down >= 0 ? cache.line(down) : zeros.data();
    const double norm = with_up[std::max<std::int64_t>(up, 0)] +
                        with_down[std::max<std::int64_t>(down, 0)] -
                        2.0 * with_up[std::max<std::int64_t>(down, 0)] * (down >= 0);
    const double moved = shift(up, down, norm > 0.0 ? gain / (cost * norm) : 1.0);
    const double amount = cost * moved;
    for (std::int64_t j = 0; j < count; ++j) value[j] += amount * (with_down[j] - with_up[j]);
    return true;
  }

  // Moves while one gains more than `least`; returns whether any did.
  bool settle(double cost, const Labelings& cache, double least) {
    const std::int64_t most = 4 * cache.count() + 4;
    std::int64_t made = 0;
    while (made < most && move(cost, cache, least)) ++made;
    return made > 0;
  }

  // The longest step from the shares of the cache through those proposed that is feasible, or
  // `most`.
  double longest(const Labelings& cache, double most) const {
    double sum = 0.0, before = 0.0;
    for (std::size_t j = 0; j < share.size(); ++j) {
      const double change = share[j] - cache.share[j];
      sum += change;
      before += cache.share[j];
      if (change < 0.0) most = std::min(most, cache.share[j] / -change);
    }
    if (sum > 0.0) most = std::min(most, (1.0 - before) / sum);
    return std::max(most, 1.0);
  }

  // The squared norm of the change of the weights.
  double curvature(double cost, const Labelings& cache) const {
    double sum = 0.0;
    for (std::int64_t j = 0; j < std::ssize(share); ++j) {
      const double own = share[j] - cache.share[j];
      if (own == 0.0) continue;
      const double* line = cache.line(j);
      double product = 0.5 * own * line[j];
      for (std::int64_t l = 0; l < j; ++l) product += (share[l] - cache.share[l]) * line[l];
      sum += 2.0 * own * product;
    }
    return std::max(cost * cost * sum, 0.0);
  }
};

}  // namespace widemargin
