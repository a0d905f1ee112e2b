// Dual block ascent for the log loss (exponentiated gradients, Collins et al., 2008, with a step
// size for each visit). The dual variables of a sentence are the marginals of scores of its own,
// nodes and edges; a visit moves these towards the scores at the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "structures/forward_backward.hpp"
#include "structures/token_gram.hpp"
#include "sweeps/active_set.hpp"

namespace widemargin {

// Marginals of one sentence and what they came from.
struct GibbsState {
  std::vector<double> nodes, edges;        // scores
  std::vector<double> marginal, expected;  // of the rows, and of the edges added up
  double log_z = 0.0, entropy = 0.0;

  void evaluate(const ChainData& data, std::int64_t length, ForwardBackward& memory) {
    const std::int64_t stride = data.stride(), size = length * stride;
    const GibbsEdges factors(data, edges.data(), 0);
    memory.resize(length, stride);
    std::copy_n(nodes.data(), size, memory.nodes.data());
    log_z = memory.forward(data, factors, length);
    expected.assign(edges.size(), 0.0);
    memory.backward(data, factors, length, 1.0, expected.data());
    marginal.assign(memory.marginal.begin(), memory.marginal.begin() + size);
    entropy = log_z - dot_of_fours(nodes.data(), marginal.data(), size) -
              dot_of_fours(edges.data(), expected.data(), std::ssize(edges));
  }
};

class GibbsSweep {
 public:
  std::vector<double> gaps, steps;
  double entropy = 0.0;  // sum of c_i times the entropy
  TokenGram gram;

  // `nodes` has a line for each row, `edges` the lines beside the features for each sentence.
  GibbsSweep(const ChainData& data, double* nodes, double* edges)
      : gaps(static_cast<std::size_t>(data.count), std::numeric_limits<double>::infinity()),
        steps(gaps.size(), 0.5),
        nodes_(nodes),
        edges_(edges) {}

  std::int64_t begin(const ChainData& data, std::uint64_t seed, double threshold) {
    order_.clear();
    for (std::int64_t i = 0; i < data.count; ++i) {
      if (gaps[i] > threshold && data.cost[i] > 0.0) order_.push_back(i);
    }
    shuffle(order_, seed);
    next_ = 0;
    return std::ssize(order_);
  }

  template <class Rows>
  bool sweep(const Rows& rows, const ChainData& data, double* weights, std::int64_t budget) {
    for (std::int64_t visited = 0; next_ < std::ssize(order_) && visited < budget; ++next_) {
      visit(rows, data, order_[next_], weights);
      visited += data.length(order_[next_]);
    }
    return next_ == std::ssize(order_);
  }

  double total_gap() const { return std::accumulate(gaps.begin(), gaps.end(), 0.0); }

 private:
  double *nodes_, *edges_;
  std::vector<std::int64_t> order_;
  std::int64_t next_ = 0;
  GibbsState old_, trial_, target_;
  ForwardBackward memory_;
  std::vector<double> zeros_, change_;

  template <class Rows>
  void visit(const Rows& rows, const ChainData& data, std::int64_t i, double* weights) {
    const std::int64_t length = data.length(i), stride = data.stride(), size = length * stride;
    const std::int64_t edge_size = data.lines() * stride;
    const double cost = data.cost[i];
    zeros_.assign(static_cast<std::size_t>(stride), 0.0);
    double* own_nodes = nodes_ + data.first[i] * stride;
    double* own_edges = edges_ + i * edge_size;
    old_.nodes.assign(own_nodes, own_nodes + size);
    old_.edges.assign(own_edges, own_edges + edge_size);
    old_.evaluate(data, length, memory_);
    target_.nodes.resize(static_cast<std::size_t>(size));
    node_scores(rows, data, i, weights, zeros_.data(), false, target_.nodes.data());
    const double* edges = data.edges(weights);
    target_.edges.assign(edges, edges + edge_size);
    // The gap of the sentence: c times the divergence of the old marginals from those at w.
    const GibbsEdges factors(data, target_.edges.data(), 0);
    std::copy_n(target_.nodes.data(), size, memory_.nodes.data());
    target_.log_z = memory_.forward(data, factors, length);
    const double gap = cost * (target_.log_z - old_.entropy - along(target_, old_));
    gaps[i] = std::max(gap, 0.0);
    double step = steps[i];
    for (int round = 0; round < 6; ++round) {
      mix(step);
      trial_.evaluate(data, length, memory_);
      const double slope = cost * (along(target_, trial_) - along(target_, old_) -
                                   along(old_, trial_) + along(old_, old_));
      const double bent =
          cost * (trial_.entropy - old_.entropy + along(target_, trial_) - along(target_, old_));
      const double norm = norm_of_change(data, i, cost);
      // bent = slope - b for the whole step; the best multiple of it.
      const double denominator = 2.0 * std::max(slope - bent, 0.0) + norm;
      const double best = denominator > 0.0 ? slope / denominator : 2.0;
      const bool good = bent - 0.5 * norm > 0.0;
      if (good && ((best > 0.6 && best < 1.7) || step * best >= 1.0 || round > 1)) {
        steps[i] = std::min(1.0, std::max(step * std::clamp(best, 0.3, 3.0), 1e-3));
        apply(rows, data, i, weights, cost);
        std::copy_n(trial_.nodes.data(), size, own_nodes);
        std::copy_n(trial_.edges.data(), edge_size, own_edges);
        entropy += cost * (trial_.entropy - old_.entropy);
        return;
      }
      const double next = std::min(1.0, step * std::clamp(best, 0.1, 10.0));
      step = good ? next : std::min(next, 0.5 * step);
    }
    steps[i] = std::max(0.5 * step, 1e-3);
  }

  void mix(double step) {
    auto between = [step](const std::vector<double>& a, const std::vector<double>& b,
                          std::vector<double>& out) {
      out.resize(a.size());
      for (std::size_t e = 0; e < a.size(); ++e) out[e] = a[e] + step * (b[e] - a[e]);
    };
    between(old_.nodes, target_.nodes, trial_.nodes);
    between(old_.edges, target_.edges, trial_.edges);
  }

  // The scores of one state under the marginals of another.
  static double along(const GibbsState& scores, const GibbsState& marginals) {
    return dot_of_fours(scores.nodes.data(), marginals.marginal.data(), std::ssize(scores.nodes)) +
           dot_of_fours(scores.edges.data(), marginals.expected.data(), std::ssize(scores.edges));
  }

  // The squared norm of the change of the weights; leaves its coefficients in `change_`.
  double norm_of_change(const ChainData& data, std::int64_t i, double cost) {
    const std::int64_t length = data.length(i), stride = data.stride();
    const float* products = gram.of(i);
    change_.resize(old_.marginal.size());
    for (std::size_t e = 0; e < change_.size(); ++e) {
      change_[e] = cost * (old_.marginal[e] - trial_.marginal[e]);
    }
    double norm = 0.0;
    for (std::size_t e = 0; e < old_.expected.size(); ++e) {
      const double change = cost * (old_.expected[e] - trial_.expected[e]);
      norm += change * change;
    }
    double largest = 0.0;  // without products: no row is longer than this
    for (std::int64_t s = 0; s < length; ++s) {
      const double* line = change_.data() + s * stride;
      if (products == nullptr) {
        largest += std::sqrt(dot_of_fours(line, line, stride));
        continue;
      }
      for (std::int64_t t = 0; t <= s; ++t) {
        const double both = dot_of_fours(line, change_.data() + t * stride, stride);
        norm += (t == s ? 1.0 : 2.0) * static_cast<double>(products[s * length + t]) * both;
      }
    }
    return norm + largest * largest * longest_;
  }

  template <class Rows>
  void apply(const Rows& rows, const ChainData& data, std::int64_t i, double* weights,
             double cost) {
    const std::int64_t length = data.length(i), stride = data.stride();
    double* edges = data.edges(weights);
    for (std::size_t e = 0; e < old_.expected.size(); ++e) {
      edges[e] += cost * (old_.expected[e] - trial_.expected[e]);
    }
    for_tiles(0, length, [&](std::int64_t t, std::int64_t count) {
      tile_axpy(rows, data.first[i] + t, count, change_.data() + t * stride, weights, stride);
    });
  }

 public:
  double longest_ = 0.0;  // the largest squared norm of a row
};

// Entropies of the sentences [begin, end) at scores of their own, and the weights that their
// marginals stand for.
template <class Rows>
void potentials_pass(const Rows& rows, const ChainData& data, const double* nodes,
                     const double* edges, std::int64_t begin, std::int64_t end, double* combination,
                     double* entropy, double* magnitude) {
  const std::int64_t k = data.classes, stride = data.stride(), edge_size = data.lines() * stride;
  GibbsState own;
  ForwardBackward memory;
  std::vector<double> lines;
  double* target = data.edges(combination);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t length = data.length(i), size = length * stride;
    const std::int32_t* y = data.labels(i);
    const double cost = data.cost[i];
    own.nodes.assign(nodes + data.first[i] * stride, nodes + data.first[i] * stride + size);
    own.edges.assign(edges + i * edge_size, edges + (i + 1) * edge_size);
    own.evaluate(data, length, memory);
    entropy[i] = own.entropy;
    double high = 0.0, sum = 0.0;
    for (const double edge : own.edges) high = std::max(high, std::abs(edge));
    for (std::int64_t t = 0; t < length; ++t) {
      double most = 0.0;
      for (std::int64_t a = 0; a < k; ++a)
        most = std::max(most, std::abs(own.nodes[t * stride + a]));
      sum += 2.0 * most + high + std::log(static_cast<double>(k)) + 1.0;
    }
    magnitude[i] = sum + 2.0 * high;
    for (std::int64_t e = 0; e < edge_size; ++e) target[e] -= cost * own.expected[e];
    lines.resize(static_cast<std::size_t>(size));
    for (std::int64_t t = 0; t < length; ++t) {
      double* line = lines.data() + t * stride;
      for (std::int64_t a = 0; a < stride; ++a) line[a] = -cost * own.marginal[t * stride + a];
      line[y[t]] = 0.0;
      double others = 0.0;
      for (std::int64_t a = 0; a < k; ++a) others -= line[a];
      line[y[t]] = others;
      if (t > 0) target[y[t - 1] * stride + y[t]] += cost;
    }
    if (data.boundaries) {
      target[k * stride + y[0]] += cost;
      target[(k + 1) * stride + y[length - 1]] += cost;
    }
    for_tiles(0, length, [&](std::int64_t t, std::int64_t count) {
      tile_axpy(rows, data.first[i] + t, count, lines.data() + t * stride, combination, stride);
    });
  }
}

}  // namespace widemargin
