// The multiclass hinges with their corners rounded around a dual point (method of multipliers).
//
// With the slacks 1 + z_j, z_j = s_j - s_y, the loss c * hinge is max over beta of beta . (1 + z).
// Subtracting q/2 ||a(beta) - a(center)||^2 makes it smooth; the maximiser is a block step, and the
// Hessian in the scores is 1/q times the centring projection of a set of classes, the tied ones:
// those strictly inside their range, and the example's own unless the sum is at its limit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/class_products.hpp"
#include "projections/block_step.hpp"
#include "sweeps/block_dual_cd.hpp"
#include "sweeps/block_duals.hpp"

namespace widemargin {

// The tied classes of each example that has two of them or more.
struct Ties {
  std::vector<std::int64_t> rows, pointers{0};
  std::vector<std::int32_t> classes;
  std::vector<double> weight;  // 1/q

  void clear() {
    rows.clear();
    pointers.assign(1, 0);
    classes.clear();
    weight.clear();
  }
  // Adds the ties of examples that come after these.
  void append(const Ties& later) {
    const std::int64_t shift = static_cast<std::int64_t>(classes.size());
    rows.insert(rows.end(), later.rows.begin(), later.rows.end());
    for (std::size_t t = 1; t < later.pointers.size(); ++t) {
      pointers.push_back(shift + later.pointers[t]);
    }
    classes.insert(classes.end(), later.classes.begin(), later.classes.end());
    weight.insert(weight.end(), later.weight.begin(), later.weight.end());
  }
  std::int64_t count() const { return static_cast<std::int64_t>(rows.size()); }
  // The dimension of all centring projections together.
  std::int64_t freedoms() const { return static_cast<std::int64_t>(classes.size()) - count(); }
};

struct ProximalSums {
  double losses = 0.0;    // sum_i c_i loss_i, not rounded
  double mismatch = 0.0;  // sum_i (c_i loss_i - beta_i . slacks_i)
  double slope = 0.0;     // of the rounded losses along the slopes
  double curvature = 0.0;
};

struct ProximalData {
  const std::int32_t* label = nullptr;
  const double* cost = nullptr;
  std::int64_t classes = 0;
};

// Evaluates the rows [begin, end) at scores + step * slopes (slopes may be null). Writes the
// maximisers to `fresh` and adds the ties to `ties` where they are given. The width h of the
// rounding is in units of the margin: q = h / c. As in visit_block, everything is multiplied by q,
// and only rivals above the level of the centre's own classes are looked at one by one.
template <class Rule>
ProximalSums proximal_terms(const ProximalData& data, const BlockDuals& center, double width,
                            const double* scores, const double* slopes, double step,
                            BlockDuals* fresh, Ties* ties, std::int64_t begin, std::int64_t end) {
  const std::int64_t k = data.classes, stride = padded_classes(k);
  std::vector<double> here(static_cast<std::size_t>(stride)), slack(here), v(here), u(here),
      values(here);
  std::vector<std::int32_t> classes(static_cast<std::size_t>(stride));
  ProximalSums sums;
  for (std::int64_t i = begin; i < end; ++i) {
    const double c = data.cost[i];
    if (c == 0.0) {
      if (fresh) fresh->assign(i, nullptr, nullptr, 0);
      continue;
    }
    const std::int32_t y = data.label[i];
    const double q = width / c;
    const double* s = scores + i * stride;
    const double* d = slopes ? slopes + i * stride : nullptr;

    // 1) the scores here; the classes that the centre has come first
    if (d) {
      for (std::int64_t j = 0; j < stride; ++j)
        here[static_cast<std::size_t>(j)] = s[j] + step * d[j];
    } else {
      std::copy(s, s + stride, here.begin());
    }
    const double base = 1.0 - here[static_cast<std::size_t>(y)];
    here[static_cast<std::size_t>(y)] = no_rival;
    std::fill(here.begin() + k, here.end(), no_rival);
    double total = 0.0;
    for (std::int32_t m = 0; m < center.count(i); ++m) total += center.values(i)[m];
    const double shift = base + q * total;
    double hinges = 0.0, highest = 0.0;
    std::int64_t kept = center.count(i);
    for (std::int64_t m = 0; m < kept; ++m) {
      const auto place = static_cast<std::size_t>(m);
      classes[place] = center.classes(i)[m];
      double& score = here[static_cast<std::size_t>(classes[place])];
      slack[place] = base + score;
      v[place] = u[place] = score + shift + q * center.values(i)[m];
      hinges += std::max(slack[place], 0.0);
      highest = std::max(highest, slack[place]);
      score = no_rival;
    }
    double level = kept == 0 ? 0.0 : select_level<Rule>(u.data(), kept, width, 0.0);

    // 2) rivals above that level
    const Rivals rivals = look_at_rivals<Rule>(here.data(), stride, base);
    if (rivals.highest > level - shift) {
      const double threshold = level - shift;
      for (std::int64_t j = 0; j < k; ++j) {
        const double score = here[static_cast<std::size_t>(j)];
        if (score > threshold) {
          const auto place = static_cast<std::size_t>(kept++);
          classes[place] = static_cast<std::int32_t>(j);
          slack[place] = base + score;
          v[place] = score + shift;
        }
      }
      std::copy_n(v.begin(), kept, u.begin());
      level = select_level<Rule>(u.data(), kept, width, level);
    }
    highest = std::max(highest, base + rivals.highest);
    const double loss = c * (Rule::has_upper ? hinges + rivals.hinges : highest);
    sums.losses += loss;
    sums.mismatch += loss;

    // 3) the maximiser, and who is tied
    fill_values<Rule>(v.data(), kept, level, width, values.data());
    for (std::int64_t m = 0; m < kept; ++m) {
      double& value = values[static_cast<std::size_t>(m)];
      value = Rule::has_upper && value >= width ? c : value / q;
    }
    const bool at_limit = !Rule::has_upper && level > width;
    restore_sum<Rule>(values.data(), kept, c, at_limit);
    double given = 0.0, along = 0.0, tied_sum = 0.0, tied_squares = 0.0;
    std::int64_t tied = 0;
    auto tie = [&](std::int32_t j) {
      if (ties) ties->classes.push_back(j);
      if (d) {
        tied_sum += d[j];
        tied_squares += d[j] * d[j];
      }
      ++tied;
    };
    const std::size_t first = ties ? ties->classes.size() : 0;
    for (std::int64_t m = 0; m < kept; ++m) {
      const auto place = static_cast<std::size_t>(m);
      const double b = values[place];
      sums.mismatch -= b * slack[place];
      given += b;
      if (d) along += b * d[classes[place]];
      if (b > 0.0 && (!Rule::has_upper || b < c)) tie(classes[place]);
    }
    if (d) sums.slope += along - given * d[y];
    if (!at_limit) tie(y);
    if (tied >= 2) {
      if (d) sums.curvature += (tied_squares - tied_sum * tied_sum / static_cast<double>(tied)) / q;
      if (ties) {
        ties->rows.push_back(i);
        ties->pointers.push_back(static_cast<std::int64_t>(ties->classes.size()));
        ties->weight.push_back(1.0 / q);
      }
    } else if (ties) {
      ties->classes.resize(first);
    }
    if (fresh) fresh->assign(i, classes.data(), values.data(), kept);
  }
  return sums;
}

// out += sum over the ties [begin, end) of weight * x (P_ties V' x)'; an intercept is a last row of
// V and out.
template <class Rows>
void tied_product(const Rows& rows, const Ties& ties, std::int64_t classes, bool intercept,
                  std::int64_t features, const double* direction, double* out, std::int64_t begin,
                  std::int64_t end) {
  const std::int64_t stride = padded_classes(classes);
  std::vector<double> zero(static_cast<std::size_t>(stride)), scores(zero), change(zero);
  const double* start = intercept ? direction + features * stride : zero.data();
  for (std::int64_t t = begin; t < end; ++t) {
    const auto place = static_cast<std::size_t>(t);
    const std::int64_t i = ties.rows[place], first = ties.pointers[place];
    const std::int64_t count = ties.pointers[place + 1] - first;
    const std::int32_t* tied = ties.classes.data() + first;
    const bool all = 4 * count > stride;
    if (all) {
      class_scores(rows, i, direction, stride, start, scores.data());
    } else {
      some_class_scores(rows, i, direction, stride, start, tied, count, scores.data());
    }
    double mean = 0.0;
    for (std::int64_t m = 0; m < count; ++m) mean += scores[static_cast<std::size_t>(tied[m])];
    mean /= static_cast<double>(count);
    for (std::int64_t m = 0; m < count; ++m) {
      change[static_cast<std::size_t>(m)] =
          ties.weight[place] * (scores[static_cast<std::size_t>(tied[m])] - mean);
    }
    some_class_axpy(rows, i, tied, change.data(), count, out, stride);
    if (intercept) {
      for (std::int64_t m = 0; m < count; ++m) {
        out[features * stride + tied[m]] += change[static_cast<std::size_t>(m)];
      }
    }
  }
}

// Adds the same sum as a matrix over the places class * (features + intercept) + feature, such that
// it is whole once its transpose is added, see `symmetrise`: blocks of two classes are written
// below the diagonal only, half of each block of one class. Rows that are half full are written out
// with their zeros, so that the products run along the matrix.
template <class Rows>
void tied_matrix(const Rows& rows, const Ties& ties, std::int64_t classes, bool intercept,
                 std::int64_t features, double* matrix, std::int64_t begin, std::int64_t end) {
  const std::int64_t length = features + (intercept ? 1 : 0), side = length * classes;
  std::vector<std::int64_t> index;
  std::vector<double> value, full(static_cast<std::size_t>(length));
  for (std::int64_t t = begin; t < end; ++t) {
    const auto place = static_cast<std::size_t>(t);
    const std::int64_t first = ties.pointers[place];
    const std::int64_t count = ties.pointers[place + 1] - first;
    const std::int32_t* tied = ties.classes.data() + first;
    const double share = 1.0 / static_cast<double>(count);
    index.clear();
    value.clear();
    rows.for_each(ties.rows[place], [&](std::int64_t j, double x) {
      if (x != 0.0) {
        index.push_back(j);
        value.push_back(x);
      }
    });
    if (intercept) {
      index.push_back(features);
      value.push_back(1.0);
    }
    const bool half_full = 2 * static_cast<std::int64_t>(index.size()) > length;
    if (half_full) {
      std::fill(full.begin(), full.end(), 0.0);
      for (std::size_t e = 0; e < index.size(); ++e) {
        full[static_cast<std::size_t>(index[e])] = value[e];
      }
    }
    for (std::int64_t m = 0; m < count; ++m) {
      for (std::int64_t l = 0; l <= m; ++l) {
        const std::int64_t below = std::max(tied[m], tied[l]), above = std::min(tied[m], tied[l]);
        const double weight = ties.weight[place] * (m == l ? 0.5 * (1.0 - share) : -share);
        double* block = matrix + below * length * side + above * length;
        for (std::size_t a = 0; a < index.size(); ++a) {
          double* row = block + index[a] * side;
          const double x = weight * value[a];
          if (half_full) {
            for (std::int64_t b = 0; b < length; ++b) {
              row[b] += x * full[static_cast<std::size_t>(b)];
            }
          } else {
            for (std::size_t b = 0; b < index.size(); ++b) row[index[b]] += x * value[b];
          }
        }
      }
    }
  }
}

// An orthonormal basis of each centring projection, times the root of the weight, one vector a row
// of `basis` (freedoms x classes): one class against the mean of those before it. `owner` says
// whose it is.
inline void tied_basis(const Ties& ties, std::int64_t classes, double* basis, std::int64_t* owner) {
  std::int64_t row = 0;
  for (std::int64_t t = 0; t < ties.count(); ++t) {
    const auto place = static_cast<std::size_t>(t);
    const std::int64_t first = ties.pointers[place], count = ties.pointers[place + 1] - first;
    const std::int32_t* tied = ties.classes.data() + first;
    for (std::int64_t m = 1; m < count; ++m, ++row) {
      const double scale = std::sqrt(ties.weight[place] / static_cast<double>(m * (m + 1)));
      for (std::int64_t l = 0; l < m; ++l) basis[row * classes + tied[l]] = scale;
      basis[row * classes + tied[m]] = -static_cast<double>(m) * scale;
      owner[row] = t;
    }
  }
}

// The rows of the ties [begin, end), written out with their zeros; `out` starts as zero.
template <class Rows>
void tied_rows(const Rows& rows, const Ties& ties, std::int64_t features, double* out,
               std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    double* row = out + t * features;
    rows.for_each(ties.rows[static_cast<std::size_t>(t)],
                  [&](std::int64_t j, double v) { row[j] = v; });
  }
}

// scores = x_i W + start for the rows [begin, end).
template <class Rows>
void score_matrix(const Rows& rows, const double* weights, const double* start, std::int64_t stride,
                  double* out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    class_scores(rows, i, weights, stride, start, out + i * stride);
  }
}

}  // namespace widemargin
