// Block-coordinate Frank-Wolfe over sentences, with and without searches for labelings. The
// sentences of a batch are solved side by side at the same weights; their proposals are then
// applied in order, each as far as it still pays. The result does not depend on the number of
// threads.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "structures/balanced.hpp"
#include "structures/cached_visit.hpp"
#include "structures/cell_products.hpp"
#include "structures/chain_block.hpp"
#include "sweeps/active_set.hpp"
#include "threads/team.hpp"

namespace widemargin {

// Steps between labelings that are kept are longer than the best one for the sentence alone by this
// factor, if that is feasible: what is too much for it now is about what the steps of the others
// will ask of it. Below 2 every step gains (successive over-relaxation). Steps towards labelings
// that a search has found are not: they are far from the last ones.
constexpr double over_relaxation = 1.5;

class ChainSweep {
 public:
  std::vector<Labelings> cache;
  std::vector<double> gaps;  // of each sentence when it was last visited
  double linear = 0.0;       // sum of c_i times the mean cost of the labelings
  std::int64_t read = 0;     // rows whose scores a pass without searches has read
  double kept_gap = 0.0;  // of all sentences among the labels that are kept, as such a pass saw it
  TokenGram gram;

  explicit ChainSweep(const ChainData& data, std::int64_t batch)
      : cache(static_cast<std::size_t>(data.count)),
        gaps(static_cast<std::size_t>(data.count), std::numeric_limits<double>::infinity()),
        batch_(batch),
        turns_(static_cast<std::size_t>(batch)) {}

  // Begins a pass over the sentences that have a cost, in random order.
  std::int64_t begin(const ChainData& data, std::uint64_t seed, double enough) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (data.cost[i] > 0.0) order_.push_back(i);
    }
    return open(data, seed, enough);
  }

  // Begins a pass over the sentences whose labelings have products, without searches for others.
  std::int64_t begin_cached(const ChainData& data, std::uint64_t seed, double enough) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (cache[i].with_products() && cache[i].cells.known()) order_.push_back(i);
    }
    return open(data, seed, enough);
  }

  // Goes on with such a pass for about so many rows; returns whether it is complete.
  template <class Rows>
  bool sweep_cached(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget,
                    int threads) {
    Team team(useful(threads));
    const std::int64_t end = read + budget;
    while (next_ < std::ssize(order_) && read < end) {
      const std::int64_t count = left_of_batch();
      bool stale = false;  // whether the weights have changed since the proposals
      team.run_in_order(
          count,
          [&](std::int64_t k, int worker) {
            const std::int64_t i = order_[next_ + k];
            announce(rows, data, next_ + k);
            workers_[worker].solve_cached(rows, data, i, weights, gram.of(data, i), cache[i],
                                          enough_, count > 1, turns_[k]);
          },
          [&](std::int64_t k) {
            const std::int64_t i = order_[next_ + k];
            read += cache[i].cells.rows();
            kept_gap += turns_[k].gap;
            if (turns_[k].changed) stale |= step(rows, data, i, turns_[k], stale, weights);
          });
      next_ += count;
    }
    return next_ == std::ssize(order_);
  }

  // Goes on with the pass for about so many rows; returns whether it is complete.
  template <class Rows>
  bool sweep(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget,
             int threads) {
    Team team(useful(threads));
    std::int64_t visited = 0;
    while (next_ < std::ssize(order_) && visited < budget) {
      const std::int64_t count = left_of_batch();
      bool stale = false;
      team.run_in_order(
          count,
          [&](std::int64_t k, int worker) {
            const std::int64_t i = order_[next_ + k];
            workers_[worker].solve(rows, data, i, weights, gram.of(data, i), cache[i], enough_,
                                   turns_[k]);
          },
          [&](std::int64_t k) {
            const std::int64_t i = order_[next_ + k];
            gaps[i] = turns_[k].gap;
            visited += data.length(i);
            if (turns_[k].changed) stale |= step(rows, data, i, turns_[k], stale, weights);
          });
      next_ += count;
    }
    return next_ == std::ssize(order_);
  }

  // Takes the shares after a pass without searches into their average, which has this weight for
  // them: 1 begins a new one.
  void average(double weight) {
    for (const std::int64_t i : order_) {
      Labelings& own = cache[i];
      if (own.average.empty()) own.average.assign(own.share.size(), 0.0);
      for (std::size_t j = 0; j < own.share.size(); ++j) {
        own.average[j] += weight * (own.share[j] - own.average[j]);
      }
    }
  }

  // Goes from the shares to their average.
  template <class Rows>
  void take_average(const Rows& rows, const ChainData& data, double* weights) {
    CellChange change;
    for (const std::int64_t i : order_) {
      Labelings& own = cache[i];
      change.collect(data, i, own.cells, own.share, own.average);
      linear += change.mistakes;
      change.add(rows, data, i, own.cells, 1.0, weights);
      own.share = own.average;
      own.average.clear();
    }
  }

  double total_gap() const { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

 private:
  std::int64_t open(const ChainData& data, std::uint64_t seed, double enough) {
    shuffle(order_, seed);
    balance(order_, batch_, [&](std::int64_t i) { return data.length(i); });
    next_ = 0;
    enough_ = enough;
    read = 0;
    kept_gap = 0.0;
    return std::ssize(order_);
  }

  // What one sentence of a batch proposes, in lines of cache of its own.
  struct alignas(64) Turn {
    CellChange change;
    std::vector<double> share;
    bool changed = false;
    double gap = 0.0;
    double curvature = 0.0;
    double relaxation = 1.0;
    double longest = 1.0;  // the longest step that is feasible, or `relaxation`

    void take(const ChainData& data, std::int64_t i, const Labelings& own, ShareMoves& moves,
              double most) {
      relaxation = most;
      longest = moves.longest(own, most);
      change.collect(data, i, own.cells, own.share, moves.share);
      share.swap(moves.share);
    }
  };

  // What a thread needs to visit one sentence after the other.
  struct alignas(64) Worker {
    ChainBlock block;
    CachedVisit visit;

    template <class Rows>
    void solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
               const RowProducts& gram, Labelings& own, double enough, Turn& turn) {
      block.solve(rows, data, i, weights, gram, own, enough);
      turn.gap = block.gap;
      turn.changed = block.changed;
      turn.curvature = block.curvature;
      if (turn.changed) turn.take(data, i, own, block.moves, 1.0);
    }
    // `others` tells whether steps of others may come before the one of this sentence.
    template <class Rows>
    void solve_cached(const Rows& rows, const ChainData& data, std::int64_t i,
                      const double* weights, const RowProducts& gram, Labelings& own, double enough,
                      bool others, Turn& turn) {
      turn.changed = visit.solve(rows, data, i, weights, gram, own, enough);
      turn.gap = visit.gap;
      if (!turn.changed) return;
      if (others) turn.curvature = visit.moves.curvature(data.cost[i], own);
      turn.take(data, i, own, visit.moves, over_relaxation);
    }
  };

  std::int64_t batch_, next_ = 0;
  double enough_ = 0.0;
  std::vector<std::int64_t> order_;
  std::vector<Turn> turns_;
  std::vector<Worker> workers_;

  // Threads that a batch keeps busy; there is a worker for each of them then.
  int useful(int threads) {
    const auto count = static_cast<int>(std::min<std::int64_t>(threads, batch_));
    if (std::ssize(workers_) < count) workers_.resize(static_cast<std::size_t>(count));
    return count;
  }
  std::int64_t left_of_batch() const { return std::min(batch_, std::ssize(order_) - next_); }

  // Fetches what the visits at the same place of the next batches read, without searches: sentences
  // come in random order. Nobody is changing those of other batches now. On CoNLL-2000 a fit takes
  // 5 to 10 per cent less.
  template <class Rows>
  WIDEMARGIN_INLINE void announce(const Rows& rows, const ChainData& data, std::int64_t at) const {
    if (at + 3 * batch_ >= std::ssize(order_)) return;
    const std::int64_t next = order_[at + batch_], second = order_[at + 2 * batch_],
                       last = order_[at + 3 * batch_];
    prefetch_lines(&cache[last], sizeof(Labelings));
    prefetch_line(data.first + last);
    cache[second].prefetch();
    rows.prefetch_pointers(data.first[second]);
    for (const std::int32_t t : cache[next].cells.row) rows.prefetch(data.first[next] + t);
  }

  // Moves the shares of a sentence towards those proposed, as far as the dual objective grows.
  template <class Rows>
  bool step(const Rows& rows, const ChainData& data, std::int64_t i, Turn& turn, bool stale,
            double* weights) {
    Labelings& own = cache[i];
    const std::vector<double>& proposed = turn.share;
    double best = 1.0;  // as far as the sentence alone would go
    if (stale) {
      const double slope = turn.change.slope(rows, data, i, own.cells, weights);
      if (!(slope > 0.0)) return false;
      if (slope < turn.curvature) best = slope / turn.curvature;
    }
    const double step = std::min(turn.relaxation * best, turn.longest);
    for (std::int64_t j = 0; j < own.count(); ++j) {
      const double moved = own.share[j] + step * (proposed[j] - own.share[j]);
      // Rounding leaves nothing of a share that was to go.
      own.share[j] = step == 1.0 ? proposed[j] : moved > 1e-12 * own.share[j] ? moved : 0.0;
    }
    linear += step * turn.change.mistakes;
    turn.change.add(rows, data, i, own.cells, step, weights);
    return true;
  }
};

}  // namespace widemargin
