// Which examples take part in sweeps, and in which order they are visited.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace widemargin {

// splitmix64: small, fast, and the same on every machine.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(
        (static_cast<std::uint64_t>((*this)() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
};

inline void shuffle(std::vector<std::int64_t>& order, std::uint64_t seed) {
  Random random{seed};
  for (std::int64_t i = std::ssize(order) - 1; i > 0; --i) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
}

// Examples are visited in blocks of neighbours, the blocks in random order and the examples in
// random order within a block: nearly as good as a full shuffle for convergence (longer blocks are
// not: measured on a9a), and faster, since neighbours lie together in memory.
constexpr std::int64_t block_length = 4;

inline std::int64_t block_count(std::int64_t examples) {
  return (examples + block_length - 1) / block_length;
}

// The turns of a block's examples, in random order.
struct Turns {
  std::uint8_t at[block_length];
  Turns(std::int64_t length, Random& random) {
    for (std::int64_t k = 0; k < length; ++k) at[k] = static_cast<std::uint8_t>(k);
    for (std::int64_t k = length - 1; k > 0; --k) std::swap(at[k], at[random.below(k + 1)]);
  }
};

// The examples `members[0, count)` take part, in increasing order. A sweep marks those that leave
// by the complement of their number.
struct Members {
  std::vector<std::int64_t> members;
  std::int64_t count = 0;

  // Lets those of the examples take part that `takes` names.
  template <class Takes>
  void open(std::int64_t examples, Takes&& takes) {
    members.clear();
    for (std::int64_t i = 0; i < examples; ++i) {
      if (takes(i)) members.push_back(i);
    }
    count = std::ssize(members);
  }

  void remove_marked() {
    auto end = members.begin() + count;
    count = std::remove_if(members.begin(), end, [](std::int64_t i) { return i < 0; }) -
            members.begin();
  }
};

// A sweep over the members, block by block, may be broken off and goes on at the block `next`.
struct ActiveSet : Members {
  std::vector<std::int64_t> blocks;
  std::int64_t next = 0;
  std::uint64_t seed = 0;  // of the turns within the blocks

  void begin_sweep(std::uint64_t shuffled_by, std::uint64_t turns_by) {
    remove_marked();
    blocks.resize(static_cast<std::size_t>(block_count(count)));
    std::iota(blocks.begin(), blocks.end(), 0);
    shuffle(blocks, shuffled_by);
    next = 0;
    seed = turns_by;
  }
  bool is_swept() const { return next == std::ssize(blocks); }
};

}  // namespace widemargin
