// The rounded hinge of many examples, computed by threads in chunks of a fixed length.
#include "blocks.hpp"
#include "losses/proximal_hinge.hpp"

namespace widemargin {
namespace {

// The hinge with its corner rounded: what `BinaryCore` computes of it.
class CornerThreads {
 public:
  CornerThreads(Vector y, Vector cost, Pool& pool, std::int64_t chunk)
      : y_(std::move(y)), cost_(std::move(cost)), pool_(pool), chunk_(chunk) {
    require_length(cost_, count(), "cost");
    if (chunk < 1) throw std::invalid_argument("a chunk has at least one example");
  }
  std::int64_t count() const { return static_cast<std::int64_t>(y_.shape(0)); }
  ProximalHinge part(const double* center, double h, std::int64_t begin, std::int64_t end) const {
    const Examples data{y_.data() + begin, cost_.data() + begin, end - begin};
    return {data, center ? center + begin : nullptr, h};
  }
  template <class Part>
  void each(const Part& part) {
    each_chunk(pool_, count(), chunk_, part);
  }
  template <class Part, class Add>
  auto sum(const Part& part, const Add& add) {
    return chunked_sum(pool_, count(), chunk_, part, add);
  }
  template <class Array>
  auto checked(const Array& array, const char* name) const {
    require_length(array, count(), name);
    return array.data();
  }

 private:
  Vector y_, cost_;
  Pool& pool_;
  std::int64_t chunk_;
};

void register_corner(nb::class_<CornerThreads>& corner) {
  corner
      .def(
          "proximal_alpha",
          [](CornerThreads& self, Vector center, double h, Vector scores, double b,
             MutableVector alpha) {
            const double *middle = self.checked(center, "center"),
                         *at = self.checked(scores, "scores");
            double* out = self.checked(alpha, "alpha");
            nb::gil_scoped_release release;
            // Raised until some are inside.
            while (true) {
              const std::int64_t inside = self.sum(
                  [&](std::int64_t begin, std::int64_t end) {
                    return proximal_alpha(self.part(middle, h, begin, end), at + begin, b,
                                          out + begin);
                  },
                  std::plus<std::int64_t>());
              if (inside > 0 || h > ProximalHinge::widest) return std::tuple(inside, h);
              h *= 4.0;
            }
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores"), nb::arg("b"),
          nb::arg("alpha").noconvert())
      .def(
          "proximal_curvature",
          [](CornerThreads& self, double h, Vector alpha, MutableVector curvature) {
            const double* at = self.checked(alpha, "alpha");
            double* out = self.checked(curvature, "curvature");
            nb::gil_scoped_release release;
            self.each([&](std::int64_t begin, std::int64_t end) {
              proximal_curvature(self.part(nullptr, h, begin, end), at + begin, out + begin);
            });
          },
          nb::arg("h"), nb::arg("alpha"), nb::arg("curvature").noconvert())
      .def(
          "proximal_derivatives_along",
          [](CornerThreads& self, Vector center, double h, Vector scores, double b, Vector slopes,
             double slope_b, double t) {
            const double *middle = self.checked(center, "center"),
                         *at = self.checked(scores, "scores"),
                         *along = self.checked(slopes, "slopes");
            nb::gil_scoped_release release;
            const TwoSums sums = self.sum(
                [&](std::int64_t begin, std::int64_t end) {
                  const Line line{at + begin, b, along + begin, slope_b};
                  return proximal_derivatives_along(self.part(middle, h, begin, end), line, t);
                },
                [](const TwoSums& a, const TwoSums& b) -> TwoSums {
                  return {a.first + b.first, a.second + b.second};
                });
            return std::tuple(sums.first, sums.second);
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores"), nb::arg("b"), nb::arg("slopes"),
          nb::arg("slope_b"), nb::arg("t"))
      .def(
          "proximal_move",
          [](CornerThreads& self, Vector center, double h, MutableVector scores, double b,
             MutableVector slopes, double slope_b, double step) {
            const double* middle = self.checked(center, "center");
            double *at = self.checked(scores, "scores"), *along = self.checked(slopes, "slopes");
            nb::gil_scoped_release release;
            self.each([&](std::int64_t begin, std::int64_t end) {
              proximal_move(self.part(middle, h, begin, end), at + begin, b, along + begin, slope_b,
                            step);
            });
          },
          nb::arg("center"), nb::arg("h"), nb::arg("scores").noconvert(), nb::arg("b"),
          nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"))
      .def(
          "mismatch",
          [](CornerThreads& self, Vector scores, double b, Vector alpha) {
            const double *at = self.checked(scores, "scores"),
                         *duals = self.checked(alpha, "alpha");
            nb::gil_scoped_release release;
            return self.sum(
                [&](std::int64_t begin, std::int64_t end) {
                  return mismatch(self.part(nullptr, 1.0, begin, end), at + begin, b,
                                  duals + begin);
                },
                std::plus<double>());
          },
          nb::arg("scores"), nb::arg("b"), nb::arg("alpha"));
}

}  // namespace

void register_threaded_corner(nb::module_& m) {
  nb::class_<CornerThreads> corner(m, "CornerThreads");
  corner.def(nb::init<Vector, Vector, Pool&, std::int64_t>(), nb::arg("y").noconvert(),
             nb::arg("cost").noconvert(), nb::arg("pool"), nb::arg("chunk"),
             nb::keep_alive<1, 4>());
  register_corner(corner);
}

}  // namespace widemargin
