// Python's `KernelSource`: examples and a kernel function, from which rows of the matrix are made.
#pragma once

#include <optional>

#include "arrays.hpp"
#include "kernels/kernel_rows.hpp"

namespace widemargin {

inline KernelKind kernel_named(const std::string& name) {
  if (name == "rbf") return KernelKind::gaussian;
  if (name == "poly") return KernelKind::polynomial;
  if (name == "linear") return KernelKind::linear;
  throw std::invalid_argument("no kernel is called " + name);
}

// Pairs of numbers: where each stretch of columns begins and ends.
inline std::vector<Stretch> stretches_of(const IndexVector& bounds, std::int64_t count) {
  std::vector<Stretch> out;
  if (bounds.shape(0) % 2 != 0) throw std::invalid_argument("bounds must come in pairs");
  for (std::size_t k = 0; k < bounds.shape(0); k += 2) {
    require_range(bounds.data()[k], bounds.data()[k + 1], count);
    out.push_back({bounds.data()[k], bounds.data()[k + 1]});
  }
  return out;
}

inline std::int64_t length_of(const std::vector<Stretch>& stretches) {
  std::int64_t total = 0;
  for (const Stretch& s : stretches) total += s.end - s.begin;
  return total;
}

class KernelSource {
 public:
  // `fast` holds the same examples as `exact`, in single precision where they are dense.
  KernelSource(const RowsHandle& exact, const RowsHandle& fast, const std::string& name,
               double gamma, std::int64_t degree, double coef0)
      : exact_(exact), fast_(fast), function_{kernel_named(name), gamma, degree, coef0} {
    if (exact_.count() != fast_.count() || exact_.width() != fast_.width()) {
      throw std::invalid_argument("the rows in two precisions differ in shape");
    }
    const auto count = static_cast<std::size_t>(exact_.count());
    squares_.resize(count);
    single_squares_.resize(count);
    std::visit(
        [&](const auto& rows) {
          for (std::size_t i = 0; i < count; ++i) {
            squares_[i] = rows.squared_norm(static_cast<std::int64_t>(i));
          }
          stored_ = rows.total_nonzeros();
        },
        exact_.view);
    for (std::size_t i = 0; i < count; ++i) single_squares_[i] = static_cast<float>(squares_[i]);
  }

  // A matrix that is there already.
  explicit KernelSource(Matrix given) : given_(std::move(given)) {
    require_shape(*given_, count(), count(), "kernel");
  }

  std::int64_t count() const {
    return given_ ? static_cast<std::int64_t>(given_->shape(0)) : exact_.count();
  }
  double largest_square() const {
    return squares_.empty() ? 0.0 : *std::max_element(squares_.begin(), squares_.end());
  }
  // Multiplications that an entry of the matrix takes, with what the function itself costs.
  double entry_work() const {
    return static_cast<double>(stored_) / std::max<std::int64_t>(1, count()) + 8.0;
  }

  void rows(const std::int64_t* places, std::int64_t count, const std::vector<Stretch>& stretches,
            float* const* out) const {
    make(fast_, single_squares_.data(), places, count, stretches, out);
  }
  void rows(const std::int64_t* places, std::int64_t count, const std::vector<Stretch>& stretches,
            double* const* out) const {
    make(exact_, squares_.data(), places, count, stretches, out);
  }

  void combine(const std::int64_t* places, const double* coefficients, std::int64_t count,
               const std::vector<Stretch>& stretches, double* out) const {
    if (given_) {
      for (std::int64_t r = 0; r < count; ++r) {
        copy_row(places[r], stretches,
                 [&](std::int64_t j, double v) { out[j] += coefficients[r] * v; });
      }
      return;
    }
    std::visit(
        [&](const auto& rows) {
          kernel_combination(rows, function_, squares_.data(), places, coefficients, count,
                             stretches.data(), static_cast<std::int64_t>(stretches.size()), out);
        },
        exact_.view);
  }

  void diagonal(double* out) const {
    for (std::int64_t i = 0; i < count(); ++i) {
      if (given_) {
        out[i] = given_->data()[i * count() + i];
        continue;
      }
      out[i] = squares_[i];
      apply_kernel(function_, squares_[i], &squares_[i], 1, out + i);
    }
  }

 private:
  template <class Real>
  void make(const RowsHandle& from, const Real* squares, const std::int64_t* places,
            std::int64_t count, const std::vector<Stretch>& stretches, Real* const* out) const {
    if (given_) {
      for (std::int64_t r = 0; r < count; ++r) {
        copy_row(places[r], stretches,
                 [&](std::int64_t j, double v) { out[r][j] = static_cast<Real>(v); });
      }
      return;
    }
    std::visit(
        [&](const auto& rows) {
          kernel_rows<Real>(rows, function_, squares, places, count, stretches.data(),
                            static_cast<std::int64_t>(stretches.size()), out);
        },
        from.view);
  }

  // Calls visit(j, value) for the columns of the stretches, counted one after the other.
  template <class Visit>
  void copy_row(std::int64_t place, const std::vector<Stretch>& stretches, Visit&& visit) const {
    const double* row = given_->data() + place * count();
    std::int64_t done = 0;
    for (const Stretch& s : stretches) {
      for (std::int64_t j = s.begin; j < s.end; ++j) visit(done++, row[j]);
    }
  }

  std::optional<Matrix> given_;
  RowsHandle exact_, fast_;
  KernelFunction function_;
  std::vector<double> squares_;
  std::vector<float> single_squares_;
  std::int64_t stored_ = 0;
};

}  // namespace widemargin
