// Python's table of names, and rows of named features. No mathematics here.
#include <cstdlib>  // defines __GLIBC__ where it applies
#include <string_view>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "io/name_table.hpp"
#include "ones_handle.hpp"

namespace widemargin {
namespace {

// Strings may hold code points that UTF-8 proper does not have.
constexpr const char* encoding = "utf-8";
constexpr const char* unusual = "surrogatepass";

// Calls use(text) with a string's UTF-8.
template <class Use>
auto with_text(nb::handle name, Use&& use) {
  PyObject* given = name.ptr();
  if (PyUnicode_IS_COMPACT_ASCII(given)) {
    const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(given));
    return use(std::string_view(static_cast<const char*>(PyUnicode_DATA(given)), length));
  }
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(given, encoding, unusual));
  if (!bytes.is_valid()) throw nb::python_error();
  const auto length = static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()));
  return use(std::string_view(PyBytes_AS_STRING(bytes.ptr()), length));
}

// The numbers of names, in their order; -1 for those that a table that may not grow does not have.
nb::list numbers(NameTable& table, const nb::list& names, bool grow) {
  nb::list out;
  for (const nb::handle name : names) {
    if (!PyUnicode_Check(name.ptr())) throw nb::type_error("a name is not a string");
    out.append(with_text(name, [&](std::string_view text) { return table.number(text, grow); }));
  }
  return out;
}

nb::bytes packed(const NameTable& table) {
  const std::string all = table.packed();
  return nb::bytes(all.data(), all.size());
}

nb::list unpacked(const nb::bytes& all) {
  nb::list out;
  NameTable::for_packed({all.c_str(), all.size()}, [&](std::string_view text) {
    const nb::object name = nb::steal(
        PyUnicode_Decode(text.data(), static_cast<Py_ssize_t>(text.size()), encoding, unusual));
    if (!name.is_valid()) throw nb::python_error();
    out.append(name);
  });
  return out;
}

// Gives memory that was freed back to the system, where the C library keeps it.
void return_memory() {
#ifdef __GLIBC__
  nb::gil_scoped_release release;
  malloc_trim(0);
#endif
}

}  // namespace

void register_names(nb::module_& m) {
  m.def("return_memory", &return_memory);
  nb::class_<NameTable>(m, "NameTable")
      .def(nb::init<>())
      .def("__len__", &NameTable::count)
      .def("numbers", &numbers, nb::arg("names"), nb::arg("grow"))
      .def("packed", &packed);
  m.def("unpacked_names", &unpacked, nb::arg("packed"));
  nb::class_<OnesHandle>(m, "OnesRows")
      .def(nb::init<const nb::object&, const nb::object&, std::int64_t>(), nb::arg("indices"),
           nb::arg("pointers"), nb::arg("width"))
      .def_prop_ro("count", &OnesHandle::count)
      .def_prop_ro("width", &OnesHandle::width)
      .def_prop_ro("weights", &OnesHandle::width)
      .def_prop_ro("nonzeros", &OnesHandle::nonzeros)
      .def("squared_norms", &OnesHandle::squared_norms, nb::arg("out").noconvert(),
           nb::arg("begin"), nb::arg("end"))
      .def("total_squared_norm", &OnesHandle::total, nb::arg("begin"), nb::arg("end"));
}

}  // namespace widemargin
