// The reader of LIBSVM's format: numbers as the standard library reads them, and texts, sound or
// spoilt, that give valid rows or an error with its place, and never a byte beyond their end.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "check.hpp"
#include "io/svmlight_reader.hpp"
#include "io/svmlight_writer.hpp"

namespace wm = widemargin;

namespace {

// A copy that ends where its memory ends, so that sanitizers see a read beyond it.
class Exact {
 public:
  explicit Exact(const std::string& text) : memory_(new char[text.size()]), length_(text.size()) {
    std::memcpy(memory_.get(), text.data(), length_);
  }
  std::string_view view() const { return {memory_.get(), length_}; }

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t length_;
};

std::string random_number(checks::Random& random) {
  static const char* formats[] = {"%.0f", "%.3f", "%g", "%.17g", "%+.5e", "%.12f", "%.1f"};
  static const double powers[] = {1e-300, 1e-30, 1e-5, 1.0, 1e5, 1e15, 1e30};
  char text[400];
  const double value = random.symmetric() * powers[random.below(7)];
  std::snprintf(text, sizeof text, formats[random.below(7)], value);
  return text;
}

std::string random_text(checks::Random& random, std::int64_t rows) {
  std::string text;
  for (std::int64_t i = 0; i < rows; ++i) {
    text += random.below(2) ? "1" : "-1";
    std::int64_t index = 0;
    for (std::int64_t count = random.below(6); count > 0; --count) {
      index += 1 + random.below(9);
      text += random.below(5) ? " " : "\t ";
      text += std::to_string(index) + ":" + random_number(random);
    }
    if (random.below(9) == 0) text += " # 3:4 :";
    text += random.below(20) ? "\n" : "\r\n";
  }
  return text;
}

template <class Data>
void check_rows(const Data& data) {
  CHECK(data.rows >= 0 && data.nonzeros >= 0);
  CHECK(data.pointers.data()[0] == 0 && data.pointers.data()[data.rows] == data.nonzeros);
  for (std::int64_t i = 0; i < data.rows; ++i) {
    CHECK(std::isfinite(data.labels.data()[i]));
    CHECK(data.pointers.data()[i] <= data.pointers.data()[i + 1]);
  }
  for (std::int64_t j = 0; j < data.nonzeros; ++j) {
    CHECK(data.indices.data()[j] >= 0 && data.indices.data()[j] < data.width);
    CHECK(std::isfinite(data.values.data()[j]));
  }
}

// Whether the text could be read; what was read, or where it could not, is checked.
bool reads(const std::string& text, const wm::SvmlightOptions& options) {
  const Exact exact(text);
  try {
    wm::SvmlightReader<double> reader(exact.view(), options, nullptr);
    std::visit([](const auto& data) { check_rows(data); }, reader.read());
    return true;
  } catch (const wm::SvmlightError& error) {
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    CHECK(error.line >= 1 && error.line <= lines);
    CHECK(error.column >= 1 && error.column <= static_cast<std::int64_t>(text.size()) + 1);
    CHECK(error.what()[0] != '\0');
    return false;
  }
}

}  // namespace

TEST(numbers_are_rounded_as_the_standard_library_rounds_them) {
  checks::Random random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = random_number(random);
    const Exact exact(text);
    const char* begin = exact.view().data();
    const wm::Number number = wm::parse_number(begin, begin + text.size());
    CHECK(number.status == wm::NumberStatus::ok);
    CHECK(number.end == begin + text.size());
    CHECK(number.value == std::strtod(text.c_str(), nullptr));
    char written[32];
    const std::string again(written, wm::format_number(written, number.value));
    CHECK(std::strtod(again.c_str(), nullptr) == number.value);
  }
}

TEST(texts_come_back_as_they_were_written) {
  checks::Random random(2);
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_text(random, 1 + random.below(30));
    for (const int threads : {1, 2}) {
      wm::SvmlightOptions options;
      options.threads = threads;
      options.base = wm::IndexBase::one;
      wm::SvmlightReader<double> reader(text, options, nullptr);
      const auto any = reader.read();
      const auto& data = std::get<0>(any);
      const wm::SvmlightSource<double, std::int32_t> source{
          data.labels.data(),   nullptr, data.values.data(), data.indices.data(),
          data.pointers.data(), 1};
      const std::string written = wm::format_svmlight(source, 0, data.rows);
      wm::SvmlightReader<double> second(written, options, nullptr);
      const auto other = second.read();
      const auto& same = std::get<0>(other);
      CHECK(same.rows == data.rows && same.nonzeros == data.nonzeros);
      CHECK(std::equal(data.values.data(), data.values.data() + data.nonzeros, same.values.data()));
      CHECK(std::equal(data.indices.data(), data.indices.data() + data.nonzeros,
                       same.indices.data()));
    }
  }
}

TEST(spoilt_texts_are_read_or_refused_with_their_place) {
  checks::Random random(3);
  static const char spoilers[] = "0123456789:.-+eE #\n\r\tqidnaf\0x\xff";
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = random_text(random, random.below(4));
    for (std::int64_t times = random.below(4); times > 0 && !text.empty(); --times) {
      const auto place =
          static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())));
      const char c = spoilers[random.below(sizeof spoilers - 1)];
      switch (random.below(3)) {
        case 0:
          text[place] = c;
          break;
        case 1:
          text.insert(place, 1, c);
          break;
        default:
          text.resize(place);
      }
    }
    wm::SvmlightOptions options;
    options.query_ids = random.below(2) == 0;
    options.base = static_cast<wm::IndexBase>(random.below(3));
    options.features = random.below(3) == 0 ? random.below(40) : -1;
    (reads(text, options) ? read : refused) += 1;
  }
  CHECK(read > 1000);
  CHECK(refused > 1000);
}
