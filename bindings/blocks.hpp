// Python's `Pool`, and arguments that several files of bindings take.
#pragma once

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "kernels/blas.hpp"
#include "threads/sum_tree.hpp"

namespace widemargin {

// The function that a capsule of scipy.linalg.cython_blas holds.
inline Syrk syrk_of(const nb::capsule& capsule) {
  return reinterpret_cast<Syrk>(capsule.data(capsule.name()));
}

// What an argument that may be None holds, once its length is checked.
inline const double* optional_data(const std::optional<Vector>& numbers, std::int64_t count,
                                   const char* name) {
  if (numbers) require_length(*numbers, count, name);
  return numbers ? numbers->data() : nullptr;
}

}  // namespace widemargin
