// What an example of cost c has at a margin: the value of its loss, minus its slope, its curvature.
#pragma once

namespace widemargin {

struct LossTerms {
  double alpha, curvature, value;
};

}  // namespace widemargin
