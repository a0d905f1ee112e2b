// One whole Newton step on a small problem in one call: where a step takes microseconds, calling
// kernels one by one would cost more than the arithmetic. The mathematics is that of
// methods/newton/newton.py: gradient, factorised Hessian, exact line search, linearised dual point.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/gram.hpp"
#include "kernels/products.hpp"
#include "losses/sums.hpp"

namespace widemargin {

// Solves A x = right for a small positive definite matrix (row major, destroyed); false if it is
// not positive definite.
inline bool solve_small(std::vector<double>& a, std::vector<double>& right, std::int64_t side) {
  for (std::int64_t j = 0; j < side; ++j) {
    double pivot = a[j * side + j];
    for (std::int64_t k = 0; k < j; ++k) pivot -= a[j * side + k] * a[j * side + k];
    if (!(pivot > 0.0)) return false;
    const double root = std::sqrt(pivot);
    a[j * side + j] = root;
    for (std::int64_t i = j + 1; i < side; ++i) {
      double sum = a[i * side + j];
      for (std::int64_t k = 0; k < j; ++k) sum -= a[i * side + k] * a[j * side + k];
      a[i * side + j] = sum / root;
    }
  }
  for (std::int64_t i = 0; i < side; ++i) {
    for (std::int64_t k = 0; k < i; ++k) right[i] -= a[i * side + k] * right[k];
    right[i] /= a[i * side + i];
  }
  for (std::int64_t i = side - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < side; ++k) right[i] -= a[k * side + i] * right[k];
    right[i] /= a[i * side + i];
  }
  return true;
}

struct NewtonReport {
  double b = 0.0;
  double primal = 0.0;
  double gap = std::numeric_limits<double>::infinity();
  std::int64_t active = 0;
  bool moved = false;
};

// Updates w, scores and alpha in place.
template <class Loss, class Rows>
NewtonReport newton_step(const Rows& rows, const Examples& data, bool free, double* w, double b,
                         double* scores_at, double* alpha) {
  const auto [y, cost, n] = data;
  const std::int64_t weights = rows.width + (rows.bias != 0.0);
  const std::int64_t side = weights + (free ? 1 : 0);
  NewtonReport report;
  report.b = b;

  // 1) gradient and curvature
  std::vector<double> curvature(n), slopes(n), direction(side, 0.0);
  loss_terms<Loss>(data, scores_at, b, alpha, curvature.data());
  double balance = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    balance += alpha[i] * y[i];
    report.active += curvature[i] != 0.0;
  }
  accumulate(rows, alpha, y, direction.data(), 0, n);
  for (std::int64_t j = 0; j < weights; ++j) direction[j] -= w[j];
  if (free) direction[weights] = balance;
  const std::vector<double> descent = direction;  // minus the gradient

  // 2) direction
  std::vector<double> matrix(side * side, 0.0);
  gram(rows, curvature.data(), free, side, matrix.data(), 0, n);
  symmetrise(matrix.data(), side);
  for (std::int64_t j = 0; j < weights; ++j) matrix[j * side + j] += 1.0;
  if (free) matrix[side * side - 1] += 1e-10 * (1.0 + matrix[side * side - 1]);
  if (!solve_small(matrix, direction, side)) return report;
  const double direction_b = free ? direction[weights] : 0.0;
  scores(rows, direction.data(), slopes.data(), 0, n);

  // 3) line search
  double at_zero = 0.0, wd = 0.0, dd = 0.0;
  for (std::int64_t j = 0; j < side; ++j) at_zero -= descent[j] * direction[j];
  for (std::int64_t j = 0; j < weights; ++j) {
    wd += w[j] * direction[j];
    dd += direction[j] * direction[j];
  }
  if (!(at_zero < 0.0)) return report;
  double low = 0.0, high = std::numeric_limits<double>::infinity(), t = 1.0;
  for (int round = 0; round < 40; ++round) {
    const TwoSums d =
        derivatives_along<Loss>(data, Line{scores_at, b, slopes.data(), direction_b}, t);
    const double first = d.first + wd + t * dd, second = d.second + dd;
    if (std::abs(first) <= 0.1 * std::abs(at_zero)) break;
    (first > 0.0 ? high : low) = t;
    t = second > 0.0 ? t - first / second : high;
    if (!(t > low && t < high)) t = std::isfinite(high) ? 0.5 * (low + high) : 2.0 * low;
  }
  report.moved = true;
  report.b = b + t * direction_b;
  std::vector<double> image(w, w + weights);
  double squared = 0.0;
  for (std::int64_t j = 0; j < weights; ++j) {
    image[j] += direction[j];
    w[j] += t * direction[j];
    squared += w[j] * w[j];
  }
  for (std::int64_t i = 0; i < n; ++i) scores_at[i] += t * slopes[i];
  report.primal = 0.5 * squared + loss_sum<Loss>(data, scores_at, report.b);

  // 4) the dual point of the linearised conditions: exactly w(alpha) = w + p but for the clipping
  for (std::int64_t i = 0; i < n; ++i) {
    const double linear = alpha[i] - curvature[i] * y[i] * (slopes[i] + direction_b);
    alpha[i] = cost[i] > 0.0 ? Loss::clip(linear, cost[i]) : 0.0;
    if (alpha[i] != linear) rows.axpy(i, (alpha[i] - linear) * y[i], image.data());
  }
  double image_squared = 0.0;
  for (double v : image) image_squared += v * v;
  report.gap = std::abs(report.primal - (dual_sum<Loss>(alpha, cost, n) - 0.5 * image_squared));
  return report;
}

}  // namespace widemargin
