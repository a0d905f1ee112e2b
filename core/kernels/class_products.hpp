// Products of one row with the weights of all classes. Weights lie class by class within a feature,
// W[feature * stride + class], with the stride a multiple of four: what a feature adds to the
// scores of all classes is then one run of vector operations.
#pragma once

#include <cstdint>

#include "kernels/vectors.hpp"
#include "rows/csr.hpp"
#include "rows/dense.hpp"
#include "rows/ones.hpp"
#include "rows/prefetch.hpp"

namespace widemargin {

constexpr std::int64_t widest_piece = 32;  // classes whose sums fit into the vector registers

inline std::int64_t padded_classes(std::int64_t classes) {
  return (classes + vector_length - 1) / vector_length * vector_length;
}

// The stored entries of a row, by position.
template <class T, class Index>
struct SparseEntries {
  const T* values;
  const Index* indices;
  std::int64_t length;
  std::int64_t index(std::int64_t p) const { return static_cast<std::int64_t>(indices[p]); }
  double value(std::int64_t p) const { return static_cast<double>(values[p]); }
};
template <class Index>
struct OnesEntries {
  const Index* indices;
  std::int64_t length;
  std::int64_t index(std::int64_t p) const { return static_cast<std::int64_t>(indices[p]); }
  static double value(std::int64_t) { return 1.0; }
};
template <class T>
struct DenseEntries {
  const T* values;
  std::int64_t length;
  std::int64_t index(std::int64_t p) const { return p; }
  double value(std::int64_t p) const { return static_cast<double>(values[p]); }
};

template <class T, class Index>
SparseEntries<T, Index> entries_of(const CsrRows<T, Index>& rows, std::int64_t i) {
  const Index begin = rows.pointers[rows.place(i)];
  return {rows.values + begin, rows.indices + begin, rows.nonzeros(i)};
}
template <class Index>
OnesEntries<Index> entries_of(const OnesRows<Index>& rows, std::int64_t i) {
  return {rows.indices + rows.pointers[i], rows.nonzeros(i)};
}
template <class T>
DenseEntries<T> entries_of(const DenseRows<T>& rows, std::int64_t i) {
  return {rows.row(i), rows.width};
}

// out = start + W x_i over `pieces` times four classes; few pieces get several chains of additions
// to hide their latency.
template <int pieces, class Rows>
void scores_of_piece(const Rows& rows, std::int64_t i, const double* weights, std::int64_t stride,
                     const double* start, double* out) {
  constexpr int chains = pieces == 1 ? 4 : pieces <= 4 ? 2 : 1;
  const auto row = entries_of(rows, i);
  FourDoubles sums[chains][pieces];
  for (int p = 0; p < pieces; ++p) {
    sums[0][p] = load_four(start + p * vector_length);
    for (int chain = 1; chain < chains; ++chain) sums[chain][p] = all_four(0.0);
  }
  std::int64_t e = 0;
  for (; e + chains <= row.length; e += chains) {
    for (int chain = 0; chain < chains; ++chain) {
      const double* w = weights + row.index(e + chain) * stride;
      const FourDoubles v = all_four(row.value(e + chain));
      for (int p = 0; p < pieces; ++p) {
        sums[chain][p] = sums[chain][p] + v * load_four(w + p * vector_length);
      }
    }
  }
  for (; e < row.length; ++e) {
    const double* w = weights + row.index(e) * stride;
    const FourDoubles v = all_four(row.value(e));
    for (int p = 0; p < pieces; ++p) sums[0][p] = sums[0][p] + v * load_four(w + p * vector_length);
  }
  if (rows.bias != 0.0) {
    const double* w = weights + rows.width * stride;
    const FourDoubles v = all_four(rows.bias);
    for (int p = 0; p < pieces; ++p) sums[0][p] = sums[0][p] + v * load_four(w + p * vector_length);
  }
  for (int p = 0; p < pieces; ++p) {
    for (int chain = 1; chain < chains; ++chain) sums[0][p] = sums[0][p] + sums[chain][p];
    store_four(out + p * vector_length, sums[0][p]);
  }
}

// W += x_i delta' over `pieces` times four classes.
template <int pieces, class Rows>
void axpy_of_piece(const Rows& rows, std::int64_t i, const double* delta, double* weights,
                   std::int64_t stride) {
  const auto row = entries_of(rows, i);
  FourDoubles change[pieces];
  for (int p = 0; p < pieces; ++p) change[p] = load_four(delta + p * vector_length);
  auto add = [&](double* w, double value) {
    const FourDoubles v = all_four(value);
    for (int p = 0; p < pieces; ++p) {
      store_four(w + p * vector_length, load_four(w + p * vector_length) + v * change[p]);
    }
  };
  for (std::int64_t e = 0; e < row.length; ++e) add(weights + row.index(e) * stride, row.value(e));
  if (rows.bias != 0.0) add(weights + rows.width * stride, rows.bias);
}

// Calls visit.template operator()<pieces>(first class) for runs of at most `widest_piece` classes.
template <class Visit>
void for_class_pieces(std::int64_t stride, Visit&& visit) {
  std::int64_t first = 0;
  for (; first + widest_piece <= stride; first += widest_piece) {
    visit.template operator()<8>(first);
  }
  switch ((stride - first) / vector_length) {
    case 1:
      return visit.template operator()<1>(first);
    case 2:
      return visit.template operator()<2>(first);
    case 3:
      return visit.template operator()<3>(first);
    case 4:
      return visit.template operator()<4>(first);
    case 5:
      return visit.template operator()<5>(first);
    case 6:
      return visit.template operator()<6>(first);
    case 7:
      return visit.template operator()<7>(first);
    default:
      return;
  }
}

// The same over many classes: the weights of four features at a time stream through, and the sums
// stay in the first-level cache.
template <class Rows>
void scores_of_many(const Rows& rows, std::int64_t i, const double* weights, std::int64_t stride,
                    const double* start, double* out) {
  const auto row = entries_of(rows, i);
  std::memcpy(out, start, static_cast<std::size_t>(stride) * sizeof(double));
  std::int64_t e = 0;
  for (; e + 4 <= row.length; e += 4) {
    const double* w[4];
    FourDoubles v[4];
    for (int f = 0; f < 4; ++f) {
      w[f] = weights + row.index(e + f) * stride;
      v[f] = all_four(row.value(e + f));
    }
    for (std::int64_t c = 0; c < stride; c += vector_length) {
      const FourDoubles one = v[0] * load_four(w[0] + c) + v[1] * load_four(w[1] + c);
      const FourDoubles two = v[2] * load_four(w[2] + c) + v[3] * load_four(w[3] + c);
      store_four(out + c, load_four(out + c) + (one + two));
    }
  }
  auto add = [&](const double* w, double value) {
    const FourDoubles v = all_four(value);
    for (std::int64_t c = 0; c < stride; c += vector_length) {
      store_four(out + c, load_four(out + c) + v * load_four(w + c));
    }
  };
  for (; e < row.length; ++e) add(weights + row.index(e) * stride, row.value(e));
  if (rows.bias != 0.0) add(weights + rows.width * stride, rows.bias);
}

template <class Rows>
void class_scores(const Rows& rows, std::int64_t i, const double* weights, std::int64_t stride,
                  const double* start, double* out) {
  if (stride > 4 * widest_piece) {
    scores_of_many(rows, i, weights, stride, start, out);
    return;
  }
  for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
    scores_of_piece<pieces>(rows, i, weights + first, stride, start + first, out + first);
  });
}

template <class Rows>
void class_axpy(const Rows& rows, std::int64_t i, const double* delta, double* weights,
                std::int64_t stride) {
  for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
    axpy_of_piece<pieces>(rows, i, delta + first, weights + first, stride);
  });
}

// The same two over a few classes only, classes[0, count).
template <class Rows>
void some_class_scores(const Rows& rows, std::int64_t i, const double* weights, std::int64_t stride,
                       const double* start, const std::int32_t* classes, std::int64_t count,
                       double* out) {
  for (std::int64_t m = 0; m < count; ++m) out[classes[m]] = start[classes[m]];
  rows.for_each(i, [&](std::int64_t j, double v) {
    const double* w = weights + j * stride;
    for (std::int64_t m = 0; m < count; ++m) out[classes[m]] += v * w[classes[m]];
  });
}

template <class Rows>
void some_class_axpy(const Rows& rows, std::int64_t i, const std::int32_t* classes,
                     const double* delta, std::int64_t count, double* weights,
                     std::int64_t stride) {
  rows.for_each(i, [&](std::int64_t j, double v) {
    double* w = weights + j * stride;
    for (std::int64_t m = 0; m < count; ++m) w[classes[m]] += v * delta[m];
  });
}

// out[m] = the score of class classes[m], over `count` classes, so few that their sums stay in
// registers: several for each class, to hide the latency of additions.
template <int count, class Rows>
void few_class_scores(const Rows& rows, std::int64_t i, const std::int32_t* classes,
                      const double* weights, std::int64_t stride, double* out) {
  constexpr int turns = count <= 2 ? 4 : 2;
  const double* first[count];
  double sums[turns][count];
  take_turns<count>([&](auto m) {
    first[m] = weights + classes[m];
    take_turns<turns>([&](auto turn) { sums[turn][m] = 0.0; });
  });
  rows.template for_each_in_turns<turns>(i, [&](auto turn, std::int64_t j, double v) {
    const std::int64_t at = j * stride;
    take_turns<count>([&](auto m) { sums[turn][m] += v * first[m][at]; });
  });
  take_turns<count>([&](auto m) {
    double sum = sums[0][m];
    for (int turn = 1; turn < turns; ++turn) sum += sums[turn][m];
    out[m] = sum;
  });
}

// W += x_i delta' over `count` classes, so few that their changes stay in registers.
template <int count, class Rows>
void few_class_axpy(const Rows& rows, std::int64_t i, const std::int32_t* classes,
                    const double* delta, double* weights, std::int64_t stride) {
  double* first[count];
  double change[count];
  take_turns<count>([&](auto m) {
    first[m] = weights + classes[m];
    change[m] = delta[m];
  });
  rows.for_each(i, [&](std::int64_t j, double v) {
    const std::int64_t at = j * stride;
    take_turns<count>([&](auto m) { first[m][at] += v * change[m]; });
  });
}

// Asks for the weights that a row will need soon.
template <class Rows>
WIDEMARGIN_INLINE void prefetch_class_weights(const Rows& rows, std::int64_t i,
                                              const double* weights, std::int64_t stride) {
  const auto row = entries_of(rows, i);
  for (std::int64_t e = 0; e < row.length; ++e) {
    const double* w = weights + row.index(e) * stride;
    for (std::int64_t c = 0; c < stride; c += 8) prefetch_line(w + c);
    prefetch_line(w + stride - 1);
  }
}

}  // namespace widemargin
