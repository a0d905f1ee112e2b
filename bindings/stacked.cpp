#include "kernels/stacked.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "losses/stacked.hpp"
#include "sweeps/stacked_dual_cd.hpp"

namespace widemargin {

namespace {

using Stack = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The number of lanes of a stack, which must have `lines` lines.
template <class Array>
std::int64_t require_stack(const Array& stack, std::int64_t lines, const char* name) {
  require_length(stack, lines, name);
  const auto lanes = static_cast<std::int64_t>(stack.shape(1));
  if (lanes == 0 || lanes % lane_step != 0) {
    throw std::invalid_argument(std::string(name) + " must have a multiple of four lanes");
  }
  return lanes;
}

template <class Array>
void require_shape(const Array& stack, std::int64_t lines, std::int64_t lanes, const char* name) {
  if (require_stack(stack, lines, name) != lanes) {
    throw std::invalid_argument(std::string(name) + " has another number of lanes");
  }
}

}  // namespace

void register_stacked(nb::module_& m, nb::class_<RowsHandle>& rows) {
  rows.def(
          "stacked_scores",
          [](const RowsHandle& handle, Stack stack, MutableMatrix out, std::int64_t begin,
             std::int64_t end, int threads) {
            const std::int64_t lanes = require_stack(stack, handle.weights(), "stack");
            require_shape(out, handle.count(), lanes, "out");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  stacked_scores(r, stack.data(), lanes, out.data(), begin, end, threads);
                },
                handle.view);
          },
          nb::arg("stack"), nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"),
          nb::arg("threads"))
      .def(
          "stacked_accumulate",
          [](const RowsHandle& handle, Stack coefficients, MutableMatrix sum, std::int64_t begin,
             std::int64_t end, int threads) {
            const std::int64_t lanes = require_stack(coefficients, handle.count(), "coefficients");
            require_shape(sum, handle.weights(), lanes, "sum");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  stacked_accumulate(r, coefficients.data(), lanes, sum.data(), begin, end,
                                     threads);
                },
                handle.view);
          },
          nb::arg("coefficients"), nb::arg("sum").noconvert(), nb::arg("begin"), nb::arg("end"),
          nb::arg("threads"))
      .def(
          "stacked_curvature_product",
          [](const RowsHandle& handle, Stack curvature, Stack direction, Vector shift,
             MutableMatrix sum, std::int64_t begin, std::int64_t end, int threads) {
            const std::int64_t lanes = require_stack(curvature, handle.count(), "curvature");
            require_shape(direction, handle.weights(), lanes, "direction");
            require_shape(sum, handle.weights() + 1, lanes, "sum");
            require_length(shift, lanes, "shift");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  stacked_curvature_product(r, curvature.data(), direction.data(), shift.data(),
                                            lanes, sum.data(), begin, end, threads);
                },
                handle.view);
          },
          nb::arg("curvature"), nb::arg("direction"), nb::arg("shift"), nb::arg("sum").noconvert(),
          nb::arg("begin"), nb::arg("end"), nb::arg("threads"));

  m.def(
      "lane_squares",
      [](Stack stack, MutableVector out) {
        const auto lines = static_cast<std::int64_t>(stack.shape(0));
        const std::int64_t lanes = require_stack(stack, lines, "stack");
        require_length(out, lanes, "out");
        nb::gil_scoped_release release;
        lane_squares(stack.data(), lines, lanes, out.data());
      },
      nb::arg("stack"), nb::arg("out").noconvert());
  m.def(
      "stacked_terms",
      [](const std::string& loss, Stack signed_cost, double C, Stack scores, Vector b,
         std::optional<Stack> slopes, Vector slope_b, Vector t, std::optional<MutableMatrix> alpha,
         std::optional<MutableMatrix> curvature, MutableMatrix totals, int threads) {
        const auto n = static_cast<std::int64_t>(signed_cost.shape(0));
        const std::int64_t lanes = require_stack(signed_cost, n, "signed_cost");
        require_shape(scores, n, lanes, "scores");
        for (const Vector* vector : {&b, &slope_b, &t}) require_length(*vector, lanes, "lanes");
        if (slopes) require_shape(*slopes, n, lanes, "slopes");
        if (alpha.has_value() != curvature.has_value()) {
          throw std::invalid_argument("alpha and curvature come together");
        }
        if (alpha) require_shape(*alpha, n, lanes, "alpha");
        if (curvature) require_shape(*curvature, n, lanes, "curvature");
        require_shape(totals, 3, lanes, "totals");
        nb::gil_scoped_release release;
        with_smooth_loss(loss, [&](auto kind) {
          stacked_terms<decltype(kind)>(
              signed_cost.data(), C, scores.data(), b.data(), slopes ? slopes->data() : nullptr,
              slope_b.data(), t.data(), alpha ? alpha->data() : nullptr,
              curvature ? curvature->data() : nullptr, totals.data(), n, lanes, threads);
        });
      },
      nb::arg("loss"), nb::arg("signed_cost"), nb::arg("C"), nb::arg("scores"), nb::arg("b"),
      nb::arg("slopes").none(), nb::arg("slope_b"), nb::arg("t"), nb::arg("alpha").none(),
      nb::arg("curvature").none(), nb::arg("totals").noconvert(), nb::arg("threads"));
  m.def(
      "stacked_linear_dual",
      [](const std::string& loss, Stack signed_cost, double C, Stack alpha, Stack curvature,
         Stack slopes, Vector slope_b, MutableMatrix out, int threads) {
        const auto n = static_cast<std::int64_t>(signed_cost.shape(0));
        const std::int64_t lanes = require_stack(signed_cost, n, "signed_cost");
        for (const Stack* stack : {&alpha, &curvature, &slopes}) {
          require_shape(*stack, n, lanes, "stack");
        }
        require_shape(out, n, lanes, "out");
        require_length(slope_b, lanes, "slope_b");
        nb::gil_scoped_release release;
        with_smooth_loss(loss, [&](auto kind) {
          stacked_linear_dual<decltype(kind)>(signed_cost.data(), C, alpha.data(), curvature.data(),
                                              slopes.data(), slope_b.data(), out.data(), n, lanes,
                                              threads);
        });
      },
      nb::arg("loss"), nb::arg("signed_cost"), nb::arg("C"), nb::arg("alpha"), nb::arg("curvature"),
      nb::arg("slopes"), nb::arg("slope_b"), nb::arg("out").noconvert(), nb::arg("threads"));
  m.def(
      "stacked_dual_sums",
      [](const std::string& loss, Stack signed_cost, double C, std::optional<Stack> scale,
         MutableMatrix alpha, MutableMatrix totals, int threads) {
        const auto n = static_cast<std::int64_t>(signed_cost.shape(0));
        const std::int64_t lanes = require_stack(signed_cost, n, "signed_cost");
        require_shape(alpha, n, lanes, "alpha");
        require_shape(totals, 4, lanes, "totals");
        if (scale) require_shape(*scale, 2, lanes, "scale");
        nb::gil_scoped_release release;
        with_smooth_loss(loss, [&](auto kind) {
          stacked_dual_sums<decltype(kind)>(signed_cost.data(), C, scale ? scale->data() : nullptr,
                                            alpha.data(), totals.data(), n, lanes, threads);
        });
      },
      nb::arg("loss"), nb::arg("signed_cost"), nb::arg("C"), nb::arg("scale").none(),
      nb::arg("alpha").noconvert(), nb::arg("totals").noconvert(), nb::arg("threads"));
  m.def(
      "stacked_dual_sweep",
      [](const RowsHandle& handle, const std::string& loss, Stack signed_cost, double C,
         Vector norms, MutableMatrix alpha, MutableMatrix w, MutableIndexVector active,
         std::int64_t active_count, double negligible, IndexVector blocks, std::int64_t begin,
         std::int64_t budget, std::uint64_t seed, MutableVector gaps) {
        const std::int64_t n = handle.count();
        const std::int64_t lanes = require_stack(signed_cost, n, "signed_cost");
        require_shape(alpha, n, lanes, "alpha");
        require_shape(w, handle.weights(), lanes, "w");
        require_length(norms, n, "squared_norms");
        require_length(gaps, lanes, "gaps");
        if (active_count < 0 || active_count > static_cast<std::int64_t>(active.shape(0)) ||
            static_cast<std::int64_t>(active.shape(0)) > n) {
          throw std::invalid_argument("active set out of range");
        }
        if (begin < 0 || block_count(active_count) > static_cast<std::int64_t>(blocks.shape(0))) {
          throw std::invalid_argument("blocks do not cover the active set");
        }
        if (lanes != 4 && lanes != 8) {
          throw std::invalid_argument("a sweep serves four or eight lanes");
        }
        nb::gil_scoped_release release;
        const StackedData data{signed_cost.data(), C, norms.data()};
        DualIterate iterate{alpha.data(), w.data(), active.data(), active_count, 0.0};
        return std::visit(
            [&](const auto& rows) {
              return with_smooth_loss(loss, [&](auto kind) {
                const auto sweep =
                    lanes == 4
                        ? &stacked_dual_sweep<decltype(kind), 4, std::decay_t<decltype(rows)>>
                        : &stacked_dual_sweep<decltype(kind), 8, std::decay_t<decltype(rows)>>;
                return sweep(rows, data, iterate, negligible, blocks.data(), begin, budget, seed,
                             gaps.data());
              });
            },
            handle.view);
      },
      nb::arg("rows"), nb::arg("loss"), nb::arg("signed_cost"), nb::arg("C"),
      nb::arg("squared_norms"), nb::arg("alpha").noconvert(), nb::arg("w").noconvert(),
      nb::arg("active").noconvert(), nb::arg("active_count"), nb::arg("negligible"),
      nb::arg("blocks"), nb::arg("begin"), nb::arg("budget"), nb::arg("seed"),
      nb::arg("gaps").noconvert());
}

}  // namespace widemargin
