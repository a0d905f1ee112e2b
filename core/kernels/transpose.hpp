// Columns turned into rows, squares of a fixed size at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "rows/prefetch.hpp"

namespace widemargin {

// Sides of a square: a column of it fills a vector register.
template <class T>
constexpr std::int64_t square_side = 32 / static_cast<std::int64_t>(sizeof(T));

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define WIDEMARGIN_SHUFFLES
#endif
#endif

#if defined(WIDEMARGIN_SHUFFLES)
template <class T>
struct LineOf;
template <>
struct LineOf<float> {
  typedef float Values __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4)));
};
template <>
struct LineOf<double> {
  typedef double Values __attribute__((vector_size(32)));
  typedef double Unaligned __attribute__((vector_size(32), aligned(8)));
};

template <class T>
using Line = typename LineOf<T>::Values;
template <class T>
using LineSum = Line<T>;

template <class Values>
bool is_zero(const Values& sum) {
  bool zero = true;
  for (std::size_t k = 0; k < sizeof(Values) / sizeof(sum[0]); ++k) zero = zero && sum[k] == 0;
  return zero;
}

// Swaps the upper right quarter with the lower left one, in squares of twice the side.
template <class T, int Side, int... Places>
WIDEMARGIN_INLINE void swap_quarters(Line<T> (&lines)[square_side<T>],
                                     std::integer_sequence<int, Places...>) {
  constexpr int side = sizeof...(Places);
  for (int i = 0; i < side; ++i) {
    if (i & Side) continue;
    const auto a = lines[i], b = lines[i + Side];
    lines[i] = __builtin_shufflevector(a, b, ((Places & Side) ? side + Places - Side : Places)...);
    lines[i + Side] =
        __builtin_shufflevector(a, b, ((Places & Side) ? side + Places : Places + Side)...);
  }
}

// to[k stride + j] = columns[j][at + k]; adds zeros to `sum`, or NaN for what is not finite.
template <class T>
WIDEMARGIN_INLINE void transpose_square(const T* const* columns, std::int64_t at, T* to,
                                        std::int64_t stride, LineSum<T>& sum) {
  constexpr std::int64_t side = square_side<T>;
  using Unaligned = typename LineOf<T>::Unaligned;
  Line<T> lines[side];
  for (std::int64_t j = 0; j < side; ++j) {
    lines[j] = *reinterpret_cast<const Unaligned*>(columns[j] + at);
  }
  Line<T> zeros = lines[0] * T{0};
  for (std::int64_t j = 1; j < side; ++j) zeros += lines[j] * T{0};
  sum += zeros;
  constexpr auto places = std::make_integer_sequence<int, static_cast<int>(side)>{};
  if constexpr (side == 8) swap_quarters<T, 4>(lines, places);
  swap_quarters<T, 2>(lines, places);
  swap_quarters<T, 1>(lines, places);
  for (std::int64_t k = 0; k < side; ++k) {
    *reinterpret_cast<Unaligned*>(to + k * stride) = lines[k];
  }
}
#else
template <class T>
using LineSum = T;

template <class T>
bool is_zero(T sum) {
  return sum == 0;
}

template <class T>
inline void transpose_square(const T* const* columns, std::int64_t at, T* to, std::int64_t stride,
                             LineSum<T>& sum) {
  constexpr std::int64_t side = square_side<T>;
  for (std::int64_t k = 0; k < side; ++k) {
    for (std::int64_t j = 0; j < side; ++j) {
      to[k * stride + j] = columns[j][at + k];
      sum += columns[j][at + k] * T{0};
    }
  }
}
#endif

// to[i width + j] = columns[j][begin + i]; whether all of it is finite.
template <class T>
bool transpose(const std::vector<const T*>& columns, std::int64_t begin, std::int64_t count,
               T* to) {
  constexpr std::int64_t side = square_side<T>, line = 2 * side;
  // The rows of a strip stay in the cache until all of their columns are there.
  constexpr std::int64_t strip = 256;
  const auto width = static_cast<std::int64_t>(columns.size());
  LineSum<T> zeros{};
  T zero{};
  const auto copy = [&](std::int64_t i, std::int64_t j) {
    const T value = columns[static_cast<std::size_t>(j)][begin + i];
    to[i * width + j] = value;
    zero += value * T{0};
  };
  for (std::int64_t first = 0; first < count; first += strip) {
    const std::int64_t last = std::min(first + strip, count);
    std::int64_t j = 0;
    for (; j + line <= width; j += line) {
      const T* const* here = columns.data() + j;
      const std::int64_t following = std::min(line, width - j - line);
      std::int64_t i = first;
      for (; i + line <= last; i += line) {
        // What comes next is fetched, the lines that will be written too: they are fetched anyway,
        // and waiting for them would take most of the time.
        for (std::int64_t k = 0; k < following; ++k) {
          prefetch_line(here[line + k] + begin + i);
          prefetch_line(to + (i + k) * width + j + line);
        }
        // Both halves of a line of the cache one after the other, of few columns at a time:
        // columns often begin at the same place of a page, and so fall into the same sets.
        T* corner = to + i * width + j;
        T* lower = corner + side * width;
        transpose_square(here, begin + i, corner, width, zeros);
        transpose_square(here, begin + i + side, lower, width, zeros);
        transpose_square(here + side, begin + i, corner + side, width, zeros);
        transpose_square(here + side, begin + i + side, lower + side, width, zeros);
      }
      for (; i < last; ++i) {
        for (std::int64_t k = j; k < j + line; ++k) copy(i, k);
      }
    }
    for (; j < width; ++j) {
      for (std::int64_t i = first; i < last; ++i) copy(i, j);
    }
  }
  return is_zero(zeros) && zero == T{0};
}

}  // namespace widemargin
