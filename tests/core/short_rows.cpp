// Products with short rows of uneven length against those of row after row.
#include <cstdint>
#include <vector>

#include "kernels/products.hpp"
#include "matrices.hpp"
#include "rows/csr.hpp"

namespace wm = widemargin;

namespace {

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

// Rows of uneven length with a mean of about nine, some empty, one longer than a block.
template <class T, class Index>
struct Uneven {
  std::vector<T> values;
  std::vector<Index> indices, pointers{0};
  std::int64_t width = 1500;

  explicit Uneven(std::int64_t count) {
    checks::Random random(11);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t length = i == count / 2 ? 1100 : random.below(random.below(2) ? 32 : 6);
      for (std::int64_t k = 0; k < length; ++k) {
        values.push_back(static_cast<T>(random.symmetric()));
        indices.push_back(static_cast<Index>(length > 40 ? k : (i + 31 * k) % width));
      }
      pointers.push_back(static_cast<Index>(values.size()));
    }
    values.shrink_to_fit();  // nothing may be read behind the last one
  }
};

// Bits are those of row after row, whatever part of the rows is asked for.
template <class T, class Index>
void check_short_rows(double bias) {
  const std::int64_t n = 700;
  const Uneven<T, Index> data(n);
  wm::CsrRows<T, Index> rows{
      data.values.data(), data.indices.data(), data.pointers.data(), n, data.width, bias};
  const bool taken = sizeof(Index) == sizeof(std::int32_t);
  CHECK(wm::are_short_and_uneven(rows, 0, n) == taken);
  CHECK(wm::are_short_and_uneven(rows, 400, n) == taken);
  CHECK(!wm::are_short_and_uneven(rows, 345, 355));
  checks::Random random(5);
  const std::vector<double> w = random.vector(data.width + 1);
  std::vector<double> a = random.vector(n), h = random.vector(n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 7 == 0 || (i > 500 && i % 3)) a[place(i)] = 0.0;
    if (i % 5 == 0 || i < 128) h[place(i)] = 0.0;
  }
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{300}}) {
    std::vector<double> expected(place(n), 0.0), sum(w), squares(w), image(w);
    double share = 0.0;
    for (std::int64_t i = begin; i < n; ++i) {
      const double score = expected[place(i)] = rows.dot(i, w.data());
      if (a[place(i)] != 0.0) rows.axpy(i, a[place(i)], sum.data());
      const double c = h[place(i)], scale = c * (score + 0.25);
      share += c != 0.0 ? scale : 0.0;
      if (c == 0.0) continue;
      rows.axpy(i, scale, image.data());
      rows.for_each(i, [&](std::int64_t j, double v) { squares[place(j)] += c * v * v; });
    }
    std::vector<double> found(place(n), 0.0), both(place(n), 0.0), s(w), t(w), q(w), p(w), m(w);
    wm::scores(rows, w.data(), found.data(), begin, n);
    CHECK(found == expected);
    wm::accumulate(rows, a.data(), nullptr, s.data(), begin, n);
    CHECK(s == sum);
    wm::scores_and_accumulate(rows, w.data(), both.data(), a.data(), nullptr, t.data(), begin, n);
    CHECK(both == expected && t == sum);
    wm::curvature_diagonal(rows, h.data(), q.data(), begin, n);
    CHECK(q == squares);
    CHECK(wm::curvature_product(rows, h.data(), w.data(), 0.25, p.data(), begin, n) == share);
    CHECK(p == image);
    std::vector<double> kept(place(n), 0.0);
    wm::curvature_product(rows, h.data(), w.data(), 0.25, m.data(), begin, n, kept.data());
    CHECK(m == image && kept == expected);
  }
  // A part may be whatever it is: no more than the rows that were asked for is written.
  std::vector<double> part(place(n), -9.0);
  wm::scores(rows, w.data(), part.data(), 100, 300);
  CHECK(part[99] == -9.0 && part[300] == -9.0 && part[100] == rows.dot(100, w.data()));
  const std::vector<std::int64_t> some{3, 1, 2};
  rows.subset = some.data();
  CHECK(!wm::are_short_and_uneven(rows, 0, 3));
}

}  // namespace

TEST(short_rows_of_uneven_length) {
  for (const double bias : {0.0, 0.5}) {
    check_short_rows<float, std::int32_t>(bias);
    check_short_rows<float, std::int64_t>(bias);
    check_short_rows<double, std::int32_t>(bias);
    check_short_rows<double, std::int64_t>(bias);
  }
}

TEST(rows_of_one_length_are_not_uneven) {
  std::vector<double> values(300, 1.0);
  std::vector<std::int32_t> indices, pointers{0};
  for (std::int32_t i = 0; i < 100; ++i) {
    indices.insert(indices.end(), {i, i + 1, i + 2});
    pointers.push_back(3 * i + 3);
  }
  wm::CsrRows<double, std::int32_t> rows{values.data(), indices.data(), pointers.data(), 100, 102};
  CHECK(!wm::are_short_and_uneven(rows, 0, 100));
}
