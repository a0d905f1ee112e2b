// Steps along the central path of the robust problem, elementwise over the examples.
//
// Each example has three slacks and their multipliers,
//
//   above = margin + loss - 1            keep     (the loss of the label as it is)
//   below = loss - 1 - margin + k lambda flip     (the loss of the flipped label; k the label cost)
//   loss  >= 0                           rest     keep + flip + rest = weight
//
// Eliminating the loss from Newton's equations leaves a quadratic form in the changes of margin and
// lambda; its three coefficients are sums of products, without cancellation. Labels that are
// trusted (k infinite) have no `below` and no `flip`: Flips is false then.
#pragma once

#include <algorithm>
#include <cstdint>

namespace widemargin {

// A state or a direction: six rows of `count` values each.
struct RobustPath {
  double* above;
  double* below;
  double* loss;
  double* keep;
  double* flip;
  double* rest;

  RobustPath(double* values, std::int64_t count)
      : above(values),
        below(values + count),
        loss(values + 2 * count),
        keep(values + 3 * count),
        flip(values + 4 * count),
        rest(values + 5 * count) {}
};

struct PathRatios {
  double keep, flip, rest, inverse;  // multiplier / slack, and one over their sum
};

template <bool Flips>
PathRatios path_ratios(const RobustPath& at, std::int64_t i) {
  PathRatios h{at.keep[i] / at.above[i], 0.0, at.rest[i] / at.loss[i], 0.0};
  if constexpr (Flips) {
    h.flip = at.flip[i] / at.below[i];
  }
  h.inverse = 1.0 / (h.keep + h.flip + h.rest);
  return h;
}

// The form's coefficients: margin[i] and, for the mixed term, mixed[i]; returns that of lambda.
template <bool Flips>
double path_curvature(const RobustPath& at, double label_cost, double* margin, double* mixed,
                      std::int64_t count) {
  double total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const PathRatios h = path_ratios<Flips>(at, i);
    margin[i] = (4.0 * h.keep * h.flip + (h.keep + h.flip) * h.rest) * h.inverse;
    if constexpr (Flips) {
      mixed[i] = -label_cost * h.flip * (2.0 * h.keep + h.rest) * h.inverse;
      total += label_cost * label_cost * h.flip * (h.keep + h.rest) * h.inverse;
    }
  }
  return total;
}

// What a step is asked for: products of slack and multiplier equal to `target` times the example's
// weight, less the products of an earlier direction (Mehrotra's correction) if there is one. By
// weight, so that a row given twice follows the path of one row with twice the weight.
struct PathAim {
  double target;
  const double* earlier;  // null, or a direction
};

struct PathPull {
  double keep, flip, rest;
};

template <bool Flips>
PathPull path_pull_at(const RobustPath& at, const PathRatios& h, const PathAim& aim, double margin,
                      double raised, std::int64_t i, std::int64_t count) {
  const double target = aim.target * (at.keep[i] + at.flip[i] + at.rest[i]);
  double keep = target - at.keep[i] * at.above[i];
  double flip = Flips ? target - at.flip[i] * at.below[i] : 0.0;
  double rest = target - at.rest[i] * at.loss[i];
  if (aim.earlier != nullptr) {
    const double* e = aim.earlier + i;
    keep -= e[0] * e[3 * count];
    rest -= e[2 * count] * e[5 * count];
    if constexpr (Flips) {
      flip -= e[count] * e[4 * count];
    }
  }
  const double above = margin + at.loss[i] - 1.0 - at.above[i];
  PathPull q{keep / at.above[i] - h.keep * above, 0.0, rest / at.loss[i]};
  if constexpr (Flips) {
    const double below = at.loss[i] - 1.0 - margin + raised - at.below[i];
    q.flip = flip / at.below[i] - h.flip * below;
  }
  return q;
}

// out[i]: the pull on the margin of example i; returns the sum of the pulls on the flips.
// `raised` is label cost times lambda.
template <bool Flips>
double path_pull(const RobustPath& at, const double* margins, double raised, const PathAim& aim,
                 double* out, std::int64_t count) {
  double total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const PathRatios h = path_ratios<Flips>(at, i);
    const PathPull q = path_pull_at<Flips>(at, h, aim, margins[i], raised, i, count);
    out[i] = (q.keep * (2.0 * h.flip + h.rest) - q.flip * (2.0 * h.keep + h.rest) -
              (h.keep - h.flip) * q.rest) *
             h.inverse;
    if constexpr (Flips) {
      total += (q.flip * (h.keep + h.rest) - h.flip * (q.keep + q.rest)) * h.inverse;
    }
  }
  return total;
}

struct PathReach {
  double slack_fall = 0.0;       // largest relative fall of a slack
  double multiplier_fall = 0.0;  // and of a multiplier
  // Sums of products of slacks and multipliers, and of their changes.
  double slack_change = 0.0, multiplier_change = 0.0, both = 0.0;
};

// The changes of all six that belong to changes of the margins and of `raised`. `out` may be the
// earlier direction.
template <bool Flips>
PathReach path_direction(const RobustPath& at, const double* margins, double raised,
                         const PathAim& aim, const double* margin_changes, double raised_change,
                         const RobustPath& out, std::int64_t count) {
  PathReach reach;
  auto note = [&](double slack, double slack_change, double multiplier, double multiplier_change) {
    reach.slack_fall = std::max(reach.slack_fall, -slack_change / slack);
    reach.multiplier_fall = std::max(reach.multiplier_fall, -multiplier_change / multiplier);
    reach.slack_change += slack_change * multiplier;
    reach.multiplier_change += slack * multiplier_change;
    reach.both += slack_change * multiplier_change;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const PathRatios h = path_ratios<Flips>(at, i);
    const PathPull q = path_pull_at<Flips>(at, h, aim, margins[i], raised, i, count);
    const double dm = margin_changes[i];
    const double loss =
        (q.keep + q.flip + q.rest - (h.keep - h.flip) * dm - h.flip * raised_change) * h.inverse;
    const double keep = q.keep - h.keep * (dm + loss);
    const double flip = Flips ? q.flip - h.flip * (loss - dm + raised_change) : 0.0;
    const double above = dm + loss + (margins[i] + at.loss[i] - 1.0 - at.above[i]);
    out.above[i] = above;
    out.loss[i] = loss;
    out.keep[i] = keep;
    out.rest[i] = -keep - flip;
    note(at.above[i], above, at.keep[i], keep);
    note(at.loss[i], loss, at.rest[i], out.rest[i]);
    if constexpr (Flips) {
      const double below =
          loss - dm + raised_change + (at.loss[i] - 1.0 - margins[i] + raised - at.below[i]);
      out.below[i] = below;
      out.flip[i] = flip;
      note(at.below[i], below, at.flip[i], flip);
    }
  }
  return reach;
}

// Moves slacks and margins by one length, multipliers by another; returns the sum of products.
template <bool Flips>
double path_move(const RobustPath& at, const RobustPath& step, double* margins,
                 const double* margin_changes, double slack_length, double multiplier_length,
                 std::int64_t count) {
  double total = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    margins[i] += slack_length * margin_changes[i];
    at.above[i] += slack_length * step.above[i];
    at.loss[i] += slack_length * step.loss[i];
    at.keep[i] += multiplier_length * step.keep[i];
    at.rest[i] += multiplier_length * step.rest[i];
    total += at.above[i] * at.keep[i] + at.loss[i] * at.rest[i];
    if constexpr (Flips) {
      at.below[i] += slack_length * step.below[i];
      at.flip[i] += multiplier_length * step.flip[i];
      total += at.below[i] * at.flip[i];
    }
  }
  return total;
}

}  // namespace widemargin
