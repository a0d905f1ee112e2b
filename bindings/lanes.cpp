#include <nanobind/stl/optional.h>

#include "arrays.hpp"
#include "kernels/lane_products.hpp"
#include "sweeps/lane_dual_cd.hpp"

namespace widemargin {
namespace {

// The number of lanes of a matrix, which must have `lines` lines.
template <class Array>
std::int64_t require_lanes(const Array& matrix, std::int64_t lines, const char* name) {
  require_length(matrix, lines, name);
  const auto lanes = static_cast<std::int64_t>(matrix.shape(1));
  if (lanes == 0 || lanes % lane_step != 0) {
    throw std::invalid_argument(std::string(name) + " must have a multiple of four lanes");
  }
  return lanes;
}

// Python's `LanesCore`: the data of problems side by side, checked once.
class LanesCore {
 public:
  LanesCore(const RowsHandle& rows, const std::string& loss, Matrix signed_cost, double C,
            int threads)
      : rows_(rows), loss_(loss_named(loss)), signed_cost_(std::move(signed_cost)) {
    const std::int64_t lanes = require_lanes(signed_cost_, rows.count(), "signed_cost");
    data_ = {signed_cost_.data(), C, rows.count(), lanes, threads};
  }

  const LaneExamples& data() const { return data_; }
  std::int64_t weights() const { return rows_.weights(); }

  // A matrix with a line an example.
  template <class Array>
  auto over_examples(const Array& matrix, const char* name) const {
    require_shape(matrix, data_.count, data_.lanes, name);
    return matrix.data();
  }
  const double* over_lanes(const Vector& vector, const char* name) const {
    require_length(vector, data_.lanes, name);
    return vector.data();
  }

  template <class Visit>
  auto visit(Visit&& visit) const {
    return with_smooth_loss(loss_, visit);
  }
  template <class Visit>
  auto visit_rows(Visit&& visit) const {
    return std::visit(visit, rows_.view);
  }

  void terms(const LaneLine& line, const std::optional<MutableMatrix>& alpha,
             const std::optional<MutableMatrix>& curvature, const MutableMatrix& totals) const {
    if (alpha.has_value() != curvature.has_value()) {
      throw std::invalid_argument("alpha and curvature come together");
    }
    double* duals = alpha ? over_examples(*alpha, "alpha") : nullptr;
    double* bends = curvature ? over_examples(*curvature, "curvature") : nullptr;
    require_shape(totals, 3, data_.lanes, "totals");
    nb::gil_scoped_release release;
    visit([&](auto loss) { lane_terms<decltype(loss)>(data_, line, duals, bends, totals.data()); });
  }

 private:
  RowsHandle rows_;
  AnyLoss loss_;
  Matrix signed_cost_;
  LaneExamples data_;
};

// Python's `LaneSweeps`: a run of dual coordinate descent on all lanes together.
class LaneSweeps {
 public:
  LaneSweeps(const LanesCore& core, Vector norms, MutableMatrix alpha, MutableMatrix w)
      : core_(core), norms_(std::move(norms)), alpha_(std::move(alpha)), w_(std::move(w)) {
    const LaneExamples& data = core.data();
    if (data.lanes != 4 && data.lanes != 8) {
      throw std::invalid_argument("a sweep serves four or eight lanes");
    }
    require_length(norms_, data.count, "squared_norms");
    require_shape(w_, core.weights(), data.lanes, "w");
    iterate_ = {core.over_examples(alpha_, "alpha"), w_.data(), norms_.data(), {}};
    open();
  }

  std::int64_t active() const { return iterate_.active.count; }

  // Those that take part in some lane.
  void open() {
    const auto [cost, C, count, lanes, threads] = core_.data();
    iterate_.active.open(count, [cost = cost, lanes = lanes](std::int64_t i) {
      const double* of = cost + i * lanes;
      return std::any_of(of, of + lanes, [](double c) { return c != 0.0; });
    });
  }

  void begin(std::uint64_t seed) {
    nb::gil_scoped_release release;
    iterate_.active.begin_sweep(seed, seed);
  }

  bool sweep(double negligible, std::int64_t budget, MutableVector gaps) {
    const LaneExamples& data = core_.data();
    require_length(gaps, data.lanes, "gaps");
    nb::gil_scoped_release release;
    return core_.visit_rows([&](const auto& rows) {
      return core_.visit([&](auto loss) {
        using Rows = std::decay_t<decltype(rows)>;
        const auto go = data.lanes == 4 ? &lane_sweep<decltype(loss), 4, Rows>
                                        : &lane_sweep<decltype(loss), 8, Rows>;
        return go(rows, data, iterate_, negligible, budget, gaps.data());
      });
    });
  }

 private:
  LanesCore core_;
  Vector norms_;
  MutableMatrix alpha_, w_;
  LaneIterate iterate_;
};

}  // namespace

void register_lanes(nb::module_& m, nb::class_<RowsHandle>& rows) {
  rows.def(
          "lane_scores",
          [](const RowsHandle& handle, Matrix matrix, MutableMatrix out, std::int64_t begin,
             std::int64_t end, int threads) {
            const std::int64_t lanes = require_lanes(matrix, handle.weights(), "matrix");
            require_shape(out, handle.count(), lanes, "out");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  lane_scores(r, matrix.data(), lanes, out.data(), begin, end, threads);
                },
                handle.view);
          },
          nb::arg("matrix"), nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"),
          nb::arg("threads"))
      .def(
          "lane_accumulate",
          [](const RowsHandle& handle, Matrix coefficients, MutableMatrix sum, std::int64_t begin,
             std::int64_t end, int threads) {
            const std::int64_t lanes = require_lanes(coefficients, handle.count(), "coefficients");
            require_shape(sum, handle.weights(), lanes, "sum");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  lane_accumulate(r, coefficients.data(), lanes, sum.data(), begin, end, threads);
                },
                handle.view);
          },
          nb::arg("coefficients"), nb::arg("sum").noconvert(), nb::arg("begin"), nb::arg("end"),
          nb::arg("threads"))
      .def(
          "lane_curvature_product",
          [](const RowsHandle& handle, Matrix curvature, Matrix direction, Vector shift,
             MutableMatrix sum, std::int64_t begin, std::int64_t end, int threads) {
            const std::int64_t lanes = require_lanes(curvature, handle.count(), "curvature");
            require_shape(direction, handle.weights(), lanes, "direction");
            require_shape(sum, handle.weights() + 1, lanes, "sum");
            require_length(shift, lanes, "shift");
            require_range(begin, end, handle.count());
            nb::gil_scoped_release release;
            std::visit(
                [&](const auto& r) {
                  lane_curvature_product(r, curvature.data(), direction.data(), shift.data(), lanes,
                                         sum.data(), begin, end, threads);
                },
                handle.view);
          },
          nb::arg("curvature"), nb::arg("direction"), nb::arg("shift"), nb::arg("sum").noconvert(),
          nb::arg("begin"), nb::arg("end"), nb::arg("threads"));

  m.def(
      "lane_squares",
      [](Matrix matrix, MutableVector out) {
        const auto lines = static_cast<std::int64_t>(matrix.shape(0));
        const std::int64_t lanes = require_lanes(matrix, lines, "matrix");
        require_length(out, lanes, "out");
        nb::gil_scoped_release release;
        lane_squares(matrix.data(), lines, lanes, out.data());
      },
      nb::arg("matrix"), nb::arg("out").noconvert());
  nb::class_<LanesCore>(m, "LanesCore")
      .def(nb::init<const RowsHandle&, const std::string&, Matrix, double, int>(), nb::arg("rows"),
           nb::arg("loss"), nb::arg("signed_cost").noconvert(), nb::arg("C"), nb::arg("threads"))
      .def(
          "terms",
          [](const LanesCore& core, Matrix scores, Vector b, std::optional<MutableMatrix> alpha,
             std::optional<MutableMatrix> curvature, MutableMatrix totals) {
            const LaneLine line{core.over_examples(scores, "scores"), core.over_lanes(b, "b"),
                                nullptr, nullptr, nullptr};
            core.terms(line, alpha, curvature, totals);
          },
          nb::arg("scores"), nb::arg("b"), nb::arg("alpha").none().noconvert(),
          nb::arg("curvature").none().noconvert(), nb::arg("totals").noconvert())
      .def(
          "terms_along",
          [](const LanesCore& core, Matrix scores, Vector b, Matrix slopes, Vector slope_b,
             Vector t, std::optional<MutableMatrix> alpha, std::optional<MutableMatrix> curvature,
             MutableMatrix totals) {
            const LaneLine line{core.over_examples(scores, "scores"), core.over_lanes(b, "b"),
                                core.over_examples(slopes, "slopes"),
                                core.over_lanes(slope_b, "slope_b"), core.over_lanes(t, "t")};
            core.terms(line, alpha, curvature, totals);
          },
          nb::arg("scores"), nb::arg("b"), nb::arg("slopes"), nb::arg("slope_b"), nb::arg("t"),
          nb::arg("alpha").none().noconvert(), nb::arg("curvature").none().noconvert(),
          nb::arg("totals").noconvert())
      .def(
          "linear_dual",
          [](const LanesCore& core, Matrix alpha, Matrix curvature, Matrix slopes, Vector slope_b,
             MutableMatrix out) {
            const double* duals = core.over_examples(alpha, "alpha");
            const double* bends = core.over_examples(curvature, "curvature");
            const double* along = core.over_examples(slopes, "slopes");
            const double* shift = core.over_lanes(slope_b, "slope_b");
            double* to = core.over_examples(out, "out");
            nb::gil_scoped_release release;
            core.visit([&](auto loss) {
              lane_linear_dual<decltype(loss)>(core.data(), duals, bends, along, shift, to);
            });
          },
          nb::arg("alpha"), nb::arg("curvature"), nb::arg("slopes"), nb::arg("slope_b"),
          nb::arg("out").noconvert())
      .def(
          "dual_sums",
          [](const LanesCore& core, std::optional<Matrix> scale, MutableMatrix alpha,
             MutableMatrix totals) {
            double* duals = core.over_examples(alpha, "alpha");
            require_shape(totals, 4, core.data().lanes, "totals");
            if (scale) require_shape(*scale, 2, core.data().lanes, "scale");
            nb::gil_scoped_release release;
            core.visit([&](auto loss) {
              lane_dual_sums<decltype(loss)>(core.data(), scale ? scale->data() : nullptr, duals,
                                             totals.data());
            });
          },
          nb::arg("scale").none(), nb::arg("alpha").noconvert(), nb::arg("totals").noconvert());
  nb::class_<LaneSweeps>(m, "LaneSweeps")
      .def(nb::init<const LanesCore&, Vector, MutableMatrix, MutableMatrix>(), nb::arg("core"),
           nb::arg("squared_norms").noconvert(), nb::arg("alpha").noconvert(),
           nb::arg("w").noconvert())
      .def_prop_ro("active", &LaneSweeps::active)
      .def("open", &LaneSweeps::open)
      .def("begin", &LaneSweeps::begin, nb::arg("seed"))
      .def("sweep", &LaneSweeps::sweep, nb::arg("negligible"), nb::arg("blocks"),
           nb::arg("gaps").noconvert());
}

}  // namespace widemargin
