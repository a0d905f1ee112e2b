// A visit to a sentence that searches for no other labelings than those that are kept: it reads the
// scores of their cells alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/cell_products.hpp"
#include "structures/share_moves.hpp"

namespace widemargin {

class CachedVisit {
 public:
  ShareMoves moves;

  // Proposes shares; returns whether they differ from those that are kept.
  template <class Rows>
  bool solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
             const Labelings& cache, double enough) {
    const LabelingCells& cells = cache.cells;
    scores_.resize(cells.size());
    cell_scores(rows, data, i, cells, weights, scores_.data());
    moves.open(cache);
    double best = 0.0;
    for (std::int64_t j = 0; j < cache.count(); ++j) {
      double sum = 0.0;
      cells.for_terms(j, [&](std::int32_t c, double sign) { sum += sign * scores_[c]; });
      moves.value[j] = sum;
      best = std::max(best, sum);
    }
    const double cost = data.cost[i], gap = cost * (best - moves.mean());
    return gap > enough && moves.settle(cost, cache, std::max(enough, least_gain * gap));
  }

 private:
  std::vector<double> scores_;
};

}  // namespace widemargin
