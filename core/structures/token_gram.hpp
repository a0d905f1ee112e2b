// Inner products of the rows within a sentence: what a step does to the scores of the sentence
// itself is known from them, without the weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows/ones.hpp"
#include "structures/chain.hpp"
#include "threads/team.hpp"

namespace widemargin {

// Rows that a sentence may have, whatever they store, for its products to be kept.
constexpr std::int64_t always_kept = 64;

// The products of the rows of one sentence, if they are kept.
class RowProducts {
 public:
  RowProducts() = default;
  RowProducts(const float* wide, const std::uint8_t* narrow, std::int64_t length)
      : wide_(wide), narrow_(narrow), length_(length) {}

  bool known() const { return wide_ != nullptr || narrow_ != nullptr; }
  double at(std::int64_t s, std::int64_t t) const {
    const std::int64_t place = s * length_ + t;
    return wide_ != nullptr ? static_cast<double>(wide_[place])
                            : static_cast<double>(narrow_[place]);
  }

  // Calls visit(t, product) for the products of row s with all rows.
  template <class Visit>
  void for_line(std::int64_t s, Visit&& visit) const {
    if (wide_ != nullptr) {
      visit_line(wide_ + s * length_, visit);
    } else {
      visit_line(narrow_ + s * length_, visit);
    }
  }

 private:
  const float* wide_ = nullptr;
  const std::uint8_t* narrow_ = nullptr;
  std::int64_t length_ = 0;

  template <class T, class Visit>
  void visit_line(const T* line, Visit&& visit) const {
    for (std::int64_t t = 0; t < length_; ++t) visit(t, static_cast<double>(line[t]));
  }
};

// Products of the rows of each sentence, in single precision: they choose steps, and a step is
// judged by the weights. Where they are whole numbers below 256, as those of named features are, a
// byte each. Kept where they take a small multiple of the memory of the rows.
class TokenGram {
 public:
  // Computes the products of the sentences [begin, end).
  template <class Rows>
  void make(const Rows& rows, const ChainData& data, std::int64_t begin, std::int64_t end,
            int threads) {
    if (std::ssize(begin_) != data.count + 1) open(rows, data);
    Team team(threads);
    std::vector<std::vector<double>> line(static_cast<std::size_t>(std::max(threads, 1)));
    constexpr std::int64_t chunk = 64;
    team.run((end - begin + chunk - 1) / chunk, [&](std::int64_t c, int worker) {
      std::vector<double>& own = line[static_cast<std::size_t>(worker)];
      own.resize(static_cast<std::size_t>(rows.width));
      const std::int64_t from = begin + c * chunk, to = std::min(end, from + chunk);
      for (std::int64_t i = from; i < to; ++i) {
        if (begin_[i] == begin_[i + 1]) continue;
        if (narrow_) {
          fill(rows, data, i, own, bytes_.data() + begin_[i]);
        } else {
          fill(rows, data, i, own, products_.data() + begin_[i]);
        }
      }
    });
  }

  // The products of a sentence.
  RowProducts of(const ChainData& data, std::int64_t i) const {
    if (begin_[i] == begin_[i + 1]) return {};
    return {narrow_ ? nullptr : products_.data() + begin_[i],
            narrow_ ? bytes_.data() + begin_[i] : nullptr, data.length(i)};
  }

 private:
  std::vector<std::int64_t> begin_;
  bool narrow_ = false;
  std::vector<float> products_;
  std::vector<std::uint8_t> bytes_;

  // `line` is zero before and after.
  template <class Rows, class T>
  static void fill(const Rows& rows, const ChainData& data, std::int64_t i,
                   std::vector<double>& line, T* out) {
    const std::int64_t length = data.length(i), first = data.first[i];
    for (std::int64_t s = 0; s < length; ++s) {
      rows.for_each(first + s, [&](std::int64_t j, double v) {
        if (j < rows.width) line[static_cast<std::size_t>(j)] = v;
      });
      for (std::int64_t t = s; t < length; ++t) {
        double sum = rows.bias * rows.bias;
        rows.for_each(first + t, [&](std::int64_t j, double v) {
          if (j < rows.width) sum += v * line[static_cast<std::size_t>(j)];
        });
        out[s * length + t] = out[t * length + s] = static_cast<T>(sum);
      }
      rows.for_each(first + s, [&](std::int64_t j, double) {
        if (j < rows.width) line[static_cast<std::size_t>(j)] = 0.0;
      });
    }
  }

  template <class Rows>
  void open(const Rows& rows, const ChainData& data) {
    begin_.assign(1, 0);
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < data.count; ++i) {
      std::int64_t stored = 0;
      for (std::int64_t t = data.first[i]; t < data.first[i + 1]; ++t) {
        stored += rows.nonzeros(t);
        longest = std::max(longest, rows.nonzeros(t));
      }
      const std::int64_t length = data.length(i);
      const bool kept = length <= always_kept || length * length <= 12 * stored;
      begin_.push_back(begin_.back() + (kept ? length * length : 0));
    }
    narrow_ = is_ones<Rows> && longest <= std::numeric_limits<std::uint8_t>::max();
    const auto size = static_cast<std::size_t>(begin_.back());
    if (narrow_) {
      bytes_.resize(size);
    } else {
      products_.resize(size);
    }
  }
};

}  // namespace widemargin
