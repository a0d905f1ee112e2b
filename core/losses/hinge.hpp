// Hinge loss: max(0, 1 - m); dual term alpha on 0 <= alpha <= c.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace widemargin {

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

struct Hinge {
  static constexpr const char* name = "hinge";
  static constexpr bool bounded = true;
  static constexpr bool sparse = true;
  static constexpr std::optional<double> dual_quadratic = 0.0;
  static constexpr double stiffness = 1.0;
  static constexpr int visit_cost = 30;

  static double value(double m) { return std::max(0.0, 1.0 - m); }
  static double dual_term(double alpha, double) { return alpha; }
  static double alpha_at(double m, double c) { return m < 1.0 ? c : 0.0; }
  static double clip(double alpha, double c) { return std::clamp(alpha, 0.0, c); }

  // The largest c |loss'| within `reach` of m.
  static double steepest(double m, double c, double reach) { return m - 1.0 <= reach ? c : 0.0; }
  // Beyond this, and what the weights can do to a score, no optimal intercept lies; `up` and `down`
  // are the costs of the two classes.
  static double intercept_reach(double, double) { return 1.0; }

  // d/dalpha and d2/dalpha2 of -dual_term
  static double dual_slope(double, double) { return -1.0; }
  static double dual_curvature(double, double) { return 0.0; }

  // argmin over alpha' of q/2 (alpha' - alpha)^2 + m (alpha' - alpha) - dual_term(alpha')
  static double step(double alpha, double m, double q, double c) {
    return std::clamp(alpha - (m - 1.0) / q, 0.0, c);
  }

  // argmin over b of sum_i c_i max(0, 1 - y_i (scores_i + b)): the slope starts at minus the cost
  // of the positive examples and climbs by c_i at y_i - scores_i, so the answer is a weighted
  // quantile. A sample brackets it, so that hardly any of the points have to be kept; where the
  // bracket was wrong, all are.
  static double best_intercept(const double* y, const double* cost, const double* scores,
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
};

}  // namespace widemargin
