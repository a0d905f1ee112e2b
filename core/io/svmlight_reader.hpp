// LIBSVM's text format into compressed rows, by several threads.
//
// The text is cut at line ends into pieces of about a megabyte. A first pass counts ':' and line
// ends in each piece, which bounds what it holds, so that the second pass parses straight into the
// final arrays. Only what is not a feature (qid, colons in comments, empty lines) leaves gaps to
// close. Pieces do not depend on the number of threads, and neither does anything else.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/buffer.hpp"
#include "io/svmlight_lines.hpp"
#include "threads/parallel.hpp"

namespace widemargin {

// A line that cannot be read. Lines and columns (in bytes) count from one.
struct SvmlightError : std::runtime_error {
  SvmlightError(std::int64_t line_number, std::int64_t column_number, const std::string& message)
      : std::runtime_error(message), line(line_number), column(column_number) {}
  std::int64_t line;
  std::int64_t column;
};

template <class Value, class Index>
struct SvmlightData {
  Buffer<double> labels;
  Buffer<std::int64_t> query_ids;  // empty unless asked for
  Buffer<Value> values;
  Buffer<Index> indices;
  Buffer<Index> pointers;
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t width = 0;
};

template <class Value>
using AnySvmlightData =
    std::variant<SvmlightData<Value, std::int32_t>, SvmlightData<Value, std::int64_t>>;

struct SvmlightPiece {
  const char* begin;
  const char* end;
  std::int64_t rows = 0;      // at most
  std::int64_t nonzeros = 0;  // at most
};

template <class Value>
class SvmlightReader {
 public:
  SvmlightReader(std::string_view text, const SvmlightOptions& options, Interrupted interrupted)
      : text_(without_mark(text)), options_(options), interrupted_(std::move(interrupted)) {}

  AnySvmlightData<Value> read() {
    // Until a feature 0 is seen, features are taken to count from one.
    if (options_.features >= 0) {
      index_limit_ = options_.features - (options_.base == IndexBase::zero ? 1 : 0);
    }
    cut();
    count();
    std::int64_t nonzeros = 0;
    for (const SvmlightPiece& piece : pieces_) nonzeros += piece.nonzeros;
    if (nonzeros <= std::numeric_limits<std::int32_t>::max()) {
      SvmlightData<Value, std::int32_t> data;
      if (fill(data)) return data;
    }
    SvmlightData<Value, std::int64_t> data;
    fill(data);
    return data;
  }

 private:
  static constexpr std::int64_t piece_length_ = std::int64_t{1} << 20;

  // Some editors start a file with a byte order mark.
  static std::string_view without_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    return text.substr(0, mark.size()) == mark ? text.substr(mark.size()) : text;
  }

  const char* text_end() const { return text_.data() + text_.size(); }

  void cut() {
    const char* begin = text_.data();
    while (begin < text_end()) {
      const char* end = text_end();
      if (end - begin > piece_length_) {
        const char* from = begin + piece_length_;
        const void* newline = std::memchr(from, '\n', static_cast<std::size_t>(end - from));
        if (newline != nullptr) end = static_cast<const char*>(newline) + 1;
      }
      pieces_.push_back({begin, end});
      begin = end;
    }
  }

  // How many ':' and line ends there are. Counters of one byte, emptied before they can overflow,
  // let the compiler compare and add a whole register at a time.
  static std::pair<std::int64_t, std::int64_t> count_marks(const char* p, const char* end) {
    constexpr std::int64_t width = 32;
    std::int64_t colons = 0, newlines = 0;
    while (end - p >= width) {
      std::array<std::uint8_t, width> colon{}, newline{};
      for (auto steps = std::min<std::int64_t>(255, (end - p) / width); steps > 0; --steps) {
        for (std::int64_t j = 0; j < width; ++j) {
          colon[j] += p[j] == ':';
          newline[j] += p[j] == '\n';
        }
        p += width;
      }
      colons += std::accumulate(colon.begin(), colon.end(), std::int64_t{0});
      newlines += std::accumulate(newline.begin(), newline.end(), std::int64_t{0});
    }
    return {colons + std::count(p, end, ':'), newlines + std::count(p, end, '\n')};
  }

  void count() {
    run_tasks(std::ssize(pieces_), options_.threads, interrupted_, [this](std::int64_t i) {
      SvmlightPiece& piece = pieces_[i];
      const auto [colons, newlines] = count_marks(piece.begin, piece.end);
      piece.nonzeros = colons;
      piece.rows = newlines + (piece.end[-1] != '\n');
    });
  }

  // False if an index does not fit Index.
  template <class Index>
  bool fill(SvmlightData<Value, Index>& data) {
    // 1) make room for the most that there can be
    const auto pieces = std::ssize(pieces_);
    std::vector<std::int64_t> row_at(pieces + 1, 0), nonzero_at(pieces + 1, 0);
    for (std::int64_t i = 0; i < pieces; ++i) {
      row_at[i + 1] = row_at[i] + pieces_[i].rows;
      nonzero_at[i + 1] = nonzero_at[i] + pieces_[i].nonzeros;
    }
    data.labels = Buffer<double>(row_at[pieces]);
    data.pointers = Buffer<Index>(row_at[pieces] + 1);
    data.values = Buffer<Value>(nonzero_at[pieces]);
    data.indices = Buffer<Index>(nonzero_at[pieces]);
    if (options_.query_ids) data.query_ids = Buffer<std::int64_t>(row_at[pieces]);

    // 2) parse; nothing after the first bad piece matters
    std::vector<SvmlightCounts> counts(pieces);
    std::atomic<std::int64_t> first_bad{pieces};
    run_tasks(pieces, options_.threads, interrupted_, [&](std::int64_t i) {
      if (i > first_bad) return;
      const std::int64_t row = row_at[i], nonzero = nonzero_at[i];
      const SvmlightSink<Value, Index> sink{
          data.labels.data() + row,
          options_.query_ids ? data.query_ids.data() + row : nullptr,
          data.values.data() + nonzero,
          data.indices.data() + nonzero,
          data.pointers.data() + 1 + row,
      };
      counts[i] = SvmlightLines<Value, Index>(pieces_[i].begin, pieces_[i].end, text_end(),
                                              options_, index_limit_, sink)
                      .parse();
      if (counts[i].fault || counts[i].too_wide) {
        std::int64_t known = first_bad;
        while (i < known && !first_bad.compare_exchange_weak(known, i)) {
        }
      }
    });
    if (first_bad < pieces) {
      if (counts[first_bad].too_wide) return false;
      refuse(*counts[first_bad].fault);
    }

    // 3) close the gaps, and count row ends from the start of the whole
    data.pointers.data()[0] = 0;
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max(), highest = -1;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t rows = counts[i].rows, nonzeros = counts[i].nonzeros;
      move_down(data.labels.data(), row_at[i], data.rows, rows);
      if (options_.query_ids) move_down(data.query_ids.data(), row_at[i], data.rows, rows);
      move_down(data.values.data(), nonzero_at[i], data.nonzeros, nonzeros);
      move_down(data.indices.data(), nonzero_at[i], data.nonzeros, nonzeros);
      const Index* from = data.pointers.data() + 1 + row_at[i];
      Index* to = data.pointers.data() + 1 + data.rows;
      for (std::int64_t r = 0; r < rows; ++r) {
        to[r] = static_cast<Index>(from[r] + data.nonzeros);
      }
      data.rows += rows;
      data.nonzeros += nonzeros;
      lowest = std::min(lowest, counts[i].lowest);
      highest = std::max(highest, counts[i].highest);
    }
    if (data.rows < row_at[pieces]) {
      data.labels.shrink(data.rows);
      data.pointers.shrink(data.rows + 1);
      if (options_.query_ids) data.query_ids.shrink(data.rows);
    }
    if (data.nonzeros < nonzero_at[pieces]) {
      data.values.shrink(data.nonzeros);
      data.indices.shrink(data.nonzeros);
    }

    // 4) settle where indices count from, and how many features there are
    const bool found_zero = options_.base == IndexBase::automatic && lowest == 0;
    if (found_zero) {
      std::for_each(data.indices.data(), data.indices.data() + data.nonzeros,
                    [](Index& index) { ++index; });
    }
    const bool from_zero = options_.base == IndexBase::zero || found_zero;
    data.width = highest < 0 ? 0 : highest + (from_zero ? 1 : 0);
    if (options_.features >= 0) {
      if (data.width > options_.features) {
        // The last index, in a file that turned out to count from zero, is one too many. Parse once
        // more, only to say where it stands.
        index_limit_ = options_.features - 1;
        data = {};
        return fill(data);
      }
      data.width = options_.features;
    }
    return true;
  }

  template <class T>
  static void move_down(T* array, std::int64_t from, std::int64_t to, std::int64_t length) {
    if (from != to) {
      std::memmove(array + to, array + from, static_cast<std::size_t>(length) * sizeof(T));
    }
  }

  [[noreturn]] void refuse(const SvmlightFault& fault) const {
    const auto line = 1 + std::count(text_.data(), fault.where, '\n');
    const char* start = fault.where;
    while (start > text_.data() && start[-1] != '\n') --start;
    throw SvmlightError(line, fault.where - start + 1, fault.message);
  }

  std::string_view text_;
  SvmlightOptions options_;
  Interrupted interrupted_;
  std::int64_t index_limit_ = std::numeric_limits<std::int64_t>::max();
  std::vector<SvmlightPiece> pieces_;
};

}  // namespace widemargin
