// A few numbers side by side, one a lane, that stay in vector registers while a row is read.
#pragma once

#include <cstring>

namespace widemargin {

#if defined(__GNUC__)
typedef double FourLanes __attribute__((vector_size(32)));
#else
struct FourLanes {
  double v[4];
  FourLanes& operator+=(const FourLanes& other) {
    for (int l = 0; l < 4; ++l) v[l] += other.v[l];
    return *this;
  }
  FourLanes operator+(const FourLanes& other) const {
    FourLanes sum = *this;
    return sum += other;
  }
  FourLanes operator*(double scale) const {
    FourLanes product = *this;
    for (double& entry : product.v) entry *= scale;
    return product;
  }
  FourLanes operator*(const FourLanes& other) const {
    FourLanes product = *this;
    for (int l = 0; l < 4; ++l) product.v[l] *= other.v[l];
    return product;
  }
  double operator[](int l) const { return v[l]; }
};
#endif

template <class T>
inline FourLanes load_four(const T* values) {
  const double wide[4] = {static_cast<double>(values[0]), static_cast<double>(values[1]),
                          static_cast<double>(values[2]), static_cast<double>(values[3])};
  FourLanes four;
  std::memcpy(&four, wide, sizeof four);
  return four;
}

inline double sum_of(const FourLanes& four) { return (four[0] + four[1]) + (four[2] + four[3]); }

// sums[0..parts) += v * line, four lanes a part
template <int Parts>
inline void add_scaled(FourLanes (&sums)[Parts], double v, const double* line) {
  for (int part = 0; part < Parts; ++part) {
    FourLanes four;
    std::memcpy(&four, line + 4 * part, sizeof four);
    sums[part] += four * v;
  }
}

// line += v * scales, four lanes a part
template <int Parts>
inline void add_to_line(double* line, double v, const FourLanes (&scales)[Parts]) {
  for (int part = 0; part < Parts; ++part) {
    FourLanes four;
    std::memcpy(&four, line + 4 * part, sizeof four);
    four += scales[part] * v;
    std::memcpy(line + 4 * part, &four, sizeof four);
  }
}

}  // namespace widemargin
