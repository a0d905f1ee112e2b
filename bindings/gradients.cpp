// Conjugate gradients with a diagonal as preconditioner: what is done to vectors over the weights,
// each in one pass.
#include "blocks.hpp"
#include "kernels/chains.hpp"

namespace widemargin {
namespace {

struct ThreeSums {
  double first = 0.0, second = 0.0, third = 0.0;
};

ThreeSums plus(const ThreeSums& a, const ThreeSums& b) {
  return {a.first + b.first, a.second + b.second, a.third + b.third};
}

class DiagonalGradients {
 public:
  DiagonalGradients(Vector right, Vector inverse, Vector mean, MutableVector solution,
                    MutableVector residual, MutableVector direction, Pool& pool, std::int64_t chunk)
      : right_(std::move(right)),
        inverse_(std::move(inverse)),
        mean_(std::move(mean)),
        solution_(std::move(solution)),
        residual_(std::move(residual)),
        direction_(std::move(direction)),
        pool_(pool),
        chunk_(chunk) {
    require_length(inverse_, count(), "inverse");
    if (mean_.shape(0) > 0) require_length(mean_, count(), "mean");
    require_length(solution_, count(), "solution");
    require_length(residual_, count(), "residual");
    require_length(direction_, count(), "direction");
    if (chunk < 1) throw std::invalid_argument("a chunk has at least one weight");
  }
  std::int64_t count() const { return static_cast<std::int64_t>(right_.shape(0)); }

  // Starts at zero; returns r . M^-1 r.
  double start() {
    return chunked_sum(
        pool_, count(), chunk_,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t j = begin; j < end; ++j) {
            solution_.data()[j] = 0.0;
            residual_.data()[j] = right_.data()[j];
            direction_.data()[j] = inverse_.data()[j] * right_.data()[j];
          }
          return dot(right_.data(), direction_.data(), begin, end);
        },
        std::plus<double>());
  }
  // Adds p - share mean to a product of the direction p, and returns p . image.
  double bend(double* image, double share) const {
    const double *p = direction_.data(), *mean = mean_.data();
    const bool shifted = mean_.shape(0) > 0;
    return chunked_sum(
        pool_, count(), chunk_,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t j = begin; j < end; ++j) image[j] += p[j];
          for (std::int64_t j = begin; shifted && j < end; ++j) image[j] -= share * mean[j];
          return dot(p, image, begin, end);
        },
        std::plus<double>());
  }
  // Moves along the direction; returns r . M^-1 r, r . r and x . right.
  ThreeSums move(double length, const double* image) {
    double *x = solution_.data(), *r = residual_.data();
    const double *p = direction_.data(), *inverse = inverse_.data(), *right = right_.data();
    return chunked_sum(
        pool_, count(), chunk_,
        [&](std::int64_t begin, std::int64_t end) {
          double fresh[chains] = {}, squares[chains] = {}, promised[chains] = {};
          auto visit = [&](std::int64_t j, int chain) {
            x[j] += length * p[j];
            r[j] -= length * image[j];
            const double square = r[j] * r[j];
            fresh[chain] += inverse[j] * square;
            squares[chain] += square;
            promised[chain] += x[j] * right[j];
          };
          std::int64_t j = begin;
          for (; j + chains <= end; j += chains) {
            for (int chain = 0; chain < chains; ++chain) visit(j + chain, chain);
          }
          for (; j < end; ++j) visit(j, 0);
          ThreeSums sums;
          for (int chain = 0; chain < chains; ++chain) {
            sums = plus(sums, {fresh[chain], squares[chain], promised[chain]});
          }
          return sums;
        },
        plus);
  }
  // The next direction, M^-1 r + share p.
  void turn(double share) {
    each_chunk(pool_, count(), chunk_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        direction_.data()[j] =
            inverse_.data()[j] * residual_.data()[j] + share * direction_.data()[j];
      }
    });
  }

 private:
  static double dot(const double* a, const double* b, std::int64_t begin, std::int64_t end) {
    return sum_in_chains(end - begin, [&](std::int64_t j) { return a[begin + j] * b[begin + j]; });
  }

  Vector right_, inverse_, mean_;
  MutableVector solution_, residual_, direction_;
  Pool& pool_;
  std::int64_t chunk_;
};

}  // namespace

void register_gradients(nb::module_& m) {
  nb::class_<DiagonalGradients>(m, "DiagonalGradients")
      .def(nb::init<Vector, Vector, Vector, MutableVector, MutableVector, MutableVector, Pool&,
                    std::int64_t>(),
           nb::arg("right"), nb::arg("inverse"), nb::arg("mean"), nb::arg("solution").noconvert(),
           nb::arg("residual").noconvert(), nb::arg("direction").noconvert(), nb::arg("pool"),
           nb::arg("chunk"), nb::keep_alive<1, 8>())
      .def("start",
           [](DiagonalGradients& self) {
             nb::gil_scoped_release release;
             return self.start();
           })
      .def(
          "bend",
          [](const DiagonalGradients& self, MutableVector image, double share) {
            require_length(image, self.count(), "image");
            nb::gil_scoped_release release;
            return self.bend(image.data(), share);
          },
          nb::arg("image").noconvert(), nb::arg("share"))
      .def(
          "move",
          [](DiagonalGradients& self, double length, Vector image) {
            require_length(image, self.count(), "image");
            nb::gil_scoped_release release;
            const ThreeSums sums = self.move(length, image.data());
            return std::tuple(sums.first, sums.second, sums.third);
          },
          nb::arg("length"), nb::arg("image"))
      .def(
          "turn",
          [](DiagonalGradients& self, double share) {
            nb::gil_scoped_release release;
            self.turn(share);
          },
          nb::arg("share"));
}

}  // namespace widemargin
