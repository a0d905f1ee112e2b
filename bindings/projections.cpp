#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "projections/box_equality.hpp"

namespace widemargin {

void register_projections(nb::module_& m) {
  m.def(
      "project_box_equality",
      [](MutableVector a, Vector sign, std::optional<Vector> upper) {
        const auto n = static_cast<std::int64_t>(a.shape(0));
        require_length(sign, n, "sign");
        if (upper) require_length(*upper, n, "upper");
        const double* upper_data = upper ? upper->data() : nullptr;
        nb::gil_scoped_release release;
        project_box_equality(a.data(), sign.data(), upper_data, n);
      },
      nb::arg("a").noconvert(), nb::arg("sign"), nb::arg("upper").none());
}

}  // namespace widemargin
