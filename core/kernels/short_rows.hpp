// Products with sparse rows that are short and of uneven length. Where a row ends is then what the
// processor foresees wrongly, once a row and product, and that costs more than the row itself. So
// loops run over the stored values of many rows, and every row's share of them has a fixed number
// of steps. Bits are those of row after row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/vectors.hpp"

namespace widemargin {

// Values of a short row on average, and the steps of four that every row takes.
constexpr std::int64_t short_row = 16;
constexpr std::int64_t short_steps = short_row / vector_length;
// Values that loops run over at a time: they stay in the first-level cache.
constexpr std::int64_t short_block = 1024;
// Rows whose scores are computed before they are added up: they stay in the second-level cache.
constexpr std::int64_t short_group = 512;
// Rows that tell whether lengths are uneven, and how many rows there have to be.
constexpr std::int64_t rows_that_tell = 256, fewest_rows = 64;

// Whether the rows [begin, end) are short and most have another length than the one before. GCC
// adds up rows with wide indices in another order than theirs below, so they are left alone.
template <class Rows>
bool are_short_and_uneven(const Rows& rows, std::int64_t begin, std::int64_t end) {
  if constexpr (Rows::is_dense) {
    return false;
  } else if constexpr (sizeof(typename Rows::index_type) > sizeof(std::int32_t)) {
    return false;
  } else {
    const std::int64_t count = end - begin;
    if (!rows.is_seamless() || count < fewest_rows) return false;
    if (rows.begin_of(end) - rows.begin_of(begin) > short_row * count) return false;
    const std::int64_t told = std::min(count, rows_that_tell);
    std::int64_t changes = 0;
    for (std::int64_t i = begin + 1; i < begin + told; ++i) {
      changes += rows.nonzeros(i) != rows.nonzeros(i - 1) ? 1 : 0;
    }
    return 2 * changes > told;
  }
}

// The product of values with gathered weights, in the order of `CsrRows::dot`. Reads up to
// short_row + 4 numbers of both, whatever the length.
template <class T>
WIDEMARGIN_INLINE double short_dot(const T* values, const double* gathered, std::int64_t length) {
  const std::int64_t whole = length & ~std::int64_t{3};
  FourDoubles sums = all_four(0.0);
  for (std::int64_t k = 0; k < short_steps; ++k) {
    const std::int64_t at = k * vector_length;
    sums += first_of(load_four(values + at), whole - at) *
            first_of(load_four(gathered + at), whole - at);
  }
  for (std::int64_t at = short_row; at < whole; at += vector_length) {
    sums += load_four(values + at) * load_four(gathered + at);
  }
  const FourDoubles x = first_of(load_four(values + whole), length - whole);
  const FourDoubles w = first_of(load_four(gathered + whole), length - whole);
  double first = sums[0];
  first += x[0] * w[0];
  first += x[1] * w[1];
  first += x[2] * w[2];
  return (first + sums[1]) + (sums[2] + sums[3]);
}

// out[i - begin] = x_i . weights, for rows without gaps.
template <class Rows>
void short_scores(const Rows& rows, const double* weights, double* out, std::int64_t begin,
                  std::int64_t end) {
  constexpr std::int64_t beyond = short_row + vector_length;
  double gathered[short_block + beyond];
  const std::int64_t stored = rows.begin_of(end);
  std::int64_t i = begin;
  while (i < end) {
    const std::int64_t from = rows.begin_of(i);
    std::int64_t stop = i;
    while (stop < end && rows.begin_of(stop + 1) - from <= short_block) ++stop;
    const auto* at = rows.indices + from;
    const std::int64_t length = rows.begin_of(stop) - from;
    for (std::int64_t k = 0; k < length; ++k) gathered[k] = weights[at[k]];
    std::fill_n(gathered + length, beyond, 0.0);
    for (std::int64_t row = i; row < stop; ++row) {
      const std::int64_t first = rows.begin_of(row);
      if (first + beyond > stored || rows.whole_row(row) != nullptr) {
        out[row - begin] = rows.dot(row, weights);  // nothing is read behind the last value
        continue;
      }
      const double sum =
          short_dot(rows.values + first, gathered + (first - from), rows.nonzeros(row));
      out[row - begin] = rows.bias == 0.0 ? sum : sum + rows.bias * weights[rows.width];
    }
    if (stop == i) {
      out[i - begin] = rows.dot(i, weights);
      ++stop;
    }
    i = stop;
  }
}

// sum += scale x_i, or scale x_i^2, of short rows without the constant feature: those that follow
// each other are taken together.
template <class Rows, bool Squares>
class ShortRun {
 public:
  WIDEMARGIN_INLINE void add(const Rows& rows, std::int64_t i, double scale, double* sum) {
    const std::int64_t begin = rows.begin_of(i), length = rows.begin_of(i + 1) - begin;
    if (begin != first_ + filled_ || filled_ + length > short_block) [[unlikely]] {
      finish(rows, sum);
      first_ = begin;
      if (length > short_block) {
        for (std::int64_t k = begin; k < begin + length; ++k) {
          const double v = static_cast<double>(rows.values[k]);
          sum[rows.indices[k]] += Squares ? scale * v * v : scale * v;
        }
        return;
      }
    }
    double* own = scales_ + filled_;
    std::int64_t k = 0;
    do {
      for (std::int64_t step = 0; step < short_row; ++step) own[k + step] = scale;
      k += short_row;
    } while (k < length);
    filled_ += length;
  }

  void finish(const Rows& rows, double* __restrict sum) {
    const auto* values = rows.values + first_;
    const auto* at = rows.indices + first_;
    for (std::int64_t k = 0; k < filled_; ++k) {
      const double v = static_cast<double>(values[k]);
      sum[at[k]] += Squares ? scales_[k] * v * v : scales_[k] * v;
    }
    filled_ = 0;
  }

 private:
  std::int64_t first_ = 0;
  std::int64_t filled_ = 0;
  double scales_[short_block + short_row];
};

}  // namespace widemargin
