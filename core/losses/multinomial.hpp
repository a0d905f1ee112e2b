// The multinomial logistic loss: c (log sum_j exp(s_j) - s_y) over the scores s of all classes. Its
// dual variables A lie on the simplex, A_j >= 0 and sum_j A_j = c; at given scores they are c times
// the softmax. Rows of scores and of dual variables are padded to whole vectors; the padding of
// dual variables is zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/class_tiles.hpp"
#include "kernels/exponential.hpp"

namespace widemargin {

struct MultinomialData {
  const std::int32_t* label = nullptr;
  const double* cost = nullptr;
  std::int64_t classes = 0;
  std::int64_t features = 0;  // rows of W

  std::int64_t stride() const { return padded_classes(classes); }
};

// Sums and maxima in four lanes: one alone would wait for every addition before.
inline double sum_of_fours(const double* values, std::int64_t stride) {
  FourDoubles sum = load_four(values);
  for (std::int64_t j = vector_length; j < stride; j += vector_length) {
    sum = sum + load_four(values + j);
  }
  return sum_of(sum);
}

inline double highest_of(const double* values, std::int64_t count) {
  double tops[vector_length] = {values[0], values[0], values[0], values[0]};
  std::int64_t j = 0;
  for (; j + vector_length <= count; j += vector_length) {
    for (int l = 0; l < vector_length; ++l) {
      tops[l] = values[j + l] > tops[l] ? values[j + l] : tops[l];
    }
  }
  for (; j < count; ++j) tops[0] = values[j] > tops[0] ? values[j] : tops[0];
  return std::max(std::max(tops[0], tops[1]), std::max(tops[2], tops[3]));
}

// 1 where an exponential is 1, else 0.
inline FourDoubles whole_parts(const FourDoubles& shares) {
#if defined(__GNUC__)
  return shares == all_four(1.0) ? all_four(1.0) : all_four(0.0);
#else
  FourDoubles whole = all_four(0.0);
  for (int l = 0; l < vector_length; ++l) whole.at[l] = shares[l] == 1.0 ? 1.0 : 0.0;
  return whole;
#endif
}

// The sum of exponentials but for that of the highest score, which is 1: no cancellation where the
// others are tiny, and no branch.
inline double others_of(const double* shares, std::int64_t stride) {
  FourDoubles low = all_four(0.0), ones = all_four(0.0);
  for (std::int64_t j = 0; j < stride; j += vector_length) {
    const FourDoubles part = load_four(shares + j), whole = whole_parts(part);
    low = low + (part + whole * all_four(-1.0));
    ones = ones + whole;
  }
  return (sum_of(ones) - 1.0) + sum_of(low);
}

// out = exp(s - max s), padding zero; returns max s and the sum of all but its exponential, which
// is 1: log(1 + sum) then has no cancellation where the largest class has nearly all.
struct Exponentials {
  double top = 0.0;
  double others = 0.0;
};

inline Exponentials exponentials(const double* scores, std::int64_t classes, std::int64_t stride,
                                 double* out) {
  const double top = highest_of(scores, classes);
  for (std::int64_t j = 0; j < stride; ++j) {
    const double below = std::min(scores[j] - top, 0.0);
    // Products of what is smaller would leave the normal numbers, which is slow.
    out[j] = below < -600.0 ? 0.0 : exp_nonpositive(below);
  }
  for (std::int64_t j = classes; j < stride; ++j) out[j] = 0.0;
  return {top, others_of(out, stride)};
}

// The same for up to `tile_height` rows, one after the other: their exponentials are one long loop.
struct TileExponentials {
  double top[tile_height] = {}, others[tile_height] = {}, logs[tile_height] = {};
};

inline TileExponentials tile_exponentials(const double* scores, std::int64_t count,
                                          std::int64_t classes, std::int64_t stride, double* out) {
  TileExponentials found;
  for (std::int64_t r = 0; r < count; ++r) {
    const double* row = scores + r * stride;
    const double top = highest_of(row, classes);
    double* below = out + r * stride;
    for (std::int64_t j = 0; j < stride; ++j) below[j] = std::min(row[j] - top, 0.0);
    found.top[r] = top;
  }
  for (std::int64_t j = 0; j < count * stride; ++j) {
    // Products of what is smaller would leave the normal numbers, which is slow.
    out[j] = out[j] < -600.0 ? 0.0 : exp_nonpositive(out[j]);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    double* row = out + r * stride;
    for (std::int64_t j = classes; j < stride; ++j) row[j] = 0.0;
    found.others[r] = others_of(row, stride);
  }
  double low[tile_height], far[tile_height];
  for (int r = 0; r < tile_height; ++r) {
    low[r] = log1p_unit(std::min(found.others[r], 1.0));
    far[r] = -log_positive(1.0 / (1.0 + found.others[r]));
  }
  for (int r = 0; r < tile_height; ++r) found.logs[r] = found.others[r] < 1.0 ? low[r] : far[r];
  return found;
}

// Dual variables at the scores of `count` examples from i on; returns their losses.
inline double multinomial_terms(const MultinomialData& data, const double* scores, std::int64_t i,
                                std::int64_t count, double* duals) {
  const std::int64_t stride = data.stride();
  const TileExponentials found = tile_exponentials(scores, count, data.classes, stride, duals);
  double total = 0.0;
  for (std::int64_t r = 0; r < count; ++r) {
    const double c = data.cost[i + r], scale = c / (1.0 + found.others[r]);
    double* row = duals + r * stride;
    for (std::int64_t j = 0; j < stride; ++j) row[j] *= scale;
    const double own = scores[r * stride + data.label[i + r]];
    total += c * ((found.top[r] - own) + found.logs[r]);
  }
  return total;
}

// First and second derivative of the losses of `count` examples from i on, along `slopes`, at
// scores + t slopes. `moved` and `shares` hold a tile each.
inline std::pair<double, double> multinomial_derivatives(const MultinomialData& data,
                                                         const double* scores, const double* slopes,
                                                         double t, std::int64_t i,
                                                         std::int64_t count, double* moved,
                                                         double* shares) {
  const std::int64_t stride = data.stride();
  for (std::int64_t j = 0; j < count * stride; ++j) moved[j] = scores[j] + t * slopes[j];
  const TileExponentials found = tile_exponentials(moved, count, data.classes, stride, shares);
  double first = 0.0, second = 0.0;
  for (std::int64_t r = 0; r < count; ++r) {
    const double *slope_of = slopes + r * stride, *share = shares + r * stride;
    FourDoubles means = all_four(0.0), squares = all_four(0.0);
    // Around the slope of the example's own class: only differences count.
    const FourDoubles own = all_four(-slope_of[data.label[i + r]]);
    for (std::int64_t j = 0; j < stride; j += vector_length) {
      const FourDoubles slope = load_four(slope_of + j) + own;
      const FourDoubles part = load_four(share + j) * slope;
      means = means + part;
      squares = squares + part * slope;
    }
    const double scale = 1.0 / (1.0 + found.others[r]);
    const double mean = sum_of(means) * scale;
    first += data.cost[i + r] * mean;
    second += data.cost[i + r] * std::max(0.0, sum_of(squares) * scale - mean * mean);
  }
  return {first, second};
}

// change = (diag(A) - A A' / c) slopes: how dual variables follow scores.
inline void multinomial_curvature(const double* duals, const double* slopes, double c,
                                  std::int64_t stride, double* change) {
  FourDoubles sum = load_four(duals) * load_four(slopes);
  for (std::int64_t j = vector_length; j < stride; j += vector_length) {
    sum = sum + load_four(duals + j) * load_four(slopes + j);
  }
  const double mean = c > 0.0 ? sum_of(sum) / c : 0.0;
  for (std::int64_t j = 0; j < stride; ++j) change[j] = duals[j] * (slopes[j] - mean);
}

// Brings the dual variables of one example onto the simplex. The one of its own class is what the
// others leave of c, so that the sum holds exactly whatever rounding does.
inline void multinomial_feasible(double* duals, std::int32_t y, double c, std::int64_t classes,
                                 std::int64_t stride) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < stride; ++j) {
    const bool rival = j < classes && j != y;
    duals[j] = rival && duals[j] > 0.0 ? duals[j] : 0.0;
    sum += duals[j];
  }
  const double most = c * (1.0 - 1e-15 * static_cast<double>(classes));
  if (sum > most) {
    const double scale = most / sum;
    sum = 0.0;
    for (std::int64_t j = 0; j < stride; ++j) sum += duals[j] *= scale;
  }
  duals[y] = std::max(0.0, c - sum);
}

// - sum_j A_j log(A_j / c); the largest share by what it lacks to one.
inline double multinomial_entropy(const double* duals, double c, std::int64_t stride) {
  if (!(c > 0.0)) return 0.0;
  std::int64_t highest = 0;
  for (std::int64_t j = 1; j < stride; ++j) highest = duals[j] > duals[highest] ? j : highest;
  const double inverse = 1.0 / c;
  double sum = 0.0, others = 0.0;
  for (std::int64_t j = 0; j < stride; ++j) {
    const double share = j == highest ? 0.0 : std::min(duals[j] * inverse, 1.0);
    sum += share * log_positive(share);
    others += share;
  }
  return -c * (sum + (1.0 - others) * std::log1p(-std::min(others, 1.0 - 1e-16)));
}

}  // namespace widemargin
