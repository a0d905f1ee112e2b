#include "kernels/products.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "blocks.hpp"
#include "kernels/compensated.hpp"
#include "kernels/gram.hpp"

namespace widemargin {
namespace {

// Calls work(rows) for the rows of a handle, once a range of them is checked, without the GIL.
template <class Work>
auto over_range(const RowsHandle& handle, std::int64_t begin, std::int64_t end, const Work& work) {
  require_range(begin, end, handle.count());
  nb::gil_scoped_release release;
  return std::visit(work, handle.view);
}

}  // namespace

void register_products(nb::module_& m, nb::class_<RowsHandle>& rows_class) {
  rows_class
      .def(
          "scores",
          [](const RowsHandle& handle, Vector w, MutableVector out, std::int64_t begin,
             std::int64_t end) {
            require_length(w, handle.weights(), "w");
            require_length(out, handle.count(), "out");
            over_range(handle, begin, end,
                       [&](const auto& r) { scores(r, w.data(), out.data(), begin, end); });
          },
          nb::arg("w"), nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "accumulate",
          [](const RowsHandle& handle, Vector coefficients, std::optional<Vector> signs,
             MutableVector sum, std::int64_t begin, std::int64_t end) {
            require_length(coefficients, handle.count(), "coefficients");
            const double* sign_data = optional_data(signs, handle.count(), "signs");
            require_length(sum, handle.weights(), "sum");
            over_range(handle, begin, end, [&](const auto& r) {
              accumulate(r, coefficients.data(), sign_data, sum.data(), begin, end);
            });
          },
          nb::arg("coefficients"), nb::arg("signs").none(), nb::arg("sum").noconvert(),
          nb::arg("begin"), nb::arg("end"))
      .def(
          "accumulate_change",
          [](const RowsHandle& handle, Vector fresh, Vector old, Vector signs, MutableVector sum,
             std::int64_t begin, std::int64_t end) {
            require_length(fresh, handle.count(), "fresh");
            require_length(old, handle.count(), "old");
            require_length(signs, handle.count(), "signs");
            require_length(sum, handle.weights(), "sum");
            over_range(handle, begin, end, [&](const auto& r) {
              accumulate_change(r, fresh.data(), old.data(), signs.data(), sum.data(), begin, end);
            });
          },
          nb::arg("fresh"), nb::arg("old"), nb::arg("signs"), nb::arg("sum").noconvert(),
          nb::arg("begin"), nb::arg("end"))
      .def(
          "scores_and_accumulate",
          [](const RowsHandle& handle, Vector w, MutableVector out, Vector coefficients,
             std::optional<Vector> signs, MutableVector sum, std::int64_t begin, std::int64_t end) {
            require_length(w, handle.weights(), "w");
            require_length(out, handle.count(), "out");
            require_length(coefficients, handle.count(), "coefficients");
            const double* sign_data = optional_data(signs, handle.count(), "signs");
            require_length(sum, handle.weights(), "sum");
            over_range(handle, begin, end, [&](const auto& r) {
              scores_and_accumulate(r, w.data(), out.data(), coefficients.data(), sign_data,
                                    sum.data(), begin, end);
            });
          },
          nb::arg("w"), nb::arg("out").noconvert(), nb::arg("coefficients"),
          nb::arg("signs").none(), nb::arg("sum").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "compensated_scores",
          [](const RowsHandle& handle, Vector w, double b, double b_low, MutableVector out,
             std::int64_t begin, std::int64_t end) {
            require_length(w, handle.weights(), "w");
            require_length(out, handle.count(), "out");
            over_range(handle, begin, end, [&](const auto& r) {
              compensated_scores(r, w.data(), Pair{b, b_low}, out.data(), begin, end);
            });
          },
          nb::arg("w"), nb::arg("b"), nb::arg("b_low"), nb::arg("out").noconvert(),
          nb::arg("begin"), nb::arg("end"))
      .def(
          "compensated_accumulate",
          [](const RowsHandle& handle, Vector coefficients, std::optional<Vector> signs,
             MutableVector high, MutableVector low, std::int64_t begin, std::int64_t end) {
            require_length(coefficients, handle.count(), "coefficients");
            const double* sign_data = optional_data(signs, handle.count(), "signs");
            require_length(high, handle.weights(), "high");
            require_length(low, handle.weights(), "low");
            over_range(handle, begin, end, [&](const auto& r) {
              compensated_accumulate(r, coefficients.data(), sign_data, high.data(), low.data(),
                                     begin, end);
            });
          },
          nb::arg("coefficients"), nb::arg("signs").none(), nb::arg("high").noconvert(),
          nb::arg("low").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "total_squared_norm",
          [](const RowsHandle& handle, std::int64_t begin, std::int64_t end) {
            return over_range(handle, begin, end,
                              [&](const auto& r) { return total_squared_norm(r, begin, end); });
          },
          nb::arg("begin"), nb::arg("end"))
      .def(
          "curvature_product",
          [](const RowsHandle& handle, Vector curvature, Vector direction, double shift,
             MutableVector sum, std::int64_t begin, std::int64_t end,
             std::optional<MutableVector> scores) {
            require_length(curvature, handle.count(), "curvature");
            require_length(direction, handle.weights(), "direction");
            require_length(sum, handle.weights(), "sum");
            if (scores) require_length(*scores, handle.count(), "scores");
            double* score_data = scores ? scores->data() : nullptr;
            return over_range(handle, begin, end, [&](const auto& r) {
              return curvature_product(r, curvature.data(), direction.data(), shift, sum.data(),
                                       begin, end, score_data);
            });
          },
          nb::arg("curvature"), nb::arg("direction"), nb::arg("shift"), nb::arg("sum").noconvert(),
          nb::arg("begin"), nb::arg("end"), nb::arg("scores").noconvert() = nb::none())
      .def(
          "curvature_diagonal",
          [](const RowsHandle& handle, Vector curvature, MutableVector sum, std::int64_t begin,
             std::int64_t end) {
            require_length(curvature, handle.count(), "curvature");
            require_length(sum, handle.weights(), "sum");
            over_range(handle, begin, end, [&](const auto& r) {
              curvature_diagonal(r, curvature.data(), sum.data(), begin, end);
            });
          },
          nb::arg("curvature"), nb::arg("sum").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "gram",
          [](const RowsHandle& handle, Vector curvature, bool constant, MutableMatrix matrix,
             std::int64_t begin, std::int64_t end) {
            const std::int64_t side = handle.weights() + (constant ? 1 : 0);
            require_length(curvature, handle.count(), "curvature");
            require_shape(matrix, side, side, "matrix");
            over_range(handle, begin, end, [&](const auto& r) {
              gram(r, curvature.data(), constant, side, matrix.data(), begin, end);
            });
          },
          nb::arg("curvature"), nb::arg("constant"), nb::arg("matrix").noconvert(),
          nb::arg("begin"), nb::arg("end"))
      .def(
          "gram_by_blas",
          [](const RowsHandle& handle, Vector curvature, bool constant, MutableMatrix matrix,
             std::int64_t begin, const nb::capsule& syrk, std::int64_t lines, std::int64_t most) {
            const std::int64_t side = handle.weights() + (constant ? 1 : 0);
            require_length(curvature, handle.count(), "curvature");
            require_shape(matrix, side, side, "matrix");
            require_range(begin, handle.count(), handle.count());
            const Syrk function = syrk_of(syrk);
            nb::gil_scoped_release release;
            std::vector<double> packed(static_cast<std::size_t>(lines * side));
            return std::visit(
                [&](const auto& r) {
                  return gram_by_blas(r, curvature.data(), constant, side, matrix.data(), begin,
                                      function, lines, most, packed.data());
                },
                handle.view);
          },
          nb::arg("curvature"), nb::arg("constant"), nb::arg("matrix").noconvert(),
          nb::arg("begin"), nb::arg("syrk"), nb::arg("lines"), nb::arg("most"))
      .def(
          "pack_rows",
          [](const RowsHandle& handle, Vector curvature, bool constant, MutableMatrix out,
             std::int64_t begin) {
            const std::int64_t side = handle.weights() + (constant ? 1 : 0);
            require_length(curvature, handle.count(), "curvature");
            if (static_cast<std::int64_t>(out.shape(1)) != side) {
              throw std::invalid_argument("out must have one column per weight");
            }
            require_range(begin, handle.count(), handle.count());
            nb::gil_scoped_release release;
            const Packed packed = std::visit(
                [&](const auto& r) {
                  return pack_rows(r, curvature.data(), constant, side, out.data(),
                                   static_cast<std::int64_t>(out.shape(0)), begin);
                },
                handle.view);
            return std::pair(packed.filled, packed.next);
          },
          nb::arg("curvature"), nb::arg("constant"), nb::arg("out").noconvert(), nb::arg("begin"))
      .def(
          "row_gram",
          [](const RowsHandle& handle, MutableMatrix matrix, std::int64_t begin, std::int64_t end) {
            require_shape(matrix, handle.count(), handle.count(), "matrix");
            over_range(handle, begin, end,
                       [&](const auto& r) { row_gram(r, matrix.data(), begin, end); });
          },
          nb::arg("matrix").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "squared_norms",
          [](const RowsHandle& handle, MutableVector out, std::int64_t begin, std::int64_t end) {
            require_length(out, handle.count(), "out");
            over_range(handle, begin, end,
                       [&](const auto& r) { squared_norms(r, out.data(), begin, end); });
          },
          nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"));

  m.def(
      "compensated_dot",
      [](Vector a, Vector b, double start) {
        require_length(b, static_cast<std::int64_t>(a.shape(0)), "b");
        const Pair dot =
            compensated_dot(a.data(), b.data(), static_cast<std::int64_t>(a.shape(0)), start);
        return std::pair(dot.high, dot.low);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("start"));
  m.def(
      "largest_magnitude",
      [](Vector values) {
        return largest_magnitude(values.data(), static_cast<std::int64_t>(values.shape(0)));
      },
      nb::arg("values"));
  m.def(
      "symmetrise",
      [](MutableMatrix matrix) {
        if (matrix.shape(0) != matrix.shape(1)) {
          throw std::invalid_argument("matrix must be square");
        }
        nb::gil_scoped_release release;
        symmetrise(matrix.data(), static_cast<std::int64_t>(matrix.shape(0)));
      },
      nb::arg("matrix").noconvert());
}

}  // namespace widemargin
