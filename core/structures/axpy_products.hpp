// A change of weights by one row, with its product with the weights that were there.
#pragma once

#include <cstdint>

#include "kernels/class_tiles.hpp"

namespace widemargin {

// W += x_i delta' over `pieces` times four classes; returns the product of the change with the
// weights that were there.
template <int pieces, class Rows>
double axpy_and_product_of_piece(const Rows& rows, std::int64_t i, const double* delta,
                                 double* weights, std::int64_t stride) {
  const auto row = entries_of(rows, i);
  FourDoubles change[pieces], products[pieces];
  for (int p = 0; p < pieces; ++p) {
    change[p] = load_four(delta + p * vector_length);
    products[p] = all_four(0.0);
  }
  auto add = [&](double* w, double value) {
    const FourDoubles v = all_four(value);
    for (int p = 0; p < pieces; ++p) {
      const FourDoubles old = load_four(w + p * vector_length), by = v * change[p];
      products[p] = products[p] + old * by;
      store_four(w + p * vector_length, old + by);
    }
  };
  for (std::int64_t e = 0; e < row.length; ++e) add(weights + row.index(e) * stride, row.value(e));
  if (rows.bias != 0.0) add(weights + rows.width * stride, rows.bias);
  double four[vector_length];
  for (int p = 1; p < pieces; ++p) products[0] = products[0] + products[p];
  store_four(four, products[0]);
  return (four[0] + four[1]) + (four[2] + four[3]);
}

template <class Rows>
double class_axpy_and_product(const Rows& rows, std::int64_t i, const double* delta,
                              double* weights, std::int64_t stride) {
  double product = 0.0;
  for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
    product += axpy_and_product_of_piece<pieces>(rows, i, delta + first, weights + first, stride);
  });
  return product;
}

}  // namespace widemargin
