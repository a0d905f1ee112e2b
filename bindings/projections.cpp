#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include "arrays.hpp"
#include "projections/box.hpp"
#include "projections/box_equality.hpp"
#include "projections/simplex.hpp"

namespace widemargin {
namespace {

// One number for all examples, or an array.
using NumberOrVector = std::variant<double, Vector>;

Parameter parameter(const NumberOrVector& given, std::int64_t count, const char* name) {
  if (const auto* number = std::get_if<double>(&given)) return {nullptr, *number};
  const auto& array = std::get<Vector>(given);
  require_length(array, count, name);
  return {array.data(), 0.0};
}

}  // namespace

void register_projections(nb::module_& m) {
  m.def(
      "project_box_equality",
      [](MutableVector a, Vector sign, std::optional<Vector> upper, int threads) {
        const auto n = static_cast<std::int64_t>(a.shape(0));
        require_length(sign, n, "sign");
        if (upper) require_length(*upper, n, "upper");
        const double* upper_data = upper ? upper->data() : nullptr;
        nb::gil_scoped_release release;
        project_box_equality(a.data(), sign.data(), upper_data, n, threads);
      },
      nb::arg("a").noconvert(), nb::arg("sign"), nb::arg("upper").none(), nb::arg("threads") = 1);
  m.def(
      "project_box",
      [](Vector middle, NumberOrVector weights, NumberOrVector signs, NumberOrVector lower,
         NumberOrVector upper, double level, MutableVector out) {
        const auto n = static_cast<std::int64_t>(middle.shape(0));
        require_length(out, n, "out");
        if (n > 0 && out.data() == middle.data()) {
          throw std::invalid_argument("out must not be the array that is projected");
        }
        const BoxTerms terms{middle.data(),
                             parameter(weights, n, "weights"),
                             parameter(signs, n, "signs"),
                             parameter(lower, n, "lower"),
                             parameter(upper, n, "upper"),
                             n};
        nb::gil_scoped_release release;
        const BoxAnswer answer = project_box(terms, level, out.data());
        return std::tuple(answer.multiplier, answer.missing, answer.size);
      },
      nb::arg("middle"), nb::arg("weights"), nb::arg("signs"), nb::arg("lower"), nb::arg("upper"),
      nb::arg("level"), nb::arg("out").noconvert());
  m.def(
      "project_simplex",
      [](Vector middle, double radius, MutableVector zeros) {
        const auto n = static_cast<std::int64_t>(middle.shape(0));
        require_length(zeros, n, "zeros");
        nb::gil_scoped_release release;
        return project_simplex(middle.data(), n, radius, zeros.data());
      },
      nb::arg("middle"), nb::arg("radius"), nb::arg("zeros").noconvert());
  m.def(
      "project_l1_ball",
      [](Vector middle, double radius, MutableVector zeros) {
        const auto n = static_cast<std::int64_t>(middle.shape(0));
        require_length(zeros, n, "zeros");
        nb::gil_scoped_release release;
        return project_l1_ball(middle.data(), n, radius, zeros.data());
      },
      nb::arg("middle"), nb::arg("radius"), nb::arg("zeros").noconvert());
}

}  // namespace widemargin
