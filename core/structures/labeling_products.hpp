// Inner products of labelings of one sentence, from where they differ from its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labelings.hpp"
#include "structures/token_gram.hpp"

namespace widemargin {

// A transition that a labeling has and the sentence's own labeling has not, or the other way round;
// `cell` is its place among the lines of the weights.
struct EdgeChange {
  std::int32_t cell;
  std::int32_t sign;
};

// Where a labeling differs from the sentence's own one: psi is the sum of rows t at own[t] minus
// the same rows at y[t], and of the edges with their signs.
struct Difference {
  std::vector<std::int32_t> rows;
  std::vector<EdgeChange> edges;

  void make(const ChainData& data, const ShortLabel* own, const ShortLabel* y,
            std::int64_t length) {
    const auto stride = static_cast<std::int32_t>(data.stride());
    const auto k = static_cast<std::int32_t>(data.classes);
    rows.clear();
    edges.clear();
    auto edge = [&](std::int32_t line, ShortLabel right, ShortLabel wrong) {
      edges.push_back({line * stride + right, 1});
      edges.push_back({line * stride + wrong, -1});
    };
    bool before = false;
    for (std::int64_t t = 0; t < length; ++t) {
      const bool wrong = y[t] != own[t];
      if (wrong) rows.push_back(static_cast<std::int32_t>(t));
      if (t > 0 && (wrong || before)) {
        edges.push_back({own[t - 1] * stride + own[t], 1});
        edges.push_back({y[t - 1] * stride + y[t], -1});
      }
      before = wrong;
    }
    if (!data.boundaries || length == 0) return;
    if (y[0] != own[0]) edge(k, own[0], y[0]);
    if (y[length - 1] != own[length - 1]) edge(k + 1, own[length - 1], y[length - 1]);
  }
};

// Products of one labeling with others, with the products of the rows.
class LabelingProducts {
 public:
  // Begins with psi(y), which differs by `from`: what it would score at each label of each row,
  // were it the weights.
  void open(const ChainData& data, const Difference& from, const RowProducts& gram,
            const ShortLabel* own, const ShortLabel* y, std::int64_t length) {
    stride_ = data.stride();
    counts_.resize(static_cast<std::size_t>(data.lines() * stride_));
    if (std::ssize(nodes_) < length * stride_) {
      nodes_.resize(static_cast<std::size_t>(length * stride_));
    }
    from_ = &from;
    own_ = own;
    y_ = y;
    length_ = length;
    for (const EdgeChange& e : from.edges) counts_[e.cell] += e.sign;
    for (const std::int32_t s : from.rows) {
      double *right = nodes_.data() + own[s], *wrong = nodes_.data() + y[s];
      gram.for_line(s, [&](std::int64_t t, double product) {
        right[t * stride_] += product;
        wrong[t * stride_] -= product;
      });
    }
  }
  void close() {
    for (const EdgeChange& e : from_->edges) counts_[e.cell] = 0;
    for (const std::int32_t s : from_->rows) {
      double *right = nodes_.data() + own_[s], *wrong = nodes_.data() + y_[s];
      for (std::int64_t t = 0; t < length_; ++t) right[t * stride_] = wrong[t * stride_] = 0.0;
    }
  }

  // psi(y) . psi(z). Where z is right, it adds nothing.
  double with(const ChainData& data, const ShortLabel* z) const {
    double sum = 0.0;
    std::int64_t edges = 0;
    const double* node = nodes_.data();
    for (std::int64_t t = 0; t < length_; ++t, node += stride_) sum += node[own_[t]] - node[z[t]];
    auto count = [&](std::int64_t line, std::int64_t label) {
      return counts_[static_cast<std::size_t>(line * stride_ + label)];
    };
    for (std::int64_t t = 1; t < length_; ++t) {
      edges += count(own_[t - 1], own_[t]) - count(z[t - 1], z[t]);
    }
    if (data.boundaries) {
      const std::int64_t k = data.classes, last = length_ - 1;
      edges += count(k, own_[0]) - count(k, z[0]);
      edges += count(k + 1, own_[last]) - count(k + 1, z[last]);
    }
    return sum + static_cast<double>(edges);
  }

 private:
  std::vector<std::int32_t> counts_;  // of each transition in psi(y)
  std::vector<double> nodes_;
  const Difference* from_ = nullptr;
  const ShortLabel *own_ = nullptr, *y_ = nullptr;
  std::int64_t length_ = 0, stride_ = 0;
};

// The products of the labelings of one sentence that are kept, made when they are needed.
class KeptProducts {
 public:
  // Computes all products unless they are there.
  void complete(const ChainData& data, const RowProducts& gram, const ShortLabel* own,
                Labelings& cache, std::int64_t length) {
    const std::int64_t count = cache.count();
    if (std::ssize(cache.products) == count * count) return;
    cache.products.clear();
    for (std::int64_t j = 0; j < count; ++j) add(data, gram, own, cache, length, j);
  }

  // Keeps one more labeling; without products of the rows it has none with the others.
  void extend(const ChainData& data, const RowProducts& gram, const ShortLabel* own,
              const ShortLabel* found, Labelings& cache, std::int64_t length) {
    cache.add(found, length);
    if (gram.known()) add(data, gram, own, cache, length, cache.count() - 1);
  }

 private:
  LabelingProducts products_;
  Difference last_;
  std::vector<double> line_;

  // Extends the products of the labelings before j by those of j.
  void add(const ChainData& data, const RowProducts& gram, const ShortLabel* own, Labelings& cache,
           std::int64_t length, std::int64_t j) {
    line_.resize(static_cast<std::size_t>((j + 1) * (j + 1)));
    for (std::int64_t l = 0; l < j; ++l) {
      std::copy_n(cache.products.begin() + l * j, j, line_.begin() + l * (j + 1));
    }
    last_.make(data, own, cache.labeling(j, length), length);
    products_.open(data, last_, gram, own, cache.labeling(j, length), length);
    for (std::int64_t l = 0; l <= j; ++l) {
      line_[l * (j + 1) + j] = line_[j * (j + 1) + l] =
          products_.with(data, cache.labeling(l, length));
    }
    products_.close();
    cache.products = line_;
  }
};

}  // namespace widemargin
