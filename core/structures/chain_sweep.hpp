// Block-coordinate Frank-Wolfe over sentences. The sentences of a batch are solved side by side at
// the same weights; their proposals are then applied in order, each as far as it still pays. The
// result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "structures/chain_block.hpp"
#include "sweeps/active_set.hpp"
#include "threads/team.hpp"

namespace widemargin {

class ChainSweep {
 public:
  std::vector<Labelings> cache;
  std::vector<double> gaps;  // of each sentence when it was last visited
  double linear = 0.0;       // sum of c_i times the mean cost of the labelings
  TokenGram gram;

  explicit ChainSweep(const ChainData& data, std::int64_t batch)
      : cache(static_cast<std::size_t>(data.count)),
        gaps(static_cast<std::size_t>(data.count), std::numeric_limits<double>::infinity()),
        batch_(batch),
        blocks_(static_cast<std::size_t>(batch)) {}

  // Begins a pass over the sentences whose gap is above `threshold`, in random order.
  std::int64_t begin(const ChainData& data, std::uint64_t seed, double threshold, double enough) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (gaps[i] > threshold && data.cost[i] > 0.0) order_.push_back(i);
    }
    shuffle(order_, seed);
    next_ = 0;
    enough_ = enough;
    return std::ssize(order_);
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
        if (blocks_[k].changed) moved |= apply(rows, data, i, blocks_[k], moved, weights);
        cache[i].drop_unused(data.length(i));
        visited += data.length(i);
      }
      next_ += count;
    }
    return next_ == std::ssize(order_);
  }

  double total_gap() const { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

  // Remembers the shares, as the point that `extrapolate` looks back to.
  void mark() {
    for (Labelings& own : cache) own.before = own.share;
  }

  // Goes on along the change of the shares since the mark, `step` times as far, for the sentences
  // [begin, end). Shares that leave the simplex are brought back, and `trial`, the weights as if
  // none did, is corrected. The shares are kept aside until they are accepted. Returns the change
  // of the linear part of the dual objective.
  template <class Rows>
  double extrapolate(const Rows& rows, const ChainData& data, double step, double* trial,
                     std::int64_t begin, std::int64_t end) {
    double change = 0.0;
    for (std::int64_t i = begin; i < end; ++i) {
      Labelings& own = cache[i];
      const std::int64_t count = own.count();
      line_.resize(static_cast<std::size_t>(count));
      double sum = 0.0;
      bool moved = false, outside = false;
      for (std::int64_t j = 0; j < count; ++j) {
        const double free = own.share[j] + step * (own.share[j] - own.before[j]);
        moved |= own.share[j] != own.before[j];
        outside |= free < 0.0;
        line_[j] = free;
        own.before[j] = std::max(free, 0.0);
        sum += own.before[j];
      }
      if (!moved) continue;
      if (sum > 1.0) {
        outside = true;
        for (double& share : own.before) share /= sum;
      }
      change += collect(data, i, own.share, own.before);
      if (!outside) continue;
      collect(data, i, line_, own.before);
      add_change(rows, data, i, 1.0, trial);
    }
    return change;
  }
  void accept(double change) {
    for (Labelings& own : cache) own.share = own.before;
    linear += change;
  }

 private:
  std::int64_t batch_, next_ = 0;
  double enough_ = 0.0;
  std::vector<std::int64_t> order_, touched_;
  std::vector<ChainBlock> blocks_;
  std::vector<double> change_, edge_change_, zeros_, line_;

  // Moves the shares of a sentence towards those proposed, as far as the dual objective grows.
  template <class Rows>
  bool apply(const Rows& rows, const ChainData& data, std::int64_t i, const ChainBlock& block,
             bool stale, double* weights) {
    const std::int64_t stride = data.stride(), first = data.first[i];
    Labelings& own = cache[i];
    const double mistakes = collect(data, i, own.share, block.proposal);
    double step = 1.0;
    if (stale) {
      double slope = mistakes;
      line_.resize(static_cast<std::size_t>(stride));
      zeros_.assign(static_cast<std::size_t>(stride), 0.0);
      for (const std::int64_t t : touched_) {
        class_scores(rows, first + t, weights, stride, zeros_.data(), line_.data());
        slope -= dot_of_fours(line_.data(), change_.data() + t * stride, stride);
      }
      slope -= dot_of_fours(data.edges(weights), edge_change_.data(), data.lines() * stride);
      if (!(slope > 0.0)) return false;
      step = slope < block.curvature ? slope / block.curvature : 1.0;
    }
    for (std::int64_t j = 0; j < own.count(); ++j) {
      const double moved = own.share[j] + step * (block.proposal[j] - own.share[j]);
      own.share[j] = step == 1.0 ? block.proposal[j] : std::max(moved, 0.0);
    }
    linear += step * mistakes;
    add_change(rows, data, i, step, weights);
    return true;
  }

  template <class Rows>
  void add_change(const Rows& rows, const ChainData& data, std::int64_t i, double step,
                  double* weights) {
    const std::int64_t stride = data.stride();
    for (const std::int64_t t : touched_) {
      double* change = change_.data() + t * stride;
      for (std::int64_t a = 0; a < stride; ++a) change[a] *= step;
      class_axpy(rows, data.first[i] + t, change, weights, stride);
    }
    double* edges = data.edges(weights);
    for (std::int64_t e = 0; e < data.lines() * stride; ++e) edges[e] += step * edge_change_[e];
  }

  // Collects the change of the weights as shares go from one vector to another: a line of classes
  // for each row whose labels change share, and the lines of transitions. Returns the change of c_i
  // times the mean cost.
  double collect(const ChainData& data, std::int64_t i, const std::vector<double>& from,
                 const std::vector<double>& to) {
    const std::int64_t length = data.length(i), stride = data.stride(), k = data.classes;
    const Labelings& own = cache[i];
    const std::int32_t* right = data.labels(i);
    change_.assign(static_cast<std::size_t>(length * stride), 0.0);
    edge_change_.assign(static_cast<std::size_t>(data.lines() * stride), 0.0);
    double mistakes = 0.0;
    for (std::int64_t j = 0; j < own.count(); ++j) {
      const double amount = data.cost[i] * (to[j] - from[j]);
      if (amount == 0.0) continue;
      const ShortLabel* y = own.labeling(j, length);
      for (std::int64_t t = 0; t < length; ++t) {
        const bool wrong = y[t] != right[t];
        if (wrong) {
          change_[t * stride + right[t]] += amount;
          change_[t * stride + y[t]] -= amount;
          mistakes += amount * data.mistake[right[t] * stride + y[t]];
        }
        if (t > 0 && (wrong || y[t - 1] != right[t - 1])) {
          edge_change_[right[t - 1] * stride + right[t]] += amount;
          edge_change_[y[t - 1] * stride + y[t]] -= amount;
        }
      }
      if (data.boundaries) {
        edge_change_[k * stride + right[0]] += amount;
        edge_change_[k * stride + y[0]] -= amount;
        edge_change_[(k + 1) * stride + right[length - 1]] += amount;
        edge_change_[(k + 1) * stride + y[length - 1]] -= amount;
      }
    }
    touched_.clear();
    for (std::int64_t t = 0; t < length; ++t) {
      const double* change = change_.data() + t * stride;
      if (std::any_of(change, change + stride, [](double c) { return c != 0.0; })) {
        touched_.push_back(t);
      }
    }
    return mistakes;
  }
};

}  // namespace widemargin
