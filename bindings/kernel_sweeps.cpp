#include "arrays.hpp"
#include "sweeps/working_set.hpp"

namespace widemargin {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void register_kernel_sweeps(nb::module_& m) {
  m.def(
      "descend_working_set",
      [](Matrix kernel, Vector y, Vector shift, Vector upper, MutableVector alpha,
         MutableVector gradient, bool equality, double tolerance, std::int64_t max_steps) {
        const auto size = static_cast<std::int64_t>(kernel.shape(0));
        if (static_cast<std::int64_t>(kernel.shape(1)) != size) {
          throw std::invalid_argument("the kernel matrix must be square");
        }
        require_length(y, size, "y");
        require_length(shift, size, "shift");
        require_length(upper, size, "upper");
        require_length(alpha, size, "alpha");
        require_length(gradient, size, "gradient");
        const WorkingSet set{kernel.data(), y.data(),        shift.data(), upper.data(),
                             alpha.data(),  gradient.data(), size};
        nb::gil_scoped_release release;
        return equality ? descend_pairs(set, tolerance, max_steps)
                        : descend_singles(set, tolerance, max_steps);
      },
      nb::arg("kernel"), nb::arg("y"), nb::arg("shift"), nb::arg("upper"),
      nb::arg("alpha").noconvert(), nb::arg("gradient").noconvert(), nb::arg("equality"),
      nb::arg("tolerance"), nb::arg("max_steps"));
}

}  // namespace widemargin
