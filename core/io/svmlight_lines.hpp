// Lines of LIBSVM's text format: label [qid:n] index:value index:value ... [# comment]
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "io/numbers.hpp"

namespace widemargin {

enum class IndexBase { automatic, zero, one };

struct SvmlightOptions {
  IndexBase base = IndexBase::automatic;
  bool query_ids = false;
  std::int64_t features = -1;  // as stated by the caller; -1: as many as the file shows
  int threads = 1;
};

// Where the lines of one piece of the text are stored; the arrays are large enough for it.
template <class Value, class Index>
struct SvmlightSink {
  double* labels;
  std::int64_t* query_ids;  // null: checked, not kept
  Value* values;
  Index* indices;
  Index* row_ends;  // counted from the start of this piece
};

struct SvmlightFault {
  const char* where;
  std::string message;
};

struct SvmlightCounts {
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = -1;
  bool too_wide = false;  // an index does not fit Index; nothing after it was parsed
  std::optional<SvmlightFault> fault;
};

template <class Value, class Index>
class SvmlightLines {
 public:
  // [begin, end) is a piece of the text up to `text_end`. Numbers are loaded eight bytes at a time
  // across the end of the piece, but end with their line.
  SvmlightLines(const char* begin, const char* end, const char* text_end,
                const SvmlightOptions& options, std::int64_t index_limit,
                const SvmlightSink<Value, Index>& sink)
      : p_(begin),
        end_(end),
        text_end_(text_end),
        limit_(index_limit),
        // Files count from one far more often than from zero, so the first is assumed until a
        // feature 0 is seen; the reader then adds the one again.
        shift_(options.base == IndexBase::zero ? 0 : 1),
        refuse_zero_(options.base == IndexBase::one),
        features_(options.features),
        sink_(sink) {}

  SvmlightCounts parse() {
    while (!counts_.fault && !counts_.too_wide) {
      skip_blanks();
      if (p_ == end_) break;
      if (at_line_end()) {
        skip_line();
      } else if (parse_label() && parse_query_id() && parse_features()) {
        sink_.row_ends[counts_.rows++] = static_cast<Index>(counts_.nonzeros);
        skip_line();
      }
    }
    return std::move(counts_);
  }

 private:
  static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
  }
  static bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

  char peek() const { return p_ < end_ ? *p_ : '\n'; }
  bool at_line_end() const { return peek() == '\n' || *p_ == '#'; }
  bool at_token_end() const { return is_blank(peek()) || at_line_end(); }
  bool at(const char* word) const {
    const std::size_t length = std::strlen(word);
    return static_cast<std::size_t>(end_ - p_) >= length && std::memcmp(p_, word, length) == 0;
  }

  void skip_blanks() {
    while (p_ < end_ && is_blank(*p_)) ++p_;
  }

  void skip_line() {
    if (p_ == end_) return;
    const void* newline = std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_));
    p_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
  }

  bool refuse(const char* where, std::string message) {
    counts_.fault = SvmlightFault{where, std::move(message)};
    return false;
  }

  // The token at `where`, quoted, cut to a readable length, with unprintable bytes as \xNN.
  std::string quote(const char* where) const {
    constexpr int longest = 20;
    constexpr const char* hex = "0123456789abcdef";
    std::string text = "'";
    int length = 0;
    for (; where < end_ && *where != '\n' && !is_blank(*where); ++where) {
      if (++length > longest) {
        text += "...";
        break;
      }
      const auto byte = static_cast<unsigned char>(*where);
      if (byte >= 0x20 && byte < 0x7f) {
        text += *where;
      } else {
        text += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
      }
    }
    if (length > 0) return text + "'";
    return where < end_ && is_blank(*where) ? "a blank" : "the end of the line";
  }

  bool refuse_number(const Number& number, const char* start, const char* what) {
    if (number.status == NumberStatus::not_finite) {
      return refuse(start, std::string(what) + " is not finite: " + quote(start));
    }
    if (number.status == NumberStatus::too_large) {
      return refuse(start, std::string(what) + " is too large for a number: " + quote(start));
    }
    return refuse(start, "expected " + std::string(what) + ", found " + quote(start));
  }

  bool parse_label() {
    const char* start = p_;
    const Number number = parse_number(p_, text_end_);
    if (number.status != NumberStatus::ok) {
      if (*start == ',') return refuse_several_labels(start);
      return refuse_number(number, start, "the label");
    }
    p_ = number.end;
    if (!at_token_end()) {
      if (*p_ == ':') return refuse(start, "the line starts with a feature, its label is missing");
      if (*p_ == ',') return refuse_several_labels(p_);
      return refuse(p_, "unexpected " + quote(p_) + " after the label");
    }
    sink_.labels[counts_.rows] = number.value;
    return true;
  }

  bool refuse_several_labels(const char* where) {
    return refuse(where, "several labels on one line: multi-label data is not supported");
  }

  bool parse_query_id() {
    skip_blanks();
    if (!at("qid:")) {
      if (sink_.query_ids == nullptr) return true;
      return refuse(p_, "expected 'qid:', because query_id=True, found " + quote(p_));
    }
    p_ += 4;
    const char* start = p_;
    if (peek() == '+') ++p_;
    std::int64_t id = 0;
    const auto [rest, error] = std::from_chars(p_, end_, id);
    if (error == std::errc::result_out_of_range) {
      return refuse(start, "the qid does not fit 64 bits: " + quote(start));
    }
    p_ = rest;
    if (error != std::errc{} || !at_token_end()) {
      return refuse(start, "expected a whole number after 'qid:', found " + quote(start));
    }
    if (sink_.query_ids != nullptr) sink_.query_ids[counts_.rows] = id;
    return true;
  }

  bool parse_features() {
    std::int64_t previous = -1;
    for (;;) {
      if (peek() == ' ') ++p_;
      if (!is_digit(peek())) {
        skip_blanks();
        if (at_line_end()) break;
      }
      // 1) index
      const char* start = p_;
      Digits digits = index_digits();
      p_ += digits.count;
      if (digits.count == 8) [[unlikely]] {
        if (!parse_long_index(start, digits)) return false;
      }
      const auto index = static_cast<std::int64_t>(digits.value);
      if (digits.count == 0 || peek() != ':') [[unlikely]] {
        return refuse_index(start, digits.count);
      }
      if (index <= previous) [[unlikely]]
        return refuse_order(start, index, previous);
      if (previous < 0) {
        if (index == 0 && refuse_zero_) {
          return refuse(start, "feature index 0 in data that counts from one (zero_based=False)");
        }
        if (index < counts_.lowest) counts_.lowest = index;
      }
      previous = index;
      ++p_;
      // 2) value
      const char* value_start = p_;
      double parsed;
      p_ = parse_short_number(value_start, text_end_, parsed);
      if (p_ == nullptr) [[unlikely]] {
        const Number number = parse_number(value_start, text_end_);
        if (number.status != NumberStatus::ok) {
          return refuse_number(number, value_start, "the value after ':'");
        }
        parsed = number.value;
        p_ = number.end;
      }
      if (!at_token_end()) [[unlikely]] {
        return refuse(p_, "unexpected " + quote(p_) + " after the value");
      }
      // 3) store
      const auto value = static_cast<Value>(parsed);
      if constexpr (std::is_same_v<Value, float>) {
        if (!std::isfinite(value)) [[unlikely]] {
          return refuse(value_start, "the value is too large for float32: " + quote(value_start));
        }
      }
      if (index > limit_) [[unlikely]] {
        return refuse(start, "feature index " + std::to_string(index) + " is too large for " +
                                 std::to_string(features_) + " features");
      }
      if (index > std::numeric_limits<Index>::max()) [[unlikely]] {
        counts_.too_wide = true;
        return false;
      }
      sink_.values[counts_.nonzeros] = value;
      sink_.indices[counts_.nonzeros] = static_cast<Index>(index - shift_);
      ++counts_.nonzeros;
    }
    if (previous > counts_.highest) counts_.highest = previous;
    return true;
  }

  // Short indices by branches, which the CPU foresees from line to line.
  Digits index_digits() const {
    if (end_ - p_ >= 3 && is_digit(p_[0])) [[likely]] {
      const auto first = static_cast<std::uint64_t>(p_[0] - '0');
      if (p_[1] == ':') return {first, 1};
      if (is_digit(p_[1]) && p_[2] == ':') {
        return {10 * first + static_cast<std::uint64_t>(p_[1] - '0'), 2};
      }
    }
    return leading_digits(p_, text_end_);
  }

  // Digits after the first eight.
  bool parse_long_index(const char* start, Digits& digits) {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max() / 16;
    for (; p_ < end_ && is_digit(*p_); ++p_) {
      if (digits.value > largest) {
        return refuse(start, "the feature index is too large: " + quote(start));
      }
      digits.value = digits.value * 10 + static_cast<std::uint64_t>(*p_ - '0');
    }
    return true;
  }

  bool refuse_index(const char* start, int digits) {
    p_ = start;
    if (digits == 0) {
      if (at("qid:")) return refuse(start, "'qid:' must come before the features");
      if (at("-")) return refuse(start, "the feature index is negative: " + quote(start));
      return refuse(start, "expected a feature index, found " + quote(start));
    }
    while (is_digit(peek())) ++p_;
    return refuse(p_, "expected ':' after feature index");
  }

  bool refuse_order(const char* start, std::int64_t index, std::int64_t previous) {
    if (index == previous) {
      return refuse(start, "feature index " + std::to_string(index) + " is repeated");
    }
    return refuse(start, "feature index " + std::to_string(index) + " comes after " +
                             std::to_string(previous) + ": indices must increase");
  }

  const char* p_;
  const char* end_;
  const char* text_end_;
  std::int64_t limit_;
  std::int64_t shift_;
  bool refuse_zero_;
  std::int64_t features_;
  SvmlightSink<Value, Index> sink_;
  SvmlightCounts counts_;
};

}  // namespace widemargin
