// Compressed sparse rows whose stored values are all one, as those of named features are: the
// values are not read.
#pragma once

#include <cstdint>

#include "rows/prefetch.hpp"
#include "rows/turns.hpp"

namespace widemargin {

template <class Index>
struct OnesRows {
  static constexpr bool is_dense = false;
  static constexpr double bias = 0.0;

  const Index* indices = nullptr;
  const Index* pointers = nullptr;
  std::int64_t count = 0;
  std::int64_t width = 0;

  std::int64_t nonzeros(std::int64_t i) const {
    return static_cast<std::int64_t>(pointers[i + 1] - pointers[i]);
  }

  template <class Visit>
  void for_each(std::int64_t i, Visit&& visit) const {
    const Index end = pointers[i + 1];
    for (Index j = pointers[i]; j < end; ++j) visit(static_cast<std::int64_t>(indices[j]), 1.0);
  }

  template <int Turns, class Visit>
  void for_each_in_turns(std::int64_t i, Visit&& visit) const {
    const Index end = pointers[i + 1];
    Index j = pointers[i];
    for (; j + Turns <= end; j += Turns) {
      take_turns<Turns>(
          [&](auto turn) { visit(turn, static_cast<std::int64_t>(indices[j + turn]), 1.0); });
    }
    for (; j < end; ++j) visit(first_turn, static_cast<std::int64_t>(indices[j]), 1.0);
  }

  void prefetch_pointers(std::int64_t i) const { prefetch_line(pointers + i); }
  WIDEMARGIN_INLINE void prefetch(std::int64_t i) const {
    prefetch_lines(indices + pointers[i], static_cast<std::size_t>(nonzeros(i)) * sizeof(Index));
  }
};

template <class Rows>
constexpr bool is_ones = false;
template <class Index>
constexpr bool is_ones<OnesRows<Index>> = true;

}  // namespace widemargin
