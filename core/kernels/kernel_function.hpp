// A kernel as a function of an inner product and two squared norms; in float or in double.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/exponential.hpp"

namespace widemargin {

enum class KernelKind { linear, polynomial, gaussian };

struct KernelFunction {
  KernelKind kind = KernelKind::linear;
  double gamma = 1.0;
  std::int64_t degree = 3;
  double coef0 = 0.0;
};

// e^x for x <= 0 to about two units in the last place of a float; below -87 it is e^-87.
inline float exp_nonpositive(float x) {
  constexpr float log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * log2e + shift;
  const float whole = shifted - shift;
  const float r = (x - whole * ln2_high) - whole * ln2_low;  // |r| <= ln(2)/2
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + bits);
}

// values[j] = k(x, z_j) from values[j] = x . z_j, with |x|^2 and |z_j|^2.
template <class Real>
void apply_kernel(const KernelFunction& kernel, Real own, const Real* squares, std::int64_t count,
                  Real* values) {
  const Real gamma = static_cast<Real>(kernel.gamma);
  if (kernel.kind == KernelKind::gaussian) {
    for (std::int64_t j = 0; j < count; ++j) {
      const Real distance = (own + squares[j]) - Real(2) * values[j];
      values[j] = exp_nonpositive(-gamma * (distance > Real(0) ? distance : Real(0)));
    }
  } else if (kernel.kind == KernelKind::polynomial) {
    const Real coef0 = static_cast<Real>(kernel.coef0);
    // Powers of whole pieces: loops over entries, innermost, become vector instructions.
    constexpr std::int64_t piece = 64;
    Real base[piece];
    for (std::int64_t first = 0; first < count; first += piece) {
      const std::int64_t length = std::min(piece, count - first);
      Real* power = values + first;
      for (std::int64_t j = 0; j < length; ++j) power[j] = base[j] = gamma * power[j] + coef0;
      for (std::int64_t e = 1; e < kernel.degree; ++e) {
        for (std::int64_t j = 0; j < length; ++j) power[j] *= base[j];
      }
    }
  }
}

}  // namespace widemargin
