// Consecutive rows of a view.
#pragma once

#include <cstdint>

#include "rows/csr.hpp"
#include "rows/dense.hpp"
#include "rows/storage.hpp"

namespace widemargin {

template <class T>
DenseRows<T> part_of(DenseRows<T> rows, std::int64_t begin, std::int64_t end) {
  if (rows.subset) {
    rows.subset += begin;
  } else {
    rows.values += begin * rows.stride;
  }
  rows.count = end - begin;
  return rows;
}

template <class T, class Index>
CsrRows<T, Index> part_of(CsrRows<T, Index> rows, std::int64_t begin, std::int64_t end) {
  rows.count = end - begin;
  if (rows.subset) {
    rows.subset += begin;
    return rows;
  }
  rows.pointers += begin;
  // Where the order of some rows is wrong, that of these may not be.
  if (!rows.ordered) {
    rows.ordered = whole_rows_in_order(rows.indices, rows.pointers, rows.count, rows.width);
  }
  return rows;
}

}  // namespace widemargin
