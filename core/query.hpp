// The query for one point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace fcca {

inline constexpr std::int32_t any_other_class = -1;

struct Query {
  const double* row;
  std::int32_t own_class;
  std::int32_t target;  // a class, or any_other_class
  double margin;        // the score margin by which the target must win
  const std::uint8_t* frozen;  // per feature, whether it may not move; null: all may move
  const double* low;           // per feature, bounds of a number that moves; both null: none
  const double* high;

  static constexpr double infinity = std::numeric_limits<double>::infinity();

  bool may_move(std::size_t j) const { return frozen == nullptr || frozen[j] == 0; }
  double lowest(std::size_t j) const { return low == nullptr ? -infinity : low[j]; }
  double highest(std::size_t j) const { return high == nullptr ? infinity : high[j]; }
  bool is_bounded(std::size_t j) const { return low != nullptr && (low[j] > -infinity || high[j] < infinity); }
};

}  // namespace fcca
