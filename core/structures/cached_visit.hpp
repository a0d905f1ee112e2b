// A visit to a sentence that searches for labelings among the labels that are kept only: it reads
// the scores of their cells alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/cell_products.hpp"
#include "structures/kept_search.hpp"
#include "structures/labeling_products.hpp"
#include "structures/share_moves.hpp"

namespace widemargin {

class CachedVisit {
 public:
  ShareMoves moves;
  double gap = 0.0;  // of the sentence among these labelings, at the weights that were seen

  // Proposes shares; returns whether they differ from those that are kept.
  template <class Rows>
  bool solve(const Rows& rows, const ChainData& data, std::int64_t i, const double* weights,
             const RowProducts& gram, Labelings& cache, double enough) {
    const LabelingCells& cells = cache.cells;
    scores_.make(rows, data, i, cells, weights);
    moves.open(cache);
    double best = 0.0;
    for (std::int64_t j = 0; j < cache.count(); ++j) {
      moves.value[j] = cells.sum(j, scores_.steps.data());
      best = std::max(best, moves.value[j]);
    }
    const double found = search_.run(data, i, cells, scores_.cells, weights);
    const double cost = data.cost[i];
    gap = std::max(cost * (std::max(best, found) - moves.mean()), 0.0);
    if (!(gap > enough)) return false;
    if (cost * (found - best) > worth_keeping * gap) add(data, i, gram, found, cache);
    return moves.settle(cost, cache, std::max(enough, least_gain * gap));
  }

 private:
  KeptSearch search_;
  KeptProducts kept_;
  CellMaker maker_;
  CellScores scores_;
  std::vector<ShortLabel> own_;

  // Keeps the labeling that was found, in place of those that have no share.
  void add(const ChainData& data, std::int64_t i, const RowProducts& gram, double value,
           Labelings& cache) {
    const std::int64_t length = data.length(i);
    const std::vector<ShortLabel>& found = search_.found(data, i, cache.cells);
    std::int64_t used = 0;
    for (std::int64_t j = 0; j < cache.count(); ++j) {
      if (cache.used(j)) moves.value[used++] = moves.value[j];
    }
    cache.drop_unused(length);
    own_.assign(data.labels(i), data.labels(i) + length);
    kept_.extend(data, gram, own_.data(), found.data(), cache, length);
    maker_.make(
        data, i, cache.count(), [&](std::int64_t j) { return cache.labeling(j, length); },
        cache.cells);
    moves.value.resize(static_cast<std::size_t>(used + 1));
    moves.value[used] = value;
    moves.share = cache.share;
  }
};

}  // namespace widemargin
