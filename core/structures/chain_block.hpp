// The dual problem of one sentence: shares of its labelings, by Frank-Wolfe steps with a cache of
// labelings and pairwise moves between them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labeling_products.hpp"
#include "structures/labelings.hpp"
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
  std::vector<double> proposal;  // a share for each labeling in the cache

  // `gram` holds the products of the sentence's rows; without them one step is taken.
  template <class Rows>
  void solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
             const float* gram, Labelings& cache, double enough) {
    open(rows, data, i, weights, gram, cache);
    changed = false;
    gap = curvature = 0.0;
    const double cost = data.cost[i];
    double goal = enough;
    const std::int64_t searches = gram == nullptr ? 1 : searches_worth_the_rows(rows, data, i);
    for (std::int64_t search = 0; search < searches; ++search) {
      const double best = viterbi(scores(), table_.data(), found_.data()) - right();
      const double left = cost * (std::max(best, 0.0) - mean());
      if (search == 0) {
        gap = std::max(left, 0.0);
        goal = std::max(enough, left_open * left);
      }
      if (!(left > goal)) break;
      add(data, gram, cache);
      if (gram == nullptr) {
        step_once(rows, data, i, cache);
        return;
      }
      before_ = proposal;
      const std::int64_t moves = 4 * cache.count() + 4;
      for (std::int64_t m = 0; m < moves && move(cost, cache, 0.1 * left); ++m) changed = true;
      if (search + 1 < searches) follow(cost, gram, cache);
    }
    if (changed) measure(cost, cache);
  }

 private:
  std::int64_t length_ = 0, classes_ = 0, stride_ = 0;
  double rest_ = 1.0;  // the share of the sentence's own labeling
  std::vector<double> nodes_, edges_, table_, zeros_, value_, line_, before_;
  std::vector<Difference> differences_;
  std::vector<ShortLabel> found_, own_;

  ChainScores scores() const { return {nodes_.data(), edges_.data(), length_, classes_, stride_}; }
  double right() const { return labeling_score(scores(), own_.data()); }

  template <class Rows>
  void open(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
            const float* gram, Labelings& cache) {
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
    const std::int64_t count = cache.count();
    if (std::ssize(differences_) < count) differences_.resize(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) {
      differences_[j].make(data, own_.data(), cache.labeling(j, length_), length_);
    }
    if (gram != nullptr && std::ssize(cache.products) != Labelings::line(count)) {
      cache.products.clear();
      for (std::int64_t j = 0; j < count; ++j) add_products(gram, cache, j);
    }
    proposal = cache.share;
    double sum = 0.0;
    for (const double share : proposal) sum += share;
    rest_ = std::max(0.0, 1.0 - sum);
    value_.resize(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) value_[j] = evaluated(cache, j);
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

  double mean() const {
    double sum = 0.0;
    for (std::size_t j = 0; j < value_.size(); ++j) sum += proposal[j] * value_[j];
    return sum;
  }

  void add_products(const float* gram, Labelings& cache, std::int64_t j) const {
    for (std::int64_t l = 0; l <= j; ++l) {
      cache.products.push_back(labeling_product(gram, length_, own_.data(), differences_[j],
                                                cache.labeling(j, length_), differences_[l],
                                                cache.labeling(l, length_)));
    }
  }

  // Takes the labeling that was found into the cache, unless it is there already.
  void add(const ChainData& data, const float* gram, Labelings& cache) {
    if (found_ == own_ || cache.find(found_.data(), length_) >= 0) return;
    cache.add(found_.data(), length_);
    const std::int64_t j = cache.count() - 1;
    if (std::ssize(differences_) <= j) differences_.emplace_back();
    differences_[j].make(data, own_.data(), found_.data(), length_);
    if (gram != nullptr) add_products(gram, cache, j);
    proposal.push_back(0.0);
    value_.push_back(evaluated(cache, j));
  }

  // The labelings that gain most and least from a larger share; -1 is the sentence's own.
  bool extremes(std::int64_t& up, std::int64_t& down, double& gain) const {
    up = -1;
    down = -1;
    double high = 0.0, low = rest_ > 0.0 ? 0.0 : std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < std::ssize(value_); ++j) {
      if (value_[j] > high) {
        high = value_[j];
        up = j;
      }
      if (proposal[j] > 0.0 && value_[j] < low) {
        low = value_[j];
        down = j;
      }
    }
    gain = high - low;
    return up != down && gain > 0.0;
  }

  // Moves the share that is best, or all that there is; returns it.
  double shift(std::int64_t up, std::int64_t down, double wanted) {
    double& source = down >= 0 ? proposal[down] : rest_;
    double& target = up >= 0 ? proposal[up] : rest_;
    const double share = std::min(wanted, source);
    target += share;
    source = wanted >= source ? 0.0 : source - share;
    return share;
  }

  // Moves share from the worst labeling to the best one; false if that gains too little.
  bool move(double cost, const Labelings& cache, double least) {
    std::int64_t up = -1, down = -1;
    double gain = 0.0;
    if (!extremes(up, down, gain) || !(cost * gain > least)) return false;
    double norm = 0.0;
    if (up >= 0) norm += cache.product(up, up);
    if (down >= 0) norm += cache.product(down, down);
    if (up >= 0 && down >= 0) norm -= 2.0 * cache.product(up, down);
    const double share = shift(up, down, norm > 0.0 ? gain / (cost * norm) : 1.0);
    const double amount = cost * share;
    for (std::int64_t j = 0; j < std::ssize(value_); ++j) {
      const double with_up = up >= 0 ? cache.product(j, up) : 0.0;
      const double with_down = down >= 0 ? cache.product(j, down) : 0.0;
      value_[j] -= amount * (with_up - with_down);
    }
    return true;
  }

  // Brings the scores to the weights that the moves since `before_` lead to.
  void follow(double cost, const float* gram, const Labelings& cache) {
    for (std::int64_t j = 0; j < std::ssize(proposal); ++j) {
      const double amount = cost * (proposal[j] - before_[j]);
      if (amount == 0.0) continue;
      const ShortLabel* y = cache.labeling(j, length_);
      for (const std::int32_t s : differences_[j].rows) {
        const float* products = gram + s * length_;
        double* node = nodes_.data();
        for (std::int64_t t = 0; t < length_; ++t, node += stride_) {
          const double change = amount * static_cast<double>(products[t]);
          node[own_[s]] += change;
          node[y[s]] -= change;
        }
      }
      for (const EdgeChange& e : differences_[j].edges) edges_[e.cell] += e.sign * amount;
    }
  }

  // One step without the products of the rows: the norm is taken from the rows themselves.
  template <class Rows>
  void step_once(const Rows& rows, const ChainData& data, std::int64_t i, const Labelings& cache) {
    std::int64_t up = -1, down = -1;
    double gain = 0.0;
    if (!extremes(up, down, gain)) return;
    const double cost = data.cost[i];
    const ShortLabel* to = up < 0 ? own_.data() : cache.labeling(up, length_);
    const ShortLabel* from = down < 0 ? own_.data() : cache.labeling(down, length_);
    const double norm = edge_norm(up, down) + row_norm(rows, data, i, to, from);
    const double share = shift(up, down, norm > 0.0 ? gain / (cost * norm) : 1.0);
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

  // The squared norm of the whole change.
  void measure(double cost, const Labelings& cache) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < std::ssize(proposal); ++j) {
      const double own = proposal[j] - cache.share[j];
      if (own == 0.0) continue;
      sum += own * own * cache.product(j, j);
      for (std::int64_t l = 0; l < j; ++l) {
        sum += 2.0 * own * (proposal[l] - cache.share[l]) * cache.product(l, j);
      }
    }
    curvature = std::max(cost * cost * sum, 0.0);
  }
};

}  // namespace widemargin
