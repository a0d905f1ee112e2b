// The best labeling of a sentence among those that take every label from one that is kept: the
// labelings that are kept, and all that are put together from parts of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labeling_cells.hpp"
#include "structures/labelings.hpp"

namespace widemargin {

class KeptSearch {
 public:
  // Returns what the score of the best labeling, costs included, is above that of the own one;
  // `scores` are those of the cells.
  double run(const ChainData& data, std::int64_t i, const LabelingCells& cells,
             const std::vector<double>& scores, const double* weights) {
    const std::int64_t stride = data.stride();
    const double* edges = data.edges(weights);
    const std::int32_t *own = data.labels(i), *label = cells.label.data();
    begin_ = end_ = 0;
    if (cells.row.empty()) return 0.0;
    // Rows before the first and after the last one with a choice are as they are.
    begin_ = std::max<std::int64_t>(0, cells.row.front() - 1);
    end_ = std::min(data.length(i), std::int64_t{cells.row.back()} + 2);
    table_ = scores;
    from_.resize(table_.size());
    double right = bounds(data, i, cells, edges);
    for (std::int64_t t = begin_ + 1; t < end_; ++t) {
      right += edges[own[t - 1] * stride + own[t]];
      for (std::int32_t c = cells.begin[t]; c < cells.begin[t + 1]; ++c) {
        const double* into = edges + label[c];
        std::int32_t best = cells.begin[t - 1];
        double high = table_[best] + into[label[best] * stride];
        for (std::int32_t b = best + 1; b < cells.begin[t]; ++b) {
          const double score = table_[b] + into[label[b] * stride];
          best = score > high ? b : best;
          high = std::max(high, score);
        }
        table_[c] += high;
        from_[c] = best;
      }
    }
    last_ = cells.begin[end_ - 1];
    for (std::int32_t c = last_ + 1; c < cells.begin[end_]; ++c) {
      if (table_[c] > table_[last_]) last_ = c;
    }
    return table_[last_] - right;
  }

  // The labeling that the last search found; `cells` as then.
  const std::vector<ShortLabel>& found(const ChainData& data, std::int64_t i,
                                       const LabelingCells& cells) {
    labels_.assign(data.labels(i), data.labels(i) + data.length(i));
    std::int32_t at = last_;
    for (std::int64_t t = end_ - 1; t >= begin_; --t) {
      labels_[t] = static_cast<ShortLabel>(cells.label[at]);
      at = from_[at];
    }
    return labels_;
  }

 private:
  std::int64_t begin_ = 0, end_ = 0;  // the rows that were searched
  std::int32_t last_ = 0;             // the best cell of the last one
  std::vector<ShortLabel> labels_;
  std::vector<std::int32_t> from_;  // the best cell before each
  std::vector<double> table_;

  // Adds the scores of first and last labels; returns that of the own ones.
  double bounds(const ChainData& data, std::int64_t i, const LabelingCells& cells,
                const double* edges) {
    if (!data.boundaries) return 0.0;
    const std::int64_t last = data.length(i) - 1, stride = data.stride();
    const double *start = edges + data.classes * stride, *end = start + stride;
    double sum = 0.0;
    auto add = [&](std::int64_t t, const double* line) {
      for (std::int32_t c = cells.begin[t]; c < cells.begin[t + 1]; ++c) {
        table_[c] += line[cells.label[c]];
      }
      sum += line[data.labels(i)[t]];
    };
    if (cells.row.front() <= 1) add(0, start);
    if (cells.row.back() >= last - 1) add(last, end);
    return sum;
  }
};

}  // namespace widemargin
