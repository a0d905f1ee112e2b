// Dual block ascent for the log loss (exponentiated gradients, Collins et al., 2008, with a step
// size for each visit). The dual variables of a sentence are the marginals of scores of its own,
// nodes and edges; a visit moves these towards the scores at the weights. The sentences of a batch
// are visited side by side at the same weights; what they propose is then taken in order where the
// dual objective still gains by it, and the others are visited again. The result does not depend on
// the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "structures/balanced.hpp"
#include "structures/gibbs_visit.hpp"
#include "structures/token_gram.hpp"
#include "sweeps/active_set.hpp"
#include "threads/team.hpp"

namespace widemargin {

class GibbsSweep {
 public:
  std::vector<double> gaps, steps;
  double entropy = 0.0;    // sum of c_i times the entropy
  double longest = 0.0;    // the largest squared norm of a row
  std::int64_t again = 0;  // visits that had to be repeated
  TokenGram gram;

  // `nodes` has a line of labels for each row, `edges` such lines for those of the weights beside
  // the features, for each sentence.
  GibbsSweep(const ChainData& data, float* nodes, float* edges, std::int64_t batch)
      : gaps(static_cast<std::size_t>(data.count), std::numeric_limits<double>::infinity()),
        steps(gaps.size(), 0.5),
        nodes_(nodes),
        edges_(edges),
        batch_(batch),
        turns_(static_cast<std::size_t>(batch)) {}

  std::int64_t begin(const ChainData& data, std::uint64_t seed, double threshold) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (gaps[i] > threshold && data.cost[i] > 0.0) order_.push_back(i);
    }
    shuffle(order_, seed);
    balance(order_, batch_, [&](std::int64_t i) { return data.length(i); });
    next_ = 0;
    return std::ssize(order_);
  }

  template <class Rows>
  bool sweep(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget,
             int threads) {
    Team team(static_cast<int>(std::min<std::int64_t>(threads, batch_)));
    std::int64_t visited = 0;
    while (next_ < std::ssize(order_) && visited < budget) {
      const std::int64_t count = std::min(batch_, std::ssize(order_) - next_);
      team.run(count, [&](std::int64_t k, int) {
        solve(rows, data, order_[next_ + k], weights, turns_[k]);
      });
      bool stale = false;  // whether the weights have changed since the proposals
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = order_[next_ + k];
        gaps[i] = turns_[k].gap;
        stale |= take(rows, data, i, weights, turns_[k], stale);
        visited += data.length(i);
      }
      next_ += count;
    }
    return next_ == std::ssize(order_);
  }

  double total_gap() const { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

 private:
  float *nodes_, *edges_;
  std::int64_t batch_, next_ = 0;
  std::vector<std::int64_t> order_;
  std::vector<GibbsVisit> turns_;

  template <class Rows>
  void solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
             GibbsVisit& turn) const {
    const std::int64_t classes = data.classes;
    turn.solve(rows, data, i, weights, nodes_ + data.first[i] * classes,
               edges_ + i * data.lines() * classes, gram.of(data, i), longest, steps[i]);
  }

  // Takes what a sentence proposes; returns whether the weights have changed.
  template <class Rows>
  bool take(const Rows& rows, const ChainData& data, std::int64_t i, double* weights,
            GibbsVisit& turn, bool stale) {
    const bool known =
        gram.of(data, i).known();  // else nobody knows what it gains at other weights
    if (turn.moved && stale && !(known && turn.apply_if_it_gains(rows, data, i, weights))) {
      ++again;
      solve(rows, data, i, weights, turn);
      stale = false;
    }
    steps[i] = turn.step;
    if (!turn.moved) return false;
    if (!stale) turn.apply(rows, data, i, weights);
    turn.save(data, nodes_ + data.first[i] * data.classes,
              edges_ + i * data.lines() * data.classes);
    entropy += turn.entropy;
    return true;
  }
};

}  // namespace widemargin
