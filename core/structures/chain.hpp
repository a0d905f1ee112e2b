// Chains: sentences of rows with a label each, and the scores of a labeling.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/class_tiles.hpp"

namespace widemargin {

// Sentence i has the rows [first[i], first[i + 1]). Weights are one matrix with a line of padded
// classes for each feature, then one for each label that a transition leaves, then one each for the
// first and the last label of a sentence.
struct ChainData {
  const std::int64_t* first;
  std::int64_t count;         // sentences
  const std::int32_t* label;  // of each row
  const double* cost;         // c_i of each sentence
  const double* mistake;      // line a: what each label costs where a is right
  std::int64_t classes;
  std::int64_t features;
  bool boundaries;  // whether first and last labels have weights

  std::int64_t stride() const { return padded_classes(classes); }
  std::int64_t lines() const { return classes + 2; }  // beside those of the features
  std::int64_t length(std::int64_t i) const { return first[i + 1] - first[i]; }
  const std::int32_t* labels(std::int64_t i) const { return label + first[i]; }
  const double* edges(const double* weights) const { return weights + features * stride(); }
  double* edges(double* weights) const { return weights + features * stride(); }
};

// The scores that the labelings of one sentence are made of: a line of classes for each row, and
// the lines of the weights beside those of the features.
struct ChainScores {
  const double* nodes;
  const double* edges;
  std::int64_t length;
  std::int64_t classes;
  std::int64_t stride;

  const double* node(std::int64_t t) const { return nodes + t * stride; }
  const double* edge(std::int64_t a) const { return edges + a * stride; }
  const double* start() const { return edges + classes * stride; }
  const double* end() const { return edges + (classes + 1) * stride; }
};

template <class Label>
double labeling_score(const ChainScores& scores, const Label* y) {
  const std::int64_t last = scores.length - 1;
  double total = scores.start()[y[0]] + scores.node(0)[y[0]];
  for (std::int64_t t = 1; t <= last; ++t) {
    total += scores.edge(y[t - 1])[y[t]] + scores.node(t)[y[t]];
  }
  return total + scores.end()[y[last]];
}

// nodes = W x_t for the rows of a sentence, plus the costs of mistakes if asked for.
template <class Rows>
void node_scores(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
                 const double* zeros, bool with_mistakes, double* nodes) {
  const std::int64_t stride = data.stride(), begin = data.first[i];
  for_tiles(begin, data.first[i + 1], [&](std::int64_t t, std::int64_t count) {
    for (std::int64_t r = 0; r < count; ++r) rows.prefetch_pointers(t + r + tile_height);
    tile_scores(rows, t, count, weights, stride, zeros, nodes + (t - begin) * stride);
  });
  if (!with_mistakes) return;
  for (std::int64_t t = 0; t < data.length(i); ++t) {
    const double* mistake = data.mistake + data.labels(i)[t] * stride;
    double* node = nodes + t * stride;
    for (std::int64_t a = 0; a < stride; ++a) node[a] += mistake[a];
  }
}

}  // namespace widemargin
