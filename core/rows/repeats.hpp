// A look at compressed sparse rows before they are viewed.
#pragma once

#include <cstdint>
#include <vector>

namespace widemargin {

// Whether a row has a column twice; columns are in [0, width), in any order.
inline bool has_repeats(const std::int64_t* indices, const std::int64_t* pointers,
                        std::int64_t count, std::int64_t width) {
  std::vector<std::int64_t> last(static_cast<std::size_t>(width), -1);
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t p = pointers[i]; p < pointers[i + 1]; ++p) {
      std::int64_t& seen = last[static_cast<std::size_t>(indices[p])];
      if (seen == i) return true;
      seen = i;
    }
  }
  return false;
}

}  // namespace widemargin
