// Sums over the examples of a multiclass problem that its certificate is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/class_products.hpp"
#include "projections/block_step.hpp"

namespace widemargin {

// Dual variables as compressed sparse rows.
struct SparseDuals {
  const std::int64_t* pointers = nullptr;
  const std::int32_t* classes = nullptr;
  const double* values = nullptr;
};

// Brings the dual variables of each example into the range of the rule, in place.
template <class Rule>
void make_feasible(const std::int64_t* pointers, const std::int32_t* classes, double* values,
                   const std::int32_t* label, const double* cost, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0.0;
    for (std::int64_t p = pointers[i]; p < pointers[i + 1]; ++p) {
      double value = classes[p] == label[i] ? 0.0 : std::max(values[p], 0.0);
      if (Rule::has_upper) value = std::min(value, cost[i]);
      values[p] = value;
      sum += value;
    }
    if (!Rule::has_upper && sum > cost[i]) {
      for (std::int64_t p = pointers[i]; p < pointers[i + 1]; ++p) values[p] *= cost[i] / sum;
    }
  }
}

// sum_i c_i loss_i at the weights, and combination += sum_i x_i a_i' for the dual variables, both
// over the rows [begin, end).
template <class Rule, class Rows>
double multiclass_losses(const Rows& rows, const double* weights, const double* start,
                         std::int64_t classes, const std::int32_t* label, const double* cost,
                         const SparseDuals& duals, double* combination, std::int64_t begin,
                         std::int64_t end) {
  const std::int64_t stride = padded_classes(classes);
  std::vector<double> scores(static_cast<std::size_t>(stride));
  std::vector<double> delta(static_cast<std::size_t>(stride));
  std::vector<double> moved_by(static_cast<std::size_t>(stride));
  std::vector<std::int32_t> moved(static_cast<std::size_t>(stride));
  double total = 0.0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t y = label[i];
    class_scores(rows, i, weights, stride, start, scores.data());
    const double base = 1.0 - scores[static_cast<std::size_t>(y)];
    double hinges = 0.0, highest = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) {
      const double g = j == y ? 0.0 : base + scores[static_cast<std::size_t>(j)];
      hinges += std::max(g, 0.0);
      highest = std::max(highest, g);
    }
    total += cost[i] * (Rule::has_upper ? hinges : highest);

    const std::int64_t first = duals.pointers[i], count = duals.pointers[i + 1] - first;
    if (count == 0) continue;
    double sum = 0.0;
    for (std::int64_t m = 0; m < count; ++m) sum += duals.values[first + m];
    if (stride <= widest_piece || 8 * (count + 1) > stride) {
      std::fill(delta.begin(), delta.end(), 0.0);
      for (std::int64_t m = 0; m < count; ++m) {
        delta[static_cast<std::size_t>(duals.classes[first + m])] -= duals.values[first + m];
      }
      delta[static_cast<std::size_t>(y)] += sum;
      class_axpy(rows, i, delta.data(), combination, stride);
    } else {
      for (std::int64_t m = 0; m < count; ++m) {
        moved[static_cast<std::size_t>(m)] = duals.classes[first + m];
        moved_by[static_cast<std::size_t>(m)] = -duals.values[first + m];
      }
      moved[static_cast<std::size_t>(count)] = y;
      moved_by[static_cast<std::size_t>(count)] = sum;
      some_class_axpy(rows, i, moved.data(), moved_by.data(), count + 1, combination, stride);
    }
  }
  return total;
}

}  // namespace widemargin
