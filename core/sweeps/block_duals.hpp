// The dual variables of a multiclass problem: for each example a short list of (class, value) with
// the values that are not zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace widemargin {

class BlockDuals {
 public:
  // Most lists stay this short, and lie side by side unless examples are very many.
  static constexpr std::int64_t usual_room = 5;
  static constexpr std::int64_t roomy_bytes = std::int64_t{1} << 26;

  BlockDuals(std::int64_t rows, std::int64_t classes) : lists_(static_cast<std::size_t>(rows)) {
    const std::int64_t room = std::min(classes - 1, usual_room);
    const std::int64_t bytes = list_bytes(room);
    if (rows * bytes <= roomy_bytes) {
      slab_.resize(static_cast<std::size_t>(rows * bytes));
      for (std::int64_t i = 0; i < rows; ++i) {
        lists_[static_cast<std::size_t>(i)] = {slab_.data() + i * bytes, 0,
                                               static_cast<std::int32_t>(room)};
      }
    }
  }
  BlockDuals(const BlockDuals&) = delete;
  BlockDuals& operator=(const BlockDuals&) = delete;
  ~BlockDuals() {
    for (List& list : lists_) {
      if (is_apart(list)) std::free(list.bytes);
    }
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(lists_.size()); }
  std::int32_t count(std::int64_t i) const { return list(i).count; }
  const double* values(std::int64_t i) const { return reinterpret_cast<double*>(list(i).bytes); }
  const std::int32_t* classes(std::int64_t i) const {
    return reinterpret_cast<const std::int32_t*>(list(i).bytes + 8 * std::int64_t{list(i).room});
  }
  const void* header(std::int64_t i) const { return &list(i); }

  // Replaces the list of example i; entries whose value is zero are left out.
  void assign(std::int64_t i, const std::int32_t* classes, const double* values,
              std::int64_t count) {
    List& list = lists_[static_cast<std::size_t>(i)];
    if (count > list.room || is_apart(list)) {
      std::int64_t kept = 0;
      for (std::int64_t m = 0; m < count; ++m) kept += values[m] != 0.0 ? 1 : 0;
      make_room(list, kept);
    }
    double* value = reinterpret_cast<double*>(list.bytes);
    std::int32_t* place = reinterpret_cast<std::int32_t*>(list.bytes + 8 * std::int64_t{list.room});
    std::int32_t kept = 0;
    for (std::int64_t m = 0; m < count; ++m) {
      if (values[m] != 0.0) {
        value[kept] = values[m];
        place[kept++] = classes[m];
      }
    }
    list.count = kept;
  }

  bool same(const BlockDuals& other, std::int64_t i) const {
    const std::int32_t n = count(i);
    if (n != other.count(i)) return false;
    // Lists are short: a loop is faster than a call.
    for (std::int32_t m = 0; m < n; ++m) {
      if (values(i)[m] != other.values(i)[m] || classes(i)[m] != other.classes(i)[m]) return false;
    }
    return true;
  }

  void copy_from(const BlockDuals& other, std::int64_t i) {
    if (!same(other, i)) assign(i, other.classes(i), other.values(i), other.count(i));
  }

  std::int64_t total() const {
    std::int64_t total = 0;
    for (const List& list : lists_) total += list.count;
    return total;
  }

  double sum() const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < rows(); ++i) {
      for (std::int32_t m = 0; m < count(i); ++m) sum += values(i)[m];
    }
    return sum;
  }

 private:
  static constexpr std::int64_t entry_bytes = 12;
  struct List {
    char* bytes = nullptr;  // room values, then room classes
    std::int32_t count = 0;
    std::int32_t room = 0;
  };

  static std::int64_t list_bytes(std::int64_t room) { return (entry_bytes * room + 7) / 8 * 8; }
  const List& list(std::int64_t i) const { return lists_[static_cast<std::size_t>(i)]; }

  // Whether the list has memory of its own.
  bool is_apart(const List& list) const {
    return list.bytes < slab_.data() || list.bytes >= slab_.data() + slab_.size();
  }

  // Grows with a little to spare, and gives back what a list has long outgrown.
  void make_room(List& list, std::int64_t needed) {
    if (needed <= list.room && (list.room <= 4 * needed + 8 || !is_apart(list))) return;
    const std::int64_t room = needed + needed / 4 + 1;
    char* bytes = static_cast<char*>(std::malloc(static_cast<std::size_t>(list_bytes(room))));
    if (bytes == nullptr) throw std::bad_alloc();
    if (is_apart(list)) std::free(list.bytes);
    list = {bytes, 0, static_cast<std::int32_t>(room)};
  }

  std::vector<List> lists_;
  std::vector<char> slab_;
};

}  // namespace widemargin
