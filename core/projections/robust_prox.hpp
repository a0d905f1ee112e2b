// The proximal step of one example (DRSVM eq. 7 and 11),
//
//   min  max(h1, h2, 0) + ( |w - w0|^2 + (s - s0)^2 ) / (2 pull),   norm(w) <= aperture s,
//   h1 = 1 - o - z.w   (label as it is),   h2 = 1 + o + z.w - k s   (label flipped, k its cost).
//
// With multipliers keep, flip >= 0 of h1 and h2, keep + flip <= 1, the answer is a projection:
// (w, s) = proj(w0 + pull (keep - flip) z, s0 + pull k flip). The seven cases of the paper's Table
// 6 are the corners, edges and the inside of that triangle. On an edge the multiplier is the root
// of a decreasing function of one variable, found by a safeguarded secant method; inside, s = 2/k
// is known and w is projected onto a ball cut by a hyperplane.
//
// What depends on the norm is an `Image`: it knows z.w and the new s after the projection of
// (w0 + tau z, s), and z.w after that onto a ball.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "projections/epigraph.hpp"

namespace widemargin {

struct ProjectedImage {
  double score;  // z.w
  double price;  // the new s
};

struct BallImage {
  double score;
  double multiplier;
};

enum class ProxCase { kept, flipped, none, kept_flipped, kept_none, flipped_none, all };

struct ProxAnswer {
  double keep = 0.0;
  double flip = 0.0;
  ProxCase which = ProxCase::none;
};

// Root of a decreasing function on [0, 1] with value(0) > 0 > value(1): secant steps that fall back
// on the middle when one end stays too long (Dai and Fletcher 2006; DRSVM, algorithm 1).
template <class Value>
double decreasing_root(Value&& value, double at_zero, double at_one, double small) {
  double low = 0.0, high = 1.0, above = at_zero, below = at_one;
  int stayed = 0;
  for (int round = 0; round < 100 && high - low > 1e-16; ++round) {
    double t = low + (high - low) * (above / (above - below));
    if (stayed >= 2 || stayed <= -2) {
      t = 0.5 * (low + high);
      stayed = 0;
    }
    if (!(t > low && t < high)) break;
    const double v = value(t);
    if (std::abs(v) <= small) return t;
    if (v > 0.0) {
      low = t, above = v;
      stayed = stayed > 0 ? stayed + 1 : 1;
    } else {
      high = t, below = v;
      stayed = stayed < 0 ? stayed - 1 : -1;
    }
  }
  return above < -below ? low : high;
}

struct ProxTerms {
  double pull;
  double start;       // s0
  double label_cost;  // k; not looked at unless flips
  double offset;      // o
  bool flips;
};

template <class Image>
ProxAnswer robust_prox(Image& image, const ProxTerms& terms) {
  struct Pieces {
    double kept, flipped;
  };
  auto at = [&](double keep, double flip) {
    const ProjectedImage p = image.projected(
        terms.pull * (keep - flip),
        terms.flips ? terms.start + terms.pull * terms.label_cost * flip : terms.start);
    const double flipped = terms.flips ? 1.0 + terms.offset + p.score - terms.label_cost * p.price
                                       : -std::numeric_limits<double>::infinity();
    return Pieces{1.0 - terms.offset - p.score, flipped};
  };
  constexpr double small = 1e-13, slack = 1e-11;
  // 1) corners: one piece is the largest; the one that is largest now is tried first
  struct Corner {
    double keep, flip;
    Pieces pieces;
    bool seen;
  };
  Corner kept_corner{1.0, 0.0, {}, false}, flipped_corner{0.0, 1.0, {}, false};
  auto look = [&](Corner& corner) {
    if (!corner.seen) {
      corner.pieces = at(corner.keep, corner.flip);
      corner.seen = true;
    }
    return corner.pieces;
  };
  auto kept_is_answer = [&] {
    const Pieces p = look(kept_corner);
    return p.kept >= 0.0 && p.kept >= p.flipped;
  };
  auto flipped_is_answer = [&] {
    const Pieces p = look(flipped_corner);
    return p.flipped >= 0.0 && p.flipped >= p.kept;
  };
  const double now = image.start_score();
  const double kept_now = 1.0 - terms.offset - now;
  const double flipped_now =
      terms.flips ? 1.0 + terms.offset + now - terms.label_cost * terms.start : -1.0;
  if (kept_now > 0.0 && kept_now >= flipped_now) {
    if (kept_is_answer()) return {1.0, 0.0, ProxCase::kept};
  } else if (flipped_now > 0.0) {
    if (flipped_is_answer()) return {0.0, 1.0, ProxCase::flipped};
  }
  const Pieces none = at(0.0, 0.0);
  if (none.kept <= 0.0 && none.flipped <= 0.0) return {0.0, 0.0, ProxCase::none};
  if (kept_is_answer()) return {1.0, 0.0, ProxCase::kept};
  const Pieces kept = look(kept_corner);
  if (!terms.flips) {
    const double t =
        decreasing_root([&](double v) { return at(v, 0.0).kept; }, none.kept, kept.kept, small);
    return {t, 0.0, ProxCase::kept_none};
  }
  if (flipped_is_answer()) return {0.0, 1.0, ProxCase::flipped};
  const Pieces flipped = look(flipped_corner);
  // 2) edges: two pieces meet
  if (none.kept > 0.0 && kept.kept < 0.0) {
    const double t =
        decreasing_root([&](double v) { return at(v, 0.0).kept; }, none.kept, kept.kept, small);
    if (at(t, 0.0).flipped <= slack) return {t, 0.0, ProxCase::kept_none};
  }
  if (none.flipped > 0.0 && flipped.flipped < 0.0) {
    const double t = decreasing_root([&](double v) { return at(0.0, v).flipped; }, none.flipped,
                                     flipped.flipped, small);
    if (at(0.0, t).kept <= slack) return {0.0, t, ProxCase::flipped_none};
  }
  const double first = kept.flipped - kept.kept, last = flipped.flipped - flipped.kept;
  if (first > 0.0 && last < 0.0) {
    const double t = decreasing_root(
        [&](double v) {
          const Pieces p = at(1.0 - v, v);
          return p.flipped - p.kept;
        },
        first, last, small);
    if (at(1.0 - t, t).kept >= -slack) return {1.0 - t, t, ProxCase::kept_flipped};
  }
  // 3) inside: all three are zero, so s = 2/k and z.w = 1 - o
  const double price = 2.0 / terms.label_cost, wanted = 1.0 - terms.offset;
  const double left = image.on_ball(-terms.pull, price).score - wanted;
  const double right = image.on_ball(terms.pull, price).score - wanted;
  double difference = 0.0;
  if (left < 0.0 && right > 0.0) {
    const double t = decreasing_root(
        [&](double v) { return wanted - image.on_ball(terms.pull * (2.0 * v - 1.0), price).score; },
        -left, -right, small);
    difference = 2.0 * t - 1.0;
  } else {
    difference = left >= 0.0 ? -1.0 : 1.0;
  }
  const double rho = image.on_ball(terms.pull * difference, price).multiplier;
  const double flip =
      (price - terms.start - image.aperture * rho) / (terms.pull * terms.label_cost);
  ProxAnswer answer{0.0, std::clamp(flip, 0.0, 1.0), ProxCase::all};
  answer.keep = std::clamp(answer.flip + difference, 0.0, 1.0 - answer.flip);
  return answer;
}

// Norm 2: three inner products say everything, so every evaluation is O(1).
struct RoundImage {
  double squared;       // |w0|^2
  double score;         // w0.z
  double squared_norm;  // |z|^2
  double aperture;

  double start_score() const { return score; }
  double length_at(double tau) const {
    return std::sqrt(std::max(squared + tau * (2.0 * score + tau * squared_norm), 0.0));
  }
  // The factor on w0 + tau z, and the new s.
  struct Shrink {
    double factor, price, length;
  };
  Shrink shrink(double tau, double s) const {
    const double length = length_at(tau);
    if (length <= aperture * s) return {1.0, s, length};
    const double price = (s + aperture * length) / (1.0 + aperture * aperture);
    if (price <= 0.0) return {0.0, 0.0, length};
    return {aperture * price / length, price, length};
  }
  ProjectedImage projected(double tau, double s) const {
    const Shrink to = shrink(tau, s);
    return {to.factor * (score + tau * squared_norm), to.price};
  }
  BallImage on_ball(double tau, double price) const {
    const double length = length_at(tau), radius = aperture * price;
    const double factor = length <= radius ? 1.0 : radius / length;
    return {factor * (score + tau * squared_norm), std::max(length - radius, 0.0)};
  }
};

// Norms 1 and infinity: `point` holds w0 + tau z, moved along z from one evaluation to the next.
template <class Norm, class Row>
struct SparseImage {
  double* point;
  std::int64_t count;
  const Row& row;  // for_each(visit(j, z_j))
  double aperture;
  double at = 0.0;     // the tau that `point` stands at
  double guess = 0.0;  // the last threshold
  // The threshold of the last projection onto the epigraph, its new s, and where it was.
  struct Press {
    double level, price;
  };
  Press last{};
  double pressed_at = std::numeric_limits<double>::quiet_NaN();
  double pressed_s = 0.0;

  double start_score() const {
    double sum = 0.0;
    row.for_each([&](std::int64_t j, double v) { sum += v * point[j]; });
    return sum;
  }

  void go(double tau) {
    const double change = tau - at;
    if (change != 0.0) {
      row.for_each([&](std::int64_t j, double v) { point[j] += change * v; });
      at = tau;
    }
  }
  double score(double level) const {
    double sum = 0.0;
    row.for_each([&](std::int64_t j, double v) { sum += v * pressed(point[j], level); });
    return sum;
  }
  static double pressed(double x, double level) {
    if constexpr (std::is_same_v<Norm, NormOne>) {
      return NormOne::shrunk(x, level);
    } else {
      return x > level ? level : (x < -level ? -level : x);
    }
  }
  Press press(double s) {
    if (at == pressed_at && s == pressed_s) return last;  // the answer, asked for once more
    // Inside the epigraph the roots below are zero and aperture s: no test is needed.
    if constexpr (std::is_same_v<Norm, NormOne>) {
      double rho = threshold_near(point, count, aperture * s, aperture * aperture, guess);
      rho = std::max(rho, -s / aperture);
      guess = rho;
      last = {rho, std::max(s + aperture * rho, 0.0)};
    } else {
      const double level = threshold_near(point, count, -s / aperture, 1.0 / (aperture * aperture),
                                          std::max(aperture * s, guess));
      guess = level;
      last = {level, level / aperture};
    }
    pressed_at = at;
    pressed_s = s;
    return last;
  }
  ProjectedImage projected(double tau, double s) {
    go(tau);
    const Press to = press(s);
    return {score(to.level), to.price};
  }
  BallImage on_ball(double tau, double price) {
    go(tau);
    const double radius = aperture * price;
    if constexpr (std::is_same_v<Norm, NormOne>) {
      if (Norm::length(point, count) <= radius) return {score(0.0), 0.0};
      const double rho = threshold_near(point, count, radius, 0.0, guess);
      return {score(rho), rho};
    } else {
      const double excess = sum_in_chains(count, [&](std::int64_t j) {
        const double over = std::abs(point[j]) - radius;
        return over > 0.0 ? over : 0.0;
      });
      return {score(radius), excess};
    }
  }
};

}  // namespace widemargin
