// Tables of columns, turned into rows; checksums.
#include <nanobind/stl/vector.h>

#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "kernels/checksum.hpp"
#include "kernels/transpose.hpp"

namespace widemargin {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The columns of a table, and what keeps them valid.
struct TableColumns {
  std::variant<std::vector<const float*>, std::vector<const double*>> starts;
  std::int64_t count;
  nb::object owner;
};

template <class T>
TableColumns columns_of(const std::vector<Column<T>>& columns, std::int64_t count) {
  std::vector<const T*> starts;
  for (const auto& column : columns) {
    require_length(column, count, "column");
    starts.push_back(column.data());
  }
  return {std::move(starts), count, nb::cast(columns)};
}

// Rows from `begin` on, as many as the matrix has; whether all of them are finite.
template <class T>
bool rows_of_columns(const TableColumns& columns, std::int64_t begin, Table<T> out) {
  const auto* starts = std::get_if<std::vector<const T*>>(&columns.starts);
  const auto count = static_cast<std::int64_t>(out.shape(0));
  if (starts == nullptr || starts->size() != out.shape(1)) {
    throw std::invalid_argument("the matrix must have the columns and the type of the table");
  }
  if (begin < 0 || begin > columns.count || columns.count - begin < count) {
    throw std::invalid_argument("the columns have no such rows");
  }
  nb::gil_scoped_release release;
  return transpose(*starts, begin, count, out.data());
}

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::int64_t checksum_of(const Bytes& bytes, std::int64_t before) {
  nb::gil_scoped_release release;
  return static_cast<std::int64_t>(checksum(bytes.data(), static_cast<std::int64_t>(bytes.shape(0)),
                                            static_cast<std::uint64_t>(before)));
}

}  // namespace

void register_tables(nb::module_& m) {
  nb::class_<TableColumns>(m, "TableColumns")
      .def("rows", &rows_of_columns<float>, nb::arg("begin"), nb::arg("out").noconvert())
      .def("rows", &rows_of_columns<double>, nb::arg("begin"), nb::arg("out").noconvert());
  m.def("table_columns", &columns_of<float>, nb::arg("columns").noconvert(), nb::arg("count"));
  m.def("table_columns", &columns_of<double>, nb::arg("columns").noconvert(), nb::arg("count"));
  m.def("checksum", &checksum_of, nb::arg("bytes"), nb::arg("before"));
}

}  // namespace widemargin
