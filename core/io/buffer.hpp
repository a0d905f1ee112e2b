// An array that is allocated without being filled, and can give back what it did not need.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace widemargin {

// std::vector would write zeros over memory that parsing threads are about to fill: one more pass
// over it, and every page touched first by the wrong thread.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t length) : data_(allocate(length)) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

  void shrink(std::int64_t length) {
    void* smaller = std::realloc(data_.get(), bytes(length));
    if (smaller != nullptr) {
      static_cast<void>(data_.release());
      data_.reset(static_cast<T*>(smaller));
    }
  }

  // Hands the memory over; to be given back by std::free.
  T* release() { return data_.release(); }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };

  // malloc(0) may give null, which must keep meaning "no memory".
  static std::size_t bytes(std::int64_t length) {
    return static_cast<std::size_t>(length > 0 ? length : 1) * sizeof(T);
  }

  static T* allocate(std::int64_t length) {
    void* memory = std::malloc(bytes(length));
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    ask_for_huge_pages(memory, bytes(length));
    return static_cast<T*>(memory);
  }

  // Large arrays are written once from end to end; huge pages save most of the page faults.
  static void ask_for_huge_pages([[maybe_unused]] void* memory,
                                 [[maybe_unused]] std::size_t length) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t page = 4096;
    constexpr std::size_t worthwhile = std::size_t{1} << 22;
    if (length >= worthwhile) {
      const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
      const auto end = (reinterpret_cast<std::uintptr_t>(memory) + length) / page * page;
      static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
    }
#endif
  }

  std::unique_ptr<T[], Free> data_;
};

}  // namespace widemargin
