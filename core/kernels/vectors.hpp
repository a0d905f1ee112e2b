// Four doubles that the compiler keeps in one vector register, or in two, while a row is read.
#pragma once

#include <cstdint>
#include <cstring>

#include "rows/prefetch.hpp"

namespace widemargin {

constexpr std::int64_t vector_length = 4;

#if defined(__GNUC__)
typedef double FourDoubles __attribute__((vector_size(vector_length * sizeof(double))));
inline FourDoubles all_four(double x) { return FourDoubles{x, x, x, x}; }

// The first `count` of four numbers, and zeros: none where it is negative, all where it is larger.
WIDEMARGIN_INLINE FourDoubles first_of(const FourDoubles& four, std::int64_t count) {
  typedef std::int64_t FourIntegers __attribute__((vector_size(vector_length * sizeof(double))));
  const FourIntegers kept = FourIntegers{0, 1, 2, 3} < FourIntegers{count, count, count, count};
  FourIntegers bits;
  std::memcpy(&bits, &four, sizeof bits);
  bits &= kept;
  FourDoubles first;
  std::memcpy(&first, &bits, sizeof first);
  return first;
}
#else
struct FourDoubles {
  double at[vector_length];
  friend FourDoubles operator*(FourDoubles a, const FourDoubles& b) {
    for (int k = 0; k < vector_length; ++k) a.at[k] *= b.at[k];
    return a;
  }
  friend FourDoubles operator*(FourDoubles a, double scale) {
    for (double& entry : a.at) entry *= scale;
    return a;
  }
  FourDoubles& operator+=(const FourDoubles& other) {
    for (int k = 0; k < vector_length; ++k) at[k] += other.at[k];
    return *this;
  }
  friend FourDoubles operator+(FourDoubles a, const FourDoubles& b) { return a += b; }
  double operator[](int k) const { return at[k]; }
};
inline FourDoubles all_four(double x) { return FourDoubles{{x, x, x, x}}; }
inline FourDoubles first_of(const FourDoubles& four, std::int64_t count) {
  FourDoubles first = four;
  for (int k = 0; k < vector_length; ++k) first.at[k] = k < count ? four.at[k] : 0.0;
  return first;
}
#endif

WIDEMARGIN_INLINE FourDoubles load_four(const double* from) {
  FourDoubles four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

WIDEMARGIN_INLINE FourDoubles load_four(const float* from) {
  const double wide[vector_length] = {from[0], from[1], from[2], from[3]};
  return load_four(wide);
}

WIDEMARGIN_INLINE void store_four(double* to, const FourDoubles& four) {
  std::memcpy(to, &four, sizeof four);
}

inline double sum_of(const FourDoubles& four) { return (four[0] + four[1]) + (four[2] + four[3]); }

// sums[0..parts) += v * line, four numbers a part
template <int Parts>
inline void add_scaled(FourDoubles (&sums)[Parts], double v, const double* line) {
  for (int part = 0; part < Parts; ++part) sums[part] += load_four(line + 4 * part) * v;
}

// line += v * scales, four numbers a part
template <int Parts>
inline void add_to_line(double* line, double v, const FourDoubles (&scales)[Parts]) {
  for (int part = 0; part < Parts; ++part) {
    store_four(line + 4 * part, load_four(line + 4 * part) + scales[part] * v);
  }
}

// a . b; the length is a multiple of four.
inline double dot_of_fours(const double* a, const double* b, std::int64_t length) {
  FourDoubles sums[4] = {all_four(0.0), all_four(0.0), all_four(0.0), all_four(0.0)};
  std::int64_t e = 0;
  for (; e + 4 * vector_length <= length; e += 4 * vector_length) {
    for (int s = 0; s < 4; ++s) {
      const std::int64_t at = e + s * vector_length;
      sums[s] = sums[s] + load_four(a + at) * load_four(b + at);
    }
  }
  for (; e < length; e += vector_length) sums[0] = sums[0] + load_four(a + e) * load_four(b + e);
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

}  // namespace widemargin
