// A pass over all sentences at scores of their own, which the dual variables are the marginals of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "structures/gibbs_pass.hpp"
#include "structures/gibbs_visit.hpp"

namespace widemargin {

// What a thread needs to evaluate one sentence after the other.
struct PotentialsWorker {
  GibbsState own;
  ForwardBackward memory;

  // The entropy of a sentence, a bound on what was added up for it, and the coefficients of its
  // rows and edges: c_i times what the right labeling has more than the mean.
  void evaluate(const ChainData& data, std::int64_t i, const float* nodes, const float* edges,
                double& entropy, double& magnitude, double* lines, double* change) {
    const std::int64_t k = data.classes, stride = data.stride(), edge_size = data.lines() * stride;
    const std::int64_t length = data.length(i);
    const std::int32_t* y = data.labels(i);
    const double cost = data.cost[i];
    widen(nodes + data.first[i] * k, length, k, stride, own.nodes);
    widen(edges + i * data.lines() * k, data.lines(), k, stride, own.edges);
    own.evaluate(data, length, memory);
    entropy = own.entropy;
    magnitude = bound(k, stride, length);
    for (std::int64_t e = 0; e < edge_size; ++e) change[e] -= cost * own.expected[e];
    for (std::int64_t t = 0; t < length; ++t) {
      double* line = lines + t * stride;
      for (std::int64_t a = 0; a < stride; ++a) line[a] = -cost * own.marginal[t * stride + a];
      // What the right label lacks to one is what the others have: exact where 1 - p cancels.
      line[y[t]] = 0.0;
      double others = 0.0;
      for (std::int64_t a = 0; a < k; ++a) others -= line[a];
      line[y[t]] = others;
      if (t > 0) change[y[t - 1] * stride + y[t]] += cost;
    }
    if (data.boundaries) {
      change[k * stride + y[0]] += cost;
      change[(k + 1) * stride + y[length - 1]] += cost;
    }
  }

 private:
  double bound(std::int64_t k, std::int64_t stride, std::int64_t length) const {
    double high = 0.0, sum = 0.0;
    for (const double edge : own.edges) high = std::max(high, std::abs(edge));
    for (std::int64_t t = 0; t < length; ++t) {
      double most = 0.0;
      for (std::int64_t a = 0; a < k; ++a) {
        most = std::max(most, std::abs(own.nodes[t * stride + a]));
      }
      sum += 2.0 * most + high + std::log(static_cast<double>(k)) + 1.0;
    }
    return sum + 2.0 * high;
  }
};

// Entropies of the sentences [begin, end) at scores of their own, and the weights that their
// marginals stand for; these are added up a few sentences at a time.
template <class Rows>
void potentials_pass(const Rows& rows, const ChainData& data, const float* nodes,
                     const float* edges, std::int64_t begin, std::int64_t end, int threads,
                     double* combination, double* entropy, double* magnitude) {
  const std::int64_t stride = data.stride(), edge_size = data.lines() * stride;
  std::vector<PotentialsWorker> workers(static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<double> lines, changes;
  Team team(threads);
  double* target = data.edges(combination);
  for (std::int64_t from = begin; from < end; from += gibbs_chunk) {
    const std::int64_t to = std::min(end, from + gibbs_chunk), first = data.first[from];
    const std::int64_t tokens = data.first[to] - first;
    lines.resize(static_cast<std::size_t>(tokens * stride));
    changes.assign(static_cast<std::size_t>((to - from) * edge_size), 0.0);
    team.run(to - from, [&](std::int64_t k, int worker) {
      const std::int64_t i = from + k;
      workers[static_cast<std::size_t>(worker)].evaluate(
          data, i, nodes, edges, entropy[i], magnitude[i],
          lines.data() + (data.first[i] - first) * stride, changes.data() + k * edge_size);
    });
    for (std::int64_t k = 0; k < to - from; ++k) {
      for (std::int64_t e = 0; e < edge_size; ++e) target[e] += changes[k * edge_size + e];
    }
    add_lines(rows, data, first, tokens, lines.data(), team, threads, combination);
  }
}

}  // namespace widemargin
