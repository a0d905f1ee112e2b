// Python's `DualSweeps`: a run of dual coordinate descent on a binary problem.
#include "binary_core.hpp"
#include "dual_sweeps.hpp"

namespace widemargin {

void register_sweeps(nb::module_& m) {
  m.attr("block_length") = block_length;
  register_sweeps_of<BinaryCore>(m, "DualSweeps");
}

}  // namespace widemargin
