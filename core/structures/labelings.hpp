// Labelings with a share each: the dual variables of one sentence that are not zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace widemargin {

using ShortLabel = std::uint16_t;

// Shares of labelings of one sentence other than its own; what they lack to one is the share of its
// own labeling, which has no mistakes and adds nothing to the weights. With psi(y) the features of
// the sentence's own labeling minus those of y, the inner products of all psi are kept as a
// triangle, if they are.
struct Labelings {
  std::vector<double> share;
  std::vector<double> before;      // shares at the last mark; see ChainSweep::mark
  std::vector<ShortLabel> labels;  // one labeling after the other
  std::vector<double> products;    // line j: with the labelings 0 ... j

  std::int64_t count() const { return std::ssize(share); }
  const ShortLabel* labeling(std::int64_t j, std::int64_t length) const {
    return labels.data() + j * length;
  }
  static std::int64_t line(std::int64_t j) { return j * (j + 1) / 2; }
  double product(std::int64_t i, std::int64_t j) const {
    return products[i < j ? line(j) + i : line(i) + j];
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
    before.push_back(0.0);
    labels.insert(labels.end(), y, y + length);
  }

  void drop_unused(std::int64_t length) {
    std::vector<std::int64_t> used;
    for (std::int64_t j = 0; j < count(); ++j) {
      if (share[j] > 0.0 || before[j] > 0.0) used.push_back(j);
    }
    const std::int64_t kept = std::ssize(used);
    if (kept == count()) return;
    const bool with_products = !products.empty();
    for (std::int64_t j = 0; j < kept; ++j) {
      share[j] = share[used[j]];
      before[j] = before[used[j]];
      std::copy_n(labeling(used[j], length), length, labels.begin() + j * length);
      for (std::int64_t i = 0; with_products && i <= j; ++i) {
        products[line(j) + i] = products[line(used[j]) + used[i]];
      }
    }
    share.resize(static_cast<std::size_t>(kept));
    before.resize(static_cast<std::size_t>(kept));
    labels.resize(static_cast<std::size_t>(kept * length));
    if (with_products) products.resize(static_cast<std::size_t>(line(kept)));
  }
};

}  // namespace widemargin
