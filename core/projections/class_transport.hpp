// Lowers dual variables of several classes so that the residual of free intercepts vanishes.
//
// Lowering beta_il of an example of class j takes from r_j and gives to r_l. So a class j sends
// what it has too much to classes that have too little, over arcs j -> l that hold the mass of all
// such beta_il; classes between pass on what they get. The sum of the masses that leave a class
// less those that enter it is r_j: so from every class with too much there is a path to one with
// too little, whatever was sent before. Paths are taken shortest first, all those of one length in
// one pass over the arcs. Each mass is lowered by one factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace widemargin {

class ClassTransport {
 public:
  ClassTransport(const std::int64_t* pointers, const std::int32_t* classes,
                 const std::int32_t* label, std::int64_t rows, std::int64_t class_count)
      : pointers_(pointers),
        classes_(classes),
        size_(static_cast<std::size_t>(class_count)),
        first_row_(size_ + 1),
        by_label_(static_cast<std::size_t>(rows)) {
    for (std::int64_t i = 0; i < rows; ++i) ++first_row_[static_cast<std::size_t>(label[i]) + 1];
    for (std::size_t j = 0; j < size_; ++j) first_row_[j + 1] += first_row_[j];
    std::vector<std::int64_t> next(first_row_.begin(), first_row_.end() - 1);
    for (std::int64_t i = 0; i < rows; ++i) {
      by_label_[static_cast<std::size_t>(next[static_cast<std::size_t>(label[i])]++)] = i;
    }
  }

  // Lowers the values by what can be sent; the residual becomes what is left of it.
  void lower(double* values, double* residual) {
    collect(values);
    const double smallest = 1e-16 * total_;
    for (int pass = 0; pass < most_passes && layers(residual, smallest); ++pass) {
      if (!send(residual, smallest)) break;
    }
    apply(values);
  }

 private:
  static constexpr int most_passes = 100;

  template <class Visit>
  void each_entry(std::size_t own, Visit&& visit) const {
    for (std::int64_t t = first_row_[own]; t < first_row_[own + 1]; ++t) {
      const std::int64_t i = by_label_[static_cast<std::size_t>(t)];
      for (std::int64_t p = pointers_[i]; p < pointers_[i + 1]; ++p) visit(p);
    }
  }

  // The arcs, class by class, and their masses.
  void collect(const double* values) {
    std::vector<double> mass(size_);
    arcs_.assign(1, 0);
    target_.clear();
    mass_.clear();
    total_ = 0.0;
    for (std::size_t own = 0; own < size_; ++own) {
      const std::size_t first = target_.size();
      each_entry(own, [&](std::int64_t p) {
        const auto rival = static_cast<std::size_t>(classes_[p]);
        if (!(values[p] > 0.0) || rival == own) return;
        if (mass[rival] == 0.0) target_.push_back(classes_[p]);
        mass[rival] += values[p];
      });
      for (std::size_t a = first; a < target_.size(); ++a) {
        double& here = mass[static_cast<std::size_t>(target_[a])];
        mass_.push_back(here);
        total_ += here;
        here = 0.0;
      }
      arcs_.push_back(target_.size());
    }
    room_ = mass_;
  }

  // The length of the shortest path to each class from one with too much; whether one has too
  // little among those reached.
  bool layers(const double* residual, double smallest) {
    layer_.assign(size_, -1);
    std::vector<std::size_t> front;
    for (std::size_t j = 0; j < size_; ++j) {
      if (residual[j] > smallest) {
        layer_[j] = 0;
        front.push_back(j);
      }
    }
    bool reached = false;
    for (std::size_t f = 0; f < front.size(); ++f) {
      const std::size_t from = front[f];
      for (std::size_t a = arcs_[from]; a < arcs_[from + 1]; ++a) {
        const auto to = static_cast<std::size_t>(target_[a]);
        if (room_[a] > 0.0 && layer_[to] < 0) {
          layer_[to] = layer_[from] + 1;
          reached = reached || residual[to] < 0.0;
          front.push_back(to);
        }
      }
    }
    return reached;
  }

  // Sends along paths that go up by one layer an arc, until there are none.
  bool send(double* residual, double smallest) {
    next_.assign(arcs_.begin(), arcs_.end() - 1);
    bool sent = false;
    std::vector<std::size_t> path;  // of arcs
    for (std::size_t source = 0; source < size_; ++source) {
      path.clear();
      std::size_t at = source;
      while (residual[source] > smallest && layer_[source] == 0) {
        if (residual[at] < 0.0) {
          double amount = std::min(residual[source], -residual[at]);
          for (const std::size_t a : path) amount = std::min(amount, room_[a]);
          for (const std::size_t a : path) room_[a] -= amount;
          residual[source] -= amount;
          residual[at] += amount;
          sent = true;
          path.clear();
          at = source;
          continue;
        }
        std::size_t& a = next_[at];
        while (
            a < arcs_[at + 1] &&
            !(room_[a] > 0.0 && layer_[static_cast<std::size_t>(target_[a])] == layer_[at] + 1)) {
          ++a;
        }
        if (a < arcs_[at + 1]) {
          path.push_back(a);
          at = static_cast<std::size_t>(target_[a]);
        } else if (path.empty()) {
          break;
        } else {
          path.pop_back();
          at = path.empty() ? source : static_cast<std::size_t>(target_[path.back()]);
          ++next_[at];
        }
      }
    }
    return sent;
  }

  void apply(double* values) const {
    std::vector<double> keep(size_, 1.0);
    for (std::size_t own = 0; own < size_; ++own) {
      bool any = false;
      for (std::size_t a = arcs_[own]; a < arcs_[own + 1]; ++a) {
        any = any || room_[a] != mass_[a];
        keep[static_cast<std::size_t>(target_[a])] = room_[a] / mass_[a];
      }
      if (any) {
        each_entry(
            own, [&](std::int64_t p) { values[p] *= keep[static_cast<std::size_t>(classes_[p])]; });
      }
      for (std::size_t a = arcs_[own]; a < arcs_[own + 1]; ++a) {
        keep[static_cast<std::size_t>(target_[a])] = 1.0;
      }
    }
  }

  const std::int64_t* pointers_;
  const std::int32_t* classes_;
  std::size_t size_;
  std::vector<std::int64_t> first_row_, by_label_;
  std::vector<std::size_t> arcs_, next_;
  std::vector<std::int32_t> target_;
  std::vector<double> mass_, room_;
  std::vector<std::int64_t> layer_;
  double total_ = 0.0;
};

}  // namespace widemargin
