// A test is a function that checks; a failed check is told with its place, and the rest goes on.
#pragma once

#include <cstdint>
#include <vector>

namespace checks {

struct Test {
  const char* name;
  void (*run)();
};

std::vector<Test>& all();

struct Entry {
  Entry(const char* name, void (*run)());
};

// Both tell what failed, and where.
void check(bool good, const char* file, int line, const char* what);
void check_near(double a, double b, double tol, const char* file, int line, const char* what);

// Printed with all digits, to be compared with what the program for other instructions prints.
void show(const char* name, double value);

// Numbers that are the same on every machine: xorshift64*, not the library's distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435769u + 88172645463325252ull) {}
  std::uint64_t bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717ull;
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double symmetric() { return 2.0 * unit() - 1.0; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(limit));
  }
  std::vector<double> vector(std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = symmetric();
    return values;
  }

 private:
  std::uint64_t state_;
};

}  // namespace checks

#define TEST(name)                                      \
  static void name();                                   \
  static const checks::Entry name##_entry(#name, name); \
  static void name()

#define CHECK(condition) checks::check((condition), __FILE__, __LINE__, #condition)
#define CHECK_NEAR(a, b, tol) checks::check_near((a), (b), (tol), __FILE__, __LINE__, #a ", " #b)
