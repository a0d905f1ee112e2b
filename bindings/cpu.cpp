// Tells which instruction sets this CPU has; apart from the core, so that it runs on all of them.
#include <nanobind/nanobind.h>

namespace {

bool has_avx2() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

}  // namespace

NB_MODULE(_cpu, m) { m.def("has_avx2", &has_avx2, "Whether the CPU has AVX2, FMA and BMI2."); }
