// Python's `MultinomialCore` and `MultinomialSweeps`. No mathematics here.
#include "kernels/multinomial_passes.hpp"
#include "multiclass_core.hpp"
#include "sweeps/multinomial_dual_cd.hpp"
#include "sweeps/multinomial_newton_step.hpp"

namespace widemargin {
namespace {

// The data of a multinomial problem, checked once, and the loops over them. Matrices over the
// examples have a column for each class, padded to whole vectors.
class MultinomialCore {
 public:
  MultinomialCore(const RowsHandle& rows, Labels label, Vector cost, std::int64_t classes)
      : rows_(rows), label_(std::move(label)), cost_(std::move(cost)) {
    if (classes < 2) throw std::invalid_argument("there must be two classes at least");
    require_labels(label_, rows.count(), classes);
    require_length(cost_, rows.count(), "cost");
    data_ = {label_.data(), cost_.data(), classes, rows.weights()};
  }

  const MultinomialData& data() const { return data_; }
  std::int64_t count() const { return rows_.count(); }

  template <class Array>
  void require_examples(const Array& matrix, const char* name) const {
    require_shape(matrix, count(), data_.stride(), name);
  }
  template <class Visit>
  auto visit(Visit&& visit) const {
    return std::visit(visit, rows_.view);
  }

  void scores(Matrix weights, Vector start, MutableMatrix out, std::int64_t begin,
              std::int64_t end) const {
    require_weights(weights, data_.features, data_.classes);
    require_length(start, data_.stride(), "start");
    require_examples(out, "out");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      multinomial_scores(rows, data_, weights.data(), start.data(), out.data(), begin, end);
    });
  }

  double terms(Matrix scores, MutableMatrix duals, std::int64_t begin, std::int64_t end) const {
    require_examples(scores, "scores");
    require_examples(duals, "duals");
    require_range(begin, end, count());
    if (scores.data() == duals.data()) {
      throw std::invalid_argument("dual variables cannot be written over scores");
    }
    nb::gil_scoped_release release;
    return multinomial_all_terms(data_, scores.data(), duals.data(), begin, end);
  }

  void combine(Matrix duals, MutableMatrix combination, MutableVector residual, std::int64_t begin,
               std::int64_t end) const {
    require_examples(duals, "duals");
    require_weights(combination, data_.features, data_.classes);
    require_length(residual, data_.stride(), "residual");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      multinomial_combine(rows, data_, duals.data(), combination.data(), residual.data(), begin,
                          end);
    });
  }

  // Losses at the weights, and the combination of given dual variables, from one pass.
  double losses(Matrix weights, Vector start, Matrix duals, MutableMatrix combination,
                MutableVector residual, std::int64_t begin, std::int64_t end) const {
    require_weights(weights, data_.features, data_.classes);
    require_weights(combination, data_.features, data_.classes);
    require_length(start, data_.stride(), "start");
    require_length(residual, data_.stride(), "residual");
    require_examples(duals, "duals");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    return visit([&](const auto& rows) {
      return multinomial_losses(rows, data_, weights.data(), start.data(), duals.data(),
                                combination.data(), residual.data(), begin, end);
    });
  }

  void product(Matrix duals, Matrix direction, Vector start, MutableMatrix image,
               MutableVector share, std::int64_t begin, std::int64_t end) const {
    require_examples(duals, "duals");
    require_weights(direction, data_.features, data_.classes);
    require_weights(image, data_.features, data_.classes);
    require_length(start, data_.stride(), "start");
    require_length(share, data_.stride(), "share");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      multinomial_product(rows, data_, duals.data(), direction.data(), start.data(), image.data(),
                          share.data(), begin, end);
    });
  }

  std::tuple<double, double> derivatives(Matrix scores, Matrix slopes, double t, std::int64_t begin,
                                         std::int64_t end) const {
    require_examples(scores, "scores");
    require_examples(slopes, "slopes");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    return multinomial_derivatives_along(data_, scores.data(), slopes.data(), t, begin, end);
  }

  MultinomialStep newton_step(bool free, MutableMatrix weights, MutableMatrix scores,
                              MutableMatrix duals, MutableMatrix gradient, double enough) const {
    require_shape(weights, data_.features + free, data_.stride(), "weights");
    require_shape(gradient, data_.features + free, data_.stride(), "gradient");
    require_examples(scores, "scores");
    require_examples(duals, "duals");
    const MultinomialPoint at{weights.data(), scores.data(), duals.data(), gradient.data(), free};
    nb::gil_scoped_release release;
    return visit(
        [&](const auto& rows) { return multinomial_newton_step(rows, data_, at, enough); });
  }

  void feasible(MutableMatrix duals, std::int64_t begin, std::int64_t end) const {
    require_examples(duals, "duals");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    const std::int64_t stride = data_.stride();
    for (std::int64_t i = begin; i < end; ++i) {
      multinomial_feasible(duals.data() + i * stride, data_.label[i], data_.cost[i], data_.classes,
                           stride);
    }
  }

  double entropy(Matrix duals, std::int64_t begin, std::int64_t end) const {
    require_examples(duals, "duals");
    require_range(begin, end, count());
    nb::gil_scoped_release release;
    const std::int64_t stride = data_.stride();
    double total = 0.0;
    for (std::int64_t i = begin; i < end; ++i) {
      total += multinomial_entropy(duals.data() + i * stride, data_.cost[i], stride);
    }
    return total;
  }

 private:
  RowsHandle rows_;
  Labels label_;
  Vector cost_;
  MultinomialData data_;
};

// A run of block dual descent: it works on its arrays in place.
class MultinomialSweeps {
 public:
  MultinomialSweeps(const MultinomialCore& core, Vector norms, MutableMatrix duals,
                    MutableMatrix weights, MutableVector residual, Vector b, double rho)
      : core_(core),
        norms_(std::move(norms)),
        duals_(std::move(duals)),
        weights_(std::move(weights)),
        residual_(std::move(residual)),
        b_(std::move(b)) {
    const MultinomialData& data = core_.data();
    core_.require_examples(duals_, "duals");
    require_length(norms_, core_.count(), "squared_norms");
    require_weights(weights_, data.features, data.classes);
    require_length(residual_, data.stride(), "residual");
    require_length(b_, data.stride(), "b");
    iterate_ = {duals_.data(), weights_.data(), residual_.data(), b_.data(), norms_.data(), rho};
    // An example without cost has no say; one without features and intercept moves nothing.
    sweep_.active.open(core_.count(), [&](std::int64_t i) {
      return data.cost[i] > 0.0 && norms_.data()[i] + rho > 0.0;
    });
  }

  void begin(std::uint64_t seed) {
    nb::gil_scoped_release release;
    sweep_.begin(seed);
  }
  bool sweep(std::int64_t budget) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return multinomial_sweep(rows, core_.data(), iterate_, sweep_, budget);
    });
  }
  std::int64_t active() const { return sweep_.active.count; }
  double gap() const { return sweep_.report.gap; }
  double losses() const { return sweep_.losses; }

 private:
  MultinomialCore core_;
  Vector norms_;
  MutableMatrix duals_, weights_;
  MutableVector residual_;
  Vector b_;
  MultinomialIterate iterate_;
  MultinomialSweep sweep_;
};

}  // namespace

void register_multinomial(nb::module_& m) {
  nb::class_<MultinomialStep>(m, "MultinomialStep")
      .def_ro("solved", &MultinomialStep::solved)
      .def_ro("at_zero", &MultinomialStep::at_zero)
      .def_ro("primal", &MultinomialStep::primal)
      .def_ro("gap", &MultinomialStep::gap);
  nb::class_<MultinomialCore>(m, "MultinomialCore")
      .def(nb::init<const RowsHandle&, Labels, Vector, std::int64_t>(), nb::arg("rows"),
           nb::arg("label").noconvert(), nb::arg("cost").noconvert(), nb::arg("classes"))
      .def("scores", &MultinomialCore::scores, nb::arg("weights"), nb::arg("start"),
           nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def("terms", &MultinomialCore::terms, nb::arg("scores"), nb::arg("duals").noconvert(),
           nb::arg("begin"), nb::arg("end"))
      .def("combine", &MultinomialCore::combine, nb::arg("duals"),
           nb::arg("combination").noconvert(), nb::arg("residual").noconvert(), nb::arg("begin"),
           nb::arg("end"))
      .def("losses", &MultinomialCore::losses, nb::arg("weights"), nb::arg("start"),
           nb::arg("duals"), nb::arg("combination").noconvert(), nb::arg("residual").noconvert(),
           nb::arg("begin"), nb::arg("end"))
      .def("product", &MultinomialCore::product, nb::arg("duals"), nb::arg("direction"),
           nb::arg("start"), nb::arg("image").noconvert(), nb::arg("share").noconvert(),
           nb::arg("begin"), nb::arg("end"))
      .def("derivatives", &MultinomialCore::derivatives, nb::arg("scores"), nb::arg("slopes"),
           nb::arg("t"), nb::arg("begin"), nb::arg("end"))
      .def("newton_step", &MultinomialCore::newton_step, nb::arg("free"),
           nb::arg("weights").noconvert(), nb::arg("scores").noconvert(),
           nb::arg("duals").noconvert(), nb::arg("gradient").noconvert(), nb::arg("enough"))
      .def("feasible", &MultinomialCore::feasible, nb::arg("duals").noconvert(), nb::arg("begin"),
           nb::arg("end"))
      .def("entropy", &MultinomialCore::entropy, nb::arg("duals"), nb::arg("begin"),
           nb::arg("end"));
  nb::class_<MultinomialSweeps>(m, "MultinomialSweeps")
      .def(nb::init<const MultinomialCore&, Vector, MutableMatrix, MutableMatrix, MutableVector,
                    Vector, double>(),
           nb::arg("core"), nb::arg("squared_norms").noconvert(), nb::arg("duals").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
           nb::arg("b").noconvert(), nb::arg("rho"))
      .def("begin", &MultinomialSweeps::begin, nb::arg("seed"))
      .def("sweep", &MultinomialSweeps::sweep, nb::arg("budget"))
      .def_prop_ro("active", &MultinomialSweeps::active)
      .def_prop_ro("gap", &MultinomialSweeps::gap)
      .def_prop_ro("losses", &MultinomialSweeps::losses);
}

}  // namespace widemargin
