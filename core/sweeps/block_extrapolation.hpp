// Search over the span of the last moves of block dual descent: their images in W are known, so
// that the minimum of f over all their combinations costs a few products, and only examples that
// are held back by a bound need their row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sweeps/block_dual_cd.hpp"
#include "sweeps/block_trail.hpp"

namespace widemargin {

// What a search should gain, as a share of what the sweeps since the last one did.
constexpr double worth_a_search = 0.07;

// Solves G t = -g for a positive semidefinite G of `count` rows by elimination, the last row first.
// Rows below `least`, which are noise, and what depends on rows dealt with already get no share.
// Returns the decrease -g.t / 2.
inline double minimise_over_span(std::vector<double> G, const std::vector<double>& g,
                                 std::int64_t count, double least, double* t) {
  std::vector<double> right(g), diagonal(static_cast<std::size_t>(count));
  std::vector<char> kept(static_cast<std::size_t>(count));
  auto at = [&](std::int64_t i, std::int64_t j) -> double& {
    return G[static_cast<std::size_t>(i * count + j)];
  };
  for (std::int64_t i = 0; i < count; ++i) diagonal[static_cast<std::size_t>(i)] = at(i, i);
  for (std::int64_t p = count - 1; p >= 0; --p) {
    const auto place = static_cast<std::size_t>(p);
    kept[place] = at(p, p) > std::max(1e-8 * diagonal[place], least);
    if (!kept[place]) continue;
    for (std::int64_t i = p - 1; i >= 0; --i) {
      const double factor = at(i, p) / at(p, p);
      for (std::int64_t j = 0; j < p; ++j) at(i, j) -= factor * at(p, j);
      right[static_cast<std::size_t>(i)] -= factor * right[place];
    }
  }
  double decrease = 0.0;
  for (std::int64_t p = 0; p < count; ++p) {
    const auto place = static_cast<std::size_t>(p);
    t[p] = 0.0;
    if (!kept[place]) continue;
    double rest = -right[place];
    for (std::int64_t j = 0; j < p; ++j) rest -= at(p, j) * t[j];
    t[p] = rest / at(p, p);
    decrease -= 0.5 * g[place] * t[p];
  }
  return decrease;
}

// The quadratic part of f over the span of the moves, where the newest two are new.
class TrailProducts {
 public:
  // Fills in the weights and the residual of the newest move as well.
  void update(const BlockIterate& iterate, const MulticlassData& data, BlockTrail& trail) {
    const std::int64_t stride = data.stride(), size = data.features * stride;
    const auto count = static_cast<std::int64_t>(trail.moves.size());
    BlockMove& newest = trail.moves.back();
    slopes.assign(trail.moves.size(), 0.0);
    matrix.assign(trail.moves.size() * trail.moves.size(), 0.0);
    squared = 0.0;

    // 1) piece by piece, so that all vectors pass through the first-level cache once
    constexpr std::int64_t piece = 512;
    for (std::int64_t first = 0; first < size; first += piece) {
      const std::int64_t length = std::min(piece, size - first);
      const double* w = iterate.weights + first;
      const double* mark = trail.weights.data() + first;
      double* d = newest.weights.data() + first;
      for (std::int64_t e = 0; e < length; ++e) d[e] = w[e] - mark[e];
      squared += dot_of_fours(w, w, length);
      for (std::int64_t i = 0; i < count; ++i) {
        const double* a = image(trail, i) + first;
        slopes[static_cast<std::size_t>(i)] += dot_of_fours(w, a, length);
        for (std::int64_t j = i; j < count; ++j) {
          entry(i, j, count) += dot_of_fours(a, image(trail, j) + first, length);
        }
      }
    }

    // 2) the multipliers of a free intercept, and the linear part
    for (std::int64_t j = 0; j < stride; ++j) {
      const auto place = static_cast<std::size_t>(j);
      newest.residual[place] = iterate.residual[j] - trail.residual[place];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<double>& r = trail.moves[static_cast<std::size_t>(i)].residual;
      double& slope = slopes[static_cast<std::size_t>(i)];
      slope -= trail.moves[static_cast<std::size_t>(i)].total;
      for (std::int64_t j = 0; j < data.classes && iterate.rho != 0.0; ++j) {
        slope +=
            (iterate.b[j] + iterate.rho * iterate.residual[j]) * r[static_cast<std::size_t>(j)];
      }
      for (std::int64_t j = i; j < count; ++j) {
        if (iterate.rho != 0.0) {
          const std::vector<double>& s = trail.moves[static_cast<std::size_t>(j)].residual;
          entry(i, j, count) += iterate.rho * dot_of_fours(r.data(), s.data(), stride);
        }
        entry(j, i, count) = entry(i, j, count);
      }
    }
  }

  std::vector<double> matrix, slopes;
  double squared = 0.0;  // ||W||^2

 private:
  static const double* image(const BlockTrail& trail, std::int64_t i) {
    return trail.moves[static_cast<std::size_t>(i)].weights.data();
  }
  double& entry(std::int64_t i, std::int64_t j, std::int64_t count) {
    return matrix[static_cast<std::size_t>(i * count + j)];
  }
};

// Brings one example's dual variables into the range of the rule.
template <class Rule>
void limit_values(double* values, std::int64_t count, double c) {
  double sum = 0.0;
  for (std::int64_t m = 0; m < count; ++m) {
    values[m] = std::max(values[m], 0.0);
    if (Rule::has_upper) values[m] = std::min(values[m], c);
    sum += values[m];
  }
  if (!Rule::has_upper && sum > c) {
    for (std::int64_t m = 0; m < count; ++m) values[m] *= c / sum;
  }
}

// The way from the iterate to a combination of the moves, brought into the range of the rule.
struct WayAhead {
  std::vector<std::int64_t> examples, pointers;
  std::vector<std::int32_t> classes;
  std::vector<double> from, to;
  std::vector<double> weights, residual;  // its image
  double total = 0.0;
};

template <class Rule, class Rows>
WayAhead way_ahead(const Rows& rows, const MulticlassData& data, const BlockIterate& iterate,
                   const BlockTrail& trail, const std::vector<double>& t) {
  const std::int64_t stride = data.stride();
  WayAhead way;
  way.weights.assign(static_cast<std::size_t>(data.features * stride), 0.0);
  way.residual.assign(static_cast<std::size_t>(stride), 0.0);
  way.pointers.assign(1, 0);

  // 1) the image of the combination
  for (std::size_t j = 0; j < trail.moves.size(); ++j) {
    const BlockMove& move = trail.moves[j];
    for (std::size_t e = 0; e < way.weights.size(); ++e) way.weights[e] += t[j] * move.weights[e];
    for (std::size_t e = 0; e < way.residual.size(); ++e) {
      way.residual[e] += t[j] * move.residual[e];
    }
  }

  // 2) example by example; what the range cuts off is taken from the image
  BlockIterate there = iterate;
  there.weights = way.weights.data();
  there.residual = way.residual.data();
  BlockScratch scratch(stride);
  std::vector<double> sums(static_cast<std::size_t>(stride)), cut;
  std::vector<char> listed(static_cast<std::size_t>(stride));
  for (std::size_t owner = 0; owner < trail.moves.size(); ++owner) {
    for (const std::int64_t i : trail.moves[owner].examples) {
      const auto example = static_cast<std::size_t>(i);
      bool seen = false;
      for (std::size_t j = 0; j < owner; ++j) {
        seen = seen || trail.moves[j].place[example] >= 0;
      }
      if (seen) continue;
      const std::size_t first = way.classes.size();
      auto list = [&](std::int32_t l, double from) {
        listed[static_cast<std::size_t>(l)] = 1;
        way.classes.push_back(l);
        way.from.push_back(from);
      };
      for (std::int32_t m = 0; m < iterate.duals->count(i); ++m) {
        list(iterate.duals->classes(i)[m], iterate.duals->values(i)[m]);
      }
      for (std::size_t j = owner; j < trail.moves.size(); ++j) {
        const BlockMove& move = trail.moves[j];
        if (move.place[example] < 0) continue;
        const auto place = static_cast<std::size_t>(move.place[example]);
        for (auto p = static_cast<std::size_t>(move.pointers[place]);
             p < static_cast<std::size_t>(move.pointers[place + 1]); ++p) {
          const auto l = static_cast<std::size_t>(move.classes[p]);
          if (!listed[l]) list(move.classes[p], 0.0);
          sums[l] += t[j] * move.changes[p];
        }
      }
      const std::size_t count = way.classes.size() - first;
      cut.resize(count);
      for (std::size_t m = 0; m < count; ++m) {
        const auto l = static_cast<std::size_t>(way.classes[first + m]);
        cut[m] = way.from[first + m] + sums[l];
        way.to.push_back(cut[m]);
        sums[l] = 0.0;
        listed[l] = 0;
      }
      const double c = data.cost[i];
      limit_values<Rule>(way.to.data() + first, static_cast<std::int64_t>(count), c);
      bool is_cut = false;
      for (std::size_t m = 0; m < count; ++m) {
        cut[m] = way.to[first + m] - cut[m];
        is_cut = is_cut || std::abs(cut[m]) > 1e-14 * c;
        way.total += way.to[first + m] - way.from[first + m];
      }
      if (is_cut) {
        move_weights(rows, i, data.label[i], way.classes.data() + first, cut.data(),
                     static_cast<std::int64_t>(count), there, stride, scratch);
      }
      way.examples.push_back(i);
      way.pointers.push_back(static_cast<std::int64_t>(way.classes.size()));
    }
  }
  return way;
}

// Goes the share of the way; the newest move ends where it leads.
inline void take_way(const WayAhead& way, double share, BlockIterate& iterate, BlockTrail& trail) {
  std::vector<double> fresh;
  for (std::size_t m = 0; m < way.examples.size(); ++m) {
    const auto first = static_cast<std::size_t>(way.pointers[m]);
    const auto count = static_cast<std::size_t>(way.pointers[m + 1]) - first;
    fresh.resize(count);
    for (std::size_t p = 0; p < count; ++p) {
      const double from = way.from[first + p], to = way.to[first + p];
      fresh[p] = share < 1.0 ? from + share * (to - from) : to;
    }
    iterate.duals->assign(way.examples[m], way.classes.data() + first, fresh.data(),
                          static_cast<std::int64_t>(count));
  }
  BlockMove& newest = trail.moves.back();
  for (std::size_t e = 0; e < way.weights.size(); ++e) {
    iterate.weights[e] += share * way.weights[e];
    newest.weights[e] += share * way.weights[e];
  }
  for (std::size_t j = 0; j < way.residual.size(); ++j) {
    iterate.residual[j] += share * way.residual[j];
    newest.residual[j] += share * way.residual[j];
  }
  trail.note_changes(newest, *iterate.duals, way.examples);
}

// Moves the iterate to the lowest point on the way to the minimum over the span of the moves, and
// sets the mark there; returns the share of the way, or zero where it does not lead down.
template <class Rule, class Rows>
double block_extrapolate(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                         const Members& active, BlockTrail& trail) {
  const std::int64_t stride = data.stride();
  const std::int64_t size = data.features * stride;
  // 1) the newest move, and the best combination of all, were there no bounds
  BlockMove& newest = trail.extend();
  trail.note_changes(newest, *iterate.duals, trail.span);
  TrailProducts products;
  products.update(iterate, data, trail);
  const double gain_before = 0.5 * (trail.squared - products.squared) + newest.total;
  trail.squared = products.squared;
  std::vector<double> t(trail.moves.size());
  const double decrease =
      minimise_over_span(products.matrix, products.slopes, static_cast<std::int64_t>(t.size()),
                         1e-20 * products.squared, t.data());
  double share = 0.0;
  if (decrease > 1e-14 * products.squared) {
    // 2) the way there within the bounds, or a part of it; how far down it leads
    for (double& step : t) step *= trail.reach;
    const WayAhead way = way_ahead<Rule>(rows, data, iterate, trail, t);
    double slope = dot_of_fours(iterate.weights, way.weights.data(), size) - way.total;
    double curvature = dot_of_fours(way.weights.data(), way.weights.data(), size);
    for (std::int64_t j = 0; j < data.classes && iterate.rho != 0.0; ++j) {
      const double r = way.residual[static_cast<std::size_t>(j)];
      slope += (iterate.b[j] + iterate.rho * iterate.residual[j]) * r;
      curvature += iterate.rho * r * r;
    }
    share = curvature > 0.0 ? std::min(-slope / curvature, 1.0) : 0.0;
    share = share > 1e-3 ? share : 0.0;
    const double gain = -share * (slope + 0.5 * share * curvature);
    if (share > 0.0) {
      take_way(way, share, iterate, trail);
      trail.squared = dot_of_fours(iterate.weights, iterate.weights, size);
    }

    // 3) where the bounds hold most of it back, the next one does not aim so far; where it gains
    //    little beside the sweeps, the next one waits
    trail.reach = share < 0.3 ? std::max(trail.reach * std::max(2.0 * share, 0.1), 1e-3)
                              : std::min(trail.reach * (share > 0.8 ? 3.0 : 1.0), 1.0);
    const bool worth_it = gain >= worth_a_search * gain_before;
    trail.patience = worth_it ? 1 : std::min<std::int64_t>(2 * trail.patience, trail.most_patience);
  }

  // 4) the mark
  for (const std::int64_t i : newest.examples) trail.before().copy_from(*iterate.duals, i);
  std::copy_n(iterate.weights, size, trail.weights.begin());
  std::copy_n(iterate.residual, stride, trail.residual.begin());
  trail.set_span(active.members.data(), active.count);
  trail.visits = 0;
  return share;
}

}  // namespace widemargin
