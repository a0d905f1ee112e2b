// Python's `BinaryCore`: whole steps on a binary problem, and the smoothed hinge.
#include "binary_core.hpp"
#include "losses/proximal_hinge.hpp"
#include "sweeps/newton_step.hpp"
#include "sweeps/pegasos.hpp"

namespace widemargin {
namespace {

// Arrays over the examples, checked.
template <class Array>
auto over_examples(const BinaryCore& core, const Array& array, const char* name) {
  require_length(array, core.count(), name);
  return array.data();
}

Line line_of(const BinaryCore& core, const Vector& scores, double b, const Vector& slopes,
             double slope_b) {
  return {over_examples(core, scores, "scores"), b, over_examples(core, slopes, "slopes"), slope_b};
}

ProximalHinge proximal_of(const BinaryCore& core, const Vector& center, double h) {
  return {core.data(), over_examples(core, center, "center"), h};
}

void register_proximal(BinaryClass& binary) {
  binary
      .def(
          "proximal_step",
          [](const BinaryCore& core, bool free, MutableVector w, double b, MutableVector scores,
             Vector center, double h, MutableVector alpha, MutableVector combination) {
            require_length(w, core.weights(), "w");
            require_length(combination, core.weights(), "combination");
            const ProximalHinge loss = proximal_of(core, center, h);
            double* at = over_examples(core, scores, "scores");
            double* out = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return core.visit_rows([&](const auto& rows) {
              return proximal_step(rows, loss, free, w.data(), b, at, out, combination.data());
            });
          },
          nb::arg("free"), nb::arg("w").noconvert(), nb::arg("b"), nb::arg("scores").noconvert(),
          nb::arg("center"), nb::arg("h"), nb::arg("alpha").noconvert(),
          nb::arg("combination").noconvert())
      .def(
          "proximal_alpha",
          [](const BinaryCore& core, Vector center, double h, Vector scores, double b,
             MutableVector alpha, bool widen) {
            ProximalHinge loss = proximal_of(core, center, h);
            const double* at = over_examples(core, scores, "scores");
            double* out = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            const std::int64_t inside =
                widen ? widened_corner(loss, at, b, out) : proximal_alpha(loss, at, b, out);
            return std::tuple(inside, loss.h);
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores"), nb::arg("b"),
          nb::arg("alpha").noconvert(), nb::arg("widen") = true)
      .def(
          "proximal_curvature",
          [](const BinaryCore& core, double h, Vector alpha, MutableVector curvature) {
            const double* at = over_examples(core, alpha, "alpha");
            double* out = over_examples(core, curvature, "curvature");
            nb::gil_scoped_release release;
            proximal_curvature(core.data(), h, at, out);
          },
          nb::arg("h"), nb::arg("alpha"), nb::arg("curvature").noconvert())
      .def(
          "proximal_derivatives_along",
          [](const BinaryCore& core, Vector center, double h, Vector scores, double b,
             Vector slopes, double slope_b, double t) {
            const ProximalHinge loss = proximal_of(core, center, h);
            const Line line = line_of(core, scores, b, slopes, slope_b);
            nb::gil_scoped_release release;
            const TwoSums d = proximal_derivatives_along(loss, line, t);
            return std::tuple(d.first, d.second);
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores"), nb::arg("b"), nb::arg("slopes"),
          nb::arg("slope_b"), nb::arg("t"))
      .def(
          "proximal_move",
          [](const BinaryCore& core, Vector center, double h, MutableVector scores, double b,
             MutableVector slopes, double slope_b, double step) {
            const ProximalHinge loss = proximal_of(core, center, h);
            double* at = over_examples(core, scores, "scores");
            double* along = over_examples(core, slopes, "slopes");
            nb::gil_scoped_release release;
            proximal_move(loss, at, b, along, slope_b, step);
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores").noconvert(), nb::arg("b"),
          nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"))
      .def(
          "hinge_mismatch",
          [](const BinaryCore& core, Vector scores, double b, Vector alpha) {
            const double* at = over_examples(core, scores, "scores");
            const double* duals = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return hinge_mismatch(core.data(), at, b, duals);
          },
          nb::arg("scores"), nb::arg("b"), nb::arg("alpha"));
}

}  // namespace

void register_binary(nb::module_& m) {
  nb::class_<NewtonReport>(m, "NewtonReport")
      .def_ro("solved", &NewtonReport::solved)
      .def_ro("moved", &NewtonReport::moved)
      .def_ro("b", &NewtonReport::b)
      .def_ro("primal", &NewtonReport::primal)
      .def_ro("gap", &NewtonReport::gap)
      .def_ro("active", &NewtonReport::active);
  nb::class_<ProximalReport, NewtonReport>(m, "ProximalReport")
      .def_ro("h", &ProximalReport::h)
      .def_ro("mismatch", &ProximalReport::mismatch)
      .def_ro("decrease", &ProximalReport::decrease);
  BinaryClass binary(m, "BinaryCore");
  binary
      .def(nb::init<const RowsHandle&, const std::string&, Vector, Vector>(), nb::arg("rows"),
           nb::arg("loss"), nb::arg("y").noconvert(), nb::arg("cost").noconvert())
      .def(
          "newton_step",
          [](const BinaryCore& core, bool free, MutableVector w, double b, MutableVector scores,
             MutableVector alpha) {
            require_length(w, core.weights(), "w");
            double* at = over_examples(core, scores, "scores");
            double* out = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return core.visit_rows([&](const auto& rows) {
              return core.visit_smooth_loss([&](auto loss) {
                return newton_step<decltype(loss)>(rows, core.data(), free, w.data(), b, at, out);
              });
            });
          },
          nb::arg("free"), nb::arg("w").noconvert(), nb::arg("b"), nb::arg("scores").noconvert(),
          nb::arg("alpha").noconvert())
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
  register_proximal(binary);
}

}  // namespace widemargin
