// Forward and backward passes in logarithms, for transitions so far apart that products of their
// exponentials vanish. They take an exponential for each pair of labels at each row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/exponential.hpp"
#include "structures/chain.hpp"

namespace widemargin {

class LogChain {
 public:
  // Returns log Z; `nodes` and `edges` are scores, `edges` those beside the features.
  double forward(const ChainData& data, const double* nodes, const double* edges,
                 std::int64_t length) {
    const std::int64_t k = data.classes, stride = data.stride();
    before_.resize(static_cast<std::size_t>(length * stride));
    after_.resize(static_cast<std::size_t>(2 * stride));
    terms_.resize(static_cast<std::size_t>(k));
    const double *start = edges + k * stride, *end = start + stride;
    for (std::int64_t a = 0; a < k; ++a) before_[a] = start[a] + nodes[a];
    for (std::int64_t t = 1; t < length; ++t) {
      const double* from = before_.data() + (t - 1) * stride;
      for (std::int64_t b = 0; b < k; ++b) {
        for (std::int64_t a = 0; a < k; ++a) terms_[a] = from[a] + edges[a * stride + b];
        before_[t * stride + b] = log_of_sum() + nodes[t * stride + b];
      }
    }
    const double* last = before_.data() + (length - 1) * stride;
    for (std::int64_t a = 0; a < k; ++a) terms_[a] = last[a] + end[a];
    return log_z_ = log_of_sum();
  }

  // As in `ForwardBackward`, but for the first and last labels. Call forward first.
  void backward(const ChainData& data, const double* nodes, const double* edges,
                std::int64_t length, double amount, double* total, double* marginal) {
    const std::int64_t k = data.classes, stride = data.stride();
    double *after = after_.data(), *next = after + stride;
    std::copy_n(edges + (k + 1) * stride, k, after);
    for (std::int64_t t = length - 1; t >= 0; --t) {
      const double* before = before_.data() + t * stride;
      if (t + 1 < length) {
        for (std::int64_t b = 0; b < k; ++b) next[b] = after[b] + nodes[(t + 1) * stride + b];
        for (std::int64_t a = 0; a < k; ++a) {
          for (std::int64_t b = 0; b < k; ++b) terms_[b] = edges[a * stride + b] + next[b];
          for (std::int64_t b = 0; b < k; ++b) {
            total[a * stride + b] += amount * share(before[a] + terms_[b]);
          }
          after[a] = log_of_sum();
        }
      }
      double* out = marginal + t * stride;
      for (std::int64_t a = 0; a < k; ++a) out[a] = share(before[a] + after[a]);
      std::fill(out + k, out + stride, 0.0);
    }
  }

 private:
  std::vector<double> before_, after_, terms_;
  double log_z_ = 0.0;

  double share(double score) const { return exp_nonpositive(std::min(score - log_z_, 0.0)); }
  double log_of_sum() const {
    const double high = *std::ranges::max_element(terms_);
    double sum = 0.0;
    for (const double term : terms_) sum += exp_nonpositive(term - high);
    return high + std::log(sum);
  }
};

}  // namespace widemargin
