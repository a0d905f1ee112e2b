#include "arrays.hpp"
#include "projections/epigraph.hpp"
#include "projections/robust_prox.hpp"
#include "sweeps/robust_sweeps.hpp"

namespace widemargin {
namespace {

template <class Visit>
auto with_norm(double norm, Visit&& visit) {
  if (norm == 1.0) return visit(NormOne{});
  if (norm == 2.0) return visit(NormTwo{});
  if (std::isinf(norm) && norm > 0.0) return visit(NormInfinity{});
  throw std::invalid_argument("norm must be 1, 2 or infinity");
}

// A dense vector as the row of a proximal step.
struct DenseRow {
  const double* values;
  std::int64_t count;
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::int64_t j = 0; j < count; ++j) visit(j, values[j]);
  }
};

template <class Norm>
std::tuple<double, double, double, int> prox_step(Norm, MutableVector& w, double price,
                                                  const Vector& z, double pull, double label_cost,
                                                  double offset, double aperture) {
  const auto d = static_cast<std::int64_t>(w.shape(0));
  const bool flips = std::isfinite(label_cost);
  const ProxTerms terms{pull, price, label_cost, offset, flips};
  auto start = [&](const ProxAnswer& a) {
    return flips ? price + pull * label_cost * a.flip : price;
  };
  if constexpr (std::is_same_v<Norm, NormTwo>) {
    double squared = 0.0, score = 0.0, own = 0.0;
    for (std::int64_t j = 0; j < d; ++j) {
      squared += w.data()[j] * w.data()[j];
      score += w.data()[j] * z.data()[j];
      own += z.data()[j] * z.data()[j];
    }
    RoundImage image{squared, score, own, aperture};
    const ProxAnswer a = robust_prox(image, terms);
    const double tau = pull * (a.keep - a.flip);
    const auto to = image.shrink(tau, start(a));
    for (std::int64_t j = 0; j < d; ++j) {
      w.data()[j] = to.factor * (w.data()[j] + tau * z.data()[j]);
    }
    return {to.price, a.keep, a.flip, static_cast<int>(a.which)};
  } else {
    const DenseRow row{z.data(), d};
    SparseImage<Norm, DenseRow> image{w.data(), d, row, aperture};
    const ProxAnswer a = robust_prox(image, terms);
    image.go(pull * (a.keep - a.flip));
    const auto to = image.press(start(a));
    for (std::int64_t j = 0; j < d; ++j) w.data()[j] = image.pressed(w.data()[j], to.level);
    return {to.price, a.keep, a.flip, static_cast<int>(a.which)};
  }
}

// Python's `RobustCore`: the data of a robust problem, checked once.
class RobustCore {
 public:
  RobustCore(const RowsHandle& rows, double norm, Vector y, Vector weights, double radius,
             double label_cost, double l2, bool intercept)
      : rows(rows), norm(norm), y_(std::move(y)), weights_(std::move(weights)) {
    require_length(y_, rows.count(), "y");
    require_length(weights_, rows.count(), "weights");
    const bool flips = std::isfinite(label_cost) && radius > 0.0;
    terms = {y_.data(), weights_.data(), radius, label_cost, l2, flips, intercept};
  }

  RowsHandle rows;
  double norm;
  RobustTerms terms;

 private:
  Vector y_, weights_;
};

// Python's `RobustStage`: sweeps over the examples in one order, and the sums over their steps.
class RobustStage {
 public:
  RobustStage(const RobustCore& core, IndexVector order, MutableVector w, double b, double price,
              MutableVector sum_w, MutableMatrix alpha)
      : core_(core),
        order_(std::move(order)),
        w_(std::move(w)),
        sum_w_(std::move(sum_w)),
        alpha_(std::move(alpha)) {
    const std::int64_t n = core.rows.count();
    require_length(order_, n, "order");
    require_indices(order_, n, "order");
    require_length(w_, core.rows.weights(), "w");
    require_length(sum_w_, core.rows.weights(), "sum_w");
    require_shape(alpha_, 2, n, "alpha");
    at_ = {w_.data(), core.rows.weights(), b, price};
    sums_ = {sum_w_.data(), 0.0, 0.0, 0.0, alpha_.data(), alpha_.data() + n, 0.0, 0.0};
  }

  const RobustIterate& at() const { return at_; }
  const RobustSums& sums() const { return sums_; }

  void sweep(const std::string& method, std::int64_t begin, std::int64_t end, std::int64_t batch,
             std::int64_t together, double step, double ramp) {
    require_range(begin, end, core_.rows.count());
    if (batch < 1 || together < 1) throw std::invalid_argument("batches must be positive");
    sums_.ramp = ramp;
    const RobustPlaces places{order_.data(), begin, end, batch, together};
    nb::gil_scoped_release release;
    std::visit(
        [&](const auto& rows) {
          with_norm(core_.norm, [&](auto kind) {
            using Norm = decltype(kind);
            if (method == "isg") {
              isg_sweep<Norm>(rows, core_.terms, at_, sums_, places, step);
            } else if constexpr (std::is_same_v<Norm, NormTwo>) {
              ippa_sweep_round(rows, core_.terms, at_, sums_, places, step);
            } else {
              ippa_sweep<Norm>(rows, core_.terms, at_, sums_, places, step);
            }
          });
        },
        core_.rows.view);
  }

 private:
  RobustCore core_;
  IndexVector order_;
  MutableVector w_, sum_w_;
  MutableMatrix alpha_;
  RobustIterate at_;
  RobustSums sums_;
};

}  // namespace

void register_robust(nb::module_& m) {
  m.def(
      "project_epigraph",
      [](MutableVector x, double s, double norm, double aperture) {
        const auto d = static_cast<std::int64_t>(x.shape(0));
        nb::gil_scoped_release release;
        std::vector<double> scratch;
        return with_norm(norm, [&](auto kind) {
          return project_epigraph(kind, x.data(), d, s, aperture, scratch);
        });
      },
      nb::arg("x").noconvert(), nb::arg("s"), nb::arg("norm"), nb::arg("aperture"));

  m.def(
      "threshold",
      [](MutableVector values, double offset, double slope) {
        const auto d = static_cast<std::int64_t>(values.shape(0));
        nb::gil_scoped_release release;
        return threshold(values.data(), d, offset, slope);
      },
      nb::arg("values").noconvert(), nb::arg("offset"), nb::arg("slope"));

  m.def(
      "robust_prox",
      [](MutableVector w, double price, Vector z, double pull, double label_cost, double offset,
         double norm, double aperture) {
        require_length(z, static_cast<std::int64_t>(w.shape(0)), "z");
        return with_norm(norm, [&](auto kind) {
          return prox_step(kind, w, price, z, pull, label_cost, offset, aperture);
        });
      },
      nb::arg("w").noconvert(), nb::arg("price"), nb::arg("z"), nb::arg("pull"),
      nb::arg("label_cost"), nb::arg("offset"), nb::arg("norm"), nb::arg("aperture"));

  nb::class_<RobustCore>(m, "RobustCore")
      .def(nb::init<const RowsHandle&, double, Vector, Vector, double, double, double, bool>(),
           nb::arg("rows"), nb::arg("norm"), nb::arg("y").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("radius"), nb::arg("label_cost"), nb::arg("l2"),
           nb::arg("intercept"));
  nb::class_<RobustStage>(m, "RobustStage")
      .def(nb::init<const RobustCore&, IndexVector, MutableVector, double, double, MutableVector,
                    MutableMatrix>(),
           nb::arg("core"), nb::arg("order").noconvert(), nb::arg("w").noconvert(), nb::arg("b"),
           nb::arg("price"), nb::arg("sum_w").noconvert(), nb::arg("alpha").noconvert())
      .def_prop_ro("b", [](const RobustStage& stage) { return stage.at().b; })
      .def_prop_ro("price", [](const RobustStage& stage) { return stage.at().price; })
      .def_prop_ro("total", [](const RobustStage& stage) { return stage.sums().total; })
      .def_prop_ro("sum_b", [](const RobustStage& stage) { return stage.sums().b; })
      .def_prop_ro("sum_price", [](const RobustStage& stage) { return stage.sums().price; })
      .def("sweep", &RobustStage::sweep, nb::arg("method"), nb::arg("begin"), nb::arg("end"),
           nb::arg("batch"), nb::arg("together"), nb::arg("step"), nb::arg("ramp"));
}

}  // namespace widemargin
