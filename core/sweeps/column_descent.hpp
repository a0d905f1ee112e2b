// Coordinate descent over columns on a quadratic model of the losses, with the penalty
// rho |z| + ridge/2 z^2 on every weight z.
//
// The model is  -g.(z - w) + 1/2 (z - w)^T G (z - w)  with  G = X^T diag(h) X - p p^T / H,  p = X^T
// h, H = sum of h: an intercept without a penalty is eliminated (p = 0 if there is none).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/vectors.hpp"
#include "rows/columns.hpp"
#include "rows/dense.hpp"

namespace widemargin {

struct ElasticNet {
  double rho;
  double ridge;

  // The minimiser of  curvature/2 z^2 - pull z + penalty.
  double step(double curvature, double pull) const {
    const double size = std::fabs(pull) - rho;
    if (size <= 0.0) return 0.0;
    const double total = curvature + ridge;
    return total > 0.0 ? std::copysign(size / total, pull) : 0.0;
  }

  // How far the slope r of the losses at weight z is from what the penalty asks for.
  double violation(double slope, double z) const {
    if (z == 0.0) return std::max(0.0, std::fabs(slope) - rho);
    return std::fabs(slope - std::copysign(rho, z) - ridge * z);
  }
};

// Sweeps on a model whose matrix is known; slopes = g - G (z - w) are kept up to date. Ends when no
// coordinate violates its condition by more than `wanted`, or after about `budget` multiplications.
// Returns the largest violation that the last sweep over all coordinates met, and what is left of
// the budget.
inline std::pair<double, std::int64_t> matrix_sweeps(const double* matrix, std::int64_t side,
                                                     double* slopes, double* z, ElasticNet penalty,
                                                     double wanted, std::int64_t budget) {
  auto visit = [&](std::int64_t j) {
    const double* line = matrix + j * side;
    const double violation = penalty.violation(slopes[j], z[j]);
    const double fresh = penalty.step(line[j], line[j] * z[j] + slopes[j]);
    const double change = fresh - z[j];
    budget -= 8;
    if (change != 0.0) {
      axpy_dense(-change, line, slopes, side);
      z[j] = fresh;
      budget -= side;
    }
    return violation;
  };
  for (;;) {
    double worst = 0.0;
    for (std::int64_t j = 0; j < side; ++j) worst = std::max(worst, visit(j));
    if (worst <= wanted || budget <= 0) return {worst, budget};
    // Those that are not zero settle first.
    for (int sweep = 0; sweep < 20 && budget > 0; ++sweep) {
      double inner = 0.0;
      for (std::int64_t j = 0; j < side; ++j) {
        if (z[j] != 0.0) inner = std::max(inner, visit(j));
      }
      if (inner <= std::max(0.1 * worst, 0.3 * wanted)) break;
    }
  }
}

// The sum of x_ij a_i over the rows of column j.
inline double column_sum(const ColumnView& columns, const double* a, std::int64_t j) {
  const double* v = columns.values + columns.begin(j);
  const std::int64_t stored = columns.stored(j);
  if (columns.whole(j)) return dot_dense(v, a, stored);
  const std::int32_t* at = columns.rows + columns.begin(j);
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  std::int64_t q = 0;
  for (; q + 4 <= stored; q += 4) {
    s0 += v[q] * a[at[q]];
    s1 += v[q + 1] * a[at[q + 1]];
    s2 += v[q + 2] * a[at[q + 2]];
    s3 += v[q + 3] * a[at[q + 3]];
  }
  for (; q < stored; ++q) s0 += v[q] * a[at[q]];
  return (s0 + s1) + (s2 + s3);
}

// What column sweeps change, and what they read of the model.
struct ColumnModel {
  const double* curvature;  // h
  const double* diagonal;   // of X^T diag(h) X
  const double* shares;     // p
  double* z;
  double* rest;        // t_i = y_i alpha_i - h_i (X (z - w))_i
  double* total_rest;  // sum of t_i
  double inverse;      // 1 / H, or 0 without an intercept
};

// Visits the columns [begin, end) once; returns the largest violation met.
inline double column_sweep(const ColumnView& columns, const ColumnModel& model, ElasticNet penalty,
                           const std::int64_t* order, std::int64_t begin, std::int64_t end) {
  double worst = 0.0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t j = order[k];
    const double* v = columns.values + columns.begin(j);
    const std::int32_t* at = columns.rows + columns.begin(j);
    const std::int64_t stored = columns.stored(j);
    const bool whole = columns.whole(j);
    double slope = column_sum(columns, model.rest, j);
    const double share = model.shares[j];
    slope -= *model.total_rest * model.inverse * share;
    worst = std::max(worst, penalty.violation(slope, model.z[j]));
    const double bend = std::max(0.0, model.diagonal[j] - share * share * model.inverse);
    const double fresh = penalty.step(bend, bend * model.z[j] + slope);
    const double change = fresh - model.z[j];
    if (change == 0.0) continue;
    model.z[j] = fresh;
    *model.total_rest -= change * share;
    if (whole) {
      for (std::int64_t q = 0; q < stored; ++q) {
        model.rest[q] -= change * model.curvature[q] * v[q];
      }
    } else {
      for (std::int64_t q = 0; q < stored; ++q) {
        model.rest[at[q]] -= change * model.curvature[at[q]] * v[q];
      }
    }
  }
  return worst;
}

// The same two sums for a column that stores every row.
inline void whole_column_sums(const double* v, const double* a, std::int64_t length, double& sum,
                              double& square) {
  FourDoubles s0 = all_four(0.0), s1 = s0, q0 = s0, q1 = s0;
  std::int64_t q = 0;
  for (; q + 2 * vector_length <= length; q += 2 * vector_length) {
    const FourDoubles v0 = load_four(v + q), v1 = load_four(v + q + vector_length);
    const FourDoubles a0 = v0 * load_four(a + q), a1 = v1 * load_four(a + q + vector_length);
    s0 += a0;
    s1 += a1;
    q0 += a0 * v0;
    q1 += a1 * v1;
  }
  sum = sum_of(s0 + s1);
  square = sum_of(q0 + q1);
  for (; q < length; ++q) {
    sum += v[q] * a[q];
    square += v[q] * v[q] * a[q];
  }
}

// For columns [begin, end): sums[j] = sum_i x_ij a_i and squares[j] = sum_i x_ij^2 a_i.
inline void column_sums(const ColumnView& columns, const double* a, double* sums, double* squares,
                        std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; ++j) {
    const double* v = columns.values + columns.begin(j);
    const std::int32_t* at = columns.rows + columns.begin(j);
    const std::int64_t stored = columns.stored(j);
    if (columns.whole(j)) {
      whole_column_sums(v, a, stored, sums[j], squares[j]);
      continue;
    }
    double s0 = 0.0, s1 = 0.0, q0 = 0.0, q1 = 0.0;
    std::int64_t q = 0;
    for (; q + 2 <= stored; q += 2) {
      const double a0 = v[q] * a[at[q]], a1 = v[q + 1] * a[at[q + 1]];
      s0 += a0;
      s1 += a1;
      q0 += a0 * v[q];
      q1 += a1 * v[q + 1];
    }
    if (q < stored) {
      s0 += v[q] * a[at[q]];
      q0 += v[q] * v[q] * a[at[q]];
    }
    sums[j] = s0 + s1;
    squares[j] = q0 + q1;
  }
}

// out_i += sum_j change[j] x_ij over the columns [begin, end).
inline void add_columns(const ColumnView& columns, const double* change, double* out,
                        std::int64_t begin, std::int64_t end) {
  for (std::int64_t j = begin; j < end; ++j) {
    if (change[j] == 0.0) continue;
    const double* v = columns.values + columns.begin(j);
    const std::int32_t* at = columns.rows + columns.begin(j);
    const std::int64_t stored = columns.stored(j);
    if (columns.whole(j)) {
      axpy_dense(change[j], v, out, stored);
      continue;
    }
    for (std::int64_t q = 0; q < stored; ++q) out[at[q]] += change[j] * v[q];
  }
}

}  // namespace widemargin
