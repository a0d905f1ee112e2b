// Rows of a matrix kept within a limit of memory; the least recently used make room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <vector>

namespace widemargin {

template <class Real>
class RowCache {
 public:
  // Rows of `length` numbers, one for each of `count` examples; at least `least` can be kept.
  RowCache(std::int64_t count, std::int64_t length, double bytes, std::int64_t least)
      : length_(length), rows_(static_cast<std::size_t>(count)) {
    const double room =
        bytes / (sizeof(Real) * static_cast<double>(std::max<std::int64_t>(1, length)));
    room_ = std::max(least, static_cast<std::int64_t>(std::min(room, static_cast<double>(count))));
  }

  std::int64_t room() const { return room_; }
  bool holds(std::int64_t i) const { return !rows_[i].values.empty(); }
  const Real* row(std::int64_t i) const { return rows_[i].values.data(); }

  // Marks a row that is held as the latest.
  void touch(std::int64_t i) { order_.splice(order_.end(), order_, rows_[i].turn); }

  // Returns memory for a row that is not held, which becomes the latest.
  Real* make(std::int64_t i) {
    auto& fresh = rows_[i];
    if (static_cast<std::int64_t>(order_.size()) >= room_) {
      auto& oldest = rows_[order_.front()];
      fresh.values.swap(oldest.values);
      order_.pop_front();
    } else {
      fresh.values.resize(static_cast<std::size_t>(length_));
    }
    fresh.turn = order_.insert(order_.end(), i);
    return fresh.values.data();
  }

 private:
  struct Kept {
    std::vector<Real> values;
    std::list<std::int64_t>::iterator turn;
  };

  std::int64_t length_, room_;
  std::vector<Kept> rows_;
  std::list<std::int64_t> order_;  // oldest first
};

}  // namespace widemargin
