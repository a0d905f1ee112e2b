// One whole Newton step on a small problem in one call: where a step takes microseconds, calling
// kernels one by one would cost more than the arithmetic. The mathematics is that of
// methods/newton/newton.py and proximal_newton.py: gradient, direction from a factorised Hessian or
// from conjugate gradients, exact line search, linearised dual point.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/gram.hpp"
#include "kernels/products.hpp"
#include "kernels/vectors.hpp"
#include "losses/proximal_hinge.hpp"
#include "losses/sums.hpp"
#include "sweeps/newton_products.hpp"

namespace widemargin {

// a.b of vectors of any length.
inline double short_dot(const double* a, const double* b, std::int64_t length) {
  const std::int64_t whole = length - length % vector_length;
  double sum = whole > 0 ? dot_of_fours(a, b, whole) : 0.0;
  for (std::int64_t e = whole; e < length; ++e) sum += a[e] * b[e];
  return sum;
}

// Solves A x = right for a small positive definite matrix (row major, destroyed); false if it is
// not positive definite.
inline bool solve_small(std::vector<double>& a, std::vector<double>& right, std::int64_t side) {
  for (std::int64_t j = 0; j < side; ++j) {
    double* line = a.data() + j * side;
    const double pivot = line[j] - short_dot(line, line, j);
    if (!(pivot > 0.0)) return false;
    const double root = std::sqrt(pivot);
    line[j] = root;
    for (std::int64_t i = j + 1; i < side; ++i) {
      double* other = a.data() + i * side;
      other[j] = (other[j] - short_dot(other, line, j)) / root;
    }
  }
  for (std::int64_t i = 0; i < side; ++i) {
    const double* line = a.data() + i * side;
    right[i] = (right[i] - short_dot(line, right.data(), i)) / line[i];
  }
  for (std::int64_t i = side - 1; i >= 0; --i) {
    const double* line = a.data() + i * side;
    right[i] /= line[i];
    for (std::int64_t k = 0; k < i; ++k) right[k] -= line[k] * right[i];
  }
  return true;
}

// The step along a direction at which the slope is at most a tenth of what it was, trying 1 first.
// `derivatives` are those of the losses; wd = w.p and dd = ||p||^2 make up those of 1/2 ||w||^2.
template <class Derivatives>
double exact_step(double wd, double dd, double at_zero, Derivatives&& derivatives) {
  double low = 0.0, high = std::numeric_limits<double>::infinity(), t = 1.0;
  double below = at_zero, above = high, width = high;
  for (int round = 0; round < 40; ++round) {
    const TwoSums d = derivatives(t);
    const double first = d.first + wd + t * dd, second = d.second + dd;
    if (std::abs(first) <= 0.1 * std::abs(at_zero)) break;
    (first > 0.0 ? high : low) = t;
    (first > 0.0 ? above : below) = first;
    t = second > 0.0 ? t - first / second : high;
    if (t > low && t < high) continue;
    if (!std::isfinite(high)) {
      t = 2.0 * low;
      continue;
    }
    // Where a straight line between both slopes is zero, or by halves: as in _line_search.py.
    const double share = below / (below - above);
    const bool secant = high - low <= 0.5 * width && share > 0.0 && share < 1.0;
    width = high - low;
    t = low + (secant ? std::clamp(share, 0.01, 0.99) : 0.5) * width;
  }
  return t;
}

// A direction from a point, the scores along it, and the step that an exact line search takes: zero
// if nothing descends.
struct NewtonMove {
  bool solved = false;
  std::int64_t products = 0;  // with the Hessian, if there is no factor
  std::vector<double> direction, slopes;
  std::vector<double> residual;  // of the equation of the direction; empty if there is a factor
  double direction_b = 0.0;
  double at_zero = 0.0;  // the slope there
  double step = 0.0;
};

// Where a step starts from: weights and scores, dual variables and curvatures at these scores.
struct NewtonStart {
  const double* w;
  double b;
  const double* scores;
  const double* alpha;
  const double* curvature;
};

// The direction H p = descent; nothing is solved if H is not positive definite, or takes too many
// products.
template <class Rows>
void solve_direction(const Rows& rows, const NewtonStart& at, std::int64_t count, bool free,
                     const ProductLimits& limits, const std::vector<double>& descent,
                     NewtonMove& move) {
  const std::int64_t side = std::ssize(descent), weights = side - (free ? 1 : 0);
  if (limits.most > 0) {
    auto found = solve_by_products(rows, at.curvature, count, free, limits, descent);
    move.direction = std::move(found.direction);
    move.residual = std::move(found.residual);
    move.products = found.products;
    move.solved = move.products < limits.most;
    return;
  }
  std::vector<double> matrix(side * side, 0.0);
  gram(rows, at.curvature, free, side, matrix.data(), 0, count);
  symmetrise(matrix.data(), side);
  for (std::int64_t j = 0; j < weights; ++j) matrix[j * side + j] += 1.0;
  if (free) matrix[side * side - 1] += 1e-10 * (1.0 + matrix[side * side - 1]);
  move.direction = descent;
  move.solved = solve_small(matrix, move.direction, side);
}

// `derivatives(line, t)` are those of the losses along a line.
template <class Rows, class Derivatives>
NewtonMove newton_move(const Rows& rows, const Examples& data, bool free, const NewtonStart& at,
                       const ProductLimits& limits, Derivatives&& derivatives) {
  const std::int64_t n = data.count, weights = rows.width + (rows.bias != 0.0);
  const std::int64_t side = weights + (free ? 1 : 0);
  NewtonMove move;

  // 1) minus the gradient
  std::vector<double> descent(side, 0.0);
  accumulate(rows, at.alpha, data.y, descent.data(), 0, n);
  for (std::int64_t j = 0; j < weights; ++j) descent[j] -= at.w[j];
  if (free) {
    for (std::int64_t i = 0; i < n; ++i) descent[weights] += at.alpha[i] * data.y[i];
  }

  // 2) direction
  solve_direction(rows, at, n, free, limits, descent, move);
  if (!move.solved) return move;
  move.direction_b = free ? move.direction[weights] : 0.0;
  move.slopes.resize(n);
  scores(rows, move.direction.data(), move.slopes.data(), 0, n);

  // 3) line search
  double wd = 0.0, dd = 0.0;
  for (std::int64_t j = 0; j < side; ++j) move.at_zero -= descent[j] * move.direction[j];
  for (std::int64_t j = 0; j < weights; ++j) {
    wd += at.w[j] * move.direction[j];
    dd += move.direction[j] * move.direction[j];
  }
  if (!(move.at_zero < 0.0)) return move;
  const Line line{at.scores, at.b, move.slopes.data(), move.direction_b};
  move.step = exact_step(wd, dd, move.at_zero, [&](double t) { return derivatives(line, t); });
  return move;
}

struct NewtonReport {
  bool solved = false;  // whether there was a direction
  bool moved = false;
  double b = 0.0;
  double primal = 0.0;
  double gap = std::numeric_limits<double>::infinity();
  std::int64_t active = 0;
  std::int64_t products = 0;
  std::int64_t steps = 1;
};

// A smooth loss of margins, as a step needs it.
template <class Loss>
struct MarginSums {
  Examples data;

  void terms(const double* scores, double b, double* alpha, double* curvature) const {
    loss_terms<Loss>(data, scores, b, alpha, curvature);
  }
  TwoSums along(const Line& line, double t) const { return derivatives_along<Loss>(data, line, t); }
  double total(const double* scores, double b) const { return loss_sum<Loss>(data, scores, b); }
  double dual_total(const double* alpha) const {
    return dual_sum<Loss>(alpha, data.cost, data.count);
  }
  double clip(std::int64_t i, double alpha) const {
    return data.cost[i] > 0.0 ? Loss::clip(alpha, data.cost[i]) : 0.0;
  }
};

// Updates w, scores and alpha in place.
template <class Sums, class Rows>
NewtonReport newton_step(const Rows& rows, const Sums& sums, bool free, const ProductLimits& limits,
                         double* w, double b, double* scores_at, double* alpha) {
  const Examples& data = sums.data;
  const double* y = data.y;
  const std::int64_t n = data.count;
  const std::int64_t weights = rows.width + (rows.bias != 0.0);
  std::vector<double> curvature(n);
  sums.terms(scores_at, b, alpha, curvature.data());
  NewtonReport report;
  for (double h : curvature) report.active += h != 0.0;
  NewtonMove move =
      newton_move(rows, data, free, {w, b, scores_at, alpha, curvature.data()}, limits,
                  [&](const Line& line, double t) { return sums.along(line, t); });
  report.products = move.products;
  report.b = b + move.step * move.direction_b;
  report.solved = move.solved;
  report.moved = move.step > 0.0;
  if (!report.moved) return report;
  std::vector<double> image(w, w + weights);
  double squared = 0.0;
  for (std::int64_t j = 0; j < weights; ++j) {
    image[j] += move.direction[j] + (move.residual.empty() ? 0.0 : move.residual[j]);
    w[j] += move.step * move.direction[j];
    squared += w[j] * w[j];
  }
  for (std::int64_t i = 0; i < n; ++i) scores_at[i] += move.step * move.slopes[i];
  report.primal = 0.5 * squared + sums.total(scores_at, report.b);

  // The dual point of the linearised conditions: exactly w(alpha) = w + p but for the clipping,
  // and for what the equation of p was left with.
  double* linear = move.slopes.data();
  std::int64_t clipped = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    linear[i] = alpha[i] - curvature[i] * y[i] * (linear[i] + move.direction_b);
    alpha[i] = sums.clip(i, linear[i]);
    clipped += alpha[i] != linear[i];
  }
  for (std::int64_t i = 0; i < n && clipped > 0; ++i) {
    if (alpha[i] != linear[i]) rows.axpy(i, (alpha[i] - linear[i]) * y[i], image.data());
  }
  double image_squared = 0.0;
  for (double v : image) image_squared += v * v;
  report.gap = std::abs(report.primal - (sums.dual_total(alpha) - 0.5 * image_squared));
  return report;
}

// When steps end that are made one after the other in one call.
struct StepLimits {
  std::int64_t most = 1;
  double wanted = 0.0;  // the share of the objective that the gap may be
};

// Several steps with factors.
template <class Sums, class Rows>
NewtonReport newton_steps(const Rows& rows, const Sums& sums, bool free, const StepLimits& limits,
                          double* w, double b, double* scores_at, double* alpha) {
  NewtonReport report;
  for (std::int64_t steps = 1; steps <= limits.most; ++steps) {
    NewtonReport next = newton_step(rows, sums, free, {}, w, b, scores_at, alpha);
    if (!next.moved && steps > 1) break;  // found again by the next call
    next.steps = steps;
    report = next;
    b = report.b;
    if (!report.moved || !(report.gap > limits.wanted * report.primal)) break;
  }
  return report;
}

struct ProximalReport : NewtonReport {
  double mismatch = 0.0;  // see losses/proximal_hinge.hpp
  double decrease = 0.0;  // that the step promised
};

// The interval of the rounded corner, wide enough that some example lies in it; `alpha` are the
// dual variables there. With nobody in the corner the intercept would have no curvature at all.
template <class Loss>
std::int64_t widened_corner(Loss& loss, const double* scores, double b, double* alpha) {
  while (true) {
    const std::int64_t inside = proximal_alpha(loss, scores, b, alpha);
    if (inside > 0 || loss.h > loss.widest) return inside;
    loss.h *= 4.0;
  }
}

// A step on the rounded hinge, as methods/newton/proximal_newton.py takes it. Updates w and scores
// in place; `alpha` and `combination`, their sum over the rows, are written.
template <class Rows, class Loss>
ProximalReport proximal_step(const Rows& rows, Loss& loss, bool free, double* w, double b,
                             double* scores_at, double* alpha, double* combination) {
  const Examples& data = loss.data;
  const std::int64_t n = data.count, weights = rows.width + (rows.bias != 0.0);
  ProximalReport report;
  report.active = widened_corner(loss, scores_at, b, alpha);
  std::vector<double> curvature(n);
  proximal_curvature(loss, alpha, curvature.data());
  NewtonMove move = newton_move(
      rows, data, free, {w, b, scores_at, alpha, curvature.data()}, ProductLimits{},
      [&](const Line& line, double t) { return proximal_derivatives_along(loss, line, t); });
  report.b = b + move.step * move.direction_b;
  report.solved = move.solved;
  report.moved = move.step > 0.0;
  if (report.moved) {
    proximal_move(loss, scores_at, b, move.slopes.data(), move.direction_b, move.step);
    std::copy(move.slopes.begin(), move.slopes.end(), alpha);
    for (std::int64_t j = 0; j < weights; ++j) w[j] += move.step * move.direction[j];
    report.decrease = -0.5 * move.at_zero;
  }
  std::fill(combination, combination + weights, 0.0);
  accumulate(rows, alpha, data.y, combination, 0, n);
  double squared = 0.0, distance = 0.0;
  for (std::int64_t j = 0; j < weights; ++j) {
    const double off = w[j] - combination[j];
    squared += w[j] * w[j];
    distance += off * off;
  }
  report.primal = 0.5 * squared + unsmoothed(loss, scores_at, report.b);
  report.mismatch = mismatch(loss, scores_at, report.b, alpha);
  report.gap = report.mismatch + 0.5 * distance;
  return report;
}

// What steps on the rounded hinge carry from one to the next, and when they end.
struct ProximalCourse {
  double h = 1.0;
  double last_mismatch = 0.0;  // when the centre was moved last
  double best_gap = std::numeric_limits<double>::infinity();
  std::int64_t stalled = 0;  // steps without a better gap
  std::int64_t most = 1;
  double wanted = 0.0;  // the share of the objective that the gap may be
  double enough = 0.0;  // the same of what a sample has to say, from the weights alone

  // A problem counts as solved when a step gained this share of the mismatch; the interval is
  // halved if moving the centre cut that to no less than `good`; after so many steps without a
  // better gap none is expected. As in methods/newton/proximal_newton.py.
  static constexpr double solved = 0.1, good = 0.3;
  static constexpr std::int64_t patience = 40;

  // Whether a step ends them; moves the centre where the rounding is what holds it back.
  bool judge(const ProximalReport& step, const double* alpha, std::int64_t count, double* center) {
    stalled = step.gap > 0.9 * best_gap ? stalled + 1 : 0;
    best_gap = std::min(best_gap, step.gap);
    if (step.decrease <= solved * step.mismatch || step.decrease == 0.0) {
      std::copy(alpha, alpha + count, center);
      if (step.mismatch > good * last_mismatch) h *= 0.5;
      last_mismatch = step.mismatch;
    }
    return step.gap <= wanted * step.primal || stalled >= patience ||
           std::min(step.gap, step.mismatch + step.decrease) <= enough * step.primal;
  }
};

// Several steps; `center` moves with them. Where a matrix has no factor they end before it.
template <class Rows, class Loss>
ProximalReport proximal_steps(const Rows& rows, Loss loss, bool free, ProximalCourse& course,
                              double* center, double* w, double b, double* scores_at, double* alpha,
                              double* combination) {
  ProximalReport report;
  loss.center = center;
  for (std::int64_t steps = 1; steps <= course.most; ++steps) {
    loss.h = course.h;
    ProximalReport next = proximal_step(rows, loss, free, w, b, scores_at, alpha, combination);
    if (!next.solved && steps > 1) break;
    next.steps = steps;
    report = next;
    b = report.b;
    if (!report.solved) break;
    course.h = loss.h;
    if (course.judge(report, alpha, loss.data.count, center)) break;
  }
  return report;
}

}  // namespace widemargin
