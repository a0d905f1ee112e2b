// Where block dual descent came from: the last few moves between two marks, each with its image in
// the weights, for the search over their span (block_extrapolation.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/class_products.hpp"
#include "sweeps/block_duals.hpp"

namespace widemargin {

// Lists two points of one example class by class.
class ListedPair {
 public:
  explicit ListedPair(std::int64_t stride)
      : now_(static_cast<std::size_t>(stride)), before_(static_cast<std::size_t>(stride)) {}

  // Fills classes and change; whether the points differ.
  bool read(const BlockDuals& now, const BlockDuals& before, std::int64_t i) {
    classes.clear();
    change.clear();
    auto note = [&](std::int32_t j) {
      const auto place = static_cast<std::size_t>(j);
      if (now_[place] == 0.0 && before_[place] == 0.0) classes.push_back(j);
    };
    for (std::int32_t m = 0; m < now.count(i); ++m) {
      note(now.classes(i)[m]);
      now_[static_cast<std::size_t>(now.classes(i)[m])] = now.values(i)[m];
    }
    for (std::int32_t m = 0; m < before.count(i); ++m) {
      note(before.classes(i)[m]);
      before_[static_cast<std::size_t>(before.classes(i)[m])] = before.values(i)[m];
    }
    bool differ = false;
    for (const std::int32_t j : classes) {
      const auto place = static_cast<std::size_t>(j);
      change.push_back(now_[place] - before_[place]);
      differ = differ || change.back() != 0.0;
      now_[place] = before_[place] = 0.0;
    }
    return differ;
  }

  std::vector<std::int32_t> classes;
  std::vector<double> change;

 private:
  std::vector<double> now_, before_;
};

// How far everything moved between two marks. The changes of the example examples[m] are those from
// pointers[m] to pointers[m + 1]; place[i] is m, or -1 where example i did not move.
struct BlockMove {
  std::vector<std::int64_t> examples, pointers;
  std::vector<std::int32_t> classes, place;
  std::vector<double> changes, weights, residual;
  double total = 0.0;  // of the changes

  BlockMove(std::int64_t rows, std::int64_t size, std::int64_t stride)
      : pointers{0},
        place(static_cast<std::size_t>(rows), -1),
        weights(static_cast<std::size_t>(size)),
        residual(static_cast<std::size_t>(stride)) {}

  void clear() {
    for (const std::int64_t i : examples) place[static_cast<std::size_t>(i)] = -1;
    examples.clear();
    pointers.assign(1, 0);
    classes.clear();
    changes.clear();
    total = 0.0;
  }

  void add(std::int64_t i, const ListedPair& pair) {
    place[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(examples.size());
    examples.push_back(i);
    for (std::size_t m = 0; m < pair.classes.size(); ++m) {
      if (pair.change[m] == 0.0) continue;
      classes.push_back(pair.classes[m]);
      changes.push_back(pair.change[m]);
      total += pair.change[m];
    }
    pointers.push_back(static_cast<std::int64_t>(changes.size()));
  }
};

// The mark, who may have left it, and the moves before it, oldest first.
class BlockTrail {
 public:
  static constexpr std::int64_t longest_wait = 8;  // sweeps

  BlockTrail(std::int64_t rows, std::int64_t classes, std::int64_t features, std::int64_t length,
             std::int64_t sweeps_between, std::int64_t least_visits)
      : residual(static_cast<std::size_t>(padded_classes(classes))),
        between(sweeps_between),
        least(least_visits),
        most_patience(std::max<std::int64_t>(longest_wait / sweeps_between, 1)),
        patience(most_patience + 1),
        rows_(rows),
        classes_(classes),
        size_(features * padded_classes(classes)),
        stride_(padded_classes(classes)),
        length_(static_cast<std::size_t>(length)),
        pair_(stride_) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t size() const { return size_; }  // of the weights

  // Short runs never search: a mark at zero takes no memory before it is asked for.
  BlockDuals& before() {
    if (!before_) {
      before_ = std::make_unique<BlockDuals>(rows_, classes_);
      weights.resize(static_cast<std::size_t>(size_));
    }
    return *before_;
  }

  // Forgets all moves; the mark is here.
  void restart(const BlockDuals& duals, const double* w, const double* r) {
    for (std::int64_t i = 0; i < rows_; ++i) before().copy_from(duals, i);
    std::copy_n(w, weights.size(), weights.begin());
    std::copy_n(r, residual.size(), residual.begin());
    moves.clear();
    squared = dot_of_fours(weights.data(), weights.data(), size_);
    visits = 0;
  }

  // Whether a search is due when `active` examples are not at rest.
  bool is_due(std::int64_t active) const {
    return visits >= std::max(patience * between * active, least);
  }

  // Who may have moved by the next search.
  void set_span(const std::int64_t* examples, std::int64_t count) {
    span.assign(examples, examples + count);
  }

  // Makes room for the newest move; the oldest one is forgotten.
  BlockMove& extend() {
    if (moves.size() < length_) {
      moves.emplace_back(rows_, size_, stride_);
    } else {
      std::rotate(moves.begin(), moves.begin() + 1, moves.end());
    }
    return moves.back();
  }

  // Fills in how the dual variables of some examples differ from the mark.
  void note_changes(BlockMove& move, const BlockDuals& now,
                    const std::vector<std::int64_t>& examples) {
    move.clear();
    for (const std::int64_t i : examples) {
      if (!now.same(before(), i) && pair_.read(now, before(), i)) move.add(i, pair_);
    }
  }

  std::vector<double> weights, residual;
  std::vector<std::int64_t> span;
  std::vector<BlockMove> moves;
  double squared = 0.0;     // ||W||^2 at the mark
  double reach = 0.1;       // factor on the combination that is aimed at
  std::int64_t visits = 0;  // since the mark
  std::int64_t between;     // sweeps between two searches that gain enough
  std::int64_t least;       // visits between two searches
  std::int64_t most_patience;
  std::int64_t patience;  // factor on `between`; the first moves are mostly held back by bounds

 private:
  std::int64_t rows_, classes_, size_, stride_;
  std::unique_ptr<BlockDuals> before_;
  std::size_t length_;
  ListedPair pair_;
};

}  // namespace widemargin
