// Python's `BinaryCore`: the data of a binary problem, checked once.
#pragma once

#include "arrays.hpp"
#include "losses/sums.hpp"

namespace widemargin {

class BinaryCore {
 public:
  BinaryCore(const RowsHandle& rows, const std::string& loss, Vector y, Vector cost)
      : rows_(rows), loss_(loss_named(loss)), y_(std::move(y)), cost_(std::move(cost)) {
    require_length(y_, count(), "y");
    require_length(cost_, count(), "cost");
  }

  std::int64_t count() const { return rows_.count(); }
  std::int64_t weights() const { return rows_.weights(); }
  Examples data() const { return {y_.data(), cost_.data(), count()}; }

  // Calls visit(rows, loss).
  template <class Visit>
  auto visit(Visit&& visit) const {
    return std::visit(visit, rows_.view, loss_);
  }
  template <class Visit>
  auto visit_rows(Visit&& visit) const {
    return std::visit(visit, rows_.view);
  }
  template <class Visit>
  auto visit_loss(Visit&& visit) const {
    return std::visit(visit, loss_);
  }
  template <class Visit>
  auto visit_smooth_loss(Visit&& visit) const {
    return with_smooth_loss(loss_, visit);
  }

 private:
  RowsHandle rows_;
  AnyLoss loss_;
  Vector y_, cost_;
};

using BinaryClass = nb::class_<BinaryCore>;

}  // namespace widemargin
