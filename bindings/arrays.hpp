// Array arguments, and the row views behind one Python class. No mathematics here.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "losses/all.hpp"
#include "rows/csr.hpp"
#include "rows/dense.hpp"

namespace nb = nanobind;

namespace widemargin {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IndexVector = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableIndexVector = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableLabels = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using AnyRows = std::variant<DenseRows<float>, DenseRows<double>, CsrRows<float, std::int32_t>,
                             CsrRows<float, std::int64_t>, CsrRows<double, std::int32_t>,
                             CsrRows<double, std::int64_t>>;

// Python's `Rows`: a view and the arrays that keep it valid.
struct RowsHandle {
  AnyRows view;
  std::vector<nb::object> owners;

  std::int64_t count() const {
    return std::visit([](const auto& rows) { return rows.count; }, view);
  }
  std::int64_t width() const {
    return std::visit([](const auto& rows) { return rows.width; }, view);
  }
  // Length of a weight vector: the features, and one more for a penalised intercept.
  std::int64_t weights() const {
    return std::visit([](const auto& rows) { return rows.width + (rows.bias != 0.0); }, view);
  }
};

template <class Array>
void require_length(const Array& array, std::int64_t length, const char* name) {
  if (static_cast<std::int64_t>(array.shape(0)) != length) {
    throw std::invalid_argument(std::string(name) + " has length " +
                                std::to_string(array.shape(0)) + ", expected " +
                                std::to_string(length));
  }
}

template <class Array>
void require_shape(const Array& array, std::int64_t rows, std::int64_t columns, const char* name) {
  require_length(array, rows, name);
  if (static_cast<std::int64_t>(array.shape(1)) != columns) {
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(array.shape(1)) +
                                " columns, expected " + std::to_string(columns));
  }
}

template <class Array>
void require_indices(const Array& array, std::int64_t limit, const char* name) {
  const auto* values = array.data();
  for (std::size_t k = 0; k < array.shape(0); ++k) {
    if (values[k] < 0 || values[k] >= limit) {
      throw std::invalid_argument(std::string(name) + " holds an index out of range");
    }
  }
}

inline void require_range(std::int64_t begin, std::int64_t end, std::int64_t count) {
  if (begin < 0 || end < begin || end > count) {
    throw std::invalid_argument("row range out of bounds");
  }
}

void register_products(nb::module_& m, nb::class_<RowsHandle>& rows);
void register_losses(nb::module_& m);
void register_sweeps(nb::module_& m);
void register_projections(nb::module_& m);
void register_binary(nb::module_& m);
void register_kernel_sweeps(nb::module_& m);
void register_frank_wolfe(nb::module_& m);
void register_svmlight(nb::module_& m);
void register_robust(nb::module_& m);
void register_robust_path(nb::module_& m);
void register_multiclass(nb::module_& m);
void register_multinomial(nb::module_& m);
void register_lanes(nb::module_& m, nb::class_<RowsHandle>& rows);

}  // namespace widemargin
