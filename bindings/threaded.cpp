// Losses of many examples, computed by threads in chunks of a fixed length: sums have the same bits
// for any number of threads.
#include <nanobind/stl/vector.h>

#include "blocks.hpp"
#include "losses/bounds.hpp"

namespace widemargin {
namespace {

TwoSums plus(const TwoSums& a, const TwoSums& b) {
  return {a.first + b.first, a.second + b.second};
}

Examples part_of(const Examples& data, std::int64_t begin, std::int64_t end) {
  return {data.y + begin, data.cost + begin, end - begin};
}

class LossThreads {
 public:
  LossThreads(const std::string& loss, Pool& pool, std::int64_t chunk)
      : loss_(loss_named(loss)), pool_(pool), chunk_(chunk) {
    if (chunk < 1) throw std::invalid_argument("a chunk has at least one example");
  }

  Examples examples(const Vector& y, const Vector& cost) const {
    const auto count = static_cast<std::int64_t>(y.shape(0));
    require_length(cost, count, "cost");
    return {y.data(), cost.data(), count};
  }
  // Calls part(loss, begin, end) for the chunks.
  template <class Part>
  void each(std::int64_t count, const Part& part) {
    std::visit(
        [&](auto loss) {
          each_chunk(pool_, count, chunk_,
                     [&](std::int64_t begin, std::int64_t end) { part(loss, begin, end); });
        },
        loss_);
  }
  template <class Part, class Add>
  auto sum(std::int64_t count, const Part& part, const Add& add) {
    return std::visit(
        [&](auto loss) {
          return chunked_sum(
              pool_, count, chunk_,
              [&](std::int64_t begin, std::int64_t end) { return part(loss, begin, end); }, add);
        },
        loss_);
  }
  const AnyLoss& loss() const { return loss_; }
  Pool& pool() { return pool_; }
  std::int64_t chunk() const { return chunk_; }

 private:
  AnyLoss loss_;
  Pool& pool_;
  std::int64_t chunk_;
};

void register_loss_sums(nb::class_<LossThreads>& losses) {
  losses
      .def(
          "total",
          [](LossThreads& self, Vector y, Vector cost, Vector scores, double b) {
            const Examples data = self.examples(y, cost);
            require_length(scores, data.count, "scores");
            nb::gil_scoped_release release;
            return self.sum(
                data.count,
                [&](auto loss, std::int64_t begin, std::int64_t end) {
                  return loss_sum<decltype(loss)>(part_of(data, begin, end), scores.data() + begin,
                                                  b);
                },
                std::plus<double>());
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"))
      .def(
          "dual_total",
          [](LossThreads& self, Vector alpha, Vector cost) {
            const auto count = static_cast<std::int64_t>(alpha.shape(0));
            require_length(cost, count, "cost");
            nb::gil_scoped_release release;
            return self.sum(
                count,
                [&](auto loss, std::int64_t begin, std::int64_t end) {
                  return dual_sum<decltype(loss)>(alpha.data() + begin, cost.data() + begin,
                                                  end - begin);
                },
                std::plus<double>());
          },
          nb::arg("alpha"), nb::arg("cost"))
      .def(
          "sums",
          [](LossThreads& self, Vector y, Vector cost, Vector scores, double b, double reach) {
            const Examples data = self.examples(y, cost);
            require_length(scores, data.count, "scores");
            nb::gil_scoped_release release;
            const LossSums sums = self.sum(
                data.count,
                [&](auto loss, std::int64_t begin, std::int64_t end) {
                  return loss_sums<decltype(loss)>(part_of(data, begin, end), scores.data() + begin,
                                                   b, reach);
                },
                [](const LossSums& l, const LossSums& r) -> LossSums {
                  return {l.total + r.total, l.slopes + r.slopes, l.squares + r.squares};
                });
            return std::tuple(sums.total, sums.slopes, sums.squares);
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"), nb::arg("reach"))
      .def(
          "dual_sums",
          [](LossThreads& self, Vector y, Vector cost, Vector alpha) {
            const Examples data = self.examples(y, cost);
            require_length(alpha, data.count, "alpha");
            nb::gil_scoped_release release;
            const std::int64_t chunk = self.chunk();
            std::vector<double> residuals(static_cast<std::size_t>(
                std::max<std::int64_t>(1, (data.count + chunk - 1) / chunk)));
            const DualSums sums = self.sum(
                data.count,
                [&](auto loss, std::int64_t begin, std::int64_t end) {
                  const DualSums found =
                      dual_sums<decltype(loss)>(part_of(data, begin, end), alpha.data() + begin);
                  residuals[static_cast<std::size_t>(begin / chunk)] = found.residual;
                  return found;
                },
                [](const DualSums& l, const DualSums& r) -> DualSums {
                  return {l.value + r.value, l.size + r.size, l.linear + r.linear,
                          l.squares + r.squares, 0.0};
                });
            return std::tuple(sums.value, sums.size, sums.linear, sums.squares, residuals);
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("alpha"))
      .def(
          "derivatives_along",
          [](LossThreads& self, Vector y, Vector cost, Vector scores, double b, Vector slopes,
             double slope_b, double t) {
            const Examples data = self.examples(y, cost);
            require_length(scores, data.count, "scores");
            require_length(slopes, data.count, "slopes");
            nb::gil_scoped_release release;
            const TwoSums sums = with_smooth_loss(self.loss(), [&](auto loss) {
              return chunked_sum(
                  self.pool(), data.count, self.chunk(),
                  [&](std::int64_t begin, std::int64_t end) {
                    const Line line{scores.data() + begin, b, slopes.data() + begin, slope_b};
                    return derivatives_along<decltype(loss)>(part_of(data, begin, end), line, t);
                  },
                  plus);
            });
            return std::tuple(sums.first, sums.second);
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"), nb::arg("slopes"),
          nb::arg("slope_b"), nb::arg("t"));
}

void register_loss_vectors(nb::class_<LossThreads>& losses) {
  losses
      .def(
          "terms",
          [](LossThreads& self, Vector y, Vector cost, Vector scores, double b, MutableVector alpha,
             MutableVector curvature) {
            const Examples data = self.examples(y, cost);
            require_length(scores, data.count, "scores");
            require_length(alpha, data.count, "alpha");
            require_length(curvature, data.count, "curvature");
            nb::gil_scoped_release release;
            with_smooth_loss(self.loss(), [&](auto loss) {
              each_chunk(
                  self.pool(), data.count, self.chunk(), [&](std::int64_t begin, std::int64_t end) {
                    loss_terms<decltype(loss)>(part_of(data, begin, end), scores.data() + begin, b,
                                               alpha.data() + begin, curvature.data() + begin);
                  });
            });
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"),
          nb::arg("alpha").noconvert(), nb::arg("curvature").noconvert())
      .def(
          "linearised_move",
          [](LossThreads& self, Vector y, Vector cost, MutableVector scores, double b,
             MutableVector slopes, double slope_b, double step) {
            const Examples data = self.examples(y, cost);
            require_length(scores, data.count, "scores");
            require_length(slopes, data.count, "slopes");
            nb::gil_scoped_release release;
            with_smooth_loss(self.loss(), [&](auto loss) {
              each_chunk(self.pool(), data.count, self.chunk(),
                         [&](std::int64_t begin, std::int64_t end) {
                           linearised_move<decltype(loss)>(part_of(data, begin, end),
                                                           scores.data() + begin, b,
                                                           slopes.data() + begin, slope_b, step);
                         });
            });
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("scores").noconvert(), nb::arg("b"),
          nb::arg("slopes").noconvert(), nb::arg("slope_b"), nb::arg("step"))
      .def(
          "clip",
          [](LossThreads& self, Vector alpha, Vector cost, MutableVector clipped) {
            const auto count = static_cast<std::int64_t>(alpha.shape(0));
            require_length(cost, count, "cost");
            require_length(clipped, count, "clipped");
            nb::gil_scoped_release release;
            self.each(count, [&](auto loss, std::int64_t begin, std::int64_t end) {
              for (std::int64_t i = begin; i < end; ++i) {
                const double c = cost.data()[i], a = alpha.data()[i];
                const bool bounded = decltype(loss)::bounded || !(c > 0.0);
                const double upper =
                    decltype(loss)::bounded ? c : 0.0;  // without cost there is no dual variable
                const double above = a < 0.0 ? 0.0 : a;
                clipped.data()[i] = bounded && above > upper ? upper : above;
              }
            });
          },
          nb::arg("alpha"), nb::arg("cost"), nb::arg("clipped").noconvert())
      .def(
          "best_intercept",
          [](LossThreads& self, Vector y, Vector cost, Vector scores, double b) {
            const Examples data = self.examples(y, cost);
            require_length(scores, data.count, "scores");
            nb::gil_scoped_release release;
            return std::visit(
                [&](auto loss) {
                  using Loss = decltype(loss);
                  if constexpr (requires { Loss::curvature_at(0.0, 0.0); }) {
                    return best_intercept_of(b, [&](double trial) {
                      return chunked_sum(
                          self.pool(), data.count, self.chunk(),
                          [&](std::int64_t begin, std::int64_t end) {
                            return intercept_slopes<Loss>(part_of(data, begin, end),
                                                          scores.data() + begin, trial);
                          },
                          [](const SlopeSums& l, const SlopeSums& r) -> SlopeSums {
                            return {l.first + r.first, l.second + r.second, l.scale + r.scale};
                          });
                    });
                  } else {
                    return best_intercept<Loss>(data, scores.data(), b);
                  }
                },
                self.loss());
          },
          nb::arg("y"), nb::arg("cost"), nb::arg("scores"), nb::arg("b"));
}

}  // namespace

void register_threaded(nb::module_& m) {
  nb::class_<LossThreads> losses(m, "LossThreads");
  losses.def(nb::init<const std::string&, Pool&, std::int64_t>(), nb::arg("loss"), nb::arg("pool"),
             nb::arg("chunk"), nb::keep_alive<1, 3>());
  register_loss_sums(losses);
  register_loss_vectors(losses);
}

}  // namespace widemargin
