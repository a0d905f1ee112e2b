// The dual terms of regression within a tube, one coordinate beta_i at a time, for
// sweeps/dual_cd.hpp: minus t beta - epsilon |beta| - lambda/2 beta^2, with a kink at zero.
#pragma once

#include "losses/tube.hpp"
#include "sweeps/dual_cd.hpp"

namespace widemargin {

struct TubeTerms {
  Tube tube;

  static constexpr bool parabola = true;  // on either side of zero, which no move crosses

  std::int64_t count() const { return tube.count; }
  double sign(std::int64_t) const { return 1.0; }
  void prefetch(std::int64_t i) const {
    prefetch_line(tube.target + i);
    prefetch_line(tube.cost + i);
  }
  double slope(std::int64_t i, double at, double d) const {
    const double side = at != 0.0 ? at : d;
    return std::copysign(tube.epsilon, side) - tube.target[i] + tube.inverse(i) * at;
  }
  double curvature(std::int64_t i, double) const { return tube.inverse(i); }
  double term(std::int64_t i, double at) const { return tube.dual_term(i, at); }
  double limited(std::int64_t i, double at, double moved) const {
    if (at > 0.0) moved = std::max(moved, 0.0);
    if (at < 0.0) moved = std::min(moved, 0.0);
    return tube.clip(i, moved);
  }

  Visited visit(std::int64_t i, double old, double score, double q, const DualIterate& iterate,
                SweepReport& report) const {
    const double c = tube.cost[i], inverse = tube.inverse(i), epsilon = tube.epsilon;
    const double gradient = score - tube.target[i] + inverse * old;
    const double up = gradient + epsilon, down = gradient - epsilon;  // to either side of zero

    // 1) shrink, and watch the projected gradient
    double projected = 0.0;
    bool leaves = false;
    if (old == 0.0) {
      leaves = up > iterate.shrink_high && down < iterate.shrink_low;
      projected = up < 0.0 ? up : std::max(down, 0.0);
    } else if (old > 0.0) {
      const bool bound = !tube.squared && old == c;
      leaves = bound && up < iterate.shrink_low;
      projected = bound ? std::max(up, 0.0) : up;
    } else {
      const bool bound = !tube.squared && old == -c;
      leaves = bound && down > iterate.shrink_high;
      projected = bound ? std::min(down, 0.0) : down;
    }
    if (leaves) return {old, true};
    report.largest_gradient = std::max(report.largest_gradient, projected);
    report.smallest_gradient = std::min(report.smallest_gradient, projected);
    report.gap += c * tube.value(tube.target[i] - score) - tube.dual_term(i, old) + old * score;
    if (projected == 0.0) return {old};

    // 2) the exact step: a soft threshold, clipped
    const double curvature = q + inverse, wide = old - gradient / curvature;
    const double soft = std::max(0.0, std::abs(wide) - epsilon / curvature);
    return {tube.clip(i, std::copysign(soft, wide))};
  }
};

}  // namespace widemargin
