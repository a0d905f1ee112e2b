#include "sweeps/frank_wolfe.hpp"

#include "arrays.hpp"

namespace widemargin {
namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

FrankWolfeStep step_of(const std::string& name) {
  if (name == "oblivious") return FrankWolfeStep::oblivious;
  if (name == "exact") return FrankWolfeStep::exact;
  if (name == "away") return FrankWolfeStep::away;
  if (name == "pairwise") return FrankWolfeStep::pairwise;
  throw std::invalid_argument("unknown step '" + name + "'");
}

template <class Array>
void require_shape(const Array& array, std::int64_t rows, std::int64_t columns, const char* name) {
  require_length(array, rows, name);
  if (static_cast<std::int64_t>(array.shape(1)) != columns) {
    throw std::invalid_argument(std::string(name) + " has the wrong number of columns");
  }
}

void require_places(const IndexVector& order, std::int64_t begin, std::int64_t end,
                    std::int64_t count, const IndexVector& labels, std::int64_t classes) {
  require_range(begin, end, static_cast<std::int64_t>(order.shape(0)));
  require_length(labels, count, "labels");
  for (std::int64_t k = begin; k < end; ++k) {
    require_range(order(k), order(k) + 1, count);
    require_range(labels(order(k)), labels(order(k)) + 1, classes);
  }
}

}  // namespace

void register_frank_wolfe(nb::module_& m) {
  m.def(
      "kernel_frank_wolfe",
      [](Matrix kernel, bool whole, IndexVector labels, Vector cost, bool joint,
         const std::string& step, double steps_done, int repeats, IndexVector order,
         std::int64_t begin, std::int64_t end, MutableMatrix beta, MutableMatrix scores) {
        const auto count = static_cast<std::int64_t>(kernel.shape(1));
        const auto classes = static_cast<std::int64_t>(beta.shape(1));
        require_length(kernel, whole ? count : end - begin, "kernel");
        require_length(cost, count, "cost");
        require_shape(beta, count, classes, "beta");
        require_shape(scores, count, classes, "scores");
        require_places(order, begin, end, count, labels, classes);
        const FrankWolfeSettings settings{step_of(step), static_cast<double>(count), steps_done,
                                          repeats};
        auto sweep = joint ? kernel_frank_wolfe<true> : kernel_frank_wolfe<false>;
        nb::gil_scoped_release release;
        return sweep(kernel.data(), whole, count, labels.data(), cost.data(), classes, settings,
                     order.data(), begin, end, beta.data(), scores.data());
      },
      nb::arg("kernel"), nb::arg("whole"), nb::arg("labels"), nb::arg("cost"), nb::arg("joint"),
      nb::arg("step"), nb::arg("steps_done"), nb::arg("repeats"), nb::arg("order"),
      nb::arg("begin"), nb::arg("end"), nb::arg("beta").noconvert(), nb::arg("scores").noconvert());
  m.def(
      "linear_frank_wolfe",
      [](const RowsHandle& handle, Vector norms, IndexVector labels, Vector cost, bool joint,
         const std::string& step, double steps_done, int repeats, IndexVector order,
         std::int64_t begin, std::int64_t end, MutableMatrix beta, MutableMatrix weights) {
        const std::int64_t count = handle.count();
        const auto classes = static_cast<std::int64_t>(beta.shape(1));
        require_length(norms, count, "norms");
        require_length(cost, count, "cost");
        require_shape(beta, count, classes, "beta");
        require_shape(weights, handle.weights(), classes, "weights");
        require_places(order, begin, end, count, labels, classes);
        const FrankWolfeSettings settings{step_of(step), static_cast<double>(count), steps_done,
                                          repeats};
        nb::gil_scoped_release release;
        return std::visit(
            [&](const auto& rows) {
              using Rows = std::decay_t<decltype(rows)>;
              auto sweep = joint ? linear_frank_wolfe<true, Rows> : linear_frank_wolfe<false, Rows>;
              return sweep(rows, norms.data(), labels.data(), cost.data(), classes, settings,
                           order.data(), begin, end, beta.data(), weights.data());
            },
            handle.view);
      },
      nb::arg("rows"), nb::arg("norms"), nb::arg("labels"), nb::arg("cost"), nb::arg("joint"),
      nb::arg("step"), nb::arg("steps_done"), nb::arg("repeats"), nb::arg("order"),
      nb::arg("begin"), nb::arg("end"), nb::arg("beta").noconvert(),
      nb::arg("weights").noconvert());
  m.def(
      "frank_wolfe_corners",
      [](Matrix scores, IndexVector labels, Vector cost, bool joint, Matrix beta,
         MutableMatrix corners) {
        const auto count = static_cast<std::int64_t>(scores.shape(0));
        const auto classes = static_cast<std::int64_t>(scores.shape(1));
        require_length(labels, count, "labels");
        require_length(cost, count, "cost");
        require_shape(beta, count, classes, "beta");
        require_shape(corners, count, classes, "corners");
        for (std::int64_t i = 0; i < count; ++i) require_range(labels(i), labels(i) + 1, classes);
        auto find = joint ? frank_wolfe_corners<true> : frank_wolfe_corners<false>;
        nb::gil_scoped_release release;
        return find(scores.data(), labels.data(), cost.data(), count, classes, beta.data(),
                    corners.data());
      },
      nb::arg("scores"), nb::arg("labels"), nb::arg("cost"), nb::arg("joint"), nb::arg("beta"),
      nb::arg("corners").noconvert());
}

}  // namespace widemargin
