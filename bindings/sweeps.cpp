// Python's `DualSweeps`: a run of dual coordinate descent on a binary problem.
#include "binary_core.hpp"
#include "sweeps/dual_extrapolation.hpp"

namespace widemargin {
namespace {

class DualSweeps {
 public:
  DualSweeps(const BinaryCore& core, Vector norms, MutableVector alpha, MutableVector w,
             double residual, double b, double rho)
      : core_(core), norms_(std::move(norms)), alpha_(std::move(alpha)), w_(std::move(w)) {
    require_length(norms_, core.count(), "squared_norms");
    require_length(alpha_, core.count(), "alpha");
    require_length(w_, core.weights(), "w");
    iterate.alpha = alpha_.data();
    iterate.w = w_.data();
    iterate.squared_norms = norms_.data();
    iterate.residual = residual;
    iterate.b = b;
    iterate.rho = rho;
    open();
  }

  const BinaryCore& core() const { return core_; }

  // An example without cost has no say, and its coordinate no curvature.
  void open() {
    const double* cost = core_.data().cost;
    iterate.open(core_.count(), [cost](std::int64_t i) { return cost[i] > 0.0; });
  }

  Beginning beginning(const MutableVector& alpha, const MutableVector& w, double residual) const {
    require_length(alpha, core_.count(), "alpha");
    require_length(w, core_.weights(), "w");
    return {alpha.data(), w.data(), residual};
  }

  DualIterate iterate;

 private:
  BinaryCore core_;
  Vector norms_;
  MutableVector alpha_, w_;
};

template <double DualIterate::* Field>
double read(const DualSweeps& sweeps) {
  return sweeps.iterate.*Field;
}
template <double DualIterate::* Field>
void write(DualSweeps& sweeps, double value) {
  sweeps.iterate.*Field = value;
}
template <double SweepReport::* Field>
double read(const DualSweeps& sweeps) {
  return sweeps.iterate.report.*Field;
}

}  // namespace

void register_sweeps(nb::module_& m) {
  m.attr("block_length") = block_length;
  nb::class_<DualSweeps>(m, "DualSweeps")
      .def(nb::init<const BinaryCore&, Vector, MutableVector, MutableVector, double, double,
                    double>(),
           nb::arg("core"), nb::arg("squared_norms").noconvert(), nb::arg("alpha").noconvert(),
           nb::arg("w").noconvert(), nb::arg("residual"), nb::arg("b"), nb::arg("rho"))
      .def_prop_rw("residual", &read<&DualIterate::residual>, &write<&DualIterate::residual>)
      .def_prop_rw("b", &read<&DualIterate::b>, &write<&DualIterate::b>)
      .def_prop_rw("ahead", &read<&DualIterate::ahead>, &write<&DualIterate::ahead>)
      .def_prop_ro("rho", &read<&DualIterate::rho>)
      .def_prop_ro("largest_gradient", &read<&SweepReport::largest_gradient>)
      .def_prop_ro("smallest_gradient", &read<&SweepReport::smallest_gradient>)
      .def_prop_ro("gap", &read<&SweepReport::gap>)
      .def_prop_ro("active", [](const DualSweeps& sweeps) { return sweeps.iterate.active.count; })
      .def("open", &DualSweeps::open)
      .def(
          "begin",
          [](DualSweeps& sweeps, std::uint64_t seed) {
            nb::gil_scoped_release release;
            sweeps.iterate.begin_sweep(seed, seed);
          },
          nb::arg("seed"))
      .def(
          "sweep",
          [](DualSweeps& sweeps, std::int64_t budget) {
            nb::gil_scoped_release release;
            return sweeps.core().visit([&](const auto& rows, auto loss) {
              return dual_sweep<decltype(loss)>(rows, sweeps.core().data(), sweeps.iterate,
                                                block_count(budget));
            });
          },
          nb::arg("visits"))
      .def(
          "sweeps",
          [](DualSweeps& sweeps, std::int64_t visits, double wanted, std::uint64_t seed) {
            nb::gil_scoped_release release;
            return sweeps.core().visit([&](const auto& rows, auto loss) {
              return dual_sweeps<decltype(loss)>(rows, sweeps.core().data(), sweeps.iterate, visits,
                                                 wanted, seed);
            });
          },
          nb::arg("visits"), nb::arg("wanted"), nb::arg("seed"))
      .def(
          "extrapolate",
          [](DualSweeps& sweeps, MutableVector alpha, MutableVector w, double residual) {
            const Beginning beginning = sweeps.beginning(alpha, w, residual);
            nb::gil_scoped_release release;
            return sweeps.core().visit([&](const auto& rows, auto loss) {
              return extrapolate<decltype(loss)>(rows, sweeps.core().data(), sweeps.iterate,
                                                 beginning);
            });
          },
          nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("residual"))
      .def(
          "join_moves",
          [](DualSweeps& sweeps, MutableVector alpha, MutableVector w, double residual,
             MutableVector older_alpha, MutableVector older_w, double older_residual) {
            const Beginning newer = sweeps.beginning(alpha, w, residual);
            Beginning older = sweeps.beginning(older_alpha, older_w, older_residual);
            nb::gil_scoped_release release;
            const double length = sweeps.core().visit_loss([&](auto loss) {
              return join_moves<decltype(loss)>(sweeps.core().data(), sweeps.iterate,
                                                sweeps.core().weights(), newer, older);
            });
            return std::tuple(length, older.residual);
          },
          nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("residual"),
          nb::arg("older_alpha").noconvert(), nb::arg("older_w").noconvert(),
          nb::arg("older_residual"));
}

}  // namespace widemargin
