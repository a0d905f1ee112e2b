// Extrapolation along the moves of dual coordinate descent (docs/theory/methods.md).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sweeps/dual_cd.hpp"

namespace widemargin {

// Where a move began: the direction is from there to the iterate.
struct Beginning {
  double* alpha = nullptr;
  double* w = nullptr;
  double residual = 0.0;
};

// Exact line search from `alpha` along the last sweep, alpha - alpha_before: its image w - w_before
// is known, so the search needs no pass over the data; only examples that hit a bound do. The
// step is kept if it lowers f. Returns the step that was taken, or zero.
template <class Terms, class Rows>
double extrapolate(const Rows& rows, const Terms& terms, DualIterate& iterate,
                   const Beginning& beginning) {
  const double* alpha = iterate.alpha;
  const double* w = iterate.w;
  const double* alpha_before = beginning.alpha;
  const double* w_before = beginning.w;
  const std::int64_t width = rows.width + (rows.bias != 0.0);
  const std::int64_t count = terms.count();
  constexpr bool parabola = Terms::parabola;

  // 1) the quadratic part of f along the direction
  double ww = 0.0, wd = 0.0, dd = 0.0;
  for (std::int64_t j = 0; j < width; ++j) {
    const double d = w[j] - w_before[j];
    ww += w[j] * w[j];
    wd += w[j] * d;
    dd += d * d;
  }
  // A direction made of rounding would only be blown up by the step.
  if (dd <= 1e-20 * ww) {
    return 0.0;
  }
  const double dt = iterate.residual - beginning.residual;
  const double running = iterate.b + iterate.rho * iterate.residual;
  double slope = wd + running * dt;
  double curvature = dd + iterate.rho * dt * dt;

  // 2) the step: closed form for both hinges, a few Newton steps for the entropy
  double step = 0.0;
  for (int round = 0; round < (parabola ? 1 : 3); ++round) {
    double first = slope + step * curvature, second = curvature;
    for (std::int64_t i = 0; i < count; ++i) {
      const double d = alpha[i] - alpha_before[i];
      if (d != 0.0) {
        const double at = parabola ? alpha[i] : terms.limited(i, alpha[i], alpha[i] + step * d);
        first += d * terms.slope(i, at, d);
        second += d * d * terms.curvature(i, at);
      }
    }
    // A gain that drowns in the rounding of f cannot be told from a loss.
    if (!(second > 0.0) || (round == 0 && first * first / second <= 1e-13 * ww)) {
      return 0.0;
    }
    step -= first / second;
    if (!(step > 0.0)) {
      return 0.0;
    }
    step = std::min(step, 1e3);
  }

  // 3) take it, clip into the box, correct w for what was clipped
  std::vector<double> w_moved(static_cast<std::size_t>(width));
  for (std::int64_t j = 0; j < width; ++j) {
    w_moved[j] = w[j] + step * (w[j] - w_before[j]);
  }
  double residual = iterate.residual + step * dt;
  double terms_before = 0.0, terms_after = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double d = alpha[i] - alpha_before[i];
    if (d == 0.0) {
      continue;
    }
    const double moved = alpha[i] + step * d;
    const double fresh = terms.limited(i, alpha[i], moved);
    const double correction = fresh - moved;
    if (correction != 0.0) {
      rows.axpy(i, correction * terms.sign(i), w_moved.data());
      residual += correction * terms.sign(i);
    }
    terms_before += terms.term(i, alpha[i]);
    terms_after += terms.term(i, fresh);
  }

  // 4) keep it if f went down
  double moved_squared = 0.0;
  for (std::int64_t j = 0; j < width; ++j) {
    moved_squared += w_moved[j] * w_moved[j];
  }
  auto multiplier_part = [&](double t) { return iterate.b * t + 0.5 * iterate.rho * t * t; };
  const double before = 0.5 * ww - terms_before + multiplier_part(iterate.residual);
  const double after = 0.5 * moved_squared - terms_after + multiplier_part(residual);
  if (!(after < before)) {
    return 0.0;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double d = alpha[i] - alpha_before[i];
    if (d != 0.0) iterate.alpha[i] = terms.limited(i, alpha[i], alpha[i] + step * d);
  }
  std::copy(w_moved.begin(), w_moved.end(), iterate.w);
  iterate.residual = residual;
  return step;
}

// Joins the moves from two earlier points to the iterate: of their combinations the one that leads
// on to the least f, to second order and as if there were no bounds. `older` becomes the point that
// such a move would have begun at, for `extrapolate` to go on from. Returns how many times the
// moves count in it, all told, by which the rounding in w is blown up; zero if they are as good as
// one, and `older` is as it was.
template <class Terms>
double join_moves(const Terms& terms, const DualIterate& iterate, std::int64_t width,
                  const Beginning& newer, Beginning& older) {
  const std::int64_t count = terms.count();
  // 1) slopes and curvatures of f along both
  double slope[2] = {}, curvature[3] = {};  // 11, 12, 22
  for (std::int64_t j = 0; j < width; ++j) {
    const double d = iterate.w[j] - newer.w[j], e = iterate.w[j] - older.w[j];
    slope[0] += iterate.w[j] * d, slope[1] += iterate.w[j] * e;
    curvature[0] += d * d, curvature[1] += d * e, curvature[2] += e * e;
  }
  const double running = iterate.b + iterate.rho * iterate.residual;
  const double dt = iterate.residual - newer.residual, et = iterate.residual - older.residual;
  slope[0] += running * dt, slope[1] += running * et;
  curvature[0] += iterate.rho * dt * dt;
  curvature[1] += iterate.rho * dt * et;
  curvature[2] += iterate.rho * et * et;
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = iterate.alpha[i], d = at - newer.alpha[i], e = at - older.alpha[i];
    if (d != 0.0 || e != 0.0) {
      const double second = terms.curvature(i, at);
      slope[0] += d * terms.slope(i, at, d), slope[1] += e * terms.slope(i, at, e);
      curvature[0] += d * d * second, curvature[1] += d * e * second,
          curvature[2] += e * e * second;
    }
  }

  // 2) the least of the quadratic
  const double area = curvature[0] * curvature[2] - curvature[1] * curvature[1];
  if (!(area > 1e-10 * curvature[0] * curvature[2])) {
    return 0.0;
  }
  const double s = (curvature[1] * slope[1] - curvature[2] * slope[0]) / area;
  const double t = (curvature[1] * slope[0] - curvature[0] * slope[1]) / area;
  const double length = std::abs(s) + std::abs(t);
  if (!(length < 1e3)) {
    return 0.0;
  }

  // 3) where the joint move would have begun
  for (std::int64_t j = 0; j < width; ++j) {
    const double d = iterate.w[j] - newer.w[j], e = iterate.w[j] - older.w[j];
    older.w[j] = iterate.w[j] - (s * d + t * e);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = iterate.alpha[i], d = at - newer.alpha[i], e = at - older.alpha[i];
    older.alpha[i] = at - (s * d + t * e);
  }
  older.residual = iterate.residual - (s * dt + t * et);
  return length;
}

}  // namespace widemargin
