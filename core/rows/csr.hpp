// Compressed sparse rows: a view, never a copy. Indices are distinct within a row, in any order.
#pragma once

#include <cstdint>

#include "rows/dense.hpp"
#include "rows/prefetch.hpp"
#include "rows/turns.hpp"

namespace widemargin {

template <class T, class Index>
struct CsrRows {
  using value_type = T;
  using index_type = Index;
  static constexpr bool is_dense = false;

  const T* values = nullptr;
  const Index* indices = nullptr;
  const Index* pointers = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 0;
  double bias = 0.0;
  const std::int64_t* subset = nullptr;  // row i of this view is row subset[i] of the matrix
  bool ordered = false;  // rows that store every column are known to store them in order

  std::int64_t place(std::int64_t i) const { return subset ? subset[i] : i; }

  std::int64_t nonzeros(std::int64_t i) const {
    const std::int64_t p = place(i);
    return static_cast<std::int64_t>(pointers[p + 1] - pointers[p]);
  }
  std::int64_t total_nonzeros() const {
    if (subset == nullptr) {
      return count == 0 ? 0 : static_cast<std::int64_t>(pointers[count] - pointers[0]);
    }
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      total += nonzeros(i);
    }
    return total;
  }

  // Whether the rows lie one after the other, with nothing in between; where row i begins then.
  bool is_seamless() const { return subset == nullptr; }
  std::int64_t begin_of(std::int64_t i) const { return static_cast<std::int64_t>(pointers[i]); }

  // The values of a row that is stored like a dense one, or null.
  const T* whole_row(std::int64_t i) const {
    const std::int64_t p = place(i);
    const bool whole = ordered && static_cast<std::int64_t>(pointers[p + 1] - pointers[p]) == width;
    return whole ? values + pointers[p] : nullptr;
  }

  double dot(std::int64_t i, const double* weights) const {
    if (const T* x = whole_row(i)) {
      const double product = dot_dense(x, weights, width);
      return bias == 0.0 ? product : product + bias * weights[width];
    }
    const std::int64_t p = place(i);
    const Index begin = pointers[p];
    const Index length = pointers[p + 1] - begin;
    const T* v = values + begin;
    const Index* at = indices + begin;
    // Four chains of additions hide the latency of the loads.
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    Index j = 0;
    for (; j + 4 <= length; j += 4) {
      s0 += static_cast<double>(v[j]) * weights[at[j]];
      s1 += static_cast<double>(v[j + 1]) * weights[at[j + 1]];
      s2 += static_cast<double>(v[j + 2]) * weights[at[j + 2]];
      s3 += static_cast<double>(v[j + 3]) * weights[at[j + 3]];
    }
    for (; j < length; ++j) {
      s0 += static_cast<double>(v[j]) * weights[at[j]];
    }
    const double sum = (s0 + s1) + (s2 + s3);
    return bias == 0.0 ? sum : sum + bias * weights[width];
  }

  void axpy(std::int64_t i, double scale, double* weights) const {
    const std::int64_t p = place(i);
    const Index end = pointers[p + 1];
    if (const T* x = whole_row(i)) {
      axpy_dense(scale, x, weights, width);
    } else {
      for (Index j = pointers[p]; j < end; ++j) {
        weights[indices[j]] += scale * static_cast<double>(values[j]);
      }
    }
    if (bias != 0.0) {
      weights[width] += scale * bias;
    }
  }

  double squared_norm(std::int64_t i) const {
    if (const T* x = whole_row(i)) return dense_square(x, width, bias * bias);
    const std::int64_t p = place(i);
    const T* v = values + pointers[p];
    const Index length = pointers[p + 1] - pointers[p];
    double s0 = bias * bias, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    Index j = 0;
    for (; j + 4 <= length; j += 4) {
      s0 += static_cast<double>(v[j]) * v[j];
      s1 += static_cast<double>(v[j + 1]) * v[j + 1];
      s2 += static_cast<double>(v[j + 2]) * v[j + 2];
      s3 += static_cast<double>(v[j + 3]) * v[j + 3];
    }
    for (; j < length; ++j) {
      s0 += static_cast<double>(v[j]) * v[j];
    }
    return (s0 + s1) + (s2 + s3);
  }

  template <class Visit>
  void for_each(std::int64_t i, Visit&& visit) const {
    const std::int64_t p = place(i);
    const Index end = pointers[p + 1];
    for (Index j = pointers[p]; j < end; ++j) {
      visit(static_cast<std::int64_t>(indices[j]), static_cast<double>(values[j]));
    }
    if (bias != 0.0) {
      visit(width, bias);
    }
  }

  // As for_each, telling each visit which of several running sums it may add to: 0, 1, ... in turn.
  template <int Turns, class Visit>
  void for_each_in_turns(std::int64_t i, Visit&& visit) const {
    const std::int64_t p = place(i);
    const Index end = pointers[p + 1];
    Index j = pointers[p];
    for (; j + Turns <= end; j += Turns) {
      take_turns<Turns>([&](auto turn) {
        visit(turn, static_cast<std::int64_t>(indices[j + turn]),
              static_cast<double>(values[j + turn]));
      });
    }
    for (; j < end; ++j) {
      visit(first_turn, static_cast<std::int64_t>(indices[j]), static_cast<double>(values[j]));
    }
    if (bias != 0.0) {
      visit(first_turn, width, bias);
    }
  }

  // A row is reached through its pointer: that is asked for first, the row itself a little later.
  void prefetch_pointers(std::int64_t i) const { prefetch_line(pointers + place(i)); }
  WIDEMARGIN_INLINE void prefetch(std::int64_t i) const {
    const std::int64_t p = place(i);
    const Index begin = pointers[p];
    const char* v = reinterpret_cast<const char*>(values + begin);
    const char* at = reinterpret_cast<const char*>(indices + begin);
    const std::int64_t length = static_cast<std::int64_t>(pointers[p + 1] - begin);
    const std::int64_t value_bytes = length * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t index_bytes = length * static_cast<std::int64_t>(sizeof(Index));
    for (std::int64_t offset = 0; offset < value_bytes && offset < 1024; offset += 64) {
      prefetch_line(v + offset);
    }
    for (std::int64_t offset = 0; offset < index_bytes && offset < 512; offset += 64) {
      prefetch_line(at + offset);
    }
  }
};

}  // namespace widemargin
