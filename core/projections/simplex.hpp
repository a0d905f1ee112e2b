// Projection onto the simplex { a >= 0, sum a = radius } and onto the l1 ball.
//
// a_i = max(m_i - theta, 0). The threshold of any subset is a lower bound for the threshold of all,
// so a sample's threshold rules out nearly every number in one pass; what survives is filtered by
// its own threshold until nothing more falls (Michelot 1986). O(n), and the answer is written only
// where it is not zero. Where most numbers stay positive, the general projection onto a box takes
// over.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "projections/box.hpp"

namespace widemargin {

// theta = largest + below. In two parts, for one number loses `below` where the largest is far
// away: the projection does not change when all numbers are moved.
struct Threshold {
  double largest, below;
};

// The exact threshold of these numbers, which are reordered.
inline Threshold filtered_threshold(std::vector<double>& values, double radius) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double value : values) largest = std::max(largest, value);
  // theta >= largest - radius: what is below that is out, however far.
  std::size_t kept = 0;
  for (const double value : values) {
    values[kept] = value - largest;
    kept += value - largest > -radius ? 1 : 0;
  }
  if (kept == 0) return {largest, -radius};  // not finite
  while (true) {
    values.resize(kept);
    double sum = 0.0;
    for (const double value : values) sum += value;
    const double below = (sum - radius) / static_cast<double>(values.size());
    kept = 0;
    for (const double value : values) {
      values[kept] = value;
      kept += value > below ? 1 : 0;
    }
    // The largest survives even where rounding says otherwise.
    if (kept == values.size() || kept == 0) return {largest, below};
  }
}

// A maximum in sixteen chains, so that it can be kept in vector registers.
inline double maximum_in_chains(const double* values, std::int64_t count) {
  constexpr int chains = 16;
  double largest[chains];
  std::fill_n(largest, chains, -std::numeric_limits<double>::infinity());
  std::int64_t j = 0;
  for (; j + chains <= count; j += chains) {
    for (int chain = 0; chain < chains; ++chain) {
      largest[chain] = std::max(largest[chain], values[j + chain]);
    }
  }
  for (; j < count; ++j) largest[0] = std::max(largest[0], values[j]);
  return *std::max_element(largest, largest + chains);
}

struct Survivor {
  std::int64_t place;
  double value;
};

// The projection of the numbers, or of their sizes; `out` holds zeros. False if so many numbers
// stay positive that a list of them does not pay.
template <bool Absolute>
bool project_sparsely(const double* m, std::int64_t count, double radius, double* out,
                      double* total) {
  constexpr std::int64_t block = 64;
  constexpr int chains = 16;
  auto size = [](double value) { return Absolute ? std::abs(value) : value; };
  // 1) a sample's threshold, a lower bound
  const std::int64_t stride = std::max<std::int64_t>(1, count / 4096);
  std::vector<double> values;
  for (std::int64_t i = stride / 2; i < count; i += stride) {
    values.push_back(size(m[i]));
  }
  const Threshold sampled = filtered_threshold(values, radius);
  // Lowered by what rounding can do, so that it is one.
  const double bound = sampled.largest + sampled.below -
                       4e-16 * (std::abs(sampled.largest) + std::abs(sampled.below));
  // 2) who is above it, by blocks of which most have nobody
  std::vector<Survivor> above;
  const auto limit = static_cast<std::size_t>(count / 16 + 4096);
  double sum = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t length = std::min(block, count - begin);
    const double* v = m + begin;
    double largest[chains], sums[chains] = {};
    std::fill_n(largest, chains, -std::numeric_limits<double>::infinity());
    std::int64_t j = 0;
    for (; j + chains <= length; j += chains) {
      for (int chain = 0; chain < chains; ++chain) {
        const double value = size(v[j + chain]);
        largest[chain] = std::max(largest[chain], value);
        sums[chain] += value;
      }
    }
    for (; j < length; ++j) {
      largest[0] = std::max(largest[0], size(v[j]));
      sums[0] += size(v[j]);
    }
    for (const double part : sums) sum += part;
    for (int half = chains / 2; half > 0; half /= 2) {
      for (int chain = 0; chain < half; ++chain) {
        largest[chain] = std::max(largest[chain], largest[chain + half]);
      }
    }
    if (largest[0] >= bound) {
      for (j = 0; j < length; ++j) {
        if (size(v[j]) >= bound) above.push_back({begin + j, v[j]});
      }
      if (above.size() > limit) return false;
    }
  }
  *total = sum;
  // 3) exact, on the survivors
  values.clear();
  for (const Survivor& one : above) {
    values.push_back(size(one.value));
  }
  const Threshold theta = filtered_threshold(values, radius);
  for (const Survivor& one : above) {
    const double rest = (size(one.value) - theta.largest) - theta.below;
    if (rest > 0.0) out[one.place] = Absolute ? std::copysign(rest, one.value) : rest;
  }
  return true;
}

// Both return a number that is finite if every m_i is (and their sum does not overflow).
inline double project_simplex(const double* m, std::int64_t count, double radius, double* out) {
  double total = 0.0;
  if (count == 0 || project_sparsely<false>(m, count, radius, out, &total)) return total;
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = maximum_in_chains(m, count);
  std::vector<double> moved;
  if (std::abs(largest) > radius) {
    // Far away: from the largest, the numbers keep their digits; what is two radii below is zero.
    moved.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      moved[static_cast<std::size_t>(i)] = std::max(-2.0 * radius, m[i] - largest);
    }
    for (std::int64_t i = 0; i < count; ++i) total += m[i];
    m = moved.data();
  }
  const BoxTerms terms{m,    {nullptr, 1.0}, {nullptr, 1.0}, {nullptr, 0.0}, {nullptr, infinity},
                       count};
  const double missing = project_box(terms, radius, out).missing;
  return moved.empty() ? missing : total;
}

inline double project_l1_ball(const double* m, std::int64_t count, double radius, double* out) {
  double total = 0.0;
  if (count == 0) return total;
  const bool sparse = project_sparsely<true>(m, count, radius, out, &total);
  if (sparse && total > radius) return total;
  if (!sparse) {
    for (std::int64_t i = 0; i < count; ++i) total += std::abs(m[i]);
  }
  if (total <= radius) {
    std::copy_n(m, count, out);
    return total;
  }
  std::vector<double> sizes(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    sizes[static_cast<std::size_t>(i)] = std::abs(m[i]);
  }
  project_simplex(sizes.data(), count, radius, out);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = std::copysign(out[i], m[i]);
  }
  return total;
}

}  // namespace widemargin
