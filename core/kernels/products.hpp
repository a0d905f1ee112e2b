// Products of the data with vectors, over the rows [begin, end); vectors over examples are full
// length and indexed by row.
#pragma once

#include <cstdint>

namespace widemargin {

// scores[i] = x_i . weights
template <class Rows>
void scores(const Rows& rows, const double* weights, double* out, std::int64_t begin,
            std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    out[i] = rows.dot(i, weights);
  }
}

// sum += sum_i signs[i] coefficients[i] x_i; without signs (null) they are all one.
template <class Rows>
void accumulate(const Rows& rows, const double* coefficients, const double* signs, double* sum,
                std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (coefficients[i] != 0.0) {
      rows.axpy(i, signs ? signs[i] * coefficients[i] : coefficients[i], sum);
    }
  }
}

// sum += sum_i signs[i] (fresh[i] - old[i]) x_i; rows whose coefficient stayed cost nothing.
template <class Rows>
void accumulate_change(const Rows& rows, const double* fresh, const double* old,
                       const double* signs, double* sum, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (fresh[i] != old[i]) {
      rows.axpy(i, signs[i] * (fresh[i] - old[i]), sum);
    }
  }
}

// Scores and accumulation while a row is in cache.
template <class Rows>
void scores_and_accumulate(const Rows& rows, const double* weights, double* out,
                           const double* coefficients, const double* signs, double* sum,
                           std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    out[i] = rows.dot(i, weights);
    if (coefficients[i] != 0.0) {
      rows.axpy(i, signs ? signs[i] * coefficients[i] : coefficients[i], sum);
    }
  }
}

// sum += sum_i curvature[i] (x_i . direction + shift) x_i; returns sum_i curvature[i] (...), which
// is the intercept's share of the product.
template <class Rows>
double curvature_product(const Rows& rows, const double* curvature, const double* direction,
                         double shift, double* sum, std::int64_t begin, std::int64_t end) {
  double total = 0.0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (curvature[i] != 0.0) {
      const double scale = curvature[i] * (rows.dot(i, direction) + shift);
      total += scale;
      rows.axpy(i, scale, sum);
    }
  }
  return total;
}

// sum_i curvature[i] x_i^2 per feature: the diagonal that preconditions conjugate gradients.
template <class Rows>
void curvature_diagonal(const Rows& rows, const double* curvature, double* sum, std::int64_t begin,
                        std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const double scale = curvature[i];
    if (scale != 0.0) {
      rows.for_each(i, [&](std::int64_t j, double v) { sum[j] += scale * v * v; });
    }
  }
}

// Not finite if any value of these rows is not, or if a norm overflows.
template <class Rows>
double total_squared_norm(const Rows& rows, std::int64_t begin, std::int64_t end) {
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
