// Labelings with a share each: the dual variables of one sentence that are not zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/labeling_cells.hpp"

namespace widemargin {

using ShortLabel = std::uint16_t;

// Shares of labelings of one sentence other than its own; what they lack to one is the share of its
// own labeling, which has no mistakes and adds nothing to the weights. With psi(y) the features of
// the sentence's own labeling minus those of y, the inner products of all psi are kept as a
// square matrix, if they are.
struct Labelings {
  std::vector<double> share;
  std::vector<double> average;     // of the shares after recent passes; empty if there is none
  std::vector<ShortLabel> labels;  // one labeling after the other
  std::vector<double> products;    // line by line
  LabelingCells cells;             // of all of them

  std::int64_t count() const { return std::ssize(share); }
  const ShortLabel* labeling(std::int64_t j, std::int64_t length) const {
    return labels.data() + j * length;
  }
  const double* line(std::int64_t j) const { return products.data() + j * count(); }
  bool with_products() const { return count() > 0 && !products.empty(); }

  WIDEMARGIN_INLINE void prefetch() const {
    prefetch_all(share);
    prefetch_all(products);
    cells.prefetch();
  }

  // The place of a labeling, or -1.
  std::int64_t find(const ShortLabel* y, std::int64_t length) const {
    for (std::int64_t j = 0; j < count(); ++j) {
      if (std::equal(y, y + length, labeling(j, length))) return j;
    }
    return -1;
  }
  void add(const ShortLabel* y, std::int64_t length) {
    share.push_back(0.0);
    if (!average.empty()) average.push_back(0.0);
    labels.insert(labels.end(), y, y + length);
    cells.forget();
  }

  bool used(std::int64_t j) const {
    return share[j] > 0.0 || (!average.empty() && average[j] > 0.0);
  }

  void drop_unused(std::int64_t length) {
    std::vector<std::int64_t> used;
    for (std::int64_t j = 0; j < count(); ++j) {
      if (this->used(j)) used.push_back(j);
    }
    const std::int64_t kept = std::ssize(used);
    if (kept == count()) return;
    cells.forget();
    for (std::int64_t j = 0; j < kept; ++j) {
      for (std::int64_t l = 0; l < kept && with_products(); ++l) {
        products[j * kept + l] = products[used[j] * count() + used[l]];
      }
      std::copy_n(labeling(used[j], length), length, labels.begin() + j * length);
      share[j] = share[used[j]];
      if (!average.empty()) average[j] = average[used[j]];
    }
    if (!average.empty()) average.resize(static_cast<std::size_t>(kept));
    if (with_products()) products.resize(static_cast<std::size_t>(kept * kept));
    share.resize(static_cast<std::size_t>(kept));
    labels.resize(static_cast<std::size_t>(kept * length));
  }
};

}  // namespace widemargin
