// Newton's method for several classes: rounded losses, tied classes, products with their matrix.
#include "losses/proximal_multiclass.hpp"
#include "multiclass_core.hpp"

namespace widemargin {

namespace {

void require_ties(const MulticlassCore& core, const Ties& ties, std::int64_t begin,
                  std::int64_t end) {
  require_range(begin, end, ties.count());
  if (ties.count() > 0 && ties.rows.back() >= core.rows_count()) {
    throw std::invalid_argument("ties of another number of examples");
  }
}

// The ties as compressed rows over all examples, where every tied class has the example's weight.
void read_ties(const Ties& ties, std::int64_t examples, std::int64_t* pointers,
               std::int32_t* classes, double* weight) {
  std::size_t t = 0;
  for (std::int64_t i = 0; i < examples; ++i) {
    pointers[i] = ties.pointers[t];
    if (t < ties.rows.size() && ties.rows[t] == i) {
      std::fill(weight + ties.pointers[t], weight + ties.pointers[t + 1], ties.weight[t]);
      ++t;
    }
  }
  pointers[examples] = ties.pointers[t];
  std::copy(ties.classes.begin(), ties.classes.end(), classes);
}

void write_ties(Ties& ties, std::int64_t examples, const std::int64_t* pointers,
                const std::int32_t* classes, const double* weight) {
  ties.clear();
  for (std::int64_t i = 0; i < examples; ++i) {
    const std::int64_t first = pointers[i], last = pointers[i + 1];
    if (first == last) continue;
    ties.rows.push_back(i);
    ties.classes.insert(ties.classes.end(), classes + first, classes + last);
    ties.pointers.push_back(static_cast<std::int64_t>(ties.classes.size()));
    ties.weight.push_back(weight[first]);
  }
}

}  // namespace

void register_multiclass_newton(nb::module_& m, MulticlassClass& multiclass) {
  nb::class_<Ties>(m, "Ties")
      .def(nb::init<>())
      .def_prop_ro("count", &Ties::count)
      .def_prop_ro("freedoms", &Ties::freedoms)
      .def_prop_ro("total", [](const Ties& ties) { return ties.classes.size(); })
      .def("clear", &Ties::clear)
      .def(
          "append",
          [](Ties& ties, const Ties& later) {
            if (&ties == &later ||
                (ties.count() > 0 && later.count() > 0 && later.rows.front() <= ties.rows.back())) {
              throw std::invalid_argument("ties must be of later examples");
            }
            nb::gil_scoped_release release;
            ties.append(later);
          },
          nb::arg("later"))
      .def(
          "read",
          [](const Ties& ties, MutableIndexVector pointers, MutableLabels classes,
             MutableVector weight) {
            const auto examples = static_cast<std::int64_t>(pointers.shape(0)) - 1;
            if (examples < (ties.count() > 0 ? ties.rows.back() + 1 : 0)) {
              throw std::invalid_argument("pointers are too short");
            }
            const auto total = static_cast<std::int64_t>(ties.classes.size());
            require_length(classes, total, "classes");
            require_length(weight, total, "weight");
            nb::gil_scoped_release release;
            read_ties(ties, examples, pointers.data(), classes.data(), weight.data());
          },
          nb::arg("pointers").noconvert(), nb::arg("classes").noconvert(),
          nb::arg("weight").noconvert())
      .def(
          "write",
          [](Ties& ties, IndexVector pointers, Labels classes, Vector weight,
             std::int64_t class_count) {
            if (pointers.shape(0) == 0) throw std::invalid_argument("pointers are too short");
            const auto examples = static_cast<std::int64_t>(pointers.shape(0)) - 1;
            require_csr(pointers, classes, static_cast<std::int64_t>(weight.shape(0)), examples,
                        class_count);
            nb::gil_scoped_release release;
            write_ties(ties, examples, pointers.data(), classes.data(), weight.data());
          },
          nb::arg("pointers"), nb::arg("classes"), nb::arg("weight"), nb::arg("class_count"))
      .def(
          "basis",
          [](const Ties& ties, MutableMatrix basis, MutableIndexVector owner) {
            require_length(basis, ties.freedoms(), "basis");
            require_length(owner, ties.freedoms(), "owner");
            const auto classes = static_cast<std::int64_t>(basis.shape(1));
            if (!ties.classes.empty() &&
                *std::max_element(ties.classes.begin(), ties.classes.end()) >= classes) {
              throw std::invalid_argument("basis must have one column per class");
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
            require_ties(core, ties, begin, end);
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
              throw std::invalid_argument("out must have one column per feature");
            }
            require_ties(core, ties, begin, end);
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
            require_ties(core, ties, begin, end);
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
