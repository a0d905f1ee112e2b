// Python's `BlockRows`: one compiled call for many blocks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <functional>

#include "block_rows.hpp"
#include "kernels/compensated.hpp"

namespace widemargin {
namespace {

const double* at(const double* numbers, std::int64_t begin) {
  return numbers ? numbers + begin : nullptr;
}

void register_vectors(nb::class_<BlockRows>& blocks) {
  blocks
      .def(
          "scores",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector w, MutableVector out) {
            self.require(first, last);
            require_length(w, self.weights(), "w");
            require_length(out, self.count(), "out");
            nb::gil_scoped_release release;
            self.each_piece(first, last, [&](const auto& rows, auto begin, auto end) {
              scores(rows, w.data(), out.data(), begin, end);
            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("w"), nb::arg("out").noconvert())
      .def(
          "compensated_scores",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector w, double b,
             double b_low, MutableVector out) {
            self.require(first, last);
            require_length(w, self.weights(), "w");
            require_length(out, self.count(), "out");
            nb::gil_scoped_release release;
            self.each_piece(first, last, [&](const auto& rows, auto begin, auto end) {
              compensated_scores(rows, w.data(), Pair{b, b_low}, out.data(), begin, end);
            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("w"), nb::arg("b"), nb::arg("b_low"),
          nb::arg("out").noconvert())
      .def(
          "squared_norms",
          [](BlockRows& self, std::int64_t first, std::int64_t last, MutableVector out) {
            self.require(first, last);
            require_length(out, self.count(), "out");
            nb::gil_scoped_release release;
            self.each_piece(first, last, [&](const auto& rows, auto begin, auto end) {
              squared_norms(rows, out.data(), begin, end);
            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("out").noconvert())
      .def(
          "total_squared_norm",
          [](BlockRows& self, std::int64_t first, std::int64_t last) {
            self.require(first, last);
            nb::gil_scoped_release release;
            Buffers single(1, 0);
            double total = 0.0;
            self.summed(first, last, single, AddAll{1}, &total, 1,
                        [](const auto& rows, std::int64_t, std::vector<double>& sum) {
                          sum.assign(1, total_squared_norm(rows, 0, rows.count));
                        });
            return total;
          },
          nb::arg("first"), nb::arg("last"));
}

void register_sums(nb::class_<BlockRows>& blocks) {
  blocks
      .def(
          "accumulate",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector coefficients,
             std::optional<Vector> signs, MutableVector sum) {
            self.require(first, last);
            require_length(coefficients, self.count(), "coefficients");
            require_length(sum, self.weights(), "sum");
            const double* sign_data = optional_data(signs, self.count(), "signs");
            nb::gil_scoped_release release;
            self.vector_sum(first, last, sum.data(),
                            [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                              const double* own = coefficients.data() + begin;
                              if (!any(own, rows.count)) return;
                              part = self.buffers().zeros();
                              accumulate(rows, own, at(sign_data, begin), part.data(), 0,
                                         rows.count);
                            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("coefficients"), nb::arg("signs").none(),
          nb::arg("sum").noconvert())
      .def(
          "accumulate_change",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector fresh, Vector old,
             Vector signs, MutableVector sum) {
            self.require(first, last);
            require_length(fresh, self.count(), "fresh");
            require_length(old, self.count(), "old");
            require_length(signs, self.count(), "signs");
            require_length(sum, self.weights(), "sum");
            nb::gil_scoped_release release;
            self.vector_sum(first, last, sum.data(),
                            [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                              const double *now = fresh.data() + begin, *was = old.data() + begin;
                              if (std::equal(now, now + rows.count, was)) return;
                              part = self.buffers().zeros();
                              accumulate_change(rows, now, was, signs.data() + begin, part.data(),
                                                0, rows.count);
                            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("fresh"), nb::arg("old"), nb::arg("signs"),
          nb::arg("sum").noconvert())
      .def(
          "scores_and_accumulate",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector w, MutableVector out,
             Vector coefficients, std::optional<Vector> signs, MutableVector sum) {
            self.require(first, last);
            require_length(w, self.weights(), "w");
            require_length(out, self.count(), "out");
            require_length(coefficients, self.count(), "coefficients");
            require_length(sum, self.weights(), "sum");
            const double* sign_data = optional_data(signs, self.count(), "signs");
            nb::gil_scoped_release release;
            self.vector_sum(first, last, sum.data(),
                            [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                              part = self.buffers().zeros();
                              scores_and_accumulate(
                                  rows, w.data(), out.data() + begin, coefficients.data() + begin,
                                  at(sign_data, begin), part.data(), 0, rows.count);
                            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("w"), nb::arg("out").noconvert(),
          nb::arg("coefficients"), nb::arg("signs").none(), nb::arg("sum").noconvert())
      .def(
          "compensated_accumulate",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector coefficients,
             std::optional<Vector> signs, MutableMatrix pair) {
            self.require(first, last);
            const std::int64_t length = self.weights();
            require_length(coefficients, self.count(), "coefficients");
            require_shape(pair, 2, length, "pair");
            const double* sign_data = optional_data(signs, self.count(), "signs");
            nb::gil_scoped_release release;
            Buffers pairs(2 * length, 0);
            self.summed(first, last, pairs, AddPairs{length}, pair.data(), 2 * length,
                        [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                          part = pairs.zeros();
                          compensated_accumulate(rows, coefficients.data() + begin,
                                                 at(sign_data, begin), part.data(),
                                                 part.data() + length, 0, rows.count);
                        });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("coefficients"), nb::arg("signs").none(),
          nb::arg("pair").noconvert());
}

void register_curvature(nb::class_<BlockRows>& blocks) {
  blocks
      .def(
          "curvature_product",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector curvature,
             Vector direction, double shift, MutableVector sum,
             std::optional<MutableVector> scores) {
            self.require(first, last);
            require_length(curvature, self.count(), "curvature");
            require_length(direction, self.weights(), "direction");
            require_length(sum, self.weights(), "sum");
            if (scores) require_length(*scores, self.count(), "scores");
            double* score_data = scores ? scores->data() : nullptr;
            nb::gil_scoped_release release;
            return self.curved(first, last, {curvature.data(), direction.data(), shift}, sum.data(),
                               score_data);
          },
          nb::arg("first"), nb::arg("last"), nb::arg("curvature"), nb::arg("direction"),
          nb::arg("shift"), nb::arg("sum").noconvert(), nb::arg("scores").noconvert() = nb::none())
      .def(
          "curvature_diagonal",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector curvature,
             MutableVector sum) {
            self.require(first, last);
            require_length(curvature, self.count(), "curvature");
            require_length(sum, self.weights(), "sum");
            nb::gil_scoped_release release;
            self.vector_sum(first, last, sum.data(),
                            [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                              const double* own = curvature.data() + begin;
                              if (!any(own, rows.count)) return;
                              part = self.buffers().zeros();
                              curvature_diagonal(rows, own, part.data(), 0, rows.count);
                            });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("curvature"), nb::arg("sum").noconvert())
      .def(
          "gram",
          [](BlockRows& self, std::int64_t first, std::int64_t last, Vector curvature,
             bool constant, MutableMatrix matrix, const nb::capsule& syrk,
             std::pair<double, std::int64_t> dense) {
            self.require(first, last);
            const std::int64_t side = self.weights() + (constant ? 1 : 0);
            require_length(curvature, self.count(), "curvature");
            require_shape(matrix, side, side, "matrix");
            const Syrk by_blas = syrk_of(syrk);
            nb::gil_scoped_release release;
            if (self.gram_by_lines(first, last, curvature.data(), constant, matrix.data(),
                                   dense.first)) {
              return;
            }
            Buffers packs(dense.second * side, static_cast<std::size_t>(self.pool().threads()));
            Buffers matrices(side * side, static_cast<std::size_t>(2 * self.pool().threads() + 2));
            self.summed(first, last, matrices, AddTriangle{side}, matrix.data(), side * side,
                        [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                          const double* own = curvature.data() + begin;
                          if (!any(own, rows.count)) return;
                          part = matrices.zeros();
                          const double stored = static_cast<double>(rows.total_nonzeros());
                          const double mean =
                              stored / static_cast<double>(std::max<std::int64_t>(rows.count, 1));
                          if (mean >= dense.first * static_cast<double>(side)) {
                            std::vector<double> packed = packs.any();
                            gram_by_blas(rows, own, constant, side, part.data(), 0, by_blas,
                                         dense.second, rows.count, packed.data());
                            packs.give_back(std::move(packed));
                            halve_diagonal(part.data(), side);
                          } else {
                            gram(rows, own, constant, side, part.data(), 0, rows.count);
                          }
                        });
          },
          nb::arg("first"), nb::arg("last"), nb::arg("curvature"), nb::arg("constant"),
          nb::arg("matrix").noconvert(), nb::arg("syrk"), nb::arg("dense"));
}

}  // namespace

void register_blocks(nb::module_& m) {
  nb::class_<Pool>(m, "Pool")
      .def(nb::init<int>(), nb::arg("threads"))
      .def_prop_ro("threads", &Pool::threads);
  nb::class_<BlockRows> blocks(m, "BlockRows");
  blocks.def(nb::init<const RowsHandle&, IndexVector, Pool&>(), nb::arg("rows"), nb::arg("cuts"),
             nb::arg("pool"), nb::keep_alive<1, 4>());
  m.def(
      "symmetrise_by_threads",
      [](Pool& pool, MutableMatrix matrix) {
        const auto side = static_cast<std::int64_t>(matrix.shape(0));
        require_shape(matrix, side, side, "matrix");
        nb::gil_scoped_release release;
        pool.run((side + symmetrise_step - 1) / symmetrise_step, [&](std::int64_t k) {
          symmetrise_lines(matrix.data(), side, k * symmetrise_step);
        });
      },
      nb::arg("pool"), nb::arg("matrix").noconvert());
  register_vectors(blocks);
  register_sums(blocks);
  register_curvature(blocks);
}

}  // namespace widemargin
