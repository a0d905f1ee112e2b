// Compressed rows as lines of LIBSVM's text format.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "io/numbers.hpp"

namespace widemargin {

template <class Value, class Index>
struct SvmlightSource {
  const double* labels;
  const std::int64_t* query_ids;  // null: none
  const Value* values;
  const Index* indices;
  const Index* pointers;
  std::int64_t first_index;  // what the first feature is called: 0 or 1
};

// The rows [begin, end).
template <class Value, class Index>
std::string format_svmlight(const SvmlightSource<Value, Index>& source, std::int64_t begin,
                            std::int64_t end) {
  constexpr std::size_t longest_number = 32;
  constexpr std::size_t longest_item = 2 * longest_number + 8;
  std::string text;
  std::size_t length = 0;
  const auto make_room = [&] {
    if (text.size() < length + longest_item) text.resize(2 * text.size() + 4096);
    return text.data() + length;
  };
  for (std::int64_t i = begin; i < end; ++i) {
    char* p = format_number(make_room(), source.labels[i]);
    if (source.query_ids != nullptr) {
      for (const char c : {' ', 'q', 'i', 'd', ':'}) *p++ = c;
      p = std::to_chars(p, p + longest_number, source.query_ids[i]).ptr;
    }
    length = static_cast<std::size_t>(p - text.data());
    for (std::int64_t j = source.pointers[i]; j < source.pointers[i + 1]; ++j) {
      p = make_room();
      *p++ = ' ';
      p = std::to_chars(p, p + longest_number,
                        static_cast<std::int64_t>(source.indices[j]) + source.first_index)
              .ptr;
      *p++ = ':';
      p = format_number(p, source.values[j]);
      length = static_cast<std::size_t>(p - text.data());
    }
    *make_room() = '\n';
    ++length;
  }
  text.resize(length);
  return text;
}

}  // namespace widemargin
