// Frank-Wolfe steps of one example's block of the multiclass dual (FW, Algorithm 3 and its
// variants):
//
//   min 1/2 <A, K A> - sum_i A_{i,y_i},   row i of A: -beta_ij at j != y, their sum at y.
//
// The gradient in beta_ij is  q_y - q_j - 1  with q = row i of K A. Crammer-Singer: beta_i in a
// simplex of size c with 0 as a corner; Weston-Watkins: each beta_ij in [0, c].
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace widemargin {

enum class FrankWolfeStep { oblivious, exact, away, pairwise };

// The change of one row of beta under one step; `slope[j]` is the gradient, j == y is not used.
// `square` is k(x, x): moving beta_i by d costs 1/2 square (|d|^2 + (sum d)^2). Returns whether
// anything moved; `gap` grows by the row's Frank-Wolfe gap.
template <bool Joint>
bool frank_wolfe_row(const double* slope, std::int64_t classes, std::int64_t y, double cost,
                     double square, FrankWolfeStep kind, double oblivious, const double* beta,
                     double* change, double& gap) {
  auto clear = [&] { std::fill_n(change, classes, 0.0); };
  clear();
  if (!(cost > 0.0)) return false;
  if constexpr (Joint) {
    // 1) the best corner (classes means zero), and the worst one that beta leans on
    std::int64_t best = classes, worst = classes;
    double lowest = 0.0, sum = 0.0, inner = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) {
      if (j == y) continue;
      if (slope[j] < lowest) {
        lowest = slope[j];
        best = j;
      }
      sum += beta[j];
      inner += slope[j] * beta[j];
    }
    const double rest = std::max(cost - sum, 0.0);
    double highest = rest > 0.0 ? 0.0 : -INFINITY;
    for (std::int64_t j = 0; j < classes; ++j) {
      if (j != y && beta[j] > 0.0 && slope[j] > highest) {
        highest = slope[j];
        worst = j;
      }
    }
    const double forward = inner - cost * lowest;
    gap += forward;
    const double backward = cost * highest - inner;
    if (!(forward > 0.0)) return false;
    double limit = 1.0, gain = forward;
    const double weight = (worst == classes ? rest : beta[worst]) / cost;
    if (kind == FrankWolfeStep::pairwise) {
      if (best < classes) change[best] += cost;
      if (worst < classes) change[worst] -= cost;
      limit = weight;
      gain = forward + backward;
    } else if (kind == FrankWolfeStep::away && backward > forward) {
      for (std::int64_t j = 0; j < classes; ++j) change[j] = j == y ? 0.0 : beta[j];
      if (worst < classes) change[worst] -= cost;
      limit = weight < 1.0 ? weight / (1.0 - weight) : 1e300;
      gain = backward;
    } else {
      for (std::int64_t j = 0; j < classes; ++j) change[j] = j == y ? 0.0 : -beta[j];
      if (best < classes) change[best] += cost;
    }
    // 2) how far
    double squares = 0.0, total = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) {
      squares += change[j] * change[j];
      total += change[j];
    }
    const double curvature = square * (squares + total * total);
    double step = kind == FrankWolfeStep::oblivious ? oblivious
                  : curvature > 0.0                 ? std::min(gain / curvature, limit)
                                                    : limit;
    if (!(step > 0.0) || step >= 1e300) return clear(), false;
    for (std::int64_t j = 0; j < classes; ++j) change[j] *= step;
    return true;
  } else {
    // The box is a product of segments. The plain step moves the whole row towards its best
    // corner; away and pairwise steps move one segment at a time, where both are the same.
    double total_gain = 0.0;
    std::int64_t best = -1;
    double most = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) {
      if (j == y) continue;
      const double target = slope[j] < 0.0 ? cost : 0.0;
      change[j] = target - beta[j];
      const double gain = -slope[j] * change[j];
      total_gain += gain;
      // What an exact step along the segment would win.
      const double promise =
          change[j] == 0.0 ? 0.0 : std::min(gain, slope[j] * slope[j] / (4.0 * square + 1e-300));
      if (promise > most) {
        most = promise;
        best = j;
      }
    }
    gap += total_gain;
    if (!(total_gain > 0.0)) return clear(), false;
    if (kind == FrankWolfeStep::away || kind == FrankWolfeStep::pairwise) {
      if (best < 0) return clear(), false;
      const double whole = change[best];
      clear();
      change[best] = whole;
      total_gain = -slope[best] * whole;
    }
    double squares = 0.0, total = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) {
      squares += change[j] * change[j];
      total += change[j];
    }
    const double curvature = square * (squares + total * total);
    const double step = kind == FrankWolfeStep::oblivious ? oblivious
                        : curvature > 0.0                 ? std::min(total_gain / curvature, 1.0)
                                                          : 1.0;
    for (std::int64_t j = 0; j < classes; ++j) change[j] *= step;
    return true;
  }
}

// Steps on one example's block until `repeats` are done or none helps.
class FrankWolfeBlock {
 public:
  explicit FrankWolfeBlock(std::int64_t classes)
      : slope(static_cast<std::size_t>(classes)), moved(slope.size()), change_(slope.size()) {}

  std::vector<double> slope;  // comes in as the scores of the row
  std::vector<double> moved;  // goes out as the change of the row of A

  template <bool Joint>
  bool descend(std::int64_t y, double cost, double square, FrankWolfeStep kind, double oblivious,
               int repeats, double* beta, double& gap) {
    const auto classes = static_cast<std::int64_t>(slope.size());
    const double own = slope[static_cast<std::size_t>(y)];
    for (double& value : slope) value = own - value - 1.0;
    std::fill(moved.begin(), moved.end(), 0.0);
    double total_moved = 0.0;
    bool any = false;
    for (int round = 0; round < repeats; ++round) {
      double row_gap = 0.0;
      const bool moves = frank_wolfe_row<Joint>(slope.data(), classes, y, cost, square, kind,
                                                oblivious, beta, change_.data(), row_gap);
      if (round == 0) gap += row_gap;
      if (!moves) break;
      any = true;
      double total = 0.0;
      for (std::size_t j = 0; j < slope.size(); ++j) {
        const double before = beta[j];
        beta[j] = std::clamp(beta[j] + change_[j], 0.0, cost);
        // What was clipped has not moved.
        change_[j] = beta[j] - before;
        moved[j] -= change_[j];
        total += change_[j];
      }
      total_moved += total;
      for (std::size_t j = 0; j < slope.size(); ++j) slope[j] += square * (total + change_[j]);
    }
    moved[static_cast<std::size_t>(y)] = total_moved;
    return any;
  }

 private:
  std::vector<double> change_;
};

struct FrankWolfeData {
  const std::int64_t* labels = nullptr;
  const double* cost = nullptr;
  std::int64_t count = 0;
  std::int64_t classes = 0;
};

struct FrankWolfeSettings {
  FrankWolfeStep kind;
  double count;       // n of the oblivious step 2n/(t + 2n)
  double steps_done;  // t before order[0]
  int repeats;

  double oblivious(std::int64_t k) const {
    return std::min(1.0, 2.0 * count / (steps_done + static_cast<double>(k) + 2.0 * count));
  }
};

// Examples order[begin..end); scores = K A is kept up to date (n x classes). `kernel` is all of K,
// or the rows of these examples in this order. Returns the sum of the rows' gaps as they were met.
template <bool Joint>
double kernel_frank_wolfe(const double* kernel, bool whole, const FrankWolfeData& data,
                          const FrankWolfeSettings& settings, const std::int64_t* order,
                          std::int64_t begin, std::int64_t end, double* beta, double* scores) {
  const auto [labels, cost, count, classes] = data;
  FrankWolfeBlock block(classes);
  double gap = 0.0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t i = order[k];
    const double* row = kernel + (whole ? i : k - begin) * count;
    std::copy_n(scores + i * classes, classes, block.slope.data());
    if (block.descend<Joint>(labels[i], cost[i], row[i], settings.kind, settings.oblivious(k),
                             settings.repeats, beta + i * classes, gap)) {
      const double* moved = block.moved.data();
      for (std::int64_t m = 0; m < count; ++m) {
        double* s = scores + m * classes;
        for (std::int64_t j = 0; j < classes; ++j) s[j] += row[m] * moved[j];
      }
    }
  }
  return gap;
}

// The same on rows of data: the scores of a row are computed when it is met, from the weights
// (features x classes), which are kept up to date.
template <bool Joint, class Rows>
double linear_frank_wolfe(const Rows& rows, const double* norms, const FrankWolfeData& data,
                          const FrankWolfeSettings& settings, const std::int64_t* order,
                          std::int64_t begin, std::int64_t end, double* beta, double* weights) {
  const std::int64_t classes = data.classes;
  FrankWolfeBlock block(classes);
  double gap = 0.0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::int64_t i = order[k];
    std::fill(block.slope.begin(), block.slope.end(), 0.0);
    double* slope = block.slope.data();
    rows.for_each(i, [&](std::int64_t f, double v) {
      const double* w = weights + f * classes;
      for (std::int64_t j = 0; j < classes; ++j) slope[j] += v * w[j];
    });
    if (block.descend<Joint>(data.labels[i], data.cost[i], norms[i], settings.kind,
                             settings.oblivious(k), settings.repeats, beta + i * classes, gap)) {
      const double* moved = block.moved.data();
      rows.for_each(i, [&](std::int64_t f, double v) {
        double* w = weights + f * classes;
        for (std::int64_t j = 0; j < classes; ++j) w[j] += v * moved[j];
      });
    }
  }
  return gap;
}

// The corners that the gradient points to (FW, Algorithm 2), as rows of A; returns the
// Frank-Wolfe gap <beta - corner, gradient>.
template <bool Joint>
double frank_wolfe_corners(const double* scores, const FrankWolfeData& data, const double* beta,
                           double* corners) {
  const auto [labels, cost, count, classes] = data;
  double gap = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double* q = scores + i * classes;
    const double* b = beta + i * classes;
    double* corner = corners + i * classes;
    const std::int64_t y = labels[i];
    std::fill_n(corner, classes, 0.0);
    std::int64_t best = y;
    double lowest = 0.0, total = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) {
      if (j == y) continue;
      const double slope = q[y] - q[j] - 1.0;
      gap += slope * b[j];
      if constexpr (Joint) {
        if (slope < lowest) {
          lowest = slope;
          best = j;
        }
      } else if (slope < 0.0) {
        corner[j] = -cost[i];
        total += cost[i];
        gap -= slope * cost[i];
      }
    }
    if (Joint && best != y) {
      corner[best] = -cost[i];
      total = cost[i];
      gap -= lowest * cost[i];
    }
    corner[y] = total;
  }
  return gap;
}

}  // namespace widemargin
