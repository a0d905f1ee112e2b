// Incremental sweeps over the robust problem (DRSVM eq. 5 and 6): mini-batch subgradients (ISG) and
// one-example proximal steps (IPPA), over places [begin, end) of `order`.
//
// Examples are weighted by `weights` (mean one). The multipliers that each step finds, and the
// points it visits, are averaged: these averages are the dual point and the primal point that a
// certificate is computed from. The average is weighted by a ramp that rises and falls over the
// sweeps of a stage: by summation by parts, what the dual point violates is then the difference of
// two averages of the iterates instead of the difference of two iterates, so their noise cancels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "projections/epigraph.hpp"
#include "projections/robust_prox.hpp"

namespace widemargin {

struct RobustTerms {
  const double* y;
  const double* weights;
  double radius;
  double label_cost;
  double l2;
  bool flips;
  bool intercept;
};

struct RobustIterate {
  double* w;
  std::int64_t count;
  double b;
  double price;  // lambda
};

// Weighted sums over the steps so far.
struct RobustSums {
  double* w;
  double b;
  double price;
  double total;
  double* keep;  // per example
  double* flip;
  double weight;  // of the present step
  double ramp;    // its change from one example to the next

  void add(const RobustIterate& at) {
    for (std::int64_t j = 0; j < at.count; ++j) w[j] += weight * at.w[j];
    b += weight * at.b;
    price += weight * at.price;
    total += weight;
  }
};

// The examples order[begin, end), between two summed iterates a batch of them.
struct RobustPlaces {
  const std::int64_t* order;
  std::int64_t begin, end, batch;
};

template <class Norm, class Rows>
void isg_sweep(const Rows& rows, const RobustTerms& terms, RobustIterate& at, RobustSums& sums,
               const RobustPlaces& places, double step) {
  const auto [order, begin, end, batch] = places;
  std::vector<double> gradient(static_cast<std::size_t>(at.count)), scratch;
  const bool constrained = terms.radius > 0.0;
  for (std::int64_t first = begin; first < end; first += batch) {
    const std::int64_t last = std::min(first + batch, end);
    const double share = step / static_cast<double>(last - first);
    std::fill(gradient.begin(), gradient.end(), 0.0);
    double gradient_b = 0.0, flipped_mass = 0.0;
    // 1) minus the subgradient of the batch, times the step
    for (std::int64_t k = first; k < last; ++k) {
      const std::int64_t i = order[k];
      const double margin = terms.y[i] * (rows.dot(i, at.w) + at.b);
      const double kept = 1.0 - margin;
      const double flipped = terms.flips ? 1.0 + margin - terms.label_cost * at.price : -1.0;
      const double pull = share * terms.weights[i];
      if (kept > 0.0 && kept >= flipped) {
        rows.axpy(i, pull * terms.y[i], gradient.data());
        gradient_b += pull * terms.y[i];
        sums.keep[i] += sums.weight;
      } else if (flipped > 0.0) {
        rows.axpy(i, -pull * terms.y[i], gradient.data());
        gradient_b -= pull * terms.y[i];
        flipped_mass += pull;
        sums.flip[i] += sums.weight;
      }
    }
    // 2) move, and project
    const double decay = 1.0 - step * terms.l2;
    for (std::int64_t j = 0; j < at.count; ++j) at.w[j] = decay * at.w[j] + gradient[j];
    if (terms.intercept) at.b += gradient_b;
    if (constrained) {
      const double price = at.price - step * terms.radius;
      at.price = project_epigraph(Norm{}, at.w, at.count,
                                  terms.flips ? price + terms.label_cost * flipped_mass : price,
                                  1.0, scratch);
    }
    sums.add(at);
    sums.weight += sums.ramp * static_cast<double>(last - first);
  }
}

template <class Rows>
struct SignedRow {
  const Rows& rows;
  std::int64_t i;
  double sign;
  template <class Visit>
  void for_each(Visit&& visit) const {
    rows.for_each(i, [&](std::int64_t j, double v) { visit(j, sign * v); });
  }
};

// What every proximal step shares: weights and price in the units in which the penalty is gone
// (DRSVM eq. 28).
struct ProxUnits {
  double root;  // sqrt(1 + step l2)
  double shrink;

  explicit ProxUnits(double step_l2)
      : root(std::sqrt(1.0 + step_l2)), shrink(1.0 / (1.0 + step_l2)) {}
};

template <class Norm, class Rows>
void ippa_sweep(const Rows& rows, const RobustTerms& terms, RobustIterate& at, RobustSums& sums,
                const RobustPlaces& places, double step) {
  const auto [order, begin, end, interval] = places;
  const ProxUnits units(step * terms.l2);
  double level = 0.0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t i = order[k];
    const SignedRow<Rows> row{rows, i, terms.y[i]};
    if (terms.l2 > 0.0) {
      for (std::int64_t j = 0; j < at.count; ++j) at.w[j] *= units.shrink;
    }
    SparseImage<Norm, SignedRow<Rows>> image{at.w, at.count, row, units.root};
    image.guess = level;
    const ProxTerms prox{step * terms.weights[i] * units.shrink,
                         (at.price - step * terms.radius) / units.root,
                         terms.label_cost * units.root, terms.y[i] * at.b, terms.flips};
    const ProxAnswer answer = robust_prox(image, prox);
    image.go(prox.pull * (answer.keep - answer.flip));
    const double start =
        terms.flips ? prox.start + prox.pull * prox.label_cost * answer.flip : prox.start;
    const auto to = image.press(start);
    for (std::int64_t j = 0; j < at.count; ++j) at.w[j] = image.pressed(at.w[j], to.level);
    at.price = units.root * to.price;
    level = image.guess;
    if (terms.intercept) {
      at.b += step * terms.weights[i] * terms.y[i] * (answer.keep - answer.flip);
    }
    sums.keep[i] += sums.weight * answer.keep;
    sums.flip[i] += sums.weight * answer.flip;
    if ((k - begin) % interval == 0) sums.add(at);
    sums.weight += sums.ramp;
  }
}

// Norm 2: w is kept as a factor times a vector, so that a step costs only the row's entries.
template <class Rows>
void ippa_sweep_round(const Rows& rows, const RobustTerms& terms, RobustIterate& at,
                      RobustSums& sums, const RobustPlaces& places, double step) {
  const auto [order, begin, end, interval] = places;
  const ProxUnits units(step * terms.l2);
  double factor = 1.0;
  double length = NormTwo::length(at.w, at.count);
  auto unfold = [&] {
    for (std::int64_t j = 0; j < at.count; ++j) at.w[j] *= factor;
    factor = 1.0;
    length = NormTwo::length(at.w, at.count);
  };
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t i = order[k];
    const double sign = terms.y[i];
    factor *= units.shrink;
    length *= units.shrink;
    RoundImage image{length * length, sign * factor * rows.dot(i, at.w), rows.squared_norm(i),
                     units.root};
    const ProxTerms prox{step * terms.weights[i] * units.shrink,
                         (at.price - step * terms.radius) / units.root,
                         terms.label_cost * units.root, sign * at.b, terms.flips};
    const ProxAnswer answer = robust_prox(image, prox);
    const double tau = prox.pull * (answer.keep - answer.flip);
    const double start =
        terms.flips ? prox.start + prox.pull * prox.label_cost * answer.flip : prox.start;
    const auto to = image.shrink(tau, start);
    if (tau != 0.0) rows.axpy(i, tau * sign / factor, at.w);
    factor *= to.factor;
    length = to.factor * to.length;
    at.price = units.root * to.price;
    if (terms.intercept) {
      at.b += step * terms.weights[i] * sign * (answer.keep - answer.flip);
    }
    sums.keep[i] += sums.weight * answer.keep;
    sums.flip[i] += sums.weight * answer.flip;
    if (!(factor > 1e-8)) {
      if (factor == 0.0) std::fill(at.w, at.w + at.count, 0.0), factor = 1.0;
      unfold();
    }
    if ((k - begin) % interval == 0) {
      unfold();
      sums.add(at);
    }
    sums.weight += sums.ramp;
  }
  unfold();
}

}  // namespace widemargin
