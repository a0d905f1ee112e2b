// Kernels over rows against plain loops, and functions against the standard library's.
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/checksum.hpp"
#include "kernels/class_products.hpp"
#include "kernels/exponential.hpp"
#include "kernels/gram.hpp"
#include "kernels/products.hpp"
#include "kernels/transpose.hpp"
#include "matrices.hpp"

namespace wm = widemargin;

namespace {

std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

void check_same(const std::vector<double>& found, const std::vector<double>& expected) {
  CHECK(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK_NEAR(found[i], expected[i], 1e-13);
}

// sum_i coefficients_i x_i
std::vector<double> combination(const checks::Plain& X, const std::vector<double>& coefficients) {
  std::vector<double> sum(place(X.width), 0.0);
  for (std::int64_t i = 0; i < X.count; ++i) {
    for (std::int64_t j = 0; j < X.width; ++j) sum[place(j)] += coefficients[place(i)] * X.at(i, j);
  }
  return sum;
}

std::vector<double> products(const checks::Plain& X, const std::vector<double>& w) {
  std::vector<double> scores(place(X.count), 0.0);
  for (std::int64_t i = 0; i < X.count; ++i) {
    for (std::int64_t j = 0; j < X.width; ++j) scores[place(i)] += X.at(i, j) * w[place(j)];
  }
  return scores;
}

template <class Rows>
void check_products(const Rows& rows, const checks::Plain& X) {
  checks::Random random(3);
  const std::int64_t n = X.count;
  const std::vector<double> w = random.vector(X.width);
  std::vector<double> a = random.vector(n), old = a, signs(place(n)), signed_a(place(n));
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 3 == 0) a[place(i)] = old[place(i)] = 0.0;
    if (i % 4 == 1) old[place(i)] += 0.5;
    signs[place(i)] = i % 2 ? 1.0 : -1.0;
    signed_a[place(i)] = signs[place(i)] * a[place(i)];
  }
  const std::vector<double> expected = products(X, w);

  // In two calls: what is asked for is [begin, end) and nothing else.
  std::vector<double> scores(place(n), -9.0), sum(place(X.width), 0.0), plus(place(X.width), 0.0);
  wm::scores(rows, w.data(), scores.data(), 0, n / 2);
  for (std::int64_t i = n / 2; i < n; ++i) CHECK(scores[place(i)] == -9.0);
  wm::scores(rows, w.data(), scores.data(), n / 2, n);
  check_same(scores, expected);
  wm::accumulate(rows, a.data(), signs.data(), sum.data(), 0, n / 2);
  wm::accumulate(rows, a.data(), signs.data(), sum.data(), n / 2, n);
  check_same(sum, combination(X, signed_a));
  wm::accumulate(rows, a.data(), nullptr, plus.data(), 0, n);
  check_same(plus, combination(X, a));

  std::vector<double> both(place(n)), both_sum(place(X.width), 0.0);
  wm::scores_and_accumulate(rows, w.data(), both.data(), a.data(), signs.data(), both_sum.data(), 0,
                            n);
  check_same(both, expected);
  check_same(both_sum, sum);

  std::vector<double> change(place(X.width), 0.0), difference(place(n));
  for (std::int64_t i = 0; i < n; ++i) {
    difference[place(i)] = signs[place(i)] * (a[place(i)] - old[place(i)]);
  }
  wm::accumulate_change(rows, a.data(), old.data(), signs.data(), change.data(), 0, n);
  check_same(change, combination(X, difference));

  std::vector<double> curved(place(X.width), 0.0), weighted(place(n)), diagonal = curved,
                                                                       squares = curved;
  double share = 0.0;
  for (std::int64_t i = 0; i < n; ++i) {
    weighted[place(i)] = a[place(i)] * (expected[place(i)] + 0.25);
    share += weighted[place(i)];
    for (std::int64_t j = 0; j < X.width; ++j) {
      squares[place(j)] += a[place(i)] * X.at(i, j) * X.at(i, j);
    }
  }
  CHECK_NEAR(wm::curvature_product(rows, a.data(), w.data(), 0.25, curved.data(), 0, n), share,
             1e-13);
  check_same(curved, combination(X, weighted));
  wm::curvature_diagonal(rows, a.data(), diagonal.data(), 0, n);
  check_same(diagonal, squares);
}

template <class Rows>
void check_gram(const Rows& rows, const checks::Plain& X, bool constant) {
  checks::Random random(5);
  std::vector<double> h = random.vector(X.count);
  for (double& value : h) value = value < -0.5 ? 0.0 : value * value;
  const std::int64_t side = X.width + (constant ? 1 : 0);
  std::vector<double> found(place(side * side), 0.0), expected = found, tiles = found,
                                                      by_rows = found;
  for (std::int64_t i = 0; i < X.count; ++i) {
    for (std::int64_t j = 0; j < side; ++j) {
      for (std::int64_t l = 0; l < side; ++l) {
        const double left = j < X.width ? X.at(i, j) : 1.0, right = l < X.width ? X.at(i, l) : 1.0;
        expected[place(j * side + l)] += h[place(i)] * left * right;
      }
    }
  }
  wm::gram(rows, h.data(), constant, side, found.data(), 0, X.count / 2);
  wm::gram(rows, h.data(), constant, side, found.data(), X.count / 2, X.count);
  wm::gram_by_tiles(rows, h.data(), constant, side, tiles.data(), 0, X.count);
  const auto same = [](std::int64_t j) { return static_cast<std::int32_t>(j); };
  wm::gram_by_rows(rows, same, h.data(), constant, side, by_rows.data(), 0, X.count);
  // Packed into lines, two at a time, whose product with themselves it is.
  std::vector<double> packed(place(side * side), 0.0), lines(place(2 * side));
  for (wm::Packed part{0, 0}; part.next < X.count;) {
    part = wm::pack_rows(rows, h.data(), constant, side, lines.data(), 2, part.next);
    for (std::int64_t line = 0; line < part.filled; ++line) {
      const double* z = lines.data() + line * side;
      for (std::int64_t j = 0; j < side; ++j) {
        for (std::int64_t l = 0; l < side; ++l) packed[place(j * side + l)] += z[j] * z[l];
      }
    }
  }
  check_same(packed, expected);
  for (std::vector<double>* matrix : {&found, &tiles, &by_rows}) {
    wm::symmetrise(matrix->data(), side);
    check_same(*matrix, expected);
  }
}

template <class Rows>
void check_row_gram(const Rows& rows, const checks::Plain& X) {
  std::vector<double> found(place(X.count * X.count), 0.0), expected;
  for (std::int64_t i = 0; i < X.count; ++i) {
    for (std::int64_t l = 0; l < X.count; ++l) {
      double sum = 0.0;
      for (std::int64_t j = 0; j < X.width; ++j) sum += X.at(i, j) * X.at(l, j);
      expected.push_back(sum);
    }
  }
  wm::row_gram(rows, found.data(), 0, X.count / 2);
  wm::row_gram(rows, found.data(), X.count / 2, X.count);
  check_same(found, expected);
}

template <class Rows>
void check_classes(const Rows& rows, const checks::Plain& X, std::int64_t classes) {
  checks::Random random(11);
  const std::int64_t stride = wm::padded_classes(classes);
  CHECK(stride >= classes && stride < classes + wm::vector_length);
  const std::vector<double> W = random.vector(X.width * stride), start = random.vector(stride);
  const std::vector<double> delta = random.vector(stride);
  const std::vector<std::int32_t> chosen{0, static_cast<std::int32_t>(classes - 1)};
  for (std::int64_t i = 0; i < X.count; ++i) {
    std::vector<double> expected = start, found(place(stride)), some(place(stride), 0.0);
    std::vector<double> moved = W, plain = W, few = W, two = W;
    for (std::int64_t j = 0; j < X.width; ++j) {
      for (std::int64_t c = 0; c < stride; ++c) {
        expected[place(c)] += X.at(i, j) * W[place(j * stride + c)];
        plain[place(j * stride + c)] += X.at(i, j) * delta[place(c)];
      }
      for (int m = 0; m < 2; ++m) {
        two[place(j * stride + chosen[place(m)])] += X.at(i, j) * delta[place(m)];
      }
    }
    wm::class_scores(rows, i, W.data(), stride, start.data(), found.data());
    check_same(found, expected);
    wm::class_axpy(rows, i, delta.data(), moved.data(), stride);
    check_same(moved, plain);
    if (classes < 2) continue;
    wm::some_class_scores(rows, i, W.data(), stride, start.data(), chosen.data(), 2, some.data());
    for (const std::int32_t c : chosen) CHECK_NEAR(some[place(c)], expected[place(c)], 1e-13);
    wm::few_class_axpy<2>(rows, i, chosen.data(), delta.data(), few.data(), stride);
    check_same(few, two);
    few = W;
    wm::some_class_axpy(rows, i, chosen.data(), delta.data(), 2, few.data(), stride);
    check_same(few, two);
  }
}

double relative(double found, double expected) {
  return std::abs(found - expected) / std::max(std::abs(expected), 1e-300);
}

}  // namespace

// Widths and counts with and without whole squares, and beginnings that are not aligned.
template <class T>
void check_transpose() {
  for (const std::int64_t width : {1, 7, 16, 37, 64}) {
    for (const std::int64_t count : {1, 15, 16, 35, 300}) {
      std::vector<std::vector<T>> columns(place(width), std::vector<T>(place(count + 3)));
      std::vector<const T*> starts;
      for (std::int64_t j = 0; j < width; ++j) {
        for (std::int64_t i = 0; i < count + 3; ++i) {
          columns[place(j)][place(i)] = static_cast<T>(1000 * j + i);
        }
        starts.push_back(columns[place(j)].data());
      }
      std::vector<T> rows(place(width * count));
      CHECK(wm::transpose(starts, 3, count, rows.data()));
      bool same = true;
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          same = same && rows[place(i * width + j)] == static_cast<T>(1000 * j + i + 3);
        }
      }
      CHECK(same);
      for (const T bad :
           {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
        T& entry = columns[place(width / 2)][place(3 + count / 2)];
        const T good = std::exchange(entry, bad);
        CHECK(!wm::transpose(starts, 3, count, rows.data()));
        entry = good;
      }
    }
  }
}

TEST(columns_to_rows) {
  check_transpose<float>();
  check_transpose<double>();
}

// Unaligned words too, and a rest of fewer than eight.
TEST(checksums) {
  std::vector<std::uint8_t> bytes(103);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::uint8_t>(37 * k);
  const auto whole = wm::checksum(bytes.data() + 1, 101, 5);
  CHECK(whole == 0x1c92143eb32e28b4ull);
  for (std::size_t k = 1; k < 102; ++k) {
    bytes[k] ^= 1;
    CHECK(wm::checksum(bytes.data() + 1, 101, 5) != whole);
    bytes[k] ^= 1;
  }
}

TEST(products_with_vectors) {
  const auto visit = [](const auto& rows, const auto& plain) { check_products(rows, plain); };
  for (const std::int64_t width : {1, 6, 16, 35}) {
    checks::for_dense<float>(23, width, 0.4, visit);
    checks::for_csr<double, std::int64_t>(23, width, 0.4, visit);
  }
}

TEST(gram_matrices) {
  const auto visit = [](const auto& rows, const auto& plain) {
    check_gram(rows, plain, false);
    check_gram(rows, plain, true);
    check_row_gram(rows, plain);
  };
  for (const std::int64_t width : {1, 4, 11, 12, 13, 25}) {
    checks::for_dense<float>(19, width, 0.8, visit);
    checks::for_csr<double, std::int64_t>(19, width, 0.1, visit);
    checks::for_csr<double, std::int64_t>(19, width, 0.8, visit);
    checks::for_csr<double, std::int64_t>(19, width, 1.0, visit);
  }
}

TEST(products_with_several_classes) {
  // Around whole registers, the widest piece (32 classes), and where many classes begin (128).
  for (const std::int64_t classes : {1, 2, 4, 5, 31, 33, 70, 127, 128, 129, 200}) {
    const auto visit = [&](const auto& rows, const auto& plain) {
      check_classes(rows, plain, classes);
    };
    checks::for_dense<float>(3, 9, 0.7, visit);
    checks::for_csr<double, std::int32_t>(3, 9, 0.7, visit);
  }
}

TEST(exponential_and_logarithms) {
  double worst = 0.0;
  for (int step = 0; step <= 200000; ++step) {
    const double x = -700.0 * step / 200000.0, e = step / 200000.0;
    worst = std::max(worst, relative(wm::exp_nonpositive(x), std::exp(x)));
    worst = std::max(worst, relative(wm::log1p_unit(e), std::log1p(e)));
    if (e > 0.0) {
      const double gap = std::abs(wm::log_positive(e) - std::log(e));
      worst = std::max(worst, gap / std::max(std::abs(std::log(e)), 1.0));
    }
  }
  CHECK(worst <= 4.0 * std::numeric_limits<double>::epsilon());
  CHECK(wm::exp_nonpositive(0.0) == 1.0);
  CHECK(wm::exp_nonpositive(-1e300) > 0.0);
  CHECK(wm::log1p_unit(0.0) == 0.0);
  CHECK(std::isfinite(wm::log_positive(0.0)));
}

TEST(values_for_other_instructions) {
  checks::Random random(17);
  const checks::Layouts<float, std::int32_t> layouts(50, 300, 0.5, 0.3, random);
  const auto dense = layouts.as_dense(true);
  const auto sparse = layouts.as_csr(true);
  const std::vector<double> w = random.vector(301), h(50, 0.5);
  std::vector<double> scores(50), sum(301, 0.0), gram(301 * 301, 0.0);
  wm::scores(dense, w.data(), scores.data(), 0, 50);
  wm::accumulate(sparse, scores.data(), nullptr, sum.data(), 0, 50);
  wm::gram(dense, h.data(), false, 301, gram.data(), 0, 50);
  double total = 0.0, trace = 0.0;
  for (const double s : sum) total += s;
  for (std::size_t j = 0; j < 301; ++j) trace += gram[j * 301 + j];
  checks::show("scores", scores[7]);
  checks::show("combination", total);
  checks::show("gram", trace);
  checks::show("exponential", wm::exp_nonpositive(-0.7310585786));
}
