// Some columns of the rows, copied: as rows of their own, or column by column.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace widemargin {

// Some columns of a matrix that is stored column after column: the values of a column that stores
// every row need no row numbers.
struct ColumnView {
  const double* values = nullptr;
  const std::int32_t* rows = nullptr;
  const std::int64_t* pointers = nullptr;
  const std::int64_t* places = nullptr;  // which columns; all of them if null
  std::int64_t count = 0;                // columns
  std::int64_t length = 0;               // rows of the matrix

  std::int64_t place(std::int64_t j) const { return places == nullptr ? j : places[j]; }
  std::int64_t begin(std::int64_t j) const { return pointers[place(j)]; }
  std::int64_t stored(std::int64_t j) const { return pointers[place(j) + 1] - begin(j); }
  bool whole(std::int64_t j) const { return stored(j) == length; }
};

// The columns of `width` that have a place, each with it: dense rows are read only there.
inline std::vector<std::pair<std::int64_t, std::int32_t>> placed(const std::int32_t* place,
                                                                 std::int64_t width) {
  std::vector<std::pair<std::int64_t, std::int32_t>> found;
  for (std::int64_t j = 0; j < width; ++j) {
    if (place[j] >= 0) found.emplace_back(j, place[j]);
  }
  return found;
}

// Stored values of each row in the columns that have a place; place[j] is negative for the others.
template <class Rows>
void count_columns(const Rows& rows, const std::int32_t* place, std::int64_t* counts,
                   std::int64_t begin, std::int64_t end) {
  if constexpr (Rows::is_dense) {
    const bool constant = rows.bias != 0.0 && place[rows.width] >= 0;
    const auto kept = static_cast<std::int64_t>(placed(place, rows.width).size()) + constant;
    for (std::int64_t i = begin; i < end; ++i) counts[i] = kept;
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t kept = 0;
    rows.for_each(i, [&](std::int64_t j, double) { kept += place[j] >= 0; });
    counts[i] = kept;
  }
}

// The same columns as compressed sparse rows; pointers are known.
template <class Rows>
void take_columns(const Rows& rows, const std::int32_t* place, const std::int64_t* pointers,
                  std::int32_t* indices, double* values, std::int64_t begin, std::int64_t end) {
  if constexpr (Rows::is_dense) {
    const auto columns = placed(place, rows.width);
    for (std::int64_t i = begin; i < end; ++i) {
      const auto* x = rows.row(i);
      std::int64_t at = pointers[i];
      for (const auto& [j, to] : columns) {
        indices[at] = to;
        values[at++] = static_cast<double>(x[j]);
      }
      if (rows.bias != 0.0 && place[rows.width] >= 0) {
        indices[at] = place[rows.width];
        values[at] = rows.bias;
      }
    }
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t at = pointers[i];
    const std::int64_t last = pointers[i + 1] - 1;
    // The only branch is guessed right: what has no place is written over by what follows.
    rows.for_each(i, [&](std::int64_t j, double v) {
      if (at > last) return;
      indices[at] = place[j];
      values[at] = v;
      at += place[j] >= 0;
    });
  }
}

// Adds to counts[j] the values that rows store in column j.
template <class Rows>
void count_by_column(const Rows& rows, std::int64_t* counts, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    rows.for_each(i, [&](std::int64_t j, double) { ++counts[j]; });
  }
}

// The columns that have a place, column after column: next[p] is where the next value of the column
// with place p goes, and moves on. Nothing is written from `room` on. Most values have no place
// where few columns are taken: one bit per column says so, and these stay in the nearest cache.
template <class Rows>
void take_by_column(const Rows& rows, const std::int32_t* place, std::int64_t columns,
                    std::int64_t* next, std::int32_t* numbers, double* values, std::int64_t room,
                    std::int64_t begin, std::int64_t end) {
  std::vector<std::uint64_t> taken(static_cast<std::size_t>(columns / 64 + 1), 0);
  for (std::int64_t j = 0; j < columns; ++j) {
    if (place[j] >= 0) taken[static_cast<std::size_t>(j / 64)] |= std::uint64_t{1} << (j % 64);
  }
  const std::uint64_t* bits = taken.data();
  for (std::int64_t i = begin; i < end; ++i) {
    const auto number = static_cast<std::int32_t>(i);
    rows.for_each(i, [&](std::int64_t j, double v) {
      if ((bits[j / 64] >> (j % 64) & 1) == 0) return;
      const std::int64_t at = next[place[j]]++;
      if (at >= room) return;
      numbers[at] = number;
      values[at] = v;
    });
  }
}

}  // namespace widemargin
