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

// What a cell of row t adds to the score of a labeling, its cost included; zero for the own label.
template <class Rows>
void row_cell_scores(const Rows& rows, const ChainData& data, std::int64_t i,
                     const LabelingCells& cells, std::int64_t t, const double* weights,
                     double* scores) {
  const std::int64_t stride = data.stride(), begin = cells.begin[t], count = cells.labels(t);
  const std::int32_t* label = cells.label.data() + begin;
  double* out = scores + begin;
  for_label_runs(count, [&]<int number>(std::int64_t first) {
    few_class_scores<number>(rows, data.first[i] + t, label + first, weights, stride, out + first);
  });
  const double* mistake = data.mistake + label[0] * stride;
  const double own = out[0];
  out[0] = 0.0;
  for (std::int64_t m = 1; m < count; ++m) out[m] += mistake[label[m]] - own;
}

// Scores of the cells, and of the steps.
class CellScores {
 public:
  std::vector<double> cells, steps;

  template <class Rows>
  void make(const Rows& rows, const ChainData& data, std::int64_t i, const LabelingCells& of,
            const double* weights) {
    cells.assign(of.label.size(), 0.0);
    for (const std::int32_t t : of.row) {
      row_cell_scores(rows, data, i, of, t, weights, cells.data());
    }
    const double* lines = data.edges(weights);
    steps.resize(of.steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const LabelingStep& step = of.steps[s];
      steps[s] = cells[step.cell] + lines[step.wrong] - lines[step.right];
    }
  }
};

// A change of the shares of a sentence, as changes of its steps and cells.
class CellChange {
 public:
  double mistakes = 0.0;  // change of c_i times the mean cost

  void collect(const ChainData& data, std::int64_t i, const LabelingCells& cells,
               const std::vector<double>& from, const std::vector<double>& to) {
    steps_.assign(cells.steps.size(), 0.0);
    by_.assign(cells.label.size(), 0.0);
    for (std::int64_t j = 0; j < std::ssize(to); ++j) {
      const double amount = data.cost[i] * (to[j] - from[j]);
      if (amount == 0.0) continue;
      for (std::int32_t p = cells.term_begin[j]; p < cells.term_begin[j + 1]; ++p) {
        steps_[cells.terms[p]] += amount;
      }
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) by_[cells.steps[s].cell] += steps_[s];
    mistakes = 0.0;
    for (const std::int32_t t : cells.row) {
      const std::int64_t own = cells.begin[t];
      const double* mistake = data.mistake + cells.label[own] * data.stride();
      by_[own] = 0.0;  // steps to the own label do not change the row's share of it
      for (std::int64_t c = own + 1; c < cells.begin[t + 1]; ++c) {
        by_[own] -= by_[c];
        mistakes += by_[c] * mistake[cells.label[c]];
      }
    }
  }

  // The slope of the dual objective along the change, at given weights.
  template <class Rows>
  double slope(const Rows& rows, const ChainData& data, std::int64_t i, const LabelingCells& cells,
               const double* weights) {
    scores_.resize(cells.label.size());
    double sum = 0.0;
    for (const std::int32_t t : cells.row) {
      if (!moves(cells, t)) continue;
      row_cell_scores(rows, data, i, cells, t, weights, scores_.data());
      for (std::int64_t c = cells.begin[t] + 1; c < cells.begin[t + 1]; ++c) {
        sum += by_[c] * scores_[c];
      }
    }
    const double* lines = data.edges(weights);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      sum += steps_[s] * (lines[cells.steps[s].wrong] - lines[cells.steps[s].right]);
    }
    return sum;
  }

  // Changes the weights, `step` times as much.
  template <class Rows>
  void add(const Rows& rows, const ChainData& data, std::int64_t i, const LabelingCells& cells,
           double step, double* weights) {
    for (double& each : by_) each *= -step;
    for (const std::int32_t t : cells.row) {
      if (!moves(cells, t)) continue;
      const std::int64_t begin = cells.begin[t];
      for_label_runs(cells.labels(t), [&]<int number>(std::int64_t first) {
        few_class_axpy<number>(rows, data.first[i] + t, cells.label.data() + begin + first,
                               by_.data() + begin + first, weights, data.stride());
      });
    }
    double* lines = data.edges(weights);
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const auto [cell, wrong, right] = cells.steps[s];
      if (steps_[s] == 0.0 || wrong == right) continue;
      lines[wrong] -= step * steps_[s];
      lines[right] += step * steps_[s];
    }
  }

 private:
  std::vector<double> steps_, by_;  // what the coefficients of steps and of cells gain
  std::vector<double> scores_;

  bool moves(const LabelingCells& cells, std::int64_t t) const {
    return std::any_of(by_.begin() + cells.begin[t], by_.begin() + cells.begin[t + 1],
                       [](double each) { return each != 0.0; });
  }
};

}  // namespace widemargin
