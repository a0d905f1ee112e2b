// Products of the data with vectors, over the rows [begin, end); vectors over examples are full
// length and indexed by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/short_rows.hpp"
#include "kernels/vectors.hpp"
#include "rows/dense.hpp"
#include "rows/prefetch.hpp"

namespace widemargin {

// sum += sum_i scale_i x_i, or scale_i x_i^2. Dense rows are added four at a time, so that the sum
// is read and written once for all of them; in order, so that it has the bits of one by one. Rows
// are among [begin, end), and those whose entry of `scales` is zero are left out.
template <class Rows, bool Squares = false>
class RowSums {
 public:
  RowSums(const Rows& rows, double* sum, const double* scales, std::int64_t begin, std::int64_t end)
      : rows_(rows), sum_(sum), short_(are_short_and_uneven(rows, begin, end)) {
    // Few rows are seldom neighbours.
    if (short_) short_ = 2 * std::count(scales + begin, scales + end, 0.0) <= end - begin;
  }

  RowSums(const Rows& rows, double* sum) : rows_(rows), sum_(sum), short_(false) {}

  // Whether they are short rows, and most are there.
  bool are_short() const { return short_; }

  void add(std::int64_t i, double scale) {
    if constexpr (Rows::is_dense) {
      taken_[filled_] = rows_.row(i);
      scales_[filled_] = scale;
      if (++filled_ == many) add_taken();
    } else if (short_) {
      run_.add(rows_, i, scale, sum_);
      add_constant(scale);
    } else {
      add_row(i, scale);
    }
  }

  // Adds what is left.
  void finish() {
    if constexpr (Rows::is_dense) {
      for (int k = 0; k < filled_; ++k) add_line(0, k, k + 1);
      for (int k = 0; k < filled_; ++k) add_bias(k);
      filled_ = 0;
    } else {
      run_.finish(rows_, sum_);
    }
  }

 private:
  static constexpr int many = 4;
  struct Nothing {};

  void add_row(std::int64_t i, double scale) {
    if constexpr (Squares) {
      double* sum = sum_;
      rows_.for_each(i, [=](std::int64_t j, double v) { sum[j] += scale * v * v; });
    } else {
      rows_.axpy(i, scale, sum_);
    }
  }

  void add_taken() {
    std::int64_t j = 0;
    for (; j + vector_length <= rows_.width; j += vector_length) {
      FourDoubles sum = load_four(sum_ + j);
      for (int k = 0; k < many; ++k) {
        const FourDoubles x = load_four(taken_[k] + j);
        if constexpr (Squares) {
          sum += (x * scales_[k]) * x;
        } else {
          sum += x * scales_[k];
        }
      }
      store_four(sum_ + j, sum);
    }
    add_line(j, 0, many);
    for (int k = 0; k < many; ++k) add_bias(k);
    filled_ = 0;
  }

  // The columns from `begin` on, of some of the rows that were taken.
  void add_line(std::int64_t begin, int from, int to) {
    for (std::int64_t j = begin; j < rows_.width; ++j) {
      double sum = sum_[j];
      for (int k = from; k < to; ++k) {
        const double x = static_cast<double>(taken_[k][j]);
        sum += Squares ? scales_[k] * x * x : scales_[k] * x;
      }
      sum_[j] = sum;
    }
  }

  void add_bias(int k) { add_constant(scales_[k]); }

  void add_constant(double scale) {
    const double x = rows_.bias;
    if (x != 0.0) sum_[rows_.width] += Squares ? scale * x * x : scale * x;
  }

  const Rows& rows_;
  double* sum_;
  const typename Rows::value_type* taken_[many] = {};
  double scales_[many] = {};
  int filled_ = 0;
  bool short_;
  std::conditional_t<Rows::is_dense, Nothing, ShortRun<Rows, Squares>> run_;
};

// Rows that were taken from others lie anywhere: what the processor does not foresee is asked for,
// pointers first and the row itself a little later.
template <class Rows>
WIDEMARGIN_INLINE void look_ahead(const Rows& rows, std::int64_t i, std::int64_t end) {
  if (rows.subset == nullptr) return;
  if (i + 12 < end) rows.prefetch_pointers(i + 12);
  if (i + 4 < end) rows.prefetch(i + 4);
}

// scores[i] = x_i . weights
template <class Rows>
void scores(const Rows& rows, const double* weights, double* out, std::int64_t begin,
            std::int64_t end) {
  if constexpr (!Rows::is_dense) {
    if (are_short_and_uneven(rows, begin, end))
      return short_scores(rows, weights, out + begin, begin, end);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    look_ahead(rows, i, end);
    out[i] = rows.dot(i, weights);
  }
}

// sum += sum_i signs[i] coefficients[i] x_i; without signs (null) they are all one.
template <class Rows>
void accumulate(const Rows& rows, const double* coefficients, const double* signs, double* sum,
                std::int64_t begin, std::int64_t end) {
  RowSums<Rows> sums(rows, sum, coefficients, begin, end);
  for (std::int64_t i = begin; i < end; ++i) {
    look_ahead(rows, i, end);
    if (coefficients[i] != 0.0) {
      sums.add(i, signs ? signs[i] * coefficients[i] : coefficients[i]);
    }
  }
  sums.finish();
}

// sum += sum_i signs[i] (fresh[i] - old[i]) x_i; rows whose coefficient stayed cost nothing.
template <class Rows>
void accumulate_change(const Rows& rows, const double* fresh, const double* old,
                       const double* signs, double* sum, std::int64_t begin, std::int64_t end) {
  RowSums<Rows> sums(rows, sum);
  for (std::int64_t i = begin; i < end; ++i) {
    if (fresh[i] != old[i]) {
      sums.add(i, signs[i] * (fresh[i] - old[i]));
    }
  }
  sums.finish();
}

// Scores and accumulation while a row is in cache.
template <class Rows>
void scores_and_accumulate(const Rows& rows, const double* weights, double* out,
                           const double* coefficients, const double* signs, double* sum,
                           std::int64_t begin, std::int64_t end) {
  RowSums<Rows> sums(rows, sum, coefficients, begin, end);
  const auto add = [&](std::int64_t i) {
    if (coefficients[i] != 0.0) {
      sums.add(i, signs ? signs[i] * coefficients[i] : coefficients[i]);
    }
  };
  std::int64_t i = begin;
  if constexpr (!Rows::is_dense) {
    const bool short_rows = are_short_and_uneven(rows, begin, end);
    while (short_rows && i < end) {
      const std::int64_t stop = std::min(end, i + short_group);
      short_scores(rows, weights, out + i, i, stop);
      for (; i < stop; ++i) add(i);
    }
  }
  for (; i < end; ++i) {
    look_ahead(rows, i, end);
    out[i] = rows.dot(i, weights);
    add(i);
  }
  sums.finish();
}

// sum += sum_i curvature[i] (x_i . direction + shift) x_i; returns sum_i curvature[i] (...), which
// is the intercept's share of the product. Keeps x_i . direction of every row in `scores`, unless
// that is null.
template <class Rows>
double curvature_product(const Rows& rows, const double* curvature, const double* direction,
                         double shift, double* sum, std::int64_t begin, std::int64_t end,
                         double* scores = nullptr) {
  double total = 0.0;
  RowSums<Rows> sums(rows, sum, curvature, begin, end);
  const auto add = [&](std::int64_t i, double score) {
    if (scores != nullptr) scores[i] = score;
    if (curvature[i] != 0.0) {
      const double scale = curvature[i] * (score + shift);
      total += scale;
      sums.add(i, scale);
    }
  };
  std::int64_t i = begin;
  if constexpr (!Rows::is_dense) {
    double group[short_group];
    while (sums.are_short() && i < end) {
      const std::int64_t first = i, stop = std::min(end, i + short_group);
      short_scores(rows, direction, group, first, stop);
      for (; i < stop; ++i) add(i, group[i - first]);
    }
  }
  for (; i < end; ++i) {
    look_ahead(rows, i, end);
    if (curvature[i] == 0.0 && scores == nullptr) continue;
    add(i, rows.dot(i, direction));
  }
  sums.finish();
  return total;
}

// sum_i curvature[i] x_i^2 per feature: the diagonal that preconditions conjugate gradients.
template <class Rows>
void curvature_diagonal(const Rows& rows, const double* curvature, double* sum, std::int64_t begin,
                        std::int64_t end) {
  RowSums<Rows, true> sums(rows, sum, curvature, begin, end);
  for (std::int64_t i = begin; i < end; ++i) {
    look_ahead(rows, i, end);
    if (curvature[i] != 0.0) sums.add(i, curvature[i]);
  }
  sums.finish();
}

// Not finite if any value of these rows is not, or if a norm overflows.
template <class Rows>
double total_squared_norm(const Rows& rows, std::int64_t begin, std::int64_t end) {
  if (rows.is_seamless() && begin < end) {  // short rows would end before their loops are under way
    const std::int64_t first = rows.begin_of(begin), length = rows.begin_of(end) - first;
    const double constants = static_cast<double>(end - begin) * rows.bias * rows.bias;
    return long_square(rows.values + first, length) + constants;
  }
  double total = 0.0;
  for (std::int64_t i = begin; i < end; ++i) {
    total += rows.squared_norm(i);
  }
  return total;
}

template <class Rows>
void squared_norms(const Rows& rows, double* out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    out[i] = rows.squared_norm(i);
  }
}

}  // namespace widemargin
