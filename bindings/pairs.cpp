// Python's `PairSweeps`: a run of descent in pairs on a one-class problem.
#include <nanobind/stl/pair.h>

#include "binary_core.hpp"
#include "sweeps/pair_descent.hpp"

namespace widemargin {
namespace {

class PairSweeps {
 public:
  PairSweeps(const BinaryCore& core, MutableVector alpha, MutableVector w, double mass)
      : core_(core), alpha_(std::move(alpha)), w_(std::move(w)) {
    require_length(alpha_, core.count(), "alpha");
    require_length(w_, core.weights(), "w");
    iterate.cost = core.cost();
    iterate.alpha = alpha_.data();
    iterate.w = w_.data();
    iterate.count = core.count();
    iterate.mass = mass;
    const double* each = iterate.cost;
    iterate.total = sum_in_chains(iterate.count, [each](std::int64_t i) { return each[i]; });
    iterate.spread.assign(static_cast<std::size_t>(core.weights()), 0.0);
  }

  void place(const Vector& scores) {
    require_length(scores, core_.count(), "scores");
    nb::gil_scoped_release release;
    iterate.place(scores.data());
  }
  void choose(const Vector& scores, std::int64_t nearest) {
    require_length(scores, core_.count(), "scores");
    nb::gil_scoped_release release;
    iterate.choose(scores.data(), std::max<std::int64_t>(0, nearest));
  }
  void rescore(double share) {
    nb::gil_scoped_release release;
    core_.visit_rows([&](const auto& rows) { pair_scores(rows, iterate, iterate.members); });
    iterate.measure();
    iterate.wanted = share * iterate.violation;
  }
  double judge(const Vector& scores, std::int64_t nearest, double share) {
    require_length(scores, core_.count(), "scores");
    nb::gil_scoped_release release;
    iterate.judge(scores.data(), std::max<std::int64_t>(0, nearest), share);
    return iterate.gap;
  }
  std::int64_t work(std::int64_t visits) {
    nb::gil_scoped_release release;
    return core_.visit_rows([&](const auto& rows) { return pair_rounds(rows, iterate, visits); });
  }

  PairIterate iterate;

 private:
  BinaryCore core_;
  MutableVector alpha_, w_;
};

}  // namespace

void register_pairs(nb::module_& m) {
  nb::class_<PairSweeps>(m, "PairSweeps")
      .def(nb::init<const BinaryCore&, MutableVector, MutableVector, double>(), nb::arg("core"),
           nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("mass"))
      .def_prop_ro("rho", [](const PairSweeps& run) { return run.iterate.rho; })
      .def_prop_ro("product", [](const PairSweeps& run) { return run.iterate.product; })
      .def_prop_ro("active", [](const PairSweeps& run) { return std::ssize(run.iterate.members); })
      .def_prop_ro("free", [](const PairSweeps& run) { return run.iterate.free_members(); })
      .def_prop_ro("violation", [](const PairSweeps& run) { return run.iterate.violation; })
      .def_prop_ro("wanted", [](const PairSweeps& run) { return run.iterate.wanted; })
      .def("place", &PairSweeps::place, nb::arg("scores").noconvert())
      .def("choose", &PairSweeps::choose, nb::arg("scores").noconvert(), nb::arg("nearest"))
      .def("rescore", &PairSweeps::rescore, nb::arg("share"))
      .def("judge", &PairSweeps::judge, nb::arg("scores").noconvert(), nb::arg("nearest"),
           nb::arg("share"))
      .def("work", &PairSweeps::work, nb::arg("visits"));
  m.def(
      "box_sum",
      [](const Vector& values, const Vector& upper) {
        require_length(upper, static_cast<std::int64_t>(values.shape(0)), "upper");
        const double *x = values.data(), *most = upper.data();
        nb::gil_scoped_release release;
        const TwoSums found =
            two_sums_in_chains(static_cast<std::int64_t>(values.shape(0)), [=](std::int64_t i) {
              const bool inside = (x[i] >= 0.0) & (x[i] <= most[i]);
              return TwoSums{x[i], static_cast<double>(!inside)};
            });
        return std::pair{found.first, found.second == 0.0};
      },
      nb::arg("values").noconvert(), nb::arg("upper").noconvert());
  m.def(
      "weighted_quantile",
      [](const Vector& values, const Vector& weights, double level, double guess) {
        require_length(weights, static_cast<std::int64_t>(values.shape(0)), "weights");
        nb::gil_scoped_release release;
        const auto count = static_cast<std::int64_t>(values.shape(0));
        return QuantileSearch()({values.data(), weights.data(), count}, level, guess).value;
      },
      nb::arg("values").noconvert(), nb::arg("weights").noconvert(), nb::arg("level"),
      nb::arg("guess") = std::numeric_limits<double>::quiet_NaN());
}

}  // namespace widemargin
