// Rows of a kernel matrix, many at once.
//
// The chosen examples are laid side by side in panels: sixteen floats, or eight doubles, of one
// feature next to each other. Every other example is then read once for several panels, so that
// nearly all the work is multiplications of whole vectors, whether rows are dense or sparse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/kernel_function.hpp"
#include "rows/dense.hpp"

namespace widemargin {

// A panel's numbers of one feature: 64 bytes, a line of cache.
template <class Real>
struct Line {
  static constexpr std::int64_t width = 64 / sizeof(Real);
#if defined(__GNUC__)
  typedef Real Half __attribute__((vector_size(32)));
  Half low = {}, high = {};
  void add(Real scale, const Real* from) {
    Half a, b;
    std::memcpy(&a, from, sizeof a);
    std::memcpy(&b, from + width / 2, sizeof b);
    low += a * scale;
    high += b * scale;
  }
#else
  Real at[width] = {};
  void add(Real scale, const Real* from) {
    for (std::int64_t l = 0; l < width; ++l) at[l] += scale * from[l];
  }
#endif
};

// Columns of the matrix: a few stretches of consecutive examples.
struct Stretch {
  std::int64_t begin, end;
};

template <class Real>
class Panels {
 public:
  static constexpr std::int64_t width = Line<Real>::width;
  static constexpr std::int64_t at_once = 4;  // panels that an example is multiplied with in turn
  static constexpr std::int64_t tile = 48;    // examples whose products are kept until turned

  // Lays out the rows `places[0..count)`, at most at_once * width, in place of those before. Only
  // what was written is wiped: rows may be far shorter than they are wide.
  template <class Rows>
  void fill(const Rows& rows, const std::int64_t* places, std::int64_t count) {
    features_ = rows.width;
    for (std::int64_t r = 0; r < count_; ++r) {
      write(rows, r, held_[r], [](double) { return Real(0); });
    }
    count_ = count;
    panels_ = (count + width - 1) / width;
    const auto size = static_cast<std::size_t>(panels_ * features_ * width);
    if (lines_.size() < size) lines_.resize(size, Real(0));
    for (std::int64_t r = 0; r < count; ++r) {
      held_[r] = places[r];
      write(rows, r, places[r], [](double v) { return static_cast<Real>(v); });
    }
  }

  // products[r * stride + j - begin] = row r . x_j for begin <= j < end
  template <class Rows>
  void multiply(const Rows& rows, std::int64_t begin, std::int64_t end, Real* products,
                std::int64_t stride) {
    turned_.resize(static_cast<std::size_t>(panels_ * tile * width));
    for (std::int64_t first = begin; first < end; first += tile) {
      const std::int64_t last = std::min(first + tile, end);
      for (std::int64_t j = first; j < last;) {
        j += several(rows, j, last, first);
      }
      for (std::int64_t r = 0; r < count_; ++r) {
        const Real* from = turned_.data() + (r / width) * tile * width + r % width;
        Real* to = products + r * stride + (first - begin);
        for (std::int64_t j = 0; j < last - first; ++j) to[j] = from[j * width];
      }
    }
  }

 private:
  static constexpr int dense_group = 6;

  template <class Rows, class Value>
  void write(const Rows& rows, std::int64_t r, std::int64_t place, Value&& value) {
    Real* panel = lines_.data() + (r / width) * features_ * width + r % width;
    rows.for_each(place, [&](std::int64_t k, double v) { panel[k * width] = value(v); });
  }

  void keep(std::int64_t panel, std::int64_t place, const Line<Real>& line) {
    std::memcpy(turned_.data() + (panel * tile + place) * width, &line, sizeof line);
  }

  // Dense rows of the same type: six examples share every load of a panel's line.
  std::int64_t several(const DenseRows<Real>& rows, std::int64_t j, std::int64_t last,
                       std::int64_t first) {
    if (j + dense_group > last) {
      one(rows, j, first);
      return 1;
    }
    const Real* x[dense_group];
    for (int e = 0; e < dense_group; ++e) x[e] = rows.row(j + e);
    for (std::int64_t p = 0; p < panels_; ++p) {
      const Real* panel = lines_.data() + p * features_ * width;
      Line<Real> sums[dense_group];
      for (std::int64_t k = 0; k < features_; ++k) {
        for (int e = 0; e < dense_group; ++e) sums[e].add(x[e][k], panel + k * width);
      }
      for (int e = 0; e < dense_group; ++e) keep(p, j + e - first, sums[e]);
    }
    return dense_group;
  }

  template <class Rows>
  std::int64_t several(const Rows& rows, std::int64_t j, std::int64_t, std::int64_t first) {
    one(rows, j, first);
    return 1;
  }

  template <class Rows>
  void one(const Rows& rows, std::int64_t j, std::int64_t first) {
    for (std::int64_t p = 0; p < panels_; ++p) {
      const Real* panel = lines_.data() + p * features_ * width;
      Line<Real> sum;
      rows.for_each(
          j, [&](std::int64_t k, double v) { sum.add(static_cast<Real>(v), panel + k * width); });
      keep(p, j - first, sum);
    }
  }

  std::vector<Real> lines_, turned_;
  std::int64_t held_[at_once * width] = {};
  std::int64_t features_ = 0, count_ = 0, panels_ = 0;
};

// Columns that are worked on at a time: what many rows have there stays in cache.
inline std::int64_t chunk_of(const Stretch* stretches, std::int64_t parts) {
  std::int64_t longest = 1;
  for (std::int64_t p = 0; p < parts; ++p) {
    longest = std::max(longest, stretches[p].end - stretches[p].begin);
  }
  return std::min<std::int64_t>(longest, 1024);
}

// out[r] = k(x_places[r], x_j) for the examples j of the stretches, one after the other.
template <class Real, class Rows>
void kernel_rows(const Rows& rows, const KernelFunction& kernel, const Real* squares,
                 const std::int64_t* places, std::int64_t count, const Stretch* stretches,
                 std::int64_t parts, Real* const* out) {
  constexpr std::int64_t most = Panels<Real>::at_once * Panels<Real>::width;
  const std::int64_t chunk = chunk_of(stretches, parts);
  Panels<Real> panels;
  std::vector<Real> block(static_cast<std::size_t>(std::min(most, count) * chunk));
  for (std::int64_t from = 0; from < count; from += most) {
    const std::int64_t some = std::min(most, count - from);
    panels.fill(rows, places + from, some);
    std::int64_t done = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t j = stretches[part].begin; j < stretches[part].end; j += chunk) {
        const std::int64_t end = std::min(j + chunk, stretches[part].end);
        panels.multiply(rows, j, end, block.data(), chunk);
        for (std::int64_t r = 0; r < some; ++r) {
          Real* values = block.data() + r * chunk;
          apply_kernel(kernel, squares[places[from + r]], squares + j, end - j, values);
          std::copy(values, values + (end - j), out[from + r] + done);
        }
        done += end - j;
      }
    }
  }
}

// out[j] += sum_r coefficients[r] k(x_places[r], x_j), in double precision, no row being kept.
template <class Rows>
void kernel_combination(const Rows& rows, const KernelFunction& kernel, const double* squares,
                        const std::int64_t* places, const double* coefficients, std::int64_t count,
                        const Stretch* stretches, std::int64_t parts, double* out) {
  constexpr std::int64_t most = Panels<double>::at_once * Panels<double>::width;
  const std::int64_t chunk = chunk_of(stretches, parts);
  Panels<double> panels;
  std::vector<double> block(static_cast<std::size_t>(std::min(most, count) * chunk));
  for (std::int64_t from = 0; from < count; from += most) {
    const std::int64_t some = std::min(most, count - from);
    panels.fill(rows, places + from, some);
    double* sums = out;
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t j = stretches[part].begin; j < stretches[part].end; j += chunk) {
        const std::int64_t length = std::min(chunk, stretches[part].end - j);
        panels.multiply(rows, j, j + length, block.data(), chunk);
        for (std::int64_t r = 0; r < some; ++r) {
          double* values = block.data() + r * chunk;
          apply_kernel(kernel, squares[places[from + r]], squares + j, length, values);
          const double factor = coefficients[from + r];
          for (std::int64_t i = 0; i < length; ++i) sums[i] += factor * values[i];
        }
        sums += length;
      }
    }
  }
}

}  // namespace widemargin
