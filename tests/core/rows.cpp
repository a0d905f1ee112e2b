// Row views against a plain matrix: dot, axpy, norms, entries, for every layout and type.
#include "matrices.hpp"
#include "rows/storage.hpp"

namespace {

template <class Rows>
void check_views(const Rows& rows, const checks::Plain& plain) {
  checks::Random random(7);
  const std::vector<double> w = random.vector(plain.width);
  std::int64_t stored = 0;
  for (std::int64_t i = 0; i < plain.count; ++i) {
    double dot = 0.0, norm = 0.0;
    std::vector<double> moved = w, expected = w, seen(w.size(), 0.0);
    for (std::int64_t j = 0; j < plain.width; ++j) {
      dot += plain.at(i, j) * w[static_cast<std::size_t>(j)];
      norm += plain.at(i, j) * plain.at(i, j);
      expected[static_cast<std::size_t>(j)] += -1.5 * plain.at(i, j);
    }
    CHECK_NEAR(rows.dot(i, w.data()), dot, 1e-14);
    CHECK_NEAR(rows.squared_norm(i), norm, 1e-14);
    rows.axpy(i, -1.5, moved.data());
    rows.for_each(i, [&](std::int64_t j, double v) { seen[static_cast<std::size_t>(j)] += v; });
    double turns[4] = {};
    rows.template for_each_in_turns<4>(i, [&](auto turn, std::int64_t j, double v) {
      turns[turn] += v * w[static_cast<std::size_t>(j)];
    });
    CHECK_NEAR((turns[0] + turns[1]) + (turns[2] + turns[3]), dot, 1e-14);
    for (std::int64_t j = 0; j < plain.width; ++j) {
      CHECK_NEAR(moved[static_cast<std::size_t>(j)], expected[static_cast<std::size_t>(j)], 1e-15);
      CHECK(seen[static_cast<std::size_t>(j)] == plain.at(i, j));
    }
    rows.prefetch_pointers(i);
    rows.prefetch(i);
    stored += rows.nonzeros(i);
  }
  CHECK(rows.total_nonzeros() == stored);
}

}  // namespace

TEST(views_of_every_layout) {
  const auto visit = [](const auto& rows, const auto& plain) { check_views(rows, plain); };
  const auto all = [&](std::int64_t n, std::int64_t d, double density) {
    checks::for_dense<float>(n, d, density, visit);
    checks::for_dense<double>(n, d, density, visit);
    checks::for_csr<float, std::int32_t>(n, d, density, visit);
    checks::for_csr<float, std::int64_t>(n, d, density, visit);
    checks::for_csr<double, std::int32_t>(n, d, density, visit);
    checks::for_csr<double, std::int64_t>(n, d, density, visit);
  };
  // Around the widths at which loops over vectors end and begin.
  for (const std::int64_t width : {1, 3, 4, 5, 7, 8, 15, 16, 17, 33, 67}) all(5, width, 0.6);
  all(9, 40, 0.0);
  all(9, 40, 1.0);
  all(0, 4, 0.5);
}

TEST(whole_rows) {
  const std::int32_t indices[] = {0, 1, 2, 1, 0, 1, 2}, turned[] = {0, 1, 2, 1, 0, 2, 1};
  const std::int32_t pointers[] = {0, 3, 4, 7};
  CHECK(widemargin::whole_rows_in_order(indices, pointers, 3, 3));
  CHECK(!widemargin::whole_rows_in_order(turned, pointers, 3, 3));
}

TEST(repeated_columns) {
  const std::int64_t indices[] = {2, 0, 1, 1, 2, 0, 0};
  const std::int64_t apart[] = {0, 3, 3, 5, 6, 7};
  const std::int64_t together[] = {0, 3, 5, 7};
  CHECK(!widemargin::has_repeats(indices, apart, 5, 3));
  CHECK(widemargin::has_repeats(indices, together, 3, 3));
  CHECK(!widemargin::has_repeats(indices, apart, 0, 3));
}
