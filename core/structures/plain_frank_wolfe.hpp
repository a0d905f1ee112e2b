// Block-coordinate Frank-Wolfe over sentences as published (Lacoste-Julien et al., 2013): one step
// towards the most violated labeling, with the best step size. To compare with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labelings.hpp"
#include "structures/token_gram.hpp"
#include "structures/viterbi.hpp"
#include "sweeps/active_set.hpp"

namespace widemargin {

class PlainFrankWolfe {
 public:
  std::vector<Labelings> cache;  // shares are to be multiplied by `factor`
  std::vector<double> factor;
  std::vector<double> gaps;
  TokenGram gram;

  explicit PlainFrankWolfe(const ChainData& data)
      : cache(static_cast<std::size_t>(data.count)),
        factor(cache.size(), 1.0),
        gaps(cache.size(), 0.0),
        mean_cost_(cache.size(), 0.0),
        nodes_(static_cast<std::size_t>(data.first[data.count] * data.stride()), 0.0),
        edges_(cache.size() * static_cast<std::size_t>(data.lines() * data.stride()), 0.0) {}

  double linear() const { return std::accumulate(mean_cost_.begin(), mean_cost_.end(), 0.0); }
  double total_gap() const { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

  void begin(const ChainData& data, std::uint64_t seed) {
    order_.resize(static_cast<std::size_t>(data.count));
    std::iota(order_.begin(), order_.end(), 0);
    shuffle(order_, seed);
    next_ = 0;
  }

  template <class Rows>
  bool sweep(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget) {
    for (std::int64_t visited = 0; next_ < std::ssize(order_) && visited < budget; ++next_) {
      visit(rows, data, order_[next_], weights);
      visited += data.length(order_[next_]);
    }
    return next_ == std::ssize(order_);
  }

 private:
  std::vector<double> mean_cost_;      // l_i
  std::vector<double> nodes_, edges_;  // w_i, as coefficients of the rows and of the transitions
  std::vector<std::int64_t> order_, used_;
  std::int64_t next_ = 0;
  std::vector<double> scores_, table_, zeros_, move_, edge_move_;
  std::vector<ShortLabel> found_;

  template <class Rows>
  void visit(const Rows& rows, const ChainData& data, std::int64_t i, double* weights) {
    const std::int64_t length = data.length(i), stride = data.stride(), first = data.first[i];
    const auto size = static_cast<std::size_t>(length * stride);
    scores_.resize(std::max(scores_.size(), size));
    table_.resize(scores_.size());
    zeros_.assign(static_cast<std::size_t>(stride), 0.0);
    found_.resize(static_cast<std::size_t>(length));
    node_scores(rows, data, i, weights, zeros_.data(), true, scores_.data());
    const ChainScores scores{scores_.data(), data.edges(weights), length, data.classes, stride};
    viterbi(scores, table_.data(), found_.data());
    const double cost = direction(data, i, found_.data());
    // The gap is the slope along the move w_s - w_i; costs of mistakes are part of the scores.
    const double* own_edges = data.edges(weights);
    const std::int64_t edges = data.lines() * stride;
    double slope = cost - mean_cost_[i];
    for (const std::int64_t t : used_) {
      const double* mistake = data.mistake + data.labels(i)[t] * stride;
      for (std::int64_t a = 0; a < stride; ++a) {
        slope -= (scores_[t * stride + a] - mistake[a]) * move_[t * stride + a];
      }
    }
    slope -= dot_of_fours(own_edges, edge_move_.data(), edges);
    gaps[i] = std::max(slope, 0.0);
    if (!(slope > 0.0)) return;
    const double norm = norm_of_move(rows, data, i);
    const double step = norm > slope ? slope / norm : 1.0;
    take(data, i, step, cost);
    for (const std::int64_t t : used_) {
      double* move = move_.data() + t * stride;
      for (std::int64_t a = 0; a < stride; ++a) move[a] *= step;
      class_axpy(rows, first + t, move, weights, stride);
    }
    double* target = data.edges(weights);
    for (std::int64_t e = 0; e < edges; ++e) target[e] += step * edge_move_[e];
  }

  // move = w_s - w_i as coefficients; returns c times the cost of the labeling.
  double direction(const ChainData& data, std::int64_t i, const ShortLabel* y) {
    const std::int64_t length = data.length(i), stride = data.stride(), k = data.classes;
    const double c = data.cost[i];
    const std::int32_t* own = data.labels(i);
    const double* node = nodes_.data() + data.first[i] * stride;
    const double* edge = edges_.data() + i * data.lines() * stride;
    move_.resize(static_cast<std::size_t>(length * stride));
    edge_move_.resize(static_cast<std::size_t>(data.lines() * stride));
    for (std::int64_t e = 0; e < length * stride; ++e) move_[e] = -node[e];
    for (std::int64_t e = 0; e < data.lines() * stride; ++e) edge_move_[e] = -edge[e];
    double cost = 0.0;
    for (std::int64_t t = 0; t < length; ++t) {
      move_[t * stride + own[t]] += c;
      move_[t * stride + y[t]] -= c;
      cost += c * data.mistake[own[t] * stride + y[t]];
      if (t > 0) {
        edge_move_[own[t - 1] * stride + own[t]] += c;
        edge_move_[y[t - 1] * stride + y[t]] -= c;
      }
    }
    if (data.boundaries) {
      edge_move_[k * stride + own[0]] += c;
      edge_move_[k * stride + y[0]] -= c;
      edge_move_[(k + 1) * stride + own[length - 1]] += c;
      edge_move_[(k + 1) * stride + y[length - 1]] -= c;
    }
    used_.clear();
    for (std::int64_t t = 0; t < length; ++t) {
      const double* move = move_.data() + t * stride;
      if (std::any_of(move, move + stride, [](double v) { return v != 0.0; })) used_.push_back(t);
    }
    return cost;
  }

  template <class Rows>
  double norm_of_move(const Rows& rows, const ChainData& data, std::int64_t i) {
    const std::int64_t stride = data.stride(), first = data.first[i];
    const RowProducts products = gram.of(data, i);
    double norm = dot_of_fours(edge_move_.data(), edge_move_.data(), data.lines() * stride);
    for (std::size_t p = 0; p < used_.size(); ++p) {
      const std::int64_t s = used_[p];
      for (std::size_t q = 0; q <= p; ++q) {
        const std::int64_t t = used_[q];
        const double product =
            products.known() ? products.at(s, t) : product_of_rows(rows, first + s, first + t);
        const double both =
            dot_of_fours(move_.data() + s * stride, move_.data() + t * stride, stride);
        norm += (p == q ? 1.0 : 2.0) * product * both;
      }
    }
    return norm;
  }

  template <class Rows>
  static double product_of_rows(const Rows& rows, std::int64_t s, std::int64_t t) {
    double sum = 0.0;
    rows.for_each(s, [&](std::int64_t j, double v) {
      rows.for_each(t, [&](std::int64_t l, double u) { sum += j == l ? u * v : 0.0; });
    });
    return sum;
  }

  void take(const ChainData& data, std::int64_t i, double step, double cost) {
    const std::int64_t length = data.length(i), stride = data.stride();
    Labelings& own = cache[i];
    if (step == 1.0) {
      own.share.clear();
      own.labels.clear();
      factor[i] = 1.0;
    } else {
      factor[i] *= 1.0 - step;
    }
    own.share.push_back(step / factor[i]);
    own.labels.insert(own.labels.end(), found_.begin(), found_.end());
    mean_cost_[i] += step * (cost - mean_cost_[i]);
    double* node = nodes_.data() + data.first[i] * stride;
    double* edge = edges_.data() + i * data.lines() * stride;
    for (std::int64_t e = 0; e < length * stride; ++e) node[e] += step * move_[e];
    for (std::int64_t e = 0; e < data.lines() * stride; ++e) edge[e] += step * edge_move_[e];
  }
};

}  // namespace widemargin
