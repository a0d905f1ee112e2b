// Tables of columns, turned into rows; checksums.
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "kernels/checksum.hpp"
#include "kernels/transpose.hpp"

namespace widemargin {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Rows of a table from `begin` on, as many as the matrix has; whether all of them are finite.
template <class T>
bool rows_of_columns(const std::vector<Column<T>>& columns, std::int64_t begin, Table<T> out) {
  const auto count = static_cast<std::int64_t>(out.shape(0));
  if (columns.size() != out.shape(1)) {
    throw std::invalid_argument("as many columns are needed as the matrix has");
  }
  std::vector<const T*> starts;
  for (const auto& column : columns) {
    if (begin < 0 || static_cast<std::int64_t>(column.shape(0)) - begin < count) {
      throw std::invalid_argument("a column has too few rows");
    }
    starts.push_back(column.data());
  }
  nb::gil_scoped_release release;
  return transpose(starts, begin, count, out.data());
}

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::int64_t checksum_of(const Bytes& bytes, std::int64_t before) {
  nb::gil_scoped_release release;
  return static_cast<std::int64_t>(checksum(bytes.data(), static_cast<std::int64_t>(bytes.shape(0)),
                                            static_cast<std::uint64_t>(before)));
}

}  // namespace

void register_tables(nb::module_& m) {
  m.def("rows_of_columns", &rows_of_columns<float>, nb::arg("columns"), nb::arg("begin"),
        nb::arg("out").noconvert());
  m.def("rows_of_columns", &rows_of_columns<double>, nb::arg("columns"), nb::arg("begin"),
        nb::arg("out").noconvert());
  m.def("checksum", &checksum_of, nb::arg("bytes"), nb::arg("before"));
}

}  // namespace widemargin
