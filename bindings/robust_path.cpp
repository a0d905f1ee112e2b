#include "kernels/robust_path.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"

namespace widemargin {
namespace {

// Python's `RobustPath`: a state of the central path, checked once; six numbers per example.
class CheckedPath {
  std::int64_t count() const { return static_cast<std::int64_t>(state_.shape(1)); }
  RobustPath path(const MutableMatrix& values) const { return {values.data(), count()}; }
  template <class Visit>
  auto visit(Visit&& visit) const {
    return flips_ ? visit(std::true_type{}) : visit(std::false_type{});
  }

 public:
  CheckedPath(MutableMatrix state, bool flips) : state_(std::move(state)), flips_(flips) {
    require_length(state_, 6, "state");
  }

  double curvature(double label_cost, MutableVector margin, MutableVector mixed) const {
    require_length(margin, count(), "margin");
    require_length(mixed, count(), "mixed");
    nb::gil_scoped_release release;
    return visit([&](auto flips) {
      return path_curvature<flips>(path(state_), label_cost, margin.data(), mixed.data(), count());
    });
  }

  double pull(Vector margins, double raised, double target, std::optional<MutableMatrix> earlier,
              MutableVector out) const {
    require_length(margins, count(), "margins");
    require_length(out, count(), "out");
    if (earlier) require_shape(*earlier, 6, count(), "earlier");
    const PathAim aim{target, earlier ? earlier->data() : nullptr};
    nb::gil_scoped_release release;
    return visit([&](auto flips) {
      return path_pull<flips>(path(state_), margins.data(), raised, aim, out.data(), count());
    });
  }

  auto direction(Vector margins, double raised, double target, bool corrects, Vector margin_changes,
                 double raised_change, MutableMatrix direction) const {
    require_length(margins, count(), "margins");
    require_length(margin_changes, count(), "margin_changes");
    require_shape(direction, 6, count(), "direction");
    const PathAim aim{target, corrects ? direction.data() : nullptr};
    nb::gil_scoped_release release;
    const PathReach reach = visit([&](auto flips) {
      return path_direction<flips>(path(state_), margins.data(), raised, aim, margin_changes.data(),
                                   raised_change, path(direction), count());
    });
    return std::tuple(reach.slack_fall, reach.multiplier_fall, reach.slack_change,
                      reach.multiplier_change, reach.both);
  }

  double move(MutableMatrix direction, MutableVector margins, Vector margin_changes,
              double slack_length, double multiplier_length) const {
    require_length(margins, count(), "margins");
    require_length(margin_changes, count(), "margin_changes");
    require_shape(direction, 6, count(), "direction");
    nb::gil_scoped_release release;
    return visit([&](auto flips) {
      return path_move<flips>(path(state_), path(direction), margins.data(), margin_changes.data(),
                              slack_length, multiplier_length, count());
    });
  }

 private:
  MutableMatrix state_;
  bool flips_;
};

}  // namespace

void register_robust_path(nb::module_& m) {
  nb::class_<CheckedPath>(m, "RobustPath")
      .def(nb::init<MutableMatrix, bool>(), nb::arg("state").noconvert(), nb::arg("flips"))
      .def("curvature", &CheckedPath::curvature, nb::arg("label_cost"),
           nb::arg("margin").noconvert(), nb::arg("mixed").noconvert())
      .def("pull", &CheckedPath::pull, nb::arg("margins"), nb::arg("raised"), nb::arg("target"),
           nb::arg("earlier").none().noconvert(), nb::arg("out").noconvert())
      .def("direction", &CheckedPath::direction, nb::arg("margins"), nb::arg("raised"),
           nb::arg("target"), nb::arg("corrects"), nb::arg("margin_changes"),
           nb::arg("raised_change"), nb::arg("direction").noconvert())
      .def("move", &CheckedPath::move, nb::arg("direction").noconvert(),
           nb::arg("margins").noconvert(), nb::arg("margin_changes"), nb::arg("slack_length"),
           nb::arg("multiplier_length"));
}

}  // namespace widemargin
