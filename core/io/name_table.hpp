// Names with a number each, in the order in which they came: a fraction of the memory of a
// dictionary of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace widemargin {

class NameTable {
 public:
  std::int64_t count() const { return std::ssize(begin_) - 1; }
  std::string_view name(std::int64_t number) const {
    const auto begin = static_cast<std::size_t>(begin_[number]);
    return std::string_view(text_).substr(begin,
                                          static_cast<std::size_t>(begin_[number + 1]) - begin);
  }

  // The number of a name; one that is new gets the next number if the table may grow, or else -1.
  std::int64_t number(std::string_view name, bool grow) {
    if (2 * (count() + 1) > std::ssize(slots_)) spread();
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hashed(name) & mask;; at = (at + 1) & mask) {
      if (slots_[at] == none) {
        if (!grow) return none;
        if (count() == std::numeric_limits<std::int32_t>::max()) {
          throw std::length_error("more than 2^31 names");
        }
        slots_[at] = static_cast<std::int32_t>(count());
        text_.append(name);
        begin_.push_back(std::ssize(text_));
        return slots_[at];
      }
      if (this->name(slots_[at]) == name) return slots_[at];
    }
  }

  // All names, each after its length in four bytes.
  std::string packed() const {
    std::string out;
    out.reserve(text_.size() + 4 * static_cast<std::size_t>(count()));
    for (std::int64_t number = 0; number < count(); ++number) {
      const std::string_view own = name(number);
      for (int byte = 0; byte < 4; ++byte) {
        out.push_back(static_cast<char>(own.size() >> (8 * byte) & 255));
      }
      out.append(own);
    }
    return out;
  }

  // Calls visit(name) for each of the names in such a string.
  template <class Visit>
  static void for_packed(std::string_view packed, Visit&& visit) {
    while (!packed.empty()) {
      std::size_t length = 0;
      for (std::size_t byte = 0; byte < 4 && packed.size() >= 4; ++byte) {
        length |= static_cast<std::size_t>(static_cast<unsigned char>(packed[byte])) << (8 * byte);
      }
      if (packed.size() < 4 + length) throw std::invalid_argument("packed names end too early");
      visit(packed.substr(4, length));
      packed.remove_prefix(4 + length);
    }
  }

 private:
  static constexpr std::int32_t none = -1;
  std::string text_;
  std::vector<std::int64_t> begin_{0};  // of each name in the text, and the end of the last one
  std::vector<std::int32_t> slots_;     // a power of two of them, at most half of them taken

  static std::size_t hashed(std::string_view name) { return std::hash<std::string_view>{}(name); }

  void spread() {
    std::size_t size = 64;
    while (static_cast<std::int64_t>(size) < 3 * (count() + 1)) size *= 2;
    slots_.assign(size, none);
    for (std::int64_t number = 0; number < count(); ++number) {
      std::size_t at = hashed(name(number)) & (size - 1);
      while (slots_[at] != none) at = (at + 1) & (size - 1);
      slots_[at] = static_cast<std::int32_t>(number);
    }
  }
};

}  // namespace widemargin
