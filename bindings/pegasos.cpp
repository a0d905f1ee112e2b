#include "sweeps/pegasos.hpp"

#include "arrays.hpp"

namespace widemargin {

void register_pegasos(nb::module_& m) {
  m.def(
      "pegasos_sweep",
      [](const RowsHandle& handle, Vector y, Vector strength, IndexVector order, std::int64_t begin,
         std::int64_t end, std::int64_t steps, double scale, MutableVector direction,
         MutableVector counts) {
        require_length(y, handle.count(), "y");
        require_length(strength, handle.count(), "strength");
        require_length(order, handle.count(), "order");
        require_length(direction, handle.weights(), "direction");
        require_length(counts, handle.count(), "counts");
        require_range(begin, end, handle.count());
        for (std::int64_t k = begin; k < end; ++k) {
          require_range(order(k), order(k) + 1, handle.count());
        }
        nb::gil_scoped_release release;
        return std::visit(
            [&](const auto& rows) {
              return pegasos_sweep(rows, y.data(), strength.data(), order.data(), begin, end, steps,
                                   scale, direction.data(), counts.data());
            },
            handle.view);
      },
      nb::arg("rows"), nb::arg("y"), nb::arg("strength"), nb::arg("order"), nb::arg("begin"),
      nb::arg("end"), nb::arg("steps"), nb::arg("scale"), nb::arg("direction").noconvert(),
      nb::arg("counts").noconvert());
}

}  // namespace widemargin
