// The direction of a Newton step from products with the Hessian alone: conjugate gradients with the
// diagonal as preconditioner. linalg/conjugate_gradients.py has the same for data of any size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/products.hpp"

namespace widemargin {

struct ProductLimits {
  std::int64_t most = 0;  // products; zero: form the matrix and factorise it
  double accuracy = 0.0;  // half of the squared residual that is small enough
};

// Whether a direction is as exact as it needs to be: NewtonAccuracy of
// linalg/conjugate_gradients.py, with the _FAR of methods/newton/_system.py.
struct DirectionAccuracy {
  static constexpr double far = 500.0, far_enough = 0.01, lost = 1e-6;
  double accuracy, start;

  // `promised` is the decrease of a step, `squared` and `scaled` are r.r and r.M^-1 r.
  bool enough(double promised, double squared, double scaled) const {
    if (promised > far * accuracy) return scaled <= far_enough * std::max(promised, start);
    return 0.5 * std::max(squared, scaled) <= accuracy || scaled <= lost * start;
  }
};

// The matrix I + sum_i h_i x_i x_i' of a Newton step. A free intercept, which has no penalty, is
// eliminated: its equation is solved exactly whatever the weights are, so that the dual point of a
// step keeps its constraint. What is left is I + sum_i h_i (x_i - m)(x_i - m)', with the mean m
// under the weights h. methods/newton/_system.py has the same.
template <class Rows>
class Hessian {
 public:
  double total = 0.0;           // sum of h_i, never zero
  std::vector<double> mean;     // empty without a free intercept
  std::vector<double> inverse;  // 1 / the diagonal

  Hessian(const Rows& rows, const double* curvature, std::int64_t count, bool free,
          std::size_t weights)
      : inverse(weights, 1.0), rows_(rows), curvature_(curvature), count_(count) {
    curvature_diagonal(rows, curvature, inverse.data(), 0, count);
    if (free) {
      mean.assign(weights, 0.0);
      for (std::int64_t i = 0; i < count; ++i) {
        total += curvature[i];
        if (curvature[i] != 0.0) rows.axpy(i, curvature[i], mean.data());
      }
      // Where no example has curvature the intercept has none either: LIFT of linalg/cholesky.py.
      total += 1e-10 * (1.0 + total);
      for (std::size_t j = 0; j < weights; ++j) {
        mean[j] /= total;
        // Rounding may leave less than the penalty of the difference of two large sums.
        inverse[j] = std::max(inverse[j] - total * mean[j] * mean[j], 1.0);
      }
    }
    for (double& value : inverse) value = 1.0 / value;
  }

  void product(const std::vector<double>& in, std::vector<double>& out) const {
    std::copy(in.begin(), in.end(), out.begin());
    const double share =
        curvature_product(rows_, curvature_, in.data(), 0.0, out.data(), 0, count_);
    for (std::size_t j = 0; j < mean.size(); ++j) out[j] -= share * mean[j];
  }

 private:
  const Rows& rows_;
  const double* curvature_;
  std::int64_t count_;
};

struct ProductSolution {
  std::vector<double> direction, residual;  // with the intercept's, if it is free
  std::int64_t products = 0;
};

// Solves for the right-hand side `right`, which has the intercept's equation last if it is free.
template <class Rows>
ProductSolution solve_by_products(const Rows& rows, const double* curvature, std::int64_t count,
                                  bool free, const ProductLimits& limits,
                                  const std::vector<double>& right) {
  const std::size_t weights = right.size() - (free ? 1 : 0);
  const Hessian hessian(rows, curvature, count, free, weights);
  const std::vector<double>& inverse = hessian.inverse;
  std::vector<double> x(weights, 0.0), r(right.begin(), right.begin() + weights);
  std::vector<double> direction(weights), image(weights);
  for (std::size_t j = 0; j < hessian.mean.size(); ++j) r[j] -= right.back() * hessian.mean[j];
  double scaled = 0.0;
  for (std::size_t j = 0; j < weights; ++j) {
    direction[j] = inverse[j] * r[j];
    scaled += r[j] * direction[j];
  }
  const DirectionAccuracy accuracy{limits.accuracy, scaled};
  double promised = 0.0;  // the right-hand side times the solution
  std::int64_t products = 0;
  bool done = !(scaled > 0.0);
  if (!std::isfinite(scaled)) products = limits.most;  // nothing can be solved
  while (!done && products < limits.most) {
    ++products;
    hessian.product(direction, image);
    double bend = 0.0;
    for (std::size_t j = 0; j < weights; ++j) bend += direction[j] * image[j];
    if (!(bend > 0.0)) break;  // no curvature along it: nothing to gain any more
    const double length = scaled / bend;
    promised += length * scaled;  // r.M^-1 r is also the right-hand side times the direction
    double squared = 0.0, fresh = 0.0;
    for (std::size_t j = 0; j < weights; ++j) {
      x[j] += length * direction[j];
      r[j] -= length * image[j];
      image[j] = inverse[j] * r[j];
      squared += r[j] * r[j];
      fresh += r[j] * image[j];
    }
    done = accuracy.enough(promised, squared, fresh) || !(fresh > 0.0);
    const double turn = fresh / scaled;
    for (std::size_t j = 0; j < weights; ++j) direction[j] = image[j] + turn * direction[j];
    scaled = fresh;
  }
  if (free) {
    double along = 0.0;
    for (std::size_t j = 0; j < weights; ++j) along += hessian.mean[j] * x[j];
    x.push_back(right.back() / hessian.total - along);
    r.push_back(0.0);
  }
  return {std::move(x), std::move(r), products};
}

}  // namespace widemargin
