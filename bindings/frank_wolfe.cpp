#include "sweeps/frank_wolfe.hpp"

#include "arrays.hpp"
#include "sweeps/joint_set.hpp"

namespace widemargin {
namespace {

FrankWolfeStep step_of(const std::string& name) {
  if (name == "oblivious") return FrankWolfeStep::oblivious;
  if (name == "exact") return FrankWolfeStep::exact;
  if (name == "away") return FrankWolfeStep::away;
  if (name == "pairwise") return FrankWolfeStep::pairwise;
  throw std::invalid_argument("unknown step '" + name + "'");
}

// Python's `FrankWolfeCore`: labels and costs, checked once. `joint` is Crammer-Singer's block of
// dual variables; otherwise each has a bound of its own.
class FrankWolfeCore {
 public:
  FrankWolfeCore(IndexVector labels, Vector cost, std::int64_t classes, bool joint)
      : joint(joint), labels_(std::move(labels)), cost_(std::move(cost)) {
    const auto count = static_cast<std::int64_t>(cost_.shape(0));
    require_length(labels_, count, "labels");
    require_indices(labels_, classes, "labels");
    data = {labels_.data(), cost_.data(), count, classes};
  }

  double corners(Matrix scores, Matrix beta, MutableMatrix corners) const {
    for (const Matrix* matrix : {&scores, &beta}) {
      require_shape(*matrix, data.count, data.classes, "scores and beta");
    }
    require_shape(corners, data.count, data.classes, "corners");
    nb::gil_scoped_release release;
    return (joint ? frank_wolfe_corners<true>
                  : frank_wolfe_corners<false>)(scores.data(), data, beta.data(), corners.data());
  }

  // Descends inside a set of examples with their own part of the kernel matrix; changes their rows
  // of beta and scores. Returns the steps.
  std::int64_t descend(IndexVector places, Matrix kernel, MutableMatrix beta, MutableMatrix scores,
                       double share, std::int64_t most) const {
    const auto size = static_cast<std::int64_t>(places.shape(0));
    require_indices(places, data.count, "places");
    require_shape(kernel, size, size, "kernel");
    require_shape(beta, size, data.classes, "beta");
    require_shape(scores, size, data.classes, "scores");
    nb::gil_scoped_release release;
    std::vector<std::int64_t> labels;
    std::vector<double> cost;
    for (std::int64_t k = 0; k < size; ++k) {
      labels.push_back(data.labels[places.data()[k]]);
      cost.push_back(data.cost[places.data()[k]]);
    }
    const JointSetData set{kernel.data(), labels.data(), cost.data(), size, data.classes};
    return joint ? JointSet<CrammerSinger>(set, beta.data(), scores.data()).descend(share, most)
                 : JointSet<WestonWatkins>(set, beta.data(), scores.data()).descend(share, most);
  }

  FrankWolfeData data;
  bool joint;

 private:
  IndexVector labels_;
  Vector cost_;
};

// Python's `FrankWolfeSweep`: one sweep over the blocks of all examples, in pieces.
class FrankWolfeSweep {
 public:
  FrankWolfeSweep(const FrankWolfeCore& core, const std::string& step, int repeats,
                  double steps_done, IndexVector order, MutableMatrix beta)
      : core_(core),
        settings_{step_of(step), static_cast<double>(core.data.count), steps_done, repeats},
        order_(std::move(order)),
        beta_(std::move(beta)) {
    require_length(order_, core.data.count, "order");
    require_indices(order_, core.data.count, "order");
    require_shape(beta_, core.data.count, core.data.classes, "beta");
  }

  double linear(const RowsHandle& handle, Vector norms, MutableMatrix weights, std::int64_t begin,
                std::int64_t end) const {
    require_range(begin, end, core_.data.count);
    require_length(norms, core_.data.count, "norms");
    if (handle.count() != core_.data.count) throw std::invalid_argument("rows of another problem");
    require_shape(weights, handle.weights(), core_.data.classes, "weights");
    nb::gil_scoped_release release;
    return std::visit(
        [&](const auto& rows) {
          using Rows = std::decay_t<decltype(rows)>;
          return (core_.joint ? linear_frank_wolfe<true, Rows>
                              : linear_frank_wolfe<false, Rows>)(rows, norms.data(), core_.data,
                                                                 settings_, order_.data(), begin,
                                                                 end, beta_.data(), weights.data());
        },
        handle.view);
  }

  // `kernel` is the whole matrix, or the rows of the examples order[begin, end).
  double kernel(Matrix kernel, bool whole, MutableMatrix scores, std::int64_t begin,
                std::int64_t end) const {
    require_range(begin, end, core_.data.count);
    require_shape(kernel, whole ? core_.data.count : end - begin, core_.data.count, "kernel");
    require_shape(scores, core_.data.count, core_.data.classes, "scores");
    nb::gil_scoped_release release;
    return (core_.joint ? kernel_frank_wolfe<true>
                        : kernel_frank_wolfe<false>)(kernel.data(), whole, core_.data, settings_,
                                                     order_.data(), begin, end, beta_.data(),
                                                     scores.data());
  }

 private:
  FrankWolfeCore core_;
  FrankWolfeSettings settings_;
  IndexVector order_;
  MutableMatrix beta_;
};

}  // namespace

void register_frank_wolfe(nb::module_& m) {
  nb::class_<FrankWolfeCore>(m, "FrankWolfeCore")
      .def(nb::init<IndexVector, Vector, std::int64_t, bool>(), nb::arg("labels").noconvert(),
           nb::arg("cost").noconvert(), nb::arg("classes"), nb::arg("joint"))
      .def("corners", &FrankWolfeCore::corners, nb::arg("scores"), nb::arg("beta"),
           nb::arg("corners").noconvert())
      .def("descend", &FrankWolfeCore::descend, nb::arg("places"), nb::arg("kernel"),
           nb::arg("beta").noconvert(), nb::arg("scores").noconvert(), nb::arg("share"),
           nb::arg("most"));
  nb::class_<FrankWolfeSweep>(m, "FrankWolfeSweep")
      .def(nb::init<const FrankWolfeCore&, const std::string&, int, double, IndexVector,
                    MutableMatrix>(),
           nb::arg("core"), nb::arg("step"), nb::arg("repeats"), nb::arg("steps_done"),
           nb::arg("order").noconvert(), nb::arg("beta").noconvert())
      .def("linear", &FrankWolfeSweep::linear, nb::arg("rows"), nb::arg("norms"),
           nb::arg("weights").noconvert(), nb::arg("begin"), nb::arg("end"))
      .def("kernel", &FrankWolfeSweep::kernel, nb::arg("kernel"), nb::arg("whole"),
           nb::arg("scores").noconvert(), nb::arg("begin"), nb::arg("end"));
}

}  // namespace widemargin
