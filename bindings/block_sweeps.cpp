// Python's `BlockSweeps` and `BlockTrail`: a run of block dual descent on a multiclass problem.
#include "multiclass_core.hpp"
#include "sweeps/block_rounds.hpp"
#include "sweeps/plain_block_sweep.hpp"

namespace widemargin {
namespace {

class BlockSweeps {
 public:
  // The dual variables are kept alive by their Python owner.
  BlockSweeps(const MulticlassCore& core, nb::object duals, MutableMatrix weights,
              MutableVector residual, Vector b, double rho)
      : core_(core),
        duals_(std::move(duals)),
        weights_(std::move(weights)),
        residual_(std::move(residual)),
        b_(std::move(b)),
        iterate_(core.iterate(nb::cast<BlockDuals&>(duals_), weights_, residual_)) {
    require_length(b_, core.data().stride(), "b");
    iterate_.b = b_.data();
    iterate_.rho = rho;
    open();
  }

  // An example without cost has no say, and its block no curvature that counts.
  void open() {
    const double* cost = core_.data().cost;
    sweep_.active.open(core_.rows_count(), [cost](std::int64_t i) { return cost[i] > 0.0; });
  }

  void begin(std::uint64_t seed) {
    nb::gil_scoped_release release;
    sweep_.begin(seed);
  }

  bool sweep(std::int64_t budget, bool listed_only) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows, auto rule) {
      return block_sweep<decltype(rule)>(rows, core_.data(), iterate_, sweep_, budget, listed_only);
    });
  }

  bool plain_sweep(std::int64_t budget, double threshold) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows, auto rule) {
      return plain_block_sweep<decltype(rule)>(rows, core_.data(), iterate_, sweep_, budget,
                                               threshold);
    });
  }

  std::tuple<double, std::int64_t, std::int64_t> rounds(BlockTrail& trail, std::uint64_t seed,
                                                        double goal, std::int64_t budget,
                                                        std::int64_t most, bool listed_only) {
    require_trail(trail);
    const RoundLimits limits{goal, budget, most};
    nb::gil_scoped_release release;
    const RoundReport report = core_.visit([&](const auto& rows, auto rule) {
      return block_rounds<decltype(rule)>(rows, core_.data(), iterate_, sweep_, trail, seed, limits,
                                          listed_only);
    });
    return {report.gap, report.visited, report.searches};
  }

  double extrapolate(BlockTrail& trail) {
    require_trail(trail);
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows, auto rule) {
      return block_extrapolate<decltype(rule)>(rows, core_.data(), iterate_, sweep_.active, trail);
    });
  }

  void set_span(BlockTrail& trail) const {
    require_trail(trail);
    trail.set_span(sweep_.active.members.data(), sweep_.active.count);
  }

  std::int64_t active() const { return sweep_.active.count; }
  const BlockReport& report() const { return sweep_.report; }

 private:
  void require_trail(const BlockTrail& trail) const {
    const MulticlassData& data = core_.data();
    if (trail.rows() != core_.rows_count() || trail.size() != data.features * data.stride()) {
      throw std::invalid_argument("the trail of another problem");
    }
  }

  MulticlassCore core_;
  nb::object duals_;
  MutableMatrix weights_;
  MutableVector residual_;
  Vector b_;
  BlockIterate iterate_;
  BlockSweep sweep_;
};

}  // namespace

void register_block_sweeps(nb::module_& m) {
  nb::class_<BlockTrail>(m, "BlockTrail")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                    std::int64_t>(),
           nb::arg("rows"), nb::arg("classes"), nb::arg("features"), nb::arg("length"),
           nb::arg("sweeps_between"), nb::arg("least_visits"))
      .def_rw("visits", &BlockTrail::visits)
      .def("is_due", &BlockTrail::is_due, nb::arg("active"))
      .def(
          "restart",
          [](BlockTrail& trail, const BlockDuals& duals, Matrix weights, Vector residual) {
            if (duals.rows() != trail.rows() ||
                static_cast<std::int64_t>(weights.size()) != trail.size() ||
                residual.size() != trail.residual.size()) {
              throw std::invalid_argument("the trail of another problem");
            }
            nb::gil_scoped_release release;
            trail.restart(duals, weights.data(), residual.data());
          },
          nb::arg("duals"), nb::arg("weights"), nb::arg("residual"));

  nb::class_<BlockSweeps>(m, "BlockSweeps")
      .def(nb::init<const MulticlassCore&, nb::object, MutableMatrix, MutableVector, Vector,
                    double>(),
           nb::arg("core"), nb::arg("duals"), nb::arg("weights").noconvert(),
           nb::arg("residual").noconvert(), nb::arg("b").noconvert(), nb::arg("rho"))
      .def_prop_ro("active", &BlockSweeps::active)
      .def_prop_ro("violation", [](const BlockSweeps& sweeps) { return sweeps.report().violation; })
      .def_prop_ro("gap", [](const BlockSweeps& sweeps) { return sweeps.report().gap; })
      .def_prop_ro("visited", [](const BlockSweeps& sweeps) { return sweeps.report().visited; })
      .def("open", &BlockSweeps::open)
      .def("begin", &BlockSweeps::begin, nb::arg("seed"))
      .def("sweep", &BlockSweeps::sweep, nb::arg("visits"), nb::arg("listed_only"))
      .def("plain_sweep", &BlockSweeps::plain_sweep, nb::arg("visits"), nb::arg("threshold"))
      .def("rounds", &BlockSweeps::rounds, nb::arg("trail"), nb::arg("seed"), nb::arg("goal"),
           nb::arg("budget"), nb::arg("most"), nb::arg("listed_only"))
      .def("extrapolate", &BlockSweeps::extrapolate, nb::arg("trail"))
      .def("set_span", &BlockSweeps::set_span, nb::arg("trail"));
}

}  // namespace widemargin
