// Additive models: the score is Σ_j g_j(x_j), and every g_j is constant on the cells of its feature. An example is gradient
// boosting of stumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells.hpp"
#include "knapsack.hpp"
#include "landings.hpp"
#include "limits.hpp"
#include "outcome.hpp"
#include "parallel.hpp"
#include "query.hpp"
#include "rival_knapsack.hpp"

namespace fcca {

// With one output, class 1 is predicted above 0 and class 0 below. With more, the class of the largest output is predicted.
struct AdditiveModel {
  Cells cells;
  std::size_t n_outputs;
  const double* values;  // (cells of all features) × n_outputs
  const double* base;    // n_outputs

  const double* value(std::size_t j, std::int64_t cell) const {
    return values + (cells.first_cell(j) + cell) * static_cast<std::int64_t>(n_outputs);
  }
  void score(const double* row, double* out) const;
};

// There is one object per thread. It keeps its buffers from point to point.
class AdditiveSearch {
 public:
  AdditiveSearch(const AdditiveModel& model, const Limits& limits, const Cost& cost);
  Outcome solve(const Query& query, const Stop& stop);

 private:
  struct Reach {  // another cell that the feature can be moved to
    double cost;
    std::int32_t cell;
  };

  void reach(const Query& query, std::size_t j);
  // gain_of(cell): the score gained by a move into the cell.
  template <class Gain>
  void offer_gains(const Query& query, std::size_t j, double needed, Gain gain_of);
  Outcome solve_binary(const Query& query, const Stop& stop);
  Outcome solve_classes(const Query& query, const Stop& stop);
  // Tries the shortcut of other_classes.hpp. The result is empty if it does not apply.
  std::optional<Outcome> beat_own(const Query& query, const std::vector<std::int32_t>& targets, const Stop& stop);
  Outcome beat_rivals(const Query& query, std::int32_t target, double limit, const Stop& stop);
  void add_moves(const Query& query, const std::vector<Choice>& choices, Outcome& outcome) const;

  const AdditiveModel& model_;
  Landings landings_;
  std::vector<std::size_t> movable_;  // features with cuts
  std::vector<double> scores_, rounding_;  // by output; rounding_: the largest rounding error of a score
  std::vector<std::int64_t> own_cells_;
  std::vector<Reach> reach_;
  Knapsack knapsack_;
  RivalKnapsack rivals_;
};

}  // namespace fcca
