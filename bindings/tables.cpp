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

// Runs along a column, long enough for the processor to foresee what is read next.
constexpr std::int64_t tile_rows = 4096;
constexpr std::int64_t square_rows = 16;

// One cache line of columns at a time: its rows are read along the columns and written as lines.
template <class T>
void copy_lines(const T* const* columns, std::int64_t width, std::int64_t begin, std::int64_t end,
                T* to, std::int64_t stride) {
  constexpr std::int64_t most = 64 / static_cast<std::int64_t>(sizeof(T));
  T square[square_rows][most];
  for (std::int64_t i = begin; i < end; i += square_rows) {
    const std::int64_t rows = std::min(square_rows, end - i);
    for (std::int64_t j = 0; j < width; ++j) {
      for (std::int64_t k = 0; k < rows; ++k) square[k][j] = columns[j][i + k];
    }
    for (std::int64_t k = 0; k < rows; ++k) std::copy_n(square[k], width, to + (i + k) * stride);
  }
}

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
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t begin = 0; begin < count; begin += tile_rows) {
    const std::int64_t end = std::min(begin + tile_rows, count);
    for (std::int64_t j = 0; j < width; j += line) {
      copy_lines(starts.data() + j, std::min(line, width - j), begin, end, out.data() + j, width);
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
