// Products of the data with several vectors at once: the problems of a cross-validation share X, so
// a row that is in cache serves all of them. The vectors are the columns of a
// matrix, one column, or lane, per problem: weights x lanes, or examples x lanes, row major; lanes
// is a multiple of four.
//
// Sums over the rows are taken in a fixed number of blocks and added in order, so that they do not
// depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/vectors.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

constexpr std::int64_t lane_step = 4;

template <int Lanes, class Rows>
inline void row_dots(const Rows& rows, std::int64_t i, const double* columns, std::int64_t lanes,
                     double* out) {
  constexpr int turns = 16 / Lanes;
  FourDoubles sums[turns][Lanes / 4] = {};
  rows.template for_each_in_turns<turns>(i, [&](auto turn, std::int64_t j, double v) {
    add_scaled(sums[turn], v, columns + j * lanes);
  });
  for (int turn = 1; turn < turns; ++turn) {
    for (int part = 0; part < Lanes / 4; ++part) sums[0][part] += sums[turn][part];
  }
  std::memcpy(out, sums[0], sizeof sums[0]);
}

template <int Lanes, class Rows>
inline void row_axpys(const Rows& rows, std::int64_t i, const double* scales, double* columns,
                      std::int64_t lanes) {
  FourDoubles fixed[Lanes / 4];
  std::memcpy(fixed, scales, sizeof fixed);
  rows.for_each(i, [&](std::int64_t j, double v) { add_to_line(columns + j * lanes, v, fixed); });
}

// Calls f<8>(offset) for every eight lanes, and f<4>(offset) for four that are left.
template <class F>
inline void for_lanes(std::int64_t lanes, F&& f) {
  std::int64_t offset = 0;
  for (; offset + 8 <= lanes; offset += 8) f.template operator()<8>(offset);
  if (offset < lanes) f.template operator()<4>(offset);
}

// out[i] = x_i . columns, one number a lane
template <class Rows>
void lane_scores(const Rows& rows, const double* columns, std::int64_t lanes, double* out,
                 std::int64_t begin, std::int64_t end, int threads) {
  const std::int64_t pieces =
      std::max<std::int64_t>(1, std::min<std::int64_t>(8, (end - begin) / 256));
  run_tasks(pieces, threads, {}, [&](std::int64_t piece) {
    const std::int64_t from = begin + (end - begin) * piece / pieces;
    const std::int64_t to = begin + (end - begin) * (piece + 1) / pieces;
    for (std::int64_t i = from; i < to; ++i) {
      for_lanes(lanes, [&]<int Lanes>(std::int64_t offset) {
        row_dots<Lanes>(rows, i, columns + offset, lanes, out + i * lanes + offset);
      });
    }
  });
}

// How many blocks of rows get sums of their own: as many as are still small beside the rows.
template <class Rows>
std::int64_t block_count(const Rows& rows, std::int64_t lanes) {
  const std::int64_t weights = rows.width + 1;
  const std::int64_t entries = rows.total_nonzeros();
  return weights * 16 <= entries && entries * lanes >= 100'000 ? 4 : 1;
}

// Runs visit(i, sums) over the rows and adds up the sums of the blocks.
template <class Rows, class Visit>
void sum_over_rows(const Rows& rows, std::int64_t lanes, std::int64_t size, double* total,
                   std::int64_t begin, std::int64_t end, int threads, const Visit& visit) {
  const std::int64_t blocks = block_count(rows, lanes);
  std::vector<double> others(static_cast<std::size_t>((blocks - 1) * size), 0.0);
  run_tasks(blocks, threads, {}, [&](std::int64_t block) {
    double* sums = block == 0 ? total : others.data() + (block - 1) * size;
    const std::int64_t from = begin + (end - begin) * block / blocks;
    const std::int64_t to = begin + (end - begin) * (block + 1) / blocks;
    for (std::int64_t i = from; i < to; ++i) visit(i, sums);
  });
  for (std::int64_t block = 1; block < blocks; ++block) {
    const double* sums = others.data() + (block - 1) * size;
    for (std::int64_t j = 0; j < size; ++j) total[j] += sums[j];
  }
}

// sum += sum_i x_i coefficients[i], one coefficient a lane
template <class Rows>
void lane_accumulate(const Rows& rows, const double* coefficients, std::int64_t lanes, double* sum,
                     std::int64_t begin, std::int64_t end, int threads) {
  const std::int64_t weights = rows.width + (rows.bias != 0.0);
  sum_over_rows(
      rows, lanes, weights * lanes, sum, begin, end, threads, [&](std::int64_t i, double* sums) {
        for_lanes(lanes, [&]<int Lanes>(std::int64_t offset) {
          row_axpys<Lanes>(rows, i, coefficients + i * lanes + offset, sums + offset, lanes);
        });
      });
}

// sum += sum_i h_i (x_i . direction + shift) x_i; its last line, one beyond the weights, takes
// sum_i h_i (...), the intercept's share.
template <class Rows>
void lane_curvature_product(const Rows& rows, const double* curvature, const double* direction,
                            const double* shift, std::int64_t lanes, double* sum,
                            std::int64_t begin, std::int64_t end, int threads) {
  const std::int64_t weights = rows.width + (rows.bias != 0.0);
  sum_over_rows(rows, lanes, (weights + 1) * lanes, sum, begin, end, threads,
                [&](std::int64_t i, double* sums) {
                  for_lanes(lanes, [&]<int Lanes>(std::int64_t offset) {
                    double scaled[Lanes];
                    row_dots<Lanes>(rows, i, direction + offset, lanes, scaled);
                    const double* h = curvature + i * lanes + offset;
                    double* share = sums + weights * lanes + offset;
                    for (int l = 0; l < Lanes; ++l) {
                      scaled[l] = h[l] * (scaled[l] + shift[offset + l]);
                      share[l] += scaled[l];
                    }
                    row_axpys<Lanes>(rows, i, scaled, sums + offset, lanes);
                  });
                });
}

// out[lane] = sum of the squares of a lane
inline void lane_squares(const double* columns, std::int64_t lines, std::int64_t lanes,
                         double* out) {
  for (std::int64_t offset = 0; offset < lanes; offset += 4) {
    FourDoubles sums[4] = {};
    std::int64_t j = 0;
    for (; j + 4 <= lines; j += 4) {
      for (int turn = 0; turn < 4; ++turn) {
        const FourDoubles four = load_four(columns + (j + turn) * lanes + offset);
        sums[turn] += four * four;
      }
    }
    for (; j < lines; ++j) {
      const FourDoubles four = load_four(columns + j * lanes + offset);
      sums[0] += four * four;
    }
    store_four(out + offset, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
}

}  // namespace widemargin
