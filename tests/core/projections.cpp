// Projections and the block step against slow, plain solutions of the same problems.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "check.hpp"
#include "projections/block_step.hpp"
#include "projections/box.hpp"
#include "projections/box_equality.hpp"
#include "projections/simplex.hpp"

namespace wm = widemargin;

namespace {

using Vector = std::vector<double>;

std::int64_t size(const Vector& v) { return static_cast<std::int64_t>(v.size()); }

// The root of a function that does not rise, by halving; it is above at `low`, not at `high`.
template <class Function>
double falling_root(double low, double high, Function&& f) {
  for (int step = 0; step < 400; ++step) {
    const double middle = 0.5 * (low + high);
    (f(middle) > 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

template <class Rule>
Vector plain_block_step(const Vector& v, double c) {
  const double top = std::max(0.0, *std::max_element(v.begin(), v.end()));
  const double level = falling_root(0.0, (top + 1.0) * 2.0, [&](double at) {
    double sum = 0.0;
    for (const double x : v) sum += Rule::value(x, at, c);
    return sum - Rule::supply(at, c);
  });
  Vector b;
  for (const double x : v) b.push_back(Rule::value(x, level, c));
  return b;
}

template <class Rule>
double block_objective(const Vector& v, const Vector& b) {
  double squares = 0.0, sum = 0.0, linear = 0.0;
  for (std::size_t j = 0; j < v.size(); ++j) {
    squares += b[j] * b[j];
    sum += b[j];
    linear += v[j] * b[j];
  }
  return 0.5 * squares + 0.5 * sum * sum - linear;
}

template <class Rule>
void check_block_step(const Vector& v, double c) {
  const Vector expected = plain_block_step<Rule>(v, c);
  Vector scratch(v.size() + 1);
  for (const bool by_sorting : {false, true}) {
    Vector b(v.size(), -1.0);
    wm::block_step<Rule>(v.data(), size(v), c, by_sorting, b.data(), scratch.data());
    double sum = 0.0, reach = c;
    for (const double x : v) reach = std::max(reach, std::abs(x));
    for (std::size_t j = 0; j < v.size(); ++j) {
      CHECK(b[j] >= 0.0);
      if (Rule::has_upper) CHECK(b[j] <= c);
      CHECK(std::abs(b[j] - expected[j]) <= 1e-12 * reach);
      sum += b[j];
    }
    if (!Rule::has_upper) CHECK(sum <= c * (1.0 + 1e-12));
    CHECK(block_objective<Rule>(v, b) <=
          block_objective<Rule>(v, expected) + 1e-12 * reach * reach);
  }
}

// argmin 1/2 sum d (a - m)^2 over the box and sum s a = z
Vector plain_box(const Vector& m, const Vector& d, const Vector& s, const Vector& l,
                 const Vector& u, double z) {
  const auto at = [&](double theta, std::size_t i) {
    return std::clamp(m[i] + theta * s[i] / d[i], l[i], u[i]);
  };
  const double theta = falling_root(-1e4, 1e4, [&](double t) {
    double sum = 0.0;
    for (std::size_t i = 0; i < m.size(); ++i) sum += s[i] * at(t, i);
    return z - sum;
  });
  Vector a;
  for (std::size_t i = 0; i < m.size(); ++i) a.push_back(at(theta, i));
  return a;
}

Vector plain_simplex(const Vector& m, double radius) {
  Vector sorted = m;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0.0, theta = 0.0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double next = (sum - radius) / static_cast<double>(i + 1);
    if (sorted[i] > next) theta = next;
  }
  Vector a;
  for (const double x : m) a.push_back(std::max(x - theta, 0.0));
  return a;
}

}  // namespace

TEST(block_step_of_both_rules) {
  checks::Random random(1);
  for (const std::int64_t rivals : {1, 2, 5, 16, 17, 60, 300}) {
    for (const double c : {1e-6, 0.1, 1.0, 50.0}) {
      for (int round = 0; round < 20; ++round) {
        Vector v = random.vector(rivals);
        // Spread them, tie some, and put some at zero.
        for (double& x : v) x *= round % 3 == 0 ? 1.0 : round % 3 == 1 ? 30.0 : 0.01;
        for (std::size_t j = 0; j < v.size(); ++j) {
          if (round % 4 == 1 && j % 2) v[j] = v[0];
          if (round % 5 == 2 && j % 3 == 0) v[j] = 0.0;
        }
        check_block_step<wm::WestonWatkins>(v, c);
        check_block_step<wm::CrammerSinger>(v, c);
      }
    }
  }
  check_block_step<wm::WestonWatkins>({-1.0, -2.0}, 1.0);
  check_block_step<wm::CrammerSinger>({0.0, 0.0, 0.0}, 1.0);
}

TEST(box_and_one_equation) {
  checks::Random random(2);
  for (const std::int64_t n : {1, 2, 7, 255, 257, 3000}) {
    for (int round = 0; round < 6; ++round) {
      const Vector m = random.vector(n);
      Vector d = random.vector(n), s = random.vector(n), l = random.vector(n), u = l, start = l;
      double z = 0.0;
      for (std::size_t i = 0; i < m.size(); ++i) {
        d[i] = round % 2 ? 1.0 : 0.5 + std::abs(d[i]);
        s[i] = s[i] < 0.0 ? -1.0 : 1.0;
        u[i] = l[i] + 2.0 * random.unit();
        z += s[i] * (l[i] + 0.5 * (u[i] - l[i]));  // what a point inside attains
      }
      const wm::BoxTerms terms{m.data(),        {d.data(), 0.0}, {s.data(), 0.0},
                               {l.data(), 0.0}, {u.data(), 0.0}, n};
      Vector a(m.size());
      wm::project_box(terms, z, a.data());
      const Vector expected = plain_box(m, d, s, l, u, z);
      double sum = 0.0;
      for (std::size_t i = 0; i < m.size(); ++i) {
        CHECK(a[i] >= l[i] && a[i] <= u[i]);
        CHECK_NEAR(a[i], expected[i], 1e-9);
        sum += s[i] * a[i];
      }
      CHECK(std::abs(sum - z) <= 1e-13 * static_cast<double>(n + 10));
    }
  }
}

TEST(dual_range_with_an_intercept) {
  checks::Random random(3);
  for (const std::int64_t n : {2, 9, 400}) {
    Vector a = random.vector(n), sign(a.size()), upper(a.size()), given;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sign[i] = i % 2 ? 1.0 : -1.0;
      upper[i] = 0.2 + random.unit();
    }
    given = a;
    wm::project_box_equality(a.data(), sign.data(), upper.data(), n);
    const Vector expected =
        plain_box(given, Vector(a.size(), 1.0), sign, Vector(a.size(), 0.0), upper, 0.0);
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i] >= 0.0 && a[i] <= upper[i]);
      CHECK_NEAR(a[i], expected[i], 1e-9);
      sum += sign[i] * a[i];
    }
    CHECK(std::abs(sum) <= 1e-14 * static_cast<double>(n));
    // Without bounds above.
    a = given;
    wm::project_box_equality(a.data(), sign.data(), nullptr, n);
    sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += sign[i] * a[i];
    CHECK(std::abs(sum) <= 1e-14 * static_cast<double>(n));
  }
}

TEST(simplex_and_l1_ball) {
  checks::Random random(4);
  for (const std::int64_t n : {1, 3, 100, 20000}) {
    for (const double radius : {1e-3, 1.0, 1e3}) {
      const Vector m = random.vector(n);
      Vector sizes, a(m.size(), 0.0), ball(m.size(), 0.0);
      for (const double x : m) sizes.push_back(std::abs(x));
      wm::project_simplex(m.data(), n, radius, a.data());
      wm::project_l1_ball(m.data(), n, radius, ball.data());
      const Vector expected = plain_simplex(m, radius), shrunk = plain_simplex(sizes, radius);
      const bool inside = std::accumulate(sizes.begin(), sizes.end(), 0.0) <= radius;
      for (std::size_t i = 0; i < m.size(); ++i) {
        CHECK(std::abs(a[i] - expected[i]) <= 1e-12 * std::max(1.0, radius));
        const double kept = inside ? m[i] : std::copysign(shrunk[i], m[i]);
        CHECK(std::abs(ball[i] - kept) <= 1e-12 * std::max(1.0, radius));
      }
    }
  }
}

TEST(simplex_keeps_what_is_barely_positive) {
  const Vector m{0.5, -0.5 + 1e-8};
  Vector a(2, 0.0);
  wm::project_simplex(m.data(), 2, 1.0, a.data());
  CHECK(std::abs(a[1] - 5e-9) <= 1e-15);
  CHECK(std::abs(a[0] + a[1] - 1.0) <= 1e-15);
}

TEST(projections_for_other_instructions) {
  checks::Random random(6);
  const Vector m = random.vector(5000), v = random.vector(40);
  Vector a(m.size(), 0.0), b(v.size()), scratch(v.size() + 1);
  wm::project_simplex(m.data(), size(m), 3.0, a.data());
  checks::show("simplex", *std::max_element(a.begin(), a.end()));
  wm::block_step<wm::WestonWatkins>(v.data(), size(v), 0.3, false, b.data(), scratch.data());
  checks::show("weston_watkins", std::accumulate(b.begin(), b.end(), 0.0));
  wm::block_step<wm::CrammerSinger>(v.data(), size(v), 0.3, false, b.data(), scratch.data());
  checks::show("crammer_singer", *std::max_element(b.begin(), b.end()));
}
