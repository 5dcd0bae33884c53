// The search for the best sparse tree: errors + penalty · leaves, depth at most D.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pair_table.hpp"
#include "parallel.hpp"
#include "split_bounds.hpp"
#include "tree_rows.hpp"

namespace fcca {

struct TreeNode {
  std::int32_t column = -1;  // of the caller; -1 for a leaf
  std::int32_t left = -1, right = -1;  // right: the rows that have the column
};

struct TreeResult {
  double cost = 0, bound = 0;  // without the errors that no tree can avoid
  bool optimal = false;
  std::uint64_t nodes = 0;
  std::vector<TreeNode> tree;
};

template <class W>
class TreeSearch {
 public:
  // penalty: the cost of a leaf, in units of weight. max_nodes: the most row sets and first splits to look at.
  TreeSearch(TreeRows<W> rows, double penalty, std::uint64_t max_nodes, const Stop& stop);
  TreeResult run(std::int32_t max_depth);

 private:
  // The cheapest tree of some rows, by its first split: a column of the caller, or one of
  static constexpr std::int32_t leaf = -1;  // the tree is a leaf
  static constexpr std::int32_t none = -2;  // there is no tree below the limit given; cost is then a lower bound
  struct Solution {
    double cost;
    std::int32_t split;
    std::int32_t depth = 0;  // depth searched; the sides of the split were searched to one less
  };
  struct Known {
    std::vector<std::uint64_t> rows;  // the row set itself: a hash alone could mistake one set for another
    Solution solution;
    bool exact;
  };
  struct NextSplit {
    std::int32_t split;  // -1: no split can be better than the best tree
    double least_bound;  // of all splits, those solved included
  };
  struct Stopped {};

  Solution solve(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, std::int32_t depth, double limit,
               bool is_root = false);
  Solution solve_depth_one(const TreeRows<W>& rows, const WeightSums& all, Solution best) const;
  Solution sweep(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<double>& gains, Solution best, bool is_root);
  Solution branch(const TreeRows<W>& rows, const std::vector<double>& gains, std::int32_t depth, Solution best, bool is_root);
  NextSplit next_split(const SplitBounds<W>& bounds, const std::vector<char>& done, const std::vector<double>& gains, double best_cost,
                       bool is_first) const;
  bool solve_sides(const TreeRows<W>& rows, SplitBounds<W>& bounds, std::int32_t split, std::int32_t depth, double best_cost);
  std::int32_t extract(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, const Solution& solution,
                       std::vector<TreeNode>& tree);
  std::int32_t worthwhile_depth(std::int32_t depth, double cost) const;
  std::uint64_t key_of(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, std::vector<std::uint64_t>& key) const;

  double leaf_cost(const WeightSums& sums) const { return sums.errors_of_leaf(rows_) + penalty_; }
  double bound_without_search(const WeightSums& sums) const;
  const Known* look_up(std::int32_t depth, std::uint64_t hash, const std::vector<std::uint64_t>& key) const;
  void remember(std::int32_t depth, std::uint64_t hash, std::vector<std::uint64_t> key, Solution solution);
  void check_stop() const {
    if (stop_.now() && !finishing_) throw Stopped{};
  }
  void enter_node() {
    check_stop();
    if (nodes_ >= max_nodes_ && !finishing_) throw Stopped{};
    ++nodes_;
  }

  TreeRows<W> rows_;
  double penalty_;
  double tolerance_;  // two costs closer than this are equal
  std::uint64_t max_nodes_;
  const Stop& stop_;
  bool finishing_ = false;  // the search has ended and the tree is read off: no deadline applies
  std::vector<std::uint64_t> row_hash_;
  std::vector<std::unordered_map<std::uint64_t, std::vector<Known>>> known_;  // by depth
  Solution root_best_{0, none};
  std::int32_t root_depth_ = 0;  // of the current search at the root
  double root_bound_ = 0;
  std::uint64_t nodes_ = 0;
};

}  // namespace fcca
