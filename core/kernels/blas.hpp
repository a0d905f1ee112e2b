// Products that are left to BLAS, by a pointer that the caller brings.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/gram.hpp"

namespace widemargin {

// Fortran's dsyrk: C <- alpha A A^T + beta C, one triangle of it.
using Syrk = void (*)(const char* uplo, const char* trans, const int* n, const int* k,
                      const double* alpha, const double* a, const int* lda, const double* beta,
                      double* c, const int* ldc);

// What `gram` adds, for the rows from `begin` on, until `most` packs of dense lines were used up;
// returns the row to go on with. Squares are not halved: `halve_diagonal` does that at the end.
// `packed` has room for `lines` of them.
template <class Rows>
std::int64_t gram_by_blas(const Rows& rows, const double* curvature, bool constant,
                          std::int64_t side, double* matrix, std::int64_t begin, Syrk syrk,
                          std::int64_t lines, std::int64_t most, double* packed) {
  const int n = static_cast<int>(side);
  const double one = 1.0;
  for (std::int64_t pack = 0; pack < most && begin < rows.count; ++pack) {
    const Packed found = pack_rows(rows, curvature, constant, side, packed, lines, begin);
    begin = found.next;
    const int depth = static_cast<int>(found.filled);
    // Column major, the lower triangle is the one that `gram` writes.
    if (depth > 0) syrk("L", "N", &n, &depth, &one, packed, &n, &one, matrix, &n);
  }
  return begin;
}

inline void halve_diagonal(double* matrix, std::int64_t side) {
  for (std::int64_t j = 0; j < side; ++j) matrix[j * (side + 1)] *= 0.5;
}

}  // namespace widemargin
