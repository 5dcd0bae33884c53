// Rules about moves. The rules of single features restrict the values that a point can reach, or change their cost. The branch and bound
// enforces the rules between features.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fcca {

// Σ coef·x <= upper, if one of its features moves.
struct LinearRules {
  std::size_t n_rules = 0;
  const std::int64_t* first_term = nullptr;  // n_rules + 1
  const std::int32_t* feature = nullptr;
  const double* coef = nullptr;
  const double* upper = nullptr;
};

// If a feature moves up (or down), another must move up (or down).
struct Implications {
  std::size_t n = 0;
  const std::int32_t* feature = nullptr;
  const std::uint8_t* rises = nullptr;
  const std::int32_t* then_feature = nullptr;
  const std::uint8_t* then_rises = nullptr;
};

// Null pointers: no such rule.
struct Limits {
  const double* low = nullptr;    // points × features: bounds of a number that moves
  const double* high = nullptr;
  const std::uint8_t* frozen = nullptr;  // points × features: values that may not move
  const double* step = nullptr;   // by feature: a number that moves is origin + k·step; 0: no grid
  const double* origin = nullptr;
  const double* weight = nullptr;  // by feature: factor on the cost of its moves
  const std::uint8_t* fillable = nullptr;  // by feature: whether a missing number may be filled in
  const double* fill_near = nullptr;       // by feature: missing and special values are replaced as near to this value as possible
  // Columns of categories, from every code into every cell: the factor on the cost, which is infinite if the move is forbidden, and the
  // code after the move.
  const std::int64_t* first_entry = nullptr;  // by feature
  const double* entry_factor = nullptr;
  const std::int32_t* entry_code = nullptr;
  std::int32_t max_changes = 0;  // 0: any number
  LinearRules linear;
  Implications implications;

  bool between_features() const { return max_changes > 0 || linear.n_rules > 0 || implications.n > 0; }
};

}  // namespace fcca
