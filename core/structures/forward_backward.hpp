// Marginals of a chain under the Gibbs distribution of its scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/exponential.hpp"
#include "structures/chain.hpp"

namespace widemargin {

// e^(edges - their maximum), computed once for all sentences.
struct GibbsEdges {
  std::vector<double> factors;   // the lines of the weights beside those of the features
  std::vector<double> reversed;  // transitions by the label that they lead to
  double highest = 0.0, highest_start = 0.0, highest_end = 0.0;

  GibbsEdges(const ChainData& data, const double* weights)
      : GibbsEdges(data, data.edges(weights), 0) {}
  // From the lines beside those of the features.
  GibbsEdges(const ChainData& data, const double* edges, int)
      : factors(static_cast<std::size_t>(data.lines() * data.stride()), 0.0),
        reversed(static_cast<std::size_t>(data.classes * data.stride()), 0.0) {
    const std::int64_t k = data.classes, stride = data.stride();
    auto exponentials = [&](std::int64_t begin, std::int64_t end) {
      double high = edges[begin * stride];
      for (std::int64_t a = begin; a < end; ++a) {
        for (std::int64_t b = 0; b < k; ++b) high = std::max(high, edges[a * stride + b]);
      }
      for (std::int64_t a = begin; a < end; ++a) {
        for (std::int64_t b = 0; b < k; ++b) {
          factors[a * stride + b] = exp_nonpositive(edges[a * stride + b] - high);
        }
      }
      return high;
    };
    highest = exponentials(0, k);
    highest_start = exponentials(k, k + 1);
    highest_end = exponentials(k + 1, k + 2);
    for (std::int64_t a = 0; a < k; ++a) {
      for (std::int64_t b = 0; b < k; ++b) reversed[b * stride + a] = factors[a * stride + b];
    }
  }
  const double* start(const ChainData& data) const {
    return factors.data() + data.classes * data.stride();
  }
  const double* end(const ChainData& data) const { return start(data) + data.stride(); }
};

// out = from' M for a matrix with lines of `stride`.
inline void row_times_matrix(const double* from, const double* matrix, std::int64_t classes,
                             std::int64_t stride, double* out) {
  for_class_pieces(stride, [&]<int pieces>(std::int64_t first) {
    FourDoubles sums[pieces];
    for (int p = 0; p < pieces; ++p) sums[p] = all_four(0.0);
    for (std::int64_t a = 0; a < classes; ++a) {
      const FourDoubles v = all_four(from[a]);
      const double* line = matrix + a * stride + first;
      for (int p = 0; p < pieces; ++p) sums[p] = sums[p] + v * load_four(line + p * vector_length);
    }
    for (int p = 0; p < pieces; ++p) store_four(out + first + p * vector_length, sums[p]);
  });
}

// Memory for one sentence; the nodes come in as scores and become their exponentials.
class ForwardBackward {
 public:
  std::vector<double> nodes;  // scores, then e^(scores - maximum of the line)
  std::vector<double> marginal;

  void resize(std::int64_t length, std::int64_t stride) {
    const auto size = static_cast<std::size_t>(length * stride);
    if (nodes.size() < size) {
      nodes.resize(size);
      marginal.resize(size);
      forward_.resize(size);
    }
    message_.resize(static_cast<std::size_t>(2 * stride));
    scale_.resize(static_cast<std::size_t>(std::max<std::int64_t>(length, std::ssize(scale_))));
  }

  // Returns log Z. Padding has the factor zero.
  double forward(const ChainData& data, const GibbsEdges& edges, std::int64_t length) {
    const std::int64_t k = data.classes, stride = data.stride();
    double log_z =
        edges.highest * static_cast<double>(length - 1) + edges.highest_start + edges.highest_end;
    for (std::int64_t t = 0; t < length; ++t) {
      double* node = nodes.data() + t * stride;
      const double high = *std::max_element(node, node + k);
      for (std::int64_t a = 0; a < stride; ++a)
        node[a] = exp_nonpositive(std::min(node[a] - high, 0.0));
      for (std::int64_t a = k; a < stride; ++a) node[a] = 0.0;
      double* to = forward_.data() + t * stride;
      if (t == 0) {
        std::copy_n(edges.start(data), stride, to);
      } else {
        row_times_matrix(to - stride, edges.factors.data(), k, stride, to);
      }
      double sum = 0.0;
      for (std::int64_t a = 0; a < stride; ++a) {
        to[a] *= node[a];
        if (t == length - 1) to[a] *= edges.end(data)[a];
        sum += to[a];
      }
      scale_[t] = 1.0 / sum;
      for (std::int64_t a = 0; a < stride; ++a) to[a] *= scale_[t];
      log_z += high + std::log(sum);
    }
    return log_z;
  }

  // Writes the marginals of the rows, and adds `amount` times those of the edges to `total`, which
  // has the layout of the weights beside the features. Call forward first.
  void backward(const ChainData& data, const GibbsEdges& edges, std::int64_t length, double amount,
                double* total) {
    const std::int64_t k = data.classes, stride = data.stride();
    double *message = message_.data(), *next = message + stride;
    // With the end's factor inside the last forward line, the last marginal is that line.
    std::fill_n(message, stride, 1.0);
    std::copy_n(forward_.data() + (length - 1) * stride, stride,
                marginal.data() + (length - 1) * stride);
    for (std::int64_t t = length - 2; t >= 0; --t) {
      const double* node = nodes.data() + (t + 1) * stride;
      const double* from = forward_.data() + t * stride;
      const double inverse = scale_[t + 1];
      for (std::int64_t b = 0; b < stride; ++b) {
        next[b] = message[b] * node[b] * inverse;
        if (t + 1 == length - 1) next[b] *= edges.end(data)[b];
      }
      for (std::int64_t a = 0; a < k; ++a) {
        const double share = amount * from[a];
        const double* line = edges.factors.data() + a * stride;
        double* out = total + a * stride;
        for (std::int64_t b = 0; b < stride; ++b) out[b] += share * line[b] * next[b];
      }
      row_times_matrix(next, edges.reversed.data(), k, stride, message);
      for (std::int64_t a = 0; a < stride; ++a) marginal[t * stride + a] = from[a] * message[a];
    }
    if (!data.boundaries) return;
    for (std::int64_t a = 0; a < k; ++a) {
      total[k * stride + a] += amount * marginal[a];
      total[(k + 1) * stride + a] += amount * marginal[(length - 1) * stride + a];
    }
  }

 private:
  std::vector<double> forward_, message_, scale_;
};

}  // namespace widemargin
