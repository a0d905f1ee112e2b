// Inner products of the rows within a sentence: what a step does to the scores of the sentence
// itself is known from them, without the weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "structures/chain.hpp"

namespace widemargin {

// Rows that a sentence may have, whatever they store, for its products to be kept.
constexpr std::int64_t always_kept = 64;

// Products of the rows of each sentence, in single precision: they choose steps, and a step is
// judged by the weights. Kept where they take a small multiple of the memory of the rows.
class TokenGram {
 public:
  template <class Rows>
  void make(const Rows& rows, const ChainData& data, std::int64_t i) {
    if (std::ssize(begin_) != data.count + 1) open(rows, data);
    const std::int64_t length = data.length(i), first = data.first[i];
    if (begin_[i] == begin_[i + 1]) return;
    float* out = products_.data() + begin_[i];
    std::vector<double>& line = scratch_;
    line.resize(static_cast<std::size_t>(rows.width));
    for (std::int64_t s = 0; s < length; ++s) {
      rows.for_each(first + s, [&](std::int64_t j, double v) {
        if (j < rows.width) line[static_cast<std::size_t>(j)] = v;
      });
      for (std::int64_t t = s; t < length; ++t) {
        double sum = rows.bias * rows.bias;
        rows.for_each(first + t, [&](std::int64_t j, double v) {
          if (j < rows.width) sum += v * line[static_cast<std::size_t>(j)];
        });
        out[s * length + t] = out[t * length + s] = static_cast<float>(sum);
      }
      rows.for_each(first + s, [&](std::int64_t j, double) {
        if (j < rows.width) line[static_cast<std::size_t>(j)] = 0.0;
      });
    }
  }

  // The products of a sentence, line by line; null where they are not kept.
  const float* of(std::int64_t i) const {
    return begin_[i] == begin_[i + 1] ? nullptr : products_.data() + begin_[i];
  }

 private:
  template <class Rows>
  void open(const Rows& rows, const ChainData& data) {
    begin_.assign(1, 0);
    for (std::int64_t i = 0; i < data.count; ++i) {
      std::int64_t stored = 0;
      for (std::int64_t t = data.first[i]; t < data.first[i + 1]; ++t) stored += rows.nonzeros(t);
      const std::int64_t length = data.length(i);
      const bool kept = length <= always_kept || length * length <= 12 * stored;
      begin_.push_back(begin_.back() + (kept ? length * length : 0));
    }
    products_.resize(static_cast<std::size_t>(begin_.back()));
  }

  std::vector<std::int64_t> begin_;
  std::vector<float> products_;
  std::vector<double> scratch_;
};

}  // namespace widemargin
