// A look at compressed sparse rows before they are viewed.
#pragma once

#include <cstdint>
#include <vector>

namespace widemargin {

// Whether a row has a column twice; columns are in [0, width), in any order.
template <class Index>
bool has_repeats(const Index* indices, const Index* pointers, std::int64_t count,
                 std::int64_t width) {
  std::vector<Index> last(static_cast<std::size_t>(width), -1);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<Index>(i);
    for (Index p = pointers[i]; p < pointers[i + 1]; ++p) {
      Index& seen = last[static_cast<std::size_t>(indices[p])];
      if (seen == row) return true;
      seen = row;
    }
  }
  return false;
}

// Whether every row that stores all columns stores them in order: it can then be read without its
// indices. Said of the same row, whatever others there are: its products must not depend on them.
template <class Index>
bool whole_rows_in_order(const Index* indices, const Index* pointers, std::int64_t count,
                         std::int64_t width) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(pointers[i + 1] - pointers[i]) != width) continue;
    const Index* at = indices + pointers[i];
    Index wrong = 0;
    for (Index j = 0; j < static_cast<Index>(width); ++j) {
      wrong |= at[j] ^ j;
    }
    if (wrong != 0) return false;
  }
  return true;
}

}  // namespace widemargin
