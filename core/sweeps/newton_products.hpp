// The direction of a Newton step from products with the Hessian alone: conjugate gradients with the
// diagonal as preconditioner. linalg/conjugate_gradients.py has the same for data of any size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/products.hpp"

namespace widemargin {

struct ProductLimits {
  std::int64_t most = 0;  // products; zero: form the matrix and factorise it
  double accuracy = 0.0;  // half of the squared residual that is small enough
};

// Whether a direction is as exact as it needs to be: NewtonAccuracy of
// linalg/conjugate_gradients.py.
struct DirectionAccuracy {
  static constexpr double far = 500.0, far_enough = 0.01, lost = 1e-6;
  double accuracy, start;

  // `promised` is the decrease of a step, `squared` and `scaled` are r.r and r.M^-1 r.
  bool enough(double promised, double squared, double scaled) const {
    if (promised > far * accuracy) return scaled <= far_enough * std::max(promised, start);
    return 0.5 * std::max(squared, scaled) <= accuracy || scaled <= lost * start;
  }
};

// out = (I + sum_i h_i x_i x_i') in, with the intercept's unpenalised row and column if it is free.
template <class Rows>
void hessian_product(const Rows& rows, const double* curvature, std::int64_t count, bool free,
                     const std::vector<double>& in, std::vector<double>& out) {
  const std::int64_t weights = std::ssize(in) - (free ? 1 : 0);
  std::copy_n(in.begin(), weights, out.begin());
  const double shift = free ? in[weights] : 0.0;
  const double share = curvature_product(rows, curvature, in.data(), shift, out.data(), 0, count);
  if (free) out[weights] = share;
}

// 1 / the diagonal of that matrix.
template <class Rows>
std::vector<double> inverse_diagonal(const Rows& rows, const double* curvature, std::int64_t count,
                                     bool free, std::int64_t weights) {
  std::vector<double> diagonal(static_cast<std::size_t>(weights), 1.0);
  curvature_diagonal(rows, curvature, diagonal.data(), 0, count);
  if (free) diagonal.push_back(1e-12);
  for (std::int64_t i = 0; free && i < count; ++i) diagonal.back() += curvature[i];
  for (double& value : diagonal) value = 1.0 / value;
  return diagonal;
}

// Solves it for `right`, which becomes the residual. Returns the number of products.
template <class Rows>
std::int64_t solve_by_products(const Rows& rows, const double* curvature, std::int64_t count,
                               bool free, const ProductLimits& limits, std::vector<double>& right,
                               std::vector<double>& solution) {
  const std::size_t side = right.size();
  const std::int64_t weights = std::ssize(right) - (free ? 1 : 0);
  const auto inverse = inverse_diagonal(rows, curvature, count, free, weights);
  std::vector<double> direction(side), image(side);
  solution.assign(side, 0.0);
  double scaled = 0.0;
  for (std::size_t j = 0; j < side; ++j) {
    direction[j] = inverse[j] * right[j];
    scaled += right[j] * direction[j];
  }
  const DirectionAccuracy accuracy{limits.accuracy, scaled};
  double promised = 0.0;  // the right-hand side times the solution
  std::int64_t products = 0;
  bool done = !(scaled > 0.0);
  while (!done && products < limits.most) {
    ++products;
    hessian_product(rows, curvature, count, free, direction, image);
    double bend = 0.0;
    for (std::size_t j = 0; j < side; ++j) bend += direction[j] * image[j];
    if (!(bend > 0.0)) break;  // no curvature along it: nothing to gain any more
    const double length = scaled / bend;
    promised += length * scaled;  // r.M^-1 r is also the right-hand side times the direction
    double squared = 0.0, fresh = 0.0;
    for (std::size_t j = 0; j < side; ++j) {
      solution[j] += length * direction[j];
      right[j] -= length * image[j];
      image[j] = inverse[j] * right[j];
      squared += right[j] * right[j];
      fresh += right[j] * image[j];
    }
    done = accuracy.enough(promised, squared, fresh) || !(fresh > 0.0);
    const double turn = fresh / scaled;
    for (std::size_t j = 0; j < side; ++j) direction[j] = image[j] + turn * direction[j];
    scaled = fresh;
  }
  return products;
}

}  // namespace widemargin
