// Fletcher's checksum: the sum of all words and the sum of its values on the way.
#pragma once

#include <cstdint>
#include <cstring>

namespace widemargin {

// Words of 32 bits are summed up in 64: two that change, or change places, never cancel in both
// sums. Eight lanes, each with every eighth word, so that the compiler uses vectors; a word that is
// left in part is filled with zeros, and the length counts too.
inline std::uint64_t checksum(const std::uint8_t* bytes, std::int64_t length,
                              std::uint64_t before) {
  constexpr std::int64_t lanes = 8, step = 4 * lanes;
  std::uint64_t sums[lanes] = {}, sums_of_sums[lanes] = {};
  const auto add = [&](const std::uint8_t* from) {
    for (int k = 0; k < lanes; ++k) {
      std::uint32_t word;
      std::memcpy(&word, from + 4 * k, sizeof word);
      sums[k] += word;
      sums_of_sums[k] += sums[k];
    }
  };
  std::int64_t at = 0;
  for (; at + step <= length; at += step) add(bytes + at);
  if (at < length) {
    std::uint8_t rest[step] = {};
    std::memcpy(rest, bytes + at, static_cast<std::size_t>(length - at));
    add(rest);
  }
  // One to one for any number that came before, and for any that is taken in.
  std::uint64_t result = 0;
  const auto take_in = [&](std::uint64_t number) {
    result = (result ^ number) * 0x9e3779b97f4a7c15;
    result ^= result >> 32;
  };
  take_in(before);
  take_in(static_cast<std::uint64_t>(length));
  for (int k = 0; k < lanes; ++k) {
    take_in(sums[k]);
    take_in(sums_of_sums[k]);
  }
  return result;
}

}  // namespace widemargin
