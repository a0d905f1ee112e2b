// Dense rows in C order: a view, never a copy.
#pragma once

#include <cstdint>

#include "kernels/chains.hpp"
#include "kernels/vectors.hpp"
#include "rows/prefetch.hpp"
#include "rows/turns.hpp"

namespace widemargin {

// Sum of products in double. Four vectors of running sums keep as many additions under way, also at
// the end of a row, without being allowed to reorder them (-ffast-math stays off).
template <class T>
inline double dot_dense(const T* values, const double* weights, std::int64_t count) {
  constexpr int many = 4;
  FourDoubles sums[many] = {all_four(0.0), all_four(0.0), all_four(0.0), all_four(0.0)};
  std::int64_t j = 0;
  for (; j + many * vector_length <= count; j += many * vector_length) {
    for (int chain = 0; chain < many; ++chain) {
      const std::int64_t at = j + chain * vector_length;
      sums[chain] += load_four(values + at) * load_four(weights + at);
    }
  }
  // One by one: a sum that is chosen by a number does not stay in a register.
  const std::int64_t left = (count - j) / vector_length;
  for (int chain = 0; chain < many - 1; ++chain) {
    if (chain >= left) break;
    sums[chain] += load_four(values + j) * load_four(weights + j);
    j += vector_length;
  }
  double total = 0.0;
  for (; j < count; ++j) {
    total += static_cast<double>(values[j]) * weights[j];
  }
  return total + sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// weights += scale * values
template <class T>
inline void axpy_dense(double scale, const T* values, double* weights, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) {
    weights[j] += scale * static_cast<double>(values[j]);
  }
}

// start + ||values||^2
template <class T>
inline double dense_square(const T* values, std::int64_t count, double start) {
  auto square = [values](std::int64_t j) {
    return static_cast<double>(values[j]) * static_cast<double>(values[j]);
  };
  return sum_in_chains(count, square, start);
}

// ||values||^2 of many values, as dot_dense adds them up.
template <class T>
inline double long_square(const T* values, std::int64_t count) {
  constexpr int many = 4;
  FourDoubles sums[many] = {all_four(0.0), all_four(0.0), all_four(0.0), all_four(0.0)};
  std::int64_t j = 0;
  for (; j + many * vector_length <= count; j += many * vector_length) {
    for (int chain = 0; chain < many; ++chain) {
      const FourDoubles four = load_four(values + j + chain * vector_length);
      sums[chain] += four * four;
    }
  }
  return dense_square(values + j, count - j, sum_of((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

// An extra constant feature `bias` may be thought of as appended to every row (a penalised
// intercept); it is zero when there is none, and then weights[width] is not read.
template <class T>
struct DenseRows {
  using value_type = T;
  static constexpr bool is_dense = true;

  const T* values = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 0;
  std::int64_t stride = 0;
  double bias = 0.0;
  const std::int64_t* subset = nullptr;  // row i of this view is row subset[i] of the matrix

  const T* row(std::int64_t i) const { return values + (subset ? subset[i] : i) * stride; }
  const T* whole_row(std::int64_t i) const { return row(i); }
  std::int64_t nonzeros(std::int64_t) const { return width; }
  std::int64_t total_nonzeros() const { return count * width; }

  // Whether the rows lie one after the other, with nothing in between; where row i begins then.
  bool is_seamless() const { return subset == nullptr && stride == width; }
  std::int64_t begin_of(std::int64_t i) const { return i * width; }

  double dot(std::int64_t i, const double* weights) const {
    const double sum = dot_dense(row(i), weights, width);
    return bias == 0.0 ? sum : sum + bias * weights[width];
  }

  void axpy(std::int64_t i, double scale, double* weights) const {
    axpy_dense(scale, row(i), weights, width);
    if (bias != 0.0) {
      weights[width] += scale * bias;
    }
  }

  double squared_norm(std::int64_t i) const { return dense_square(row(i), width, bias * bias); }

  template <class Visit>
  void for_each(std::int64_t i, Visit&& visit) const {
    const T* x = row(i);
    for (std::int64_t j = 0; j < width; ++j) {
      visit(j, static_cast<double>(x[j]));
    }
    if (bias != 0.0) {
      visit(width, bias);
    }
  }

  // As for_each, telling each visit which of several running sums it may add to: 0, 1, ... in turn.
  template <int Turns, class Visit>
  void for_each_in_turns(std::int64_t i, Visit&& visit) const {
    const T* x = row(i);
    std::int64_t j = 0;
    for (; j + Turns <= width; j += Turns) {
      take_turns<Turns>(
          [&](auto turn) { visit(turn, j + turn, static_cast<double>(x[j + turn])); });
    }
    for (; j < width; ++j) {
      visit(first_turn, j, static_cast<double>(x[j]));
    }
    if (bias != 0.0) {
      visit(first_turn, width, bias);
    }
  }

  // Asks for the start of a row that will be needed soon; the hardware follows from there.
  WIDEMARGIN_INLINE void prefetch(std::int64_t i) const {
    const char* start = reinterpret_cast<const char*>(row(i));
    const std::int64_t bytes = width * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t offset = 0; offset < bytes && offset < 256; offset += 64) {
      prefetch_line(start + offset);
    }
  }
  void prefetch_pointers(std::int64_t) const {}
};

}  // namespace widemargin
