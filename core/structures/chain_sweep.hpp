// Block-coordinate Frank-Wolfe over sentences. The sentences of a batch are solved side by side at
// the same weights; their proposals are then applied in order, each as far as it still pays. The
// result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "structures/cached_visit.hpp"
#include "structures/cell_products.hpp"
#include "structures/chain_block.hpp"
#include "sweeps/active_set.hpp"
#include "threads/team.hpp"

namespace widemargin {

class ChainSweep {
 public:
  std::vector<Labelings> cache;
  std::vector<double> gaps;  // of each sentence when it was last visited
  double linear = 0.0;       // sum of c_i times the mean cost of the labelings
  double gained = 0.0;       // of the dual objective in this pass
  std::int64_t read = 0;     // rows whose scores a pass without searches has read
  TokenGram gram;

  explicit ChainSweep(const ChainData& data, std::int64_t batch)
      : cache(static_cast<std::size_t>(data.count)),
        gaps(static_cast<std::size_t>(data.count), std::numeric_limits<double>::infinity()),
        batch_(batch),
        blocks_(static_cast<std::size_t>(batch)) {}

  // Begins a pass over the sentences that have a cost, in random order.
  std::int64_t begin(const ChainData& data, std::uint64_t seed, double enough) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (data.cost[i] > 0.0) order_.push_back(i);
    }
    return open(seed, enough);
  }

  // Begins a pass over the sentences whose labelings have products, without searches for others.
  std::int64_t begin_cached(const ChainData& data, std::uint64_t seed, double enough) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (cache[i].with_products() && cache[i].cells.known()) order_.push_back(i);
    }
    return open(seed, enough);
  }

  // Goes on with such a pass for about so many rows; returns whether it is complete.
  template <class Rows>
  bool sweep_cached(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget) {
    const std::int64_t end = read + budget;
    for (; next_ < std::ssize(order_) && read < end; ++next_) {
      const std::int64_t i = order_[next_];
      read += cache[i].cells.rows();
      if (visit_.solve(rows, data, i, weights, cache[i], enough_)) {
        apply(rows, data, i, visit_.moves, 0.0, false, weights);
      }
    }
    return next_ == std::ssize(order_);
  }

  // Goes on with the pass for about so many rows; returns whether it is complete.
  template <class Rows>
  bool sweep(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget,
             int threads) {
    Team team(threads);
    std::int64_t visited = 0;
    while (next_ < std::ssize(order_) && visited < budget) {
      const std::int64_t count = std::min(batch_, std::ssize(order_) - next_);
      const std::int64_t* chosen = order_.data() + next_;
      team.run(count, [&](std::int64_t k, int) {
        const std::int64_t i = chosen[k];
        blocks_[k].solve(rows, data, i, weights, gram.of(i), cache[i], enough_);
      });
      bool moved = false;
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = chosen[k];
        gaps[i] = blocks_[k].gap;
        if (blocks_[k].changed) {
          moved |= apply(rows, data, i, blocks_[k].moves, blocks_[k].curvature, moved, weights);
        }
        visited += data.length(i);
      }
      next_ += count;
    }
    return next_ == std::ssize(order_);
  }

  double total_gap() const { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

 private:
  std::int64_t open(std::uint64_t seed, double enough) {
    shuffle(order_, seed);
    next_ = 0;
    enough_ = enough;
    gained = 0.0;
    read = 0;
    return std::ssize(order_);
  }

  std::int64_t batch_, next_ = 0;
  double enough_ = 0.0;
  std::vector<std::int64_t> order_;
  std::vector<ChainBlock> blocks_;
  CellChange change_;
  CachedVisit visit_;

  // Moves the shares of a sentence towards those proposed, as far as the dual objective grows.
  template <class Rows>
  bool apply(const Rows& rows, const ChainData& data, std::int64_t i, const ShareMoves& moves,
             double curvature, bool stale, double* weights) {
    Labelings& own = cache[i];
    change_.collect(data, i, own.cells, own.share, moves.share);
    double step = 1.0;
    if (stale) {
      const double slope = change_.slope(rows, data, i, own.cells, weights);
      if (!(slope > 0.0)) return false;
      step = slope < curvature ? slope / curvature : 1.0;
      gained += step * (slope - 0.5 * step * curvature);
    } else {
      gained += moves.gained;
    }
    for (std::int64_t j = 0; j < own.count(); ++j) {
      const double moved = own.share[j] + step * (moves.share[j] - own.share[j]);
      own.share[j] = step == 1.0 ? moves.share[j] : std::max(moved, 0.0);
    }
    linear += step * change_.mistakes;
    change_.add(rows, data, i, own.cells, step, weights);
    return true;
  }
};

}  // namespace widemargin
