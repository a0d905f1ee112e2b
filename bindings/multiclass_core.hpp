// Python's `MulticlassCore`, and the checks of what its methods take. No mathematics here.
#pragma once

#include "arrays.hpp"
#include "projections/block_step.hpp"
#include "sweeps/block_dual_cd.hpp"

namespace widemargin {

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

inline void require_labels(const Labels& label, std::int64_t count, std::int64_t classes) {
  require_length(label, count, "label");
  for (std::int64_t i = 0; i < count; ++i) {
    if (label.data()[i] < 0 || label.data()[i] >= classes) {
      throw std::invalid_argument("a label is out of range");
    }
  }
}

// The rows [begin, end) of dual variables: in order, within the arrays, fewer than there are
// classes each, of classes that exist.
inline void require_rows(const std::int64_t* pointers, const std::int32_t* classes,
                         std::int64_t total, std::int64_t begin, std::int64_t end,
                         std::int64_t class_count) {
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

inline void require_csr(const IndexVector& pointers, const Labels& classes, std::int64_t values,
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

using MulticlassClass = nb::class_<MulticlassCore>;
void register_multiclass_newton(nb::module_& m, MulticlassClass& multiclass);

}  // namespace widemargin
