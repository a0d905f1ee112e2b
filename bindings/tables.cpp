// Tables of columns, turned into rows.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.hpp"

namespace widemargin {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Few rows at a time: a line of the cache then takes all the columns that share it before it is
// sent away.
template <class T>
void rows_of_columns(const std::vector<Column<T>>& columns, Table<T> out) {
  const auto count = static_cast<std::int64_t>(out.shape(0));
  const auto width = static_cast<std::int64_t>(out.shape(1));
  if (static_cast<std::int64_t>(columns.size()) != width) {
    throw std::invalid_argument("as many columns are needed as the matrix has");
  }
  std::vector<const T*> starts;
  for (const auto& column : columns) {
    require_length(column, count, "column");
    starts.push_back(column.data());
  }
  nb::gil_scoped_release release;
  constexpr std::int64_t tile = 64;
  for (std::int64_t begin = 0; begin < count; begin += tile) {
    const std::int64_t end = std::min(begin + tile, count);
    for (std::int64_t j = 0; j < width; ++j) {
      const T* from = starts[static_cast<std::size_t>(j)];
      T* to = out.data() + j;
      for (std::int64_t i = begin; i < end; ++i) to[i * width] = from[i];
    }
  }
}

}  // namespace

void register_tables(nb::module_& m) {
  m.def("rows_of_columns", &rows_of_columns<float>, nb::arg("columns"), nb::arg("out").noconvert());
  m.def("rows_of_columns", &rows_of_columns<double>, nb::arg("columns"),
        nb::arg("out").noconvert());
}

}  // namespace widemargin
