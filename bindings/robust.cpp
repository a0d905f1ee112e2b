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

  m.def(
      "robust_sweep",
      [](const RowsHandle& handle, const std::string& method, double norm, Vector y, Vector weights,
         double radius, double label_cost, double l2, bool intercept, MutableVector w, double b,
         double price, MutableVector sum_w, MutableVector totals, MutableVector keep,
         MutableVector flip, double weight, double ramp, IndexVector order, std::int64_t begin,
         std::int64_t end, std::int64_t batch, double step) {
        const std::int64_t n = handle.count();
        require_length(y, n, "y");
        require_length(weights, n, "weights");
        require_length(keep, n, "keep");
        require_length(flip, n, "flip");
        require_length(w, handle.weights(), "w");
        require_length(sum_w, handle.weights(), "sum_w");
        require_length(totals, 3, "totals");
        require_range(begin, end, static_cast<std::int64_t>(order.shape(0)));
        if (batch < 1) throw std::invalid_argument("batch must be positive");
        const RobustTerms terms{y.data(), weights.data(),
                                radius,   label_cost,
                                l2,       std::isfinite(label_cost) && radius > 0.0,
                                intercept};
        RobustIterate at{w.data(), handle.weights(), b, price};
        RobustSums sums{sum_w.data(), totals.data()[0], totals.data()[1], totals.data()[2],
                        keep.data(),  flip.data(),      weight,           ramp};
        {
          nb::gil_scoped_release release;
          std::visit(
              [&](const auto& rows) {
                with_norm(norm, [&](auto kind) {
                  using Norm = decltype(kind);
                  if (method == "isg") {
                    isg_sweep<Norm>(rows, terms, at, sums, order.data(), begin, end, batch, step);
                  } else if constexpr (std::is_same_v<Norm, NormTwo>) {
                    ippa_sweep_round(rows, terms, at, sums, order.data(), begin, end, batch, step);
                  } else {
                    ippa_sweep<Norm>(rows, terms, at, sums, order.data(), begin, end, batch, step);
                  }
                });
              },
              handle.view);
        }
        totals.data()[0] = sums.b;
        totals.data()[1] = sums.price;
        totals.data()[2] = sums.total;
        return std::tuple(at.b, at.price, sums.weight);
      },
      nb::arg("rows"), nb::arg("method"), nb::arg("norm"), nb::arg("y"), nb::arg("weights"),
      nb::arg("radius"), nb::arg("label_cost"), nb::arg("l2"), nb::arg("intercept"),
      nb::arg("w").noconvert(), nb::arg("b"), nb::arg("price"), nb::arg("sum_w").noconvert(),
      nb::arg("totals").noconvert(), nb::arg("keep").noconvert(), nb::arg("flip").noconvert(),
      nb::arg("weight"), nb::arg("ramp"), nb::arg("order"), nb::arg("begin"), nb::arg("end"),
      nb::arg("batch"), nb::arg("step"));
}

}  // namespace widemargin
