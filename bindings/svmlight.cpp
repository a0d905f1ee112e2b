#include <chrono>
#include <cstdlib>

#include "arrays.hpp"
#include "io/mapped_file.hpp"
#include "io/svmlight_reader.hpp"
#include "io/svmlight_writer.hpp"

namespace widemargin {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Constant = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object as_array(Buffer<T>&& buffer, std::int64_t length) {
  T* memory = buffer.release();
  const nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, T, nb::ndim<1>>(memory, {static_cast<std::size_t>(length)}, owner));
}

IndexBase index_base(const std::string& name) {
  if (name == "auto") return IndexBase::automatic;
  if (name == "zero") return IndexBase::zero;
  if (name == "one") return IndexBase::one;
  throw std::invalid_argument("unknown index base '" + name + "'");
}

// Looks for Ctrl-C, but not so often that waiting for the GIL would cost time.
class SignalCheck {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
  }

 private:
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

template <class Value>
nb::tuple read_as(std::string_view text, const SvmlightOptions& options) {
  AnySvmlightData<Value> any;
  try {
    const nb::gil_scoped_release release;
    any = SvmlightReader<Value>(text, options, SignalCheck()).read();
  } catch (const InterruptedError&) {
    throw nb::python_error();
  }
  return std::visit(
      [&](auto& data) {
        nb::object query_ids = nb::none();
        if (options.query_ids) query_ids = as_array(std::move(data.query_ids), data.rows);
        return nb::make_tuple(as_array(std::move(data.labels), data.rows), query_ids,
                              as_array(std::move(data.values), data.nonzeros),
                              as_array(std::move(data.indices), data.nonzeros),
                              as_array(std::move(data.pointers), data.rows + 1), data.width);
      },
      any);
}

nb::tuple read(std::string_view text, const std::string& base, std::int64_t features,
               bool query_ids, bool single, int threads) {
  SvmlightOptions options;
  options.base = index_base(base);
  options.features = features;
  options.query_ids = query_ids;
  options.threads = threads;
  return single ? read_as<float>(text, options) : read_as<double>(text, options);
}

template <class Value, class Index>
nb::bytes format(const Vector& labels, const nb::object& query_ids, const Constant<Value>& values,
                 const Constant<Index>& indices, const Constant<Index>& pointers, bool zero_based,
                 std::int64_t begin, std::int64_t end) {
  const auto rows = static_cast<std::int64_t>(labels.shape(0));
  require_length(pointers, rows + 1, "pointers");
  require_range(begin, end, rows);
  const auto stored = static_cast<std::int64_t>(std::min(values.shape(0), indices.shape(0)));
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t from = pointers(i), to = pointers(i + 1);
    if (from < 0 || to < from || to > stored) {
      throw std::invalid_argument("row pointers reach past the stored values");
    }
  }
  SvmlightSource<Value, Index> source{labels.data(),  nullptr,         values.data(),
                                      indices.data(), pointers.data(), zero_based ? 0 : 1};
  if (!query_ids.is_none()) {
    const auto ids = nb::cast<IndexVector>(query_ids);
    require_length(ids, rows, "query_ids");
    source.query_ids = ids.data();
  }
  std::string text;
  {
    const nb::gil_scoped_release release;
    text = format_svmlight(source, begin, end);
  }
  return nb::bytes(text.data(), text.size());
}

template <class Value, class Index>
void register_format(nb::module_& m) {
  m.def("format_svmlight", &format<Value, Index>, nb::arg("labels"), nb::arg("query_ids").none(),
        nb::arg("values").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("pointers").noconvert(), nb::arg("zero_based"), nb::arg("begin"), nb::arg("end"));
}

}  // namespace

void register_svmlight(nb::module_& m) {
  // Its arguments are the line, the column and the message.
  nb::object error = nb::exception<SvmlightError>(m, "SvmlightError", PyExc_ValueError);
  nb::register_exception_translator(
      [](const std::exception_ptr& caught, void* type) {
        try {
          std::rethrow_exception(caught);
        } catch (const SvmlightError& e) {
          const nb::tuple arguments = nb::make_tuple(e.line, e.column, e.what());
          PyErr_SetObject(static_cast<PyObject*>(type), arguments.ptr());
        }
      },
      error.ptr());
  m.def(
      "read_svmlight_file",
      [](int descriptor, const std::string& base, std::int64_t features, bool query_ids,
         bool single, int threads) {
        const MappedFile file(descriptor);
        return read(file.text(), base, features, query_ids, single, threads);
      },
      nb::arg("descriptor"), nb::arg("base"), nb::arg("features"), nb::arg("query_ids"),
      nb::arg("single"), nb::arg("threads"));
  m.def(
      "read_svmlight_text",
      [](const Bytes& text, const std::string& base, std::int64_t features, bool query_ids,
         bool single, int threads) {
        return read({reinterpret_cast<const char*>(text.data()), text.shape(0)}, base, features,
                    query_ids, single, threads);
      },
      nb::arg("text"), nb::arg("base"), nb::arg("features"), nb::arg("query_ids"),
      nb::arg("single"), nb::arg("threads"));
  register_format<double, std::int32_t>(m);
  register_format<double, std::int64_t>(m);
  register_format<float, std::int32_t>(m);
  register_format<float, std::int64_t>(m);
}

}  // namespace widemargin
