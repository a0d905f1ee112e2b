// A run of dual coordinate descent, for every kind of problem that has dual terms
// (core/sweeps/dual_cd.hpp): `Core` holds rows and costs and has visit_terms.
#pragma once

#include "arrays.hpp"
#include "sweeps/dual_extrapolation.hpp"

namespace widemargin {

template <class Core>
class Sweeps {
 public:
  Sweeps(const Core& core, Vector norms, MutableVector alpha, MutableVector w, double residual,
         double b, double rho)
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

  const Core& core() const { return core_; }

  // An example without cost has no say, and its coordinate no curvature.
  void open() {
    const double* cost = core_.cost();
    iterate.open(core_.count(), [cost](std::int64_t i) { return cost[i] > 0.0; });
  }

  Beginning beginning(const MutableVector& alpha, const MutableVector& w, double residual) const {
    require_length(alpha, core_.count(), "alpha");
    require_length(w, core_.weights(), "w");
    return {alpha.data(), w.data(), residual};
  }

  template <double DualIterate::* Field>
  double read() const {
    return iterate.*Field;
  }
  template <double DualIterate::* Field>
  void write(double value) {
    iterate.*Field = value;
  }
  template <double SweepReport::* Field>
  double seen() const {
    return iterate.report.*Field;
  }

  DualIterate iterate;

 private:
  Core core_;
  Vector norms_;
  MutableVector alpha_, w_;
};

template <class Core>
void register_sweeps_of(nb::module_& m, const char* name) {
  using Run = Sweeps<Core>;
  nb::class_<Run>(m, name)
      .def(nb::init<const Core&, Vector, MutableVector, MutableVector, double, double, double>(),
           nb::arg("core"), nb::arg("squared_norms").noconvert(), nb::arg("alpha").noconvert(),
           nb::arg("w").noconvert(), nb::arg("residual"), nb::arg("b"), nb::arg("rho"))
      .def_prop_rw("residual", &Run::template read<&DualIterate::residual>,
                   &Run::template write<&DualIterate::residual>)
      .def_prop_rw("b", &Run::template read<&DualIterate::b>, &Run::template write<&DualIterate::b>)
      .def_prop_rw("ahead", &Run::template read<&DualIterate::ahead>,
                   &Run::template write<&DualIterate::ahead>)
      .def_prop_ro("rho", &Run::template read<&DualIterate::rho>)
      .def_prop_ro("largest_gradient", &Run::template seen<&SweepReport::largest_gradient>)
      .def_prop_ro("smallest_gradient", &Run::template seen<&SweepReport::smallest_gradient>)
      .def_prop_ro("gap", &Run::template seen<&SweepReport::gap>)
      .def_prop_ro("misplaced", &Run::template seen<&SweepReport::misplaced>)
      .def(
          "closed_by_larger",
          [](const Run& run, double squared) {
            return run.iterate.report.closed_by_larger(squared);
          },
          nb::arg("squared"))
      .def_prop_ro("active", [](const Run& run) { return run.iterate.active.count; })
      .def("open", &Run::open)
      .def(
          "begin",
          [](Run& run, std::uint64_t seed) {
            nb::gil_scoped_release release;
            run.iterate.begin_sweep(seed, seed);
          },
          nb::arg("seed"))
      .def(
          "sweep",
          [](Run& run, std::int64_t budget) {
            nb::gil_scoped_release release;
            return run.core().visit_terms([&](const auto& rows, const auto& terms) {
              return dual_sweep(rows, terms, run.iterate, block_count(budget));
            });
          },
          nb::arg("visits"))
      .def(
          "sweeps",
          [](Run& run, std::int64_t visits, double wanted, std::uint64_t seed) {
            nb::gil_scoped_release release;
            return run.core().visit_terms([&](const auto& rows, const auto& terms) {
              return dual_sweeps(rows, terms, run.iterate, visits, wanted, seed);
            });
          },
          nb::arg("visits"), nb::arg("wanted"), nb::arg("seed"))
      .def(
          "extrapolate",
          [](Run& run, MutableVector alpha, MutableVector w, double residual) {
            const Beginning beginning = run.beginning(alpha, w, residual);
            nb::gil_scoped_release release;
            return run.core().visit_terms([&](const auto& rows, const auto& terms) {
              return extrapolate(rows, terms, run.iterate, beginning);
            });
          },
          nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("residual"))
      .def(
          "join_moves",
          [](Run& run, MutableVector alpha, MutableVector w, double residual,
             MutableVector older_alpha, MutableVector older_w, double older_residual) {
            const Beginning newer = run.beginning(alpha, w, residual);
            Beginning older = run.beginning(older_alpha, older_w, older_residual);
            nb::gil_scoped_release release;
            const double length = run.core().visit_only_terms([&](const auto& terms) {
              return join_moves(terms, run.iterate, run.core().weights(), newer, older);
            });
            return std::tuple(length, older.residual);
          },
          nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("residual"),
          nb::arg("older_alpha").noconvert(), nb::arg("older_w").noconvert(),
          nb::arg("older_residual"));
}

}  // namespace widemargin
