// The bytes of an open file, mapped where the platform can, read otherwise.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <vector>

#if defined(_WIN32)
#include <io.h>
#else
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace widemargin {

// Works on a descriptor, so that names, encodings and permissions stay with whoever opened it. The
// descriptor is not closed. A mapped file must not be cut short by others while it is read.
class MappedFile {
 public:
  explicit MappedFile(int descriptor) {
#if !defined(_WIN32)
    struct stat status{};
    if (fstat(descriptor, &status) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot read the file's size");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (S_ISREG(status.st_mode) && size > 0) {
      void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (address != MAP_FAILED) {
        address_ = address;
        text_ = {static_cast<const char*>(address), size};
        static_cast<void>(madvise(address, size, MADV_WILLNEED));
        return;
      }
    }
#endif
    read_all(descriptor);
  }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  ~MappedFile() {
#if !defined(_WIN32)
    if (address_ != nullptr) {
      munmap(address_, text_.size());
    }
#endif
  }

  std::string_view text() const { return text_; }

 private:
  void read_all(int descriptor) {
    // From its start, as a mapping would be; a pipe cannot go back, and need not.
#if defined(_WIN32)
    static_cast<void>(_lseeki64(descriptor, 0, SEEK_SET));
#else
    static_cast<void>(lseek(descriptor, 0, SEEK_SET));
#endif
    constexpr std::size_t block = std::size_t{1} << 24;
    std::size_t length = 0;
    for (;;) {
      if (copy_.size() < length + block) {
        copy_.resize(2 * length + block);
      }
#if defined(_WIN32)
      const auto got = _read(descriptor, copy_.data() + length, static_cast<unsigned>(block));
#else
      const auto got = ::read(descriptor, copy_.data() + length, block);
#endif
      if (got < 0) {
        if (errno == EINTR) continue;
        throw std::system_error(errno, std::generic_category(), "cannot read the file");
      }
      if (got == 0) break;
      length += static_cast<std::size_t>(got);
    }
    text_ = {copy_.data(), length};
  }

  std::string_view text_;
  std::vector<char> copy_;
  [[maybe_unused]] void* address_ = nullptr;
};

}  // namespace widemargin
