// Runs all tests; the exit code is 1 if a check failed.
#include <cmath>
#include <cstdio>

#include "check.hpp"

namespace checks {

static int failures = 0;

std::vector<Test>& all() {
  static std::vector<Test> tests;
  return tests;
}

Entry::Entry(const char* name, void (*run)()) { all().push_back({name, run}); }

void check(bool good, const char* file, int line, const char* what) {
  if (!good && ++failures <= 20) std::printf("%s:%d: not so: %s\n", file, line, what);
}

void check_near(double a, double b, double tol, const char* file, int line, const char* what) {
  const bool good = std::abs(a - b) <= tol * (1.0 + std::abs(a) + std::abs(b));
  if (!good && ++failures <= 20) {
    std::printf("%s:%d: %s: %.17g is not %.17g\n", file, line, what, a, b);
  }
}

void show(const char* name, double value) { std::printf("value %s %.17g\n", name, value); }

}  // namespace checks

int main() {
  for (const checks::Test& test : checks::all()) {
    const int before = checks::failures;
    test.run();
    std::printf("%s %s\n", checks::failures == before ? "passed" : "FAILED", test.name);
  }
  std::printf("%zu tests, %d failed checks\n", checks::all().size(), checks::failures);
  return checks::failures == 0 && !checks::all().empty() ? 0 : 1;
}
