// Python's `BinaryCore`: whole steps on a binary problem, and the smoothed hinge.
#include "binary_core.hpp"
#include "newton_steps.hpp"
#include "sweeps/pegasos.hpp"

namespace widemargin {
void register_binary(nb::module_& m) {
  nb::class_<NewtonReport>(m, "NewtonReport")
      .def_ro("solved", &NewtonReport::solved)
      .def_ro("moved", &NewtonReport::moved)
      .def_ro("b", &NewtonReport::b)
      .def_ro("primal", &NewtonReport::primal)
      .def_ro("gap", &NewtonReport::gap)
      .def_ro("active", &NewtonReport::active)
      .def_ro("products", &NewtonReport::products)
      .def_ro("steps", &NewtonReport::steps);
  nb::class_<ProximalReport, NewtonReport>(m, "ProximalReport")
      .def_ro("mismatch", &ProximalReport::mismatch)
      .def_ro("decrease", &ProximalReport::decrease);
  nb::class_<ProximalCourse>(m, "ProximalCourse")
      .def(nb::init<>())
      .def_rw("h", &ProximalCourse::h)
      .def_rw("last_mismatch", &ProximalCourse::last_mismatch)
      .def_rw("best_gap", &ProximalCourse::best_gap)
      .def_rw("stalled", &ProximalCourse::stalled)
      .def_rw("most", &ProximalCourse::most)
      .def_rw("wanted", &ProximalCourse::wanted)
      .def_rw("enough", &ProximalCourse::enough);
  BinaryClass binary(m, "BinaryCore");
  binary
      .def(nb::init<const RowsHandle&, const std::string&, Vector, Vector>(), nb::arg("rows"),
           nb::arg("loss"), nb::arg("y").noconvert(), nb::arg("cost").noconvert())
      .def(
          "pegasos_sweep",
          [](const BinaryCore& core, IndexVector order, std::int64_t begin, std::int64_t end,
             std::int64_t steps, double scale, MutableVector direction, MutableVector counts) {
            require_length(order, core.count(), "order");
            require_length(direction, core.weights(), "direction");
            double* seen = over_examples(core, counts, "counts");
            require_range(begin, end, core.count());
            for (std::int64_t k = begin; k < end; ++k) {
              require_range(order(k), order(k) + 1, core.count());
            }
            nb::gil_scoped_release release;
            return core.visit_rows([&](const auto& rows) {
              return pegasos_sweep(rows, core.data(), order.data(), begin, end, steps, scale,
                                   direction.data(), seen);
            });
          },
          nb::arg("order"), nb::arg("begin"), nb::arg("end"), nb::arg("steps"), nb::arg("scale"),
          nb::arg("direction").noconvert(), nb::arg("counts").noconvert());
  register_steps(binary);
}

}  // namespace widemargin
