// One random matrix in every layout that rows can have, beside the plain one to compare with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "check.hpp"
#include "rows/csr.hpp"
#include "rows/dense.hpp"

namespace checks {

// What a view should be a view of: `entries` is row after row, with the constant feature.
struct Plain {
  std::int64_t count, width;
  std::vector<double> entries;
  double at(std::int64_t i, std::int64_t j) const {
    return entries[static_cast<std::size_t>(i * width + j)];
  }
};

// The arrays behind the views; rows are wider apart than they are wide, columns in any order.
template <class T, class Index>
struct Layouts {
  std::int64_t count, width;
  double bias;
  bool ordered;  // rows that store every column store them in order
  std::vector<T> dense, values;
  std::vector<Index> indices, pointers{0};
  std::vector<std::int64_t> subset;

  static constexpr std::int64_t gap = 3;

  Layouts(std::int64_t n, std::int64_t d, double density, double constant, Random& random,
          bool sorted = false)
      : count(n),
        width(d),
        bias(constant),
        ordered(sorted),
        dense(static_cast<std::size_t>(n * (d + gap)), T(99)) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(d));
    for (std::int64_t j = 0; j < d; ++j) order[static_cast<std::size_t>(j)] = j;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = sorted ? 0 : d - 1; j > 0; --j) {
        std::swap(order[static_cast<std::size_t>(j)],
                  order[static_cast<std::size_t>(random.below(j + 1))]);
      }
      T* row = dense.data() + i * (d + gap);
      std::fill_n(row, d, T(0));
      for (const std::int64_t j : order) {
        if (random.unit() >= density) continue;
        row[j] = static_cast<T>(random.symmetric());
        values.push_back(row[j]);
        indices.push_back(static_cast<Index>(j));
      }
      pointers.push_back(static_cast<Index>(values.size()));
    }
    for (std::int64_t i = 0; i < n; ++i) subset.push_back(random.below(n));
  }

  widemargin::DenseRows<T> as_dense(bool some) const {
    return {dense.data(), count, width, width + gap, bias, some ? subset.data() : nullptr};
  }
  widemargin::CsrRows<T, Index> as_csr(bool some) const {
    const std::int64_t* chosen = some ? subset.data() : nullptr;
    return {values.data(), indices.data(), pointers.data(), count, width, bias, chosen, ordered};
  }
  Plain plain(bool some) const {
    Plain matrix{count, width + (bias != 0.0 ? 1 : 0), {}};
    for (std::int64_t i = 0; i < count; ++i) {
      const T* row =
          dense.data() + (some ? subset[static_cast<std::size_t>(i)] : i) * (width + gap);
      for (std::int64_t j = 0; j < width; ++j)
        matrix.entries.push_back(static_cast<double>(row[j]));
      if (bias != 0.0) matrix.entries.push_back(bias);
    }
    return matrix;
  }
};

// Calls visit(rows, plain) for the views that `layout` makes: whole and of some rows, with and
// without a constant feature. With a density of one, columns are in order, and known to be.
template <class T, class Index, class Layout, class Visit>
void for_views(std::int64_t n, std::int64_t d, double density, Layout&& layout, Visit&& visit) {
  for (const double bias : {0.0, 0.7}) {
    Random random(static_cast<std::uint64_t>(n * 1000 + d));
    const Layouts<T, Index> layouts(n, d, density, bias, random, density == 1.0);
    for (const bool some : {false, true}) visit(layout(layouts, some), layouts.plain(some));
  }
}

template <class T, class Visit>
void for_dense(std::int64_t n, std::int64_t d, double density, Visit&& visit) {
  const auto layout = [](const auto& layouts, bool some) { return layouts.as_dense(some); };
  for_views<T, std::int32_t>(n, d, density, layout, visit);
}

template <class T, class Index, class Visit>
void for_csr(std::int64_t n, std::int64_t d, double density, Visit&& visit) {
  const auto layout = [](const auto& layouts, bool some) { return layouts.as_csr(some); };
  for_views<T, Index>(n, d, density, layout, visit);
}

}  // namespace checks
