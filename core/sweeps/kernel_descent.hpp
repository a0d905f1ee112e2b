// Dual descent by working sets over one kernel problem: choose the examples that violate optimality
// most, solve for them alone, carry the change to all slacks.
//
//   minimise 1/2 u'(K + diag(shift))u - y'u,  lower <= u <= upper  (and sum u = 0)
//
// Rows of K are held in float, or in double; whoever owns the descent supplies those it asks for.
// The slack F = y - K u of every example gives the duality gap for free.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sweeps/row_cache.hpp"
#include "sweeps/working_set.hpp"

namespace widemargin {

struct KernelBox {
  const double* y;
  const double* upper;  // of a = y u
  const double* shift;
  const double* diagonal;  // of K
  std::int64_t count;
  bool equality;
};

struct GapEstimate {
  double gap, primal;
};

// Sees when nothing but rounding moves: near the solution variables can go to and fro for ever.
//
// A step on a violation v wins about v^2 over the curvature. Where the relative gap is below the
// root of the rounding unit, that is less than the rounding of the objective: nothing says any more
// that descent descends. There it has to halve the gap while every example gets a turn and as many
// rounds go by as were needed so far.
class Halving {
 public:
  explicit Halving(std::int64_t turns) : turns_(turns) {}

  bool stands_still(const GapEstimate& now) {
    ++rounds_;
    if (now.gap < 0.5 * last_) {
      last_ = now.gap;
      before_ = rounds_;
    }
    const double level = std::sqrt(std::numeric_limits<double>::epsilon());
    return now.gap <= level * now.primal && rounds_ - before_ > before_ + turns_;
  }

 private:
  double last_ = infinite;
  std::int64_t turns_, rounds_ = 0, before_ = 0;
};

// How working sets are made: members at first and at most, and the share of the violation that
// descent inside a set leaves.
struct SetSizes {
  std::int64_t first, most;
  double share;
};

template <class Real>
class KernelDescent {
 public:
  KernelDescent(const KernelBox& box, SetSizes sizes, double cache_bytes)
      : box_(box),
        sizes_(sizes),
        size_(std::min(sizes.first, sizes.most)),
        u_(static_cast<std::size_t>(box.count), 0.0),
        slack_(box.y, box.y + box.count),
        place_in_set_(static_cast<std::size_t>(box.count), -1),
        cache_(box.count, box.count, cache_bytes, std::min(box.count, sizes.most)),
        halving_(box.count / std::max<std::int64_t>(1, size_) + 1) {}

  // Starts at other dual variables, whose scores K u are given.
  void place(const double* u, const double* scores) {
    for (std::int64_t i = 0; i < box_.count; ++i) {
      u_[i] = u[i];
      slack_[i] = box_.y[i] - scores[i];
    }
    halving_ = Halving(box_.count / std::max<std::int64_t>(1, size_) + 1);
  }

  const std::vector<double>& values() const { return u_; }
  double intercept() const { return intercept_; }

  // Chooses the next working set and returns the examples whose rows of K are missing; empty where
  // nothing violates optimality by more than rounding.
  const std::vector<std::int64_t>& choose() {
    set_.clear();
    rank();
    take_violators();
    keep_members();
    std::sort(set_.begin(), set_.end());  // reads of a row go forward
    missing_.clear();
    for (const std::int64_t i : set_) {
      place_in_set_[i] = -1;
      if (cache_.holds(i)) {
        cache_.touch(i);
      } else {
        missing_.push_back(i);
      }
    }
    return missing_;
  }

  bool finished() const { return set_.empty(); }

  // Memory for the rows that were asked for.
  std::vector<Real*> rooms() {
    std::vector<Real*> out;
    for (const std::int64_t i : missing_) out.push_back(cache_.make(i));
    return out;
  }

  // Descends inside the set and brings all slacks up to date; returns the operations.
  double descend() {
    const auto size = static_cast<std::int64_t>(set_.size());
    fill_set(size);
    // Bounded, so that a call comes back soon.
    const std::int64_t most = std::min(200 * size, 50'000'000 / size);
    const std::int64_t steps = inner_.descend(box_.equality, 1e-12, sizes_.share, most);
    std::vector<std::int64_t> moved;
    std::vector<double> change;
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t i = set_[k];
      const double difference = inner_.box.value[k] - u_[i];
      if (difference == 0.0) continue;
      moved.push_back(i);
      change.push_back(difference);
      u_[i] = inner_.box.value[k];
    }
    stuck_ = moved.empty();
    carry(moved, change);
    // Besides steps and moves: the matrix of the set, the ranking and the gap, and the round
    // itself.
    const double round = 1.0 * size * size + 8.0 * box_.count + 1000.0;
    return static_cast<double>(steps) * 2.0 * size +
           static_cast<double>(moved.size()) * box_.count + round;
  }

  // Whether the last round moved nothing, or nothing but rounding; `now` is the estimate after it.
  bool stuck(const GapEstimate& now) { return halving_.stands_still(now) || stuck_; }

  // P - D and P at the present point, with an intercept from the slacks.
  GapEstimate estimate() {
    intercept_ = box_.equality ? middle() : 0.0;
    double gap = 0.0, linear = 0.0, quadratic = 0.0;
    for (std::int64_t i = 0; i < box_.count; ++i) {
      const double u = u_[i], y = box_.y[i], size = y * u, shift = box_.shift[i];
      const double miss = y * (slack_[i] - intercept_), loss = miss > 0.0 ? miss : 0.0;
      // A parabola in a stands for the squared loss: its cost is 1 / (2 shift).
      gap += shift > 0.0 ? 0.5 * loss * loss / shift + 0.5 * shift * u * u - size * miss
                         : (loss > 0.0 ? box_.upper[i] * loss : 0.0) - size * miss;
      linear += size - 0.5 * shift * u * u;
      quadratic += u * (y - slack_[i]);
    }
    return {gap, gap + linear - 0.5 * quadratic};
  }

  double violation() const { return violation_; }

 private:
  bool rises(std::int64_t i) const { return u_[i] < (box_.y[i] > 0.0 ? box_.upper[i] : 0.0); }
  bool falls(std::int64_t i) const { return u_[i] > (box_.y[i] > 0.0 ? 0.0 : -box_.upper[i]); }
  double wish(std::int64_t i) const { return slack_[i] - box_.shift[i] * u_[i]; }

  struct Candidate {
    double wish;
    std::uint32_t turn;  // scatters the examples among which a choice does not matter
    std::int64_t place;
    bool operator<(const Candidate& other) const {
      return wish != other.wish ? wish > other.wish : turn < other.turn;
    }
  };
  static Candidate candidate(double wish, std::int64_t i) {
    return {wish, static_cast<std::uint32_t>(i) * 2654435761u, i};
  }

  // Who wants to rise and who to fall; without the equality, the size of the wish alone counts.
  void rank() {
    up_.clear();
    down_.clear();
    double highest = -infinite, lowest = infinite;
    for (std::int64_t i = 0; i < box_.count; ++i) {
      const double w = wish(i);
      if (rises(i)) highest = std::max(highest, w);
      if (falls(i)) lowest = std::min(lowest, w);
    }
    if (!box_.equality) highest = std::max(highest, 0.0), lowest = std::min(lowest, 0.0);
    violation_ = highest - lowest;
    if (!(violation_ > 0.0)) return;
    for (std::int64_t i = 0; i < box_.count; ++i) {
      const double w = wish(i);
      // Only those that could pair with someone of the other side.
      if (rises(i) && w > (box_.equality ? lowest : 0.0)) up_.push_back(candidate(w, i));
      if (falls(i) && w < (box_.equality ? highest : 0.0)) down_.push_back(candidate(-w, i));
    }
  }

  void add(std::int64_t i) {
    if (place_in_set_[i] < 0) {
      place_in_set_[i] = static_cast<std::int64_t>(set_.size());
      set_.push_back(i);
    }
  }

  void take_violators() {
    if (up_.empty() && down_.empty()) return;
    const auto half = static_cast<std::size_t>(std::max<std::int64_t>(1, size_ / 2));
    for (auto* side : {&up_, &down_}) {
      const std::size_t some = std::min(half, side->size());
      if (some == 0) continue;
      std::nth_element(side->begin(), side->begin() + static_cast<std::ptrdiff_t>(some) - 1,
                       side->end());
      for (std::size_t k = 0; k < some; ++k) add((*side)[k].place);
    }
  }

  // All free examples whose rows are at hand take part, as far as there is room: their values hang
  // together, and a set without some of them would have to be solved again and again.
  void keep_members() {
    if (set_.empty()) return;
    for (std::int64_t i = 0; i < box_.count; ++i) {
      if (static_cast<std::int64_t>(set_.size()) >= sizes_.most) return;
      if (rises(i) && falls(i) && cache_.holds(i)) add(i);
    }
  }

  void fill_set(std::int64_t size) {
    inner_.resize(size);
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t i = set_[k];
      const bool positive = box_.y[i] > 0.0;
      inner_.box.value[k] = u_[i];
      inner_.box.slack[k] = wish(i);
      inner_.box.lower[k] = positive ? 0.0 : -box_.upper[i];
      inner_.box.upper[k] = positive ? box_.upper[i] : 0.0;
      inner_.box.shift[k] = box_.shift[i];
      inner_.box.diagonal[k] = box_.diagonal[i] + box_.shift[i];
      const Real* from = cache_.row(i);
      Real* to = inner_.row(k);
      for (std::int64_t l = 0; l < size; ++l) to[l] = from[set_[l]];
    }
  }

  // slack -= sum change * row, four rows at a time
  void carry(const std::vector<std::int64_t>& moved, const std::vector<double>& change) {
    std::size_t k = 0;
    for (; k + 4 <= moved.size(); k += 4) {
      const Real *a = cache_.row(moved[k]), *b = cache_.row(moved[k + 1]),
                 *c = cache_.row(moved[k + 2]), *d = cache_.row(moved[k + 3]);
      const double s = change[k], t = change[k + 1], v = change[k + 2], w = change[k + 3];
      for (std::int64_t i = 0; i < box_.count; ++i) {
        slack_[i] -= (s * a[i] + t * b[i]) + (v * c[i] + w * d[i]);
      }
    }
    for (; k < moved.size(); ++k) {
      const Real* row = cache_.row(moved[k]);
      for (std::int64_t i = 0; i < box_.count; ++i) slack_[i] -= change[k] * row[i];
    }
  }

  // The mean slack of free examples, else the middle of what the others allow.
  double middle() const {
    double sum = 0.0, highest = -infinite, lowest = infinite;
    std::int64_t free = 0;
    for (std::int64_t i = 0; i < box_.count; ++i) {
      const bool up = rises(i), down = falls(i);
      const double w = wish(i);
      if (up && down) sum += w, ++free;
      if (up) highest = std::max(highest, w);
      if (down) lowest = std::min(lowest, w);
    }
    if (free > 0) return sum / static_cast<double>(free);
    if (highest == -infinite || lowest == infinite) return 0.0;
    return 0.5 * (highest + lowest);
  }

  KernelBox box_;
  SetSizes sizes_;
  std::int64_t size_;
  std::vector<double> u_, slack_;
  std::vector<std::int64_t> set_, missing_, place_in_set_;
  std::vector<Candidate> up_, down_;
  WorkingSet<Real> inner_;
  RowCache<Real> cache_;
  Halving halving_;
  double violation_ = 0.0, intercept_ = 0.0;
  bool stuck_ = false;
};

}  // namespace widemargin
