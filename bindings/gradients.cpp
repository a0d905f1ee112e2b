// Conjugate gradients with a diagonal as preconditioner: what is done to vectors over the weights,
// each in one pass.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>

#include "block_rows.hpp"
#include "kernels/chains.hpp"

namespace widemargin {
namespace {

struct ThreeSums {
  double first = 0.0, second = 0.0, third = 0.0;
};

ThreeSums plus(const ThreeSums& a, const ThreeSums& b) {
  return {a.first + b.first, a.second + b.second, a.third + b.third};
}

void require_chunk(std::int64_t chunk) {
  if (chunk < 1) throw std::invalid_argument("a chunk has at least one weight");
}

// What `NewtonAccuracy` asks for.
struct Accuracy {
  double accuracy, far, far_enough, lost;

  bool reached(double promised, double squares, double now, double start) const {
    if (promised > far * accuracy) return now <= far_enough * std::max(promised, start);
    return 0.5 * std::max(squares, now) <= accuracy || now <= lost * start;
  }
};

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
    require_chunk(chunk);
  }
  std::int64_t count() const { return static_cast<std::int64_t>(right_.shape(0)); }

  // Starts at zero; returns r . M^-1 r.
  double start() {
    start_ = now_ = first_residual();
    return start_;
  }
  // Steps with products of rows, until the accuracy is reached; product(p, image) returns a share,
  // moved(length) is told of each step. Returns their number, and whether more are wanted.
  template <class Product, class Moved>
  std::pair<std::int64_t, bool> advance(const Product& product, const Moved& moved,
                                        const Accuracy& accuracy, std::int64_t most) {
    image_.resize(static_cast<std::size_t>(count()));
    bool unsolved = now_ > 0.0;
    std::int64_t made = 0;
    for (; unsolved && made < most; ++made) {
      const double share = product(direction_.data(), image_.data());
      const double bent = bend(image_.data(), share);
      // Without curvature along its direction it cannot be improved any more.
      unsolved = bent > 0.0;
      const double length = unsolved ? now_ / bent : 0.0;
      const ThreeSums sums = move(length, image_.data());
      moved(length);
      const bool solved = accuracy.reached(std::abs(sums.third), sums.second, sums.first, start_);
      unsolved = unsolved && !solved && sums.first > 0.0;
      if (unsolved) turn(sums.first / now_);
      now_ = sums.first;
    }
    return {made, unsolved};
  }
  Pool& pool() { return pool_; }
  std::int64_t chunk() const { return chunk_; }

 private:
  double first_residual() {
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

 public:
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
  double start_ = 0.0, now_ = 0.0;
  std::vector<double> image_;
};

}  // namespace

void register_gradients(nb::module_& m) {
  // A free intercept eliminated: the diagonal 1 + diagonal - total mean^2, at least one, the mean,
  // and the right-hand side right - right_b mean. Without an intercept `first` has no entries.
  m.def(
      "eliminate_intercept",
      [](Pool& pool, Vector diagonal, Vector first, Vector right, std::tuple<double, double> given,
         MutableMatrix out, std::int64_t chunk) {
        const auto count = static_cast<std::int64_t>(diagonal.shape(0));
        const bool free = first.shape(0) > 0;
        if (free) require_length(first, count, "first");
        require_length(right, count, "right");
        require_shape(out, 3, count, "out");
        require_chunk(chunk);
        const auto [total, right_b] = given;
        nb::gil_scoped_release release;
        double *scales = out.data(), *mean = scales + count, *reduced = mean + count;
        each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t j = begin; j < end; ++j) {
            const double m = free ? first.data()[j] / total : 0.0;
            // Rounding may leave less than the penalty of the difference of two large sums.
            scales[j] = std::max(1.0 + diagonal.data()[j] - total * m * m, 1.0);
            mean[j] = m;
            reduced[j] = right.data()[j] - right_b * m;
          }
        });
      },
      nb::arg("pool"), nb::arg("diagonal"), nb::arg("first"), nb::arg("right"), nb::arg("given"),
      nb::arg("out").noconvert(), nb::arg("chunk"));
  nb::class_<DiagonalGradients>(m, "DiagonalGradients")
      .def(nb::init<Vector, Vector, Vector, MutableVector, MutableVector, MutableVector, Pool&,
                    std::int64_t>(),
           nb::arg("right"), nb::arg("inverse"), nb::arg("mean"), nb::arg("solution").noconvert(),
           nb::arg("residual").noconvert(), nb::arg("direction").noconvert(), nb::arg("pool"),
           nb::arg("chunk"), nb::keep_alive<1, 8>())
      .def(
          "advance",
          [](DiagonalGradients& self, BlockRows& rows, Vector curvature,
             std::optional<MutableVector> scores, std::optional<MutableVector> slopes,
             std::tuple<double, double, double, double> accuracy, std::int64_t most) {
            if (rows.weights() != self.count()) {
              throw std::invalid_argument("the rows have another number of weights");
            }
            require_length(curvature, rows.count(), "curvature");
            if (scores) require_length(*scores, rows.count(), "scores");
            if (slopes) require_length(*slopes, rows.count(), "slopes");
            if (slopes && !scores) throw std::invalid_argument("slopes need room for scores");
            double* kept = scores ? scores->data() : nullptr;
            const auto [asked, far, far_enough, lost] = accuracy;
            nb::gil_scoped_release release;
            return self.advance(
                [&](const double* direction, double* image) {
                  return rows.curved(0, rows.size(), {curvature.data(), direction, 0.0}, image,
                                     kept);
                },
                [&](double length) {
                  if (!slopes) return;
                  each_chunk(self.pool(), rows.count(), self.chunk(),
                             [&](std::int64_t begin, std::int64_t end) {
                               axpy_dense(length, kept + begin, slopes->data() + begin,
                                          end - begin);
                             });
                },
                {asked, far, far_enough, lost}, most);
          },
          nb::arg("rows"), nb::arg("curvature"), nb::arg("scores").none().noconvert(),
          nb::arg("slopes").none().noconvert(), nb::arg("accuracy"), nb::arg("most"))
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
