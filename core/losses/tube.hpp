// Losses of a residual r = t - (score + b) that is free within a tube of half-width epsilon:
//
//   c max(0, |r| - epsilon)      dual term  t beta - epsilon |beta|                   |beta| <= c
//   c max(0, |r| - epsilon)^2    dual term  t beta - epsilon |beta| - beta^2 / (4c)   any beta
//
// Which of the two is a field, not a type: the loops over rows are compiled once for both.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "losses/bounds.hpp"
#include "losses/hinge.hpp"
#include "losses/sums.hpp"

namespace widemargin {

struct Tube {
  const double* target = nullptr;
  const double* cost = nullptr;
  std::int64_t count = 0;
  double epsilon = 0.0;
  bool squared = false;
  double unit = 1.0;  // the largest |target|

  double value(double r) const {
    const double slack = std::max(0.0, std::abs(r) - epsilon);
    return squared ? slack * slack : slack;
  }
  double clip(std::int64_t i, double beta) const {
    if (squared) return cost[i] > 0.0 ? beta : 0.0;
    return std::clamp(beta, -cost[i], cost[i]);
  }
  // beta^2 / (4c), and its derivatives' factor 1 / (2c); a row without cost has no say.
  double inverse(std::int64_t i) const {
    return squared && cost[i] > 0.0 ? 1.0 / (2.0 * cost[i]) : 0.0;
  }
  double dual_term(std::int64_t i, double beta) const {
    if (!(cost[i] > 0.0)) return 0.0;
    return target[i] * beta - epsilon * std::abs(beta) - 0.5 * inverse(i) * beta * beta;
  }
};

// The same without branches, so that loops over many rows are vectorised.
template <bool Squared>
struct TubeOf : Tube {
  double residual(std::int64_t i, double score) const { return target[i] - score; }
  // How far a residual is outside, with its sign; zero inside.
  double beyond(double r) const { return r - std::min(std::max(r, -epsilon), epsilon); }
  double value(double r) const {
    const double over = beyond(r);
    return Squared ? over * over : std::abs(over);
  }
  double beta_at(std::int64_t i, double r) const {
    const double over = beyond(r);
    if constexpr (Squared) return 2.0 * cost[i] * over;
    return std::copysign(cost[i], over) * (over != 0.0) + 0.0;  // zero is never negative
  }
  double curvature_at(std::int64_t i, double r) const {
    return Squared ? 2.0 * cost[i] * (std::abs(r) > epsilon) : 0.0;
  }
  double inverse(std::int64_t i) const {
    return Squared ? 0.5 / std::max(cost[i], 1e-100) : 0.0;  // finite where there is no cost
  }
  double dual_term(std::int64_t i, double beta) const {
    const double line = target[i] * beta - epsilon * std::abs(beta);
    return (line - 0.5 * inverse(i) * beta * beta) * (cost[i] > 0.0);
  }
};

template <class Pass>
auto with_shape(const Tube& tube, Pass&& pass) {
  return tube.squared ? pass(TubeOf<true>{tube}) : pass(TubeOf<false>{tube});
}

inline double tube_sum(const Tube& tube, const double* scores, double b) {
  return with_shape(tube, [=](const auto& tube) {
    return sum_in_chains(tube.count, [&](std::int64_t i) {
      return tube.cost[i] * tube.value(tube.residual(i, scores[i] + b));
    });
  });
}

inline double tube_dual_sum(const Tube& tube, const double* beta) {
  return with_shape(tube, [=](const auto& tube) {
    return sum_in_chains(tube.count, [&](std::int64_t i) { return tube.dual_term(i, beta[i]); });
  });
}

// Losses, and how fast they can grow within `reach` of the residuals.
inline LossSums tube_sums(const Tube& tube, const double* scores, double b, double reach) {
  return with_shape(tube, [=](const auto& tube) -> LossSums {
    const auto sums = several_sums_in_chains<3>(tube.count, [&](std::int64_t i) {
      const double r = tube.residual(i, scores[i] + b), over = std::abs(r) - tube.epsilon + reach;
      // Not a choice between zero and a cost, see `sum_in_chains`.
      const double slope = tube.cost[i] * (tube.squared ? 2.0 * over : 1.0) * (over >= 0.0);
      return std::array{tube.cost[i] * tube.value(r), slope, slope * slope};
    });
    return {sums[0], sums[1], sums[2]};
  });
}

// `linear` is the sum of |beta|, `residual` that of beta.
inline DualSums tube_dual_sums(const Tube& tube, const double* beta) {
  DualSums sums = with_shape(tube, [=](const auto& tube) -> DualSums {
    const auto sums = several_sums_in_chains<4>(tube.count, [&](std::int64_t i) {
      const double a = std::abs(beta[i]);
      const double size =
          a * (std::abs(tube.target[i]) + tube.epsilon) + 0.5 * tube.inverse(i) * a * a;
      return std::array{tube.dual_term(i, beta[i]), size, a, a * a};
    });
    return {sums[0], sums[1], sums[2], sums[3]};
  });
  sums.residual = compensated_sum(beta, tube.count);
  return sums;
}

// Sum of beta^2 / (2c): how much the dual terms bend along beta itself.
inline double tube_bend(const Tube& tube, const double* beta) {
  return with_shape(tube, [=](const auto& tube) {
    return sum_in_chains(tube.count,
                         [&](std::int64_t i) { return tube.inverse(i) * beta[i] * beta[i]; });
  });
}

// Whether the score zero is within the tube of every target, or equal to it, where there is a cost.
inline bool tube_holds_zero(const Tube& tube) {
  for (std::int64_t i = 0; i < tube.count; ++i) {
    const double size = std::abs(tube.target[i]);
    if (tube.cost[i] > 0.0 && !(size < tube.epsilon || size == 0.0)) return false;
  }
  return true;
}

inline void tube_terms(const Tube& tube, const double* scores, double b, double* beta,
                       double* curvature) {
  with_shape(tube, [=](const auto& tube) {
    for (std::int64_t i = 0; i < tube.count; ++i) {
      const double r = tube.residual(i, scores[i] + b);
      beta[i] = tube.beta_at(i, r);
      curvature[i] = tube.curvature_at(i, r);
    }
  });
}

inline void tube_linearised_move(const Tube& tube, double* scores, double b, double* slopes,
                                 double slope_b, double step) {
  with_shape(tube, [=](const auto& tube) {
    for (std::int64_t i = 0; i < tube.count; ++i) {
      const double r = tube.residual(i, scores[i] + b);
      const double change = tube.curvature_at(i, r) * (slopes[i] + slope_b);
      scores[i] += step * slopes[i];
      slopes[i] = tube.beta_at(i, r) - change;
    }
  });
}

inline TwoSums tube_derivatives_along(const Tube& tube, const Line& line, double t) {
  return with_shape(tube, [=](const auto& tube) {
    return two_sums_in_chains(tube.count, [&](std::int64_t i) -> TwoSums {
      const double slope = line.slopes[i] + line.slope_b;
      const double r = tube.residual(i, line.scores[i] + line.b + t * slope);
      return {-tube.beta_at(i, r) * slope, tube.curvature_at(i, r) * slope * slope};
    });
  });
}

// argmin over b. Plain: the slope climbs by c_i at both ends of a row's tube, from minus to plus
// the sum of the costs, so the answer is a weighted quantile.
inline double tube_best_intercept(const Tube& tube, const double* scores, double b) {
  if (tube.squared) {
    const TubeOf<true> own{tube};
    const auto slopes = [&](double at) -> SlopeSums {
      const auto sums = several_sums_in_chains<3>(own.count, [&](std::int64_t i) {
        const double r = own.residual(i, scores[i] + at), beta = own.beta_at(i, r);
        return std::array{-beta, own.curvature_at(i, r), std::abs(beta)};
      });
      return {sums[0], sums[1], sums[2]};
    };
    return best_intercept_of(b, slopes, tube.unit);
  }
  std::vector<Breakpoint> points;
  points.reserve(static_cast<std::size_t>(2 * tube.count));
  double total = 0.0;
  for (std::int64_t i = 0; i < tube.count; ++i) {
    if (!(tube.cost[i] > 0.0)) continue;
    const double place = tube.target[i] - scores[i];
    points.push_back({place - tube.epsilon, tube.cost[i]});
    points.push_back({place + tube.epsilon, tube.cost[i]});
    total += tube.cost[i];
  }
  return points.empty() ? b : weighted_quantile(points, total);
}

// The plain loss made smooth around a dual point, as losses/proximal_hinge.hpp does it for the
// hinge: psi_i(r) = max over |a| <= c_i of  a r - epsilon |a| - h / (2 c_i) (a - center_i)^2 .
struct ProximalTube {
  Examples data;  // every sign is one
  Tube tube;
  const double* center = nullptr;
  double h = 1.0;
  double widest = 1e6;

  double residual(std::int64_t i, double score) const { return tube.target[i] - score; }
  // The maximiser: a soft threshold, clipped.
  double beta_at(std::int64_t i, double r) const {
    const double c = tube.cost[i], rate = c / h, wide = center[i] + r * rate;
    const double soft = std::max(0.0, std::abs(wide) - tube.epsilon * rate);
    return std::copysign(std::min(soft, c), wide);
  }
  bool inside(std::int64_t i, double beta) const {
    return beta != 0.0 && std::abs(beta) < tube.cost[i];
  }
};

inline std::int64_t proximal_alpha(const ProximalTube& loss, const double* scores, double b,
                                   double* beta) {
  std::int64_t inside = 0;
  for (std::int64_t i = 0; i < loss.tube.count; ++i) {
    beta[i] = loss.beta_at(i, loss.residual(i, scores[i] + b));
    inside += loss.inside(i, beta[i]);
  }
  return inside;
}

inline void proximal_curvature(const ProximalTube& loss, const double* beta, double* curvature) {
  for (std::int64_t i = 0; i < loss.tube.count; ++i) {
    curvature[i] = loss.inside(i, beta[i]) ? loss.tube.cost[i] / loss.h : 0.0;
  }
}

inline TwoSums proximal_derivatives_along(const ProximalTube& loss, const Line& line, double t) {
  return two_sums_in_chains(
      loss.tube.count,
      [&](std::int64_t i) -> TwoSums {
        const double slope = line.slopes[i] + line.slope_b;
        const double beta = loss.beta_at(i, loss.residual(i, line.scores[i] + line.b + t * slope));
        return {-beta * slope, loss.inside(i, beta) ? loss.tube.cost[i] * slope * slope : 0.0};
      },
      loss.h);
}

inline void proximal_move(const ProximalTube& loss, double* scores, double b, double* slopes,
                          double slope_b, double step) {
  for (std::int64_t i = 0; i < loss.tube.count; ++i) {
    const double c = loss.tube.cost[i];
    const double beta = loss.beta_at(i, loss.residual(i, scores[i] + b));
    // Beyond zero the threshold holds it.
    const double low = beta > 0.0 ? 0.0 : -c, high = beta > 0.0 ? c : 0.0;
    const double on = beta - c / loss.h * (slopes[i] + slope_b);
    const double moved = loss.inside(i, beta) ? std::min(std::max(on, low), high) : beta;
    scores[i] += step * slopes[i];
    slopes[i] = moved;
  }
}

inline double unsmoothed(const ProximalTube& loss, const double* scores, double b) {
  return tube_sum(loss.tube, scores, b);
}

// How far residuals and dual variables are from belonging together: with ||w - w(beta)||^2 / 2 it
// makes up the duality gap.
inline double mismatch(const ProximalTube& loss, const double* scores, double b,
                       const double* beta) {
  const Tube& tube = loss.tube;
  return sum_in_chains(tube.count, [&](std::int64_t i) {
    const double r = tube.target[i] - (scores[i] + b);
    return tube.cost[i] * tube.value(r) - beta[i] * r + tube.epsilon * std::abs(beta[i]);
  });
}

}  // namespace widemargin
