// Passes over the rows of a multinomial problem: scores, gradients and Hessian products of all
// classes, each with one read of the rows [begin, end).
#pragma once

#include <vector>

#include "losses/multinomial.hpp"

namespace widemargin {

// out = start + W x_i
template <class Rows>
void multinomial_scores(const Rows& rows, const MultinomialData& data, const double* weights,
                        const double* start, double* out, std::int64_t begin, std::int64_t end) {
  const std::int64_t stride = data.stride();
  for_tiles(begin, end, [&](std::int64_t i, std::int64_t count) {
    tile_scores(rows, i, count, weights, stride, start, out + i * stride);
  });
}

// out = c e_y - A. What its own class lacks to c is what the others have: exact where c - A_y would
// cancel.
inline void multinomial_coefficients(const double* duals, std::int32_t y, std::int64_t stride,
                                     double* out, double* residual) {
  for (std::int64_t j = 0; j < stride; ++j) out[j] = -duals[j];
  out[y] = 0.0;
  out[y] = -sum_of_fours(out, stride);
  for (std::int64_t j = 0; j < stride; ++j) residual[j] += out[j];
}

// combination += sum_i x_i a_i' and residual += sum_i a_i with a_i = c_i e_y - A_i.
template <class Rows>
void multinomial_combine(const Rows& rows, const MultinomialData& data, const double* duals,
                         double* combination, double* residual, std::int64_t begin,
                         std::int64_t end) {
  const std::int64_t stride = data.stride();
  std::vector<double> tile(static_cast<std::size_t>(tile_height * stride));
  for_tiles(begin, end, [&](std::int64_t i, std::int64_t count) {
    for (std::int64_t r = 0; r < count; ++r) {
      multinomial_coefficients(duals + (i + r) * stride, data.label[i + r], stride,
                               tile.data() + r * stride, residual);
    }
    tile_axpy(rows, i, count, tile.data(), combination, stride);
  });
}

// The same, and the sum of the losses at any weights.
template <class Rows>
double multinomial_losses(const Rows& rows, const MultinomialData& data, const double* weights,
                          const double* start, const double* duals, double* combination,
                          double* residual, std::int64_t begin, std::int64_t end) {
  const std::int64_t stride = data.stride();
  std::vector<double> tile(static_cast<std::size_t>(tile_height * stride)), shares(tile);
  double total = 0.0;
  for_tiles(begin, end, [&](std::int64_t i, std::int64_t count) {
    tile_scores(rows, i, count, weights, stride, start, tile.data());
    total += multinomial_terms(data, tile.data(), i, count, shares.data());
    for (std::int64_t r = 0; r < count; ++r) {
      multinomial_coefficients(duals + (i + r) * stride, data.label[i + r], stride,
                               tile.data() + r * stride, residual);
    }
    tile_axpy(rows, i, count, tile.data(), combination, stride);
  });
  return total;
}

// image += sum_i x_i u_i' and share += sum_i u_i, with u_i = (diag(A_i) - A_i A_i' / c_i) (start +
// P x_i): the Hessian of the losses times a direction P.
template <class Rows>
void multinomial_product(const Rows& rows, const MultinomialData& data, const double* duals,
                         const double* direction, const double* start, double* image, double* share,
                         std::int64_t begin, std::int64_t end) {
  const std::int64_t stride = data.stride();
  std::vector<double> tile(static_cast<std::size_t>(tile_height * stride));
  for_tiles(begin, end, [&](std::int64_t i, std::int64_t count) {
    tile_scores(rows, i, count, direction, stride, start, tile.data());
    for (std::int64_t r = 0; r < count; ++r) {
      double* slopes = tile.data() + r * stride;
      multinomial_curvature(duals + (i + r) * stride, slopes, data.cost[i + r], stride, slopes);
      for (std::int64_t j = 0; j < stride; ++j) share[j] += slopes[j];
    }
    tile_axpy(rows, i, count, tile.data(), image, stride);
  });
}

}  // namespace widemargin
