// Numbers of the examples that something holds for, found by threads.
#pragma once

#include <cstdint>
#include <vector>

#include "threads/sum_tree.hpp"

namespace widemargin {

// The i < count for which chosen(i), in ascending order: counted chunk by chunk, then written.
template <class Chosen>
std::vector<std::int64_t> chosen_places(Pool& pool, std::int64_t count, std::int64_t chunk,
                                        const Chosen& chosen) {
  std::vector<std::int64_t> first(static_cast<std::size_t>((count + chunk - 1) / chunk) + 1, 0);
  each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) found += chosen(i);
    first[static_cast<std::size_t>(begin / chunk) + 1] = found;
  });
  for (std::size_t k = 1; k < first.size(); ++k) first[k] += first[k - 1];
  std::vector<std::int64_t> places(static_cast<std::size_t>(first.back()));
  each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
    const auto k = static_cast<std::size_t>(begin / chunk);
    if (first[k] == first[k + 1]) return;
    std::int64_t* out = places.data() + first[k];
    for (std::int64_t i = begin; i < end; ++i) {
      if (chosen(i)) *out++ = i;
    }
  });
  return places;
}

}  // namespace widemargin
