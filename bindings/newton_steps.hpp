// Steps of the second-order methods, for every kind of problem whose core has `proximal`, the loss
// rounded around a dual point, and visit_sums, the smooth one.
#pragma once

#include "arrays.hpp"
#include "sweeps/newton_step.hpp"

namespace widemargin {

// Arrays over the examples, checked.
template <class Core, class Array>
auto over_examples(const Core& core, const Array& array, const char* name) {
  require_length(array, core.count(), name);
  return array.data();
}

template <class Core>
Line line_of(const Core& core, const Vector& scores, double b, const Vector& slopes,
             double slope_b) {
  return {over_examples(core, scores, "scores"), b, over_examples(core, slopes, "slopes"), slope_b};
}

template <class Core>
void register_steps(nb::class_<Core>& binary) {
  binary
      .def(
          "newton_step",
          [](const Core& core, bool free, MutableVector w, double b, MutableVector scores,
             MutableVector alpha, std::int64_t most_products, double accuracy) {
            require_length(w, core.weights(), "w");
            const ProductLimits limits{most_products, accuracy};
            double* at = over_examples(core, scores, "scores");
            double* out = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return core.visit_rows([&](const auto& rows) {
              return core.visit_sums([&](const auto& sums) {
                return newton_step(rows, sums, free, limits, w.data(), b, at, out);
              });
            });
          },
          nb::arg("free"), nb::arg("w").noconvert(), nb::arg("b"), nb::arg("scores").noconvert(),
          nb::arg("alpha").noconvert(), nb::arg("most_products") = 0, nb::arg("accuracy") = 0.0)
      .def(
          "newton_steps",
          [](const Core& core, bool free, MutableVector w, double b, MutableVector scores,
             MutableVector alpha, std::int64_t most, double wanted) {
            require_length(w, core.weights(), "w");
            const StepLimits limits{most, wanted};
            double* at = over_examples(core, scores, "scores");
            double* out = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return core.visit_rows([&](const auto& rows) {
              return core.visit_sums([&](const auto& sums) {
                return newton_steps(rows, sums, free, limits, w.data(), b, at, out);
              });
            });
          },
          nb::arg("free"), nb::arg("w").noconvert(), nb::arg("b"), nb::arg("scores").noconvert(),
          nb::arg("alpha").noconvert(), nb::arg("most"), nb::arg("wanted"))
      .def(
          "proximal_steps",
          [](const Core& core, bool free, ProximalCourse& course, MutableVector center,
             MutableVector w, double b, MutableVector scores, MutableVector alpha,
             MutableVector combination) {
            require_length(w, core.weights(), "w");
            require_length(combination, core.weights(), "combination");
            double* middle = over_examples(core, center, "center");
            const auto loss = core.proximal(middle, course.h);
            double* at = over_examples(core, scores, "scores");
            double* out = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return core.visit_rows([&](const auto& rows) {
              return proximal_steps(rows, loss, free, course, middle, w.data(), b, at, out,
                                    combination.data());
            });
          },
          nb::arg("free"), nb::arg("course"), nb::arg("center").noconvert(),
          nb::arg("w").noconvert(), nb::arg("b"), nb::arg("scores").noconvert(),
          nb::arg("alpha").noconvert(), nb::arg("combination").noconvert())
      .def(
          "proximal_alpha",
          [](const Core& core, Vector center, double h, Vector scores, double b,
             MutableVector alpha, bool widen) {
            auto loss = core.proximal(over_examples(core, center, "center"), h);
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
          [](const Core& core, double h, Vector alpha, MutableVector curvature) {
            const double* at = over_examples(core, alpha, "alpha");
            double* out = over_examples(core, curvature, "curvature");
            nb::gil_scoped_release release;
            proximal_curvature(core.proximal(nullptr, h), at, out);
          },
          nb::arg("h"), nb::arg("alpha"), nb::arg("curvature").noconvert())
      .def(
          "proximal_derivatives_along",
          [](const Core& core, Vector center, double h, Vector scores, double b, Vector slopes,
             double slope_b, double t) {
            const auto loss = core.proximal(over_examples(core, center, "center"), h);
            const Line line = line_of(core, scores, b, slopes, slope_b);
            nb::gil_scoped_release release;
            const TwoSums d = proximal_derivatives_along(loss, line, t);
            return std::tuple(d.first, d.second);
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores"), nb::arg("b"), nb::arg("slopes"),
          nb::arg("slope_b"), nb::arg("t"))
      .def(
          "proximal_move",
          [](const Core& core, Vector center, double h, MutableVector scores, double b,
             MutableVector slopes, double slope_b, double step) {
            const auto loss = core.proximal(over_examples(core, center, "center"), h);
            double* at = over_examples(core, scores, "scores");
            double* along = over_examples(core, slopes, "slopes");
            nb::gil_scoped_release release;
            proximal_move(loss, at, b, along, slope_b, step);
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores").noconvert(), nb::arg("b"),
          nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"))
      .def(
          "mismatch",
          [](const Core& core, Vector scores, double b, Vector alpha) {
            const double* at = over_examples(core, scores, "scores");
            const double* duals = over_examples(core, alpha, "alpha");
            nb::gil_scoped_release release;
            return mismatch(core.proximal(nullptr, 1.0), at, b, duals);
          },
          nb::arg("scores"), nb::arg("b"), nb::arg("alpha"));
}

}  // namespace widemargin
