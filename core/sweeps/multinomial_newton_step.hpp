// One whole Newton step on a small multinomial problem in one call, as newton_step.hpp has it for
// two classes: where a step takes microseconds, calling kernels one by one would cost more than the
// arithmetic. The mathematics is that of methods/newton/multinomial.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/multinomial_passes.hpp"
#include "sweeps/newton_step.hpp"

namespace widemargin {

// Weights, scores, dual variables and gradient of a point, padded, in place. The intercepts, if
// free, are the last row of weights and gradient.
struct MultinomialPoint {
  double* weights;
  double* scores;
  double* duals;
  double* gradient;
  bool free;
};

struct MultinomialStep {
  bool solved = false;   // whether the matrix had a factor
  double at_zero = 0.0;  // the slope along the direction
  double primal = 0.0;
  double gap = 0.0;
};

inline std::pair<double, double> multinomial_derivatives_along(const MultinomialData& data,
                                                               const double* scores,
                                                               const double* slopes, double t,
                                                               std::int64_t begin,
                                                               std::int64_t end) {
  const std::int64_t stride = data.stride();
  std::vector<double> moved(static_cast<std::size_t>(tile_height * stride)), shares(moved);
  double first = 0.0, second = 0.0;
  for_tiles(begin, end, [&](std::int64_t i, std::int64_t count) {
    const auto [slope, curvature] = multinomial_derivatives(
        data, scores + i * stride, slopes + i * stride, t, i, count, moved.data(), shares.data());
    first += slope;
    second += curvature;
  });
  return {first, second};
}

inline double multinomial_all_terms(const MultinomialData& data, const double* scores,
                                    double* duals, std::int64_t begin, std::int64_t end) {
  const std::int64_t stride = data.stride();
  double total = 0.0;
  for_tiles(begin, end, [&](std::int64_t i, std::int64_t count) {
    total += multinomial_terms(data, scores + i * stride, i, count, duals + i * stride);
  });
  return total;
}

// I + sum_i (diag(A_i) - A_i A_i' / c_i) x x', the intercept's 1 in x if it is free; classes are
// the outer index. The lower triangle alone.
template <class Rows>
std::vector<double> multinomial_matrix(const Rows& rows, const MultinomialData& data,
                                       const double* duals, bool free) {
  const std::int64_t k = data.classes, stride = data.stride(), d = data.features;
  const std::int64_t width = d + free, side = k * width;
  std::vector<double> matrix(static_cast<std::size_t>(side * side), 0.0);
  std::vector<double> x(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < rows.count; ++i) {
    if (!(data.cost[i] > 0.0)) continue;
    std::fill(x.begin(), x.end(), 0.0);
    rows.axpy(i, 1.0, x.data());
    if (free) x[d] = 1.0;
    const double* a = duals + i * stride;
    for (std::int64_t j = 0; j < k; ++j) {
      for (std::int64_t l = 0; l <= j; ++l) {
        const double h = (j == l ? a[j] : 0.0) - a[j] * a[l] / data.cost[i];
        for (std::int64_t p = 0; p < width; ++p) {
          double* line = matrix.data() + (j * width + p) * side + l * width;
          const double scale = h * x[p];
          for (std::int64_t q = 0; q < width; ++q) line[q] += scale * x[q];
        }
      }
    }
  }
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t p = 0; p < d; ++p) matrix[(j * width + p) * (side + 1)] += 1.0;
    // A shift common to all intercepts has no curvature, and no gradient either.
    if (free) {
      double& last = matrix[(j * width + d) * (side + 1)];
      last += 1e-10 * (1.0 + last);
    }
  }
  return matrix;
}

// The residual of dual variables, sum_i (c_i e_y - A_i).
inline std::vector<double> multinomial_residual(const MultinomialData& data, const double* duals,
                                                std::int64_t examples) {
  const std::int64_t stride = data.stride();
  std::vector<double> residual(static_cast<std::size_t>(stride), 0.0), unread(residual);
  for (std::int64_t i = 0; i < examples; ++i) {
    multinomial_coefficients(duals + i * stride, data.label[i], stride, unread.data(),
                             residual.data());
  }
  return residual;
}

// Brings the intercepts to their best for given weights by up to three Newton steps, until what is
// left of their slopes is below `enough` of the losses. Returns the losses.
inline double multinomial_intercepts(const MultinomialData& data, MultinomialPoint at,
                                     std::int64_t examples, double losses, double enough) {
  constexpr int most_rounds = 3;
  constexpr double farthest = 4.0;
  const std::int64_t k = data.classes, stride = data.stride();
  double* b = at.weights + data.features * stride;
  std::vector<double> scores(static_cast<std::size_t>(examples * stride)), duals(scores);
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<double> residual = multinomial_residual(data, at.duals, examples);
    double size = 0.0;
    for (std::int64_t j = 0; j < k; ++j) size += std::abs(residual[j]);
    const auto [low, high] = std::minmax_element(b, b + k);
    if (size * (1.0 + *high - *low) <= enough * losses) break;

    std::vector<double> matrix(static_cast<std::size_t>(k * k), 0.0);
    double mass = 0.0;
    for (std::int64_t i = 0; i < examples; ++i) {
      const double* a = at.duals + i * stride;
      const double inverse = data.cost[i] > 0.0 ? 1.0 / data.cost[i] : 0.0;
      for (std::int64_t j = 0; j < k; ++j) {
        mass += a[j];
        matrix[j * (k + 1)] += a[j];
        for (std::int64_t l = 0; l <= j; ++l) matrix[j * k + l] -= a[j] * a[l] * inverse;
      }
    }
    for (double& entry : matrix) entry += mass / static_cast<double>(k * k);
    std::vector<double> change(residual.begin(), residual.begin() + k);
    if (!solve_small(matrix, change, k)) break;
    double mean = 0.0, longest = 0.0;
    for (double v : change) mean += v / static_cast<double>(k);
    for (double v : change) longest = std::max(longest, std::abs(v));
    const double scale = longest > farthest ? farthest / longest : 1.0;
    for (double& v : change) v = scale * (v - mean);
    for (std::int64_t i = 0; i < examples; ++i) {
      for (std::int64_t j = 0; j < stride; ++j) {
        scores[i * stride + j] = at.scores[i * stride + j] + (j < k ? change[j] : 0.0);
      }
    }
    const double fresh = multinomial_all_terms(data, scores.data(), duals.data(), 0, examples);
    if (!(fresh <= losses)) break;
    losses = fresh;
    std::copy(scores.begin(), scores.end(), at.scores);
    std::copy(duals.begin(), duals.end(), at.duals);
    for (std::int64_t j = 0; j < k; ++j) b[j] += change[j];
  }
  return losses;
}

// Newton's step from a point whose dual variables and gradient are known; they are those of the new
// point afterwards. `enough` is that of the intercepts.
template <class Rows>
MultinomialStep multinomial_newton_step(const Rows& rows, const MultinomialData& data,
                                        MultinomialPoint at, double enough) {
  const std::int64_t k = data.classes, stride = data.stride(), d = data.features;
  const std::int64_t width = d + at.free, n = rows.count;
  MultinomialStep report;

  // 1) direction, and the scores along it
  std::vector<double> matrix = multinomial_matrix(rows, data, at.duals, at.free);
  std::vector<double> flat(static_cast<std::size_t>(k * width));
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t p = 0; p < width; ++p) flat[j * width + p] = -at.gradient[p * stride + j];
  }
  report.solved = solve_small(matrix, flat, k * width);
  if (!report.solved) return report;
  std::vector<double> direction(static_cast<std::size_t>((d + 1) * stride), 0.0);
  double wd = 0.0, dd = 0.0;
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t p = 0; p < width; ++p) {
      const double v = direction[p * stride + j] = flat[j * width + p];
      report.at_zero += at.gradient[p * stride + j] * v;
      wd += p < d ? at.weights[p * stride + j] * v : 0.0;
      dd += p < d ? v * v : 0.0;
    }
  }

  // 2) line search and move
  if (report.at_zero < 0.0) {
    std::vector<double> slopes(static_cast<std::size_t>(n * stride));
    multinomial_scores(rows, data, direction.data(), direction.data() + d * stride, slopes.data(),
                       0, n);
    const double step = exact_step(wd, dd, report.at_zero, [&](double t) {
      const auto [first, second] =
          multinomial_derivatives_along(data, at.scores, slopes.data(), t, 0, n);
      return TwoSums{first, second};
    });
    for (std::int64_t p = 0; p < width * stride; ++p) at.weights[p] += step * direction[p];
    for (std::int64_t p = 0; p < n * stride; ++p) at.scores[p] += step * slopes[p];
  }

  // 3) dual variables, gradient and gap at the new point
  double losses = multinomial_all_terms(data, at.scores, at.duals, 0, n);
  if (at.free) losses = multinomial_intercepts(data, at, n, losses, enough);
  std::vector<double> combination(static_cast<std::size_t>(d * stride), 0.0);
  std::vector<double> residual(static_cast<std::size_t>(stride), 0.0);
  multinomial_combine(rows, data, at.duals, combination.data(), residual.data(), 0, n);
  double squared = 0.0, distance = 0.0, left = 0.0;
  for (std::int64_t p = 0; p < d * stride; ++p) {
    at.gradient[p] = at.weights[p] - combination[p];
    squared += at.weights[p] * at.weights[p];
    distance += at.gradient[p] * at.gradient[p];
  }
  for (std::int64_t j = 0; at.free && j < stride; ++j) {
    at.gradient[d * stride + j] = -residual[j];
    left += residual[j] * at.weights[d * stride + j];
  }
  report.primal = 0.5 * squared + losses;
  report.gap = 0.5 * distance + std::abs(left);
  return report;
}

}  // namespace widemargin
