#include "arrays.hpp"
#include "sweeps/dual_cd.hpp"
#include "sweeps/newton_step.hpp"

namespace widemargin {
namespace {

void require_problem(const RowsHandle& handle, const Vector& y, const Vector& cost,
                     const Vector& norms, const MutableVector& alpha, const MutableVector& w,
                     const MutableIndexVector& order, std::int64_t active) {
  const std::int64_t n = handle.count();
  require_length(y, n, "y");
  require_length(cost, n, "cost");
  require_length(norms, n, "squared_norms");
  require_length(alpha, n, "alpha");
  require_length(w, handle.weights(), "w");
  if (active < 0 || active > static_cast<std::int64_t>(order.shape(0)) ||
      static_cast<std::int64_t>(order.shape(0)) > n) {
    throw std::invalid_argument("active set out of range");
  }
}

}  // namespace

void register_sweeps(nb::module_& m) {
  m.def(
      "shuffle",
      [](MutableIndexVector order, std::int64_t active, std::uint64_t seed) {
        if (active < 0 || active > static_cast<std::int64_t>(order.shape(0))) {
          throw std::invalid_argument("active set out of range");
        }
        nb::gil_scoped_release release;
        shuffle(order.data(), active, seed);
      },
      nb::arg("order").noconvert(), nb::arg("active"), nb::arg("seed"));

  m.def(
      "compact",
      [](MutableIndexVector active, std::int64_t count) {
        if (count < 0 || count > static_cast<std::int64_t>(active.shape(0))) {
          throw std::invalid_argument("active set out of range");
        }
        nb::gil_scoped_release release;
        return compact(active.data(), count);
      },
      nb::arg("active").noconvert(), nb::arg("count"));
  m.attr("block_length") = block_length;

  m.def(
      "dual_sweep",
      [](const RowsHandle& handle, const std::string& loss, Vector y, Vector cost, Vector norms,
         MutableVector alpha, MutableVector w, MutableIndexVector active, std::int64_t active_count,
         double residual, double b, double rho, double shrink_low, double shrink_high,
         IndexVector blocks, std::int64_t begin, std::int64_t budget, std::uint64_t seed,
         double ahead) {
        require_problem(handle, y, cost, norms, alpha, w, active, active_count);
        if (begin < 0 || block_count(active_count) > static_cast<std::int64_t>(blocks.shape(0))) {
          throw std::invalid_argument("blocks do not cover the active set");
        }
        SweepReport report;
        DualIterate iterate{alpha.data(), w.data(), active.data(), active_count, residual};
        {
          nb::gil_scoped_release release;
          const BinaryData data{y.data(), cost.data(), norms.data()};
          report = std::visit(
              [&](const auto& rows) {
                return with_loss(loss, [&](auto kind) {
                  return dual_sweep<decltype(kind)>(rows, data, iterate, Multiplier{b, rho},
                                                    ShrinkBounds{shrink_low, shrink_high},
                                                    blocks.data(), begin, budget, seed, ahead);
                });
              },
              handle.view);
        }
        return std::tuple(report.next, iterate.residual, report.largest_gradient,
                          report.smallest_gradient, report.gap_estimate);
      },
      nb::arg("rows"), nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("squared_norms"),
      nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("active").noconvert(),
      nb::arg("active_count"), nb::arg("residual"), nb::arg("b"), nb::arg("rho"),
      nb::arg("shrink_low"), nb::arg("shrink_high"), nb::arg("blocks"), nb::arg("begin"),
      nb::arg("budget"), nb::arg("seed"), nb::arg("ahead") = 0.0);

  m.def(
      "dual_sweeps",
      [](const RowsHandle& handle, const std::string& loss, Vector y, Vector cost, Vector norms,
         MutableVector alpha, MutableVector w, MutableIndexVector active, std::int64_t active_count,
         double residual, double b, double rho, double shrink_low, double shrink_high,
         std::int64_t visits, double wanted, std::uint64_t seed, double ahead) {
        require_problem(handle, y, cost, norms, alpha, w, active, active_count);
        SweepReport report;
        DualIterate iterate{alpha.data(), w.data(), active.data(), active_count, residual};
        std::int64_t visited = 0;
        {
          nb::gil_scoped_release release;
          const BinaryData data{y.data(), cost.data(), norms.data()};
          ShrinkBounds bounds{shrink_low, shrink_high};
          visited = std::visit(
              [&](const auto& rows) {
                return with_loss(loss, [&](auto kind) {
                  return dual_sweeps<decltype(kind)>(rows, data, iterate, Multiplier{b, rho},
                                                     bounds, visits, wanted, seed, ahead, report);
                });
              },
              handle.view);
        }
        return std::tuple(visited, iterate.active_count, iterate.residual, report.largest_gradient,
                          report.smallest_gradient, report.gap_estimate);
      },
      nb::arg("rows"), nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("squared_norms"),
      nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("active").noconvert(),
      nb::arg("active_count"), nb::arg("residual"), nb::arg("b"), nb::arg("rho"),
      nb::arg("shrink_low"), nb::arg("shrink_high"), nb::arg("visits"), nb::arg("wanted"),
      nb::arg("seed"), nb::arg("ahead") = 0.0);

  m.def(
      "extrapolate",
      [](const RowsHandle& handle, const std::string& loss, Vector y, Vector cost, Vector norms,
         MutableVector alpha, MutableVector w, MutableIndexVector active, std::int64_t active_count,
         double residual, double b, double rho, Vector alpha_before, Vector w_before,
         double residual_before, MutableVector scratch) {
        require_problem(handle, y, cost, norms, alpha, w, active, active_count);
        require_length(scratch, handle.weights(), "scratch");
        require_length(alpha_before, handle.count(), "alpha_before");
        require_length(w_before, handle.weights(), "w_before");
        DualIterate iterate{alpha.data(), w.data(), active.data(), active_count, residual};
        double step = 0.0;
        {
          nb::gil_scoped_release release;
          const BinaryData data{y.data(), cost.data(), norms.data()};
          step = std::visit(
              [&](const auto& rows) {
                return with_loss(loss, [&](auto kind) {
                  return extrapolate<decltype(kind)>(
                      rows, data, iterate, Multiplier{b, rho}, alpha_before.data(), w_before.data(),
                      residual_before, handle.weights(), scratch.data());
                });
              },
              handle.view);
        }
        return std::tuple(step, iterate.residual);
      },
      nb::arg("rows"), nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("squared_norms"),
      nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("active").noconvert(),
      nb::arg("active_count"), nb::arg("residual"), nb::arg("b"), nb::arg("rho"),
      nb::arg("alpha_before"), nb::arg("w_before"), nb::arg("residual_before"),
      nb::arg("scratch").noconvert());

  m.def(
      "join_moves",
      [](const RowsHandle& handle, const std::string& loss, Vector y, Vector cost, Vector norms,
         MutableVector alpha, MutableVector w, MutableIndexVector active, std::int64_t active_count,
         double residual, double b, double rho, MutableVector alpha_before, MutableVector w_before,
         double residual_before, MutableVector alpha_older, MutableVector w_older,
         double residual_older) {
        require_problem(handle, y, cost, norms, alpha, w, active, active_count);
        for (const auto* before : {&alpha_before, &alpha_older}) {
          require_length(*before, handle.count(), "alpha_before");
        }
        for (const auto* before : {&w_before, &w_older}) {
          require_length(*before, handle.weights(), "w_before");
        }
        const DualIterate iterate{alpha.data(), w.data(), active.data(), active_count, residual};
        const Beginning newer{alpha_before.data(), w_before.data(), residual_before};
        Beginning older{alpha_older.data(), w_older.data(), residual_older};
        double length = 0.0;
        {
          nb::gil_scoped_release release;
          const BinaryData data{y.data(), cost.data(), norms.data()};
          length = with_loss(loss, [&](auto kind) {
            return join_moves<decltype(kind)>(data, iterate, Multiplier{b, rho}, newer, older,
                                              handle.weights());
          });
        }
        return std::tuple(length, older.residual);
      },
      nb::arg("rows"), nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("squared_norms"),
      nb::arg("alpha").noconvert(), nb::arg("w").noconvert(), nb::arg("active").noconvert(),
      nb::arg("active_count"), nb::arg("residual"), nb::arg("b"), nb::arg("rho"),
      nb::arg("alpha_before").noconvert(), nb::arg("w_before").noconvert(),
      nb::arg("residual_before"), nb::arg("alpha_older").noconvert(),
      nb::arg("w_older").noconvert(), nb::arg("residual_older"));

  m.def(
      "newton_step",
      [](const RowsHandle& handle, const std::string& loss, Vector y, Vector cost, bool free,
         MutableVector w, double b, MutableVector scores, MutableVector alpha) {
        const std::int64_t n = handle.count();
        require_length(y, n, "y");
        require_length(cost, n, "cost");
        require_length(w, handle.weights(), "w");
        require_length(scores, n, "scores");
        require_length(alpha, n, "alpha");
        NewtonReport report;
        {
          nb::gil_scoped_release release;
          report = std::visit(
              [&](const auto& rows) {
                return with_smooth_loss(loss, [&](auto kind) {
                  return newton_step<decltype(kind)>(rows, y.data(), cost.data(), free, w.data(), b,
                                                     scores.data(), alpha.data());
                });
              },
              handle.view);
        }
        return std::tuple(report.moved, report.b, report.primal, report.gap, report.active);
      },
      nb::arg("rows"), nb::arg("loss"), nb::arg("y"), nb::arg("cost"), nb::arg("free"),
      nb::arg("w").noconvert(), nb::arg("b"), nb::arg("scores").noconvert(),
      nb::arg("alpha").noconvert());
}

}  // namespace widemargin
