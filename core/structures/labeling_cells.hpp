// Where the labelings of a sentence that are kept differ from its own one: the few scores that
// moves between them need, and the few weights that they change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows/prefetch.hpp"
#include "structures/chain.hpp"

namespace widemargin {

template <class T>
WIDEMARGIN_INLINE void prefetch_all(const std::vector<T>& values) {
  prefetch_lines(values.data(), values.size() * sizeof(T));
}

// What a labeling does differently from the sentence's own one on the way into a row, or out of the
// last one: the label of the row, and one transition in place of another. Both are places; the own
// label of a row stands for no difference.
struct LabelingStep {
  std::int32_t cell;
  std::int32_t wrong, right;  // among the lines of transitions
};

// Cells are the labels of rows that the labelings have, the own one first. A labeling's score above
// that of the own one is a sum of steps.
struct LabelingCells {
  std::vector<std::int32_t> row;    // rows where some labeling is wrong
  std::vector<std::int32_t> begin;  // of the labels of each row of the sentence
  std::vector<std::int32_t> label;
  std::vector<LabelingStep> steps;
  std::vector<std::int32_t> terms;       // the steps of each labeling
  std::vector<std::int32_t> term_begin;  // empty if the labelings are others now

  WIDEMARGIN_INLINE void prefetch() const {
    prefetch_all(row);
    prefetch_all(begin);
    prefetch_all(label);
    prefetch_all(steps);
    prefetch_all(terms);
    prefetch_all(term_begin);
  }

  bool known() const { return !term_begin.empty(); }
  void forget() { term_begin.clear(); }
  std::int64_t rows() const { return std::ssize(row); }
  std::int64_t labels(std::int64_t t) const { return begin[t + 1] - begin[t]; }

  // The sum over the steps of a labeling.
  double sum(std::int64_t j, const double* values) const {
    double first = 0.0, second = 0.0;  // two chains of additions hide half of the latency
    std::int32_t p = term_begin[j];
    const std::int32_t end = term_begin[j + 1];
    for (; p + 2 <= end; p += 2) {
      first += values[terms[p]];
      second += values[terms[p + 1]];
    }
    if (p < end) first += values[terms[p]];
    return first + second;
  }
};

// Makes the cells of one sentence after the other.
class CellMaker {
 public:
  // `labeling(j)` returns the labels of one of `count` labelings.
  template <class Labeling>
  void make(const ChainData& data, std::int64_t i, std::int64_t count, Labeling&& labeling,
            LabelingCells& cells) {
    place_labels(data, i, count, labeling, cells);
    place_.assign(static_cast<std::size_t>(places(cells)), none);
    cells.steps.clear();
    cells.terms.clear();
    cells.term_begin.assign(1, 0);
    for (std::int64_t j = 0; j < count; ++j) {
      add_terms(data, i, labeling(j), cells);
      cells.term_begin.push_back(static_cast<std::int32_t>(cells.terms.size()));
    }
    for (std::size_t t = 0; t + 1 < cells.begin.size(); ++t) {
      for (std::int32_t c = cells.begin[t]; c < cells.begin[t + 1]; ++c) {
        cell_[static_cast<std::int64_t>(t) * data.stride() + cells.label[c]] = none;
      }
    }
  }

 private:
  static constexpr std::int32_t none = -1;
  std::vector<std::int32_t> cell_;   // of a label of a row
  std::vector<std::int32_t> place_;  // of a step, by the cells that it leaves and that it leads to
  std::vector<std::int64_t> first_;  // the first place of each row

  template <class Labeling>
  void place_labels(const ChainData& data, std::int64_t i, std::int64_t count, Labeling&& labeling,
                    LabelingCells& cells) {
    const std::int64_t length = data.length(i), stride = data.stride();
    if (std::ssize(cell_) < length * stride) {
      cell_.resize(static_cast<std::size_t>(length * stride), none);
    }
    cells.row.clear();
    cells.begin.assign(1, 0);
    cells.label.clear();
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int32_t own = data.labels(i)[t];
      std::int32_t* cell = cell_.data() + t * stride;
      auto add = [&](std::int32_t a) {
        cell[a] = static_cast<std::int32_t>(cells.label.size());
        cells.label.push_back(a);
      };
      add(own);
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int32_t a = labeling(j)[t];
        if (cell[a] == none) add(a);
      }
      if (std::ssize(cells.label) > cells.begin.back() + 1) {
        cells.row.push_back(static_cast<std::int32_t>(t));
      }
      cells.begin.push_back(static_cast<std::int32_t>(cells.label.size()));
    }
  }

  // Counts the steps that there can be.
  std::int64_t places(const LabelingCells& cells) {
    const std::int64_t length = std::ssize(cells.begin) - 1;
    std::int64_t total = 0, before = 1;
    first_.clear();
    for (std::int64_t t = 0; t < length; ++t) {
      first_.push_back(total);
      total += before * cells.labels(t);
      before = cells.labels(t);
    }
    first_.push_back(total);
    return total + before;
  }

  template <class Label>
  void add_terms(const ChainData& data, std::int64_t i, const Label* y, LabelingCells& cells) {
    const auto stride = static_cast<std::int32_t>(data.stride());
    const auto k = static_cast<std::int32_t>(data.classes);
    const std::int64_t length = data.length(i);
    const std::int32_t* own = data.labels(i);
    std::int32_t before = 0;  // which of its labels the row before has
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int32_t cell = cell_[t * stride + y[t]], at = cell - cells.begin[t];
      if (at != 0 || before != 0) {
        std::int32_t& place = place_[first_[t] + before * cells.labels(t) + at];
        if (t > 0) {
          add(cell, y[t - 1] * stride + y[t], own[t - 1] * stride + own[t], place, cells);
        } else {
          const std::int32_t start = k * stride + own[0];
          add(cell, data.boundaries ? k * stride + y[0] : start, start, place, cells);
        }
      }
      before = at;
    }
    if (before != 0 && data.boundaries) {
      const std::int32_t end = (k + 1) * stride;
      add(cells.begin[length - 1], end + y[length - 1], end + own[length - 1],
          place_[first_[length] + before], cells);
    }
  }

  static void add(std::int32_t cell, std::int32_t wrong, std::int32_t right, std::int32_t& place,
                  LabelingCells& cells) {
    if (place == none) {
      place = static_cast<std::int32_t>(cells.steps.size());
      cells.steps.push_back({cell, wrong, right});
    }
    cells.terms.push_back(place);
  }
};

}  // namespace widemargin
