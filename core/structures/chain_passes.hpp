// Passes over all sentences: losses at given weights, and the weights that labelings stand for.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labelings.hpp"
#include "structures/viterbi.hpp"
#include "threads/team.hpp"

namespace widemargin {

// Memory of one worker of a pass.
struct ChainScratch {
  std::vector<double> nodes, table, zeros;
  std::vector<std::int32_t> labels;

  void resize(const ChainData& data, std::int64_t i) {
    const auto size = static_cast<std::size_t>(data.length(i) * data.stride());
    if (nodes.size() < size) {
      nodes.resize(size);
      table.resize(size);
      labels.resize(static_cast<std::size_t>(data.length(i)));
    }
    zeros.resize(static_cast<std::size_t>(data.stride()));
  }
  ChainScores scores(const ChainData& data, std::int64_t i, const double* weights) const {
    return {nodes.data(), data.edges(weights), data.length(i), data.classes, data.stride()};
  }
};

// For the sentences [begin, end): the labeling with the highest score, costs of mistakes included
// if asked for, and its excess over the right one. The magnitude is a bound on the sum of all
// numbers that were added up for either score.
template <class Rows>
void best_labelings(const Rows& rows, const ChainData& data, const double* weights,
                    bool with_mistakes, std::int64_t begin, std::int64_t end, int threads,
                    std::int32_t* labels, double* excess, double* magnitude) {
  Team team(threads);
  std::vector<ChainScratch> scratch(static_cast<std::size_t>(std::max(threads, 1)));
  const std::int64_t stride = data.stride();
  double largest = 0.0;
  const double* edges = data.edges(weights);
  for (std::int64_t e = 0; e < data.lines() * stride; ++e) {
    largest = std::max(largest, std::abs(edges[e]));
  }
  constexpr std::int64_t chunk = 16;
  team.run((end - begin + chunk - 1) / chunk, [&](std::int64_t c, int worker) {
    ChainScratch& own = scratch[static_cast<std::size_t>(worker)];
    for (std::int64_t i = begin + c * chunk; i < std::min(end, begin + (c + 1) * chunk); ++i) {
      own.resize(data, i);
      node_scores(rows, data, i, weights, own.zeros.data(), with_mistakes, own.nodes.data());
      const ChainScores scores = own.scores(data, i, weights);
      std::int32_t* y = labels + data.first[i];
      const double best = viterbi(scores, own.table.data(), y);
      excess[i] = std::max(0.0, best - labeling_score(scores, data.labels(i)));
      double sum = largest * static_cast<double>(data.length(i) + 1);
      for (std::int64_t t = 0; t < data.length(i); ++t) {
        double high = 0.0;
        for (std::int64_t a = 0; a < data.classes; ++a) {
          high = std::max(high, std::abs(scores.node(t)[a]));
        }
        sum += high;
      }
      magnitude[i] = sum;
    }
  });
}

// Labels [first, first + count): both are multiples of what a vector register holds.
struct LabelRange {
  std::int64_t first, count;
  bool has(std::int64_t label) const { return label >= first && label < first + count; }
};

// weights += sum over the labelings of sentence i of c times the share times (features of the right
// labeling minus its own), for the labels of a range, which are the columns of `weights`; returns c
// times the mean cost.
template <class Rows>
double combine_labelings(const Rows& rows, const ChainData& data, std::int64_t i,
                         const double* share, const std::int32_t* labels, std::int64_t count,
                         LabelRange range, std::vector<double>& lines, double* weights) {
  const std::int64_t length = data.length(i), stride = data.stride(), k = data.classes;
  const std::int32_t* right = data.labels(i);
  lines.assign(static_cast<std::size_t>(length * stride), 0.0);
  double* edges = weights + data.features * range.count;
  auto edge = [&](std::int64_t line, std::int64_t label, double amount) {
    if (range.has(label)) edges[line * range.count + label - range.first] += amount;
  };
  double mistakes = 0.0;
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int32_t* y = labels + j * length;
    const double amount = data.cost[i] * share[j];
    if (amount == 0.0) continue;
    for (std::int64_t t = 0; t < length; ++t) {
      const bool wrong = y[t] != right[t];
      if (wrong) {
        lines[t * stride + right[t]] += amount;
        lines[t * stride + y[t]] -= amount;
        mistakes += amount * data.mistake[right[t] * stride + y[t]];
      }
      if (t > 0 && (wrong || y[t - 1] != right[t - 1])) {
        edge(right[t - 1], right[t], amount);
        edge(y[t - 1], y[t], -amount);
      }
    }
    if (data.boundaries) {
      edge(k, right[0], amount);
      edge(k, y[0], -amount);
      edge(k + 1, right[length - 1], amount);
      edge(k + 1, y[length - 1], -amount);
    }
  }
  for (std::int64_t t = 0; t < length; ++t) {
    const double* line = lines.data() + t * stride + range.first;
    if (std::any_of(line, line + range.count, [](double v) { return v != 0.0; })) {
      class_axpy(rows, data.first[i] + t, line, weights, range.count);
    }
  }
  return mistakes;
}

}  // namespace widemargin
