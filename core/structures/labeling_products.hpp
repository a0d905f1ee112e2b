// Inner products of labelings of one sentence, from where they differ from its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"
#include "structures/labelings.hpp"

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
  // Begins with psi(y), which differs by `from`.
  void open(const ChainData& data, const Difference& from, const ShortLabel* y) {
    counts_.resize(static_cast<std::size_t>(data.lines() * data.stride()));
    from_ = &from;
    y_ = y;
    for (const EdgeChange& e : from.edges) counts_[e.cell] += e.sign;
  }
  void close() {
    for (const EdgeChange& e : from_->edges) counts_[e.cell] = 0;
  }

  // psi(y) . psi(z)
  double with(const float* gram, std::int64_t length, const ShortLabel* own, const Difference& to,
              const ShortLabel* z) const {
    double sum = 0.0;
    for (const std::int32_t s : from_->rows) {
      const float* line = gram + s * length;
      for (const std::int32_t t : to.rows) {
        const int sign =
            (own[s] == own[t]) - (own[s] == z[t]) - (y_[s] == own[t]) + (y_[s] == z[t]);
        sum += sign * static_cast<double>(line[t]);
      }
    }
    std::int64_t edges = 0;
    for (const EdgeChange& e : to.edges) edges += e.sign * counts_[e.cell];
    return sum + static_cast<double>(edges);
  }

 private:
  std::vector<std::int32_t> counts_;  // of each transition in psi(y)
  const Difference* from_ = nullptr;
  const ShortLabel* y_ = nullptr;
};

// The products of the labelings of one sentence that are kept, made when they are needed.
class KeptProducts {
 public:
  std::vector<Difference> differences;  // of each labeling, as far as `open` or `extend` made them

  // Begins with a sentence, whose own labels are given.
  void open(const ChainData& data, const ShortLabel* own, const Labelings& cache,
            std::int64_t length) {
    const std::int64_t count = cache.count();
    if (std::ssize(differences) < count) differences.resize(static_cast<std::size_t>(count));
    for (std::int64_t j = 0; j < count; ++j) {
      differences[j].make(data, own, cache.labeling(j, length), length);
    }
  }

  // Computes all products unless they are there.
  void complete(const ChainData& data, const float* gram, const ShortLabel* own, Labelings& cache,
                std::int64_t length) {
    const std::int64_t count = cache.count();
    if (std::ssize(cache.products) == count * count) return;
    cache.products.clear();
    for (std::int64_t j = 0; j < count; ++j) add(data, gram, own, cache, length, j);
  }

  // Keeps one more labeling; without products of the rows it has none with the others.
  void extend(const ChainData& data, const float* gram, const ShortLabel* own,
              const ShortLabel* found, Labelings& cache, std::int64_t length) {
    cache.add(found, length);
    const std::int64_t j = cache.count() - 1;
    if (std::ssize(differences) <= j) differences.emplace_back();
    differences[j].make(data, own, found, length);
    if (gram != nullptr) add(data, gram, own, cache, length, j);
  }

 private:
  LabelingProducts products_;
  std::vector<double> line_;

  // Extends the products of the labelings before j by those of j.
  void add(const ChainData& data, const float* gram, const ShortLabel* own, Labelings& cache,
           std::int64_t length, std::int64_t j) {
    line_.resize(static_cast<std::size_t>((j + 1) * (j + 1)));
    for (std::int64_t l = 0; l < j; ++l) {
      std::copy_n(cache.products.begin() + l * j, j, line_.begin() + l * (j + 1));
    }
    products_.open(data, differences[j], cache.labeling(j, length));
    for (std::int64_t l = 0; l <= j; ++l) {
      line_[l * (j + 1) + j] = line_[j * (j + 1) + l] =
          products_.with(gram, length, own, differences[l], cache.labeling(l, length));
    }
    products_.close();
    cache.products = line_;
  }
};

}  // namespace widemargin
