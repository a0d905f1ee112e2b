#include "arrays.hpp"
#include "losses/multiclass_sums.hpp"
#include "losses/proximal_multiclass.hpp"
#include "projections/block_step.hpp"
#include "projections/class_transport.hpp"
#include "sweeps/block_dual_cd.hpp"
#include "sweeps/block_extrapolation.hpp"
#include "sweeps/plain_block_sweep.hpp"

namespace widemargin {
namespace {

using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableLabels = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Visit>
auto with_rule(std::string_view name, Visit&& visit) {
  if (name == "weston_watkins") return visit(WestonWatkins{});
  if (name == "crammer_singer") return visit(CrammerSinger{});
  throw std::invalid_argument("unknown rule '" + std::string(name) + "'");
}

template <class Array>
void require_weights(const Array& weights, std::int64_t features, std::int64_t classes) {
  if (static_cast<std::int64_t>(weights.shape(0)) != features ||
      static_cast<std::int64_t>(weights.shape(1)) != padded_classes(classes)) {
    throw std::invalid_argument("weights must have the shape (features, padded classes)");
  }
}

void require_labels(const Labels& label, std::int64_t count, std::int64_t classes) {
  require_length(label, count, "label");
  for (std::int64_t i = 0; i < count; ++i) {
    if (label.data()[i] < 0 || label.data()[i] >= classes) {
      throw std::invalid_argument("a label is out of range");
    }
  }
}

// The rows [begin, end) of dual variables: in order, within the arrays, fewer than there are
// classes each, of classes that exist.
void require_rows(const std::int64_t* pointers, const std::int32_t* classes, std::int64_t total,
                  std::int64_t begin, std::int64_t end, std::int64_t class_count) {
  bool good = pointers[begin] >= 0 && pointers[end] <= total;
  for (std::int64_t i = begin; good && i < end; ++i) {
    const std::int64_t count = pointers[i + 1] - pointers[i];
    good = count >= 0 && count <= class_count && pointers[i + 1] <= total;
  }
  if (good) {
    for (std::int64_t p = pointers[begin]; p < pointers[end]; ++p) {
      good = good && classes[p] >= 0 && classes[p] < class_count;
    }
  }
  if (!good) {
    throw std::invalid_argument("dual variables are not valid compressed rows");
  }
}

void require_csr(const IndexVector& pointers, const Labels& classes, std::int64_t values,
                 std::int64_t count, std::int64_t class_count) {
  require_length(pointers, count + 1, "pointers");
  const std::int64_t total = static_cast<std::int64_t>(classes.shape(0));
  if (values != total || pointers.data()[0] != 0 || pointers.data()[count] != total) {
    throw std::invalid_argument("dual variables are not valid compressed rows");
  }
  require_rows(pointers.data(), classes.data(), total, 0, count, class_count);
}

// Python's `MulticlassCore`: the data of a problem, checked once, and the loops over them.
class MulticlassCore {
 public:
  MulticlassCore(const RowsHandle& rows, const nb::object& label, const nb::object& cost,
                 const nb::object& norms, std::int64_t classes, const std::string& rule)
      : rows_(rows), rule_(rule), owners_{label, cost, norms} {
    const auto labels = nb::cast<Labels>(label, false);
    const auto costs = nb::cast<Vector>(cost, false);
    const auto squares = nb::cast<Vector>(norms, false);
    if (classes < 2) throw std::invalid_argument("there must be two classes at least");
    require_labels(labels, rows.count(), classes);
    require_length(costs, rows.count(), "cost");
    require_length(squares, rows.count(), "squared_norms");
    with_rule(rule, [](auto) { return 0; });
    data_ = {labels.data(), costs.data(), squares.data(), classes, rows.weights()};
  }

  const MulticlassData& data() const { return data_; }
  std::int64_t rows_count() const { return rows_.count(); }

  BlockIterate iterate(BlockDuals& duals, const MutableMatrix& weights,
                       const MutableVector& residual, const Vector& b, double rho) const {
    require_weights(weights, data_.features, data_.classes);
    require_length(residual, data_.stride(), "residual");
    require_length(b, data_.stride(), "b");
    if (duals.rows() != rows_.count()) {
      throw std::invalid_argument("dual variables of another number of examples");
    }
    BlockIterate iterate;
    iterate.duals = &duals;
    iterate.weights = weights.data();
    iterate.residual = residual.data();
    iterate.b = b.data();
    iterate.rho = rho;
    return iterate;
  }

  template <class Visit>
  auto visit(Visit&& visit) const {
    return std::visit(
        [&](const auto& rows) {
          return with_rule(rule_, [&](auto rule) { return visit(rows, rule); });
        },
        rows_.view);
  }

 private:
  RowsHandle rows_;
  std::string rule_;
  std::vector<nb::object> owners_;
  MulticlassData data_;
};

void take_active(BlockIterate& iterate, const MutableIndexVector& active, std::int64_t count,
                 const IndexVector& order, std::int64_t begin) {
  const auto room = static_cast<std::int64_t>(active.shape(0));
  if (count < 0 || count > room || begin < 0 || count > static_cast<std::int64_t>(order.shape(0))) {
    throw std::invalid_argument("active set out of range");
  }
  iterate.active = active.data();
  iterate.active_count = count;
}

auto as_tuple(const BlockReport& report) {
  return std::tuple(report.next, report.violation, report.gap_estimate, report.visited);
}

}  // namespace

void register_multiclass(nb::module_& m) {
  m.def("padded_classes", &padded_classes, nb::arg("classes"));

  m.def(
      "block_step",
      [](Vector v, double c, const std::string& rule, bool by_sorting, MutableVector out) {
        const auto count = static_cast<std::int64_t>(v.shape(0));
        require_length(out, count, "out");
        nb::gil_scoped_release release;
        std::vector<double> scratch(v.shape(0) + 1);
        with_rule(rule, [&](auto kind) {
          block_step<decltype(kind)>(v.data(), count, c, by_sorting, out.data(), scratch.data());
          return 0;
        });
      },
      nb::arg("v"), nb::arg("c"), nb::arg("rule"), nb::arg("by_sorting"),
      nb::arg("out").noconvert());

  m.def(
      "fill_order",
      [](MutableIndexVector order, std::int64_t count, std::uint64_t seed) {
        if (count < 0 || count > static_cast<std::int64_t>(order.shape(0))) {
          throw std::invalid_argument("active set out of range");
        }
        nb::gil_scoped_release release;
        fill_order(order.data(), count, seed);
      },
      nb::arg("order").noconvert(), nb::arg("count"), nb::arg("seed"));

  m.def(
      "make_feasible",
      [](const std::string& rule, IndexVector pointers, Labels classes, MutableVector values,
         Labels label, Vector cost, std::int64_t class_count) {
        const auto count = static_cast<std::int64_t>(cost.shape(0));
        require_length(label, count, "label");
        require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), count,
                    class_count);
        nb::gil_scoped_release release;
        with_rule(rule, [&](auto kind) {
          make_feasible<decltype(kind)>(pointers.data(), classes.data(), values.data(),
                                        label.data(), cost.data(), count);
          return 0;
        });
      },
      nb::arg("rule"), nb::arg("pointers"), nb::arg("classes"), nb::arg("values").noconvert(),
      nb::arg("label"), nb::arg("cost"), nb::arg("class_count"));

  m.def(
      "lower_residual",
      [](IndexVector pointers, Labels classes, MutableVector values, Labels label,
         MutableVector residual) {
        const auto count = static_cast<std::int64_t>(label.shape(0));
        const auto class_count = static_cast<std::int64_t>(residual.shape(0));
        require_labels(label, count, class_count);
        require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), count,
                    class_count);
        nb::gil_scoped_release release;
        ClassTransport(pointers.data(), classes.data(), label.data(), count, class_count)
            .lower(values.data(), residual.data());
      },
      nb::arg("pointers"), nb::arg("classes"), nb::arg("values").noconvert(), nb::arg("label"),
      nb::arg("residual").noconvert());

  nb::class_<BlockDuals>(m, "BlockDuals")
      .def(nb::init<std::int64_t, std::int64_t>(), nb::arg("rows"), nb::arg("classes"))
      .def_prop_ro("total", &BlockDuals::total)
      .def_prop_ro("sum", &BlockDuals::sum)
      .def(
          "read",
          [](const BlockDuals& duals, MutableIndexVector pointers, MutableLabels classes,
             MutableVector values) {
            require_length(pointers, duals.rows() + 1, "pointers");
            require_length(classes, duals.total(), "classes");
            require_length(values, duals.total(), "values");
            nb::gil_scoped_release release;
            std::int64_t place = 0;
            for (std::int64_t i = 0; i < duals.rows(); ++i) {
              pointers.data()[i] = place;
              std::copy_n(duals.classes(i), duals.count(i), classes.data() + place);
              std::copy_n(duals.values(i), duals.count(i), values.data() + place);
              place += duals.count(i);
            }
            pointers.data()[duals.rows()] = place;
          },
          nb::arg("pointers").noconvert(), nb::arg("classes").noconvert(),
          nb::arg("values").noconvert())
      .def(
          "write",
          [](BlockDuals& duals, IndexVector pointers, Labels classes, Vector values,
             std::int64_t class_count) {
            require_csr(pointers, classes, static_cast<std::int64_t>(values.shape(0)), duals.rows(),
                        class_count);
            nb::gil_scoped_release release;
            for (std::int64_t i = 0; i < duals.rows(); ++i) {
              const std::int64_t first = pointers.data()[i];
              const std::int64_t count = pointers.data()[i + 1] - first;
              if (count >= class_count) {
                throw std::invalid_argument("more dual variables than rival classes");
              }
              duals.assign(i, classes.data() + first, values.data() + first, count);
            }
          },
          nb::arg("pointers"), nb::arg("classes"), nb::arg("values"), nb::arg("class_count"))
      .def(
          "copy_from",
          [](BlockDuals& duals, const BlockDuals& other, IndexVector span) {
            if (duals.rows() != other.rows()) {
              throw std::invalid_argument("dual variables of another number of examples");
            }
            nb::gil_scoped_release release;
            for (std::size_t t = 0; t < span.shape(0); ++t) {
              const std::int64_t i = span.data()[t];
              if (i < 0 || i >= duals.rows()) {
                throw std::invalid_argument("an example is out of range");
              }
              duals.copy_from(other, i);
            }
          },
          nb::arg("other"), nb::arg("span"));

  nb::class_<Ties>(m, "Ties")
      .def(nb::init<>())
      .def_prop_ro("count", &Ties::count)
      .def("clear", &Ties::clear)
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

  nb::class_<MulticlassCore>(m, "MulticlassCore")
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
            core.visit([&](const auto& rows, auto) {
              score_matrix(rows, weights.data(), start.data(), data.stride(), out.data(), begin,
                           end);
              return 0;
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
            if (center.rows() != core.rows_count() || fresh.rows() != core.rows_count()) {
              throw std::invalid_argument("dual variables of another number of examples");
            }
            ProximalSums sums;
            {
              nb::gil_scoped_release release;
              sums = core.visit([&](const auto&, auto rule) {
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
            if (center.rows() != core.rows_count()) {
              throw std::invalid_argument("dual variables of another number of examples");
            }
            ProximalSums sums;
            {
              nb::gil_scoped_release release;
              sums = core.visit([&](const auto&, auto rule) {
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
            core.visit([&](const auto& rows, auto) {
              tied_product(rows, ties, data.classes, intercept, data.features, direction.data(),
                           out.data(), begin, end);
              return 0;
            });
          },
          nb::arg("ties"), nb::arg("intercept"), nb::arg("direction"), nb::arg("out").noconvert(),
          nb::arg("begin"), nb::arg("end"))
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
            core.visit([&](const auto& rows, auto) {
              tied_matrix(rows, ties, data.classes, intercept, data.features, matrix.data(), begin,
                          end);
              return 0;
            });
          },
          nb::arg("ties"), nb::arg("intercept"), nb::arg("matrix").noconvert(), nb::arg("begin"),
          nb::arg("end"))
      .def(
          "combine",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix combination,
             MutableVector residual, std::int64_t begin, std::int64_t end) {
            const MulticlassData& data = core.data();
            BlockIterate iterate =
                core.iterate(duals, combination, residual, Vector(residual), 1.0);
            require_range(begin, end, core.rows_count());
            nb::gil_scoped_release release;
            core.visit([&](const auto& rows, auto) {
              BlockScratch scratch(data.stride());
              for (std::int64_t i = begin; i < end; ++i) {
                if (duals.count(i) > 0) {
                  move_weights(rows, i, data.label[i], duals.classes(i), duals.values(i),
                               duals.count(i), iterate, data.stride(), scratch);
                }
              }
              return 0;
            });
          },
          nb::arg("duals"), nb::arg("combination").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("begin"), nb::arg("end"))
      .def(nb::init<const RowsHandle&, const nb::object&, const nb::object&, const nb::object&,
                    std::int64_t, const std::string&>(),
           nb::arg("rows"), nb::arg("label"), nb::arg("cost"), nb::arg("squared_norms"),
           nb::arg("classes"), nb::arg("rule"))
      .def(
          "losses",
          [](const MulticlassCore& core, Matrix weights, Vector start, IndexVector pointers,
             Labels classes, Vector values, MutableMatrix combination, std::int64_t begin,
             std::int64_t end) {
            const MulticlassData& data = core.data();
            require_weights(weights, data.features, data.classes);
            require_weights(combination, data.features, data.classes);
            require_length(start, data.stride(), "start");
            require_range(begin, end, core.rows_count());
            require_length(pointers, core.rows_count() + 1, "pointers");
            const auto total = static_cast<std::int64_t>(classes.shape(0));
            require_length(values, total, "values");
            nb::gil_scoped_release release;
            require_rows(pointers.data(), classes.data(), total, begin, end, data.classes);
            return core.visit([&](const auto& rows, auto rule) {
              return multiclass_losses<decltype(rule)>(
                  rows, weights.data(), start.data(), data.classes, data.label, data.cost,
                  SparseDuals{pointers.data(), classes.data(), values.data()}, combination.data(),
                  begin, end);
            });
          },
          nb::arg("weights"), nb::arg("start"), nb::arg("pointers"), nb::arg("classes"),
          nb::arg("values"), nb::arg("combination").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def(
          "sweep",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, MutableIndexVector active,
             std::int64_t active_count, IndexVector order, std::int64_t begin, std::int64_t budget,
             double slack, bool listed_only) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            take_active(iterate, active, active_count, order, begin);
            BlockReport report;
            {
              nb::gil_scoped_release release;
              report = core.visit([&](const auto& rows, auto rule) {
                return block_sweep<decltype(rule)>(rows, core.data(), iterate, slack, listed_only,
                                                   order.data(), begin, budget);
              });
            }
            return as_tuple(report);
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("active").noconvert(), nb::arg("active_count"),
          nb::arg("order"), nb::arg("begin"), nb::arg("budget"), nb::arg("slack"),
          nb::arg("listed_only"))
      .def(
          "plain_sweep",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, MutableIndexVector active,
             std::int64_t active_count, IndexVector order, std::int64_t begin, std::int64_t budget,
             double threshold) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            take_active(iterate, active, active_count, order, begin);
            BlockReport report;
            {
              nb::gil_scoped_release release;
              report = core.visit([&](const auto& rows, auto rule) {
                return plain_block_sweep<decltype(rule)>(rows, core.data(), iterate, threshold,
                                                         order.data(), begin, budget);
              });
            }
            return as_tuple(report);
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("active").noconvert(), nb::arg("active_count"),
          nb::arg("order"), nb::arg("begin"), nb::arg("budget"), nb::arg("threshold"))
      .def(
          "extrapolate",
          [](const MulticlassCore& core, BlockDuals& duals, MutableMatrix weights,
             MutableVector residual, Vector b, double rho, const BlockDuals& before,
             Matrix weights_before, Vector residual_before, IndexVector span,
             MutableMatrix scratch) {
            BlockIterate iterate = core.iterate(duals, weights, residual, b, rho);
            require_weights(weights_before, core.data().features, core.data().classes);
            require_weights(scratch, core.data().features, core.data().classes);
            require_length(residual_before, core.data().stride(), "residual_before");
            if (before.rows() != core.rows_count()) {
              throw std::invalid_argument("dual variables of another number of examples");
            }
            for (std::size_t t = 0; t < span.shape(0); ++t) {
              if (span.data()[t] < 0 || span.data()[t] >= core.rows_count()) {
                throw std::invalid_argument("an example is out of range");
              }
            }
            nb::gil_scoped_release release;
            return core.visit([&](const auto& rows, auto rule) {
              return block_extrapolate<decltype(rule)>(
                  rows, core.data(), iterate, before, weights_before.data(), residual_before.data(),
                  span.data(), static_cast<std::int64_t>(span.shape(0)), scratch.data());
            });
          },
          nb::arg("duals"), nb::arg("weights").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("b"), nb::arg("rho"), nb::arg("before"), nb::arg("weights_before"),
          nb::arg("residual_before"), nb::arg("span"), nb::arg("scratch").noconvert());
}

}  // namespace widemargin
