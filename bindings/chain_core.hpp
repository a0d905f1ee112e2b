// Python's `ChainCore`. No mathematics here.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include "multiclass_core.hpp"
#include "ones_handle.hpp"
#include "structures/chain_passes.hpp"
#include "structures/gibbs_pass.hpp"
#include "structures/gibbs_sweep.hpp"
#include "structures/potentials_pass.hpp"

namespace widemargin {

// Rows whose stored values are all one need not be read with them: sentences of named features.
using ChainRows =
    std::variant<DenseRows<float>, DenseRows<double>, CsrRows<float, std::int32_t>,
                 CsrRows<float, std::int64_t>, CsrRows<double, std::int32_t>,
                 CsrRows<double, std::int64_t>, OnesRows<std::int32_t>, OnesRows<std::int64_t>>;

inline ChainRows chain_rows(const AnyRows& view) {
  return std::visit(
      []<class Rows>(const Rows& rows) -> ChainRows {
        if constexpr (!Rows::is_dense) {
          auto is_one = [](auto value) { return value == 1; };
          const auto *first = rows.values + rows.pointers[0],
                     *end = rows.values + rows.pointers[rows.count];
          if (rows.subset == nullptr && rows.bias == 0.0 && std::all_of(first, end, is_one)) {
            return OnesRows<typename Rows::index_type>{rows.indices, rows.pointers, rows.count,
                                                       rows.width};
          }
        }
        return rows;
      },
      view);
}

using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableFloatMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The data of a problem over chains, checked once, and the passes over them.
class ChainCore {
 public:
  ChainCore(const RowsHandle& rows, IndexVector first, Labels label, Vector cost, Matrix mistake,
            bool boundaries)
      : ChainCore(rows.owners, chain_rows(rows.view), std::move(first), std::move(label),
                  std::move(cost), std::move(mistake)) {
    open(rows.count(), rows.weights(), boundaries);
  }
  ChainCore(const OnesHandle& rows, IndexVector first, Labels label, Vector cost, Matrix mistake,
            bool boundaries)
      : ChainCore(rows.owners(),
                  std::visit([](const auto& view) -> ChainRows { return view; }, rows.view()),
                  std::move(first), std::move(label), std::move(cost), std::move(mistake)) {
    open(rows.count(), rows.width(), boundaries);
  }

  const ChainData& data() const { return data_; }
  template <class Visit>
  auto visit(Visit&& visit) const {
    return std::visit(visit, rows_);
  }
  template <class Array>
  void require_all(const Array& weights) const {
    require_shape(weights, data_.features + data_.lines(), data_.stride(), "weights");
  }

  void best_labelings(Matrix weights, bool with_mistakes, std::int64_t begin, std::int64_t end,
                      MutableLabels labels, MutableVector excess, MutableVector magnitude,
                      int threads) const {
    require_all(weights);
    require_range(begin, end, data_.count);
    require_length(labels, data_.first[data_.count], "labels");
    require_length(excess, data_.count, "excess");
    require_length(magnitude, data_.count, "magnitude");
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      widemargin::best_labelings(rows, data_, weights.data(), with_mistakes, begin, end, threads,
                                 labels.data(), excess.data(), magnitude.data());
    });
  }

  // For the labels from `from` on, as many as `weights` has columns.
  double combine(IndexVector pointers, Vector share, Labels labels, std::int64_t from,
                 MutableMatrix weights, std::int64_t begin, std::int64_t end) const {
    const LabelRange range{from, static_cast<std::int64_t>(weights.shape(1))};
    require_shape(weights, data_.features + data_.lines(), range.count, "weights");
    if (from < 0 || from + range.count > data_.stride() || from % vector_length != 0 ||
        range.count % vector_length != 0) {
      throw std::invalid_argument("no range of labels");
    }
    require_range(begin, end, data_.count);
    const std::vector<std::int64_t> place = require_labelings(pointers, share, labels);
    nb::gil_scoped_release release;
    std::vector<double> lines;
    double total = 0.0;
    visit([&](const auto& rows) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t p = pointers.data()[i];
        total += combine_labelings(rows, data_, i, share.data() + p, labels.data() + place[i],
                                   pointers.data()[i + 1] - p, range, lines, weights.data());
      }
    });
    return total;
  }

  // Without a combination, the losses alone.
  void gibbs(Matrix weights, std::optional<MutableMatrix> combination, std::int64_t begin,
             std::int64_t end, MutableVector excess, MutableVector magnitude, int threads) const {
    require_all(weights);
    if (combination) require_all(*combination);
    double* sums = combination ? combination->data() : nullptr;
    require_range(begin, end, data_.count);
    require_length(excess, data_.count, "excess");
    require_length(magnitude, data_.count, "magnitude");
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      gibbs_pass(rows, data_, weights.data(), begin, end, threads, sums, excess.data(),
                 magnitude.data());
    });
  }

  void nodes(Matrix weights, std::int64_t begin, std::int64_t end, MutableMatrix out) const {
    require_all(weights);
    require_range(begin, end, data_.count);
    require_shape(out, data_.first[data_.count], data_.stride(), "out");
    nb::gil_scoped_release release;
    const std::vector<double> zeros(static_cast<std::size_t>(data_.stride()), 0.0);
    visit([&](const auto& rows) {
      for (std::int64_t i = begin; i < end; ++i) {
        node_scores(rows, data_, i, weights.data(), zeros.data(), false,
                    out.data() + data_.first[i] * data_.stride());
      }
    });
  }

  void potentials(FloatMatrix nodes, FloatMatrix edges, MutableMatrix combination,
                  std::int64_t begin, std::int64_t end, MutableVector entropy,
                  MutableVector magnitude, int threads) const {
    require_all(combination);
    require_shape(nodes, data_.first[data_.count], data_.classes, "nodes");
    require_shape(edges, data_.count, data_.lines() * data_.classes, "edges");
    require_range(begin, end, data_.count);
    require_length(entropy, data_.count, "entropy");
    require_length(magnitude, data_.count, "magnitude");
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      potentials_pass(rows, data_, nodes.data(), edges.data(), begin, end, threads,
                      combination.data(), entropy.data(), magnitude.data());
    });
  }

  void marginals(Matrix weights, std::int64_t begin, std::int64_t end, MutableMatrix out) const {
    require_all(weights);
    require_range(begin, end, data_.count);
    require_shape(out, data_.first[data_.count], data_.classes, "out");
    nb::gil_scoped_release release;
    visit([&](const auto& rows) {
      gibbs_marginals(rows, data_, weights.data(), begin, end, out.data());
    });
  }

  // Where the labelings of each sentence begin.
  std::vector<std::int64_t> require_labelings(const IndexVector& pointers, const Vector& share,
                                              const Labels& labels) const {
    require_length(pointers, data_.count + 1, "pointers");
    std::vector<std::int64_t> place{0};
    bool good = pointers.data()[0] == 0;
    for (std::int64_t i = 0; good && i < data_.count; ++i) {
      const std::int64_t count = pointers.data()[i + 1] - pointers.data()[i];
      good = count >= 0;
      place.push_back(place.back() + count * data_.length(i));
    }
    good = good && pointers.data()[data_.count] == static_cast<std::int64_t>(share.shape(0)) &&
           place.back() == static_cast<std::int64_t>(labels.shape(0));
    if (!good) throw std::invalid_argument("labelings do not belong to these sentences");
    require_indices(labels, data_.classes, "labels");
    return place;
  }

 private:
  ChainCore(std::vector<nb::object> owners, ChainRows rows, IndexVector first, Labels label,
            Vector cost, Matrix mistake)
      : owners_(std::move(owners)),
        rows_(std::move(rows)),
        first_(std::move(first)),
        label_(std::move(label)),
        cost_(std::move(cost)),
        mistake_(std::move(mistake)) {}

  // Checks what was given.
  void open(std::int64_t rows, std::int64_t features, bool boundaries) {
    const auto classes = static_cast<std::int64_t>(mistake_.shape(0));
    const std::int64_t count = static_cast<std::int64_t>(cost_.shape(0));
    if (classes < 1 || classes > std::numeric_limits<ShortLabel>::max()) {
      throw std::invalid_argument("there must be between 1 and 65535 labels");
    }
    require_labels(label_, rows, classes);
    require_length(first_, count + 1, "first");
    require_shape(mistake_, classes, padded_classes(classes), "mistake");
    if (first_.data()[0] != 0 || first_.data()[count] != rows) {
      throw std::invalid_argument("sentences do not cover the rows");
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (first_.data()[i + 1] <= first_.data()[i]) {
        throw std::invalid_argument("a sentence is empty");
      }
    }
    data_ = {first_.data(),   count,   label_.data(), cost_.data(),
             mistake_.data(), classes, features,      boundaries};
  }

  std::vector<nb::object> owners_;  // of what the rows view
  ChainRows rows_;
  IndexVector first_;
  Labels label_;
  Vector cost_;
  Matrix mistake_;
  ChainData data_;
};

}  // namespace widemargin
