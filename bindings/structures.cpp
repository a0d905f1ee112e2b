// Python's sweeps over chains. No mathematics here.
#include <memory>

#include "chain_core.hpp"
#include "structures/chain_sweep.hpp"
#include "structures/gibbs_sweep.hpp"
#include "structures/plain_frank_wolfe.hpp"

namespace widemargin {
namespace {

std::tuple<std::int64_t, std::int64_t> sizes_of(const std::vector<Labelings>& cache) {
  std::int64_t count = 0, labels = 0;
  for (const Labelings& own : cache) {
    count += own.count();
    labels += std::ssize(own.labels);
  }
  return {count, labels};
}

// Writes the labelings of all sentences, with their shares times the factors if there are any.
void save_labelings(const std::vector<Labelings>& cache, const std::vector<double>& factor,
                    const MutableIndexVector& pointers, const MutableVector& share,
                    const MutableLabels& labels) {
  const auto [count, length] = sizes_of(cache);
  require_length(pointers, std::ssize(cache) + 1, "pointers");
  require_length(share, count, "share");
  require_length(labels, length, "labels");
  std::int64_t p = 0, q = 0;
  pointers.data()[0] = 0;
  for (std::size_t i = 0; i < cache.size(); ++i) {
    const Labelings& own = cache[i];
    for (const double each : own.share) {
      share.data()[p++] = factor.empty() ? each : factor[i] * each;
    }
    std::copy(own.labels.begin(), own.labels.end(), labels.data() + q);
    q += std::ssize(own.labels);
    pointers.data()[i + 1] = p;
  }
}

// Computes the products of the rows of the sentences [begin, end).
void make_products(const ChainCore& core, TokenGram& gram, std::int64_t begin, std::int64_t end) {
  require_range(begin, end, core.data().count);
  nb::gil_scoped_release release;
  core.visit([&](const auto& rows) {
    for (std::int64_t i = begin; i < end; ++i) gram.make(rows, core.data(), i);
  });
}

// A run of block-coordinate Frank-Wolfe: it works on its weights in place.
class ChainSweeps {
 public:
  ChainSweeps(const ChainCore& core, MutableMatrix weights, std::int64_t batch)
      : core_(core),
        weights_(std::move(weights)),
        sweep_(std::make_unique<ChainSweep>(core_.data(), batch)) {
    core_.require_all(weights_);
    if (batch < 1) throw std::invalid_argument("a batch has at least one sentence");
  }

  void prepare(std::int64_t begin, std::int64_t end) {
    make_products(core_, sweep_->gram, begin, end);
  }

  void load(IndexVector pointers, Vector share, Labels labels) {
    const std::vector<std::int64_t> place = core_.require_labelings(pointers, share, labels);
    const ChainData& data = core_.data();
    sweep_->linear = 0.0;
    for (std::int64_t i = 0; i < data.count; ++i) {
      const std::int64_t p = pointers.data()[i], count = pointers.data()[i + 1] - p;
      Labelings& own = sweep_->cache[i];
      own.share.assign(share.data() + p, share.data() + p + count);
      own.before = own.share;
      own.labels.assign(labels.data() + place[i], labels.data() + place[i + 1]);
      own.products.clear();
      for (std::int64_t e = 0; e < count * data.length(i); ++e) {
        const std::int32_t right = data.labels(i)[e % data.length(i)];
        sweep_->linear += data.cost[i] * own.share[e / data.length(i)] *
                          data.mistake[right * data.stride() + own.labels[e]];
      }
    }
  }

  std::tuple<std::int64_t, std::int64_t> sizes() const { return sizes_of(sweep_->cache); }
  void save(MutableIndexVector pointers, MutableVector share, MutableLabels labels) const {
    save_labelings(sweep_->cache, {}, pointers, share, labels);
  }

  std::int64_t begin(std::uint64_t seed, double threshold, double enough) {
    return sweep_->begin(core_.data(), seed, threshold, enough);
  }

  bool sweep(std::int64_t budget, int threads) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep(rows, core_.data(), weights_.data(), budget, threads);
    });
  }

  void mark() { sweep_->mark(); }
  double extrapolate(double step, MutableMatrix trial, std::int64_t begin, std::int64_t end) {
    core_.require_all(trial);
    require_range(begin, end, core_.data().count);
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->extrapolate(rows, core_.data(), step, trial.data(), begin, end);
    });
  }
  void accept(double change) { sweep_->accept(change); }
  double gap() const { return sweep_->total_gap(); }
  double linear() const { return sweep_->linear; }

 private:
  ChainCore core_;
  MutableMatrix weights_;
  std::unique_ptr<ChainSweep> sweep_;
};

// The same as published.
class PlainChains {
 public:
  PlainChains(const ChainCore& core, MutableMatrix weights)
      : core_(core),
        weights_(std::move(weights)),
        sweep_(std::make_unique<PlainFrankWolfe>(core_.data())) {
    core_.require_all(weights_);
  }
  void prepare(std::int64_t begin, std::int64_t end) {
    make_products(core_, sweep_->gram, begin, end);
  }
  void begin(std::uint64_t seed) { sweep_->begin(core_.data(), seed); }
  bool sweep(std::int64_t budget) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep(rows, core_.data(), weights_.data(), budget);
    });
  }
  std::tuple<std::int64_t, std::int64_t> sizes() const { return sizes_of(sweep_->cache); }
  void save(MutableIndexVector pointers, MutableVector share, MutableLabels labels) const {
    save_labelings(sweep_->cache, sweep_->factor, pointers, share, labels);
  }
  double gap() const { return sweep_->total_gap(); }
  double linear() const { return sweep_->linear(); }

 private:
  ChainCore core_;
  MutableMatrix weights_;
  std::unique_ptr<PlainFrankWolfe> sweep_;
};

// A run of dual block ascent under the log loss: it works on its arrays in place.
class GibbsSweeps {
 public:
  GibbsSweeps(const ChainCore& core, MutableMatrix weights, MutableMatrix nodes,
              MutableMatrix edges, double longest)
      : core_(core),
        weights_(std::move(weights)),
        nodes_(std::move(nodes)),
        edges_(std::move(edges)) {
    const ChainData& data = core_.data();
    core_.require_all(weights_);
    require_shape(nodes_, data.first[data.count], data.stride(), "nodes");
    require_shape(edges_, data.count, data.lines() * data.stride(), "edges");
    sweep_ = std::make_unique<GibbsSweep>(data, nodes_.data(), edges_.data());
    sweep_->longest_ = longest;
  }
  void prepare(std::int64_t begin, std::int64_t end) {
    make_products(core_, sweep_->gram, begin, end);
  }
  std::int64_t begin(std::uint64_t seed, double threshold) {
    return sweep_->begin(core_.data(), seed, threshold);
  }
  bool sweep(std::int64_t budget) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep(rows, core_.data(), weights_.data(), budget);
    });
  }
  double gap() const { return sweep_->total_gap(); }
  double entropy() const { return sweep_->entropy; }

 private:
  ChainCore core_;
  MutableMatrix weights_, nodes_, edges_;
  std::unique_ptr<GibbsSweep> sweep_;
};

}  // namespace

void register_structures(nb::module_& m) {
  nb::class_<ChainCore>(m, "ChainCore")
      .def(nb::init<const RowsHandle&, IndexVector, Labels, Vector, Matrix, bool>(),
           nb::arg("rows"), nb::arg("first").noconvert(), nb::arg("label").noconvert(),
           nb::arg("cost").noconvert(), nb::arg("mistake").noconvert(), nb::arg("boundaries"))
      .def("best_labelings", &ChainCore::best_labelings, nb::arg("weights"),
           nb::arg("with_mistakes"), nb::arg("begin"), nb::arg("end"),
           nb::arg("labels").noconvert(), nb::arg("excess").noconvert(),
           nb::arg("magnitude").noconvert(), nb::arg("threads"))
      .def("gibbs", &ChainCore::gibbs, nb::arg("weights"), nb::arg("combination").noconvert(),
           nb::arg("begin"), nb::arg("end"), nb::arg("excess").noconvert(),
           nb::arg("magnitude").noconvert(), nb::arg("threads"))
      .def("nodes", &ChainCore::nodes, nb::arg("weights"), nb::arg("begin"), nb::arg("end"),
           nb::arg("out").noconvert())
      .def("potentials", &ChainCore::potentials, nb::arg("nodes"), nb::arg("edges"),
           nb::arg("combination").noconvert(), nb::arg("begin"), nb::arg("end"),
           nb::arg("entropy").noconvert(), nb::arg("magnitude").noconvert())
      .def("marginals", &ChainCore::marginals, nb::arg("weights"), nb::arg("begin"), nb::arg("end"),
           nb::arg("out").noconvert())
      .def("combine", &ChainCore::combine, nb::arg("pointers"), nb::arg("share"), nb::arg("labels"),
           nb::arg("weights").noconvert(), nb::arg("begin"), nb::arg("end"));
  nb::class_<ChainSweeps>(m, "ChainSweeps")
      .def(nb::init<const ChainCore&, MutableMatrix, std::int64_t>(), nb::arg("core"),
           nb::arg("weights").noconvert(), nb::arg("batch"))
      .def("prepare", &ChainSweeps::prepare, nb::arg("begin"), nb::arg("end"))
      .def("load", &ChainSweeps::load, nb::arg("pointers"), nb::arg("share"), nb::arg("labels"))
      .def("sizes", &ChainSweeps::sizes)
      .def("save", &ChainSweeps::save, nb::arg("pointers").noconvert(),
           nb::arg("share").noconvert(), nb::arg("labels").noconvert())
      .def("begin", &ChainSweeps::begin, nb::arg("seed"), nb::arg("threshold"), nb::arg("enough"))
      .def("sweep", &ChainSweeps::sweep, nb::arg("budget"), nb::arg("threads"))
      .def("mark", &ChainSweeps::mark)
      .def("extrapolate", &ChainSweeps::extrapolate, nb::arg("step"), nb::arg("trial").noconvert(),
           nb::arg("begin"), nb::arg("end"))
      .def("accept", &ChainSweeps::accept, nb::arg("change"))
      .def_prop_ro("gap", &ChainSweeps::gap)
      .def_prop_ro("linear", &ChainSweeps::linear);
  nb::class_<GibbsSweeps>(m, "GibbsSweeps")
      .def(nb::init<const ChainCore&, MutableMatrix, MutableMatrix, MutableMatrix, double>(),
           nb::arg("core"), nb::arg("weights").noconvert(), nb::arg("nodes").noconvert(),
           nb::arg("edges").noconvert(), nb::arg("longest"))
      .def("prepare", &GibbsSweeps::prepare, nb::arg("begin"), nb::arg("end"))
      .def("begin", &GibbsSweeps::begin, nb::arg("seed"), nb::arg("threshold"))
      .def("sweep", &GibbsSweeps::sweep, nb::arg("budget"))
      .def_prop_ro("gap", &GibbsSweeps::gap)
      .def_prop_ro("entropy", &GibbsSweeps::entropy);
  nb::class_<PlainChains>(m, "PlainChains")
      .def(nb::init<const ChainCore&, MutableMatrix>(), nb::arg("core"),
           nb::arg("weights").noconvert())
      .def("prepare", &PlainChains::prepare, nb::arg("begin"), nb::arg("end"))
      .def("begin", &PlainChains::begin, nb::arg("seed"))
      .def("sweep", &PlainChains::sweep, nb::arg("budget"))
      .def("sizes", &PlainChains::sizes)
      .def("save", &PlainChains::save, nb::arg("pointers").noconvert(),
           nb::arg("share").noconvert(), nb::arg("labels").noconvert())
      .def_prop_ro("gap", &PlainChains::gap)
      .def_prop_ro("linear", &PlainChains::linear);
}

}  // namespace widemargin
