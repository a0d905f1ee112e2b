// Sums in several running chains, so that the compiler can use vectors without reordering additions
// (-ffast-math stays off).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace widemargin {

constexpr int chains = 8;

// start + sum_i term(i)
//
// With AVX2, GCC 12 adds up wrong numbers where a term is a stored number or zero, as in
// test(i) ? x[i] : 0.0 (two vectors of masked loads get one mask). Write x[i] * test(i).
template <class Term>
double sum_in_chains(std::int64_t count, Term&& term, double start = 0.0) {
  double sums[chains] = {};
  std::int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) sums[chain] += term(i + chain);
  }
  double total = start;
  for (; i < count; ++i) total += term(i);
  for (const double sum : sums) total += sum;
  return total;
}

// max_i |values[i]|; not a number if one of them is none.
inline double largest_magnitude(const double* values, std::int64_t count) {
  double most[chains] = {}, spoilt = 0.0;
  std::int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) {
      const double size = std::abs(values[i + chain]);
      most[chain] = size > most[chain] ? size : most[chain];
    }
  }
  for (; i < count; ++i) most[i % chains] = std::max(most[i % chains], std::abs(values[i]));
  for (i = 0; i < count; ++i) spoilt += values[i] != values[i];
  const double largest = *std::max_element(most, most + chains);
  return spoilt > 0.0 ? std::numeric_limits<double>::quiet_NaN() : largest;
}

struct TwoSums {
  double first = 0.0, second = 0.0;
};

// sum_i of term(i), which has two parts; the second is divided by `scale`.
template <class Term>
TwoSums two_sums_in_chains(std::int64_t count, Term&& term, double scale = 1.0) {
  double first[chains] = {}, second[chains] = {};
  auto add = [&](std::int64_t i, int chain) {
    const TwoSums part = term(i);
    first[chain] += part.first;
    second[chain] += part.second;
  };
  std::int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) add(i + chain, chain);
  }
  for (; i < count; ++i) add(i, 0);
  TwoSums total;
  for (int chain = 0; chain < chains; ++chain) {
    total.first += first[chain];
    total.second += second[chain] / scale;
  }
  return total;
}

// sum_i of term(i), an array of so many numbers.
template <int Sums, class Term>
std::array<double, Sums> several_sums_in_chains(std::int64_t count, Term&& term) {
  double sums[Sums][chains] = {};
  auto add = [&](std::int64_t i, int chain) {
    const std::array<double, Sums> part = term(i);
    for (int k = 0; k < Sums; ++k) sums[k][chain] += part[k];
  };
  std::int64_t i = 0;
  for (; i + chains <= count; i += chains) {
    for (int chain = 0; chain < chains; ++chain) add(i + chain, chain);
  }
  for (; i < count; ++i) add(i, static_cast<int>(i % chains));
  std::array<double, Sums> total = {};
  for (int k = 0; k < Sums; ++k) {
    for (const double sum : sums[k]) total[k] += sum;
  }
  return total;
}

}  // namespace widemargin
