#include "arrays.hpp"
#include "losses/proximal_hinge.hpp"
#include "losses/sums.hpp"

namespace widemargin {

void register_losses(nb::module_& m) {
  m.def(
      "loss_sum",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(scores, n, "scores");
        nb::gil_scoped_release release;
        return with_loss(loss, [&](auto kind) {
          return loss_sum<decltype(kind)>(y.data(), cost.data(), scores.data(), b, n);
        });
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
      "loss_terms",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b,
         MutableVector alpha, MutableVector curvature) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(scores, n, "scores");
        require_length(alpha, n, "alpha");
        require_length(curvature, n, "curvature");
        nb::gil_scoped_release release;
        with_smooth_loss(loss, [&](auto kind) {
          loss_terms<decltype(kind)>(y.data(), cost.data(), scores.data(), b, alpha.data(),
                                     curvature.data(), n);
        });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"),
      nb::arg("alpha").noconvert(), nb::arg("curvature").noconvert());
  m.def(
      "linearised_move",
      [](const std::string& loss, Vector y, Vector cost, MutableVector scores, double b,
         MutableVector slopes, double slope_b, double step) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(scores, n, "scores");
        require_length(slopes, n, "slopes");
        nb::gil_scoped_release release;
        with_smooth_loss(loss, [&](auto kind) {
          linearised_move<decltype(kind)>(y.data(), cost.data(), scores.data(), b, slopes.data(),
                                          slope_b, step, n);
        });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores").noconvert(), nb::arg("b"),
      nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"));
  m.def(
      "derivatives_along",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b, Vector slopes,
         double slope_b, double t) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(scores, n, "scores");
        require_length(slopes, n, "slopes");
        nb::gil_scoped_release release;
        const Derivatives d = with_smooth_loss(loss, [&](auto kind) {
          return derivatives_along<decltype(kind)>(y.data(), cost.data(), scores.data(), b,
                                                   slopes.data(), slope_b, t, n);
        });
        return std::tuple(d.first, d.second);
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"),
      nb::arg("slopes"), nb::arg("slope_b"), nb::arg("t"));
  m.def(
      "best_intercept",
      [](const std::string& loss, Vector y, Vector cost, Vector scores, double b) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(scores, n, "scores");
        nb::gil_scoped_release release;
        if (loss == "hinge") {
          return best_hinge_intercept(y.data(), cost.data(), scores.data(), n);
        }
        return with_smooth_loss(loss, [&](auto kind) {
          return best_smooth_intercept<decltype(kind)>(y.data(), cost.data(), scores.data(), b, n);
        });
      },
      nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"));
  m.def(
      "proximal_alpha",
      [](Vector y, Vector cost, Vector center, double h, Vector scores, double b,
         MutableVector alpha) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(center, n, "center");
        require_length(scores, n, "scores");
        require_length(alpha, n, "alpha");
        nb::gil_scoped_release release;
        const ProximalHinge loss{y.data(), cost.data(), center.data(), h};
        return proximal_alpha(loss, scores.data(), b, alpha.data(), n);
      },
      nb::arg("y"), nb::arg("cost"), nb::arg("center"), nb::arg("h"), nb::arg("scores"),
      nb::arg("b"), nb::arg("alpha").noconvert());

  m.def(
      "proximal_curvature",
      [](Vector cost, double h, Vector alpha, MutableVector curvature) {
        const auto n = static_cast<std::int64_t>(cost.shape(0));
        require_length(alpha, n, "alpha");
        require_length(curvature, n, "curvature");
        nb::gil_scoped_release release;
        proximal_curvature(cost.data(), h, alpha.data(), curvature.data(), n);
      },
      nb::arg("cost"), nb::arg("h"), nb::arg("alpha"), nb::arg("curvature").noconvert());
  m.def(
      "proximal_derivatives_along",
      [](Vector y, Vector cost, Vector center, double h, Vector scores, double b, Vector slopes,
         double slope_b, double t) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(center, n, "center");
        require_length(scores, n, "scores");
        require_length(slopes, n, "slopes");
        nb::gil_scoped_release release;
        const ProximalHinge loss{y.data(), cost.data(), center.data(), h};
        const Derivatives d =
            proximal_derivatives_along(loss, scores.data(), b, slopes.data(), slope_b, t, n);
        return std::tuple(d.first, d.second);
      },
      nb::arg("y"), nb::arg("cost"), nb::arg("center"), nb::arg("h"), nb::arg("scores"),
      nb::arg("b"), nb::arg("slopes"), nb::arg("slope_b"), nb::arg("t"));
  m.def(
      "proximal_move",
      [](Vector y, Vector cost, Vector center, double h, MutableVector scores, double b,
         MutableVector slopes, double slope_b, double step) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(center, n, "center");
        require_length(scores, n, "scores");
        require_length(slopes, n, "slopes");
        nb::gil_scoped_release release;
        const ProximalHinge loss{y.data(), cost.data(), center.data(), h};
        proximal_move(loss, scores.data(), b, slopes.data(), slope_b, step, n);
      },
      nb::arg("y"), nb::arg("cost"), nb::arg("center"), nb::arg("h"), nb::arg("scores").noconvert(),
      nb::arg("b"), nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"));
  m.def(
      "hinge_mismatch",
      [](Vector y, Vector cost, Vector scores, double b, Vector alpha) {
        const auto n = static_cast<std::int64_t>(y.shape(0));
        require_length(cost, n, "cost");
        require_length(scores, n, "scores");
        require_length(alpha, n, "alpha");
        nb::gil_scoped_release release;
        return hinge_mismatch(y.data(), cost.data(), scores.data(), b, alpha.data(), n);
      },
      nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"), nb::arg("alpha"));
}

}  // namespace widemargin
