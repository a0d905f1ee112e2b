// Sums and products whose rounding is carried along: twice the precision, for certificates that
// ordinary rounding would spoil. None of the steps below is changed by contraction to fused
// multiply-adds.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/chains.hpp"

namespace widemargin {

// The value high + low.
struct Pair {
  double high = 0.0, low = 0.0;
};

// a + b = high + low, exactly
inline Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// a * b = high + low; of the low part a relative 2^-104 of the product is left out where there is
// no fused multiply-add.
inline Pair two_product(double a, double b) {
  const double product = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
  return {product, std::fma(a, b, -product)};
#else
  constexpr std::uint64_t upper_half = ~((std::uint64_t{1} << 27) - 1);
  const double a_high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & upper_half);
  const double b_high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(b) & upper_half);
  const double a_low = a - a_high, b_low = b - b_high;
  const double rest = ((a_high * b_high - product) + a_high * b_low) + a_low * b_high;
  return {product, rest + a_low * b_low};
#endif
}

// A running sum; its error is at most (count * 2^-53)^2 times the sum of the magnitudes.
struct CompensatedSum {
  double high = 0.0, low = 0.0;

  void add(double x) {
    const Pair sum = two_sum(high, x);
    high = sum.high;
    low += sum.low;
  }
  void add_product(double a, double b) {
    const Pair product = two_product(a, b);
    add(product.high);
    low += product.low;
  }
  double value() const { return high + low; }
};

// sum_i values[i], as good as exact.
inline double compensated_sum(const double* values, std::int64_t count) {
  CompensatedSum sums[chains], all;
  std::int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) sums[chain].add(values[i + chain]);
  }
  for (; i < count; ++i) sums[i % chains].add(values[i]);
  for (const CompensatedSum& sum : sums) {
    all.add(sum.high);
    all.low += sum.low;
  }
  return all.value();
}

// a . b + start
inline Pair compensated_dot(const double* a, const double* b, std::int64_t count, double start) {
  CompensatedSum sum;
  sum.add(start);
  for (std::int64_t j = 0; j < count; ++j) sum.add_product(a[j], b[j]);
  return two_sum(sum.high, sum.low);
}

// out[i] = x_i . weights + start, rounded once
template <class Rows>
void compensated_scores(const Rows& rows, const double* weights, Pair start, double* out,
                        std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    CompensatedSum sum{start.high, start.low};
    rows.for_each(i, [&](std::int64_t j, double v) { sum.add_product(v, weights[j]); });
    out[i] = sum.value();
  }
}

// high + low += sum_i signs[i] coefficients[i] x_i; signs are plus or minus one, or null for one.
template <class Rows>
void compensated_accumulate(const Rows& rows, const double* coefficients, const double* signs,
                            double* high, double* low, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (coefficients[i] == 0.0) continue;
    const double scale = signs ? signs[i] * coefficients[i] : coefficients[i];
    rows.for_each(i, [&](std::int64_t j, double v) {
      const Pair product = two_product(scale, v), sum = two_sum(high[j], product.high);
      high[j] = sum.high;
      low[j] += sum.low + product.low;
    });
  }
}

}  // namespace widemargin
