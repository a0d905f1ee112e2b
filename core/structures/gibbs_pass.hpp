// A pass over all sentences under the log loss: losses, and the gradient as the weights that the
// marginals stand for.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/forward_backward.hpp"
#include "threads/team.hpp"

namespace widemargin {

constexpr std::int64_t gibbs_chunk = 32;  // sentences whose edges are added up together

// weights += sum of x_t times its line over the rows [first, first + tokens). Classes are shared
// out, not rows: each weight is added to in the order of the rows.
template <class Rows>
void add_lines(const Rows& rows, const ChainData& data, std::int64_t first, std::int64_t tokens,
               const double* lines, Team& team, int threads, double* weights) {
  const std::int64_t stride = data.stride(), vectors = stride / vector_length;
  const std::int64_t parts = std::min<std::int64_t>(std::max(threads, 1), vectors);
  team.run(parts, [&](std::int64_t part, int) {
    const std::int64_t from = vectors * part / parts * vector_length;
    const std::int64_t to = vectors * (part + 1) / parts * vector_length;
    for (std::int64_t t = 0; t < tokens; ++t) {
      for_class_pieces(to - from, [&]<int pieces>(std::int64_t at) {
        axpy_of_piece<pieces>(rows, first + t, lines + t * stride + from + at, weights + from + at,
                              stride);
      });
    }
  });
}

// For the sentences [begin, end): excess = log Z minus the score of the right labeling, magnitude a
// bound on what was added up for it, and combination += sum of c_i (f_i(y_i) - E f_i), unless that
// is null. Each weight is added to in the order of the rows, whatever the number of threads.
template <class Rows>
void gibbs_pass(const Rows& rows, const ChainData& data, const double* weights, std::int64_t begin,
                std::int64_t end, int threads, double* combination, double* excess,
                double* magnitude) {
  const std::int64_t k = data.classes, stride = data.stride(), edge_size = data.lines() * stride;
  const GibbsEdges edges(data, weights);
  const std::int64_t first = data.first[begin], tokens = data.first[end] - first;
  const bool whole = combination != nullptr;
  std::vector<double> lines(static_cast<std::size_t>(whole ? tokens * stride : 0));
  const std::int64_t chunks = (end - begin + gibbs_chunk - 1) / gibbs_chunk;
  std::vector<double> totals(static_cast<std::size_t>(whole ? chunks * edge_size : 0), 0.0);
  std::vector<ForwardBackward> memory(static_cast<std::size_t>(std::max(threads, 1)));
  const std::vector<double> zeros(static_cast<std::size_t>(stride), 0.0);
  Team team(threads);
  team.run(chunks, [&](std::int64_t chunk, int worker) {
    ForwardBackward& own = memory[static_cast<std::size_t>(worker)];
    double* total = totals.data() + chunk * edge_size;
    const std::int64_t last = std::min(end, begin + (chunk + 1) * gibbs_chunk);
    for (std::int64_t i = begin + chunk * gibbs_chunk; i < last; ++i) {
      const std::int64_t length = data.length(i);
      const std::int32_t* y = data.labels(i);
      const double cost = data.cost[i];
      own.resize(length, stride);
      node_scores(rows, data, i, weights, zeros.data(), false, own.nodes.data());
      const ChainScores scores{own.nodes.data(), data.edges(weights), length, k, stride};
      const double right = labeling_score(scores, y);
      double sum = edges.magnitude(length);
      for (std::int64_t t = 0; t < length; ++t) {
        double high = 0.0;
        for (std::int64_t a = 0; a < k; ++a) high = std::max(high, std::abs(scores.node(t)[a]));
        sum += high + std::log(static_cast<double>(k)) + 1.0;
      }
      magnitude[i] = sum;
      excess[i] = own.forward(data, edges, length) - right;
      if (!whole) continue;
      own.backward(data, edges, length, -cost, total);
      double* line = lines.data() + (data.first[i] - first) * stride;
      for (std::int64_t t = 0; t < length; ++t, line += stride) {
        for (std::int64_t a = 0; a < stride; ++a) line[a] = -cost * own.marginal[t * stride + a];
        // What the right label lacks to one is what the others have: exact where 1 - p cancels.
        line[y[t]] = 0.0;
        double others = 0.0;
        for (std::int64_t a = 0; a < k; ++a) others -= line[a];
        line[y[t]] = others;
        if (t > 0) total[y[t - 1] * stride + y[t]] += cost;
      }
      if (data.boundaries) {
        total[k * stride + y[0]] += cost;
        total[(k + 1) * stride + y[length - 1]] += cost;
      }
    }
  });
  if (!whole) return;
  double* target = data.edges(combination);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::int64_t e = 0; e < edge_size; ++e) target[e] += totals[chunk * edge_size + e];
  }
  add_lines(rows, data, first, tokens, lines.data(), team, threads, combination);
}

// Marginals of every row, at weights.
template <class Rows>
void gibbs_marginals(const Rows& rows, const ChainData& data, const double* weights,
                     std::int64_t begin, std::int64_t end, double* out) {
  const std::int64_t stride = data.stride();
  const GibbsEdges edges(data, weights);
  std::vector<double> total(static_cast<std::size_t>(data.lines() * stride), 0.0);
  const std::vector<double> zeros(static_cast<std::size_t>(stride), 0.0);
  ForwardBackward own;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t length = data.length(i);
    own.resize(length, stride);
    node_scores(rows, data, i, weights, zeros.data(), false, own.nodes.data());
    own.forward(data, edges, length);
    own.backward(data, edges, length, 0.0, total.data());
    for (std::int64_t t = 0; t < length; ++t) {
      std::copy_n(own.marginal.data() + t * stride, data.classes,
                  out + (data.first[i] + t) * data.classes);
    }
  }
}

}  // namespace widemargin
