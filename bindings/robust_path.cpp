#include "kernels/robust_path.hpp"

#include <nanobind/stl/optional.h>

#include "arrays.hpp"

namespace widemargin {
namespace {

RobustPath path_of(const MutableMatrix& values) {
  if (values.shape(0) != 6) {
    throw std::invalid_argument("a state of the central path has six rows");
  }
  return {values.data(), static_cast<std::int64_t>(values.shape(1))};
}

std::int64_t count_of(const MutableMatrix& values) {
  return static_cast<std::int64_t>(values.shape(1));
}

void require_same(const MutableMatrix& first, const MutableMatrix& second) {
  if (second.shape(0) != 6 || second.shape(1) != first.shape(1)) {
    throw std::invalid_argument("state and direction differ in shape");
  }
}

template <class Visit>
auto with_flips(bool flips, Visit&& visit) {
  return flips ? visit(std::true_type{}) : visit(std::false_type{});
}

}  // namespace

void register_robust_path(nb::module_& m) {
  m.def(
      "robust_curvature",
      [](MutableMatrix state, bool flips, double label_cost, MutableVector margin,
         MutableVector mixed) {
        const std::int64_t n = count_of(state);
        require_length(margin, n, "margin");
        require_length(mixed, n, "mixed");
        const RobustPath at = path_of(state);
        nb::gil_scoped_release release;
        return with_flips(flips, [&](auto kind) {
          return path_curvature<kind>(at, label_cost, margin.data(), mixed.data(), n);
        });
      },
      nb::arg("state").noconvert(), nb::arg("flips"), nb::arg("label_cost"),
      nb::arg("margin").noconvert(), nb::arg("mixed").noconvert());

  m.def(
      "robust_pull",
      [](MutableMatrix state, bool flips, Vector margins, double raised, double target,
         std::optional<MutableMatrix> earlier, MutableVector out) {
        const std::int64_t n = count_of(state);
        require_length(margins, n, "margins");
        require_length(out, n, "out");
        if (earlier) require_same(state, *earlier);
        const RobustPath at = path_of(state);
        const PathAim aim{target, earlier ? earlier->data() : nullptr};
        nb::gil_scoped_release release;
        return with_flips(flips, [&](auto kind) {
          return path_pull<kind>(at, margins.data(), raised, aim, out.data(), n);
        });
      },
      nb::arg("state").noconvert(), nb::arg("flips"), nb::arg("margins"), nb::arg("raised"),
      nb::arg("target"), nb::arg("earlier").none().noconvert(), nb::arg("out").noconvert());

  m.def(
      "robust_direction",
      [](MutableMatrix state, bool flips, Vector margins, double raised, double target,
         bool corrects, Vector margin_changes, double raised_change, MutableMatrix direction) {
        const std::int64_t n = count_of(state);
        require_length(margins, n, "margins");
        require_length(margin_changes, n, "margin_changes");
        require_same(state, direction);
        const RobustPath at = path_of(state), out = path_of(direction);
        const PathAim aim{target, corrects ? direction.data() : nullptr};
        PathReach reach;
        {
          nb::gil_scoped_release release;
          reach = with_flips(flips, [&](auto kind) {
            return path_direction<kind>(at, margins.data(), raised, aim, margin_changes.data(),
                                        raised_change, out, n);
          });
        }
        return std::tuple(reach.slack_fall, reach.multiplier_fall, reach.slack_change,
                          reach.multiplier_change, reach.both);
      },
      nb::arg("state").noconvert(), nb::arg("flips"), nb::arg("margins"), nb::arg("raised"),
      nb::arg("target"), nb::arg("corrects"), nb::arg("margin_changes"), nb::arg("raised_change"),
      nb::arg("direction").noconvert());

  m.def(
      "robust_move",
      [](MutableMatrix state, bool flips, MutableMatrix direction, MutableVector margins,
         Vector margin_changes, double slack_length, double multiplier_length) {
        const std::int64_t n = count_of(state);
        require_length(margins, n, "margins");
        require_length(margin_changes, n, "margin_changes");
        require_same(state, direction);
        const RobustPath at = path_of(state), step = path_of(direction);
        nb::gil_scoped_release release;
        return with_flips(flips, [&](auto kind) {
          return path_move<kind>(at, step, margins.data(), margin_changes.data(), slack_length,
                                 multiplier_length, n);
        });
      },
      nb::arg("state").noconvert(), nb::arg("flips"), nb::arg("direction").noconvert(),
      nb::arg("margins").noconvert(), nb::arg("margin_changes"), nb::arg("slack_length"),
      nb::arg("multiplier_length"));
}

}  // namespace widemargin
