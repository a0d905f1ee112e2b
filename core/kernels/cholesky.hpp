// Cholesky factors by threads, in tiles of one size, whatever the number of threads: so are their
// bits. Column major, A = U^T U; below the diagonal nothing is written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "kernels/blas.hpp"
#include "kernels/chains.hpp"
#include "threads/pool.hpp"

namespace widemargin {

// Fortran's functions for one tile: dpotrf, dtrsm, dsyrk and dgemm.
struct TileFunctions {
  using Potrf = void (*)(const char* uplo, const int* n, double* a, const int* lda, int* info);
  using Trsm = void (*)(const char* side, const char* uplo, const char* trans, const char* diag,
                        const int* m, const int* n, const double* alpha, const double* a,
                        const int* lda, double* b, const int* ldb);
  using Gemm = void (*)(const char* transa, const char* transb, const int* m, const int* n,
                        const int* k, const double* alpha, const double* a, const int* lda,
                        const double* b, const int* ldb, const double* beta, double* c,
                        const int* ldc);
  Potrf potrf;
  Trsm trsm;
  Syrk syrk;
  Gemm gemm;
};

// Factorises the upper triangle of A in place; `factorise` returns false where A is not positive
// definite.
class TiledCholesky {
 public:
  TiledCholesky(double* matrix, std::int64_t side, const TileFunctions& blas, Pool& pool)
      : matrix_(matrix),
        side_(side),
        tiles_((side + tile_ - 1) / tile_),
        blas_(blas),
        pool_(pool) {}

  bool factorise() {
    factorise_tile(0);
    for (std::int64_t k = 0; k + 1 < tiles_ && !failed_; ++k) {
      // 1) the row of tiles
      pool_.run(tiles_ - k - 1, [&](std::int64_t t) { solve_tile(k, k + 1 + t); });
      // 2) what is left of the matrix; the next tile on the diagonal first, with its factor
      const std::int64_t left = tiles_ - k - 1;
      pool_.run(left * (left + 1) / 2, [&](std::int64_t t) {
        std::int64_t column = 0;
        for (; t > column; ++column) t -= column + 1;
        subtract_tile(k, k + 1 + t, k + 1 + column);
        if (column == 0) factorise_tile(k + 1);
      });
    }
    return !failed_;
  }

 private:
  static constexpr std::int64_t tile_ = 96;

  double* tile(std::int64_t row, std::int64_t column) const {
    return matrix_ + column * tile_ * side_ + row * tile_;
  }
  int length(std::int64_t k) const { return static_cast<int>(std::min(tile_, side_ - k * tile_)); }

  void factorise_tile(std::int64_t k) {
    const int n = length(k), stride = static_cast<int>(side_);
    int info = 0;
    blas_.potrf("U", &n, tile(k, k), &stride, &info);
    if (info != 0) failed_ = true;
  }
  void solve_tile(std::int64_t k, std::int64_t column) {
    const int m = length(k), n = length(column), stride = static_cast<int>(side_);
    const double one = 1.0;
    blas_.trsm("L", "U", "T", "N", &m, &n, &one, tile(k, k), &stride, tile(k, column), &stride);
  }
  void subtract_tile(std::int64_t k, std::int64_t row, std::int64_t column) {
    const int m = length(row), n = length(column), depth = length(k);
    const int stride = static_cast<int>(side_);
    const double minus = -1.0, one = 1.0;
    if (row == column) {
      blas_.syrk("U", "T", &n, &depth, &minus, tile(k, column), &stride, &one, tile(row, column),
                 &stride);
    } else {
      blas_.gemm("T", "N", &m, &n, &depth, &minus, tile(k, row), &stride, tile(k, column), &stride,
                 &one, tile(row, column), &stride);
    }
  }

  double* matrix_;
  std::int64_t side_, tiles_;
  const TileFunctions& blas_;
  Pool& pool_;
  std::atomic<bool> failed_{false};
};

// x <- A^-1 x for A = U^T U. Row major, U is the lower triangle L = U^T: its lines are contiguous.
class FactorSolve {
 public:
  FactorSolve(const double* lower, std::int64_t side, Pool& pool)
      : lower_(lower), side_(side), pool_(pool) {}

  void solve(double* x) {
    const std::int64_t steps = (side_ + block_ - 1) / block_;
    // 1) L z = x, from above: what is known is taken off all lines below
    for (std::int64_t k = 0; k < steps; ++k) {
      const std::int64_t begin = k * block_, end = std::min(begin + block_, side_);
      for (std::int64_t i = begin; i < end; ++i) {
        const double* line = lower_ + i * side_;
        x[i] = (x[i] - dot(line + begin, x + begin, i - begin)) / line[i];
      }
      each_part(end, side_, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          x[i] -= dot(lower_ + i * side_ + begin, x + begin, end - begin);
        }
      });
    }
    // 2) L^T y = z, from below
    for (std::int64_t k = steps; k-- > 0;) {
      const std::int64_t begin = k * block_, end = std::min(begin + block_, side_);
      for (std::int64_t i = end; i-- > begin;) {
        const double* line = lower_ + i * side_;
        x[i] /= line[i];
        subtract(x[i], line + begin, x + begin, i - begin);
      }
      each_part(0, begin, [&](std::int64_t from, std::int64_t to) {
        std::int64_t i = begin;
        for (; i + 4 <= end; i += 4) {
          const double* line = lower_ + i * side_;
          for (std::int64_t j = from; j < to; ++j) {
            x[j] -= (x[i] * line[j] + x[i + 1] * line[side_ + j]) +
                    (x[i + 2] * line[2 * side_ + j] + x[i + 3] * line[3 * side_ + j]);
          }
        }
        for (; i < end; ++i) subtract(x[i], lower_ + i * side_ + from, x + from, to - from);
      });
    }
  }

 private:
  static constexpr std::int64_t block_ = 64, part_ = 128;

  static double dot(const double* a, const double* b, std::int64_t count) {
    return sum_in_chains(count, [=](std::int64_t j) { return a[j] * b[j]; });
  }
  static void subtract(double scale, const double* a, double* b, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) b[j] -= scale * a[j];
  }
  // In parts of one length.
  template <class Work>
  void each_part(std::int64_t begin, std::int64_t end, const Work& work) {
    pool_.run((end - begin + part_ - 1) / part_, [&](std::int64_t k) {
      work(begin + k * part_, std::min(begin + (k + 1) * part_, end));
    });
  }

  const double* lower_;
  std::int64_t side_;
  Pool& pool_;
};

}  // namespace widemargin
