// Euclidean projection onto  { 0 <= a_i <= upper_i,  sum_i sign_i a_i = 0 }.
//
// The projection is clip(a_i - theta sign_i, 0, upper_i) with theta the root of a piecewise linear,
// non-increasing function: Newton steps inside a bracket, and a bisection where the slope is zero.
// What rounding leaves of the equality is shared by the coordinates inside their bounds.
// Sums are made chunk by chunk, whatever the number of threads, and so is the answer.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "threads/team.hpp"

namespace widemargin {

struct EqualityValue {
  double sum = 0.0;    // of sign_i clip(a_i - theta sign_i)
  double size = 0.0;   // of the clipped values, for judging the sum
  double slope = 0.0;  // how many of them are strictly inside
};

// Moves every a_i by -theta sign_i into its bounds, or only says what that comes to. In lanes, so
// that the sums fit vector registers.
template <bool bounded, bool moves>
EqualityValue equality_part(double* a, const double* sign, const double* upper, double theta,
                            std::int64_t count) {
  constexpr std::int64_t lanes = 8;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double sum[lanes] = {}, size[lanes] = {}, slope[lanes] = {};
  const auto visit = [&](std::int64_t i, std::int64_t lane) {
    const double most = bounded ? upper[i] : infinity;
    const double moved = a[i] - theta * sign[i];
    const double clipped = std::min(std::max(moved, 0.0), most);
    if constexpr (moves) a[i] = clipped;
    sum[lane] += sign[i] * clipped;
    size[lane] += clipped;
    slope[lane] += (moved > 0.0) & (moved < most) ? 1.0 : 0.0;
  };
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) visit(i + lane, lane);
  }
  for (; i < count; ++i) visit(i, 0);
  EqualityValue value;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    value.sum += sum[lane];
    value.size += size[lane];
    value.slope += slope[lane];
  }
  return value;
}

// No upper bounds (null) means infinite ones.
class BoxEquality {
 public:
  BoxEquality(double* a, const double* sign, const double* upper, std::int64_t count, int threads)
      : a_(a),
        sign_(sign),
        upper_(upper),
        count_(count),
        parts_(static_cast<std::size_t>((count + chunk_ - 1) / chunk_)),
        team_(std::ssize(parts_) > 1 ? threads : 1) {}

  void project() {
    double theta = 0.0;
    EqualityValue value = at(theta);
    if (!solved(value)) theta = root(value);
    // What is left is shared by those inside their bounds.
    value = move(theta);
    for (int round = 0; round < 2 && value.sum != 0.0 && value.slope > 0.0; ++round) {
      shift_inside(value.sum / value.slope);
      value = move(0.0);
    }
  }

 private:
  static constexpr std::int64_t chunk_ = std::int64_t{1} << 15;

  static bool solved(const EqualityValue& value) {
    return std::abs(value.sum) <= 1e-15 * value.size || value.sum == 0.0;
  }

  // From the value at zero.
  double root(EqualityValue value) {
    // 1) a bracket: beyond every a_i in the direction that lowers the sum's size
    const double direction = value.sum > 0.0 ? 1.0 : -1.0;
    double theta = 0.0, near = 0.0, far = direction * std::max(reach(), 1e-300);
    for (int round = 0; round < 1100; ++round) {
      if (at(far).sum * direction <= 0.0) break;
      near = far;
      far *= 2.0;
    }
    // 2) Newton inside it
    for (int round = 0; round < 200 && !solved(value); ++round) {
      (value.sum * direction > 0.0 ? near : far) = theta;
      double next = value.slope > 0.0 ? theta + value.sum / value.slope : 0.5 * (near + far);
      if (!((next - near) * direction > 0.0 && (far - next) * direction > 0.0)) {
        next = 0.5 * (near + far);
      }
      if (next == near || next == far || next == theta) break;
      theta = next;
      value = at(theta);
    }
    return theta;
  }

  EqualityValue at(double theta) {
    return upper_ ? total<true, false>(theta) : total<false, false>(theta);
  }
  EqualityValue move(double theta) {
    return upper_ ? total<true, true>(theta) : total<false, true>(theta);
  }

  template <bool bounded, bool moves>
  EqualityValue total(double theta) {
    each_chunk([&](std::int64_t part, std::int64_t begin, std::int64_t length) {
      parts_[part] = equality_part<bounded, moves>(
          a_ + begin, sign_ + begin, bounded ? upper_ + begin : nullptr, theta, length);
    });
    EqualityValue value;
    for (const EqualityValue& part : parts_) {
      value.sum += part.sum;
      value.size += part.size;
      value.slope += part.slope;
    }
    return value;
  }

  void shift_inside(double theta) {
    each_chunk([&](std::int64_t, std::int64_t begin, std::int64_t length) {
      for (std::int64_t i = begin; i < begin + length; ++i) {
        const double most = upper_ ? upper_[i] : std::numeric_limits<double>::infinity();
        const double moved = std::min(std::max(a_[i] - theta * sign_[i], 0.0), most);
        a_[i] = (a_[i] > 0.0) & (a_[i] < most) ? moved : a_[i];
      }
    });
  }

  double reach() {
    each_chunk([&](std::int64_t part, std::int64_t begin, std::int64_t length) {
      double most = 0.0;
      for (std::int64_t i = begin; i < begin + length; ++i) most = std::max(most, std::abs(a_[i]));
      parts_[part].size = most;
    });
    double most = 0.0;
    for (const EqualityValue& part : parts_) most = std::max(most, part.size);
    return most;
  }

  template <class Work>
  void each_chunk(const Work& work) {
    team_.run(std::ssize(parts_), [&](std::int64_t part, int) {
      const std::int64_t begin = part * chunk_;
      work(part, begin, std::min(chunk_, count_ - begin));
    });
  }

  double* a_;
  const double* sign_;
  const double* upper_;
  std::int64_t count_;
  std::vector<EqualityValue> parts_;
  Team team_;
};

inline void project_box_equality(double* a, const double* sign, const double* upper,
                                 std::int64_t count, int threads = 1) {
  BoxEquality(a, sign, upper, count, threads).project();
}

}  // namespace widemargin
