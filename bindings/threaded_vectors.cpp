// Vectors over the examples, worked on by threads in chunks: sums have the same bits for any number
// of threads.
#include <nanobind/stl/optional.h>

#include "blocks.hpp"
#include "kernels/chains.hpp"
#include "kernels/vectors.hpp"
#include "losses/at_bounds.hpp"
#include "threads/places.hpp"

namespace widemargin {
namespace {

using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MutableFlags = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

// Gives an array that Python owns.
Places places_of(std::vector<std::int64_t> found) {
  auto* kept = new std::vector<std::int64_t>(std::move(found));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<std::int64_t>*>(memory); });
  return {kept->data(), {kept->size()}, owner};
}

std::int64_t length_of(const Vector& numbers) {
  return static_cast<std::int64_t>(numbers.shape(0));
}

void require_chunk(std::int64_t chunk) {
  if (chunk < 1) throw std::invalid_argument("a chunk has at least one number");
}

void register_sums(nb::module_& m) {
  m.def(
      "count_nonzero",
      [](Pool& pool, Vector numbers, std::int64_t chunk) {
        const auto count = static_cast<std::int64_t>(numbers.shape(0));
        nb::gil_scoped_release release;
        return chunked_sum(
            pool, count, chunk,
            [&](std::int64_t begin, std::int64_t end) {
              std::int64_t found = 0;
              for (std::int64_t i = begin; i < end; ++i) found += numbers.data()[i] != 0.0;
              return found;
            },
            std::plus<std::int64_t>());
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("chunk"));
  m.def(
      "sum",
      [](Pool& pool, Vector numbers, std::int64_t chunk) {
        const auto count = static_cast<std::int64_t>(numbers.shape(0));
        nb::gil_scoped_release release;
        return chunked_sum(
            pool, count, chunk,
            [&](std::int64_t begin, std::int64_t end) {
              return sum_in_chains(end - begin,
                                   [&](std::int64_t i) { return numbers.data()[begin + i]; });
            },
            std::plus<double>());
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("chunk"));
  m.def(
      "add_scaled",
      [](Pool& pool, MutableVector sum, Vector numbers, double scale, std::int64_t chunk) {
        const auto count = static_cast<std::int64_t>(sum.shape(0));
        require_length(numbers, count, "numbers");
        nb::gil_scoped_release release;
        each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
          axpy_dense(scale, numbers.data() + begin, sum.data() + begin, end - begin);
        });
      },
      nb::arg("pool"), nb::arg("sum").noconvert(), nb::arg("numbers"), nb::arg("scale"),
      nb::arg("chunk"));
  m.def(
      "dot",
      [](Pool& pool, Vector a, Vector b, std::int64_t chunk) {
        const auto count = static_cast<std::int64_t>(a.shape(0));
        require_length(b, count, "b");
        nb::gil_scoped_release release;
        return chunked_sum(
            pool, count, chunk,
            [&](std::int64_t begin, std::int64_t end) {
              return sum_in_chains(end - begin, [&](std::int64_t i) {
                return a.data()[begin + i] * b.data()[begin + i];
              });
            },
            std::plus<double>());
      },
      nb::arg("pool"), nb::arg("a"), nb::arg("b"), nb::arg("chunk"));
  m.def(
      "count_between",
      [](Pool& pool, Vector numbers, Vector upper, double near, std::int64_t chunk) {
        const std::int64_t count = length_of(numbers);
        require_length(upper, count, "upper");
        require_chunk(chunk);
        nb::gil_scoped_release release;
        return chunked_sum(
            pool, count, chunk,
            [&](std::int64_t begin, std::int64_t end) {
              std::int64_t found = 0;
              for (std::int64_t i = begin; i < end; ++i) {
                const double number = numbers.data()[i], most = upper.data()[i];
                found += (number > near * most) & (number < (1.0 - near) * most);
              }
              return found;
            },
            std::plus<std::int64_t>());
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("upper"), nb::arg("near"), nb::arg("chunk"));
}

void register_vectors(nb::module_& m) {
  m.def(
      "plus",
      [](Pool& pool, Vector left, Vector right, double factor, MutableVector out,
         std::int64_t chunk) {
        const std::int64_t count = length_of(left);
        require_length(right, count, "right");
        require_length(out, count, "out");
        require_chunk(chunk);
        nb::gil_scoped_release release;
        each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            out.data()[i] = left.data()[i] + factor * right.data()[i];
          }
        });
      },
      nb::arg("pool"), nb::arg("left"), nb::arg("right"), nb::arg("factor"),
      nb::arg("out").noconvert(), nb::arg("chunk"));
  m.def(
      "scale",
      [](Pool& pool, Vector numbers, double factor, MutableVector out, std::int64_t chunk) {
        const std::int64_t count = length_of(numbers);
        require_length(out, count, "out");
        require_chunk(chunk);
        nb::gil_scoped_release release;
        each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) out.data()[i] = factor * numbers.data()[i];
        });
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("factor"), nb::arg("out").noconvert(),
      nb::arg("chunk"));
  m.def(
      "multiply",
      [](Pool& pool, Vector left, Vector right, double shift, MutableVector out,
         std::int64_t chunk) {
        const std::int64_t count = length_of(left);
        require_length(right, count, "right");
        require_length(out, count, "out");
        require_chunk(chunk);
        nb::gil_scoped_release release;
        each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            out.data()[i] = (left.data()[i] + shift) * right.data()[i];
          }
        });
      },
      nb::arg("pool"), nb::arg("left"), nb::arg("right"), nb::arg("shift"),
      nb::arg("out").noconvert(), nb::arg("chunk"));
  // Returns whether anything is left.
  m.def(
      "subtract",
      [](Pool& pool, MutableVector left, Vector right, std::int64_t chunk) {
        const auto count = static_cast<std::int64_t>(left.shape(0));
        require_length(right, count, "right");
        require_chunk(chunk);
        nb::gil_scoped_release release;
        return chunked_sum(
                   pool, count, chunk,
                   [&](std::int64_t begin, std::int64_t end) {
                     std::int64_t rest = 0;
                     for (std::int64_t i = begin; i < end; ++i) {
                       left.data()[i] -= right.data()[i];
                       rest += left.data()[i] != 0.0;
                     }
                     return rest;
                   },
                   std::plus<std::int64_t>()) > 0;
      },
      nb::arg("pool"), nb::arg("left").noconvert(), nb::arg("right"), nb::arg("chunk"));
  m.def(
      "gather",
      [](Pool& pool, Vector numbers, IndexVector places, MutableVector out, std::int64_t chunk) {
        const std::int64_t count = length_of(numbers);
        const auto wanted = static_cast<std::int64_t>(places.shape(0));
        require_length(out, wanted, "out");
        require_chunk(chunk);
        nb::gil_scoped_release release;
        each_chunk(pool, wanted, chunk, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t i = places.data()[k];
            if (i < 0 || i >= count) throw std::invalid_argument("a place is out of range");
            out.data()[k] = numbers.data()[i];
          }
        });
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("places"), nb::arg("out").noconvert(),
      nb::arg("chunk"));
}

void register_places(nb::module_& m) {
  m.def(
      "nonzero_places",
      [](Pool& pool, Vector numbers, std::int64_t chunk) {
        require_chunk(chunk);
        std::vector<std::int64_t> found;
        {
          nb::gil_scoped_release release;
          found = chosen_places(pool, length_of(numbers), chunk,
                                [&](std::int64_t i) { return numbers.data()[i] != 0.0; });
        }
        return places_of(std::move(found));
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("chunk"));
  // Writes down which numbers are positive; returns who has come to them, and who has gone.
  m.def(
      "positive_members",
      [](Pool& pool, Vector numbers, MutableFlags members, std::optional<Flags> before,
         std::int64_t chunk) {
        const std::int64_t count = length_of(numbers);
        require_length(members, count, "members");
        if (before) require_length(*before, count, "before");
        require_chunk(chunk);
        std::vector<std::int64_t> came, went;
        {
          nb::gil_scoped_release release;
          bool* now = members.data();
          each_chunk(pool, count, chunk, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) now[i] = numbers.data()[i] > 0.0;
          });
          if (before) {
            const bool* was = before->data();
            came =
                chosen_places(pool, count, chunk, [&](std::int64_t i) { return now[i] > was[i]; });
            went =
                chosen_places(pool, count, chunk, [&](std::int64_t i) { return now[i] < was[i]; });
          }
        }
        return std::tuple(places_of(std::move(came)), places_of(std::move(went)));
      },
      nb::arg("pool"), nb::arg("numbers"), nb::arg("members").noconvert(), nb::arg("before").none(),
      nb::arg("chunk"));
  // One place in each of as many equal stretches as there are shares: so far into it.
  m.def(
      "spread_places",
      [](Vector shares, std::int64_t count, MutableIndexVector out) {
        const std::int64_t size = length_of(shares);
        require_length(out, size, "out");
        const double step = static_cast<double>(count) / static_cast<double>(size);
        std::int64_t from = 0;
        for (std::int64_t k = 0; k < size; ++k) {
          const std::int64_t to =
              k + 1 < size ? static_cast<std::int64_t>(static_cast<double>(k + 1) * step) : count;
          out.data()[k] =
              from + static_cast<std::int64_t>(shares.data()[k] * static_cast<double>(to - from));
          from = to;
        }
      },
      nb::arg("shares"), nb::arg("count"), nb::arg("out").noconvert());
}

// Dual variables where the margins say they belong.
void register_bounds(nb::module_& m) {
  m.def(
      "place_at_bounds",
      [](Pool& pool, Vector y, Vector cost, Vector margins, Vector alpha, MutableVector placed,
         std::tuple<double, double> near, std::int64_t chunk) {
        const std::int64_t count = length_of(y);
        require_length(cost, count, "cost");
        require_length(margins, count, "margins");
        require_length(alpha, count, "alpha");
        require_length(placed, count, "placed");
        require_chunk(chunk);
        const AtBounds bounds{y.data(),     cost.data(),       margins.data(),
                              alpha.data(), std::get<0>(near), std::get<1>(near)};
        double total = 0.0;
        std::vector<std::int64_t> between;
        {
          nb::gil_scoped_release release;
          total = chunked_sum(
              pool, count, chunk,
              [&](std::int64_t begin, std::int64_t end) {
                return bounds.place(begin, end, placed.data());
              },
              std::plus<double>());
          between =
              chosen_places(pool, count, chunk, [&](std::int64_t i) { return bounds.between(i); });
        }
        return std::tuple(total, places_of(std::move(between)));
      },
      nb::arg("pool"), nb::arg("y"), nb::arg("cost"), nb::arg("margins"), nb::arg("alpha"),
      nb::arg("placed").noconvert(), nb::arg("near"), nb::arg("chunk"));
}

}  // namespace

void register_threaded_vectors(nb::module_& m) {
  register_sums(m);
  register_vectors(m);
  register_places(m);
  register_bounds(m);
}

}  // namespace widemargin
