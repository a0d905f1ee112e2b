// Descent in pairs of dual variables for one class:
//
//   minimise 1/2 ||w||^2,  w = sum_i alpha_i x_i,  0 <= alpha_i <= c_i,  sum_i alpha_i = M.
//
// What one row gives another takes, so that the sum stays. At the scores s of all rows, rho is the
// weighted quantile that minimises the primal; a row adds (c - alpha)(rho - s) to the gap if it
// lies below, alpha (s - rho) if above. Rows that add anything, and rows next to rho, are worked on
// until their violation has fallen; then all rows are looked at again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/quantile.hpp"

namespace widemargin {

struct PairIterate {
  const double* cost = nullptr;
  double* alpha = nullptr;
  double* w = nullptr;
  std::int64_t count = 0;
  double mass = 0.0, total = 0.0;  // of alpha, and of the costs

  double rho = 0.0;
  double product = 0.0;  // of alpha with the scores that it was placed by
  double gap = std::numeric_limits<double>::infinity();
  double violation = 0.0;  // how far the scores of rows that give lie above those of rows that take
  double wanted = 0.0;

  struct Member {
    std::int64_t row;
    double score;
  };
  std::vector<Member> members;
  std::vector<Member> front;           // members that violate most
  std::vector<Member> takers, givers;  // by their place in a list of members
  std::vector<double> spread;          // one row, every column in its place; zero between uses
  QuantileSearch quantile;

  // Gives the rows with the lowest scores all that they can take, until nothing is left.
  void place(const double* scores) {
    const Quantile found = quantile({scores, cost, count, total}, mass);
    rho = found.value;
    double rest = mass - found.before, at_edge = 0.0;
    // Which side a row lies on is a coin's toss to the processor: no branch, but for rows at rho.
    const double edge = rho, *most = cost;
    double* const given = alpha;
    product = sum_and_each_where(
        count,
        [=](std::int64_t i) {
          given[i] = most[i] * static_cast<double>(scores[i] < edge);
          return given[i] * scores[i];
        },
        [=](std::int64_t i) { return scores[i] == edge; },
        [&](std::int64_t i) {
          alpha[i] = std::clamp(rest, 0.0, cost[i]);
          rest -= alpha[i];
          at_edge += alpha[i];
        });
    product += at_edge * edge;
  }

  // The `nearest` rows to rho become the members. Scores are those of other weights, which had few
  // rows to go by.
  void choose(const double* scores, std::int64_t nearest) {
    const double width = distance(scores, nearest);
    members.clear();
    each_where(
        count, [=, edge = rho](std::int64_t i) { return std::abs(scores[i] - edge) <= width; },
        [&](std::int64_t i) {
          if (cost[i] > 0.0) members.push_back({i, scores[i]});
        });
  }

  // Members whose dual variables are at neither end of their range.
  std::int64_t free_members() const {
    return std::count_if(members.begin(), members.end(), [this](const Member& each) {
      return alpha[each.row] > 0.0 && alpha[each.row] < cost[each.row];
    });
  }

  // Sees the gap at scores of w, and chooses the members. `nearest` of those on the right side are
  // among them, and `share` of the violation is to be left by working on them.
  void judge(const double* scores, std::int64_t nearest, double share) {
    rho = quantile({scores, cost, count, total}, mass).value;
    const double width = distance(scores, nearest);
    const double edge = rho, *has = alpha, *most = cost;
    const auto adds = [=](std::int64_t i) {
      const double above = scores[i] - edge;
      // The larger one is that of the row's side.
      return std::max(has[i] * above, (has[i] - most[i]) * above);
    };
    members.clear();
    gap = sum_and_each_where(
        count, adds,
        [=](std::int64_t i) { return (adds(i) > 0.0) | (std::abs(scores[i] - edge) <= width); },
        [&](std::int64_t i) {
          if (cost[i] > 0.0) members.push_back({i, scores[i]});
        });
    measure();
    wanted = share * violation;
  }

  void measure() { violation = range_of(members).violation(); }

  // The lowest score of a row that can take and the highest of one that can give.
  struct Range {
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -std::numeric_limits<double>::infinity();
    double violation() const { return std::max(0.0, highest - lowest); }
  };
  Range range_of(const std::vector<Member>& rows) const {
    Range range;
    for (const Member& each : rows) {
      if (alpha[each.row] < cost[each.row]) range.lowest = std::min(range.lowest, each.score);
      if (alpha[each.row] > 0.0) range.highest = std::max(range.highest, each.score);
    }
    return range;
  }

  // Lists the rows that violate most, those that take by rising and those that give by falling
  // score.
  void line_up(const std::vector<Member>& rows, const Range& range, std::int64_t most) {
    takers.clear();
    givers.clear();
    for (std::int64_t k = 0; k < std::ssize(rows); ++k) {
      const auto [row, score] = rows[k];
      if (alpha[row] < cost[row] && score < range.highest) takers.push_back({k, score});
      if (alpha[row] > 0.0 && score > range.lowest) givers.push_back({k, score});
    }
    const auto first = [most](std::vector<Member>& list, auto before) {
      if (std::ssize(list) > most) {
        std::nth_element(list.begin(), list.begin() + most, list.end(), before);
        list.resize(static_cast<std::size_t>(most));
      }
      std::sort(list.begin(), list.end(), before);
    };
    first(takers, [](const Member& a, const Member& b) { return a.score < b.score; });
    first(givers, [](const Member& a, const Member& b) { return a.score > b.score; });
  }

  // The rows of both lists, each once, become the front.
  void gather() {
    front.clear();
    places_.clear();
    for (const auto* list : {&takers, &givers}) {
      for (const Member& each : *list) places_.push_back(each.row);
    }
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
    for (const std::int64_t place : places_) front.push_back(members[place]);
  }

 private:
  // How far from rho the `nearest` rows lie, from a sample.
  double distance(const double* scores, std::int64_t nearest) {
    const std::int64_t stride = std::max<std::int64_t>(1, count / 1024);
    distances_.clear();
    for (std::int64_t i = 0; i < count; i += stride)
      distances_.push_back(std::abs(scores[i] - rho));
    const auto place = std::min<std::int64_t>(nearest / stride, std::ssize(distances_) - 1);
    std::nth_element(distances_.begin(), distances_.begin() + place, distances_.end());
    return distances_[place];
  }

  std::vector<double> distances_;
  std::vector<std::int64_t> places_;
};

// Moves as much from one row to another as lowers the dual most; returns whether anything moved.
template <class Rows>
bool pair_step(const Rows& rows, PairIterate& iterate, PairIterate::Member& taker,
               PairIterate::Member& giver) {
  const std::int64_t i = taker.row, j = giver.row;
  double *w = iterate.w, *alpha = iterate.alpha;
  taker.score = rows.dot(i, w);
  giver.score = rows.dot(j, w);
  const double difference = giver.score - taker.score;
  const double size = std::abs(giver.score) + std::abs(taker.score);
  if (!(difference > 4.0 * std::numeric_limits<double>::epsilon() * size)) return false;
  const double takes = iterate.cost[i] - alpha[i], gives = alpha[j];
  double step = std::min(takes, gives);
  const double first = rows.squared_norm(i), second = rows.squared_norm(j);
  // ||x_i - x_j|| is at most the sum of the norms: often that tells that all can move.
  const double longest = std::sqrt(first) + std::sqrt(second);
  if (difference < step * longest * longest) {
    double* spread = iterate.spread.data();
    rows.axpy(i, 1.0, spread);
    const double product = rows.dot(j, spread);
    rows.for_each(i, [spread](std::int64_t column, double) { spread[column] = 0.0; });
    const double curvature = first + second - 2.0 * product;
    if (difference < step * curvature) step = difference / curvature;
  }
  alpha[i] = step == takes ? iterate.cost[i] : alpha[i] + step;
  alpha[j] -= step;
  rows.axpy(i, step, w);
  rows.axpy(j, -step, w);
  return true;
}

// Pairs the rows that take with those that give, once; returns the visits, zero if nothing moved.
template <class Rows>
std::int64_t pair_round(const Rows& rows, PairIterate& iterate,
                        std::vector<PairIterate::Member>& set, const PairIterate::Range& range,
                        std::int64_t most) {
  iterate.line_up(set, range, most);
  std::int64_t visited = 0;
  bool moved = false;
  auto take = iterate.takers.begin(), give = iterate.givers.begin();
  while (take != iterate.takers.end() && give != iterate.givers.end()) {
    auto &taker = set[take->row], &giver = set[give->row];
    if (taker.row == giver.row || taker.score >= giver.score) break;
    const bool done = pair_step(rows, iterate, taker, giver);
    moved = moved || done;
    visited += 2;
    const bool full = iterate.alpha[taker.row] == iterate.cost[taker.row];
    const bool empty = iterate.alpha[giver.row] == 0.0;
    if (full || !done || !empty) ++take;
    if (empty || !done || !full) ++give;
  }
  return moved ? visited : 0;
}

template <class Rows>
std::int64_t pair_scores(const Rows& rows, PairIterate& iterate,
                         std::vector<PairIterate::Member>& set) {
  for (auto& each : set) each.score = rows.dot(each.row, iterate.w);
  return std::ssize(set);
}

// Works on the members until no more than the wanted violation is left, nothing moves or `visits`
// rows were visited; returns the visits. Scores get old as others move, so that a tenth of the
// members goes to the front, and rounds on the front alone come before the next look at the rest.
template <class Rows>
std::int64_t pair_rounds(const Rows& rows, PairIterate& iterate, std::int64_t visits) {
  constexpr int most_rounds = 20;
  std::int64_t visited = 0;
  while (iterate.violation > iterate.wanted && visited < visits) {
    const auto& members = iterate.members;
    const std::int64_t most = std::max<std::int64_t>(10, std::ssize(members) / 10);
    iterate.line_up(members, iterate.range_of(members), most);
    iterate.gather();
    bool moved = false;
    for (int round = 0; round < most_rounds; ++round) {
      const auto range = iterate.range_of(iterate.front);
      if (range.violation() <= std::max(iterate.wanted, 0.1 * iterate.violation)) break;
      const std::int64_t more = pair_round(rows, iterate, iterate.front, range, most);
      if (more == 0) break;
      moved = true;
      visited += more + pair_scores(rows, iterate, iterate.front);
    }
    visited += pair_scores(rows, iterate, iterate.members);
    iterate.measure();
    if (!moved) iterate.violation = 0.0;
  }
  return visited;
}

}  // namespace widemargin
