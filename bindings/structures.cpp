// Python's sweeps over chains. No mathematics here.
#include <memory>

#include "chain_core.hpp"
#include "structures/chain_sweep.hpp"
#include "structures/gibbs_sweep.hpp"
#include "structures/plain_frank_wolfe.hpp"

namespace widemargin {
namespace {

// Calls visit(sentence, labeling) for the labelings that have a share.
template <class Visit>
void for_shares(const std::vector<Labelings>& cache, Visit&& visit) {
  for (std::size_t i = 0; i < cache.size(); ++i) {
    for (std::int64_t j = 0; j < cache[i].count(); ++j) {
      if (cache[i].share[j] > 0.0) visit(i, j);
    }
  }
}

std::tuple<std::int64_t, std::int64_t> sizes_of(const ChainData& data,
                                                const std::vector<Labelings>& cache) {
  std::int64_t count = 0, labels = 0;
  for_shares(cache, [&](std::size_t i, std::int64_t) {
    ++count;
    labels += data.length(static_cast<std::int64_t>(i));
  });
  return {count, labels};
}

// Writes the labelings of all sentences, with their shares times the factors if there are any.
void save_labelings(const ChainData& data, const std::vector<Labelings>& cache,
                    const std::vector<double>& factor, const MutableIndexVector& pointers,
                    const MutableVector& share, const MutableLabels& labels) {
  const auto [count, length] = sizes_of(data, cache);
  require_length(pointers, std::ssize(cache) + 1, "pointers");
  require_length(share, count, "share");
  require_length(labels, length, "labels");
  std::fill_n(pointers.data(), cache.size() + 1, 0);
  std::int64_t p = 0, q = 0;
  for_shares(cache, [&](std::size_t i, std::int64_t j) {
    const std::int64_t own = data.length(static_cast<std::int64_t>(i));
    share.data()[p++] = cache[i].share[j] * (factor.empty() ? 1.0 : factor[i]);
    std::copy_n(cache[i].labeling(j, own), own, labels.data() + q);
    q += own;
    pointers.data()[i + 1] = p;
  });
  for (std::size_t i = 0; i < cache.size(); ++i) {
    pointers.data()[i + 1] = std::max(pointers.data()[i], pointers.data()[i + 1]);
  }
}

// Computes the products of the rows of the sentences [begin, end).
void make_products(const ChainCore& core, TokenGram& gram, std::int64_t begin, std::int64_t end,
                   int threads) {
  require_range(begin, end, core.data().count);
  nb::gil_scoped_release release;
  core.visit([&](const auto& rows) { gram.make(rows, core.data(), begin, end, threads); });
}

void require_batch(std::int64_t batch) {
  if (batch < 1) throw std::invalid_argument("a batch has at least one sentence");
}

// A run of block-coordinate Frank-Wolfe: it works on its weights in place.
class ChainSweeps {
 public:
  ChainSweeps(const ChainCore& core, MutableMatrix weights, std::int64_t batch)
      : core_(core),
        weights_(std::move(weights)),
        sweep_(std::make_unique<ChainSweep>(core_.data(), batch)) {
    core_.require_all(weights_);
    require_batch(batch);
  }

  void prepare(std::int64_t begin, std::int64_t end, int threads) {
    make_products(core_, sweep_->gram, begin, end, threads);
  }

  void load(IndexVector pointers, Vector share, Labels labels) {
    const std::vector<std::int64_t> place = core_.require_labelings(pointers, share, labels);
    const ChainData& data = core_.data();
    sweep_->linear = 0.0;
    for (std::int64_t i = 0; i < data.count; ++i) {
      const std::int64_t p = pointers.data()[i], count = pointers.data()[i + 1] - p;
      Labelings& own = sweep_->cache[i];
      own.share.assign(share.data() + p, share.data() + p + count);
      own.labels.assign(labels.data() + place[i], labels.data() + place[i + 1]);
      own.average.clear();
      own.products.clear();
      own.cells.forget();
      for (std::int64_t e = 0; e < count * data.length(i); ++e) {
        const std::int32_t right = data.labels(i)[e % data.length(i)];
        sweep_->linear += data.cost[i] * own.share[e / data.length(i)] *
                          data.mistake[right * data.stride() + own.labels[e]];
      }
    }
  }

  std::tuple<std::int64_t, std::int64_t> sizes() const {
    return sizes_of(core_.data(), sweep_->cache);
  }
  void save(MutableIndexVector pointers, MutableVector share, MutableLabels labels) const {
    save_labelings(core_.data(), sweep_->cache, {}, pointers, share, labels);
  }

  std::int64_t begin(std::uint64_t seed, double enough) {
    return sweep_->begin(core_.data(), seed, enough);
  }
  std::int64_t begin_cached(std::uint64_t seed, double enough) {
    return sweep_->begin_cached(core_.data(), seed, enough);
  }

  bool sweep(std::int64_t budget, int threads) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep(rows, core_.data(), weights_.data(), budget, threads);
    });
  }

  bool sweep_cached(std::int64_t budget, int threads) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep_cached(rows, core_.data(), weights_.data(), budget, threads);
    });
  }
  void average(double weight) { sweep_->average(weight); }
  void take_average() {
    nb::gil_scoped_release release;
    core_.visit(
        [&](const auto& rows) { sweep_->take_average(rows, core_.data(), weights_.data()); });
  }
  double gap() const { return sweep_->total_gap(); }
  double linear() const { return sweep_->linear; }
  double kept_gap() const { return sweep_->kept_gap; }
  std::int64_t read() const { return sweep_->read; }

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
  void prepare(std::int64_t begin, std::int64_t end, int threads) {
    make_products(core_, sweep_->gram, begin, end, threads);
  }
  void begin(std::uint64_t seed) { sweep_->begin(core_.data(), seed); }
  bool sweep(std::int64_t budget) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep(rows, core_.data(), weights_.data(), budget);
    });
  }
  std::tuple<std::int64_t, std::int64_t> sizes() const {
    return sizes_of(core_.data(), sweep_->cache);
  }
  void save(MutableIndexVector pointers, MutableVector share, MutableLabels labels) const {
    save_labelings(core_.data(), sweep_->cache, sweep_->factor, pointers, share, labels);
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
  GibbsSweeps(const ChainCore& core, MutableMatrix weights, MutableFloatMatrix nodes,
              MutableFloatMatrix edges, double longest, std::int64_t batch)
      : core_(core),
        weights_(std::move(weights)),
        nodes_(std::move(nodes)),
        edges_(std::move(edges)) {
    const ChainData& data = core_.data();
    core_.require_all(weights_);
    require_shape(nodes_, data.first[data.count], data.classes, "nodes");
    require_shape(edges_, data.count, data.lines() * data.classes, "edges");
    require_batch(batch);
    sweep_ = std::make_unique<GibbsSweep>(data, nodes_.data(), edges_.data(), batch);
    sweep_->longest = longest;
  }
  void prepare(std::int64_t begin, std::int64_t end, int threads) {
    make_products(core_, sweep_->gram, begin, end, threads);
  }
  std::int64_t begin(std::uint64_t seed, double threshold) {
    return sweep_->begin(core_.data(), seed, threshold);
  }
  bool sweep(std::int64_t budget, int threads) {
    nb::gil_scoped_release release;
    return core_.visit([&](const auto& rows) {
      return sweep_->sweep(rows, core_.data(), weights_.data(), budget, threads);
    });
  }
  double gap() const { return sweep_->total_gap(); }
  double entropy() const { return sweep_->entropy; }
  std::int64_t again() const { return sweep_->again; }

 private:
  ChainCore core_;
  MutableMatrix weights_;
  MutableFloatMatrix nodes_, edges_;
  std::unique_ptr<GibbsSweep> sweep_;
};

}  // namespace

void register_structures(nb::module_& m) {
  nb::class_<ChainCore>(m, "ChainCore")
      .def(nb::init<const RowsHandle&, IndexVector, Labels, Vector, Matrix, bool>(),
           nb::arg("rows"), nb::arg("first").noconvert(), nb::arg("label").noconvert(),
           nb::arg("cost").noconvert(), nb::arg("mistake").noconvert(), nb::arg("boundaries"))
      .def(nb::init<const OnesHandle&, IndexVector, Labels, Vector, Matrix, bool>(),
           nb::arg("rows"), nb::arg("first").noconvert(), nb::arg("label").noconvert(),
           nb::arg("cost").noconvert(), nb::arg("mistake").noconvert(), nb::arg("boundaries"))
      .def("best_labelings", &ChainCore::best_labelings, nb::arg("weights"),
           nb::arg("with_mistakes"), nb::arg("begin"), nb::arg("end"),
           nb::arg("labels").noconvert(), nb::arg("excess").noconvert(),
           nb::arg("magnitude").noconvert(), nb::arg("threads"))
      .def("gibbs", &ChainCore::gibbs, nb::arg("weights"),
           nb::arg("combination").noconvert().none(), nb::arg("begin"), nb::arg("end"),
           nb::arg("excess").noconvert(), nb::arg("magnitude").noconvert(), nb::arg("threads"))
      .def("nodes", &ChainCore::nodes, nb::arg("weights"), nb::arg("begin"), nb::arg("end"),
           nb::arg("out").noconvert())
      .def("potentials", &ChainCore::potentials, nb::arg("nodes"), nb::arg("edges"),
           nb::arg("combination").noconvert(), nb::arg("begin"), nb::arg("end"),
           nb::arg("entropy").noconvert(), nb::arg("magnitude").noconvert(), nb::arg("threads"))
      .def("marginals", &ChainCore::marginals, nb::arg("weights"), nb::arg("begin"), nb::arg("end"),
           nb::arg("out").noconvert())
      .def("combine", &ChainCore::combine, nb::arg("pointers"), nb::arg("share"), nb::arg("labels"),
           nb::arg("from_label"), nb::arg("weights").noconvert(), nb::arg("begin"), nb::arg("end"));
  nb::class_<ChainSweeps>(m, "ChainSweeps")
      .def(nb::init<const ChainCore&, MutableMatrix, std::int64_t>(), nb::arg("core"),
           nb::arg("weights").noconvert(), nb::arg("batch"))
      .def("prepare", &ChainSweeps::prepare, nb::arg("begin"), nb::arg("end"), nb::arg("threads"))
      .def("load", &ChainSweeps::load, nb::arg("pointers"), nb::arg("share"), nb::arg("labels"))
      .def("sizes", &ChainSweeps::sizes)
      .def("save", &ChainSweeps::save, nb::arg("pointers").noconvert(),
           nb::arg("share").noconvert(), nb::arg("labels").noconvert())
      .def("begin", &ChainSweeps::begin, nb::arg("seed"), nb::arg("enough"))
      .def("sweep", &ChainSweeps::sweep, nb::arg("budget"), nb::arg("threads"))
      .def("begin_cached", &ChainSweeps::begin_cached, nb::arg("seed"), nb::arg("enough"))
      .def("sweep_cached", &ChainSweeps::sweep_cached, nb::arg("budget"), nb::arg("threads"))
      .def("average", &ChainSweeps::average, nb::arg("weight"))
      .def("take_average", &ChainSweeps::take_average)
      .def_prop_ro("kept_gap", &ChainSweeps::kept_gap)
      .def_prop_ro("read", &ChainSweeps::read)
      .def_prop_ro("gap", &ChainSweeps::gap)
      .def_prop_ro("linear", &ChainSweeps::linear);
  nb::class_<GibbsSweeps>(m, "GibbsSweeps")
      .def(nb::init<const ChainCore&, MutableMatrix, MutableFloatMatrix, MutableFloatMatrix, double,
                    std::int64_t>(),
           nb::arg("core"), nb::arg("weights").noconvert(), nb::arg("nodes").noconvert(),
           nb::arg("edges").noconvert(), nb::arg("longest"), nb::arg("batch"))
      .def("prepare", &GibbsSweeps::prepare, nb::arg("begin"), nb::arg("end"), nb::arg("threads"))
      .def("begin", &GibbsSweeps::begin, nb::arg("seed"), nb::arg("threshold"))
      .def("sweep", &GibbsSweeps::sweep, nb::arg("budget"), nb::arg("threads"))
      .def_prop_ro("again", &GibbsSweeps::again)
      .def_prop_ro("gap", &GibbsSweeps::gap)
      .def_prop_ro("entropy", &GibbsSweeps::entropy);
  nb::class_<PlainChains>(m, "PlainChains")
      .def(nb::init<const ChainCore&, MutableMatrix>(), nb::arg("core"),
           nb::arg("weights").noconvert())
      .def("prepare", &PlainChains::prepare, nb::arg("begin"), nb::arg("end"), nb::arg("threads"))
      .def("begin", &PlainChains::begin, nb::arg("seed"))
      .def("sweep", &PlainChains::sweep, nb::arg("budget"))
      .def("sizes", &PlainChains::sizes)
      .def("save", &PlainChains::save, nb::arg("pointers").noconvert(),
           nb::arg("share").noconvert(), nb::arg("labels").noconvert())
      .def_prop_ro("gap", &PlainChains::gap)
      .def_prop_ro("linear", &PlainChains::linear);
}

}  // namespace widemargin
