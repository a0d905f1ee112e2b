// A hint that a cache line will be read soon.
#pragma once

#include <cstddef>

#if defined(_MSC_VER) && !defined(__clang__)
#include <xmmintrin.h>
#endif

// GCC takes a function that only loads and prefetches for one without effect, and drops the call
// unless it is inlined.
#if defined(__GNUC__)
#define WIDEMARGIN_INLINE [[gnu::always_inline]] inline
#else
#define WIDEMARGIN_INLINE inline
#endif

namespace widemargin {

WIDEMARGIN_INLINE void prefetch_line(const void* address) {
#if defined(_MSC_VER) && !defined(__clang__)
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#else
  __builtin_prefetch(address);
#endif
}

WIDEMARGIN_INLINE void prefetch_lines(const void* address, std::size_t bytes) {
  const char* first = static_cast<const char*>(address);
  for (std::size_t offset = 0; offset < bytes; offset += 64) prefetch_line(first + offset);
}

}  // namespace widemargin
