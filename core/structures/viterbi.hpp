// The best labeling of a chain.
#pragma once

#include <algorithm>
#include <cstdint>

#include "structures/chain.hpp"

namespace widemargin {

inline FourDoubles larger(const FourDoubles& a, const FourDoubles& b) {
#if defined(__GNUC__)
  return a > b ? a : b;
#else
  FourDoubles out = a;
  for (int k = 0; k < vector_length; ++k) out.at[k] = a.at[k] > b.at[k] ? a.at[k] : b.at[k];
  return out;
#endif
}

// to = node + max over a of from[a] + edge a, over `pieces` times four labels.
template <int pieces>
void best_step(const double* from, const double* edges, std::int64_t classes, std::int64_t stride,
               const double* node, double* to) {
  FourDoubles best[pieces];
  const FourDoubles base = all_four(from[0]);
  for (int p = 0; p < pieces; ++p) best[p] = base + load_four(edges + p * vector_length);
  for (std::int64_t a = 1; a < classes; ++a) {
    const FourDoubles score = all_four(from[a]);
    for (int p = 0; p < pieces; ++p) {
      best[p] = larger(score + load_four(edges + a * stride + p * vector_length), best[p]);
    }
  }
  for (int p = 0; p < pieces; ++p) {
    store_four(to + p * vector_length, best[p] + load_four(node + p * vector_length));
  }
}

// Writes the labeling with the highest score to y and returns the score. Of equal ones it takes the
// smallest last label, then the smallest one before. `table` has the size of the nodes. The maxima
// alone are kept on the way; which label they came from is asked again along the best path only.
template <class Label>
double viterbi(const ChainScores& scores, double* table, Label* y) {
  const std::int64_t classes = scores.classes, stride = scores.stride, last = scores.length - 1;
  for (std::int64_t a = 0; a < stride; ++a) table[a] = scores.start()[a] + scores.node(0)[a];
  for (std::int64_t t = 1; t <= last; ++t) {
    const double* from = table + (t - 1) * stride;
    for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
      best_step<pieces>(from, scores.edges + first, classes, stride, scores.node(t) + first,
                        table + t * stride + first);
    });
  }
  double value = 0.0;
  std::int64_t at = 0;
  for (std::int64_t a = 0; a < classes; ++a) {
    const double score = table[last * stride + a] + scores.end()[a];
    if (a == 0 || score > value) {
      value = score;
      at = a;
    }
  }
  y[last] = static_cast<Label>(at);
  for (std::int64_t t = last; t > 0; --t) {
    const double* from = table + (t - 1) * stride;
    std::int64_t best = 0;
    double highest = from[0] + scores.edge(0)[at];
    for (std::int64_t a = 1; a < classes; ++a) {
      const double score = from[a] + scores.edge(a)[at];
      if (score > highest) {
        highest = score;
        best = a;
      }
    }
    at = best;
    y[t - 1] = static_cast<Label>(at);
  }
  return value;
}

}  // namespace widemargin
