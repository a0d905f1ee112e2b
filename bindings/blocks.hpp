// Python's `Pool`, and arguments that several files of bindings take.
#pragma once

#include "arrays.hpp"
#include "kernels/blas.hpp"
#include "threads/sum_tree.hpp"

namespace widemargin {

// The function that a capsule of scipy.linalg.cython_blas holds.
inline Syrk syrk_of(const nb::capsule& capsule) {
  return reinterpret_cast<Syrk>(capsule.data(capsule.name()));
}

}  // namespace widemargin
