// The dual problem of one sentence: shares of its labelings, by Frank-Wolfe steps with a cache of
// labelings and pairwise moves between them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labeling_products.hpp"
#include "structures/labelings.hpp"
#include "structures/share_moves.hpp"
#include "structures/token_gram.hpp"
#include "structures/viterbi.hpp"

namespace widemargin {

// A visit ends when half of the sentence's gap is closed: all other sentences move the weights
// before the next one, so more would be spent on scores that are about to change.
constexpr double left_open = 0.5;

// Searches for a better labeling that cost as much as reading and writing the weights of the rows
// did, and one: no visit costs more than twice what its rows do.
template <class Rows>
std::int64_t searches_worth_the_rows(const Rows& rows, const ChainData& data, std::int64_t i) {
  std::int64_t stored = 0;
  for (std::int64_t t = data.first[i]; t < data.first[i + 1]; ++t) stored += rows.nonzeros(t);
  return 1 + 2 * stored / std::max<std::int64_t>(1, data.length(i) * data.classes);
}

// What one visit needs, and what it proposes: new shares for the labelings of a sentence.
class ChainBlock {
 public:
  double gap = 0.0;        // of the sentence, at the weights that were seen
  double curvature = 0.0;  // squared norm of the change of the weights
  bool changed = false;
  ShareMoves moves;

  // `gram` holds the products of the sentence's rows; without them one step is taken.
  template <class Rows>
  void solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
             const RowProducts& gram, Labelings& cache, double enough) {
    open(rows, data, i, weights, gram, cache);
    changed = false;
    gap = curvature = 0.0;
    const double cost = data.cost[i];
    double goal = enough;
    const std::int64_t searches = !gram.known() ? 1 : searches_worth_the_rows(rows, data, i);
    for (std::int64_t search = 0; search < searches; ++search) {
      const double best = viterbi(scores(), table_.data(), found_.data()) - right();
      const double left = cost * (std::max(best, 0.0) - moves.mean());
      if (search == 0) {
        gap = std::max(left, 0.0);
        goal = std::max(enough, left_open * left);
      }
      if (!(left > goal)) break;
      add(data, gram, cache);
      if (!gram.known()) {
        step_once(rows, data, i, cache);
        break;
      }
      before_ = moves.share;
      changed |= moves.settle(cost, cache, least_gain * left);
      if (search + 1 < searches) follow(cost, gram, cache);
    }
    if (changed && gram.known()) curvature = moves.curvature(cost, cache);
    make_cells(data, i, cache);
  }

 private:
  std::int64_t length_ = 0, classes_ = 0, stride_ = 0;
  std::vector<double> nodes_, edges_, table_, zeros_, line_, before_;
  std::vector<ShortLabel> found_, own_;
  CellMaker maker_;
  KeptProducts kept_;
  std::vector<Difference> differences_;  // of the labelings that are kept

  ChainScores scores() const { return {nodes_.data(), edges_.data(), length_, classes_, stride_}; }
  double right() const { return labeling_score(scores(), own_.data()); }

  template <class Rows>
  void open(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
            const RowProducts& gram, Labelings& cache) {
    length_ = data.length(i);
    classes_ = data.classes;
    stride_ = data.stride();
    const auto size = static_cast<std::size_t>(length_ * stride_);
    nodes_.resize(size);
    table_.resize(size);
    zeros_.assign(static_cast<std::size_t>(stride_), 0.0);
    const double* edges = data.edges(weights);
    edges_.assign(edges, edges + data.lines() * stride_);
    node_scores(rows, data, i, weights, zeros_.data(), true, nodes_.data());
    found_.resize(static_cast<std::size_t>(length_));
    own_.assign(data.labels(i), data.labels(i) + length_);
    cache.drop_unused(length_);
    const std::int64_t count = cache.count();
    if (std::ssize(differences_) < count) differences_.resize(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) make_difference(data, cache, j);
    if (gram.known()) kept_.complete(data, gram, own_.data(), cache, length_);
    moves.open(cache);
    for (std::int64_t j = 0; j < count; ++j) moves.value[j] = evaluated(cache, j);
  }

  void make_difference(const ChainData& data, const Labelings& cache, std::int64_t j) {
    differences_[j].make(data, own_.data(), cache.labeling(j, length_), length_);
  }

  void make_cells(const ChainData& data, std::int64_t i, Labelings& cache) {
    if (cache.cells.known()) return;
    auto labeling = [&](std::int64_t j) { return cache.labeling(j, length_); };
    maker_.make(data, i, cache.count(), labeling, cache.cells);
  }

  // What a labeling's score, costs of mistakes included, is above that of the sentence's own.
  double evaluated(const Labelings& cache, std::int64_t j) const {
    const ShortLabel* y = cache.labeling(j, length_);
    double sum = 0.0;
    for (const std::int32_t t : differences_[j].rows) {
      sum += nodes_[t * stride_ + y[t]] - nodes_[t * stride_ + own_[t]];
    }
    for (const EdgeChange& e : differences_[j].edges) sum -= e.sign * edges_[e.cell];
    return sum;
  }

  // Takes the labeling that was found into the cache, unless it is there already.
  void add(const ChainData& data, const RowProducts& gram, Labelings& cache) {
    if (found_ == own_ || cache.find(found_.data(), length_) >= 0) return;
    kept_.extend(data, gram, own_.data(), found_.data(), cache, length_);
    if (std::ssize(differences_) < cache.count()) differences_.emplace_back();
    make_difference(data, cache, cache.count() - 1);
    moves.share.push_back(0.0);
    moves.value.push_back(evaluated(cache, cache.count() - 1));
  }

  // Brings the scores to the weights that the moves since `before_` lead to.
  void follow(double cost, const RowProducts& gram, const Labelings& cache) {
    for (std::int64_t j = 0; j < std::ssize(moves.share); ++j) {
      const double amount = cost * (moves.share[j] - before_[j]);
      if (amount == 0.0) continue;
      const ShortLabel* y = cache.labeling(j, length_);
      for (const std::int32_t s : differences_[j].rows) {
        double *right = nodes_.data() + own_[s], *wrong = nodes_.data() + y[s];
        gram.for_line(s, [&](std::int64_t t, double product) {
          right[t * stride_] += amount * product;
          wrong[t * stride_] -= amount * product;
        });
      }
      for (const EdgeChange& e : differences_[j].edges) edges_[e.cell] += e.sign * amount;
    }
  }

  // One step without the products of the rows: the norm is taken from the rows themselves.
  template <class Rows>
  void step_once(const Rows& rows, const ChainData& data, std::int64_t i, const Labelings& cache) {
    std::int64_t up = -1, down = -1;
    double gain = 0.0;
    if (!moves.extremes(up, down, gain)) return;
    const double cost = data.cost[i];
    const ShortLabel* to = up < 0 ? own_.data() : cache.labeling(up, length_);
    const ShortLabel* from = down < 0 ? own_.data() : cache.labeling(down, length_);
    const double norm = edge_norm(up, down) + row_norm(rows, data, i, to, from);
    const double share = moves.shift(up, down, norm > 0.0 ? gain / (cost * norm) : 1.0);
    curvature = share * share * cost * cost * norm;
    changed = true;
  }

  double edge_norm(std::int64_t up, std::int64_t down) {
    std::vector<EdgeChange> all;
    if (up >= 0) all = differences_[up].edges;
    if (down >= 0) {
      for (const EdgeChange& e : differences_[down].edges) all.push_back({e.cell, -e.sign});
    }
    line_.assign(edges_.size(), 0.0);
    for (const EdgeChange& e : all) line_[static_cast<std::size_t>(e.cell)] += e.sign;
    double sum = 0.0;
    for (const double count : line_) sum += count * count;
    return sum;
  }

  template <class Rows>
  double row_norm(const Rows& rows, const ChainData& data, std::int64_t i, const ShortLabel* to,
                  const ShortLabel* from) {
    line_.assign(static_cast<std::size_t>(data.features), 0.0);
    double norm = 0.0;
    for (std::int64_t a = 0; a < classes_; ++a) {
      for (const bool collect : {true, false}) {
        for (std::int64_t t = 0; t < length_; ++t) {
          const int sign = (to[t] == a) - (from[t] == a);
          if (sign == 0) continue;
          rows.for_each(data.first[i] + t, [&](std::int64_t j, double v) {
            double& entry = line_[static_cast<std::size_t>(j)];
            if (collect) {
              entry += sign * v;
            } else {
              norm += entry * entry;
              entry = 0.0;
            }
          });
        }
      }
    }
    return norm;
  }
};

}  // namespace widemargin
