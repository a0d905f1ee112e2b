// One sweep of block dual descent for the multinomial loss (docs/theory/multinomial.md): each visit
// minimises the dual in all dual variables of one example, which stay on their simplex.
//
// Minimises  f(A) = 1/2 ||W||^2 + sum_ij A_ij log(A_ij / c_i) + b . r + rho/2 ||r||^2, with the
// weights w_j = sum_i a_ij x_i and the residual r_j = sum_i a_ij, where a_ij = c_i [y_i = j] -
// A_ij. The last two terms are the multipliers of an exact intercept's constraint r = 0; without
// one, b = 0 and rho = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "losses/multinomial.hpp"
#include "sweeps/block_dual_cd.hpp"

namespace widemargin {

struct MultinomialIterate {
  double* duals = nullptr;     // A, n x stride
  double* weights = nullptr;   // features x stride
  double* residual = nullptr;  // r, stride values
  const double* b = nullptr;   // stride values
  const double* squared_norms = nullptr;
  double rho = 0.0;
};

// A sweep over all examples with a cost, and what it saw.
struct MultinomialSweep : BlockSweep {
  double losses = 0.0;  // c_i l_i at the moment of the visit

  void begin(std::uint64_t seed) {
    BlockSweep::begin(seed);
    losses = 0.0;
  }
};

struct MultinomialVisit {
  double gap = 0.0;  // what the example adds to the duality gap
  double loss = 0.0;
};

struct MultinomialScratch {
  std::vector<double> start, scores, shares, step, trial, target;

  explicit MultinomialScratch(std::int64_t stride)
      : start(static_cast<std::size_t>(stride)),
        scores(static_cast<std::size_t>(stride)),
        shares(static_cast<std::size_t>(stride)),
        step(static_cast<std::size_t>(stride)),
        trial(static_cast<std::size_t>(stride)),
        target(static_cast<std::size_t>(stride)) {}
};

// out = (I + q (diag(P) - P P' / c))^-1 right: a diagonal and a matrix of rank one.
inline void solve_on_simplex(const double* shares, double q, const double* right,
                             std::int64_t stride, double* out) {
  double across[vector_length] = {}, along[vector_length] = {};
  for (std::int64_t j = 0; j < stride; j += vector_length) {
    for (int l = 0; l < vector_length; ++l) {
      const double part = shares[j + l] / (1.0 + q * shares[j + l]);
      across[l] += part * right[j + l];
      along[l] += part;  // c minus q sum P^2 / (1 + q P), without cancellation
    }
  }
  const double total = (along[0] + along[1]) + (along[2] + along[3]);
  const double sum = (across[0] + across[1]) + (across[2] + across[3]);
  const double factor = total > 0.0 ? q * sum / total : 0.0;
  for (std::int64_t j = 0; j < stride; ++j) {
    out[j] = (right[j] + factor * shares[j]) / (1.0 + q * shares[j]);
  }
}

// The scores u that the example will have once its dual variables are c softmax(u): the minimiser
// of |u - target|^2 / (2 q) + c log sum exp(u), by Newton's method. On return `shares` are the dual
// variables.
inline void long_multinomial_step(double q, double c, std::int64_t classes, std::int64_t stride,
                                  MultinomialScratch& scratch) {
  double* u = scratch.scores.data();
  double* shares = scratch.shares.data();
  double* step = scratch.step.data();
  double* trial = scratch.trial.data();
  const double* target = scratch.target.data();
  auto value_at = [&](const double* at, double* out) {
    const Exponentials found = exponentials(at, classes, stride, out);
    const double scale = c / (1.0 + found.others);
    double square = 0.0;
    for (std::int64_t j = 0; j < stride; ++j) {
      out[j] *= scale;
      square += j < classes ? (at[j] - target[j]) * (at[j] - target[j]) : 0.0;
    }
    return square / (2.0 * q) + c * (found.top + std::log1p(found.others));
  };
  double value = value_at(u, shares);
  for (int round = 0; round < 20; ++round) {
    // Newton's step in u, by its change of the dual variables: (I + q J) step = -(u - target + qP).
    for (std::int64_t j = 0; j < stride; ++j) {
      trial[j] = j < classes ? target[j] - u[j] - q * shares[j] : 0.0;
    }
    solve_on_simplex(shares, q, trial, stride, step);
    double largest = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) largest = std::max(largest, std::abs(step[j]));
    double t = 1.0, reached = value;
    for (int halving = 0; halving < 30; ++halving, t *= 0.5) {
      for (std::int64_t j = 0; j < stride; ++j) trial[j] = u[j] + t * step[j];
      reached = value_at(trial, shares);
      if (reached <= value) break;
    }
    std::copy(trial, trial + stride, u);
    value = std::min(value, reached);
    if (t * largest <= 0.05) return;
  }
}

// Visits example i; returns what it saw before its step.
template <class Rows>
MultinomialVisit visit_multinomial(const Rows& rows, const MultinomialData& data,
                                   MultinomialIterate& iterate, std::int64_t i,
                                   MultinomialScratch& scratch) {
  const std::int64_t stride = data.stride(), classes = data.classes;
  const double c = data.cost[i], q = iterate.squared_norms[i] + iterate.rho;
  double* duals = iterate.duals + i * stride;
  double* scores = scratch.scores.data();
  double* shares = scratch.shares.data();
  double* step = scratch.step.data();
  double* wanted = scratch.trial.data();
  for (std::int64_t j = 0; j < stride; ++j) {
    scratch.start[static_cast<std::size_t>(j)] = iterate.b[j] + iterate.rho * iterate.residual[j];
  }
  class_scores(rows, i, iterate.weights, stride, scratch.start.data(), scores);
  const Exponentials found = exponentials(scores, classes, stride, shares);
  const double scale = c / (1.0 + found.others);
  const double loss = c * ((found.top - scores[data.label[i]]) + std::log1p(found.others));
  double gaps[vector_length] = {};
  for (std::int64_t j = 0; j < stride; j += vector_length) {
    for (int l = 0; l < vector_length; ++l) {
      const double share = shares[j + l] * scale, way = share - duals[j + l];
      shares[j + l] = share;
      wanted[j + l] = way;
      // A relative entropy, with the curvature half way.
      gaps[l] += way * way / (share + duals[j + l] + 1e-300);
    }
  }
  const double gap = (gaps[0] + gaps[1]) + (gaps[2] + gaps[3]);
  // 1) where it moves the scores by little, Newton's step at the present scores
  solve_on_simplex(shares, q, wanted, stride, step);
  bool near = true;
  for (std::int64_t j = 0; j < stride; ++j) {
    near = near & (q * std::abs(step[j]) <= 0.3) & (duals[j] + step[j] >= 0.0);
  }
  if (!near) {
    // 2) else the exact one
    for (std::int64_t j = 0; j < stride; ++j) {
      scratch.target[static_cast<std::size_t>(j)] = scores[j] + q * duals[j];
    }
    long_multinomial_step(q, c, classes, stride, scratch);
    for (std::int64_t j = 0; j < stride; ++j) step[j] = shares[j] - duals[j];
  }
  for (std::int64_t j = 0; j < stride; ++j) {
    duals[j] += step[j];
    step[j] = -step[j];
    iterate.residual[j] += step[j];
  }
  class_axpy(rows, i, step, iterate.weights, stride);
  return {gap, loss};
}

// Visits the next `budget` examples of the sweep that has begun; returns whether it is over.
template <class Rows>
bool multinomial_sweep(const Rows& rows, const MultinomialData& data, MultinomialIterate& iterate,
                       MultinomialSweep& sweep, std::int64_t budget) {
  BlockReport report;
  const std::int64_t stride = data.stride();
  MultinomialScratch scratch(stride);
  const std::int64_t* members = sweep.active.members.data();
  const std::int64_t* order = sweep.order.data();
  const std::int64_t stop = sweep.stop(budget);
  const bool far_weights = data.features * stride * 8 > (std::int64_t{1} << 19);
  for (std::int64_t t = sweep.next; t < stop; ++t) {
    // What comes next is fetched while this example is worked on.
    if (t + 2 < stop) {
      const std::int64_t later = members[order[t + 2]];
      rows.prefetch_pointers(later);
      rows.prefetch(later);
    }
    if (t + 1 < stop) {
      const std::int64_t soon = members[order[t + 1]];
      for (std::int64_t j = 0; j < stride; j += 8) prefetch_line(iterate.duals + soon * stride + j);
      if (far_weights && stride <= widest_piece) {
        prefetch_class_weights(rows, soon, iterate.weights, stride);
      }
    }
    const MultinomialVisit seen =
        visit_multinomial(rows, data, iterate, members[order[t]], scratch);
    report.gap += seen.gap;
    sweep.losses += seen.loss;
    report.visited += 1;
  }
  return sweep.go_on(stop, report);
}

}  // namespace widemargin
