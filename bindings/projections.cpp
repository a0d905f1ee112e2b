#include "arrays.hpp"
#include "projections/box_equality.hpp"

namespace widemargin {

void register_projections(nb::module_& m) {
  m.def(
      "project_box_equality",
      [](MutableVector a, Vector sign, Vector upper) {
        const auto n = static_cast<std::int64_t>(a.shape(0));
        require_length(sign, n, "sign");
        require_length(upper, n, "upper");
        nb::gil_scoped_release release;
        project_box_equality(a.data(), sign.data(), upper.data(), n);
      },
      nb::arg("a").noconvert(), nb::arg("sign"), nb::arg("upper"));
}

}  // namespace widemargin
