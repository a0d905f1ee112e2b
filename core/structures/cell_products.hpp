// Scores of the cells of a sentence, and what a change of its shares does to the weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labeling_cells.hpp"

namespace widemargin {

// Calls visit.template operator()<number>(first) for runs of at most four labels.
template <class Visit>
void for_label_runs(std::int64_t count, Visit&& visit) {
  std::int64_t first = 0;
  for (; first + 4 <= count; first += 4) visit.template operator()<4>(first);
  switch (count - first) {
    case 1:
      return visit.template operator()<1>(first);
    case 2:
      return visit.template operator()<2>(first);
    case 3:
      return visit.template operator()<3>(first);
    default:
      return;
  }
}

// What a cell of row g adds to the score of a labeling, its cost included; zero for the own label.
template <class Rows>
void row_cell_scores(const Rows& rows, const ChainData& data, std::int64_t i,
                     const LabelingCells& cells, std::int64_t g, const double* weights,
                     double* scores) {
  const std::int64_t stride = data.stride(), begin = cells.begin[g], count = cells.labels(g);
  const std::int32_t* label = cells.label.data() + begin;
  double* out = scores + begin;
  for_label_runs(count, [&]<int number>(std::int64_t first) {
    few_class_scores<number>(rows, data.first[i] + cells.row[g], label + first, weights, stride,
                             out + first);
  });
  const double* mistake = data.mistake + label[0] * stride;
  const double own = out[0];
  for (std::int64_t m = 0; m < count; ++m) out[m] += mistake[label[m]] - own;
}

template <class Rows>
void cell_scores(const Rows& rows, const ChainData& data, std::int64_t i,
                 const LabelingCells& cells, const double* weights, double* scores) {
  for (std::int64_t g = 0; g < cells.rows(); ++g) {
    row_cell_scores(rows, data, i, cells, g, weights, scores);
  }
  const double* lines = data.edges(weights);
  double* out = scores + cells.first_edge();
  for (std::size_t e = 0; e < cells.edge.size(); ++e) out[e] = lines[cells.edge[e]];
}

// A change of the shares of a sentence, as changes of its cells.
class CellChange {
 public:
  double mistakes = 0.0;  // change of c_i times the mean cost

  void collect(const ChainData& data, std::int64_t i, const LabelingCells& cells,
               const std::vector<double>& from, const std::vector<double>& to) {
    by_.assign(cells.size(), 0.0);
    mistakes = 0.0;
    for (std::int64_t j = 0; j < std::ssize(to); ++j) {
      const double amount = data.cost[i] * (to[j] - from[j]);
      if (amount == 0.0) continue;
      cells.for_terms(j, [&](std::int32_t cell, double sign) { by_[cell] += sign * amount; });
    }
    for (std::int64_t g = 0; g < cells.rows(); ++g) {
      const std::int64_t own = cells.begin[g];
      const double* mistake = data.mistake + cells.label[own] * data.stride();
      for (std::int64_t c = own + 1; c < cells.begin[g + 1]; ++c) {
        by_[own] -= by_[c];
        mistakes += by_[c] * mistake[cells.label[c]];
      }
    }
  }

  // The slope of the dual objective along the change, at given weights.
  template <class Rows>
  double slope(const Rows& rows, const ChainData& data, std::int64_t i, const LabelingCells& cells,
               const double* weights) {
    scores_.resize(cells.size());
    double sum = 0.0;
    for (std::int64_t g = 0; g < cells.rows(); ++g) {
      if (!moves(cells, g)) continue;
      row_cell_scores(rows, data, i, cells, g, weights, scores_.data());
      for (std::int64_t c = cells.begin[g]; c < cells.begin[g + 1]; ++c) sum += by_[c] * scores_[c];
    }
    const double* lines = data.edges(weights);
    const double* by = by_.data() + cells.first_edge();
    for (std::size_t e = 0; e < cells.edge.size(); ++e) sum += by[e] * lines[cells.edge[e]];
    return sum;
  }

  // Changes the weights, `step` times as much.
  template <class Rows>
  void add(const Rows& rows, const ChainData& data, std::int64_t i, const LabelingCells& cells,
           double step, double* weights) {
    for (double& each : by_) each *= -step;
    for (std::int64_t g = 0; g < cells.rows(); ++g) {
      if (!moves(cells, g)) continue;
      const std::int64_t begin = cells.begin[g];
      for_label_runs(cells.labels(g), [&]<int number>(std::int64_t first) {
        few_class_axpy<number>(rows, data.first[i] + cells.row[g],
                               cells.label.data() + begin + first, by_.data() + begin + first,
                               weights, data.stride());
      });
    }
    double* lines = data.edges(weights);
    const double* by = by_.data() + cells.first_edge();
    for (std::size_t e = 0; e < cells.edge.size(); ++e) lines[cells.edge[e]] += by[e];
  }

 private:
  std::vector<double> by_, scores_;  // what the coefficient of a cell loses; its score

  bool moves(const LabelingCells& cells, std::int64_t g) const {
    return std::any_of(by_.begin() + cells.begin[g], by_.begin() + cells.begin[g + 1],
                       [](double each) { return each != 0.0; });
  }
};

}  // namespace widemargin
