// Block dual descent for several classes: the step, the dual variables, sweeps, certificate.
#include "losses/multiclass_sums.hpp"
#include "multiclass_core.hpp"
#include "projections/class_transport.hpp"
#include "sweeps/block_rounds.hpp"
#include "sweeps/plain_block_sweep.hpp"

namespace widemargin {
namespace {

void take_active(BlockIterate& iterate, const MutableIndexVector& active, std::int64_t count,
                 const IndexVector& order, std::int64_t begin) {
  const auto room = static_cast<std::int64_t>(active.shape(0));
  if (count < 0 || count > room || begin < 0 || count > static_cast<std::int64_t>(order.shape(0))) {
    throw std::invalid_argument("active set out of range");
  }
  iterate.active = active.data();
  iterate.active_count = count;
}

void require_trail(const MulticlassCore& core, const BlockTrail& trail) {
  const MulticlassData& data = core.data();
  if (trail.rows() != core.rows_count() || trail.size() != data.features * data.stride()) {
    throw std::invalid_argument("the trail of another problem");
  }
}

auto as_tuple(const BlockReport& report) {
  return std::tuple(report.next, report.violation, report.gap_estimate, report.visited);
}

}  // namespace

void register_multiclass(nb::module_& m) {
  m.def("padded_classes", &padded_classes, nb::arg("classes"));

  m.def(
      "block_step",
      [](Vector v, double c, const std::string& rule, bool by_sorting, MutableVector out) {
        const auto count = static_cast<std::int64_t>(v.shape(0));
        require_length(out, count, "out");
        nb::gil_scoped_release release;
        std::vector<double> scratch(v.shape(0) + 1);
        with_rule(rule, [&](auto kind) {
          block_step<decltype(kind)>(v.data(), count, c, by_sorting, out.data(), scratch.data());
          return 0;
        });
      },
      nb::arg("v"), nb::arg("c"), nb::arg("rule"), nb::arg("by_sorting"),
      nb::arg("out").noconvert());

  m.def(
      "fill_order",
      [](MutableIndexVector order, std::int64_t count, std::uint64_t seed) {
        if (count < 0 || count > static_cast<std::int64_t>(order.shape(0))) {
          throw std::invalid_argument("active set out of range");
        }
        nb::gil_scoped_release release;
        fill_order(order.data(), count, seed);
      },
      nb::arg("order").noconvert(), nb::arg("count"), nb::arg("seed"));

  m.def(
      "make_feasible",
      [](const std::string& rule, IndexVector pointers, Labels classes, MutableVector values,
         Labels label, Vector cost, std::int64_t class_count) {
        const auto count = static_cast<std::int64_t>(cost.shape(0));
        require_length(label, count, "label");
        require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), count,
                    class_count);
        nb::gil_scoped_release release;
        with_rule(rule, [&](auto kind) {
          make_feasible<decltype(kind)>(pointers.data(), classes.data(), values.data(),
                                        label.data(), cost.data(), count);
          return 0;
        });
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

  nb::class_<BlockTrail>(m, "BlockTrail")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                    std::int64_t>(),
           nb::arg("rows"), nb::arg("classes"), nb::arg("features"), nb::arg("length"),
           nb::arg("sweeps_between"), nb::arg("least_visits"))
      .def_rw("visits", &BlockTrail::visits)
      .def("is_due", &BlockTrail::is_due, nb::arg("active"))
      .def(
          "restart",
          [](BlockTrail& trail, const BlockDuals& duals, Matrix weights, Vector residual) {
            if (duals.rows() != trail.rows() ||
                static_cast<std::int64_t>(weights.size()) != trail.size() ||
                residual.size() != trail.residual.size()) {
              throw std::invalid_argument("the trail of another problem");
            }
            nb::gil_scoped_release release;
            trail.restart(duals, weights.data(), residual.data());
          },
          nb::arg("duals"), nb::arg("weights"), nb::arg("residual"))
      .def(
          "set_span",
          [](BlockTrail& trail, IndexVector examples, std::int64_t count) {
            const auto room = static_cast<std::int64_t>(examples.shape(0));
            if (count < 0 || count > room) throw std::invalid_argument("active set out of range");
            for (std::int64_t t = 0; t < count; ++t) {
              if (examples.data()[t] < 0 || examples.data()[t] >= trail.rows()) {
                throw std::invalid_argument("an example is out of range");
              }
            }
            trail.set_span(examples.data(), count);
          },
          nb::arg("examples"), nb::arg("count"));

  MulticlassClass multiclass(m, "MulticlassCore");
  multiclass
      .def(nb::init<const RowsHandle&, const nb::object&, const nb::object&, const nb::object&,
                    std::int64_t, const std::string&>(),
           nb::arg("rows"), nb::arg("label"), nb::arg("cost"), nb::arg("squared_norms"),
           nb::arg("classes"), nb::arg("rule"))
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
          nb::arg("values"), nb::arg("combination").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "sweep",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, MutableIndexVector active,
             std::int64_t active_count, IndexVector order, std::int64_t begin, std::int64_t budget,
             double slack, bool listed_only) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            take_active(iterate, active, active_count, order, begin);
            BlockReport report;
            {
              nb::gil_scoped_release release;
              report = core.visit([&](const auto& rows, auto rule) {
                return block_sweep<decltype(rule)>(rows, core.data(), iterate, slack, listed_only,
                                                   order.data(), begin, budget);
              });
            }
            return as_tuple(report);
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("active").noconvert(), nb::arg("active_count"),
          nb::arg("order"), nb::arg("begin"), nb::arg("budget"), nb::arg("slack"),
          nb::arg("listed_only"))
      .def(
          "rounds",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, MutableIndexVector active,
             std::int64_t active_count, BlockTrail& trail, MutableIndexVector order,
             std::uint64_t seed, double goal, std::int64_t budget, std::int64_t most,
             bool listed_only) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            take_active(iterate, active, active_count, IndexVector(order), 0);
            require_trail(core, trail);
            const RoundLimits limits{goal, budget, most};
            BlockReport report;
            {
              nb::gil_scoped_release release;
              report = core.visit([&](const auto& rows, auto rule) {
                return block_rounds<decltype(rule)>(rows, core.data(), iterate, trail, order.data(),
                                                    seed, limits, listed_only);
              });
            }
            return std::tuple(iterate.active_count, report.gap_estimate, report.visited,
                              report.next);
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("active").noconvert(), nb::arg("active_count"),
          nb::arg("trail"), nb::arg("order").noconvert(), nb::arg("seed"), nb::arg("goal"),
          nb::arg("budget"), nb::arg("most"), nb::arg("listed_only"))
      .def(
          "plain_sweep",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, MutableIndexVector active,
             std::int64_t active_count, IndexVector order, std::int64_t begin, std::int64_t budget,
             double threshold) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            take_active(iterate, active, active_count, order, begin);
            BlockReport report;
            {
              nb::gil_scoped_release release;
              report = core.visit([&](const auto& rows, auto rule) {
                return plain_block_sweep<decltype(rule)>(rows, core.data(), iterate, threshold,
                                                         order.data(), begin, budget);
              });
            }
            return as_tuple(report);
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("active").noconvert(), nb::arg("active_count"),
          nb::arg("order"), nb::arg("begin"), nb::arg("budget"), nb::arg("threshold"))
      .def(
          "extrapolate",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, MutableIndexVector active,
             std::int64_t active_count, BlockTrail& trail) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            take_active(iterate, active, active_count, IndexVector(active), 0);
            require_trail(core, trail);
            nb::gil_scoped_release release;
            return core.visit([&](const auto& rows, auto rule) {
              return block_extrapolate<decltype(rule)>(rows, core.data(), iterate, trail);
            });
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("active").noconvert(), nb::arg("active_count"),
          nb::arg("trail"));
  register_multiclass_newton(m, multiclass);
}

}  // namespace widemargin
