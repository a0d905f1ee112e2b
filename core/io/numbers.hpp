// Decimal numbers in text: eight digits at a time for the short ones that files are full of,
// std::from_chars for the rest. Both give the double nearest to what is written.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace widemargin {

// The next eight bytes, the first one lowest whatever the byte order (compilers make it one load),
// with zeros past the end of the text.
inline std::uint64_t eight_bytes(const char* p, const char* end) {
  const auto byte = [p](int i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  };
  if (end - p >= 8) [[likely]] {
    return byte(0) | byte(1) | byte(2) | byte(3) | byte(4) | byte(5) | byte(6) | byte(7);
  }
  std::uint64_t word = 0;
  for (int i = 0; i < end - p; ++i) {
    word |= byte(i);
  }
  return word;
}

struct Digits {
  std::uint64_t value;
  int count;  // 0 to 8; at 8 more may follow
};

// The run of digits at the start of eight bytes.
inline Digits leading_digits(std::uint64_t word) {
  const std::uint64_t nibbles = word ^ 0x3030303030303030u;
  // The top bit of each byte that is no digit; a carry can only disturb bytes after the first.
  const std::uint64_t others = ((nibbles + 0x7676767676767676u) | nibbles) & 0x8080808080808080u;
  const int count = std::countr_zero(others) / 8;
  if (count == 0) return {0, 0};
  // Digits move to the top, zeros come in as leading digits; then pairs, fours, eight.
  std::uint64_t v = nibbles << (64 - 8 * count);
  v = (v * 10 + (v >> 8)) & 0x00ff00ff00ff00ffu;
  v = (v * 100 + (v >> 16)) & 0x0000ffff0000ffffu;
  v = (v * 10000 + (v >> 32)) & 0x00000000ffffffffu;
  return {v, count};
}

inline Digits leading_digits(const char* p, const char* end) {
  return leading_digits(eight_bytes(p, end));
}

enum class NumberStatus { ok, missing, not_finite, too_large };

struct Number {
  double value;
  const char* end;
  NumberStatus status;
};

// Whether a number that from_chars found out of range is a large one, from where its first
// significant digit stands.
inline bool is_large(const char* p, const char* end) {
  constexpr std::int64_t cap = std::int64_t{1} << 40;
  std::int64_t place = 0;
  bool point = false, significant = false;
  for (; p < end && *p != 'e' && *p != 'E'; ++p) {
    if (*p == '.') {
      point = true;
    } else {
      significant = significant || *p != '0';
      if (significant && !point) ++place;
      if (!significant && point) --place;
    }
  }
  std::int64_t exponent = 0;
  bool negative = false;
  for (++p; p < end; ++p) {
    if (*p == '-') negative = true;
    if (*p >= '0' && *p <= '9') exponent = std::min(cap, exponent * 10 + (*p - '0'));
  }
  return place + (negative ? -exponent : exponent) > 0;
}

// After the sign; any length, any exponent.
inline Number parse_long_number(const char* p, const char* end) {
  const auto starts_with = [&](std::string_view word) {
    return end - p >= 3 &&
           std::equal(word.begin(), word.end(), p, [](char a, char b) { return a == (b | 0x20); });
  };
  if (starts_with("nan") || starts_with("inf")) {
    return {0.0, p, NumberStatus::not_finite};
  }
  double value = 0.0;
  const auto [rest, error] = std::from_chars(p, end, value);
  if (error == std::errc::invalid_argument || *p == '-') {
    return {0.0, p, NumberStatus::missing};
  }
  if (error == std::errc::result_out_of_range) {
    if (is_large(p, rest)) return {0.0, rest, NumberStatus::too_large};
    value = 0.0;
  }
  return {value, rest, NumberStatus::ok};
}

// [+-] digits [. digits] [e digits]; the end of the number, or null if it is not a short one. Up to
// fifteen digits fit a double exactly, as do the powers of ten up to 1e22, so that one division
// rounds once: correctly.
inline const char* parse_short_number(const char* p, const char* end, double& value) {
  static constexpr std::array<double, 9> scale{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
  static constexpr std::array<std::uint32_t, 9> shift{1,      10,      100,      1000,     10000,
                                                      100000, 1000000, 10000000, 100000000};
  if (FLT_EVAL_METHOD != 0) return nullptr;  // on x87 the division would round twice
  const bool negative = p < end && *p == '-';
  if (negative || (p < end && *p == '+')) ++p;
  // "1" is the only value of many files.
  if (end - p >= 2 && (p[1] == ' ' || p[1] == '\n') && static_cast<unsigned char>(*p - '0') <= 9) {
    value = static_cast<double>(*p - '0');
    if (negative) value = -value;
    return p + 1;
  }
  // "0.25" is so common that a branch on its shape, which the CPU foresees, beats counting digits,
  // which it must wait for.
  const bool one_digit = end - p >= 2 && p[1] == '.' && static_cast<unsigned char>(*p - '0') <= 9;
  const Digits whole =
      one_digit ? Digits{static_cast<std::uint64_t>(*p - '0'), 1} : leading_digits(p, end);
  p += whole.count;
  std::uint64_t mantissa = whole.value;
  int places = 0;
  if (p < end && *p == '.') {
    const Digits fraction = leading_digits(p + 1, end);
    places = fraction.count;
    p += 1 + places;
    mantissa = mantissa * shift[places] + fraction.value;
  }
  if (whole.count == 8 || whole.count + places == 0) return nullptr;
  if (p < end && ((*p | 0x20) == 'e' || static_cast<unsigned char>(*p - '0') <= 9)) return nullptr;
  value = static_cast<double>(static_cast<std::int64_t>(mantissa)) / scale[places];
  if (negative) value = -value;
  return p;
}

inline Number parse_number(const char* p, const char* end) {
  double value;
  if (const char* rest = parse_short_number(p, end, value)) [[likely]] {
    return {value, rest, NumberStatus::ok};
  }
  const bool negative = p < end && *p == '-';
  if (negative || (p < end && *p == '+')) ++p;
  Number number = parse_long_number(p, end);
  if (negative) number.value = -number.value;
  return number;
}

// The shortest text that reads back as the same number; whole numbers without an exponent, so that
// labels stay recognisable. `first` must have room for 32 characters.
template <class T>
char* format_number(char* first, T value) {
  constexpr T whole = 1e9;
  if (std::abs(value) < whole && value == std::trunc(value) &&
      !(value == 0 && std::signbit(value))) {
    return std::to_chars(first, first + 32, static_cast<std::int64_t>(value)).ptr;
  }
  return std::to_chars(first, first + 32, value).ptr;
}

}  // namespace widemargin
