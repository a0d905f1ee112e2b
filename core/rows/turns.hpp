// Turns known to the compiler: a running sum a turn hides the latency of the additions.
#pragma once

#include <type_traits>
#include <utility>

namespace widemargin {

inline constexpr std::integral_constant<int, 0> first_turn{};

template <int Turns, class Visit>
inline void take_turns(Visit&& visit) {
  [&]<int... Turn>(std::integer_sequence<int, Turn...>) {
    (visit(std::integral_constant<int, Turn>{}), ...);
  }(std::make_integer_sequence<int, Turns>{});
}

}  // namespace widemargin
