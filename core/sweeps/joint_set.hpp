// Dual descent inside a working set of the joint multiclass problems with a kernel (WALRUS, section
// 6, and the same for Crammer-Singer): the dual variables of one example at a time, exactly, always
// of the example whose block misses most.
//
// All arrays hold the members of the set alone. With q = K_ii, the block's minimiser is that of
// 1/2 |b|^2 + 1/2 (sum b)^2 - v.b (projections/block_step.hpp), v_j = slack_j / q + b_j + sum b.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "projections/block_step.hpp"

namespace widemargin {

struct JointSetData {
  const double* kernel = nullptr;  // size x size
  const std::int64_t* labels = nullptr;
  const double* cost = nullptr;
  std::int64_t size = 0, classes = 0;
};

template <class Rule>
class JointSet {
 public:
  // `beta` and `scores` (size x classes) are changed in place; scores = K A(beta) + what lies
  // outside the set.
  JointSet(const JointSetData& data, double* beta, double* scores)
      : data_(data),
        beta_(beta),
        scores_(scores),
        gaps_(static_cast<std::size_t>(data.size)),
        tired_(gaps_.size()),
        old_(static_cast<std::size_t>(data.size * data.classes)),
        old_scores_(old_.size()),
        values_(static_cast<std::size_t>(data.classes)),
        fresh_(values_.size()),
        scratch_(values_.size()),
        moved_(values_.size()) {}

  // Steps until the gaps of all blocks together are at most `share` of what they are now, or
  // `most` are done. Returns the steps.
  std::int64_t descend(double share, std::int64_t most) {
    double total = 0.0;
    for (std::int64_t i = 0; i < data_.size; ++i) total += gaps_[i] = gap_of(i);
    const double aim = share * total;
    remember();
    std::int64_t step = 0, since = 0;
    for (; step < most && total > aim; ++step) {
      const std::int64_t i = worst();
      if (i < 0) break;
      if (!improve(i)) {
        tired_[i] = 1;  // until a neighbour moves it
        continue;
      }
      total = carry(i);
      if (++since == data_.size) {
        since = 0;
        if (step + 1 < most && extrapolate()) total = look();
        remember();
      }
    }
    return step;
  }

 private:
  std::int64_t classes() const { return data_.classes; }
  double* beta(std::int64_t i) { return beta_ + i * data_.classes; }
  double* scores(std::int64_t i) { return scores_ + i * data_.classes; }
  const double* row(std::int64_t i) const { return data_.kernel + i * data_.size; }

  // Fenchel-Young gap of a block: c times the loss, less beta . slack.
  double gap_of(std::int64_t i) {
    const std::int64_t y = data_.labels[i];
    const double *s = scores(i), *b = beta(i);
    const double base = 1.0 - s[y];
    double loss = 0.0, linear = 0.0;
    for (std::int64_t j = 0; j < classes(); ++j) {
      const double slack = j == y ? 0.0 : base + s[j];
      loss = Rule::has_upper ? loss + std::max(slack, 0.0) : std::max(loss, slack);
      linear += slack * b[j];
    }
    return data_.cost[i] * loss - linear;
  }

  double look() {
    double total = 0.0;
    for (std::int64_t i = 0; i < data_.size; ++i) total += gaps_[i] = gap_of(i);
    std::fill(tired_.begin(), tired_.end(), 0);
    return total;
  }

  std::int64_t worst() const {
    std::int64_t best = -1;
    double most = 0.0;
    for (std::int64_t i = 0; i < data_.size; ++i) {
      if (gaps_[i] > most && !tired_[i]) most = gaps_[i], best = i;
    }
    return best;
  }

  // The exact step of a block; `moved_` is the change of its row of A. Returns whether it moves.
  bool improve(std::int64_t i) {
    const std::int64_t y = data_.labels[i];
    const double q = row(i)[i], c = data_.cost[i];
    double *b = beta(i), *s = scores(i);
    double sum = 0.0;
    for (std::int64_t j = 0; j < classes(); ++j) sum += b[j];
    const double base = 1.0 - s[y];
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < classes(); ++j) {
      if (j != y) values_[count++] = base + s[j] + q * (b[j] + sum);
    }
    if (q > 0.0) {
      block_step<Rule>(values_.data(), count, q * c, false, fresh_.data(), scratch_.data());
    } else {
      corner(count, c);
    }
    bool moves = false;
    double total = 0.0;
    count = 0;
    for (std::int64_t j = 0; j < classes(); ++j) {
      if (j == y) continue;
      double next = fresh_[count++];
      if (q > 0.0) next = next >= q * c ? c : next / q;
      double change = next - b[j];
      // A change that is rounding would keep the block busy for ever.
      if (std::abs(change) <= 4e-16 * b[j]) change = 0.0, next = b[j];
      b[j] = next;
      moved_[j] = -change;
      total += change;
      moves = moves || change != 0.0;
    }
    moved_[y] = total;
    return moves;
  }

  // An example without a length: its slacks do not depend on its own dual variables.
  void corner(std::int64_t count, double c) {
    const std::int64_t top =
        std::max_element(values_.begin(), values_.begin() + count) - values_.begin();
    for (std::int64_t j = 0; j < count; ++j) {
      fresh_[j] = values_[j] > 0.0 && (Rule::has_upper || j == top) ? c : 0.0;
    }
  }

  // Adds moved_ of example i to all scores; returns the sum of the gaps.
  double carry(std::int64_t i) {
    add_row(i, moved_.data());
    return look();
  }

  void add_row(std::int64_t i, const double* change) {
    const double* k = row(i);
    for (std::int64_t r = 0; r < data_.size; ++r) {
      double* s = scores(r);
      for (std::int64_t j = 0; j < classes(); ++j) s[j] += k[r] * change[j];
    }
  }

  void remember() {
    std::copy_n(beta_, old_.size(), old_.data());
    std::copy_n(scores_, old_.size(), old_scores_.data());
  }

  // Goes on along the way since `remember`, by an exact line search; what would leave its range is
  // put back into it. Returns whether that paid.
  bool extrapolate() {
    const double t = line_search();
    if (!(t > 0.0)) return false;
    kept_.assign(beta_, beta_ + old_.size());
    kept_scores_.assign(scores_, scores_ + old_.size());
    for (std::size_t k = 0; k < old_.size(); ++k) scores_[k] += t * (scores_[k] - old_scores_[k]);
    for (std::int64_t i = 0; i < data_.size; ++i) go_along(i, t);
    if (decrease() > 0.0) return true;
    std::copy(kept_.begin(), kept_.end(), beta_);
    std::copy(kept_scores_.begin(), kept_scores_.end(), scores_);
    return false;
  }

  double line_search() {
    double slope = 0.0, curvature = 0.0;
    for (std::int64_t i = 0; i < data_.size; ++i) {
      const std::int64_t y = data_.labels[i];
      const double *b = beta(i), *s = scores(i);
      const double *from = old_.data() + i * classes(),
                   *before = old_scores_.data() + i * classes();
      for (std::int64_t j = 0; j < classes(); ++j) {
        const double way = j == y ? 0.0 : b[j] - from[j];
        slope += way * (1.0 - s[y] + s[j]);
        curvature += way * ((s[y] - before[y]) - (s[j] - before[j]));
      }
    }
    return slope > 0.0 && curvature > 0.0 ? slope / curvature : 0.0;
  }

  void go_along(std::int64_t i, double t) {
    double* b = beta(i);
    const double *from = old_.data() + i * classes(), c = data_.cost[i];
    double sum = 0.0, missed = 0.0;
    for (std::int64_t j = 0; j < classes(); ++j) {
      const double target = b[j] + t * (b[j] - from[j]);
      b[j] = std::clamp(target, 0.0, c);
      moved_[j] = target;
      sum += b[j];
    }
    const double share = !Rule::has_upper && sum > c ? c / sum : 1.0;
    bool cut = false;
    for (std::int64_t j = 0; j < classes(); ++j) {
      if (share < 1.0) b[j] *= share;
      moved_[j] -= b[j];
      missed -= moved_[j];
      cut = cut || moved_[j] != 0.0;
    }
    if (!cut) return;
    moved_[data_.labels[i]] = missed;
    add_row(i, moved_.data());
  }

  // How much the dual objective grew since `kept_`.
  double decrease() {
    double gain = 0.0;
    for (std::int64_t i = 0; i < data_.size; ++i) {
      const std::int64_t y = data_.labels[i];
      const double *b = beta(i), *s = scores(i);
      const double *from = kept_.data() + i * classes(),
                   *before = kept_scores_.data() + i * classes();
      for (std::int64_t j = 0; j < classes(); ++j) {
        if (j == y) continue;
        gain += (b[j] - from[j]) * (1.0 - 0.5 * ((s[y] + before[y]) - (s[j] + before[j])));
      }
    }
    return gain;
  }

  JointSetData data_;
  double *beta_, *scores_;
  std::vector<double> gaps_;
  std::vector<char> tired_;
  std::vector<double> kept_, kept_scores_;
  std::vector<double> old_, old_scores_, values_, fresh_, scratch_, moved_;
};

}  // namespace widemargin
