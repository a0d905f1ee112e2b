// Python's `Tube`, `TubeCore` and `TubeSweeps`: regression within a tube.
#include "dual_sweeps.hpp"
#include "newton_steps.hpp"
#include "sweeps/tube_terms.hpp"

namespace widemargin {
namespace {

// Targets and the width of the tube; costs come with each call, since they change with C.
class TubeHandle {
 public:
  TubeHandle(Vector target, double epsilon, bool squared)
      : target_(std::move(target)), epsilon_(epsilon), squared_(squared) {
    unit_ = largest_magnitude(target_.data(), count());
  }

  std::int64_t count() const { return static_cast<std::int64_t>(target_.shape(0)); }
  double unit() const { return unit_ > 0.0 ? unit_ : 1.0; }
  Tube with(const Vector& cost) const {
    require_length(cost, count(), "cost");
    return {target_.data(), cost.data(), count(), epsilon_, squared_, unit()};
  }
  template <class Array>
  auto over(const Array& array, const char* name) const {
    require_length(array, count(), name);
    return array.data();
  }

 private:
  Vector target_;
  double epsilon_, unit_ = 0.0;
  bool squared_;
};

// The losses as a Newton step needs them.
struct TubeSums {
  Examples data;
  Tube tube;

  void terms(const double* scores, double b, double* beta, double* curvature) const {
    tube_terms(tube, scores, b, beta, curvature);
  }
  TwoSums along(const Line& line, double t) const { return tube_derivatives_along(tube, line, t); }
  double total(const double* scores, double b) const { return tube_sum(tube, scores, b); }
  double dual_total(const double* beta) const { return tube_dual_sum(tube, beta); }
  double clip(std::int64_t i, double beta) const { return tube.clip(i, beta); }
};

class TubeCore {
 public:
  TubeCore(const RowsHandle& rows, const TubeHandle& tube, Vector signs, Vector cost)
      : rows_(rows), handle_(tube), signs_(std::move(signs)), cost_(std::move(cost)) {
    require_length(signs_, count(), "signs");
    require_length(cost_, count(), "cost");
    require_length(cost_, handle_.count(), "target");
  }

  std::int64_t count() const { return rows_.count(); }
  std::int64_t weights() const { return rows_.weights(); }
  const double* cost() const { return cost_.data(); }
  Examples data() const { return {signs_.data(), cost_.data(), count()}; }
  Tube tube() const { return handle_.with(cost_); }

  template <class Visit>
  auto visit_rows(Visit&& visit) const {
    return std::visit(visit, rows_.view);
  }
  template <class Visit>
  auto visit_terms(Visit&& visit) const {
    return std::visit([&](const auto& rows) { return visit(rows, TubeTerms{tube()}); }, rows_.view);
  }
  template <class Visit>
  auto visit_only_terms(Visit&& visit) const {
    return visit(TubeTerms{tube()});
  }
  template <class Visit>
  auto visit_sums(Visit&& visit) const {
    return visit(TubeSums{data(), tube()});
  }
  ProximalTube proximal(const double* center, double h) const {
    return {data(), tube(), center, h, 1e6 * handle_.unit()};
  }

 private:
  RowsHandle rows_;
  TubeHandle handle_;
  Vector signs_, cost_;
};

void register_sums(nb::class_<TubeHandle>& tube) {
  tube.def(
          "total",
          [](const TubeHandle& t, Vector cost, Vector scores, double b) {
            const Tube tube = t.with(cost);
            const double* at = t.over(scores, "scores");
            nb::gil_scoped_release release;
            return tube_sum(tube, at, b);
          },
          nb::arg("cost"), nb::arg("scores"), nb::arg("b"))
      .def(
          "dual_total",
          [](const TubeHandle& t, Vector cost, Vector beta) {
            const Tube tube = t.with(cost);
            const double* at = t.over(beta, "beta");
            nb::gil_scoped_release release;
            return tube_dual_sum(tube, at);
          },
          nb::arg("cost"), nb::arg("beta"))
      .def(
          "sums",
          [](const TubeHandle& t, Vector cost, Vector scores, double b, double reach) {
            const Tube tube = t.with(cost);
            const double* at = t.over(scores, "scores");
            nb::gil_scoped_release release;
            const LossSums sums = tube_sums(tube, at, b, reach);
            return std::tuple(sums.total, sums.slopes, sums.squares);
          },
          nb::arg("cost"), nb::arg("scores"), nb::arg("b"), nb::arg("reach"))
      .def(
          "dual_sums",
          [](const TubeHandle& t, Vector cost, Vector beta) {
            const Tube tube = t.with(cost);
            const double* at = t.over(beta, "beta");
            nb::gil_scoped_release release;
            const DualSums sums = tube_dual_sums(tube, at);
            return std::tuple(sums.value, sums.size, sums.linear, sums.squares, sums.residual);
          },
          nb::arg("cost"), nb::arg("beta"))
      .def(
          "bend",
          [](const TubeHandle& t, Vector cost, Vector beta) {
            const Tube tube = t.with(cost);
            const double* at = t.over(beta, "beta");
            nb::gil_scoped_release release;
            return tube_bend(tube, at);
          },
          nb::arg("cost"), nb::arg("beta"))
      .def(
          "holds_zero",
          [](const TubeHandle& t, Vector cost) { return tube_holds_zero(t.with(cost)); },
          nb::arg("cost"))
      .def(
          "clip",
          [](const TubeHandle& t, Vector cost, Vector beta, MutableVector clipped) {
            const Tube tube = t.with(cost);
            const double* from = t.over(beta, "beta");
            double* to = t.over(clipped, "clipped");
            nb::gil_scoped_release release;
            for (std::int64_t i = 0; i < tube.count; ++i) to[i] = tube.clip(i, from[i]);
          },
          nb::arg("cost"), nb::arg("beta"), nb::arg("clipped").noconvert())
      .def(
          "best_intercept",
          [](const TubeHandle& t, Vector cost, Vector scores, double b) {
            const Tube tube = t.with(cost);
            const double* at = t.over(scores, "scores");
            nb::gil_scoped_release release;
            return tube_best_intercept(tube, at, b);
          },
          nb::arg("cost"), nb::arg("scores"), nb::arg("b"));
}

void register_terms(nb::class_<TubeHandle>& tube) {
  tube.def(
          "terms",
          [](const TubeHandle& t, Vector cost, Vector scores, double b, MutableVector beta,
             MutableVector curvature) {
            const Tube tube = t.with(cost);
            const double* at = t.over(scores, "scores");
            double* out = t.over(beta, "beta");
            double* bend = t.over(curvature, "curvature");
            nb::gil_scoped_release release;
            tube_terms(tube, at, b, out, bend);
          },
          nb::arg("cost"), nb::arg("scores"), nb::arg("b"), nb::arg("beta").noconvert(),
          nb::arg("curvature").noconvert())
      .def(
          "derivatives_along",
          [](const TubeHandle& t, Vector cost, Vector scores, double b, Vector slopes,
             double slope_b, double step) {
            const Tube tube = t.with(cost);
            const Line line{t.over(scores, "scores"), b, t.over(slopes, "slopes"), slope_b};
            nb::gil_scoped_release release;
            const TwoSums d = tube_derivatives_along(tube, line, step);
            return std::tuple(d.first, d.second);
          },
          nb::arg("cost"), nb::arg("scores"), nb::arg("b"), nb::arg("slopes"), nb::arg("slope_b"),
          nb::arg("t"))
      .def(
          "linearised_move",
          [](const TubeHandle& t, Vector cost, MutableVector scores, double b, MutableVector slopes,
             double slope_b, double step) {
            const Tube tube = t.with(cost);
            double* at = t.over(scores, "scores");
            double* along = t.over(slopes, "slopes");
            nb::gil_scoped_release release;
            tube_linearised_move(tube, at, b, along, slope_b, step);
          },
          nb::arg("cost"), nb::arg("scores").noconvert(), nb::arg("b"),
          nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"));
}

}  // namespace

void register_tube(nb::module_& m) {
  nb::class_<TubeHandle> tube(m, "Tube");
  tube.def(nb::init<Vector, double, bool>(), nb::arg("target").noconvert(), nb::arg("epsilon"),
           nb::arg("squared"))
      .def_prop_ro("unit", &TubeHandle::unit);
  register_sums(tube);
  register_terms(tube);
  nb::class_<TubeCore> core(m, "TubeCore");
  core.def(nb::init<const RowsHandle&, const TubeHandle&, Vector, Vector>(), nb::arg("rows"),
           nb::arg("tube"), nb::arg("signs").noconvert(), nb::arg("cost").noconvert());
  register_steps(core);
  register_sweeps_of<TubeCore>(m, "TubeSweeps");
}

}  // namespace widemargin
