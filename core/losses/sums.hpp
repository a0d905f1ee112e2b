// Sums of a loss and of its dual over the examples, and the exact intercept for given scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "losses/hinge.hpp"
#include "losses/logistic.hpp"
#include "losses/squared_hinge.hpp"

namespace widemargin {

constexpr int sum_lanes = 8;

template <class Term>
double sum_terms(std::int64_t count, Term&& term) {
  double sums[sum_lanes] = {};
  std::int64_t i = 0;
  for (; i + sum_lanes <= count; i += sum_lanes) {
    for (int lane = 0; lane < sum_lanes; ++lane) {
      sums[lane] += term(i + lane);
    }
  }
  double total = 0.0;
  for (; i < count; ++i) {
    total += term(i);
  }
  for (double s : sums) {
    total += s;
  }
  return total;
}

// sum_i c_i loss(y_i (scores_i + b))
template <class Loss>
double loss_sum(const double* y, const double* cost, const double* scores, double b,
                std::int64_t count) {
  return sum_terms(count,
                   [&](std::int64_t i) { return cost[i] * Loss::value(y[i] * (scores[i] + b)); });
}

// sum_i dual_term(alpha_i)
template <class Loss>
double dual_sum(const double* alpha, const double* cost, std::int64_t count) {
  return sum_terms(count, [&](std::int64_t i) { return Loss::dual_term(alpha[i], cost[i]); });
}

// The dual point that belongs to the margins, and the curvature of the loss there.
template <class Loss>
void loss_terms(const double* y, const double* cost, const double* scores, double b, double* alpha,
                double* curvature, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double m = y[i] * (scores[i] + b);
    alpha[i] = Loss::alpha_at(m, cost[i]);
    curvature[i] = Loss::curvature_at(m, cost[i]);
  }
}

// Moves along a direction with a step, in place: `scores` become those of the new point, `slopes`
// the dual variables of the linearised conditions at the old one, not yet clipped.
template <class Loss>
void linearised_move(const double* y, const double* cost, double* scores, double b, double* slopes,
                     double slope_b, double step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double m = y[i] * (scores[i] + b);
    const double change = Loss::curvature_at(m, cost[i]) * y[i] * (slopes[i] + slope_b);
    scores[i] += step * slopes[i];
    slopes[i] = Loss::alpha_at(m, cost[i]) - change;
  }
}

// First and second derivative of t -> sum_i c_i loss(y_i (scores_i + t slopes_i)).
struct Derivatives {
  double first = 0.0;
  double second = 0.0;
};

template <class Loss>
Derivatives derivatives_along(const double* y, const double* cost, const double* scores, double b,
                              const double* slopes, double slope_b, double t, std::int64_t count) {
  double first[sum_lanes] = {}, second[sum_lanes] = {};
  auto add = [&](std::int64_t i, int lane) {
    const double slope = slopes[i] + slope_b;
    const double m = y[i] * (scores[i] + b + t * slope);
    first[lane] -= Loss::alpha_at(m, cost[i]) * y[i] * slope;
    second[lane] += Loss::curvature_at(m, cost[i]) * slope * slope;
  };
  std::int64_t i = 0;
  for (; i + sum_lanes <= count; i += sum_lanes) {
    for (int lane = 0; lane < sum_lanes; ++lane) {
      add(i + lane, lane);
    }
  }
  for (; i < count; ++i) {
    add(i, 0);
  }
  Derivatives total;
  for (int lane = 0; lane < sum_lanes; ++lane) {
    total.first += first[lane];
    total.second += second[lane];
  }
  return total;
}

struct Breakpoint {
  double place, weight;
};

// The place at which the weights of the points, in order of their places, add up to `level`: found
// by partitioning, without a sort. `points` is left in another order.
inline double weighted_quantile(std::vector<Breakpoint>& points, double level) {
  auto first = points.begin(), last = points.end();
  while (last - first > 1) {
    auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last,
                     [](const Breakpoint& a, const Breakpoint& b) { return a.place < b.place; });
    double below = 0.0;
    for (auto p = first; p != middle; ++p) {
      below += p->weight;
    }
    if (level <= below) {
      last = middle;
    } else if (level <= below + middle->weight) {
      return middle->place;
    } else {
      level -= below + middle->weight;
      first = middle + 1;
      if (first == last) {
        return middle->place;
      }
    }
  }
  return first->place;
}

// argmin over b of sum_i c_i max(0, 1 - y_i (scores_i + b)): the slope starts at minus the cost of
// the positive examples and climbs by c_i at y_i - scores_i, so the answer is a weighted quantile.
// A sample brackets it, so that hardly any of the points have to be kept; where the bracket was
// wrong, all are.
inline double best_hinge_intercept(const double* y, const double* cost, const double* scores,
                                   std::int64_t count) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::int64_t sampled = 2000;
  std::vector<Breakpoint> points;
  double level = 0.0, total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    level += y[i] > 0.0 ? cost[i] : 0.0;
    total += cost[i];
  }
  if (!(total > 0.0)) {
    return 0.0;
  }
  auto collect = [&](double low, double high, std::int64_t stride) {
    double below = 0.0;
    points.clear();
    for (std::int64_t i = 0; i < count; i += stride) {
      const double place = y[i] - scores[i];
      if (place < low) {
        below += cost[i];
      } else if (place <= high && cost[i] > 0.0) {
        points.push_back({place, cost[i]});
      }
    }
    return below;
  };
  auto inside = [&] {
    double sum = 0.0;
    for (const Breakpoint& point : points) sum += point.weight;
    return sum;
  };
  if (count > 10 * sampled) {
    // Four times the sample's standard error to both sides.
    collect(-infinity, infinity, count / sampled);
    const double share = level / total, error = 2.0 / std::sqrt(static_cast<double>(sampled));
    const double all = inside();
    if (all > 0.0) {
      const double low =
          share > error ? weighted_quantile(points, (share - error) * all) : -infinity;
      const double high =
          share + error < 1.0 ? weighted_quantile(points, (share + error) * all) : infinity;
      const double below = collect(low, high, 1);
      if (level > below && level <= below + inside()) {
        return weighted_quantile(points, level - below);
      }
    }
  }
  collect(-infinity, infinity, 1);
  return weighted_quantile(points, level);
}

// argmin over b for a smooth loss, by Newton's method kept inside a shrinking bracket.
template <class Loss>
double best_smooth_intercept(const double* y, const double* cost, const double* scores, double b,
                             std::int64_t count) {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double reach = 1.0;
  for (int round = 0; round < 100; ++round) {
    double first = 0.0, second = 0.0, scale = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double m = y[i] * (scores[i] + b);
      const double alpha = Loss::alpha_at(m, cost[i]);
      first -= alpha * y[i];
      scale += alpha;
      second += Loss::curvature_at(m, cost[i]);
    }
    if (std::abs(first) <= 1e-15 * scale) {
      break;
    }
    (first > 0.0 ? high : low) = b;
    double next = b - first / second;
    if (!(std::abs(next - b) <= reach)) {
      next = first > 0.0 ? b - reach : b + reach;
      reach *= 2.0;
    }
    if (!(next > low && next < high)) {
      next = 0.5 * (low + high);
    }
    if (std::abs(next - b) <= 1e-15 * (1.0 + std::abs(b))) {
      b = next;
      break;
    }
    b = next;
  }
  return b;
}

}  // namespace widemargin
