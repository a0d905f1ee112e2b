// The best labeling of a sentence among those that take every label from one that is kept: the
// labelings that are kept, and all that are put together from parts of them.
#pragma once

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
             const double* scores, const double* weights) {
    const std::int64_t length = data.length(i), stride = data.stride();
    const double* edges = data.edges(weights);
    const double own = open(data, i, cells, scores, edges);
    from_.resize(label_.size());
    for (std::int64_t t = 1; t < length; ++t) {
      for (std::int32_t c = first_[t]; c < first_[t + 1]; ++c) {
        const double* into = edges + label_[c];
        std::int32_t best = first_[t - 1];
        double high = table_[best] + into[label_[best] * stride];
        for (std::int32_t b = best + 1; b < first_[t]; ++b) {
          const double score = table_[b] + into[label_[b] * stride];
          if (score > high) {
            high = score;
            best = b;
          }
        }
        table_[c] += high;
        from_[c] = best;
      }
    }
    std::int32_t at = first_[length - 1];
    for (std::int32_t c = at + 1; c < first_[length]; ++c) {
      if (table_[c] > table_[at]) at = c;
    }
    const double value = table_[at] - own;
    labels.resize(static_cast<std::size_t>(length));
    for (std::int64_t t = length - 1; t >= 0; --t) {
      labels[t] = static_cast<ShortLabel>(label_[at]);
      at = from_[at];
    }
    return value;
  }

 private:
  std::vector<std::int32_t> first_, label_, from_;  // labels of each row, and the best one before
  std::vector<double> table_;

  // Lists the labels of each row with their scores; returns the score of the own transitions.
  double open(const ChainData& data, std::int64_t i, const LabelingCells& cells,
              const double* scores, const double* edges) {
    const std::int64_t length = data.length(i), stride = data.stride(), k = data.classes;
    const std::int32_t* own = data.labels(i);
    first_.assign(1, 0);
    label_.clear();
    table_.clear();
    double sum = 0.0;
    for (std::int64_t t = 0, g = 0; t < length; ++t) {
      if (g < cells.rows() && cells.row[g] == t) {
        label_.insert(label_.end(), cells.label.begin() + cells.begin[g],
                      cells.label.begin() + cells.begin[g + 1]);
        table_.insert(table_.end(), scores + cells.begin[g], scores + cells.begin[g + 1]);
        ++g;
      } else {
        label_.push_back(own[t]);
        table_.push_back(0.0);
      }
      first_.push_back(static_cast<std::int32_t>(label_.size()));
      if (t > 0) sum += edges[own[t - 1] * stride + own[t]];
    }
    if (!data.boundaries) return sum;
    const double *start = edges + k * stride, *end = start + stride;
    for (std::int32_t c = 0; c < first_[1]; ++c) table_[c] += start[label_[c]];
    for (std::int32_t c = first_[length - 1]; c < first_[length]; ++c) table_[c] += end[label_[c]];
    return sum + start[own[0]] + end[own[length - 1]];
  }
};

}  // namespace widemargin
