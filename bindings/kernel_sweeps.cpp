#include <nanobind/stl/vector.h>

#include "kernel_source.hpp"
#include "sweeps/kernel_descent.hpp"

namespace widemargin {
namespace {

// Python's `KernelDescent`: the descent of one problem, with rows of K in one precision.
template <class Real>
class Descent {
 public:
  Descent(Vector y, Vector upper, Vector shift, Vector diagonal, bool equality,
          std::tuple<std::int64_t, std::int64_t, double> sizes, double cache_bytes)
      : y_(std::move(y)),
        upper_(std::move(upper)),
        shift_(std::move(shift)),
        diagonal_(std::move(diagonal)),
        descent_(box(equality),
                 SetSizes{std::get<0>(sizes), std::get<1>(sizes), std::get<2>(sizes)},
                 cache_bytes) {
    require_length(upper_, count(), "upper");
    require_length(shift_, count(), "shift");
    require_length(diagonal_, count(), "diagonal");
  }

  void place(Vector u, Vector scores) {
    require_length(u, count(), "u");
    require_length(scores, count(), "scores");
    descent_.place(u.data(), scores.data());
  }

  // Goes on until the relative gap is estimated at `target` or the work is done; returns the
  // estimates of gap and primal value, the operations, and whether it is stuck.
  std::tuple<double, double, double, bool> advance(const KernelSource& source, IndexVector bounds,
                                                   double target, double budget) {
    const auto stretches = stretches_of(bounds, source.count());
    if (length_of(stretches) != count()) {
      throw std::invalid_argument("the columns do not match the examples");
    }
    const std::vector<std::int64_t> places = places_in(stretches);
    nb::gil_scoped_release release;
    double work = 0.0;
    GapEstimate now = descent_.estimate();
    bool stuck = false;
    while (work < budget) {
      if (next_ == missing_.size()) {
        if (chosen_) {
          work += descent_.descend();
          chosen_ = false;
          now = descent_.estimate();
          stuck = descent_.stuck(now);
          if (stuck || now.gap <= target * now.primal) break;
        }
        missing_ = descent_.choose();
        next_ = 0;
        if (descent_.finished()) {
          stuck = true;
          break;
        }
        rooms_ = descent_.rooms();
        chosen_ = true;
        continue;
      }
      const std::size_t some = std::min<std::size_t>(64, missing_.size() - next_);
      std::vector<std::int64_t> wanted;
      for (std::size_t k = next_; k < next_ + some; ++k) wanted.push_back(places[missing_[k]]);
      source.rows(wanted.data(), static_cast<std::int64_t>(some), stretches, rooms_.data() + next_);
      next_ += some;
      work += static_cast<double>(some * static_cast<std::size_t>(count())) * source.entry_work();
    }
    return {now.gap, now.primal, work, stuck};
  }

  // The same in parts, for kernels that only Python can compute: the examples whose rows are
  // missing, and one round of descent once they are there.
  std::vector<std::int64_t> choose() {
    missing_ = descent_.choose();
    rooms_ = descent_.rooms();
    return missing_;
  }
  std::tuple<double, double, double, bool> descend(Matrix rows) {
    require_shape(rows, static_cast<std::int64_t>(missing_.size()), count(), "rows");
    nb::gil_scoped_release release;
    for (std::size_t k = 0; k < missing_.size(); ++k) {
      const double* from = rows.data() + k * rows.shape(1);
      for (std::int64_t j = 0; j < count(); ++j) rooms_[k][j] = static_cast<Real>(from[j]);
    }
    double work = static_cast<double>(missing_.size()) * static_cast<double>(count());
    missing_.clear();
    bool stuck = descent_.finished();
    if (!stuck) work += descent_.descend();
    const GapEstimate now = descent_.estimate();
    stuck = stuck || descent_.stuck(now);
    return {now.gap, now.primal, work, stuck};
  }

  void values(MutableVector out) const {
    require_length(out, count(), "out");
    std::copy(descent_.values().begin(), descent_.values().end(), out.data());
  }
  double intercept() const { return descent_.intercept(); }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(y_.shape(0)); }
  KernelBox box(bool equality) const {
    return {y_.data(), upper_.data(), shift_.data(), diagonal_.data(), count(), equality};
  }
  static std::vector<std::int64_t> places_in(const std::vector<Stretch>& stretches) {
    std::vector<std::int64_t> out;
    for (const Stretch& s : stretches) {
      for (std::int64_t j = s.begin; j < s.end; ++j) out.push_back(j);
    }
    return out;
  }

  Vector y_, upper_, shift_, diagonal_;
  KernelDescent<Real> descent_;
  std::vector<std::int64_t> missing_;
  std::vector<Real*> rooms_;
  std::size_t next_ = 0;
  bool chosen_ = false;
};

template <class Real>
void register_descent(nb::module_& m, const char* name) {
  using Class = Descent<Real>;
  nb::class_<Class>(m, name)
      .def(nb::init<Vector, Vector, Vector, Vector, bool,
                    std::tuple<std::int64_t, std::int64_t, double>, double>(),
           nb::arg("y"), nb::arg("upper"), nb::arg("shift"), nb::arg("diagonal"),
           nb::arg("equality"), nb::arg("sizes"), nb::arg("cache_bytes"))
      .def("place", &Class::place, nb::arg("u"), nb::arg("scores"))
      .def("advance", &Class::advance, nb::arg("source"), nb::arg("bounds"), nb::arg("target"),
           nb::arg("budget"))
      .def("choose", &Class::choose)
      .def("descend", &Class::descend, nb::arg("rows"))
      .def("values", &Class::values, nb::arg("out").noconvert())
      .def_prop_ro("intercept", &Class::intercept);
}

}  // namespace

void register_kernel_sweeps(nb::module_& m) {
  nb::class_<KernelSource>(m, "KernelSource")
      .def(nb::init<const RowsHandle&, const RowsHandle&, const std::string&, double, std::int64_t,
                    double>(),
           nb::arg("exact"), nb::arg("fast"), nb::arg("name"), nb::arg("gamma"), nb::arg("degree"),
           nb::arg("coef0"))
      .def(nb::init<Matrix>(), nb::arg("given"))
      .def_prop_ro("entry_work", &KernelSource::entry_work)
      .def_prop_ro("largest_square", &KernelSource::largest_square)
      .def(
          "diagonal",
          [](const KernelSource& source, MutableVector out) {
            require_length(out, source.count(), "out");
            source.diagonal(out.data());
          },
          nb::arg("out").noconvert())
      .def(
          "rows",
          [](const KernelSource& source, IndexVector places, IndexVector bounds,
             MutableMatrix out) {
            const auto stretches = stretches_of(bounds, source.count());
            require_indices(places, source.count(), "places");
            require_shape(out, static_cast<std::int64_t>(places.shape(0)), length_of(stretches),
                          "out");
            nb::gil_scoped_release release;
            std::vector<double*> lines;
            for (std::size_t k = 0; k < places.shape(0); ++k) {
              lines.push_back(out.data() + k * out.shape(1));
            }
            source.rows(places.data(), static_cast<std::int64_t>(places.shape(0)), stretches,
                        lines.data());
          },
          nb::arg("places"), nb::arg("bounds"), nb::arg("out").noconvert())
      .def(
          "combine",
          [](const KernelSource& source, IndexVector places, Vector coefficients,
             IndexVector bounds, MutableVector out) {
            const auto stretches = stretches_of(bounds, source.count());
            const auto count = static_cast<std::int64_t>(places.shape(0));
            require_indices(places, source.count(), "places");
            require_length(coefficients, count, "coefficients");
            require_length(out, length_of(stretches), "out");
            nb::gil_scoped_release release;
            source.combine(places.data(), coefficients.data(), count, stretches, out.data());
          },
          nb::arg("places"), nb::arg("coefficients"), nb::arg("bounds"),
          nb::arg("out").noconvert());
  register_descent<float>(m, "KernelDescent");
  register_descent<double>(m, "ExactKernelDescent");
}

}  // namespace widemargin
