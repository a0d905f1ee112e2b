// Cholesky factors by threads.
#include "blocks.hpp"
#include "kernels/cholesky.hpp"

namespace widemargin {
namespace {

template <class Function>
Function function_of(const nb::tuple& capsules, std::size_t place) {
  const auto capsule = nb::cast<nb::capsule>(capsules[place]);
  return reinterpret_cast<Function>(capsule.data(capsule.name()));
}

std::int64_t side_of(const auto& matrix) {
  const auto side = static_cast<std::int64_t>(matrix.shape(0));
  require_shape(matrix, side, side, "matrix");
  return side;
}

}  // namespace

void register_factors(nb::module_& m) {
  // Of a symmetric matrix, in its lower triangle; returns whether it is positive definite.
  m.def(
      "factorise",
      [](Pool& pool, MutableMatrix matrix, const nb::tuple& functions) {
        const std::int64_t side = side_of(matrix);
        const TileFunctions blas{function_of<TileFunctions::Potrf>(functions, 0),
                                 function_of<TileFunctions::Trsm>(functions, 1),
                                 function_of<Syrk>(functions, 2),
                                 function_of<TileFunctions::Gemm>(functions, 3)};
        nb::gil_scoped_release release;
        return TiledCholesky(matrix.data(), side, blas, pool).factorise();
      },
      nb::arg("pool"), nb::arg("matrix").noconvert(), nb::arg("functions"));
  m.def(
      "solve_factorised",
      [](Pool& pool, Matrix lower, MutableVector x) {
        const std::int64_t side = side_of(lower);
        require_length(x, side, "x");
        nb::gil_scoped_release release;
        FactorSolve(lower.data(), side, pool).solve(x.data());
      },
      nb::arg("pool"), nb::arg("lower").noconvert(), nb::arg("x").noconvert());
}

}  // namespace widemargin
