// Where the labelings of a sentence that are kept differ from its own one: the few scores that
// moves between them need, and the few weights that they change.
#pragma once

#include <cstdint>
#include <vector>

#include "structures/chain.hpp"

namespace widemargin {

// Cells are labels of rows that some labeling has and the sentence's own one has not, then
// transitions that one of the two has. A labeling's score above that of the own one is a sum of
// cells, each added or subtracted.
struct LabelingCells {
  std::vector<std::int32_t> row;         // rows where some labeling is wrong
  std::vector<std::int32_t> begin;       // of the labels of each such row; the own one comes first
  std::vector<std::int32_t> label;       // the cells of rows, and the own labels before them
  std::vector<std::int32_t> edge;        // the others: places among the lines of transitions
  std::vector<std::int32_t> terms;       // of each labeling: twice the cell, plus one if subtracted
  std::vector<std::int32_t> term_begin;  // empty if the labelings are others now

  bool known() const { return !term_begin.empty(); }
  void forget() { term_begin.clear(); }
  std::int64_t rows() const { return std::ssize(row); }
  std::int64_t labels(std::int64_t g) const { return begin[g + 1] - begin[g]; }
  std::int64_t first_edge() const { return std::ssize(label); }
  std::size_t size() const { return label.size() + edge.size(); }

  // Calls visit(cell, +1 or -1) for the terms of a labeling.
  template <class Visit>
  void for_terms(std::int64_t j, Visit&& visit) const {
    static constexpr double signs[] = {1.0, -1.0};  // read, so that there is no branch to guess
    for (std::int32_t p = term_begin[j]; p < term_begin[j + 1]; ++p) {
      visit(terms[p] >> 1, signs[terms[p] & 1]);
    }
  }
};

// Makes the cells of one sentence after the other.
class CellMaker {
 public:
  // `labeling(j)` returns the labels of one of `count` labelings.
  template <class Labeling>
  void make(const ChainData& data, std::int64_t i, std::int64_t count, Labeling&& labeling,
            LabelingCells& cells) {
    const std::int64_t stride = data.stride();
    place_rows(data, i, count, labeling, cells);
    edge_place_.resize(static_cast<std::size_t>(data.lines() * stride), none);
    const auto first = static_cast<std::int32_t>(cells.label.size());
    auto edge = [&](std::int32_t code) {
      if (edge_place_[code] == none) {
        edge_place_[code] = first + static_cast<std::int32_t>(cells.edge.size());
        cells.edge.push_back(code);
      }
      return 2 * edge_place_[code];
    };
    cells.edge.clear();
    cells.terms.clear();
    cells.term_begin.assign(1, 0);
    for (std::int64_t j = 0; j < count; ++j) {
      each_term(
          data, i, labeling(j),
          [&](std::int64_t t, std::int64_t a) {
            cells.terms.push_back(2 * node_place_[t * stride + a]);
          },
          [&](std::int32_t right, std::int32_t wrong) {
            cells.terms.push_back(edge(right) + 1);
            cells.terms.push_back(edge(wrong));
          });
      cells.term_begin.push_back(static_cast<std::int32_t>(cells.terms.size()));
    }
    for (std::int64_t g = 0; g < cells.rows(); ++g) {
      for (std::int32_t c = cells.begin[g]; c < cells.begin[g + 1]; ++c) {
        node_place_[cells.row[g] * stride + cells.label[c]] = none;
      }
    }
    for (const std::int32_t code : cells.edge) edge_place_[code] = none;
  }

 private:
  static constexpr std::int32_t none = -1;
  std::vector<std::int32_t> node_place_, edge_place_;  // the cell of a label or transition

  template <class Labeling>
  void place_rows(const ChainData& data, std::int64_t i, std::int64_t count, Labeling&& labeling,
                  LabelingCells& cells) {
    const std::int64_t length = data.length(i), stride = data.stride();
    if (std::ssize(node_place_) < length * stride) {
      node_place_.resize(static_cast<std::size_t>(length * stride), none);
    }
    cells.row.clear();
    cells.begin.clear();
    cells.label.clear();
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int32_t own = data.labels(i)[t];
      std::int32_t* place = node_place_.data() + t * stride;
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int32_t a = labeling(j)[t];
        if (a == own || place[a] != none) continue;
        if (cells.row.empty() || cells.row.back() != t) {
          cells.row.push_back(static_cast<std::int32_t>(t));
          cells.begin.push_back(static_cast<std::int32_t>(cells.label.size()));
          cells.label.push_back(own);
        }
        place[a] = static_cast<std::int32_t>(cells.label.size());
        cells.label.push_back(a);
      }
    }
    cells.begin.push_back(static_cast<std::int32_t>(cells.label.size()));
  }

  // Calls node(row, label) where a labeling is wrong, and edges(right, wrong) where a
  // transition differs.
  template <class Label, class Node, class Edges>
  static void each_term(const ChainData& data, std::int64_t i, const Label* y, Node&& node,
                        Edges&& edges) {
    const auto stride = static_cast<std::int32_t>(data.stride());
    const auto k = static_cast<std::int32_t>(data.classes);
    const std::int64_t length = data.length(i);
    const std::int32_t* own = data.labels(i);
    bool before = false;
    for (std::int64_t t = 0; t < length; ++t) {
      const bool wrong = y[t] != own[t];
      if (wrong) node(t, y[t]);
      if (t > 0 && (wrong || before)) {
        edges(own[t - 1] * stride + own[t], y[t - 1] * stride + y[t]);
      }
      before = wrong;
    }
    if (!data.boundaries) return;
    if (y[0] != own[0]) edges(k * stride + own[0], k * stride + y[0]);
    if (before) edges((k + 1) * stride + own[length - 1], (k + 1) * stride + y[length - 1]);
  }
};

}  // namespace widemargin
