// A visit to one sentence under the log loss: it moves the scores that the sentence's marginals
// come from towards those at the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "structures/axpy_products.hpp"
#include "structures/forward_backward.hpp"
#include "structures/token_gram.hpp"

namespace widemargin {

// Scores are kept in single precision and without the padding of the labels.
inline void widen(const float* kept, std::int64_t lines, std::int64_t classes, std::int64_t stride,
                  std::vector<double>& out) {
  out.resize(static_cast<std::size_t>(lines * stride));
  for (std::int64_t line = 0; line < lines; ++line) {
    double* to = out.data() + line * stride;
    std::copy_n(kept + line * classes, classes, to);
    std::fill(to + classes, to + stride, 0.0);
  }
}
inline void narrow(const std::vector<double>& scores, std::int64_t classes, std::int64_t stride,
                   float* kept) {
  for (auto line = scores.begin(); line != scores.end(); line += stride, kept += classes) {
    std::transform(line, line + classes, kept, [](double v) { return static_cast<float>(v); });
  }
}

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

class GibbsVisit {
 public:
  double gap = 0.0;      // of the sentence, at the weights that were seen
  double step = 0.0;     // to begin with at the next visit
  double entropy = 0.0;  // what c times the entropy gains
  bool moved = false;    // whether there is a proposal

  // Proposes scores; `own_nodes` and `own_edges` are those that the sentence has.
  template <class Rows>
  void solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
             const float* own_nodes, const float* own_edges, const RowProducts& products,
             double longest, double first_step) {
    const std::int64_t length = data.length(i);
    const double cost = data.cost[i];
    open(rows, data, i, weights, own_nodes, own_edges);
    moved = false;
    step = first_step;
    for (int round = 0; round < 6 && !moved; ++round) {
      mix(step);
      trial_.evaluate(data, length, memory_);
      const double slope = cost * (along(target_, trial_) - along(target_, old_) -
                                   along(old_, trial_) + along(old_, old_));
      const double bent =
          cost * (trial_.entropy - old_.entropy + along(target_, trial_) - along(target_, old_));
      measure(data, i, products, longest);
      // bent = slope - b for the whole step; the best multiple of it.
      const double denominator = 2.0 * std::max(slope - bent, 0.0) + norm_;
      const double best = denominator > 0.0 ? slope / denominator : 2.0;
      const bool good = bent - 0.5 * norm_ > 0.0;
      moved = good && ((best > 0.6 && best < 1.7) || step * best >= 1.0 || round > 1);
      if (moved) {
        step = std::min(1.0, std::max(step * std::clamp(best, 0.3, 3.0), 1e-3));
      } else {
        const double next = std::min(1.0, step * std::clamp(best, 0.1, 10.0));
        step = good ? next : std::min(next, 0.5 * step);
      }
    }
    entropy = cost * (trial_.entropy - old_.entropy);
    if (!moved) step = std::max(0.5 * step, 1e-3);
  }

  // Takes the proposal, at the weights that were seen.
  template <class Rows>
  void apply(const Rows& rows, const ChainData& data, std::int64_t i, double* weights) const {
    change_edges(data, 1.0, weights);
    const std::int64_t length = data.length(i), stride = data.stride();
    for_tiles(0, length, [&](std::int64_t t, std::int64_t count) {
      tile_axpy(rows, data.first[i] + t, count, change_.data() + t * stride, weights, stride);
    });
  }

  // Takes the proposal at other weights, if the dual objective gains by that; returns whether.
  template <class Rows>
  bool apply_if_it_gains(const Rows& rows, const ChainData& data, std::int64_t i, double* weights) {
    // Reading the weights for their product with the change costs little where they are changed.
    double product = change_edges(data, 1.0, weights);
    const std::int64_t length = data.length(i), stride = data.stride();
    for (std::int64_t t = 0; t < length; ++t) {
      product += class_axpy_and_product(rows, data.first[i] + t, change_.data() + t * stride,
                                        weights, stride);
    }
    // Each row saw what those before it had changed.
    if (entropy - (product - between_) - 0.5 * norm_ > 0.0) return true;
    for (double& each : change_) each = -each;
    change_edges(data, -1.0, weights);
    for (std::int64_t t = 0; t < length; ++t) {
      class_axpy(rows, data.first[i] + t, change_.data() + t * stride, weights, stride);
    }
    return false;
  }

  // Writes the scores of the proposal.
  void save(const ChainData& data, float* nodes, float* edges) const {
    narrow(trial_.nodes, data.classes, data.stride(), nodes);
    narrow(trial_.edges, data.classes, data.stride(), edges);
  }

 private:
  GibbsState old_, trial_, target_;
  ForwardBackward memory_;
  std::vector<double> zeros_;
  std::vector<double> change_;  // of the weights, as coefficients of the rows
  double norm_ = 0.0;           // its square
  double between_ = 0.0;        // what pairs of rows add to half of that

  template <class Rows>
  void open(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
            const float* own_nodes, const float* own_edges) {
    const std::int64_t length = data.length(i), stride = data.stride(), size = length * stride;
    const std::int64_t edge_size = data.lines() * stride;
    zeros_.assign(static_cast<std::size_t>(stride), 0.0);
    widen(own_nodes, length, data.classes, stride, old_.nodes);
    widen(own_edges, data.lines(), data.classes, stride, old_.edges);
    old_.evaluate(data, length, memory_);
    target_.nodes.resize(static_cast<std::size_t>(size));
    node_scores(rows, data, i, weights, zeros_.data(), false, target_.nodes.data());
    const double* edges = data.edges(weights);
    target_.edges.assign(edges, edges + edge_size);
    // The gap of the sentence: c times the divergence of the old marginals from those at w.
    const GibbsEdges factors(data, target_.edges.data(), 0);
    std::copy_n(target_.nodes.data(), size, memory_.nodes.data());
    target_.log_z = memory_.forward(data, factors, length);
    gap = std::max(data.cost[i] * (target_.log_z - old_.entropy - along(target_, old_)), 0.0);
  }

  void mix(double step) {
    auto between = [step](const std::vector<double>& a, const std::vector<double>& b,
                          std::vector<double>& out) {
      out.resize(a.size());
      // Scores are kept in single precision: what is proposed is what they will be.
      for (std::size_t e = 0; e < a.size(); ++e) {
        out[e] = static_cast<double>(static_cast<float>(a[e] + step * (b[e] - a[e])));
      }
    };
    between(old_.nodes, target_.nodes, trial_.nodes);
    between(old_.edges, target_.edges, trial_.edges);
  }

  // The scores of one state under the marginals of another.
  static double along(const GibbsState& scores, const GibbsState& marginals) {
    return dot_of_fours(scores.nodes.data(), marginals.marginal.data(), std::ssize(scores.nodes)) +
           dot_of_fours(scores.edges.data(), marginals.expected.data(), std::ssize(scores.edges));
  }

  // Computes the change of the weights.
  void measure(const ChainData& data, std::int64_t i, const RowProducts& products, double longest) {
    const std::int64_t length = data.length(i), stride = data.stride();
    const double cost = data.cost[i];
    cost_ = cost;
    change_.resize(old_.marginal.size());
    for (std::size_t e = 0; e < change_.size(); ++e) {
      change_[e] = cost * (old_.marginal[e] - trial_.marginal[e]);
    }
    double own = 0.0;
    for (std::size_t e = 0; e < old_.expected.size(); ++e) {
      const double change = cost * (old_.expected[e] - trial_.expected[e]);
      own += change * change;
    }
    between_ = 0.0;
    double largest = 0.0;  // without products: no row is longer than this
    for (std::int64_t s = 0; s < length; ++s) {
      const double* line = change_.data() + s * stride;
      if (!products.known()) {
        largest += std::sqrt(dot_of_fours(line, line, stride));
        continue;
      }
      for (std::int64_t t = 0; t < s; ++t) {
        between_ += products.at(s, t) * dot_of_fours(line, change_.data() + t * stride, stride);
      }
      own += products.at(s, s) * dot_of_fours(line, line, stride);
    }
    norm_ = own + 2.0 * between_ + largest * largest * longest;
  }

  // Adds `sign` times the change of the transitions; returns its product with what was there.
  double change_edges(const ChainData& data, double sign, double* weights) const {
    double* edges = data.edges(weights);
    double product = 0.0;
    for (std::size_t e = 0; e < old_.expected.size(); ++e) {
      const double change = sign * cost_ * (old_.expected[e] - trial_.expected[e]);
      product += edges[e] * change;
      edges[e] += change;
    }
    return product;
  }

  double cost_ = 0.0;
};

}  // namespace widemargin
