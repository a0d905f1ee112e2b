// Python's `Columns`: columns of the rows, and coordinate descent over them.
#include "rows/columns.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <vector>

#include "arrays.hpp"
#include "kernels/gram.hpp"
#include "sweeps/column_descent.hpp"

namespace widemargin {
namespace {

class Columns {
 public:
  Columns(Vector values, Labels rows, IndexVector pointers, std::int64_t length)
      : values_(std::move(values)), rows_(std::move(rows)), pointers_(std::move(pointers)) {
    const auto stored = static_cast<std::int64_t>(values_.shape(0));
    const auto count = static_cast<std::int64_t>(pointers_.shape(0)) - 1;
    require_length(rows_, stored, "rows");
    require_indices(rows_, length, "rows");
    if (count < 0 || pointers_(0) != 0 || pointers_(count) != stored) {
      throw std::invalid_argument("column pointers do not fit the stored values");
    }
    for (std::int64_t j = 0; j < count; ++j) {
      if (pointers_(j + 1) < pointers_(j) || pointers_(j + 1) - pointers_(j) > length) {
        throw std::invalid_argument("a column holds more entries than there are rows");
      }
    }
    view = {values_.data(), rows_.data(), pointers_.data(), nullptr, count, length};
  }

  // Some of the columns; nothing is copied.
  Columns take(IndexVector places) const {
    if (view.places != nullptr) throw std::invalid_argument("columns were taken already");
    require_indices(places, view.count, "places");
    Columns taken = *this;
    taken.places_ = std::move(places);
    taken.view.places = taken.places_.data();
    taken.view.count = static_cast<std::int64_t>(taken.places_.shape(0));
    return taken;
  }

  std::int64_t stored() const {
    std::int64_t total = 0;
    for (std::int64_t j = 0; j < view.count; ++j) total += view.stored(j);
    return total;
  }

  ColumnView view;

 private:
  Vector values_;
  Labels rows_;
  IndexVector pointers_;
  IndexVector places_;
};

// A quadratic model over columns: the arrays are checked once.
class ColumnSweeps {
 public:
  ColumnSweeps(const Columns& columns, std::pair<double, double> penalty, Vector curvature,
               Vector diagonal, Vector shares, MutableVector z, MutableVector rest, double inverse)
      : columns_(columns),
        penalty_{penalty.first, penalty.second},
        curvature_(std::move(curvature)),
        diagonal_(std::move(diagonal)),
        shares_(std::move(shares)),
        z_(std::move(z)),
        rest_(std::move(rest)) {
    const auto& view = columns_.view;
    require_length(curvature_, view.length, "curvature");
    require_length(diagonal_, view.count, "diagonal");
    require_length(shares_, view.count, "shares");
    require_length(z_, view.count, "z");
    require_length(rest_, view.length, "rest");
    model_ = {curvature_.data(), diagonal_.data(), shares_.data(), z_.data(),
              rest_.data(),      &total,           inverse};
  }

  double sweep(const IndexVector& order, std::int64_t begin, std::int64_t end) {
    require_indices(order, columns_.view.count, "order");
    require_range(begin, end, static_cast<std::int64_t>(order.shape(0)));
    model_.total_rest = &total;
    nb::gil_scoped_release release;
    return column_sweep(columns_.view, model_, penalty_, order.data(), begin, end);
  }

  double total = 0.0;

 private:
  Columns columns_;
  ElasticNet penalty_;
  Vector curvature_, diagonal_, shares_;
  MutableVector z_, rest_;
  ColumnModel model_{};
};

}  // namespace

void register_columns(nb::module_& m, nb::class_<RowsHandle>& rows) {
  rows.def(
          "count_columns",
          [](const RowsHandle& handle, Labels place, MutableIndexVector counts, std::int64_t begin,
             std::int64_t end) {
            require_length(place, handle.weights(), "place");
            require_length(counts, handle.count(), "counts");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) { count_columns(r, place.data(), counts.data(), begin, end); },
                handle.view);
          },
          nb::arg("place"), nb::arg("counts").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "take_columns",
          [](const RowsHandle& handle, Labels place, IndexVector pointers, MutableLabels indices,
             MutableVector values, std::int64_t begin, std::int64_t end) {
            require_length(place, handle.weights(), "place");
            require_length(pointers, handle.count() + 1, "pointers");
            require_range(begin, end, handle.count());
            require_length(indices, pointers(handle.count()), "indices");
            require_length(values, pointers(handle.count()), "values");
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  take_columns(r, place.data(), pointers.data(), indices.data(), values.data(),
                               begin, end);
                },
                handle.view);
          },
          nb::arg("place"), nb::arg("pointers"), nb::arg("indices").noconvert(),
          nb::arg("values").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "gram_of_columns",
          [](const RowsHandle& handle, Labels place, Vector curvature, bool constant,
             MutableMatrix matrix, std::int64_t begin, std::int64_t end) {
            const auto side = static_cast<std::int64_t>(matrix.shape(0));
            require_length(place, handle.weights(), "place");
            require_length(curvature, handle.count(), "curvature");
            if (static_cast<std::int64_t>(matrix.shape(1)) != side) {
              throw std::invalid_argument("matrix must be square");
            }
            std::vector<bool> taken(static_cast<std::size_t>(side), false);
            for (std::size_t j = 0; j < place.shape(0); ++j) {
              const std::int64_t at = place.data()[j];
              if (at < 0) continue;
              if (at >= side - (constant ? 1 : 0) || taken[static_cast<std::size_t>(at)]) {
                throw std::invalid_argument("place holds an index twice or out of range");
              }
              taken[static_cast<std::size_t>(at)] = true;
            }
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  gram_of_columns(r, place.data(), curvature.data(), constant, side, matrix.data(),
                                  begin, end);
                },
                handle.view);
          },
          nb::arg("place"), nb::arg("curvature"), nb::arg("constant"),
          nb::arg("matrix").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "count_by_column",
          [](const RowsHandle& handle, MutableIndexVector counts, std::int64_t begin,
             std::int64_t end) {
            require_length(counts, handle.weights(), "counts");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit([&](const auto& r) { count_by_column(r, counts.data(), begin, end); },
                       handle.view);
          },
          nb::arg("counts").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "take_by_column",
          [](const RowsHandle& handle, Labels place, MutableIndexVector next, MutableLabels numbers,
             MutableVector values, std::int64_t begin, std::int64_t end) {
            require_length(place, handle.weights(), "place");
            require_length(values, static_cast<std::int64_t>(numbers.shape(0)), "values");
            require_range(begin, end, handle.count());
            const auto room = static_cast<std::int64_t>(numbers.shape(0));
            const auto places = static_cast<std::int32_t>(next.shape(0));
            require_indices(next, room + 1, "next");
            if (std::any_of(place.data(), place.data() + place.shape(0),
                            [&](std::int32_t p) { return p >= places; })) {
              throw std::invalid_argument("place holds an index out of range");
            }
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  take_by_column(r, place.data(), handle.weights(), next.data(), numbers.data(),
                                 values.data(), room, begin, end);
                },
                handle.view);
          },
          nb::arg("place"), nb::arg("next").noconvert(), nb::arg("numbers").noconvert(),
          nb::arg("values").noconvert(), nb::arg("begin"), nb::arg("end"));

  nb::class_<Columns>(m, "Columns")
      .def(nb::init<Vector, Labels, IndexVector, std::int64_t>(), nb::arg("values").noconvert(),
           nb::arg("rows").noconvert(), nb::arg("pointers").noconvert(), nb::arg("length"))
      .def_prop_ro("count", [](const Columns& c) { return c.view.count; })
      .def_prop_ro("stored", &Columns::stored)
      .def("take", &Columns::take, nb::arg("places").noconvert())
      .def(
          "add",
          [](const Columns& columns, Vector change, MutableVector out, std::int64_t begin,
             std::int64_t end) {
            require_length(change, columns.view.count, "change");
            require_length(out, columns.view.length, "out");
            require_range(begin, end, columns.view.count);
            nb::gil_scoped_release release;
            add_columns(columns.view, change.data(), out.data(), begin, end);
          },
          nb::arg("change"), nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "combine",
          [](const Columns& columns, Vector a, MutableVector sums, std::int64_t begin,
             std::int64_t end) {
            require_length(a, columns.view.length, "a");
            require_length(sums, columns.view.count, "sums");
            require_range(begin, end, columns.view.count);
            nb::gil_scoped_release release;
            for (std::int64_t j = begin; j < end; ++j) {
              sums.data()[j] = column_sum(columns.view, a.data(), j);
            }
          },
          nb::arg("a"), nb::arg("sums").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "sums",
          [](const Columns& columns, Vector a, MutableVector sums, MutableVector squares,
             std::int64_t begin, std::int64_t end) {
            require_length(a, columns.view.length, "a");
            require_length(sums, columns.view.count, "sums");
            require_length(squares, columns.view.count, "squares");
            require_range(begin, end, columns.view.count);
            nb::gil_scoped_release release;
            column_sums(columns.view, a.data(), sums.data(), squares.data(), begin, end);
          },
          nb::arg("a"), nb::arg("sums").noconvert(), nb::arg("squares").noconvert(),
          nb::arg("begin"), nb::arg("end"));

  nb::class_<ColumnSweeps>(m, "ColumnSweeps")
      .def(nb::init<const Columns&, std::pair<double, double>, Vector, Vector, Vector,
                    MutableVector, MutableVector, double>(),
           nb::arg("columns"), nb::arg("penalty"), nb::arg("curvature").noconvert(),
           nb::arg("diagonal").noconvert(), nb::arg("shares").noconvert(), nb::arg("z").noconvert(),
           nb::arg("rest").noconvert(), nb::arg("inverse"))
      .def_rw("total", &ColumnSweeps::total)
      .def("sweep", &ColumnSweeps::sweep, nb::arg("order"), nb::arg("begin"), nb::arg("end"));

  m.def(
      "matrix_sweeps",
      [](Matrix matrix, MutableVector slopes, MutableVector z, double rho, double ridge,
         double wanted, std::int64_t budget) {
        const auto side = static_cast<std::int64_t>(matrix.shape(0));
        require_shape(matrix, side, side, "matrix");
        require_length(slopes, side, "slopes");
        require_length(z, side, "z");
        nb::gil_scoped_release release;
        return matrix_sweeps(matrix.data(), side, slopes.data(), z.data(), {rho, ridge}, wanted,
                             budget);
      },
      nb::arg("matrix").noconvert(), nb::arg("slopes").noconvert(), nb::arg("z").noconvert(),
      nb::arg("rho"), nb::arg("ridge"), nb::arg("wanted"), nb::arg("budget"));
}

}  // namespace widemargin
