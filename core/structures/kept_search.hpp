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
  std::vector<ShortLabel> labels;  // the best labeling

  // Returns what the score of the best labeling, costs included, is above that of the own one;
  // `scores` are those of the cells.
  double run(const ChainData& data, std::int64_t i, const LabelingCells& cells,
             const std::vector<double>& scores, const double* weights) {
    const std::int64_t stride = data.stride();
    const double* edges = data.edges(weights);
    const std::int32_t *own = data.labels(i), *label = cells.label.data();
    labels.assign(own, own + data.length(i));
    if (cells.row.empty()) return 0.0;
    // Rows before the first and after the last one with a choice are as they are.
    const std::int64_t begin = std::max<std::int64_t>(0, cells.row.front() - 1);
    const std::int64_t end = std::min(data.length(i), std::int64_t{cells.row.back()} + 2);
    table_ = scores;
    from_.resize(table_.size());
    double right = bounds(data, i, cells, edges);
    for (std::int64_t t = begin + 1; t < end; ++t) {
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
    std::int32_t at = cells.begin[end - 1];
    for (std::int32_t c = at + 1; c < cells.begin[end]; ++c) {
      if (table_[c] > table_[at]) at = c;
    }
    const double value = table_[at] - right;
    for (std::int64_t t = end - 1; t >= begin; --t) {
      labels[t] = static_cast<ShortLabel>(label[at]);
      at = from_[at];
    }
    return value;
  }

 private:
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
