// Any cost of a leaf, for the search on raw columns: the best trees of depth at most two, by number of leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leaf_budget.hpp"
#include "leaf_cost.hpp"
#include "raw_effort.hpp"
#include "raw_rows.hpp"
#include "raw_second_splits.hpp"
#include "raw_solution.hpp"

namespace fcca {

template <class W>
class RawLeafCosts {
 public:
  using Rows = RawRows<W>;
  // kinds: of all rows of the problem. scale: the cost of a leaf of all rows.
  RawLeafCosts(const LeafCost& cost, LeafBudget budget, std::vector<typename Rows::Kind> kinds, double scale, double penalty, RawEffort& effort);

  static constexpr bool has_stages = true;
  double penalty() const { return penalty_; }
  double tolerance() const { return tolerance_; }
  bool has_minimum() const { return cost_.rules().any(); }
  double leaf(const Rows& rows) const { return cost_.of_leaf(rows.sums.data()) + penalty_; }
  double leaf_floor(const Rows& rows) const { return cost_.without_rules(rows.sums.data()) + penalty_; }

  RawSolutions depth_one(const Rows& rows, std::size_t n_slots);
  RawSolutions depth_two(const Rows& rows, const RawLimits& limits, std::vector<RawSplitTree>& trees);
  OneSplit best_split(const Rows& rows) const;

  // What a row can add to the cost of a tree for some of the rows that were prepared.
  void prepare_removals(const Rows& rows);
  double removal(const Rows& rows, std::size_t row) const { return few_kinds_ ? removal_[rows.kind[row]] : removal_[row]; }
  double scale(const Rows& rows) const { return leaf_floor(rows); }
  double slack(const Rows& rows) const;

 private:
  // The cost of the best tree of some rows with at most one split, and bounds on it.
  struct OneSplitCosts {
    double leaf, leaf_floor, cost, floor;
  };
  // A first split of the column at hand. By side: the leaf, and the best tree with at most one split. The bounds are for the rules on leaves,
  // the floors for leaves of any size.
  struct Threshold {
    std::size_t place;  // number of rows on the left
    double moved;       // what they can add to a cost
    double leaf[2], leaf_floor[2], bound[2], floor[2];
  };
  // The search of some rows for trees of two levels.
  struct Search {
    const Rows& rows;
    const RawLimits& limits;
    RawSolutions best;
    OneSplitCosts one;
    std::vector<RawSplitTree>& trees;
    double moved = 0;  // of all rows
  };

  std::size_t first_slot() const { return budget_.slot_of(3); }
  OneSplitCosts one_split(const Rows& rows);
  static double cost_of(const Threshold& threshold, std::size_t slot, bool floors);
  bool is_open(const Search& search, const Threshold& threshold) const;
  void close(Search& search, const Threshold& threshold) const;
  void try_column(Search& search, std::size_t column);
  void list_thresholds(Search& search, std::size_t column);
  void choose_tested();
  void solve_tested(Search& search, std::size_t column);
  void offer(Search& search, std::size_t column, const Threshold& threshold) const;
  void spread_bounds(Search& search);

  const LeafCost& cost_;
  LeafBudget budget_;
  std::vector<typename Rows::Kind> kinds_;
  double penalty_, tolerance_;
  RawEffort& effort_;
  bool few_kinds_;
  std::vector<double> removal_;      // by kind if there are few, otherwise by row
  RawSecondSplits<W> splits_;
  std::vector<double> by_column_;
  std::vector<std::size_t> columns_;
  std::vector<Threshold> open_;      // thresholds that may still lead to a better tree
  std::vector<std::size_t> tested_;  // positions in open_
  std::vector<std::size_t> places_;
  std::vector<W> planes_;
};

}  // namespace fcca
