// The order in which the sentences of a batch are visited.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace widemargin {

// Puts the longest of each batch first and last and the shortest in the middle. Threads take tasks
// from both ends: what they wait for when a batch ends is a short one.
template <class Length>
void balance(std::vector<std::int64_t>& order, std::int64_t batch, Length&& length) {
  if (batch < 2) return;
  std::vector<std::int64_t> sorted;
  for (std::int64_t begin = 0; begin < std::ssize(order); begin += batch) {
    const std::int64_t count = std::min(batch, std::ssize(order) - begin);
    const auto from = order.begin() + begin;
    sorted.assign(from, from + count);
    std::ranges::stable_sort(sorted, std::greater<>(), length);
    for (std::int64_t k = 0; k < count; ++k) {
      from[k % 2 == 0 ? k / 2 : count - 1 - k / 2] = sorted[k];
    }
  }
}

}  // namespace widemargin
