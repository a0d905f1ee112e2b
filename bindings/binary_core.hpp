// Python's `BinaryCore`: the data of a binary problem, checked once.
#pragma once

#include "arrays.hpp"
#include "losses/sums.hpp"
#include "sweeps/dual_cd.hpp"
#include "sweeps/newton_step.hpp"

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
  const double* cost() const { return cost_.data(); }
  Examples data() const { return {y_.data(), cost_.data(), count()}; }

  // Calls visit(rows, terms), or visit(terms), with the dual terms of the loss.
  template <class Visit>
  auto visit_terms(Visit&& visit) const {
    return std::visit([&](const auto& rows,
                          auto loss) { return visit(rows, MarginTerms<decltype(loss)>{data()}); },
                      rows_.view, loss_);
  }
  template <class Visit>
  auto visit_only_terms(Visit&& visit) const {
    return std::visit([&](auto loss) { return visit(MarginTerms<decltype(loss)>{data()}); }, loss_);
  }
  template <class Visit>
  auto visit_rows(Visit&& visit) const {
    return std::visit(visit, rows_.view);
  }
  // Calls visit(sums) with those of the loss, which must be smooth.
  template <class Visit>
  auto visit_sums(Visit&& visit) const {
    return with_smooth_loss(loss_,
                            [&](auto loss) { return visit(MarginSums<decltype(loss)>{data()}); });
  }
  ProximalHinge proximal(const double* center, double h) const { return {data(), center, h}; }

 private:
  RowsHandle rows_;
  AnyLoss loss_;
  Vector y_, cost_;
};

using BinaryClass = nb::class_<BinaryCore>;

}  // namespace widemargin
