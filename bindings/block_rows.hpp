// Rows cut into blocks, worked on by threads.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "blocks.hpp"
#include "kernels/products.hpp"
#include "rows/parts.hpp"

namespace widemargin {

constexpr std::int64_t piece_rows = 1024;  // for work that adds up nothing over rows

struct AddAll {
  std::int64_t length;
  void operator()(double* left, const double* right) const { (*this)(left, right, 0, length); }
  void operator()(double* left, const double* right, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t j = begin; j < end; ++j) left[j] += right[j];
  }
};

// One triangle of a matrix, the other of which is zero.
struct AddTriangle {
  std::int64_t side;
  void operator()(double* left, const double* right) const {
    for (std::int64_t i = 0; i < side; ++i) {
      for (std::int64_t j = i * side + i; j < (i + 1) * side; ++j) left[j] += right[j];
    }
  }
};

// High parts, then low ones: nothing of the sum is lost but the tail.
struct AddPairs {
  std::int64_t length;
  void operator()(double* left, const double* right) const {
    for (std::int64_t j = 0; j < length; ++j) {
      const double total = left[j] + right[j], moved = total - left[j];
      const double lost = (left[j] - (total - moved)) + (right[j] - moved);
      left[j] = total;
      left[length + j] = left[length + j] + right[length + j] + lost;
    }
  }
};

// As many as are in use at a time.
inline std::size_t buffers_kept(std::int64_t weights, int threads, std::int64_t blocks) {
  const std::int64_t few = 2 * threads + 2;
  const std::int64_t group =
      GroupedSums<AddAll>::group(threads, std::max<std::int64_t>(weights, 1));
  return static_cast<std::size_t>(std::max(few, std::min(blocks, group)));
}

inline bool any(const double* numbers, std::int64_t count) {
  return std::any_of(numbers, numbers + count, [](double number) { return number != 0.0; });
}

class BlockRows {
 public:
  BlockRows(const RowsHandle& rows, IndexVector cuts, Pool& pool)
      : rows_(rows),
        pool_(pool),
        buffers_(rows.weights(), buffers_kept(rows.weights(), pool.threads(),
                                              static_cast<std::int64_t>(cuts.shape(0)))) {
    const auto count = static_cast<std::int64_t>(cuts.shape(0)) - 1;
    if (count < 0 || cuts(0) != 0 || cuts(count) != rows.count()) {
      throw std::invalid_argument("cuts must begin with zero and end with the number of rows");
    }
    for (std::int64_t k = 0; k < count; ++k) require_range(cuts(k), cuts(k + 1), rows.count());
    cuts_.assign(cuts.data(), cuts.data() + count + 1);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  std::int64_t count() const { return rows_.count(); }
  std::int64_t weights() const { return rows_.weights(); }
  void require(std::int64_t first, std::int64_t last) const { require_range(first, last, size()); }

  // Calls work(rows, begin, end) for short stretches of the blocks, with all rows.
  template <class Work>
  void each_piece(std::int64_t first, std::int64_t last, const Work& work) {
    const std::int64_t begin = cuts_[first], end = cuts_[last];
    const std::int64_t pieces = (end - begin + piece_rows - 1) / piece_rows;
    std::visit(
        [&](const auto& rows) {
          pool_.run(pieces, [&](std::int64_t k) {
            const std::int64_t from = begin + k * piece_rows;
            work(rows, from, std::min(from + piece_rows, end));
          });
        },
        rows_.view);
  }

  // Calls work(rows, k, begin) with the rows of each block, the first of which is `begin` among
  // all; k counts from `first`.
  template <class Work>
  void each_block(std::int64_t first, std::int64_t last, const Work& work) {
    std::visit(
        [&](const auto& rows) {
          pool_.run(last - first, [&](std::int64_t k) {
            const std::int64_t begin = cuts_[first + k], end = cuts_[first + k + 1];
            work(part_of(rows, begin, end), k, begin);
          });
        },
        rows_.view);
  }

  // Adds up the sums that add(rows, begin, sum) makes of the blocks; one that is left empty is
  // nothing to add.
  template <class Merge, class Add>
  void summed(std::int64_t first, std::int64_t last, Buffers& buffers, Merge merge, double* out,
              std::int64_t length, const Add& add) {
    SumTree<Merge> tree(buffers, merge);
    each_block(first, last, [&](const auto& rows, std::int64_t k, std::int64_t begin) {
      std::vector<double> sum;
      add(rows, begin, sum);
      tree.add(k, std::move(sum));
    });
    tree.total(out, length);
  }
  // The same of vectors over the weights.
  template <class Add>
  void vector_sum(std::int64_t first, std::int64_t last, double* out, const Add& add) {
    if (weights() <= GroupedSums<AddAll>::stretch) {
      summed(first, last, buffers_, AddAll{weights()}, out, weights(), add);
      return;
    }
    GroupedSums<AddAll> sums(pool_, buffers_, AddAll{weights()}, weights());
    const std::int64_t group = sums.group(pool_.threads(), weights());
    for (std::int64_t from = first; from < last; from += group) {
      const std::int64_t to = std::min(from + group, last);
      std::vector<std::vector<double>> parts(static_cast<std::size_t>(to - from));
      each_block(from, to, [&](const auto& rows, std::int64_t k, std::int64_t begin) {
        add(rows, begin, parts[static_cast<std::size_t>(k)]);
      });
      sums.add(std::move(parts));
    }
    sums.total(out);
  }
  // The Gram matrix of a single block, its lines shared out: they have the bits that one thread
  // gives them. Returns false where blocks are, or where it is made of tiles.
  bool gram_by_lines(std::int64_t first, std::int64_t last, const double* curvature, bool constant,
                     double* matrix, double dense) {
    if (last - first != 1 || pool_.threads() < 2) return false;
    return std::visit(
        [&](const auto& all) {
          const auto rows = part_of(all, cuts_[first], cuts_[last]);
          const std::int64_t side = weights() + (constant ? 1 : 0);
          const double stored = static_cast<double>(rows.total_nonzeros());
          const bool packed = stored >= dense * static_cast<double>(side * rows.count);
          if (packed || gram_takes_tiles(rows, side)) return false;
          std::fill(matrix, matrix + side * side, 0.0);
          const std::int64_t parts = std::min<std::int64_t>(4 * pool_.threads(), side);
          pool_.run(parts, [&](std::int64_t k) {
            gram(rows, curvature + cuts_[first], constant, side, matrix, 0, rows.count,
                 Lines{k * side / parts, (k + 1) * side / parts});
          });
          return true;
        },
        rows_.view);
  }
  // Writes sum_i h_i s_i x_i with s_i = x_i . direction + shift, and returns sum_i h_i s_i. Keeps
  // the x_i . direction of all rows, unless `scores` is null.
  struct Curved {
    const double *curvature, *direction;
    double shift;
  };
  double curved(std::int64_t first, std::int64_t last, const Curved& given, double* sum,
                double* scores) {
    // By the first row of a block: those without rows share theirs, and have none.
    std::vector<double> shares(static_cast<std::size_t>(last - first), 0.0);
    vector_sum(first, last, sum,
               [&](const auto& rows, std::int64_t begin, std::vector<double>& part) {
                 const double* own = given.curvature + begin;
                 if (scores == nullptr && !any(own, rows.count)) return;
                 part = buffers_.zeros();
                 shares[block_at(begin) - static_cast<std::size_t>(first)] =
                     curvature_product(rows, own, given.direction, given.shift, part.data(), 0,
                                       rows.count, scores ? scores + begin : nullptr);
               });
    return shares.empty() ? 0.0 : tree_sum(shares, std::plus<double>());
  }
  // The number of the last block that begins there.
  std::size_t block_at(std::int64_t begin) const {
    return static_cast<std::size_t>(std::upper_bound(cuts_.begin(), cuts_.end() - 1, begin) -
                                    cuts_.begin() - 1);
  }
  Buffers& buffers() { return buffers_; }
  Pool& pool() { return pool_; }

 private:
  RowsHandle rows_;
  Pool& pool_;
  Buffers buffers_;
  std::vector<std::int64_t> cuts_;
};

}  // namespace widemargin
