// The search for the best sparse tree: errors + penalty · leaves, depth at most D.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "pair_table.hpp"
#include "parallel.hpp"
#include "tree_rows.hpp"

namespace fcca {

struct TreeNode {
  std::int32_t column = -1;  // of the caller; -1 for a leaf
  std::int32_t left = -1, right = -1;  // right: the rows that have the column
};

struct TreeAnswer {
  double cost = 0, bound = 0;  // without what no tree can avoid
  bool optimal = false;
  std::uint64_t nodes = 0;
  std::vector<TreeNode> tree;
};

template <class W>
class TreeSearch {
 public:
  // penalty: what a leaf costs, in units of weight. max_nodes: row sets and first splits that may be looked at.
  TreeSearch(TreeRows<W> rows, double penalty, std::uint64_t max_nodes, const Stop& stop);
  TreeAnswer run(std::int32_t max_depth);

 private:
  // What is known of the cheapest tree of some rows. split: a column of the caller, or one of
  static constexpr std::int32_t leaf = -1;   // the tree is a leaf
  static constexpr std::int32_t none = -2;   // there is no tree below the limit given; cost is then a lower bound
  struct Answer {
    double cost;
    std::int32_t split;
    std::int32_t depth = 0;  // to which the sides of the split have to be solved, and one more
  };
  struct Known {
    std::vector<std::uint64_t> rows;  // the row set itself: a hash alone could mistake one set for another
    Answer answer;
    bool exact;
  };
  struct Stopped {};

  struct SplitOrder {  // rows sorted by how many columns of a chain they pass
    std::vector<std::int32_t> rows, first;
  };

  Answer solve(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, std::int32_t depth, double limit,
               bool is_root = false);
  Answer solve_depth_one(const TreeRows<W>& rows, double total, Answer best) const;
  Answer sweep(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<double>& gains, Answer best, bool is_root);
  Answer branch(const TreeRows<W>& rows, const std::vector<double>& gains, std::int32_t depth, Answer best, bool is_root);
  std::int32_t extract(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, const Answer& answer,
                       std::vector<TreeNode>& tree);
  std::int32_t worthwhile_depth(std::int32_t depth, double cost) const;
  std::uint64_t key_of(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, std::vector<std::uint64_t>& key) const;

  double leaf_cost(double heaviest, const std::vector<double>& sums) const;
  double bound_without_search(double heaviest, const std::vector<double>& sums) const;
  SplitOrder sorted_by(const TreeRows<W>& rows, std::size_t chain) const;
  const Known* look_up(std::int32_t depth, std::uint64_t hash, const std::vector<std::uint64_t>& key) const;
  void remember(std::int32_t depth, std::uint64_t hash, std::vector<std::uint64_t> key, Answer answer);
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
  bool finishing_ = false;  // reading the tree off: the deadline has passed already
  std::vector<std::uint64_t> row_hash_;
  std::vector<std::unordered_map<std::uint64_t, std::vector<Known>>> known_;  // by depth
  Answer root_best_{0, none};
  std::int32_t root_depth_ = 0;  // that the current search at the root goes to
  double root_bound_ = 0;
  std::uint64_t nodes_ = 0;
};

}  // namespace fcca
