// Python's rows of which only the places of the stored values are given: they are all one.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "rows/ones.hpp"

namespace widemargin {

class OnesHandle {
 public:
  using Any = std::variant<OnesRows<std::int32_t>, OnesRows<std::int64_t>>;

  OnesHandle(const nb::object& indices, const nb::object& pointers, std::int64_t width)
      : owners_{indices, pointers} {
    if (!open<std::int32_t>(width) && !open<std::int64_t>(width)) {
      throw std::invalid_argument("indices and row pointers must both be int32 or both int64");
    }
  }

  const Any& view() const { return view_; }
  const std::vector<nb::object>& owners() const { return owners_; }
  std::int64_t count() const {
    return std::visit([](const auto& rows) { return rows.count; }, view_);
  }
  std::int64_t width() const {
    return std::visit([](const auto& rows) { return rows.width; }, view_);
  }
  std::int64_t nonzeros() const { return stored(0, count()); }

  // Each value is its own square.
  void squared_norms(MutableVector out, std::int64_t begin, std::int64_t end) const {
    require_length(out, count(), "out");
    require_range(begin, end, count());
    for (std::int64_t i = begin; i < end; ++i) {
      out.data()[i] = static_cast<double>(stored(i, i + 1));
    }
  }
  double total(std::int64_t begin, std::int64_t end) const {
    require_range(begin, end, count());
    return static_cast<double>(stored(begin, end));
  }

 private:
  std::vector<nb::object> owners_;
  Any view_;

  std::int64_t stored(std::int64_t begin, std::int64_t end) const {
    return std::visit(
        [&](const auto& rows) -> std::int64_t {
          return begin < end ? rows.pointers[end] - rows.pointers[begin] : 0;
        },
        view_);
  }

  template <class Index>
  bool open(std::int64_t width) {
    using Indices = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    Indices indices, pointers;
    if (!nb::try_cast(owners_[0], indices, false) || !nb::try_cast(owners_[1], pointers, false)) {
      return false;
    }
    const auto count = static_cast<std::int64_t>(pointers.shape(0)) - 1;
    const OnesRows<Index> rows{indices.data(), pointers.data(), count, width};
    if (count < 0 || rows.pointers[0] != 0) {
      throw std::invalid_argument("row pointers do not begin with zero");
    }
    require_in_order(rows, static_cast<std::int64_t>(indices.shape(0)));
    view_ = rows;
    return true;
  }

  template <class Index>
  static void require_in_order(const OnesRows<Index>& rows, std::int64_t stored) {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const Index begin = rows.pointers[i], end = rows.pointers[i + 1];
      bool good = begin <= end && end <= stored;
      for (Index e = begin; good && e < end; ++e) {
        good = rows.indices[e] >= (e == begin ? Index{0} : rows.indices[e - 1] + 1) &&
               rows.indices[e] < rows.width;
      }
      if (!good) throw std::invalid_argument("columns of a row must be ascending and in range");
    }
  }
};

}  // namespace widemargin
