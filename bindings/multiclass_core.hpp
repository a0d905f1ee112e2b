// Python's `MulticlassCore`, and the checks of what its methods take. No mathematics here.
#pragma once

#include "arrays.hpp"
#include "projections/block_step.hpp"
#include "sweeps/block_dual_cd.hpp"

namespace widemargin {

using AnyRule = std::variant<WestonWatkins, CrammerSinger>;

inline AnyRule rule_named(std::string_view name) {
  if (name == "weston_watkins") return WestonWatkins{};
  if (name == "crammer_singer") return CrammerSinger{};
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
  MulticlassCore(const RowsHandle& rows, Labels label, Vector cost, Vector norms,
                 std::int64_t classes, const std::string& rule)
      : rows_(rows),
        rule_(rule_named(rule)),
        label_(std::move(label)),
        cost_(std::move(cost)),
        norms_(std::move(norms)) {
    if (classes < 2) throw std::invalid_argument("there must be two classes at least");
    require_labels(label_, rows.count(), classes);
    require_length(cost_, rows.count(), "cost");
    require_length(norms_, rows.count(), "squared_norms");
    data_ = {label_.data(), cost_.data(), norms_.data(), classes, rows.weights()};
  }

  const MulticlassData& data() const { return data_; }
  std::int64_t rows_count() const { return rows_.count(); }

  void require_duals(const BlockDuals& duals) const {
    if (duals.rows() != rows_.count()) {
      throw std::invalid_argument("dual variables of another number of examples");
    }
  }

  BlockIterate iterate(BlockDuals& duals, const MutableMatrix& weights,
                       const MutableVector& residual) const {
    require_duals(duals);
    require_weights(weights, data_.features, data_.classes);
    require_length(residual, data_.stride(), "residual");
    BlockIterate iterate;
    iterate.duals = &duals;
    iterate.weights = weights.data();
    iterate.residual = residual.data();
    return iterate;
  }

  // Calls visit(rows, rule).
  template <class Visit>
  auto visit(Visit&& visit) const {
    return std::visit(visit, rows_.view, rule_);
  }
  template <class Visit>
  auto visit_rows(Visit&& visit) const {
    return std::visit(visit, rows_.view);
  }
  template <class Visit>
  auto visit_rule(Visit&& visit) const {
    return std::visit(visit, rule_);
  }

 private:
  RowsHandle rows_;
  AnyRule rule_;
  Labels label_;
  Vector cost_, norms_;
  MulticlassData data_;
};

using MulticlassClass = nb::class_<MulticlassCore>;
void register_block_sweeps(nb::module_& m);
void register_multiclass_newton(nb::module_& m, MulticlassClass& multiclass);

}  // namespace widemargin
