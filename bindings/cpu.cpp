// Tells which instruction sets this CPU has; apart from the core, so that it runs on all of them.
#include <nanobind/nanobind.h>

#if defined(_M_X64) && !defined(__clang__)
#include <intrin.h>
#endif

namespace {

bool has_avx2() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#elif defined(_M_X64) && !defined(__clang__)
  // Leaves and bits of CPUID as Intel's manual numbers them (volume 2A).
  int leaf[4];  // eax, ebx, ecx, edx
  __cpuid(leaf, 0);
  if (leaf[0] < 7) return false;
  __cpuid(leaf, 1);
  const bool fma = leaf[2] & (1 << 12), xsave = leaf[2] & (1 << 27), avx = leaf[2] & (1 << 28);
  // The system has to save the wide registers (bits 1 and 2 of XCR0) when it switches threads.
  if (!(fma && xsave && avx) || (_xgetbv(0) & 6) != 6) return false;
  __cpuidex(leaf, 7, 0);
  return (leaf[1] & (1 << 5)) && (leaf[1] & (1 << 8));  // AVX2, BMI2
#else
  return false;
#endif
}

}  // namespace

NB_MODULE(_cpu, m) { m.def("has_avx2", &has_avx2, "Whether the CPU has AVX2, FMA and BMI2."); }
