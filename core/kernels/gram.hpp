// Weighted Gram matrix  sum_i curvature[i] [x_i; 1] [x_i; 1]^T  over the rows [begin, end).
//
// `matrix` is side x side, row major, and is added to; side is the number of weights, plus one when
// the constant 1 (the unpenalised intercept) is wanted. Only one of each pair of mirrored entries
// is written: add the transpose to get the whole, see `symmetrise`. Squares go to the diagonal at
// half their value, so that adding the transpose restores them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/vectors.hpp"
#include "rows/dense.hpp"

namespace widemargin {

// Rows are gathered in panels of `panel_width` neighbouring columns, each panel contiguous over the
// rows of a block: the tiles below then read two streams that fit the first-level cache. A tile of
// 4 x 12 keeps twelve vector registers adding, which is what two multipliers of latency four need.
constexpr std::int64_t panel_width = 12;
constexpr std::int64_t panel_height = 4;
using Tile = double[panel_height][panel_width];

// tile = (four columns of the left panel)^T (columns of the right panel, four a part), over `depth`
// rows.
template <int Parts>
inline void panel_product(const double* left, const double* right, std::int64_t depth, Tile& tile) {
  FourDoubles sums[panel_height][Parts] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t a = 0; a < panel_height; ++a) {
      add_scaled(sums[a], left[k * panel_width + a], right + k * panel_width);
    }
  }
  for (std::int64_t a = 0; a < panel_height; ++a) std::memcpy(tile[a], sums[a], sizeof sums[a]);
}

// C += Z^T Z for `depth` rows of Z in panels of stride `stride` values; on the diagonal half.
inline void syrk_panels(const double* panels, std::int64_t stride, std::int64_t depth,
                        std::int64_t side, double* matrix) {
  const std::int64_t count = (side + panel_width - 1) / panel_width;
  Tile tile;
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t top = 0; top < std::min((c + 1) * panel_width, side); top += panel_height) {
      // On the diagonal, columns before `top` would be mirror entries; the panels end in padding.
      const std::int64_t r = top / panel_width, skipped = r == c ? top % panel_width : 0;
      const std::int64_t left = c * panel_width + skipped;
      const std::int64_t wide = std::min(panel_width - skipped, side - left);
      const double* rows_of = panels + r * stride + top % panel_width;
      const double* columns_of = panels + c * stride + skipped;
      if (wide > 8) {
        panel_product<3>(rows_of, columns_of, depth, tile);
      } else if (wide > 4) {
        panel_product<2>(rows_of, columns_of, depth, tile);
      } else {
        panel_product<1>(rows_of, columns_of, depth, tile);
      }
      for (std::int64_t a = 0; a < std::min(panel_height, side - top); ++a) {
        double* line = matrix + (top + a) * side + left;
        std::int64_t b = 0;
        if (r == c) {  // a tile on the diagonal begins with a square
          b = a + 1;
          line[a] += 0.5 * tile[a][a];
        }
        for (; b < wide; ++b) line[b] += tile[a][b];
      }
    }
  }
}

// Writes a dense row, scaled, to its line of every panel.
template <class T>
void fill_panels(const T* x, std::int64_t width, double scale, std::int64_t stride, double* line) {
  const FourDoubles scales = all_four(scale);
  std::int64_t j = 0;
  for (; j + panel_width <= width; j += panel_width, line += stride) {
    for (std::int64_t k = 0; k < panel_width; k += vector_length) {
      store_four(line + k, load_four(x + j + k) * scales);
    }
  }
  for (; j + vector_length <= width; j += vector_length, line += vector_length) {
    store_four(line, load_four(x + j) * scales);
  }
  for (; j < width; ++j) *line++ = scale * static_cast<double>(x[j]);
}

template <class Rows>
void gram_by_tiles(const Rows& rows, const double* curvature, bool constant, std::int64_t side,
                   double* matrix, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t depth = 128, stride = depth * panel_width;
  const std::int64_t count = (side + panel_width - 1) / panel_width;
  std::vector<double> panels(static_cast<std::size_t>(count * stride), 0.0);
  std::int64_t taken[depth];
  double roots[depth];
  while (begin < end) {
    // Which rows have curvature is hard to foresee: they are written down without a branch.
    std::int64_t filled = 0;
    for (; begin < end && filled < depth; ++begin) {
      taken[filled] = begin;
      roots[filled] = curvature[begin];
      filled += curvature[begin] != 0.0;
    }
    for (std::int64_t k = 0; k < filled; ++k) roots[k] = std::sqrt(roots[k]);
    for (std::int64_t k = 0; k < filled; ++k) {
      auto place = [&](std::int64_t j) -> double& {
        return panels[(j / panel_width) * stride + k * panel_width + j % panel_width];
      };
      if constexpr (Rows::is_dense) {
        fill_panels(rows.row(taken[k]), rows.width, roots[k], stride, &panels[k * panel_width]);
        if (rows.bias != 0.0) place(rows.width) = roots[k] * rows.bias;
      } else {
        for (std::int64_t c = 0; c < count; ++c) {
          std::fill_n(panels.begin() + c * stride + k * panel_width, panel_width, 0.0);
        }
        rows.for_each(taken[k], [&](std::int64_t j, double v) { place(j) = roots[k] * v; });
      }
      if (constant) place(side - 1) = roots[k];
    }
    syrk_panels(panels.data(), stride, filled, side, matrix);
  }
}

// A part of the lines of a matrix.
struct Lines {
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
};

// `place_of(j)` is where a column goes, or negative if it is left out. Writes to these lines only.
template <class Rows, class Place>
void gram_by_rows(const Rows& rows, Place place_of, const double* curvature, bool constant,
                  std::int64_t side, double* matrix, std::int64_t begin, std::int64_t end,
                  Lines lines = {}) {
  std::vector<std::int32_t> kept_places(static_cast<std::size_t>(side) + 1);
  std::vector<double> kept_entries(static_cast<std::size_t>(side) + 1);
  std::int32_t* const __restrict places = kept_places.data();
  double* const __restrict entries = kept_entries.data();
  for (std::int64_t i = begin; i < end; ++i) {
    const double weight = curvature[i];
    if (weight == 0.0) {
      continue;
    }
    std::int64_t length = 0;
    rows.for_each(i, [&](std::int64_t j, double v) {
      // Written where the next one goes, so that leaving out takes no branch.
      const std::int32_t place = place_of(j);
      places[length] = place;
      entries[length] = v;
      length += place >= 0;
    });
    if (constant) {
      places[length] = static_cast<std::int32_t>(side - 1);
      entries[length++] = 1.0;
    }
    for (std::int64_t a = 0; a < length; ++a) {
      if (places[a] < lines.begin || places[a] >= lines.end) continue;
      const double scale = weight * entries[a];
      double* line = matrix + places[a] * side;
      line[places[a]] += 0.5 * scale * entries[a];
      // Four at a time, read before any is written: columns are distinct within a row, which the
      // compiler does not know.
      std::int64_t b = a + 1;
      for (; b + 4 <= length; b += 4) {
        const std::int64_t j0 = places[b], j1 = places[b + 1], j2 = places[b + 2],
                           j3 = places[b + 3];
        const double s0 = line[j0] + scale * entries[b], s1 = line[j1] + scale * entries[b + 1],
                     s2 = line[j2] + scale * entries[b + 2], s3 = line[j3] + scale * entries[b + 3];
        line[j0] = s0, line[j1] = s1, line[j2] = s2, line[j3] = s3;
      }
      for (; b < length; ++b) {
        line[places[b]] += scale * entries[b];
      }
    }
  }
}

// A scattered addition costs about as much as nine in a tile (measured), so a third of the entries
// being there makes the tiles worth their zeros.
template <class Rows>
bool gram_takes_tiles(const Rows& rows, std::int64_t side) {
  const double mean = static_cast<double>(rows.total_nonzeros()) /
                      static_cast<double>(std::max<std::int64_t>(rows.count, 1));
  return Rows::is_dense || mean / static_cast<double>(side) > 0.33;
}

template <class Rows>
void gram(const Rows& rows, const double* curvature, bool constant, std::int64_t side,
          double* matrix, std::int64_t begin, std::int64_t end, Lines lines = {}) {
  if (gram_takes_tiles(rows, side)) {
    gram_by_tiles(rows, curvature, constant, side, matrix, begin, end);
  } else {
    auto same = [](std::int64_t j) { return static_cast<std::int32_t>(j); };
    gram_by_rows(rows, same, curvature, constant, side, matrix, begin, end, lines);
  }
}

// The same of the columns that have a place, which are read where they are; place[j] is negative
// for the others.
template <class Rows>
void gram_of_columns(const Rows& rows, const std::int32_t* place, const double* curvature,
                     bool constant, std::int64_t side, double* matrix, std::int64_t begin,
                     std::int64_t end) {
  auto placed = [place](std::int64_t j) { return place[j]; };
  gram_by_rows(rows, placed, curvature, constant, side, matrix, begin, end);
}

struct Packed {
  std::int64_t filled;
  std::int64_t next;
};

// Writes sqrt(curvature[i]) [x_i; 1] for the rows from `begin` on, those without curvature left
// out, until `capacity` lines of `out` are full: a product of dense matrices is then left to do.
template <class Rows>
Packed pack_rows(const Rows& rows, const double* curvature, bool constant, std::int64_t side,
                 double* out, std::int64_t capacity, std::int64_t begin) {
  std::int64_t filled = 0, i = begin;
  for (; i < rows.count && filled < capacity; ++i) {
    if (curvature[i] == 0.0) {
      continue;
    }
    const double root = std::sqrt(curvature[i]);
    double* line = out + filled++ * side;
    std::fill(line, line + side, 0.0);
    rows.axpy(i, root, line);
    if (constant) {
      line[side - 1] = root;
    }
  }
  return {filled, i};
}

// Three rows against three others: nine running sums keep two multipliers of latency four busy.
constexpr int row_tile = 3;

// products += the products of the rows x with the rows z, over `width` columns.
template <class T>
void add_row_products(const T* const (&x)[row_tile], const T* const (&z)[row_tile],
                      std::int64_t width, double (&products)[row_tile][row_tile]) {
  FourDoubles sums[row_tile][row_tile] = {};
  std::int64_t k = 0;
  for (; k + 4 <= width; k += 4) {
    const FourDoubles right[row_tile] = {load_four(z[0] + k), load_four(z[1] + k),
                                         load_four(z[2] + k)};
    for (int a = 0; a < row_tile; ++a) {
      const FourDoubles left = load_four(x[a] + k);
      for (int b = 0; b < row_tile; ++b) {
        sums[a][b] += left * right[b];
      }
    }
  }
  for (int a = 0; a < row_tile; ++a) {
    for (int b = 0; b < row_tile; ++b) {
      products[a][b] += sum_of(sums[a][b]);
      for (std::int64_t j = k; j < width; ++j) {
        products[a][b] += static_cast<double>(x[a][j]) * static_cast<double>(z[b][j]);
      }
    }
  }
}

// By tiles, in stretches of columns for which the rows stay in cache. Where rows run out, the last
// one takes the places that are left, and its products there are not used.
template <class T>
void dense_row_gram(const DenseRows<T>& rows, double* matrix, std::int64_t begin,
                    std::int64_t end) {
  const std::int64_t side = rows.count, stretch = 512;
  std::fill(matrix + begin * side, matrix + end * side, rows.bias * rows.bias);
  for (std::int64_t from = 0; from < rows.width; from += stretch) {
    const std::int64_t width = std::min(stretch, rows.width - from);
    auto three = [&](const T*(&tile)[row_tile], std::int64_t first, std::int64_t bound) {
      for (int a = 0; a < row_tile; ++a) {
        tile[a] = rows.row(std::min(first + a, bound - 1)) + from;
      }
    };
    for (std::int64_t i = begin; i < end; i += row_tile) {
      const T *x[row_tile], *z[row_tile];
      three(x, i, end);
      for (std::int64_t j = 0; j < std::min(i + row_tile, end); j += row_tile) {
        three(z, j, side);
        double products[row_tile][row_tile] = {};
        add_row_products(x, z, width, products);
        for (std::int64_t a = 0; a < std::min<std::int64_t>(row_tile, end - i); ++a) {
          for (std::int64_t b = 0; b < std::min<std::int64_t>(row_tile, side - j); ++b) {
            matrix[(i + a) * side + j + b] += products[a][b];
          }
        }
      }
    }
  }
}

// matrix[i][j] = x_i . x_j for begin <= i < end and j <= i, and their mirror entries: the Gram
// matrix of the rows themselves.
template <class Rows>
void row_gram(const Rows& rows, double* matrix, std::int64_t begin, std::int64_t end) {
  const std::int64_t side = rows.count;
  if constexpr (Rows::is_dense) {
    dense_row_gram(rows, matrix, begin, end);
  } else {
    std::vector<double> spread(static_cast<std::size_t>(rows.width + 1), 0.0);
    for (std::int64_t i = begin; i < end; ++i) {
      rows.for_each(i, [&](std::int64_t j, double v) { spread[j] = v; });
      for (std::int64_t j = 0; j <= i; ++j) {
        matrix[i * side + j] = rows.dot(j, spread.data());
      }
      rows.for_each(i, [&](std::int64_t j, double) { spread[j] = 0.0; });
    }
  }
  for (std::int64_t i = begin; i < end; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      matrix[j * side + i] = matrix[i * side + j];
    }
  }
}

// matrix <- matrix + matrix^T, in place, by blocks that stay in cache: those of the lines from
// `begin` on, a multiple of `symmetrise_step`, and their mirror images.
constexpr std::int64_t symmetrise_step = 32;

inline void symmetrise_lines(double* matrix, std::int64_t side, std::int64_t begin) {
  const std::int64_t step = symmetrise_step, end = std::min(begin + step, side);
  for (std::int64_t c = begin; c < side; c += step) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t j = std::max(c, i); j < std::min(c + step, side); ++j) {
        const double sum = matrix[i * side + j] + matrix[j * side + i];
        matrix[i * side + j] = sum;
        matrix[j * side + i] = sum;
      }
    }
  }
}

inline void symmetrise(double* matrix, std::int64_t side) {
  for (std::int64_t r = 0; r < side; r += symmetrise_step) symmetrise_lines(matrix, side, r);
}

}  // namespace widemargin
