// Every loss of a margin, named once; all kernels dispatch through this list.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "losses/hinge.hpp"
#include "losses/logistic.hpp"
#include "losses/squared_hinge.hpp"

namespace widemargin {

using AnyLoss = std::variant<Hinge, SquaredHinge, Logistic>;

// A loss with a (generalised) second derivative.
template <class Loss>
concept SmoothLoss = requires { Loss::curvature_at(0.0, 1.0); };

// What a loss can do, for those who must not ask for its name. With alpha the dual variable of an
// example of cost c, and phi its term of the dual objective:
struct LossTraits {
  std::string name;
  bool bounded = false;  // alpha <= c
  bool smooth = false;   // has a (generalised) second derivative
  bool sparse = false;   // examples with a large margin have alpha = 0, and can be left out
  std::optional<double> dual_quadratic;   // q where phi(alpha) = alpha - q alpha^2 / (2c)
  std::optional<double> curvature_level;  // h where the second derivative is either 0 or h
  double slope_at_zero = 0.0;             // minus the first derivative at margin zero
  double stiffness = 0.0;  // what an example can do to its own margin, in multiples of c ||x||^2
  int visit_cost = 0;      // stored values that take as long as a step of coordinate descent
};

template <class Loss>
LossTraits traits_of() {
  LossTraits traits;
  traits.name = Loss::name;
  traits.bounded = Loss::bounded;
  traits.smooth = SmoothLoss<Loss>;
  traits.sparse = Loss::sparse;
  traits.dual_quadratic = Loss::dual_quadratic;
  if constexpr (SmoothLoss<Loss>) traits.curvature_level = Loss::curvature_level;
  traits.slope_at_zero = Loss::alpha_at(0.0, 1.0);
  traits.stiffness = Loss::stiffness;
  traits.visit_cost = Loss::visit_cost;
  return traits;
}

template <std::size_t Place = 0>
AnyLoss loss_named(std::string_view name) {
  if constexpr (Place < std::variant_size_v<AnyLoss>) {
    using Loss = std::variant_alternative_t<Place, AnyLoss>;
    return name == Loss::name ? AnyLoss(Loss{}) : loss_named<Place + 1>(name);
  } else {
    throw std::invalid_argument("unknown loss '" + std::string(name) + "'");
  }
}

inline std::vector<std::string> loss_names() {
  return []<std::size_t... Places>(std::index_sequence<Places...>) {
    return std::vector<std::string>{std::variant_alternative_t<Places, AnyLoss>::name...};
  }(std::make_index_sequence<std::variant_size_v<AnyLoss>>());
}

template <class Visit>
auto with_loss(std::string_view name, Visit&& visit) {
  return std::visit(visit, loss_named(name));
}

template <class Visit>
auto with_smooth_loss(const AnyLoss& loss, Visit&& visit) {
  using Result = std::invoke_result_t<Visit, SquaredHinge>;  // the same for all
  return std::visit(
      [&](auto kind) -> Result {
        if constexpr (SmoothLoss<decltype(kind)>) {
          return visit(kind);
        } else {
          throw std::invalid_argument("loss '" + std::string(kind.name) +
                                      "' has no second derivative");
        }
      },
      loss);
}

}  // namespace widemargin
