// Sums of a loss and of its dual over the examples, and the exact intercept for given scores.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/chains.hpp"

namespace widemargin {

// Labels and costs, all of length `count`.
struct Examples {
  const double* y = nullptr;
  const double* cost = nullptr;
  std::int64_t count = 0;
};

// sum_i c_i loss(y_i (scores_i + b))
template <class Loss>
double loss_sum(const Examples& data, const double* scores, double b) {
  return sum_in_chains(data.count, [&](std::int64_t i) {
    return data.cost[i] * Loss::value(data.y[i] * (scores[i] + b));
  });
}

// sum_i dual_term(alpha_i)
template <class Loss>
double dual_sum(const double* alpha, const double* cost, std::int64_t count) {
  return sum_in_chains(count, [&](std::int64_t i) { return Loss::dual_term(alpha[i], cost[i]); });
}

// The dual point that belongs to the margins, and the curvature of the loss there.
template <class Loss>
void loss_terms(const Examples& data, const double* scores, double b, double* alpha,
                double* curvature) {
  const auto [y, cost, count] = data;
  for (std::int64_t i = 0; i < count; ++i) {
    const double m = y[i] * (scores[i] + b);
    alpha[i] = Loss::alpha_at(m, cost[i]);
    curvature[i] = Loss::curvature_at(m, cost[i]);
  }
}

// Where a line search looks: at scores + b + t (slopes + slope_b).
struct Line {
  const double* scores = nullptr;
  double b = 0.0;
  const double* slopes = nullptr;
  double slope_b = 0.0;
};

// Moves along a direction with a step, in place: `scores` become those of the new point, `slopes`
// the dual variables of the linearised conditions at the old one, not yet clipped.
template <class Loss>
void linearised_move(const Examples& data, double* scores, double b, double* slopes, double slope_b,
                     double step) {
  const auto [y, cost, count] = data;
  for (std::int64_t i = 0; i < count; ++i) {
    const double m = y[i] * (scores[i] + b);
    const double change = Loss::curvature_at(m, cost[i]) * y[i] * (slopes[i] + slope_b);
    scores[i] += step * slopes[i];
    slopes[i] = Loss::alpha_at(m, cost[i]) - change;
  }
}

// First and second derivative of the sum of the losses along a line.
template <class Loss>
TwoSums derivatives_along(const Examples& data, const Line& line, double t) {
  return two_sums_in_chains(data.count, [&](std::int64_t i) -> TwoSums {
    const double y = data.y[i], c = data.cost[i], slope = line.slopes[i] + line.slope_b;
    const double m = y * (line.scores[i] + line.b + t * slope);
    return {-Loss::alpha_at(m, c) * y * slope, Loss::curvature_at(m, c) * slope * slope};
  });
}

// Derivatives of a sum of smooth losses in the intercept; `scale` is the sum of |dual variable|.
struct SlopeSums {
  double first = 0.0, second = 0.0, scale = 0.0;
};

// argmin over b for smooth losses, by Newton's method kept inside a shrinking bracket. `unit` is
// the size of a score that counts; `sums(b)` are the derivatives.
template <class Sums>
double best_intercept_of(double b, Sums&& sums, double unit = 1.0) {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double reach = unit;
  for (int round = 0; round < 100; ++round) {
    const auto [first, second, scale] = sums(b);
    if (std::abs(first) <= 1e-15 * scale || !std::isfinite(first)) {
      break;
    }
    (first > 0.0 ? high : low) = b;
    double next = b - first / second;
    // A step below rounding: b is as good as it gets, and the bracket may still be open.
    if (next == b) {
      break;
    }
    // Far from zero the first reach is below rounding.
    reach = std::max(reach, 0x1p-48 * std::abs(b));
    if (!(std::abs(next - b) <= reach)) {
      next = first > 0.0 ? b - reach : b + reach;
      reach *= 2.0;
    }
    if (!(next > low && next < high)) {
      next = 0.5 * (low + high);
      if (!std::isfinite(next)) break;
    }
    if (std::abs(next - b) <= 1e-15 * (unit + std::abs(b))) {
      b = next;
      break;
    }
    b = next;
  }
  return b;
}

template <class Loss>
SlopeSums intercept_slopes(const Examples& data, const double* scores, double b) {
  const auto sums = several_sums_in_chains<3>(data.count, [&](std::int64_t i) {
    const double m = data.y[i] * (scores[i] + b), c = data.cost[i];
    const double alpha = Loss::alpha_at(m, c);
    return std::array{-alpha * data.y[i], Loss::curvature_at(m, c), alpha};
  });
  return {sums[0], sums[1], sums[2]};
}

template <class Loss>
double best_smooth_intercept(const Examples& data, const double* scores, double b) {
  return best_intercept_of(b, [&](double at) { return intercept_slopes<Loss>(data, scores, at); });
}

// argmin over b of the losses' sum, near b if there are several.
template <class Loss>
double best_intercept(const Examples& data, const double* scores, double b) {
  if constexpr (requires { Loss::best_intercept(data.y, data.cost, scores, data.count); }) {
    return Loss::best_intercept(data.y, data.cost, scores, data.count);
  } else {
    return best_smooth_intercept<Loss>(data, scores, b);
  }
}

}  // namespace widemargin
