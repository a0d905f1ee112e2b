#include "arrays.hpp"
#include "sweeps/working_set.hpp"

namespace widemargin {
namespace {

// Python's `WorkingSet`: the dual problem of some examples whose kernel is known, checked once.
class CheckedSet {
 public:
  CheckedSet(Matrix kernel, Vector y, Vector shift, Vector upper)
      : kernel_(std::move(kernel)),
        y_(std::move(y)),
        shift_(std::move(shift)),
        upper_(std::move(upper)) {
    require_shape(kernel_, size(), size(), "kernel");
    require_length(shift_, size(), "shift");
    require_length(upper_, size(), "upper");
  }

  double descend(MutableVector alpha, MutableVector gradient, bool equality, double tolerance,
                 std::int64_t max_steps) const {
    require_length(alpha, size(), "alpha");
    require_length(gradient, size(), "gradient");
    const WorkingSet set{kernel_.data(), y_.data(),       shift_.data(), upper_.data(),
                         alpha.data(),   gradient.data(), size()};
    nb::gil_scoped_release release;
    return equality ? descend_pairs(set, tolerance, max_steps)
                    : descend_singles(set, tolerance, max_steps);
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(y_.shape(0)); }

  Matrix kernel_;
  Vector y_, shift_, upper_;
};

}  // namespace

void register_kernel_sweeps(nb::module_& m) {
  nb::class_<CheckedSet>(m, "WorkingSet")
      .def(nb::init<Matrix, Vector, Vector, Vector>(), nb::arg("kernel"), nb::arg("y"),
           nb::arg("shift"), nb::arg("upper"))
      .def("descend", &CheckedSet::descend, nb::arg("alpha").noconvert(),
           nb::arg("gradient").noconvert(), nb::arg("equality"), nb::arg("tolerance"),
           nb::arg("max_steps"));
}

}  // namespace widemargin
