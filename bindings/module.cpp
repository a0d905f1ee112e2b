#include <algorithm>

#include "arrays.hpp"
#include "rows/parts.hpp"
#include "rows/storage.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

void register_blocks(nb::module_& m);
void register_threaded(nb::module_& m);
void register_threaded_corner(nb::module_& m);
void register_threaded_vectors(nb::module_& m);
void register_factors(nb::module_& m);
void register_gradients(nb::module_& m);
void register_structures(nb::module_& m);
void register_names(nb::module_& m);
void register_tables(nb::module_& m);
void register_columns(nb::module_& m, nb::class_<RowsHandle>& rows);
void register_tube(nb::module_& m);
void register_pairs(nb::module_& m);

namespace {

template <class T>
bool has_dtype(const nb::ndarray<nb::ro>& array) {
  return array.dtype() == nb::dtype<T>();
}

void require_contiguous_1d(const nb::ndarray<nb::ro>& array, const char* name) {
  if (array.ndim() != 1 || (array.shape(0) > 1 && array.stride(0) != 1)) {
    throw std::invalid_argument(std::string(name) + " must be one-dimensional and contiguous");
  }
}

template <class T>
AnyRows dense_view(const nb::ndarray<nb::ro>& values, double bias) {
  DenseRows<T> rows;
  rows.values = static_cast<const T*>(values.data());
  rows.count = static_cast<std::int64_t>(values.shape(0));
  rows.width = static_cast<std::int64_t>(values.shape(1));
  rows.stride = values.stride(0);
  rows.bias = bias;
  return rows;
}

RowsHandle dense_rows(const nb::object& array, double bias) {
  const auto values = nb::cast<nb::ndarray<nb::ro>>(array);
  if (values.ndim() != 2 || (values.shape(1) > 1 && values.stride(1) != 1)) {
    throw std::invalid_argument("dense rows must be two-dimensional with contiguous rows");
  }
  if (has_dtype<double>(values)) return {dense_view<double>(values, bias), {array}};
  if (has_dtype<float>(values)) return {dense_view<float>(values, bias), {array}};
  throw std::invalid_argument("dense rows must be float32 or float64");
}

template <class Index>
void require_columns(const Index* indices, std::int64_t begin, std::int64_t end, std::int64_t width,
                     int threads) {
  constexpr std::int64_t stretch = std::int64_t{1} << 18;
  run_tasks((end - begin + stretch - 1) / stretch, threads, {}, [&](std::int64_t k) {
    Index lowest = 0, highest = -1;
    const std::int64_t last = std::min(end, begin + (k + 1) * stretch);
    for (std::int64_t j = begin + k * stretch; j < last; ++j) {
      lowest = std::min(lowest, indices[j]);
      highest = std::max(highest, indices[j]);
    }
    if (lowest < 0 || static_cast<std::int64_t>(highest) >= width) {
      throw std::invalid_argument("a column index is out of range");
    }
  });
}

template <class T, class Index>
AnyRows csr_view(const nb::ndarray<nb::ro>& values, const nb::ndarray<nb::ro>& indices,
                 const nb::ndarray<nb::ro>& pointers, std::int64_t width, double bias,
                 int threads) {
  CsrRows<T, Index> rows;
  rows.values = static_cast<const T*>(values.data());
  rows.indices = static_cast<const Index*>(indices.data());
  rows.pointers = static_cast<const Index*>(pointers.data());
  rows.count = static_cast<std::int64_t>(pointers.shape(0)) - 1;
  rows.width = width;
  rows.bias = bias;
  if (rows.count < 0) {
    throw std::invalid_argument("row pointers are empty");
  }
  // A view trusts its indices in every loop, so they are checked once, here.
  const auto length = static_cast<std::int64_t>(std::min(values.shape(0), indices.shape(0)));
  if (rows.pointers[0] < 0) {
    throw std::invalid_argument("row pointers must not be negative");
  }
  for (std::int64_t i = 0; i < rows.count; ++i) {
    if (rows.pointers[i + 1] < rows.pointers[i]) {
      throw std::invalid_argument("row pointers must not decrease");
    }
    if (static_cast<std::int64_t>(rows.pointers[i + 1] - rows.pointers[i]) > width) {
      throw std::invalid_argument("a row holds more entries than there are columns");
    }
  }
  if (static_cast<std::int64_t>(rows.pointers[rows.count]) > length) {
    throw std::invalid_argument("row pointers reach past the stored values");
  }
  require_columns(rows.indices, rows.pointers[0], rows.pointers[rows.count], width, threads);
  rows.ordered = whole_rows_in_order(rows.indices, rows.pointers, rows.count, width);
  const std::int64_t stored = rows.pointers[rows.count] - rows.pointers[0];
  if (rows.ordered && rows.pointers[0] == 0 && stored == rows.count * width && width > 0) {
    return DenseRows<T>{rows.values, rows.count, width, width, bias};
  }
  return rows;
}

RowsHandle csr_rows(const nb::object& value_array, const nb::object& index_array,
                    const nb::object& pointer_array, std::int64_t width, double bias, int threads) {
  const auto values = nb::cast<nb::ndarray<nb::ro>>(value_array);
  const auto indices = nb::cast<nb::ndarray<nb::ro>>(index_array);
  const auto pointers = nb::cast<nb::ndarray<nb::ro>>(pointer_array);
  require_contiguous_1d(values, "values");
  require_contiguous_1d(indices, "indices");
  require_contiguous_1d(pointers, "row pointers");
  const std::vector<nb::object> owners{value_array, index_array, pointer_array};
  const bool wide = has_dtype<std::int64_t>(indices) && has_dtype<std::int64_t>(pointers);
  const bool narrow = has_dtype<std::int32_t>(indices) && has_dtype<std::int32_t>(pointers);
  if (!wide && !narrow) {
    throw std::invalid_argument("indices and row pointers must both be int32 or both int64");
  }
  if (has_dtype<double>(values)) {
    return {wide ? csr_view<double, std::int64_t>(values, indices, pointers, width, bias, threads)
                 : csr_view<double, std::int32_t>(values, indices, pointers, width, bias, threads),
            owners};
  }
  if (has_dtype<float>(values)) {
    return {wide ? csr_view<float, std::int64_t>(values, indices, pointers, width, bias, threads)
                 : csr_view<float, std::int32_t>(values, indices, pointers, width, bias, threads),
            owners};
  }
  throw std::invalid_argument("values must be float32 or float64");
}

// What is not valid is refused, with its reason, when the rows are viewed: here it has no repeats.
template <class Index>
using Indices = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Index>
std::int64_t longest_row(Indices<Index> pointers) {
  Index longest = 0;
  for (std::size_t i = 1; i < pointers.shape(0); ++i) {
    longest = std::max(longest, static_cast<Index>(pointers.data()[i] - pointers.data()[i - 1]));
  }
  return static_cast<std::int64_t>(longest);
}

template <class Index>
bool csr_has_repeats(Indices<Index> indices, Indices<Index> pointers, std::int64_t width) {
  nb::gil_scoped_release release;
  const auto count = static_cast<std::int64_t>(pointers.shape(0)) - 1;
  const auto total = static_cast<std::int64_t>(indices.shape(0));
  const Index* p = pointers.data();
  const Index* at = indices.data();
  if (count < 0 || p[0] != 0 || p[count] > total || !std::is_sorted(p, p + count + 1)) return false;
  const bool inside = std::all_of(at, at + p[count], [width](Index j) {
    return j >= 0 && static_cast<std::int64_t>(j) < width;
  });
  return inside && has_repeats(at, p, count, width);
}

// The same data with another constant feature.
RowsHandle with_bias(const RowsHandle& handle, double bias) {
  RowsHandle copy = handle;
  std::visit([&](auto& rows) { rows.bias = bias; }, copy.view);
  return copy;
}

// Consecutive rows, without copying them; read as dense ones if they store every value.
template <class Rows>
AnyRows part_view(const Rows& rows, std::int64_t begin, std::int64_t end) {
  const Rows part = part_of(rows, begin, end);
  if constexpr (!Rows::is_dense) {
    const bool whole = part.subset == nullptr && part.ordered && part.width > 0 && part.count > 0 &&
                       part.total_nonzeros() == part.count * part.width;
    if (whole) {
      return DenseRows<typename Rows::value_type>{part.values + part.pointers[0], part.count,
                                                  part.width, part.width, part.bias};
    }
  }
  return part;
}

RowsHandle part(const RowsHandle& handle, std::int64_t begin, std::int64_t end) {
  require_range(begin, end, handle.count());
  return {std::visit([&](const auto& rows) { return part_view(rows, begin, end); }, handle.view),
          handle.owners};
}

// The rows that `subset` names, without copying them.
RowsHandle take(const RowsHandle& handle, const nb::object& subset_array) {
  const auto subset = nb::cast<IndexVector>(subset_array, false);
  RowsHandle copy = handle;
  std::visit(
      [&](auto& rows) {
        if (rows.subset != nullptr) {
          throw std::invalid_argument("rows are a subset already");
        }
        for (std::size_t i = 0; i < subset.shape(0); ++i) {
          if (subset(i) < 0 || subset(i) >= rows.count) {
            throw std::invalid_argument("a row number is out of range");
          }
        }
        rows.subset = subset.data();
        rows.count = static_cast<std::int64_t>(subset.shape(0));
      },
      copy.view);
  copy.owners.push_back(subset_array);
  return copy;
}

}  // namespace
}  // namespace widemargin

NB_MODULE(WIDEMARGIN_MODULE, m) {
  using namespace widemargin;
  m.doc() = "Compiled kernels of widemargin; private.";
  m.attr("variant") = WIDEMARGIN_VARIANT;

  nb::class_<RowsHandle> rows(m, "Rows");
  rows.def_prop_ro("count", &RowsHandle::count)
      .def_prop_ro("width", &RowsHandle::width)
      .def_prop_ro("weights", &RowsHandle::weights)
      .def_prop_ro("nonzeros",
                   [](const RowsHandle& h) {
                     return std::visit([](const auto& r) { return r.total_nonzeros(); }, h.view);
                   })
      .def("take", &take, nb::arg("subset"))
      .def("part", &part, nb::arg("begin"), nb::arg("end"))
      .def("with_bias", &with_bias, nb::arg("bias"));
  m.def("dense_rows", &dense_rows, nb::arg("values"), nb::arg("bias"));
  m.def("has_repeats", &csr_has_repeats<std::int32_t>, nb::arg("indices").noconvert(),
        nb::arg("pointers").noconvert(), nb::arg("width"));
  m.def("has_repeats", &csr_has_repeats<std::int64_t>, nb::arg("indices"), nb::arg("pointers"),
        nb::arg("width"));
  m.def("csr_rows", &csr_rows, nb::arg("values"), nb::arg("indices"), nb::arg("pointers"),
        nb::arg("width"), nb::arg("bias"), nb::arg("threads") = 1);
  m.def("longest_row", &longest_row<std::int32_t>, nb::arg("pointers").noconvert());
  m.def("longest_row", &longest_row<std::int64_t>, nb::arg("pointers").noconvert());
  register_products(m, rows);
  register_losses(m);
  register_blocks(m);
  register_threaded(m);
  register_threaded_corner(m);
  register_threaded_vectors(m);
  register_factors(m);
  register_binary(m);
  register_sweeps(m);
  register_pairs(m);
  register_tube(m);
  register_projections(m);
  register_kernel_sweeps(m);
  register_frank_wolfe(m);
  register_svmlight(m);
  register_robust(m);
  register_robust_path(m);
  register_multiclass(m);
  register_multinomial(m);
  register_gradients(m);
  register_names(m);
  register_structures(m);
  register_tables(m);
  register_columns(m, rows);
  register_lanes(m, rows);
}
