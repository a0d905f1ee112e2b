// Marginals of a chain under the Gibbs distribution of its scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/exponential.hpp"
#include "structures/chain.hpp"
#include "structures/log_chain.hpp"

namespace widemargin {

// How far below the largest product of two edges at one row the smallest may be, in logarithms. The
// sum of a row is at least e^-s / k then, and what exponentials below e^-708 are off by is at most
// k e^(s - 708) of it; the next edges can favour that by e^s. Here k^2 e^(2 s - 708) is a rounding,
// for hundreds of labels. Beyond, passes are in logarithms.
constexpr double widest_edges = 330.0;

// e^(edges - their maximum), computed once for all sentences.
struct GibbsEdges {
  std::vector<double> factors;   // the lines of the weights beside those of the features
  std::vector<double> reversed;  // transitions by the label that they lead to
  std::vector<double> scores;    // the edges themselves, if they are too far apart for that
  double highest = 0.0, highest_start = 0.0, highest_end = 0.0;

  GibbsEdges(const ChainData& data, const double* weights)
      : GibbsEdges(data, data.edges(weights), 0) {}
  // From the lines beside those of the features.
  GibbsEdges(const ChainData& data, const double* edges, int)
      : factors(static_cast<std::size_t>(data.lines() * data.stride()), 0.0),
        reversed(static_cast<std::size_t>(data.classes * data.stride()), 0.0) {
    const std::int64_t k = data.classes, stride = data.stride();
    double spread = 0.0;
    auto exponentials = [&](std::int64_t begin, std::int64_t end) {
      double high = edges[begin * stride], low = high;
      for (std::int64_t a = begin; a < end; ++a) {
        for (std::int64_t b = 0; b < k; ++b) {
          high = std::max(high, edges[a * stride + b]);
          low = std::min(low, edges[a * stride + b]);
        }
      }
      spread = high - low;
      for (std::int64_t a = begin; a < end; ++a) {
        for (std::int64_t b = 0; b < k; ++b) {
          factors[a * stride + b] = exp_nonpositive(edges[a * stride + b] - high);
        }
      }
      return high;
    };
    highest = exponentials(0, k);
    double into = spread;
    highest_start = exponentials(k, k + 1);
    into = std::max(into, spread);
    highest_end = exponentials(k + 1, k + 2);
    // What is not a number is not known to be near either.
    if (!(into + spread <= widest_edges)) {
      scores.assign(edges, edges + data.lines() * stride);
      for (const double score : scores) largest_ = std::max(largest_, std::abs(score));
    }
    for (std::int64_t a = 0; a < k; ++a) {
      for (std::int64_t b = 0; b < k; ++b) reversed[b * stride + a] = factors[a * stride + b];
    }
  }
  const double* start(const ChainData& data) const {
    return factors.data() + data.classes * data.stride();
  }
  const double* end(const ChainData& data) const { return start(data) + data.stride(); }

  // A bound on what the edges of a sentence add to its scores.
  double magnitude(std::int64_t length) const {
    const auto rows = static_cast<double>(length);
    if (!scores.empty()) return largest_ * (rows + 1.0);
    return std::abs(highest) * rows + std::abs(highest_start) + std::abs(highest_end);
  }

 private:
  double largest_ = 0.0;
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

// Memory for one sentence; the nodes come in as scores and become their exponentials, unless edges
// are too far apart.
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
    if (!edges.scores.empty()) {
      return logs_.forward(data, nodes.data(), edges.scores.data(), length);
    }
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
    if (edges.scores.empty()) {
      multiply_back(data, edges, length, amount, total);
    } else {
      logs_.backward(data, nodes.data(), edges.scores.data(), length, amount, total,
                     marginal.data());
    }
    if (!data.boundaries) return;
    const std::int64_t k = data.classes, stride = data.stride();
    for (std::int64_t a = 0; a < k; ++a) {
      total[k * stride + a] += amount * marginal[a];
      total[(k + 1) * stride + a] += amount * marginal[(length - 1) * stride + a];
    }
  }

 private:
  std::vector<double> forward_, message_, scale_;
  LogChain logs_;

  void multiply_back(const ChainData& data, const GibbsEdges& edges, std::int64_t length,
                     double amount, double* total) {
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
  }
};

}  // namespace widemargin
