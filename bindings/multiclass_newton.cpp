// Newton's method for several classes: rounded losses, tied classes, products with their matrix.
#include "losses/proximal_multiclass.hpp"
#include "multiclass_core.hpp"

namespace widemargin {

void register_multiclass_newton(nb::module_& m, MulticlassClass& multiclass) {
  nb::class_<Ties>(m, "Ties")
      .def(nb::init<>())
      .def_prop_ro("count", &Ties::count)
      .def_prop_ro("freedoms", &Ties::freedoms)
      .def("clear", &Ties::clear)
      .def(
          "basis",
          [](const Ties& ties, MutableMatrix basis, MutableIndexVector owner) {
            require_length(basis, ties.freedoms(), "basis");
            require_length(owner, ties.freedoms(), "owner");
            const auto classes = static_cast<std::int64_t>(basis.shape(1));
            if (!ties.classes.empty() &&
                *std::max_element(ties.classes.begin(), ties.classes.end()) >= classes) {
              throw std::invalid_argument("basis must have a column a class");
            }
            nb::gil_scoped_release release;
            std::fill_n(basis.data(), basis.size(), 0.0);
            tied_basis(ties, classes, basis.data(), owner.data());
          },
          nb::arg("basis").noconvert(), nb::arg("owner").noconvert())
      .def(
          "curvature",
          [](const Ties& ties, std::int32_t place, MutableVector out) {
            nb::gil_scoped_release release;
            std::fill_n(out.data(), out.shape(0), 0.0);
            for (std::int64_t t = 0; t < ties.count(); ++t) {
              const auto first = ties.classes.begin() + ties.pointers[static_cast<std::size_t>(t)];
              const auto last =
                  ties.classes.begin() + ties.pointers[static_cast<std::size_t>(t) + 1];
              const std::int64_t row = ties.rows[static_cast<std::size_t>(t)];
              if (row >= static_cast<std::int64_t>(out.shape(0))) {
                throw std::invalid_argument("out is too short");
              }
              if (std::find(first, last, place) != last) {
                out.data()[row] = ties.weight[static_cast<std::size_t>(t)] *
                                  (1.0 - 1.0 / static_cast<double>(last - first));
              }
            }
          },
          nb::arg("place"), nb::arg("out").noconvert());

  multiclass
      .def(
          "scores",
          [](const MulticlassCore& core, Matrix weights, Vector start, MutableMatrix out,
             std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            require_weights(weights, data.features, data.classes);
            require_weights(out, core.rows_count(), data.classes);
            require_length(start, data.stride(), "start");
            require_range(begin, end, core.rows_count());
            nb::gil_scoped_release release;
            core.visit_rows([&](const auto& rows) {
              score_matrix(rows, weights.data(), start.data(), data.stride(), out.data(), begin,
                           end);
            });
          },
          nb::arg("weights"), nb::arg("start"), nb::arg("out").noconvert(), nb::arg("begin"),
          nb::arg("end"))
      .def(
          "proximal_terms",
          [](const MulticlassCore& core, const BlockDuals& center, double width, Matrix scores,
             BlockDuals& fresh, Ties& ties, std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            require_weights(scores, core.rows_count(), data.classes);
            require_range(begin, end, core.rows_count());
            core.require_duals(center);
            core.require_duals(fresh);
            ProximalSums sums;
            {
              nb::gil_scoped_release release;
              sums = core.visit_rule([&](auto rule) {
                return proximal_terms<decltype(rule)>(
                    ProximalData{data.label, data.cost, data.classes}, center, width, scores.data(),
                    nullptr, 0.0, &fresh, &ties, begin, end);
              });
            }
            return std::tuple(sums.losses, sums.mismatch);
          },
          nb::arg("center"), nb::arg("width"), nb::arg("scores"), nb::arg("fresh"), nb::arg("ties"),
          nb::arg("begin"), nb::arg("end"))
      .def(
          "proximal_derivatives",
          [](const MulticlassCore& core, const BlockDuals& center, double width, Matrix scores,
             Matrix slopes, double step, std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            require_range(begin, end, core.rows_count());
            require_weights(scores, core.rows_count(), data.classes);
            require_weights(slopes, core.rows_count(), data.classes);
            core.require_duals(center);
            ProximalSums sums;
            {
              nb::gil_scoped_release release;
              sums = core.visit_rule([&](auto rule) {
                return proximal_terms<decltype(rule)>(
                    ProximalData{data.label, data.cost, data.classes}, center, width, scores.data(),
                    slopes.data(), step, nullptr, nullptr, begin, end);
              });
            }
            return std::tuple(sums.slope, sums.curvature);
          },
          nb::arg("center"), nb::arg("width"), nb::arg("scores"), nb::arg("slopes"),
          nb::arg("step"), nb::arg("begin"), nb::arg("end"))
      .def(
          "tied_product",
          [](const MulticlassCore& core, const Ties& ties, bool intercept, Matrix direction,
             MutableMatrix out, std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            require_range(begin, end, ties.count());
            require_weights(direction, data.features + (intercept ? 1 : 0), data.classes);
            require_weights(out, data.features + (intercept ? 1 : 0), data.classes);
            nb::gil_scoped_release release;
            core.visit_rows([&](const auto& rows) {
              tied_product(rows, ties, data.classes, intercept, data.features, direction.data(),
                           out.data(), begin, end);
            });
          },
          nb::arg("ties"), nb::arg("intercept"), nb::arg("direction"), nb::arg("out").noconvert(),
          nb::arg("begin"), nb::arg("end"))
      .def(
          "tied_rows",
          [](const MulticlassCore& core, const Ties& ties, MutableMatrix out, std::int64_t begin,
             std::int64_t end) {
            const MulticlassData& data = core.data();
            require_length(out, ties.count(), "out");
            if (static_cast<std::int64_t>(out.shape(1)) != data.features) {
              throw std::invalid_argument("out must have a column a feature");
            }
            require_range(begin, end, ties.count());
            nb::gil_scoped_release release;
            core.visit_rows([&](const auto& rows) {
              tied_rows(rows, ties, data.features, out.data(), begin, end);
            });
          },
          nb::arg("ties"), nb::arg("out").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "tied_matrix",
          [](const MulticlassCore& core, const Ties& ties, bool intercept, MutableMatrix matrix,
             std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            const std::int64_t side = (data.features + (intercept ? 1 : 0)) * data.classes;
            require_length(matrix, side, "matrix");
            if (static_cast<std::int64_t>(matrix.shape(1)) != side) {
              throw std::invalid_argument("matrix must be square");
            }
            require_range(begin, end, ties.count());
            nb::gil_scoped_release release;
            core.visit_rows([&](const auto& rows) {
              tied_matrix(rows, ties, data.classes, intercept, data.features, matrix.data(), begin,
                          end);
            });
          },
          nb::arg("ties"), nb::arg("intercept"), nb::arg("matrix").noconvert(), nb::arg("begin"),
          nb::arg("end"))
      .def(
          "combine",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix combination,
             MutableVector residual, std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            BlockIterate iterate = core.iterate(duals, combination, residual);
            iterate.rho = 1.0;  // so that the residual is summed, too
            require_range(begin, end, core.rows_count());
            nb::gil_scoped_release release;
            core.visit_rows([&](const auto& rows) {
              BlockScratch scratch(data.stride());
              for (std::int64_t i = begin; i < end; ++i) {
                if (duals.count(i) > 0) {
                  move_weights(rows, i, data.label[i], duals.classes(i), duals.values(i),
                               duals.count(i), iterate, data.stride(), scratch);
                }
              }
            });
          },
          nb::arg("duals"), nb::arg("combination").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("begin"), nb::arg("end"));
}

}  // namespace widemargin
