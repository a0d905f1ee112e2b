// Products of several rows at a time with the weights of all classes. Weights lie class by class
// within a feature, as in class_products.hpp. Dense rows are taken a few at a time, so that a
// weight that was read serves all of them; sparse rows have nothing to share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/class_products.hpp"

namespace widemargin {

constexpr int tile_height = 4;  // rows

// out[r * stride] = start + W x_r over `pieces` times four classes, for `height` dense rows.
template <int pieces, int height, class T>
void tile_scores_of_piece(const T* const* rows, std::int64_t width, double bias,
                          const double* weights, std::int64_t stride, const double* start,
                          double* out) {
  FourDoubles sums[height][pieces];
  for (int p = 0; p < pieces; ++p) {
    const FourDoubles first = load_four(start + p * vector_length);
    for (int r = 0; r < height; ++r) sums[r][p] = first;
  }
  for (std::int64_t f = 0; f < width; ++f) {
    FourDoubles w[pieces];
    for (int p = 0; p < pieces; ++p) w[p] = load_four(weights + f * stride + p * vector_length);
    for (int r = 0; r < height; ++r) {
      const FourDoubles v = all_four(static_cast<double>(rows[r][f]));
      for (int p = 0; p < pieces; ++p) sums[r][p] = sums[r][p] + v * w[p];
    }
  }
  if (bias != 0.0) {
    const FourDoubles v = all_four(bias);
    for (int p = 0; p < pieces; ++p) {
      const FourDoubles w = load_four(weights + width * stride + p * vector_length);
      for (int r = 0; r < height; ++r) sums[r][p] = sums[r][p] + v * w;
    }
  }
  for (int r = 0; r < height; ++r) {
    for (int p = 0; p < pieces; ++p) store_four(out + r * stride + p * vector_length, sums[r][p]);
  }
}

// W += sum_r x_r delta_r' over `pieces` times four classes, for `height` dense rows.
template <int pieces, int height, class T>
void tile_axpy_of_piece(const T* const* rows, std::int64_t width, double bias, const double* delta,
                        double* weights, std::int64_t stride) {
  FourDoubles change[height][pieces];
  for (int r = 0; r < height; ++r) {
    for (int p = 0; p < pieces; ++p) {
      change[r][p] = load_four(delta + r * stride + p * vector_length);
    }
  }
  auto add = [&](double* w, const FourDoubles* values) {
    for (int p = 0; p < pieces; ++p) {
      FourDoubles sum = load_four(w + p * vector_length);
      for (int r = 0; r < height; ++r) sum = sum + values[r] * change[r][p];
      store_four(w + p * vector_length, sum);
    }
  };
  FourDoubles values[height];
  for (std::int64_t f = 0; f < width; ++f) {
    for (int r = 0; r < height; ++r) values[r] = all_four(static_cast<double>(rows[r][f]));
    add(weights + f * stride, values);
  }
  if (bias != 0.0) {
    for (int r = 0; r < height; ++r) values[r] = all_four(bias);
    add(weights + width * stride, values);
  }
}

// Scores of the rows [i, i + count), count <= tile_height, one after the other in `out`.
template <class Rows>
void tile_scores(const Rows& rows, std::int64_t i, std::int64_t count, const double* weights,
                 std::int64_t stride, const double* start, double* out) {
  for (std::int64_t r = 0; r < count; ++r) {
    class_scores(rows, i + r, weights, stride, start, out + r * stride);
  }
}

template <class T>
void tile_scores(const DenseRows<T>& rows, std::int64_t i, std::int64_t count,
                 const double* weights, std::int64_t stride, const double* start, double* out) {
  if (count < tile_height) {
    for (std::int64_t r = 0; r < count; ++r) {
      class_scores(rows, i + r, weights, stride, start, out + r * stride);
    }
    return;
  }
  const T* at[tile_height];
  for (int r = 0; r < tile_height; ++r) at[r] = rows.row(i + r);
  for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
    constexpr int height = pieces <= 3 ? tile_height : tile_height / 2;
    for (int r = 0; r < tile_height; r += height) {
      tile_scores_of_piece<pieces, height>(at + r, rows.width, rows.bias, weights + first, stride,
                                           start + first, out + r * stride + first);
    }
  });
}

// W += sum over the rows [i, i + count) of x_r delta_r'.
template <class Rows>
void tile_axpy(const Rows& rows, std::int64_t i, std::int64_t count, const double* delta,
               double* weights, std::int64_t stride) {
  for (std::int64_t r = 0; r < count; ++r) {
    class_axpy(rows, i + r, delta + r * stride, weights, stride);
  }
}

template <class T>
void tile_axpy(const DenseRows<T>& rows, std::int64_t i, std::int64_t count, const double* delta,
               double* weights, std::int64_t stride) {
  if (count < tile_height) {
    for (std::int64_t r = 0; r < count; ++r) {
      class_axpy(rows, i + r, delta + r * stride, weights, stride);
    }
    return;
  }
  const T* at[tile_height];
  for (int r = 0; r < tile_height; ++r) at[r] = rows.row(i + r);
  for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
    constexpr int height = pieces <= 3 ? tile_height : tile_height / 2;
    for (int r = 0; r < tile_height; r += height) {
      tile_axpy_of_piece<pieces, height>(at + r, rows.width, rows.bias, delta + r * stride + first,
                                         weights + first, stride);
    }
  });
}

// Calls visit(i, count) for runs of at most `tile_height` rows.
template <class Visit>
void for_tiles(std::int64_t begin, std::int64_t end, Visit&& visit) {
  for (std::int64_t i = begin; i < end; i += tile_height) {
    visit(i, std::min<std::int64_t>(tile_height, end - i));
  }
}

}  // namespace widemargin
