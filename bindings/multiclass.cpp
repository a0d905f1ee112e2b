// Block dual descent for several classes: the step, the dual variables, sweeps, certificate.
#include "losses/multiclass_sums.hpp"
#include "multiclass_core.hpp"
#include "projections/class_transport.hpp"
#include "sweeps/block_rounds.hpp"
#include "sweeps/plain_block_sweep.hpp"

namespace widemargin {
void register_multiclass(nb::module_& m) {
  m.def("padded_classes", &padded_classes, nb::arg("classes"));

  m.def(
      "block_step",
      [](Vector v, double c, const std::string& rule, bool by_sorting, MutableVector out) {
        const auto count = static_cast<std::int64_t>(v.shape(0));
        require_length(out, count, "out");
        nb::gil_scoped_release release;
        std::vector<double> scratch(v.shape(0) + 1);
        std::visit(
            [&](auto kind) {
              block_step<decltype(kind)>(v.data(), count, c, by_sorting, out.data(),
                                         scratch.data());
            },
            rule_named(rule));
      },
      nb::arg("v"), nb::arg("c"), nb::arg("rule"), nb::arg("by_sorting"),
      nb::arg("out").noconvert());

  m.def(
      "make_feasible",
      [](const std::string& rule, IndexVector pointers, Labels classes, MutableVector values,
         Labels label, Vector cost, std::int64_t class_count) {
        const auto count = static_cast<std::int64_t>(cost.shape(0));
        require_length(label, count, "label");
        require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), count,
                    class_count);
        nb::gil_scoped_release release;
        std::visit(
            [&](auto kind) {
              make_feasible<decltype(kind)>(pointers.data(), classes.data(), values.data(),
                                            label.data(), cost.data(), count);
            },
            rule_named(rule));
      },
      nb::arg("rule"), nb::arg("pointers"), nb::arg("classes"), nb::arg("values").noconvert(),
      nb::arg("label"), nb::arg("cost"), nb::arg("class_count"));

  m.def(
      "lower_residual",
      [](IndexVector pointers, Labels classes, MutableVector values, Labels label,
         MutableVector residual) {
        const auto count = static_cast<std::int64_t>(label.shape(0));
        const auto class_count = static_cast<std::int64_t>(residual.shape(0));
        require_labels(label, count, class_count);
        require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), count,
                    class_count);
        nb::gil_scoped_release release;
        ClassTransport(pointers.data(), classes.data(), label.data(), count, class_count)
            .lower(values.data(), residual.data());
      },
      nb::arg("pointers"), nb::arg("classes"), nb::arg("values").noconvert(), nb::arg("label"),
      nb::arg("residual").noconvert());

  nb::class_<BlockDuals>(m, "BlockDuals")
      .def(nb::init<std::int64_t, std::int64_t>(), nb::arg("rows"), nb::arg("classes"))
      .def_prop_ro("total", &BlockDuals::total)
      .def_prop_ro("sum", &BlockDuals::sum)
      .def(
          "read",
          [](const BlockDuals& duals, MutableIndexVector pointers, MutableLabels classes,
             MutableVector values) {
            require_length(pointers, duals.rows() + 1, "pointers");
            require_length(classes, duals.total(), "classes");
            require_length(values, duals.total(), "values");
            nb::gil_scoped_release release;
            std::int64_t place = 0;
            for (std::int64_t i = 0; i < duals.rows(); ++i) {
              pointers.data()[i] = place;
              std::copy_n(duals.classes(i), duals.count(i), classes.data() + place);
              std::copy_n(duals.values(i), duals.count(i), values.data() + place);
              place += duals.count(i);
            }
            pointers.data()[duals.rows()] = place;
          },
          nb::arg("pointers").noconvert(), nb::arg("classes").noconvert(),
          nb::arg("values").noconvert())
      .def(
          "write",
          [](BlockDuals& duals, IndexVector pointers, Labels classes, Vector values,
             std::int64_t class_count) {
            require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), duals.rows(),
                        class_count);
            nb::gil_scoped_release release;
            for (std::int64_t i = 0; i < duals.rows(); ++i) {
              const std::int64_t first = pointers.data()[i];
              const std::int64_t count = pointers.data()[i + 1] - first;
              if (count >= class_count) {
                throw std::invalid_argument("more dual variables than rival classes");
              }
              duals.assign(i, classes.data() + first, values.data() + first, count);
            }
          },
          nb::arg("pointers"), nb::arg("classes"), nb::arg("values"), nb::arg("class_count"))
      .def(
          "copy_from",
          [](BlockDuals& duals, const BlockDuals& other, IndexVector span) {
            if (duals.rows() != other.rows()) {
              throw std::invalid_argument("dual variables of another number of examples");
            }
            nb::gil_scoped_release release;
            for (std::size_t t = 0; t < span.shape(0); ++t) {
              const std::int64_t i = span.data()[t];
              if (i < 0 || i >= duals.rows()) {
                throw std::invalid_argument("an example is out of range");
              }
              duals.copy_from(other, i);
            }
          },
          nb::arg("other"), nb::arg("span"));

  MulticlassClass multiclass(m, "MulticlassCore");
  multiclass
      .def(nb::init<const RowsHandle&, Labels, Vector, Vector, std::int64_t, const std::string&>(),
           nb::arg("rows"), nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
           nb::arg("squared_norms").noconvert(), nb::arg("classes"), nb::arg("rule"))
      .def(
          "losses",
          [](const MulticlassCore& core, Matrix weights, Vector start, IndexVector pointers,
             Labels classes, Vector values, MutableMatrix combination, std::int64_t begin,
             std::int64_t end) {
            const MulticlassData& data = core.data();
            require_weights(weights, data.features, data.classes);
            require_weights(combination, data.features, data.classes);
            require_length(start, data.stride(), "start");
            require_range(begin, end, core.rows_count());
            require_length(pointers, core.rows_count() + 1, "pointers");
            const auto total = static_cast<std::int64_t>(classes.shape(0));
            require_length(values, total, "values");
            nb::gil_scoped_release release;
            require_rows(pointers.data(), classes.data(), total, begin, end, data.classes);
            return core.visit([&](const auto& rows, auto rule) {
              return multiclass_losses<decltype(rule)>(
                  rows, weights.data(), start.data(), data.classes, data.label, data.cost,
                  SparseDuals{pointers.data(), classes.data(), values.data()}, combination.data(),
                  begin, end);
            });
          },
          nb::arg("weights"), nb::arg("start"), nb::arg("pointers"), nb::arg("classes"),
          nb::arg("values"), nb::arg("combination").noconvert(), nb::arg("begin"), nb::arg("end"));
  register_block_sweeps(m);
  register_multiclass_newton(m, multiclass);
}

}  // namespace widemargin
