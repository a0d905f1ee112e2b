// Weighted projection onto a box and one equality (BMRM, appendix B):
//
//   min  1/2 sum_i d_i (a_i - m_i)^2   with   l_i <= a_i <= u_i,   sum_i sigma_i a_i = z.
//
// The answer is a_i = clip(m_i + theta sigma_i / d_i, l_i, u_i) with theta the root of
// f(theta) = sum_i sigma_i a_i(theta) - z, piecewise linear and non-decreasing. The paper halves
// the set of kinks around its median. Here a sample of the terms says where the root must lie but
// for a few standard deviations; one pass verifies that bracket, sums what is linear inside it, and
// keeps the few terms with a kink there. Expected O(n): one pass to find theta, one to write.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace widemargin {

inline constexpr std::int64_t projection_block = 256;

// A vector of parameters, or one number that stands for all of them.
class Parameter {
 public:
  Parameter(const double* array, double number) : array_(array) {
    if (array == nullptr) std::fill_n(constant_, projection_block, number);
  }
  double operator[](std::int64_t i) const { return array_ ? array_[i] : constant_[0]; }
  bool is_one() const { return array_ == nullptr && constant_[0] == 1.0; }
  // The parameters of the block that starts at i.
  const double* block(std::int64_t i) const { return array_ ? array_ + i : constant_; }

 private:
  const double* array_;
  double constant_[projection_block];
};

struct BoxTerms {
  const double* middle;
  Parameter weight, sign, lower, upper;
  std::int64_t count;
};

// A sum in eight chains, so that it can be kept in vector registers.
inline double pairwise_sum(const double* values, std::int64_t count) {
  constexpr int chains = 8;
  double sums[chains] = {};
  std::int64_t j = 0;
  for (; j + chains <= count; j += chains) {
    for (int chain = 0; chain < chains; ++chain) {
      sums[chain] += values[j + chain];
    }
  }
  for (; j < count; ++j) {
    sums[0] += values[j];
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

struct RootValue {
  double sum, slope, squares;
};

// Some terms of f, copied out of the arrays.
struct TermList {
  std::vector<double> middle, slope, sign, lower, upper;

  void add(const BoxTerms& terms, std::int64_t i) {
    middle.push_back(terms.middle[i]);
    sign.push_back(terms.sign[i]);
    slope.push_back(terms.sign[i] / terms.weight[i]);
    lower.push_back(terms.lower[i]);
    upper.push_back(terms.upper[i]);
  }
  void clear() {
    for (auto* part : {&middle, &slope, &sign, &lower, &upper}) part->clear();
  }
  void reserve(std::size_t count) {
    for (auto* part : {&middle, &slope, &sign, &lower, &upper}) part->reserve(count);
  }
  // Their sum, its slope, and the sum of their squares.
  RootValue at(double theta) const {
    double sums[projection_block], slopes[projection_block];
    RootValue value{};
    const auto count = static_cast<std::int64_t>(middle.size());
    for (std::int64_t begin = 0; begin < count; begin += projection_block) {
      const std::int64_t length = std::min(projection_block, count - begin);
      const double* m = middle.data() + begin;
      const double* r = slope.data() + begin;
      const double* s = sign.data() + begin;
      const double* l = lower.data() + begin;
      const double* u = upper.data() + begin;
      for (std::int64_t j = 0; j < length; ++j) {
        const double moved = m[j] + theta * r[j];
        const double clipped = std::min(std::max(moved, l[j]), u[j]);
        sums[j] = s[j] * clipped;
        slopes[j] = clipped == moved ? s[j] * r[j] : 0.0;
      }
      value.sum += pairwise_sum(sums, length);
      value.slope += pairwise_sum(slopes, length);
      for (std::int64_t j = 0; j < length; ++j) {
        sums[j] *= sums[j];
      }
      value.squares += pairwise_sum(sums, length);
    }
    return value;
  }
};

// offset + slope theta, the share of all terms that have no kink between the brackets.
struct LinearPart {
  double offset = 0.0, slope = 0.0;
  double at(double theta) const { return slope == 0.0 ? offset : offset + slope * theta; }
};

inline constexpr double far_away = 1e300;

// The root of linear(theta) + scale sum_i terms_i(theta) between two bounds: Newton's steps inside
// a bracket, a bisection where they leave it.
inline double box_root(const TermList& terms, double scale, LinearPart linear, double low,
                       double high, double start) {
  double theta = std::clamp(start, low, high);
  double reach = 0.0;
  for (const double middle : terms.middle) {
    reach = std::max(reach, std::abs(middle));
  }
  reach = std::max(reach, std::numeric_limits<double>::min());
  for (int round = 0; round < 400; ++round) {
    const RootValue value = terms.at(theta);
    const double sum = linear.at(theta) + scale * value.sum;
    if (sum == 0.0) return theta;
    (sum < 0.0 ? low : high) = theta;
    double next = theta - sum / (linear.slope + scale * value.slope);
    if (!(next > low && next < high)) {
      if (low > -far_away && high < far_away) {
        next = low + 0.5 * (high - low);
      } else {
        // Not bracketed yet: away from where it was, further each time.
        next = sum < 0.0 ? std::max(theta, 0.0) + reach : std::min(theta, 0.0) - reach;
        reach *= 8.0;
        next = std::clamp(next, low, high);
      }
    }
    if (next == low || next == high || std::abs(next - theta) <= 4e-16 * std::abs(theta))
      return next;
    theta = next;
  }
  return theta;
}

struct BracketSums {
  double low = 0.0, high = 0.0;  // f without level, of the terms looked at, at both ends
  LinearPart linear;             // of those without a kink between the ends
};

// Look at all terms; the places of those with a kink between low and high go to `kept`.
template <bool Weighted>
BracketSums look_between(const BoxTerms& terms, double low, double high,
                         std::vector<std::int64_t>& kept) {
  double lows[projection_block], highs[projection_block], offsets[projection_block],
      slopes[projection_block], kinks[projection_block];
  BracketSums sums;
  kept.clear();
  for (std::int64_t begin = 0; begin < terms.count; begin += projection_block) {
    const std::int64_t length = std::min(projection_block, terms.count - begin);
    const double* m = terms.middle + begin;
    const double* d = terms.weight.block(begin);
    const double* s = terms.sign.block(begin);
    const double* l = terms.lower.block(begin);
    const double* u = terms.upper.block(begin);
    for (std::int64_t j = 0; j < length; ++j) {
      const double middle = m[j], sign = s[j];
      const double slope = Weighted ? sign / d[j] : sign;
      const double below = middle + low * slope, above = middle + high * slope;
      const double first = std::min(std::max(below, l[j]), u[j]);
      const double second = std::min(std::max(above, l[j]), u[j]);
      // Inside its bounds at both ends it is linear between them; the same at both, constant.
      const double moves = (first == below ? 1.0 : 0.0) * (second == above ? 1.0 : 0.0);
      const double stays = first == second ? 1.0 : 0.0;
      const double constant = stays > 0.5 ? first : 0.0;
      lows[j] = sign * first;
      highs[j] = sign * second;
      offsets[j] = sign * (moves > 0.5 ? middle : constant);
      slopes[j] = moves * (sign * slope);
      kinks[j] = (1.0 - moves) * (1.0 - stays);
    }
    sums.low += pairwise_sum(lows, length);
    sums.high += pairwise_sum(highs, length);
    sums.linear.offset += pairwise_sum(offsets, length);
    sums.linear.slope += pairwise_sum(slopes, length);
    if (pairwise_sum(kinks, length) > 0.0) {
      std::size_t filled = kept.size();
      kept.resize(filled + static_cast<std::size_t>(length));
      for (std::int64_t j = 0; j < length; ++j) {
        kept[filled] = begin + j;
        filled += kinks[j] != 0.0 ? 1 : 0;
      }
      kept.resize(filled);
    }
  }
  return sums;
}

template <bool Weighted>
double box_multiplier(const BoxTerms& terms, double level) {
  // So many that what they leave in the bracket is about as many again.
  const auto sample_size =
      static_cast<std::int64_t>(std::cbrt(terms.count) * std::cbrt(terms.count));
  TermList chosen;
  double low = -far_away, high = far_away;
  if (terms.count > 16384) {
    // 1) a sample, and the root's bracket by its standard error
    std::minstd_rand random(1);
    std::uniform_int_distribution<std::int64_t> place(0, terms.count - 1);
    chosen.reserve(static_cast<std::size_t>(sample_size));
    for (std::int64_t k = 0; k < sample_size; ++k) {
      chosen.add(terms, place(random));
    }
    const double scale = static_cast<double>(terms.count) / static_cast<double>(sample_size);
    const double middle = box_root(chosen, scale, {-level, 0.0}, low, high, 0.0);
    const RootValue there = chosen.at(middle);
    const double variation =
        there.squares - there.sum * there.sum / static_cast<double>(sample_size);
    double width = 4.0 * scale * std::sqrt(std::max(variation, 0.0));
    std::vector<std::int64_t> kept;
    for (int round = 0; round < 4; ++round, width *= 16.0) {
      // A bound that the sample cannot reach is no bound.
      const double from = box_root(chosen, scale, {width - level, 0.0}, low, high, middle);
      const double to = box_root(chosen, scale, {-width - level, 0.0}, low, high, middle);
      // 2) one pass: is the root between them, and who has a kink there?
      const BracketSums sums = look_between<Weighted>(terms, from, to, kept);
      if (sums.low > level) {
        high = from;
      } else if (sums.high < level) {
        low = to;
      } else {
        // 3) the exact root, on what is left
        chosen.clear();
        chosen.reserve(kept.size());
        for (const std::int64_t i : kept) {
          chosen.add(terms, i);
        }
        return box_root(chosen, 1.0, {sums.linear.offset - level, sums.linear.slope}, from, to,
                        middle);
      }
    }
  }
  chosen.clear();
  chosen.reserve(static_cast<std::size_t>(terms.count));
  for (std::int64_t i = 0; i < terms.count; ++i) {
    chosen.add(terms, i);
  }
  return box_root(chosen, 1.0, {-level, 0.0}, low, high, 0.0);
}

// What is left of the equality once theta has been written into the answer.
struct BoxRest {
  double sum = 0.0, size = 0.0, slope = 0.0;
};

template <bool Weighted>
BoxRest write_projection(const BoxTerms& terms, double theta, double* out) {
  double parts[projection_block], slopes[projection_block];
  BoxRest rest;
  for (std::int64_t begin = 0; begin < terms.count; begin += projection_block) {
    const std::int64_t length = std::min(projection_block, terms.count - begin);
    const double* m = terms.middle + begin;
    const double* d = terms.weight.block(begin);
    const double* s = terms.sign.block(begin);
    const double* l = terms.lower.block(begin);
    const double* u = terms.upper.block(begin);
    double* to = out + begin;
    for (std::int64_t j = 0; j < length; ++j) {
      const double sign = s[j];
      const double slope = Weighted ? sign / d[j] : sign;
      const double moved = m[j] + theta * slope;
      const double value = std::min(std::max(moved, l[j]), u[j]);
      to[j] = value;
      parts[j] = sign * value;
      slopes[j] = value == moved ? sign * slope : 0.0;
    }
    rest.sum += pairwise_sum(parts, length);
    rest.slope += pairwise_sum(slopes, length);
    for (std::int64_t j = 0; j < length; ++j) {
      parts[j] = std::abs(parts[j]);
    }
    rest.size += pairwise_sum(parts, length);
  }
  return rest;
}

struct BoxAnswer {
  double multiplier, missing, size;  // missing: what the equality lacks; size: of its terms
};

template <bool Weighted>
BoxAnswer project_box_with(const BoxTerms& terms, double level, double* out) {
  // What sums of so many terms can be trusted to.
  const double rounding = 1e-15 * std::sqrt(static_cast<double>(terms.count) + 100.0);
  double theta = box_multiplier<Weighted>(terms, level);
  BoxAnswer answer{};
  for (int round = 0; round < 3; ++round) {
    const BoxRest rest = write_projection<Weighted>(terms, theta, out);
    answer = {theta, level - rest.sum, rest.size};
    if (std::abs(answer.missing) <= rounding * (rest.size + std::abs(level))) break;
    const double next = theta + answer.missing / rest.slope;
    if (!(rest.slope > 0.0) || next == theta) break;
    theta = next;
  }
  return answer;
}

// `out` may not be `terms.middle`: what rounding leaves of the equality is mended by writing a
// second time.
inline BoxAnswer project_box(const BoxTerms& terms, double level, double* out) {
  return terms.weight.is_one() ? project_box_with<false>(terms, level, out)
                               : project_box_with<true>(terms, level, out);
}

}  // namespace widemargin
