// Sums of numbered values in one order, whichever thread comes with them first: those of 2k and
// 2k + 1 are added first. `widemargin.data.block_work.Tree` has the same order, and so the same
// bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "threads/pool.hpp"

namespace widemargin {

// Vectors of one length, lent to whoever adds up: fresh ones from the system would cost more than
// the additions.
class Buffers {
 public:
  Buffers(std::int64_t length, std::size_t kept)
      : length_(static_cast<std::size_t>(length)), kept_(kept) {}

  // With whatever is in it.
  std::vector<double> any() {
    {
      const std::scoped_lock lock(lock_);
      if (!free_.empty()) {
        std::vector<double> buffer = std::move(free_.back());
        free_.pop_back();
        return buffer;
      }
    }
    return std::vector<double>(length_);
  }
  std::vector<double> zeros() {
    {
      const std::scoped_lock lock(lock_);
      if (!zeros_.empty()) {
        std::vector<double> buffer = std::move(zeros_.back());
        zeros_.pop_back();
        return buffer;
      }
    }
    std::vector<double> buffer = any();
    std::fill(buffer.begin(), buffer.end(), 0.0);
    return buffer;
  }
  void give_back(std::vector<double> buffer) {
    const std::scoped_lock lock(lock_);
    if (free_.size() + zeros_.size() < kept_) free_.push_back(std::move(buffer));
  }
  // One that has nothing but zeros in it.
  void give_back_zeros(std::vector<double> buffer) {
    const std::scoped_lock lock(lock_);
    if (free_.size() + zeros_.size() < kept_) zeros_.push_back(std::move(buffer));
  }

 private:
  std::size_t length_, kept_;
  std::vector<std::vector<double>> free_, zeros_;
  std::mutex lock_;
};

// Adds up vectors; an empty one is nothing to add. Those that have no neighbour yet wait, so that
// about log2 of all of them are kept. `merge(left, right)` adds the right one to the left one.
template <class Merge>
class SumTree {
 public:
  SumTree(Buffers& buffers, Merge merge) : buffers_(buffers), merge_(std::move(merge)) {}

  void add(std::int64_t place, std::vector<double> value) {
    for (int level = 0;; ++level, place >>= 1) {
      std::vector<double> other;
      {
        const std::scoped_lock lock(lock_);
        const auto found = nodes_.find({place ^ 1, level});
        if (found == nodes_.end()) {
          nodes_.emplace(std::pair(place, level), std::move(value));
          return;
        }
        other = std::move(found->second);
        nodes_.erase(found);
      }
      if ((place & 1) != 0) std::swap(value, other);
      join(value, std::move(other));
    }
  }

  // Writes the sum of all; zeros if there was nothing.
  void total(double* out, std::int64_t length) {
    std::vector<std::pair<std::int64_t, std::vector<double>*>> branches;
    for (auto& [node, value] : nodes_) branches.emplace_back(node.first << node.second, &value);
    std::sort(branches.begin(), branches.end());
    std::vector<double> sum;
    for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch) {
      std::vector<double> left = std::move(*branch->second);
      join(left, std::move(sum));
      sum = std::move(left);
    }
    if (sum.empty()) {
      std::fill(out, out + length, 0.0);
    } else {
      std::copy(sum.begin(), sum.end(), out);
      buffers_.give_back(std::move(sum));
    }
  }

 private:
  void join(std::vector<double>& left, std::vector<double> right) {
    if (right.empty()) return;
    if (left.empty()) {
      left = std::move(right);
      return;
    }
    merge_(left.data(), right.data());
    buffers_.give_back(std::move(right));
  }

  Buffers& buffers_;
  Merge merge_;
  std::map<std::pair<std::int64_t, int>, std::vector<double>> nodes_;
  std::mutex lock_;
};

// The same for vectors of many numbers: those of a group of values are all kept, and each thread
// adds up stretches of all of them, which then are in its cache. The order is that of the tree.
template <class Merge>
class GroupedSums {
 public:
  GroupedSums(Pool& pool, Buffers& buffers, Merge merge, std::int64_t length)
      : pool_(pool), buffers_(buffers), merge_(merge), length_(length) {}

  // Numbers of a stretch, and fewest that are worth it.
  static constexpr std::int64_t stretch = std::int64_t{1} << 13;

  // How many values are kept, a power of two: 32 MB of them, and enough for all threads.
  static std::int64_t group(int threads, std::int64_t length) {
    std::int64_t count = 2;
    while (count < 2 * threads || 2 * count * length <= kept_) count *= 2;
    return count;
  }
  // Adds the next values, as many as `group` but for the last ones; an empty one is nothing to add.
  void add(std::vector<std::vector<double>> parts) {
    groups_.push_back(std::move(parts));
    levels_.push_back(0);
    while (levels_.size() > 1 && levels_[levels_.size() - 2] == levels_.back()) join_last();
  }
  // Writes the sum of all; zeros if there was nothing.
  void total(double* out) {
    while (levels_.size() > 1) join_last();
    if (groups_.empty()) groups_.emplace_back(1);
    summed(std::move(groups_[0]), out);
  }

 private:
  static constexpr std::int64_t kept_ = std::int64_t{1} << 22, step_ = 1024;

  void join_last() {
    std::vector<std::vector<double>> pair(2);
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<std::vector<double>>& parts = groups_[groups_.size() - 2 + k];
      const bool any =
          std::any_of(parts.begin(), parts.end(), [](const auto& part) { return !part.empty(); });
      if (!any) continue;
      pair[k] = buffers_.any();
      summed(std::move(parts), pair[k].data());
    }
    groups_.pop_back();
    levels_.pop_back();
    groups_.back() = std::move(pair);
    ++levels_.back();
  }
  // Who is added to whom: neighbours first, then those of two, four, ... values. Returns whose
  // place the sum takes.
  static std::size_t plan(const std::vector<std::vector<double>>& parts,
                          std::vector<std::pair<std::size_t, std::size_t>>& steps) {
    std::vector<std::size_t> places(parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) places[k] = k;
    for (std::size_t width = 1; width < parts.size(); width *= 2) {
      for (std::size_t k = 0; k + width < parts.size(); k += 2 * width) {
        const std::size_t left = places[k], right = places[k + width];
        if (parts[left].empty()) {
          places[k] = right;
        } else if (!parts[right].empty()) {
          steps.emplace_back(left, right);
        }
      }
    }
    return places[0];
  }
  // Writes the sum, and makes zeros of the values.
  void summed(std::vector<std::vector<double>> parts, double* out) {
    std::vector<std::pair<std::size_t, std::size_t>> steps;
    const std::size_t sum = plan(parts, steps);
    pool_.run((length_ + stretch - 1) / stretch, [&](std::int64_t k) {
      const std::int64_t last = std::min(length_, (k + 1) * stretch);
      for (std::int64_t begin = k * stretch; begin < last; begin += step_) {
        const std::int64_t end = std::min(begin + step_, last);
        if (parts[sum].empty()) {
          std::fill(out + begin, out + end, 0.0);
          continue;
        }
        for (const auto& [left, right] : steps) {
          merge_(parts[left].data(), parts[right].data(), begin, end);
        }
        std::copy(parts[sum].data() + begin, parts[sum].data() + end, out + begin);
        for (std::vector<double>& part : parts) {
          if (!part.empty()) std::fill(part.data() + begin, part.data() + end, 0.0);
        }
      }
    });
    for (std::vector<double>& part : parts) {
      if (!part.empty()) buffers_.give_back_zeros(std::move(part));
    }
  }

  Pool& pool_;
  Buffers& buffers_;
  Merge merge_;
  std::int64_t length_;
  std::vector<std::vector<std::vector<double>>> groups_;  // values of each that are not summed yet
  std::vector<int> levels_;
};

// The same for a few numbers a chunk, which are kept until all are there.
template <class Sums, class Add>
Sums tree_sum(const std::vector<Sums>& parts, const Add& add) {
  std::vector<std::pair<int, Sums>> branches;
  for (const Sums& part : parts) {
    branches.emplace_back(0, part);
    while (branches.size() > 1 && branches[branches.size() - 2].first == branches.back().first) {
      const Sums sum = add(branches[branches.size() - 2].second, branches.back().second);
      branches.pop_back();
      branches.back() = {branches.back().first + 1, sum};
    }
  }
  Sums total = branches.back().second;
  for (std::size_t k = branches.size() - 1; k-- > 0;) total = add(branches[k].second, total);
  return total;
}

// Calls part(begin, end) for chunks of `chunk` numbers of `count`.
template <class Part>
void each_chunk(Pool& pool, std::int64_t count, std::int64_t chunk, const Part& part) {
  pool.run((count + chunk - 1) / chunk,
           [&](std::int64_t k) { part(k * chunk, std::min(count, (k + 1) * chunk)); });
}

// The sum of what part(begin, end) returns for the chunks; that of none is part(0, 0).
template <class Part, class Add>
auto chunked_sum(Pool& pool, std::int64_t count, std::int64_t chunk, const Part& part,
                 const Add& add) {
  if (count <= chunk) return part(std::int64_t{0}, count);
  using Sums = decltype(part(count, count));
  std::vector<Sums> parts(static_cast<std::size_t>((count + chunk - 1) / chunk));
  each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / chunk)] = part(begin, end);
  });
  return tree_sum(parts, add);
}

}  // namespace widemargin
