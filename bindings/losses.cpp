#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "losses/bounds.hpp"

namespace widemargin {
namespace {

template <class Scores>
Examples examples_of(const Vector& y, const Vector& cost, const Scores& scores) {
  const auto n = static_cast<std::int64_t>(y.shape(0));
  require_length(cost, n, "cost");
  require_length(scores, n, "scores");
  return {y.data(), cost.data(), n};
}

}  // namespace

void register_losses(nb::module_& m) {
  nb::class_<LossTraits>(m, "LossTraits")
      .def_ro("name", &LossTraits::name)
      .def_ro("bounded", &LossTraits::bounded)
      .def_ro("smooth", &LossTraits::smooth)
      .def_ro("sparse", &LossTraits::sparse)
      .def_ro("dual_quadratic", &LossTraits::dual_quadratic)
      .def_ro("curvature_level", &LossTraits::curvature_level)
      .def_ro("slope_at_zero", &LossTraits::slope_at_zero)
      .def_ro("stiffness", &LossTraits::stiffness)
      .def_ro("visit_cost", &LossTraits::visit_cost);
  m.def("loss_names", &loss_names);
  m.def(
      "loss_traits",
      [](const std::string& loss) {
        return with_loss(loss, [](auto kind) { return traits_of<decltype(kind)>(); });
      },
      nb::arg("loss"));
  m.def(
      "loss_sum",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b) {
        const Examples data = examples_of(y, cost, scores);
        nb::gil_scoped_release release;
        return with_loss(
            loss, [&](auto kind) { return loss_sum<decltype(kind)>(data, scores.data(), b); });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"));
  m.def(
      "dual_sum",
      [](const std::string& loss, Vector alpha, Vector cost) {
        const auto n = static_cast<std::int64_t>(alpha.shape(0));
        require_length(cost, n, "cost");
        nb::gil_scoped_release release;
        return with_loss(loss, [&](auto kind) {
          return dual_sum<decltype(kind)>(alpha.data(), cost.data(), n);
        });
      },
      nb::arg("loss"), nb::arg("alpha"), nb::arg("cost"));
  m.def(
      "loss_sums",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b, double reach) {
        const Examples data = examples_of(y, cost, scores);
        nb::gil_scoped_release release;
        const LossSums sums = with_loss(loss, [&](auto kind) {
          return loss_sums<decltype(kind)>(data, scores.data(), b, reach);
        });
        return std::tuple(sums.total, sums.slopes, sums.squares);
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"),
      nb::arg("reach"));
  m.def(
      "dual_sums",
      [](const std::string& loss, Vector y, Vector cost, Vector alpha) {
        const Examples data = examples_of(y, cost, alpha);
        nb::gil_scoped_release release;
        const DualSums sums = with_loss(
            loss, [&](auto kind) { return dual_sums<decltype(kind)>(data, alpha.data()); });
        return std::tuple(sums.value, sums.size, sums.linear, sums.squares, sums.residual);
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("alpha"));
  m.def(
      "largest_share",
      [](Vector alpha, Vector cost) {
        const auto n = static_cast<std::int64_t>(alpha.shape(0));
        require_length(cost, n, "cost");
        nb::gil_scoped_release release;
        return largest_share(alpha.data(), cost.data(), n);
      },
      nb::arg("alpha"), nb::arg("cost"));
  m.def(
      "intercept_reach",
      [](const std::string& loss, double up, double down) {
        return with_loss(loss,
                         [&](auto kind) { return decltype(kind)::intercept_reach(up, down); });
      },
      nb::arg("loss"), nb::arg("up"), nb::arg("down"));
  m.def(
      "loss_terms",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b,
         MutableVector alpha, MutableVector curvature) {
        const Examples data = examples_of(y, cost, scores);
        require_length(alpha, data.count, "alpha");
        require_length(curvature, data.count, "curvature");
        nb::gil_scoped_release release;
        with_smooth_loss(loss_named(loss), [&](auto kind) {
          loss_terms<decltype(kind)>(data, scores.data(), b, alpha.data(), curvature.data());
        });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"),
      nb::arg("alpha").noconvert(), nb::arg("curvature").noconvert());
  m.def(
      "linearised_move",
      [](const std::string& loss, Vector y, Vector cost, MutableVector scores, double b,
         MutableVector slopes, double slope_b, double step) {
        const Examples data = examples_of(y, cost, scores);
        require_length(slopes, data.count, "slopes");
        nb::gil_scoped_release release;
        with_smooth_loss(loss_named(loss), [&](auto kind) {
          linearised_move<decltype(kind)>(data, scores.data(), b, slopes.data(), slope_b, step);
        });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores").noconvert(), nb::arg("b"),
      nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"));
  m.def(
      "derivatives_along",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b, Vector slopes,
         double slope_b, double t) {
        const Examples data = examples_of(y, cost, scores);
        require_length(slopes, data.count, "slopes");
        const Line line{scores.data(), b, slopes.data(), slope_b};
        nb::gil_scoped_release release;
        const TwoSums d = with_smooth_loss(loss_named(loss), [&](auto kind) {
          return derivatives_along<decltype(kind)>(data, line, t);
        });
        return std::tuple(d.first, d.second);
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"),
      nb::arg("slopes"), nb::arg("slope_b"), nb::arg("t"));
  m.def(
      "best_intercept",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b) {
        const Examples data = examples_of(y, cost, scores);
        nb::gil_scoped_release release;
        return with_loss(loss, [&](auto kind) {
          return best_intercept<decltype(kind)>(data, scores.data(), b);
        });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"));
}

}  // namespace widemargin
