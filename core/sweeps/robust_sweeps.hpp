// Incremental sweeps over the robust problem (DRSVM eq. 5 and 6): mini-batch subgradients (ISG) and
// proximal steps of one or more examples (IPPA), over places [begin, end) of `order`.
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

// The examples order[begin, end), between two summed iterates a batch of them; a proximal step is
// for `together` of them.
struct RobustPlaces {
  const std::int64_t* order;
  std::int64_t begin, end, batch, together;
};

template <class Norm, class Rows>
void isg_sweep(const Rows& rows, const RobustTerms& terms, RobustIterate& at, RobustSums& sums,
               const RobustPlaces& places, double step) {
  const auto [order, begin, end, batch, together] = places;
  static_cast<void>(together);
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

// A proximal step of several examples at once (DRSVM, section 6) minimises the sum of their losses
// plus the squared distance. Its multipliers are found one example at a time, each exactly with the
// others held: descent on the dual, whose ranges are independent. Multipliers are at most one, and
// rounds end once none moves by more than `accuracy`: the averages over a stage are noisier than
// that. One example needs no second round.
struct ProxBatch {
  static constexpr double accuracy = 1e-3;
  static constexpr int most_rounds = 20;

  std::vector<ProxAnswer> held;

  template <class Visit>
  void solve(std::int64_t size, Visit&& visit) {
    held.assign(static_cast<std::size_t>(size), ProxAnswer{});
    for (int round = 0; round < (size > 1 ? most_rounds : 1); ++round) {
      double moved = 0.0;
      for (std::int64_t k = 0; k < size; ++k) {
        ProxAnswer& mine = held[static_cast<std::size_t>(k)];
        const ProxAnswer answer = visit(k, mine);
        moved =
            std::max({moved, std::abs(answer.keep - mine.keep), std::abs(answer.flip - mine.flip)});
        mine = answer;
      }
      if (moved <= accuracy) return;
    }
  }

  // Adds the multipliers to the sums, and their pull to the intercept.
  void add_to(RobustSums& sums, const RobustTerms& terms, RobustIterate& at,
              const std::int64_t* order, double step) const {
    for (std::size_t k = 0; k < held.size(); ++k) {
      const std::int64_t i = order[k];
      sums.keep[i] += sums.weight * held[k].keep;
      sums.flip[i] += sums.weight * held[k].flip;
      if (terms.intercept) {
        at.b += step * terms.weights[i] * terms.y[i] * (held[k].keep - held[k].flip);
      }
    }
  }
};

template <class Norm, class Rows>
void ippa_sweep(const Rows& rows, const RobustTerms& terms, RobustIterate& at, RobustSums& sums,
                const RobustPlaces& places, double step) {
  const auto [order, begin, end, interval, together] = places;
  double level = 0.0;
  ProxBatch batch;
  for (std::int64_t first = begin; first < end; first += together) {
    const std::int64_t size = std::min(together, end - first);
    const double length = step * static_cast<double>(size);
    const ProxUnits units(length * terms.l2);
    if (terms.l2 > 0.0) {
      for (std::int64_t j = 0; j < at.count; ++j) at.w[j] *= units.shrink;
    }
    // at.w + sum of pulls, not yet projected, and the price that belongs to it
    double start = (at.price - length * terms.radius) / units.root;
    batch.solve(size, [&](std::int64_t k, const ProxAnswer& old) {
      const std::int64_t i = places.order[first + k];
      const SignedRow<Rows> row{rows, i, terms.y[i]};
      const double pull = step * terms.weights[i] * units.shrink;
      const double raise = terms.flips ? pull * terms.label_cost * units.root : 0.0;
      SparseImage<Norm, SignedRow<Rows>> image{at.w, at.count, row, units.root};
      image.guess = level;
      image.go(-pull * (old.keep - old.flip));
      image.at = 0.0;
      if (old.flip != 0.0) start -= raise * old.flip;
      const ProxTerms prox{pull, start, terms.label_cost * units.root, terms.y[i] * at.b,
                           terms.flips};
      const ProxAnswer answer = robust_prox(image, prox);
      image.go(pull * (answer.keep - answer.flip));
      if (answer.flip != 0.0) start += raise * answer.flip;
      level = image.guess;
      return answer;
    });
    const SignedRow<Rows> row{rows, order[first], 1.0};
    SparseImage<Norm, SignedRow<Rows>> image{at.w, at.count, row, units.root};
    image.guess = level;
    const auto to = image.press(start);
    for (std::int64_t j = 0; j < at.count; ++j) at.w[j] = image.pressed(at.w[j], to.level);
    at.price = units.root * to.price;
    level = image.guess;
    batch.add_to(sums, terms, at, order + first, step);
    if ((first - begin) % interval < size) sums.add(at);
    sums.weight += sums.ramp * static_cast<double>(size);
  }
}

// Norm 2: w is kept as a factor times a vector, so that a step costs only the row's entries.
template <class Rows>
void ippa_sweep_round(const Rows& rows, const RobustTerms& terms, RobustIterate& at,
                      RobustSums& sums, const RobustPlaces& places, double step) {
  const auto [order, begin, end, interval, together] = places;
  double factor = 1.0;
  double length = NormTwo::length(at.w, at.count);
  ProxBatch batch;
  auto unfold = [&] {
    for (std::int64_t j = 0; j < at.count; ++j) at.w[j] *= factor;
    factor = 1.0;
    length = NormTwo::length(at.w, at.count);
  };
  for (std::int64_t first = begin; first < end; first += together) {
    const std::int64_t size = std::min(together, end - first);
    const double all = step * static_cast<double>(size);
    const ProxUnits units(all * terms.l2);
    factor *= units.shrink;
    length *= units.shrink;
    double squared = length * length, start = (at.price - all * terms.radius) / units.root;
    batch.solve(size, [&](std::int64_t k, const ProxAnswer& old) {
      const std::int64_t i = places.order[first + k];
      const double sign = terms.y[i], square = rows.squared_norm(i);
      const double pull = step * terms.weights[i] * units.shrink;
      const double raise = terms.flips ? pull * terms.label_cost * units.root : 0.0;
      const double before = pull * (old.keep - old.flip);
      double score = sign * factor * rows.dot(i, at.w);
      // what it has pulled so far is taken back
      squared = std::max(squared - before * (2.0 * score - before * square), 0.0);
      score -= before * square;
      if (old.flip != 0.0) start -= raise * old.flip;
      RoundImage image{squared, score, square, units.root};
      const ProxTerms prox{pull, start, terms.label_cost * units.root, sign * at.b, terms.flips};
      const ProxAnswer answer = robust_prox(image, prox);
      const double tau = pull * (answer.keep - answer.flip);
      if (tau != before) rows.axpy(i, (tau - before) * sign / factor, at.w);
      squared = std::max(squared + tau * (2.0 * score + tau * square), 0.0);
      if (answer.flip != 0.0) start += raise * answer.flip;
      return answer;
    });
    const auto to = RoundImage{squared, 0.0, 0.0, units.root}.shrink(0.0, start);
    factor *= to.factor;
    length = to.factor * to.length;
    at.price = units.root * to.price;
    batch.add_to(sums, terms, at, order + first, step);
    if (!(factor > 1e-8)) {
      if (factor == 0.0) std::fill(at.w, at.w + at.count, 0.0), factor = 1.0;
      unfold();
    }
    if ((first - begin) % interval < size) {
      unfold();
      sums.add(at);
    }
    sums.weight += sums.ramp * static_cast<double>(size);
  }
  unfold();
}

}  // namespace widemargin
