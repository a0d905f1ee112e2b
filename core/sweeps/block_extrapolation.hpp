// Exact line search along the sweeps since a mark, beta - beta_before, for several classes: the
// image W - W_before is known, so that only examples that hit a bound need their row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sweeps/block_dual_cd.hpp"

namespace widemargin {

// Lists both points of one example class by class.
class ListedPair {
 public:
  explicit ListedPair(std::int64_t stride)
      : now_(static_cast<std::size_t>(stride)), before_(static_cast<std::size_t>(stride)) {}

  // Fills classes, now and before; returns how many classes either point has.
  std::int64_t read(const BlockDuals& now, const BlockDuals& before, std::int64_t i) {
    classes.clear();
    auto note = [&](std::int32_t j) {
      const auto place = static_cast<std::size_t>(j);
      if (now_[place] == 0.0 && before_[place] == 0.0) classes.push_back(j);
    };
    for (std::int32_t m = 0; m < now.count(i); ++m) {
      note(now.classes(i)[m]);
      now_[static_cast<std::size_t>(now.classes(i)[m])] = now.values(i)[m];
    }
    for (std::int32_t m = 0; m < before.count(i); ++m) {
      note(before.classes(i)[m]);
      before_[static_cast<std::size_t>(before.classes(i)[m])] = before.values(i)[m];
    }
    at.resize(classes.size());
    change.resize(classes.size());
    differs = false;
    for (std::size_t m = 0; m < classes.size(); ++m) {
      const auto place = static_cast<std::size_t>(classes[m]);
      at[m] = now_[place];
      change[m] = now_[place] - before_[place];
      differs = differs || change[m] != 0.0;
      now_[place] = before_[place] = 0.0;
    }
    return static_cast<std::int64_t>(classes.size());
  }

  std::vector<std::int32_t> classes;
  std::vector<double> at, change;
  bool differs = false;

 private:
  std::vector<double> now_, before_;
};

// at + step * change, brought back into the range of the rule.
template <class Rule>
void limited_step(const ListedPair& pair, double step, double c, std::vector<double>& out) {
  out.resize(pair.at.size());
  double sum = 0.0;
  for (std::size_t m = 0; m < out.size(); ++m) {
    out[m] = std::max(pair.at[m] + step * pair.change[m], 0.0);
    if (Rule::has_upper) out[m] = std::min(out[m], c);
    sum += out[m];
  }
  if (!Rule::has_upper && sum > c) {
    const double scale = c / sum;
    for (double& x : out) x *= scale;
  }
}

// Moves the iterate if that lowers f; returns the step, or zero. `moved` is scratch of W's size;
// `before` holds the duals at the mark for the examples of span[0, span_count), outside of which
// nothing has moved since.
template <class Rule, class Rows>
double block_extrapolate(const Rows& rows, const MulticlassData& data, BlockIterate& iterate,
                         const BlockDuals& before, const double* weights_before,
                         const double* residual_before, const std::int64_t* span,
                         std::int64_t span_count, double* moved) {
  const std::int64_t stride = data.stride();
  const std::int64_t size = data.features * stride;
  const double* w = iterate.weights;

  // 1) the quadratic part of f along the direction
  double ww = 0.0, wd = 0.0, dd = 0.0;
  for (std::int64_t e = 0; e < size; ++e) {
    const double d = w[e] - weights_before[e];
    ww += w[e] * w[e];
    wd += w[e] * d;
    dd += d * d;
  }
  if (dd <= 1e-20 * ww) {
    return 0.0;
  }
  double slope = wd, curvature = dd;
  if (iterate.rho != 0.0) {
    for (std::int64_t j = 0; j < data.classes; ++j) {
      const double d = iterate.residual[j] - residual_before[j];
      slope += (iterate.b[j] + iterate.rho * iterate.residual[j]) * d;
      curvature += iterate.rho * d * d;
    }
  }

  // 2) the linear part, and the step
  ListedPair pair(stride);
  std::vector<std::int64_t> movers;
  for (std::int64_t t = 0; t < span_count; ++t) {
    if (iterate.duals->same(before, span[t])) continue;
    pair.read(*iterate.duals, before, span[t]);
    if (pair.differs) {
      movers.push_back(span[t]);
      for (const double d : pair.change) slope -= d;
    }
  }
  if (!(slope < 0.0) || slope * slope / curvature <= 1e-13 * ww) {
    return 0.0;
  }
  const double step = std::min(-slope / curvature, 1e3);

  // 3) take it; correct W for what the range cut off
  for (std::int64_t e = 0; e < size; ++e) moved[e] = w[e] + step * (w[e] - weights_before[e]);
  std::vector<double> residual(iterate.residual, iterate.residual + stride);
  BlockIterate there = iterate;
  there.weights = moved;
  there.residual = residual.data();
  if (iterate.rho != 0.0) {
    for (std::int64_t j = 0; j < data.classes; ++j) {
      residual[static_cast<std::size_t>(j)] += step * (iterate.residual[j] - residual_before[j]);
    }
  }
  BlockScratch scratch(stride);
  std::vector<double> fresh;
  double linear_gain = 0.0;
  for (const std::int64_t i : movers) {
    const std::int64_t count = pair.read(*iterate.duals, before, i);
    limited_step<Rule>(pair, step, data.cost[i], fresh);
    bool cut = false;
    for (std::size_t m = 0; m < fresh.size(); ++m) {
      linear_gain += fresh[m] - pair.at[m];
      pair.change[m] = fresh[m] - (pair.at[m] + step * pair.change[m]);
      cut = cut || pair.change[m] != 0.0;
    }
    if (cut) {
      move_weights(rows, i, data.label[i], pair.classes.data(), pair.change.data(), count, there,
                   stride, scratch);
    }
  }

  // 4) keep it if f went down
  double moved_squared = 0.0;
  for (std::int64_t e = 0; e < size; ++e) moved_squared += moved[e] * moved[e];
  double change = 0.5 * (moved_squared - ww) - linear_gain;
  if (iterate.rho != 0.0) {
    for (std::int64_t j = 0; j < data.classes; ++j) {
      const double r = iterate.residual[j], s = residual[static_cast<std::size_t>(j)];
      change += iterate.b[j] * (s - r) + 0.5 * iterate.rho * (s * s - r * r);
    }
  }
  if (!(change < 0.0)) {
    return 0.0;
  }
  for (const std::int64_t i : movers) {
    const std::int64_t count = pair.read(*iterate.duals, before, i);
    limited_step<Rule>(pair, step, data.cost[i], fresh);
    iterate.duals->assign(i, pair.classes.data(), fresh.data(), count);
  }
  std::copy(moved, moved + size, iterate.weights);
  std::copy(residual.begin(), residual.end(), iterate.residual);
  return step;
}

}  // namespace widemargin
