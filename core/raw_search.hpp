// The search for the best sparse tree on numeric columns. It minimises Σ cost of its leaves + penalty · leaves, for depth at most D and at
// most L leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "leaf_budget.hpp"
#include "raw_effort.hpp"
#include "raw_rows.hpp"
#include "raw_solution.hpp"

namespace fcca {

struct RawTreeResult {
  double cost = 0, bound = 0;
  bool optimal = false;
  std::uint64_t nodes = 0;
  std::vector<RawNode> tree;
};

// Costs: what a leaf costs, and the best trees of depth at most two (RawErrorCosts, RawLeafCosts).
template <class Costs>
class RawSearch {
 public:
  using Rows = typename Costs::Rows;
  RawSearch(Rows rows, Costs& costs, LeafBudget budget, RawEffort& effort);
  RawTreeResult run(std::int32_t max_depth);

 private:
  // The sides of a first split.
  struct Sides {
    RawSolutions left, right;
  };
  // The distinct values of a column: threshold t has place[t] rows on its left, which can add at most moved[t] to the cost of a tree. The
  // first and the last threshold have no rows on one side.
  struct Thresholds {
    std::vector<std::uint32_t> place;
    std::vector<double> moved;
  };
  // Neighbouring thresholds that have not been solved yet, between two that have been. Positions in the list of the solved sides.
  struct Interval {
    double excess;  // least bound of its splits minus the cost of the best tree, least over the slots; less Node::dropped
    std::int32_t column, first, last;  // thresholds
    std::int32_t below, above;         // the solved thresholds at its ends
    std::size_t sides_below, sides_above;
    bool operator<(const Interval& other) const {  // the least excess comes first; then long intervals, which rule out most
      if (excess != other.excess) return excess > other.excess;
      if (last - first != other.last - other.first) return last - first < other.last - other.first;
      return column != other.column ? column > other.column : first > other.first;
    }
  };
  // Slots of the leaf budget: of a tree, and of the sides of its first split.
  struct Division {
    std::size_t slot, left, right;
  };
  // Lower bounds on the costs of the sides of a split, by slot.
  struct SideBounds {
    std::vector<double> left, right, left_floor, right_floor;
  };
  struct Node;  // the state of the search in one node

  RawSolution solve_by_stages(std::int32_t depth);
  RawSolutions solve(const Rows& rows, std::int32_t depth, const RawLimits& limits);
  RawSolutions branch(const Rows& rows, std::int32_t depth, const RawLimits& limits, const RawSolutions& shallower);
  RawLimits shallow_limits(const Rows& rows, std::int32_t depth, std::int32_t shallower, const RawLimits& limits) const;
  bool is_open(const Node& node) const;
  void list_thresholds(Node& node);
  void open_columns(Node& node, const RawSolutions& shallower);
  void solve_threshold(Node& node, const Interval& interval, std::int32_t threshold);
  bool tighten(Node& node, Interval& interval);
  bool drop_if_closed(Node& node, const Interval& interval, std::int32_t threshold);
  void bound_sides(const Node& node, const Interval& interval, std::int32_t threshold, bool floors, SideBounds& bounds) const;
  double excess_of(const Node& node, const SideBounds& bounds) const;
  std::int32_t middle(const Thresholds& thresholds, const Interval& interval) const;
  Sides bounds_from_neighbours(const Node& node, const Interval& interval, std::int32_t threshold) const;
  void offer(Node& node, const Interval& interval, std::int32_t threshold, const Sides& sides);
  bool set_side_limits(const Node& node, const Sides& sides, bool is_left, double beyond, RawLimits& limits) const;
  void solve_sides(Node& node, const Interval& interval, std::int32_t threshold, Sides& sides);
  void forget_trees(std::size_t first, RawSolutions& solutions);
  std::int32_t extract(const Rows& rows, std::int32_t tree, std::size_t slot, std::int32_t depth, std::vector<RawNode>& out);

  Rows rows_;
  Costs& costs_;
  LeafBudget budget_;
  double penalty_, tolerance_;
  double beyond_ = 1;           // how far beyond the limits to search, as a share of the usual distance
  bool first_split_only_ = false;  // whether the next node solves only the first split of its best shallower tree
  RawEffort& effort_;
  std::vector<RawSplitTree> trees_;
  std::deque<Rows> side_rows_;  // by depth of the node: the rows of one side of its first split
  typename Rows::Scratch scratch_;
  SideBounds bounds_;           // scratch
};

}  // namespace fcca
