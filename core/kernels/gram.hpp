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
#include <vector>

namespace widemargin {

// Rows are gathered in panels of `panel_width` neighbouring columns, each panel contiguous over the
// rows of a block: the tiles below then read two streams that fit the first-level cache.
constexpr std::int64_t panel_width = 8;

// tile += (half of the left panel)^T (right panel), 4 x 8, over `depth` rows.
inline void panel_product(const double* left, const double* right, std::int64_t depth,
                          double (&tile)[4][panel_width]) {
  for (std::int64_t k = 0; k < depth; ++k) {
    const double* l = left + k * panel_width;
    const double* r = right + k * panel_width;
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < panel_width; ++b) {
        tile[a][b] += l[a] * r[b];
      }
    }
  }
}

// C += Z^T Z for `depth` rows of Z in panels of stride `stride` values; on the diagonal half.
inline void syrk_panels(const double* panels, std::int64_t stride, std::int64_t depth,
                        std::int64_t side, double* matrix) {
  const std::int64_t count = (side + panel_width - 1) / panel_width;
  for (std::int64_t c = 0; c < count; ++c) {
    for (std::int64_t r = 0; r <= c; ++r) {
      for (int half = 0; half < 2; ++half) {
        double tile[4][panel_width] = {};
        panel_product(panels + r * stride + 4 * half, panels + c * stride, depth, tile);
        for (std::int64_t a = 0; a < 4; ++a) {
          const std::int64_t row = r * panel_width + 4 * half + a;
          for (std::int64_t b = 0; b < panel_width; ++b) {
            const std::int64_t column = c * panel_width + b;
            // A tile on the diagonal holds mirror entries twice; the panels end in padding.
            if (row < side && column < side && row <= column) {
              matrix[row * side + column] += row == column ? 0.5 * tile[a][b] : tile[a][b];
            }
          }
        }
      }
    }
  }
}

template <class Rows>
void gram_by_tiles(const Rows& rows, const double* curvature, bool constant, std::int64_t side,
                   double* matrix, std::int64_t begin, std::int64_t end) {
  const std::int64_t depth = 128;
  const std::int64_t stride = depth * panel_width;
  const std::int64_t count = (side + panel_width - 1) / panel_width;
  std::vector<double> panels(static_cast<std::size_t>(count * stride), 0.0);
  std::int64_t filled = 0;
  auto place = [&](std::int64_t j) -> double& {
    return panels[(j / panel_width) * stride + filled * panel_width + j % panel_width];
  };
  for (std::int64_t i = begin; i < end; ++i) {
    if (curvature[i] == 0.0) {
      continue;
    }
    const double root = std::sqrt(curvature[i]);
    if constexpr (!Rows::is_dense) {
      for (std::int64_t c = 0; c < count; ++c) {
        double* line = panels.data() + c * stride + filled * panel_width;
        std::fill(line, line + panel_width, 0.0);
      }
    }
    rows.for_each(i, [&](std::int64_t j, double v) { place(j) = root * v; });
    if (constant) {
      place(side - 1) = root;
    }
    if (++filled == depth) {
      syrk_panels(panels.data(), stride, depth, side, matrix);
      filled = 0;
    }
  }
  syrk_panels(panels.data(), stride, filled, side, matrix);
}

template <class Rows>
void gram_by_rows(const Rows& rows, const double* curvature, bool constant, std::int64_t side,
                  double* matrix, std::int64_t begin, std::int64_t end) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(side));
  std::vector<double> entries(static_cast<std::size_t>(side));
  for (std::int64_t i = begin; i < end; ++i) {
    const double weight = curvature[i];
    if (weight == 0.0) {
      continue;
    }
    std::int64_t length = 0;
    rows.for_each(i, [&](std::int64_t j, double v) {
      places[length] = static_cast<std::int32_t>(j);
      entries[length++] = v;
    });
    if (constant) {
      places[length] = static_cast<std::int32_t>(side - 1);
      entries[length++] = 1.0;
    }
    for (std::int64_t a = 0; a < length; ++a) {
      const double scale = weight * entries[a];
      double* line = matrix + places[a] * side;
      line[places[a]] += 0.5 * scale * entries[a];
      for (std::int64_t b = a + 1; b < length; ++b) {
        line[places[b]] += scale * entries[b];
      }
    }
  }
}

template <class Rows>
void gram(const Rows& rows, const double* curvature, bool constant, std::int64_t side,
          double* matrix, std::int64_t begin, std::int64_t end) {
  // A scattered addition costs about as much as 16 in a tile (measured), so a quarter of the
  // entries being there makes the tiles worth their zeros.
  const double mean = static_cast<double>(rows.total_nonzeros()) /
                      static_cast<double>(std::max<std::int64_t>(rows.count, 1));
  const double density = mean / static_cast<double>(side);
  if (Rows::is_dense || density > 0.25) {
    gram_by_tiles(rows, curvature, constant, side, matrix, begin, end);
  } else {
    gram_by_rows(rows, curvature, constant, side, matrix, begin, end);
  }
}

// matrix[i][j] = x_i . x_j for begin <= i < end and all j: the Gram matrix of the rows themselves.
template <class Rows>
void row_gram(const Rows& rows, double* matrix, std::int64_t begin, std::int64_t end) {
  const std::int64_t side = rows.count;
  std::vector<double> spread(static_cast<std::size_t>(rows.width + 1), 0.0);
  for (std::int64_t i = begin; i < end; ++i) {
    rows.for_each(i, [&](std::int64_t j, double v) { spread[j] = v; });
    for (std::int64_t j = 0; j <= i; ++j) {
      const double product = rows.dot(j, spread.data());
      matrix[i * side + j] = product;
      matrix[j * side + i] = product;
    }
    rows.for_each(i, [&](std::int64_t j, double) { spread[j] = 0.0; });
  }
}

// matrix <- matrix + matrix^T, in place, by blocks that stay in cache.
inline void symmetrise(double* matrix, std::int64_t side) {
  constexpr std::int64_t step = 32;
  for (std::int64_t r = 0; r < side; r += step) {
    for (std::int64_t c = r; c < side; c += step) {
      for (std::int64_t i = r; i < std::min(r + step, side); ++i) {
        for (std::int64_t j = std::max(c, i); j < std::min(c + step, side); ++j) {
          const double sum = matrix[i * side + j] + matrix[j * side + i];
          matrix[i * side + j] = sum;
          matrix[j * side + i] = sum;
        }
      }
    }
  }
}

}  // namespace widemargin
