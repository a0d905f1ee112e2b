// exp, log1p, log1m and log without branches, so that loops over examples vectorise; all are good
// to about two units in the last place on the range that losses need (checked in
// tests/unit/test_losses.py).
#pragma once

#include <bit>
#include <cstdint>

namespace widemargin {

// e^x for x <= 0; values below -708 are taken as -708 (3e-308).
inline double exp_nonpositive(double x) {
  constexpr double log2e = 1.4426950408889634074;
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  x = x < -708.0 ? -708.0 : x;
  const double shifted = x * log2e + shift;
  const double whole = shifted - shift;
  const double r = (x - whole * ln2_high) - whole * ln2_low;  // |r| <= ln(2)/2
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The low bits of `shifted` hold the integer; moving them into the exponent scales by 2^whole.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + bits);
}

// 2 atanh(s) for |s| <= 1/3
inline double twice_atanh(double s) {
  const double z = s * s;  // <= 1/9
  double p = 1.0 / 33.0;
  p = p * z + 1.0 / 31.0;
  p = p * z + 1.0 / 29.0;
  p = p * z + 1.0 / 27.0;
  p = p * z + 1.0 / 25.0;
  p = p * z + 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return 2.0 * s * p;
}

// log(1 + e) for 0 <= e <= 1: no cancellation for small e.
inline double log1p_unit(double e) { return twice_atanh(e / (2.0 + e)); }

// log(1 - x) for 0 <= x <= 1/2: no cancellation for small x.
inline double log1m_half(double x) { return -twice_atanh(x / (2.0 - x)); }

// log x for 0 <= x <= 1; values below 1e-300 are taken as 1e-300.
inline double log_positive(double x) {
  x = x < 1e-300 ? 1e-300 : x;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  // x = 2^e f with f in [0.71, 1.42): the mantissa's high bits decide which power of two is nearer.
  const std::uint64_t shifted = bits - 0x3fe6a09e667f3bcdULL;
  const std::uint64_t exponent = (shifted >> 52) & 0xfff;
  const double f = std::bit_cast<double>(bits - (shifted & 0xfff0000000000000ULL));
  // Whole numbers become floating point by the bits of 2^52; the exponent is at most zero here.
  const double e = std::bit_cast<double>(((exponent + 2048) & 0xfff) | 0x4330000000000000ULL) -
                   (4503599627370496.0 + 2048.0);
  const double s = (f - 1.0) / (f + 1.0);
  const double z = s * s;  // <= 0.0295
  double p = 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return e * 6.93147180559945286227e-01 + 2.0 * s * p;
}

}  // namespace widemargin
