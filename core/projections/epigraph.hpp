// Euclidean projections onto the epigraphs  { (x, s) : norm(x) <= aperture s }  of the norms 1, 2
// and infinity, and onto the balls of these norms (DRSVM, appendix A).
//
// Each is known by one number, the multiplier rho >= 0 of the constraint: s grows by aperture rho,
// and x shrinks: by rho in every magnitude (norm 1), by rho in length (norm 2), or down to a height
// that takes rho in all from the magnitudes above it (norm infinity). The threshold of the first
// and the last solves one piecewise linear equation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/chains.hpp"

namespace widemargin {

// The t >= 0 with  sum max(v_i - t, 0) = offset + slope t  for v >= 0, by pivots: O(count)
// expected. `values` is reordered. Without a root above zero the answer is zero.
inline double threshold(double* values, std::int64_t count, double offset, double slope) {
  double sum = 0.0, used = 0.0;
  std::int64_t begin = 0, end = count;
  while (begin < end) {
    // The middle one of three keeps sorted input from being the worst case.
    const double a = values[begin], b = values[begin + (end - begin) / 2], c = values[end - 1];
    const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    // 1) larger ones to the front, equal ones between
    std::int64_t above = begin, rest = end;
    double larger = 0.0;
    for (std::int64_t i = begin; i < rest;) {
      if (values[i] > pivot) {
        larger += values[i];
        std::swap(values[above++], values[i++]);
      } else if (values[i] < pivot) {
        std::swap(values[i], values[--rest]);
      } else {
        ++i;
      }
    }
    // 2) on which side of the pivot is the root?
    const double at_pivot = sum + larger - (used + static_cast<double>(above - begin)) * pivot;
    if (at_pivot > offset + slope * pivot) {
      end = above;
    } else {
      sum += larger + static_cast<double>(rest - above) * pivot;
      used += static_cast<double>(rest - begin);
      begin = rest;
    }
  }
  return used + slope > 0.0 ? std::max((sum - offset) / (used + slope), 0.0) : 0.0;
}

// The same root for the magnitudes of x, by Newton steps from a guess: convex and decreasing, so
// they settle after one or two when the guess is good. Reads x only.
inline double threshold_near(const double* x, std::int64_t count, double offset, double slope,
                             double guess) {
  double t = std::max(guess, 0.0), before = -1.0;
  for (int round = 0; round < 100; ++round) {
    double sums[chains] = {}, counts[chains] = {}, sum = 0.0, used = 0.0;
    std::int64_t j = 0;
    for (; j + chains <= count; j += chains) {
      for (int chain = 0; chain < chains; ++chain) {
        const double magnitude = std::abs(x[j + chain]);
        sums[chain] += magnitude > t ? magnitude : 0.0;
        counts[chain] += magnitude > t ? 1.0 : 0.0;
      }
    }
    for (; j < count; ++j) {
      const double magnitude = std::abs(x[j]);
      sum += magnitude > t ? magnitude : 0.0;
      used += magnitude > t ? 1.0 : 0.0;
    }
    for (int chain = 0; chain < chains; ++chain) {
      sum += sums[chain];
      used += counts[chain];
    }
    if (used + slope <= 0.0) {
      // Beyond every magnitude, and the right-hand side is flat: come back.
      t *= 0.5;
      continue;
    }
    const double next = std::max((sum - offset) / (used + slope), 0.0);
    if (std::abs(next - t) <= 1e-15 * next || next == before) {
      return next;
    }
    before = t;
    t = next;
  }
  return t;
}

struct NormOne {
  static double length(const double* x, std::int64_t count) {
    return sum_in_chains(count, [&](std::int64_t j) { return std::abs(x[j]); });
  }
  static double shrunk(double x, double rho) {
    return x > rho ? x - rho : (x < -rho ? x + rho : 0.0);
  }
};

struct NormTwo {
  static double length(const double* x, std::int64_t count) {
    return std::sqrt(sum_in_chains(count, [&](std::int64_t j) { return x[j] * x[j]; }));
  }
};

struct NormInfinity {
  static double length(const double* x, std::int64_t count) {
    double most[chains] = {};
    std::int64_t j = 0;
    for (; j + chains <= count; j += chains) {
      for (int chain = 0; chain < chains; ++chain) {
        const double magnitude = std::abs(x[j + chain]);
        most[chain] = magnitude > most[chain] ? magnitude : most[chain];
      }
    }
    double all = 0.0;
    for (; j < count; ++j) all = std::max(all, std::abs(x[j]));
    for (int chain = 0; chain < chains; ++chain) all = std::max(all, most[chain]);
    return all;
  }
};

// Projects (x, s) in place onto the epigraph; returns the new s.
inline double project_epigraph(NormOne, double* x, std::int64_t count, double s, double aperture,
                               std::vector<double>& scratch) {
  if (NormOne::length(x, count) <= aperture * s) return s;
  scratch.resize(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) scratch[j] = std::abs(x[j]);
  double rho = threshold(scratch.data(), count, aperture * s, aperture * aperture);
  rho = std::max(rho, -s / aperture);
  for (std::int64_t j = 0; j < count; ++j) x[j] = NormOne::shrunk(x[j], rho);
  return std::max(s + aperture * rho, 0.0);
}

inline double project_epigraph(NormTwo, double* x, std::int64_t count, double s, double aperture,
                               std::vector<double>&) {
  const double length = NormTwo::length(x, count);
  if (length <= aperture * s) return s;
  const double price = (s + aperture * length) / (1.0 + aperture * aperture);
  const double scale = price > 0.0 ? aperture * price / length : 0.0;
  for (std::int64_t j = 0; j < count; ++j) x[j] *= scale;
  return std::max(price, 0.0);
}

inline double project_epigraph(NormInfinity, double* x, std::int64_t count, double s,
                               double aperture, std::vector<double>& scratch) {
  if (NormInfinity::length(x, count) <= aperture * s) return s;
  scratch.resize(static_cast<std::size_t>(count));
  for (std::int64_t j = 0; j < count; ++j) scratch[j] = std::abs(x[j]);
  const double height =
      threshold(scratch.data(), count, -s / aperture, 1.0 / (aperture * aperture));
  for (std::int64_t j = 0; j < count; ++j) x[j] = std::clamp(x[j], -height, height);
  return height / aperture;
}

}  // namespace widemargin
