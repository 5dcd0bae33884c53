// The error as the cost of a leaf, for the search on raw columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "raw_depth_two.hpp"
#include "raw_rows.hpp"
#include "raw_solution.hpp"

namespace fcca {

// Rows with net weights, for any number of leaves of any size: one slot.
template <class W>
class RawErrorCosts {
 public:
  using Rows = RawRows<W>;
  // weight: Σ |net weight| of all rows.
  RawErrorCosts(std::vector<typename Rows::Kind> kinds, double weight, double penalty, RawEffort& effort)
      : penalty_(penalty), tolerance_(1e-10 * std::max(weight, penalty)), depth_two_(std::move(kinds), penalty, tolerance_, effort) {}

  static constexpr bool has_stages = false;
  double penalty() const { return penalty_; }
  double tolerance() const { return tolerance_; }
  static constexpr bool has_minimum() { return false; }
  double leaf(const Rows& rows) const { return rows.errors_of_leaf() + penalty_; }
  double leaf_floor(const Rows& rows) const { return leaf(rows); }

  RawSolutions depth_one(const Rows& rows, std::size_t) {
    const double cost = best_split(rows).cost;
    return {{cost, cost, cost}};
  }
  RawSolutions depth_two(const Rows& rows, const RawLimits& limits, std::vector<RawSplitTree>& trees) {
    const DepthTwoTree two = depth_two_.solve(rows, limits.front());
    RawSolution best{two.bound, two.bound, two.cost};
    if (two.column >= 0) {
      best.tree = static_cast<std::int32_t>(trees.size());
      trees.push_back({two.column, two.rank, RawSolution::simple, RawSolution::simple, 0, 0});
    }
    return {best};
  }
  OneSplit best_split(const Rows& rows) { return fcca::best_split(rows, penalty_, by_column_); }

  // What a row can add to the cost of a tree.
  void prepare_removals(const Rows&) {}
  double removal(const Rows& rows, std::size_t row) const { return rows.weight_of(row); }
  double scale(const Rows& rows) const { return rows.weight; }
  double slack(const Rows&) const { return 1; }

 private:
  double penalty_, tolerance_;
  DepthTwo<W> depth_two_;
  std::vector<double> by_column_;
};

}  // namespace fcca
