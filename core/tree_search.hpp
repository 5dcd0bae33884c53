// The search for the best sparse tree. It minimises Σ cost of its leaves + penalty · leaves, for depth at most D and at most L leaves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cluster_bounds.hpp"
#include "depth_four.hpp"
#include "leaf_budget.hpp"
#include "leaf_cost.hpp"
#include "pair_table.hpp"
#include "parallel.hpp"
#include "quarter_bounds.hpp"
#include "side_table.hpp"
#include "split_bounds.hpp"
#include "tree_rows.hpp"

namespace fcca {

struct TreeNode {
  std::int32_t column = -1;  // of the caller; -1 for a leaf
  std::int32_t left = -1, right = -1;  // right: the rows that have the column
};

struct TreeResult {
  double cost = 0, bound = 0;  // without the errors that net weights leave out
  bool optimal = false;
  std::uint64_t nodes = 0;
  std::vector<TreeNode> tree;
};

template <class W>
class TreeSearch {
 public:
  // penalty: the penalty per leaf, in units of the cost. max_nodes: the maximum number of row sets and first splits to visit.
  TreeSearch(TreeRows<W> rows, const LeafCost& cost, double penalty, LeafBudget budget, std::uint64_t max_nodes, const Stop& stop);
  TreeResult run(std::int32_t max_depth);

 private:
  // The cheapest tree of some rows, by its first split: a column of the caller, or one of
  static constexpr std::int32_t leaf = -1;  // the tree is a leaf
  static constexpr std::int32_t none = -2;  // no tree costs less than the given limit; cost is then a lower bound
  struct Solution {
    double cost;
    std::int32_t split;
    std::int32_t depth = 0;  // depth searched; the sides of the split were searched to this depth minus 1
    std::size_t left_slot = 0, right_slot = 0;  // of the leaf budget, for the sides of the split
  };
  using Solutions = std::vector<Solution>;  // by slot of the leaf budget
  using Limits = std::vector<double>;       // by slot: only cheaper trees matter; no tree matters if it is -infinity
  struct Known {
    std::vector<std::uint64_t> rows;  // the row set itself: a hash alone could mistake one set for another
    Solutions solutions;
  };
  struct NextSplit {
    std::int32_t split;  // -1: no split can be better than the best trees
    double least_bound;  // least bound of all splits, including solved ones, for the last slot
  };
  // A side of a split with some known quarters.
  struct Side {
    QuarterBounds<W>* quarters = nullptr;
    std::int32_t side = 0;         // of the rows of these quarters
    std::int32_t column_side = 0;  // the same, for a column of the caller
  };
  struct Stopped {};

  Solutions solve(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, std::int32_t depth, const Limits& limits,
                  bool is_root = false, Side side = {});
  Solutions search(const TreeRows<W>& rows, const WeightSums& sums, std::int32_t depth, Solutions best, bool is_root, Side side);
  void solve_depth_one(const TreeRows<W>& rows, const WeightSums& all, Solutions& best) const;
  void offer_first_split(const FirstSplitCosts& costs, std::int32_t column, Solutions& best) const;
  void offer(std::int64_t leaves, const Solution& tree, Solutions& best) const;
  double least_of(const FirstSplitCosts& costs) const;
  void sweep(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<double>& costs, Solutions& best, bool is_root);
  void sweep_by_bounds(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<FirstSplitCosts>& first_splits,
                       const std::vector<double>& costs, double as_leaf, Solutions& best, bool is_root, Side side);
  SplitBounds<W> bounds_from_pairs(const TreeRows<W>& rows, const std::vector<FirstSplitCosts>& first_splits) const;
  void raise_to_bounds(const TreeRows<W>& rows, const SplitBounds<W>& bounds, double as_leaf, Solutions& best) const;
  std::int32_t open_split(const TreeRows<W>& rows, std::size_t chain, const SplitBounds<W>& bounds, const std::vector<char>& done,
                          const std::vector<double>& costs, const Solutions& best) const;
  bool is_open(const SplitBounds<W>& bounds, std::int32_t split, const Solutions& best) const;
  bool solve_quarters(const TreeRows<W>& rows, SideTable<W>& table, SplitBounds<W>& bounds, std::int32_t split, Side side, Solutions& best);
  void branch(const TreeRows<W>& rows, const std::vector<FirstSplitCosts>& first_splits, const std::vector<double>& costs,
              std::int32_t depth, Solutions& best, bool is_root, Side side);
  void raise_to_clusters(const TreeRows<W>& rows, const std::int32_t* chosen, std::size_t n, std::size_t n_slots, double* bounds);
  bool raise_to_clusters_of(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, Solutions& best);
  void raise_by_shallower(SplitBounds<W>& bounds) const;
  void keep_for_deeper(const SplitBounds<W>& bounds, std::size_t n_splits, std::int32_t depth);
  void solve_depth_four(const TreeRows<W>& rows, Solutions& best, bool is_root);
  bool may_use_quarters(const TreeRows<W>& rows) const {
    return cost_.is_plain_error() && rows.binary() && !budget_.limited() && DepthFour<W>::fits(rows);
  }
  std::int32_t split_of_shallower(const TreeRows<W>& rows, std::int32_t otherwise) const;
  NextSplit next_split(const SplitBounds<W>& bounds, const std::vector<char>& done, const std::vector<double>& costs,
                       const Solutions& best, bool is_first) const;
  bool solve_sides(const TreeRows<W>& rows, SplitBounds<W>& bounds, std::int32_t split, std::int32_t depth, Solutions& best,
                   QuarterBounds<W>* quarters, Side side);
  // Whether sides may have so many leaves that their exact costs for few leaves are worth a pair table.
  bool needs_few_leaves(std::int32_t depth, Side side) const {
    return budget_.limited() && budget_.n_slots() > shallow_side_slots && (depth > 4 || (depth == 4 && side.quarters != nullptr));
  }
  void solve_few_leaves(const TreeRows<W>& rows, const std::int32_t* chosen, std::size_t n, std::int32_t column, bool is_right, Side side,
                        double* bounds);
  bool set_side_limits(const Solutions& best, const double* own, const double* other, bool is_left, Limits& limits) const;
  void deepen(const std::vector<std::int32_t>& everything, Solution& best);
  std::array<std::vector<std::int32_t>, 2> divided(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, std::int32_t column) const;
  std::int32_t extract(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, const Solution& solution,
                       std::vector<TreeNode>& tree);
  std::int32_t worthwhile_depth(std::int32_t depth, const Solutions& best, double least) const;
  std::uint64_t key_of(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, std::vector<std::uint64_t>& key) const;

  double leaf_cost(const WeightSums& sums) const {
    return (cost_.is_plain_error() ? sums.net_error(rows_) : cost_.of_leaf(sums.planes.data())) + penalty_;
  }
  bool can_split(const WeightSums& sums) const { return cost_.is_plain_error() || !cost_.cannot_split(sums.planes.data()); }
  // A tree with a split has at least two leaves, and no tree costs less than the least cost of its rows.
  double least_split_cost(const WeightSums& sums) const { return 2 * penalty_ + sums.least; }
  double leaf_of_all() const;
  void bounds_without_search(const WeightSums& sums, double* bounds) const;
  std::size_t shallow_slots() const { return budget_.limited() ? 4 : 1; }
  static constexpr std::size_t shallow_side_slots = 3;  // trees with at most three leaves have a depth of at most two
  void price(const ShallowCosts& costs, std::array<double, 4>& priced) const;

  const Known* look_up(std::int32_t depth, std::uint64_t hash, const std::vector<std::uint64_t>& key) const;
  bool answer(const Known& known, const Limits& limits, Solutions& solutions) const;
  void remember(std::int32_t depth, std::uint64_t hash, std::vector<std::uint64_t> key, const Solutions& solutions);
  static constexpr std::size_t wide = 500;  // with at least this many columns, adding a row to a pair table takes longer than reading the clock
  void check_stop() const {
    if (stop_.now() && !finishing_) throw Stopped{};
  }
  void enter_node() {
    check_stop();
    if (nodes_ >= max_nodes_ && !finishing_) throw Stopped{};
    ++nodes_;
  }

  TreeRows<W> rows_;
  const LeafCost& cost_;
  double penalty_;
  LeafBudget budget_;
  double tolerance_;  // two costs closer than this are equal
  std::uint64_t max_nodes_;
  const Stop& stop_;
  bool finishing_ = false;  // the search has ended and the tree is being built: no deadline applies
  std::vector<std::uint64_t> row_hash_;
  std::vector<std::unordered_map<std::uint64_t, std::vector<Known>>> known_;  // by depth
  Solution root_best_{0, none};
  Solution shallower_best_{0, leaf};  // the best tree at the root that is less deep than the current search allows; cost 0 if unknown
  std::int32_t root_depth_ = 0;  // of the current search at the root
  double root_bound_ = 0;
  std::optional<ClusterBounds> clusters_;  // with a limit on leaves and two classes
  // From the last search at the root. root_quarters_: the costs of its quarters. kept_bounds_: lower bounds on the sides of its splits for
  // at most kept_slots_ leaves, sides × kept_slots_. Trees with so few leaves are not deeper than that search, so they hold in deeper ones.
  std::optional<QuarterBounds<W>> root_quarters_;
  EighthCosts eighths_;
  std::vector<double> kept_bounds_;
  std::size_t kept_slots_ = 0;
  std::uint64_t nodes_ = 0;
};

}  // namespace fcca
