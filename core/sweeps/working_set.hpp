// Dual descent inside a working set whose kernel matrix is dense: two coordinates at a time where
// the equality binds them (sequential minimal optimisation, second-order choice), else one.
//
// In u = y a the labels disappear: minimise 1/2 u'(K + diag(shift))u - y'u, lower <= u <= upper,
// and with the equality sum u = 0. The slack F = y - K u - shift u is minus the gradient.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace widemargin {

// What a coordinate may do: arrays over the set, padded to a multiple of `set_lanes`.
struct BoxArrays {
  std::vector<double> value, slack, lower, upper, diagonal, shift;

  void resize(std::size_t size) {
    for (auto* array : {&value, &slack, &lower, &upper, &diagonal, &shift}) {
      array->assign(size, 0.0);
    }
  }
};

constexpr std::int64_t set_lanes = 4;
constexpr double smallest_curvature = 1e-12;
constexpr double infinite = std::numeric_limits<double>::infinity();

#if defined(__GNUC__)
typedef double LaneDoubles __attribute__((vector_size(32)));
typedef long long LanePlaces __attribute__((vector_size(32)));

inline LaneDoubles load_lanes(const double* from) {
  LaneDoubles lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline LaneDoubles load_lanes(const float* from) {
  typedef float LaneFloats __attribute__((vector_size(16)));
  LaneFloats lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return __builtin_convertvector(lanes, LaneDoubles);
}
inline void store_lanes(double* to, LaneDoubles lanes) { std::memcpy(to, &lanes, sizeof lanes); }
inline LaneDoubles all_lanes(double x) { return LaneDoubles{x, x, x, x}; }
inline LaneDoubles larger(LaneDoubles a, LaneDoubles b) { return a > b ? a : b; }

// The largest of many values and its place.
struct Largest {
  LaneDoubles best = all_lanes(-infinite);
  LanePlaces at = {-1, -1, -1, -1}, here = {0, 1, 2, 3};

  void take(LaneDoubles values) {
    const auto more = values > best;
    best = more ? values : best;
    at = more ? here : at;
    here += set_lanes;
  }
  std::int64_t place() const {
    int lane = 0;
    for (int l = 1; l < set_lanes; ++l) {
      const bool first = best[l] == best[lane] && at[l] < at[lane];
      if (best[l] > best[lane] || first) lane = l;
    }
    return best[lane] > -infinite ? at[lane] : -1;
  }
  double value() const { return std::max({best[0], best[1], best[2], best[3]}); }
};
#else
struct LaneDoubles {
  double at[set_lanes];
  double operator[](int l) const { return at[l]; }
};
struct LaneTruths {
  bool at[set_lanes];
};
template <class Operation>
LaneDoubles by_lane(Operation&& operation) {
  LaneDoubles out;
  for (int l = 0; l < set_lanes; ++l) out.at[l] = operation(l);
  return out;
}
inline LaneDoubles operator+(LaneDoubles a, LaneDoubles b) {
  return by_lane([&](int l) { return a[l] + b[l]; });
}
inline LaneDoubles operator-(LaneDoubles a, LaneDoubles b) {
  return by_lane([&](int l) { return a[l] - b[l]; });
}
inline LaneDoubles operator*(LaneDoubles a, LaneDoubles b) {
  return by_lane([&](int l) { return a[l] * b[l]; });
}
inline LaneDoubles operator/(LaneDoubles a, LaneDoubles b) {
  return by_lane([&](int l) { return a[l] / b[l]; });
}
inline LaneDoubles operator-(LaneDoubles a) {
  return by_lane([&](int l) { return -a[l]; });
}
template <class T>
LaneDoubles load_lanes(const T* from) {
  return by_lane([&](int l) { return static_cast<double>(from[l]); });
}
inline void store_lanes(double* to, LaneDoubles lanes) { std::memcpy(to, &lanes, sizeof lanes); }
inline LaneDoubles all_lanes(double x) { return {{x, x, x, x}}; }
inline LaneDoubles larger(LaneDoubles a, LaneDoubles b) {
  return by_lane([&](int l) { return std::max(a[l], b[l]); });
}
struct Largest {
  double best = -infinite;
  std::int64_t at = -1, here = 0;
  void take(LaneDoubles values) {
    for (int l = 0; l < set_lanes; ++l) {
      if (values[l] > best) best = values[l], at = here + l;
    }
    here += set_lanes;
  }
  std::int64_t place() const { return at; }
  double value() const { return best; }
};
#endif

// A working set: its arrays, and a kernel matrix whose rows are `stride` apart, padded alike.
template <class Real>
class WorkingSet {
 public:
  BoxArrays box;

  // Sets the size; the caller fills `box` and `row(i)`.
  void resize(std::int64_t size) {
    size_ = size;
    stride_ = (size + set_lanes - 1) / set_lanes * set_lanes;
    box.resize(static_cast<std::size_t>(stride_));
    kernel_.assign(static_cast<std::size_t>(size * stride_), Real(0));
    rises_.resize(static_cast<std::size_t>(stride_));
    falls_.resize(static_cast<std::size_t>(stride_));
  }
  std::int64_t size() const { return size_; }
  Real* row(std::int64_t i) { return kernel_.data() + i * stride_; }

  // Descends until no pair, or no coordinate, violates optimality by more than `tolerance`, or than
  // `share` of what it was at first. Returns the steps taken.
  std::int64_t descend(bool equality, double tolerance, double share, std::int64_t most) {
    for (std::int64_t i = 0; i < stride_; ++i) mark(i);
    return equality ? descend_pairs(tolerance, share, most)
                    : descend_singles(tolerance, share, most);
  }

 private:
  // Zero where the coordinate may rise or fall, else minus infinity.
  void mark(std::int64_t i) {
    const bool real = i < size_;
    rises_[i] = real && box.value[i] < box.upper[i] ? 0.0 : -infinite;
    falls_[i] = real && box.value[i] > box.lower[i] ? 0.0 : -infinite;
  }

  // Moves up by `change` at i and down by as much at j, if there is a j.
  void move(std::int64_t i, std::int64_t j, double change) {
    const Real* first = row(i);
    const LaneDoubles step = all_lanes(change);
    if (j < 0) {
      for (std::int64_t k = 0; k < stride_; k += set_lanes) {
        store_lanes(&box.slack[k], load_lanes(&box.slack[k]) - step * load_lanes(first + k));
      }
    } else {
      const Real* second = row(j);
      for (std::int64_t k = 0; k < stride_; k += set_lanes) {
        const LaneDoubles difference = load_lanes(first + k) - load_lanes(second + k);
        store_lanes(&box.slack[k], load_lanes(&box.slack[k]) - step * difference);
      }
      box.slack[j] += change * box.shift[j];
    }
    box.slack[i] -= change * box.shift[i];
  }

  std::int64_t descend_pairs(double tolerance, double share, std::int64_t most) {
    for (std::int64_t step = 0; step < most; ++step) {
      // 1) the coordinate that wants most to rise, and how much the others want to fall
      Largest up, down;
      for (std::int64_t k = 0; k < stride_; k += set_lanes) {
        const LaneDoubles slack = load_lanes(&box.slack[k]);
        up.take(slack + load_lanes(&rises_[k]));
        down.take(load_lanes(&falls_[k]) - slack);
      }
      const std::int64_t i = up.place();
      if (i < 0 || down.place() < 0) return step;
      const double highest = box.slack[i], violation = highest + down.value();
      if (step == 0) tolerance = std::max(tolerance, share * violation);
      if (violation <= tolerance) return step;
      // 2) its partner, by the decrease it promises
      const std::int64_t j = partner(i, highest);
      if (j < 0) return step;
      // 3) the exact step, cut at the bounds
      const double curvature =
          std::max(smallest_curvature, box.diagonal[i] + box.diagonal[j] - 2.0 * double(row(i)[j]));
      const double room_up = box.upper[i] - box.value[i], room_down = box.value[j] - box.lower[j];
      const double change = std::min({(highest - box.slack[j]) / curvature, room_up, room_down});
      if (box.value[i] + change == box.value[i] && box.value[j] - change == box.value[j]) {
        return step;
      }
      move(i, j, change);
      // A bound that was reached is held exactly.
      box.value[i] = change == room_up ? box.upper[i] : box.value[i] + change;
      box.value[j] = change == room_down ? box.lower[j] : box.value[j] - change;
      mark(i), mark(j);
    }
    return most;
  }

  std::int64_t partner(std::int64_t i, double highest) {
    const Real* first = row(i);
    const LaneDoubles own = all_lanes(box.diagonal[i]), top = all_lanes(highest);
    const LaneDoubles two = all_lanes(2.0), least = all_lanes(smallest_curvature);
    Largest gain;
    for (std::int64_t k = 0; k < stride_; k += set_lanes) {
      const LaneDoubles slope = larger(top - load_lanes(&box.slack[k]), all_lanes(0.0));
      const LaneDoubles curvature =
          larger(own + load_lanes(&box.diagonal[k]) - two * load_lanes(first + k), least);
      gain.take(slope * slope / curvature + load_lanes(&falls_[k]));
    }
    return gain.value() > 0.0 ? gain.place() : -1;
  }

  std::int64_t descend_singles(double tolerance, double share, std::int64_t most) {
    const LaneDoubles least = all_lanes(smallest_curvature), zero = all_lanes(0.0);
    for (std::int64_t step = 0; step < most; ++step) {
      Largest violation, gain;
      for (std::int64_t k = 0; k < stride_; k += set_lanes) {
        const LaneDoubles slack = load_lanes(&box.slack[k]);
        const LaneDoubles wish =
            larger(slack + load_lanes(&rises_[k]), larger(load_lanes(&falls_[k]) - slack, zero));
        violation.take(wish);
        gain.take(wish * wish / larger(load_lanes(&box.diagonal[k]), least));
      }
      if (step == 0) tolerance = std::max(tolerance, share * violation.value());
      if (violation.value() <= tolerance) return step;
      const std::int64_t i = gain.place();
      if (i < 0 || i >= size_) return step;  // numbers beyond the range of double
      const double curvature = std::max(box.diagonal[i], smallest_curvature);
      const double target =
          std::clamp(box.value[i] + box.slack[i] / curvature, box.lower[i], box.upper[i]);
      if (target == box.value[i]) return step;
      move(i, -1, target - box.value[i]);
      box.value[i] = target;
      mark(i);
    }
    return most;
  }

  std::int64_t size_ = 0, stride_ = 0;
  std::vector<Real> kernel_;
  std::vector<double> rises_, falls_;
};

}  // namespace widemargin
