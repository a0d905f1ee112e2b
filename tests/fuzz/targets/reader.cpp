// A libFuzzer target: any bytes are LIBSVM text that is read into valid rows, or refused with a
// place that exists, and never a byte beyond their end. What is read does not depend on the
// threads, and reads the same after writing. The first byte chooses the options. Threads take a
// hundred times as long to start as such a text to read, so only some inputs are read by two. Built
// and run by .ci/libfuzzer.
//
// Model files are read by Python and numpy alone; `python -m tests.fuzz files` attacks those.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "io/svmlight_reader.hpp"
#include "io/svmlight_writer.hpp"

namespace wm = widemargin;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Data>
void check_rows(const Data& data) {
  require(data.rows >= 0 && data.nonzeros >= 0);
  require(data.pointers.data()[0] == 0 && data.pointers.data()[data.rows] == data.nonzeros);
  for (std::int64_t i = 0; i < data.rows; ++i) {
    require(std::isfinite(data.labels.data()[i]));
    require(data.pointers.data()[i] <= data.pointers.data()[i + 1]);
  }
  for (std::int64_t j = 0; j < data.nonzeros; ++j) {
    require(data.indices.data()[j] >= 0 && data.indices.data()[j] < data.width);
    require(std::isfinite(data.values.data()[j]));
  }
}

// Their indices may differ in width: counted from zero, the last one that fits into 32 bits does
// not.
template <class Data, class Other>
void check_same(const Data& data, const Other& other) {
  require(data.rows == other.rows && data.nonzeros == other.nonzeros);
  require(std::equal(data.labels.data(), data.labels.data() + data.rows, other.labels.data()));
  require(std::equal(data.values.data(), data.values.data() + data.nonzeros, other.values.data()));
  require(
      std::equal(data.indices.data(), data.indices.data() + data.nonzeros, other.indices.data()));
}

template <class Data>
std::string written(const Data& data) {
  using Index = std::remove_cvref_t<decltype(data.indices.data()[0])>;
  const wm::SvmlightSource<double, Index> source{data.labels.data(),   nullptr,
                                                 data.values.data(),   data.indices.data(),
                                                 data.pointers.data(), 0};
  return wm::format_svmlight(source, 0, data.rows);
}

wm::AnySvmlightData<double> read(std::string_view text, wm::SvmlightOptions options, int threads) {
  options.threads = threads;
  return wm::SvmlightReader<double>(text, options, nullptr).read();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  wm::SvmlightOptions options;
  options.base = static_cast<wm::IndexBase>(bytes[0] % 3);
  options.query_ids = (bytes[0] & 64) != 0;
  options.features = (bytes[0] & 128) != 0 ? 20 : -1;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  try {
    const auto any = read(text, options, 1);
    std::visit([](const auto& data) { check_rows(data); }, any);
    const auto again = read(text, options, size % 64 == 1 ? 2 : 1);
    require(any.index() == again.index());
    wm::SvmlightOptions plain;
    plain.base = wm::IndexBase::zero;
    std::visit(
        [&](const auto& data) {
          using Data = std::remove_cvref_t<decltype(data)>;
          check_same(data, std::get<Data>(again));
          const std::string text_again = written(data);
          const auto third = read(text_again, plain, 1);
          std::visit([&](const auto& same) { check_same(data, same); }, third);
        },
        any);
  } catch (const wm::SvmlightError& error) {
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    require(error.line >= 1 && error.line <= lines);
    require(error.column >= 1 && error.column <= static_cast<std::int64_t>(text.size()) + 1);
    require(error.what()[0] != '\0');
  }
  return 0;
}
