// Losses and their duals over problems side by side, see kernels/lane_products.hpp. An example's
// label and its cost at C = 1 come as one number, label times cost; zero where it takes no part.
// Dual variables come times their labels, as they enter the weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/vectors.hpp"
#include "losses/terms.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

constexpr std::int64_t tile_rows = 32;

// Label times cost at C = 1 of each example in each lane; zero where it takes no part.
struct LaneExamples {
  const double* signed_cost = nullptr;
  double C = 1.0;
  std::int64_t count = 0;
  std::int64_t lanes = 0;
  int threads = 1;
};

// Where a line search looks, lane by lane: at scores + b + t (slopes + slope_b). Without slopes, at
// scores + b.
struct LaneLine {
  const double* scores = nullptr;
  const double* b = nullptr;
  const double* slopes = nullptr;
  const double* slope_b = nullptr;
  const double* t = nullptr;
};

// Without branches where the loss has such a form.
template <class Loss>
inline LossTerms terms_at(double m, double c) {
  if constexpr (requires { Loss::terms(m, c); }) {
    return Loss::terms(m, c);
  } else {
    return {Loss::alpha_at(m, c), Loss::curvature_at(m, c), c * Loss::value(m)};
  }
}

template <class Loss>
inline double clipped(double alpha, double c) {
  double kept = alpha < 0.0 ? 0.0 : alpha;
  if constexpr (Loss::bounded) kept = kept > c ? c : kept;
  return kept;
}

// Runs visit(first entry, entries, buffer, sums) over tiles of neighbouring examples, in blocks
// that do not depend on the threads. Entries of a tile are numbered through, so that loops over
// them vectorise; the buffer has `space` numbers, sums has `lines` lines of one number a lane.
template <class Visit>
void sum_lanes_of(const LaneExamples& data, std::int64_t lines, std::size_t space, double* total,
                  const Visit& visit) {
  const std::int64_t count = data.count, lanes = data.lanes;
  const std::int64_t size = lines * lanes;
  const std::int64_t blocks = count * lanes >= 65'536 ? 8 : 1;
  std::vector<double> sums(static_cast<std::size_t>(blocks * size), 0.0);
  run_tasks(blocks, data.threads, {}, [&](std::int64_t block) {
    std::vector<double> buffer(space);
    const std::int64_t to = count * (block + 1) / blocks;
    for (std::int64_t i = count * block / blocks; i < to; i += tile_rows) {
      visit(i * lanes, std::min(tile_rows, to - i) * lanes, buffer.data(),
            sums.data() + block * size);
    }
  });
  std::fill(total, total + size, 0.0);
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (std::int64_t j = 0; j < size; ++j) total[j] += sums[block * size + j];
  }
}

// The numbers of the lanes, repeated for every example of a tile.
inline std::vector<double> tiled(const double* values, std::int64_t lanes) {
  std::vector<double> tile(static_cast<std::size_t>(tile_rows * lanes));
  for (std::int64_t k = 0; k < tile_rows * lanes; ++k) tile[k] = values[k % lanes];
  return tile;
}

// sums[lane] += the entries of that lane
inline void add_up(const double* entries, std::int64_t count, std::int64_t lanes, double* sums) {
  for (std::int64_t offset = 0; offset < lanes; offset += 4) {
    FourDoubles four = {};
    for (std::int64_t k = offset; k < count; k += lanes) four += load_four(entries + k);
    double parts[vector_length];
    store_four(parts, four);
    for (int l = 0; l < 4; ++l) sums[offset + l] += parts[l];
  }
}

// One tile: signed dual variables, curvatures and losses at margins y m.
template <class Loss>
void terms_of_tile(const double* __restrict weight, double C, const double* __restrict m,
                   double* __restrict alpha, double* __restrict curvature, double* __restrict value,
                   std::int64_t entries) {
  for (std::int64_t k = 0; k < entries; ++k) {
    const double y = std::copysign(1.0, weight[k]);
    const LossTerms terms = terms_at<Loss>(y * m[k], C * std::abs(weight[k]));
    alpha[k] = y * terms.alpha;
    curvature[k] = terms.curvature;
    value[k] = terms.value;
  }
}

// One tile: slope = slopes + shift, m = scores + b + t slope.
inline void move_tile(const double* __restrict scores, const double* __restrict b,
                      const double* __restrict slopes, const double* __restrict shift,
                      const double* __restrict t, double* __restrict slope, double* __restrict m,
                      std::int64_t entries) {
  for (std::int64_t k = 0; k < entries; ++k) {
    slope[k] = slopes[k] + shift[k];
    m[k] = scores[k] + b[k] + t[k] * slope[k];
  }
}

// The signed dual variables and the curvatures that belong to the margins (unless null), and in
// `totals` (3 x lanes) the loss and its first two derivatives with respect to t (the latter only
// with slopes).
template <class Loss>
void lane_terms(const LaneExamples& data, const LaneLine& line, double* alpha, double* curvature,
                double* totals) {
  const std::int64_t lanes = data.lanes;
  const bool moves = line.slopes != nullptr;
  const std::vector<double> b = tiled(line.b, lanes);
  const std::vector<double> shift = moves ? tiled(line.slope_b, lanes) : std::vector<double>();
  const std::vector<double> t = moves ? tiled(line.t, lanes) : std::vector<double>();
  const auto size = static_cast<std::size_t>(tile_rows * lanes);
  sum_lanes_of(data, 3, 5 * size, totals,
               [&](std::int64_t start, std::int64_t entries, double* buffer, double* sums) {
                 double* a = buffer;
                 double* h = a + size;
                 double* value = h + size;
                 double* m = value + size;
                 double* slope = m + size;
                 if (moves) {
                   move_tile(line.scores + start, b.data(), line.slopes + start, shift.data(),
                             t.data(), slope, m, entries);
                 } else {
                   for (std::int64_t k = 0; k < entries; ++k) m[k] = line.scores[start + k] + b[k];
                 }
                 terms_of_tile<Loss>(data.signed_cost + start, data.C, m, a, h, value, entries);
                 add_up(value, entries, lanes, sums);
                 if (alpha != nullptr) {
                   std::copy(a, a + entries, alpha + start);
                   std::copy(h, h + entries, curvature + start);
                 }
                 if (moves) {
                   for (std::int64_t k = 0; k < entries; ++k) {
                     a[k] *= -slope[k];
                     h[k] *= slope[k] * slope[k];
                   }
                   add_up(a, entries, lanes, sums + lanes);
                   add_up(h, entries, lanes, sums + 2 * lanes);
                 }
               });
}

template <class Loss>
void linear_dual_of_tile(const double* __restrict weight, double C, const double* __restrict alpha,
                         const double* __restrict curvature, const double* __restrict slopes,
                         const double* __restrict shift, double* __restrict out,
                         std::int64_t entries) {
  for (std::int64_t k = 0; k < entries; ++k) {
    const double y = std::copysign(1.0, weight[k]);
    const double part = weight[k] == 0.0 ? 0.0 : 1.0;
    const double linear = y * (alpha[k] - curvature[k] * (slopes[k] + shift[k]));
    out[k] = part * y * clipped<Loss>(linear, C * std::abs(weight[k]));
  }
}

// The dual point of the linearised conditions, kept in its range: y alpha - h (slopes + slope_b).
template <class Loss>
void lane_linear_dual(const LaneExamples& data, const double* alpha, const double* curvature,
                      const double* slopes, const double* slope_b, double* out) {
  const std::vector<double> shift = tiled(slope_b, data.lanes);
  sum_lanes_of(data, 0, 0, nullptr,
               [&](std::int64_t start, std::int64_t entries, double*, double*) {
                 linear_dual_of_tile<Loss>(data.signed_cost + start, data.C, alpha + start,
                                           curvature + start, slopes + start, shift.data(),
                                           out + start, entries);
               });
}

// What the dual term has beside alpha, if it is a parabola: q alpha^2 / (2c). Otherwise all of it.
template <class Loss>
inline double dual_part(double alpha, double c) {
  if constexpr (Loss::dual_quadratic) {
    return 0.5 * *Loss::dual_quadratic * alpha * alpha / c;
  } else {
    return Loss::lane_dual_term(alpha, c);
  }
}

template <class Loss>
void dual_of_tile(const double* __restrict weight, double C, const double* __restrict up,
                  const double* __restrict down, double* __restrict alpha,
                  double* __restrict positive, double* __restrict negative, double* __restrict term,
                  std::int64_t entries) {
  for (std::int64_t k = 0; k < entries; ++k) {
    const double y = std::copysign(1.0, weight[k]);
    const double c = C * std::abs(weight[k]);
    const double part = c > 0.0 ? 1.0 : 0.0;
    const double right = 0.5 + 0.5 * y;  // one for a positive example
    const double factor = right * up[k] + (1.0 - right) * down[k];
    const double kept = part * clipped<Loss>(factor * (y * alpha[k]), c);
    const double safe = c + (1.0 - part);
    alpha[k] = y * kept;
    positive[k] = right * kept;
    negative[k] = (1.0 - right) * kept;
    term[k] = dual_part<Loss>(kept, safe);
  }
}

// Multiplies alpha by `scale` (2 x lanes: the factors of the positive and of the negative examples;
// null for one), brings it into its range, in place, and sums over the examples into four lines of
// `totals`: alpha of the positive ones, alpha of the negative ones, and `dual_part` in the fourth
// line if the dual term is a parabola, in the third if not.
template <class Loss>
void lane_dual_sums(const LaneExamples& data, const double* scale, double* alpha, double* totals) {
  const std::int64_t lanes = data.lanes;
  const std::vector<double> ones(static_cast<std::size_t>(2 * lanes), 1.0);
  const double* factors = scale ? scale : ones.data();
  const std::vector<double> up = tiled(factors, lanes), down = tiled(factors + lanes, lanes);
  const auto size = static_cast<std::size_t>(tile_rows * lanes);
  constexpr int line = Loss::dual_quadratic ? 3 : 2;
  sum_lanes_of(data, 4, 3 * size, totals,
               [&](std::int64_t start, std::int64_t entries, double* buffer, double* sums) {
                 double* negative = buffer + size;
                 double* term = negative + size;
                 dual_of_tile<Loss>(data.signed_cost + start, data.C, up.data(), down.data(),
                                    alpha + start, buffer, negative, term, entries);
                 add_up(buffer, entries, lanes, sums);
                 add_up(negative, entries, lanes, sums + lanes);
                 add_up(term, entries, lanes, sums + line * lanes);
               });
}

}  // namespace widemargin
