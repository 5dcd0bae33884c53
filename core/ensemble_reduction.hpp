// The part of an ensemble that matters for one point and one limit on the cost.
//
// A leaf whose cheapest point costs the limit or more is in no cheaper change, so it is dropped. So is a leaf in which more features move
// than a rule allows. A test is dropped if all leaves on one of its sides are dropped, or if both sides have the same leads. Cells that no
// remaining test separates are merged. A merged cell costs what its cheapest cell costs. Every change that is cheaper than the limit has the
// same leads in the reduced ensemble and in the whole one, up to rounding. Other changes may have other leads. The needed lead is raised to
// the next sum of leads that exists. All tests of the reduced ensemble have a cut. A set of cells that consists of several runs becomes
// several tests, and what is left of its sides is repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ensemble.hpp"
#include "ensemble_start.hpp"
#include "range_minimum.hpp"

namespace fcca {

class Reduction {
 public:
  // A part of a reduced problem: a box, and the cells and leaves that the lower bound dropped in it. No cheaper counterfactual of the box
  // is in them. Other points of the box may be, so the tests of dropped leaves stay if they have other leaves beside them.
  struct Part {
    std::vector<std::int32_t> low, high;   // by feature: the box
    std::vector<std::uint8_t> drops_cell;  // by cell
    std::vector<std::uint8_t> drops_node;  // by node; only leaves are dropped
  };

  // The rules between features refer to the cells of the whole ensemble. If there are such rules, cells are not merged. Throws
  // std::overflow_error if sets of cells make the reduced ensemble too large.
  void build(const Task& whole, double limit);
  // Reduces a reduced problem without rules once more, to a part of it. False if a tree has no leaf left in this part. Then no point of the
  // part is a counterfactual that costs less than the limit, because every point is in one leaf of each tree.
  bool build(const Task& whole, const Part& part, double limit);

  // The reduced problem. Its trees are those whose leads can still differ, and their values are leads.
  Task task;

  // The cells of the whole ensemble that the given cells stand for, by feature.
  const std::vector<std::int32_t>& original(const std::vector<std::int32_t>& cells);
  // By tree: the tree of the whole ensemble. By cell: the first and the last of the cells that are merged.
  const std::vector<std::int32_t>& tree() const { return tree_; }
  // Whether a node stands for dropped leaves of the part.
  bool is_dropped(std::size_t node) const { return left_[node] == dropped; }
  const std::vector<std::int32_t>& first_merged() const { return first_merged_; }
  const std::vector<std::int32_t>& last_merged() const { return last_merged_; }

 private:
  // What is left of a side of a test, if it is not a node: no point that costs less than the limit, or only dropped leaves.
  static constexpr std::int32_t nothing = -1, dropped = -2;
  static constexpr std::int32_t no_child = -1;  // of a leaf; the children of a leaf that stands for dropped leaves are dropped

  struct Visit {
    std::int32_t node;
    double cost;                  // least cost of the box
    std::int32_t moves;           // features that move in all points of the box
    std::int32_t stage = 0;       // 0: new, 1: after the left side, 2: after both sides
    // From stage 1 on:
    std::int32_t low, high;          // cells of its feature in the box
    CellTrees::Division division;    // of these cells
    double rest;                     // least cost of the other features in the box
    std::int32_t other_moves;        // moves of the other features
    std::int32_t left;               // from stage 2 on: the reduced left side; -1 if nothing is left of it

    Visit(std::int32_t node, double cost, std::int32_t moves) : node(node), cost(cost), moves(moves) {}
  };

  void begin(const Task& whole, const Part* part, double limit);
  bool contract_trees();
  void round_needed(std::size_t rival);
  void finish();
  void clip_box();
  double least_cost(std::size_t j, std::int32_t low, std::int32_t high) const;
  std::int32_t contract(std::int32_t root, double least);
  bool moves(std::size_t j, std::int32_t low, std::int32_t high) const { return whole_->own[j] < low || high < whole_->own[j]; }
  bool enter(std::int32_t node, std::int32_t j, std::int32_t low, std::int32_t high, double rest, std::int32_t other_moves);
  std::int32_t kept(std::int32_t side);
  std::int32_t add_node(std::int32_t j, std::int32_t cut, std::int32_t left, std::int32_t right);
  void make_room();
  std::int32_t add_leaf(std::int32_t node);
  std::int32_t add_test(std::int32_t j, std::int32_t cut, std::int32_t left, std::int32_t right);
  void merge_cells();
  std::int32_t cheapest_kept(std::size_t j, std::int32_t low, std::int32_t high) const;

  const Task* whole_ = nullptr;
  const Part* part_ = nullptr;  // null: everything
  double limit_ = 0;
  std::size_t most_nodes_ = 0;
  bool limits_moves_ = false;
  std::int32_t most_moves_ = 0;
  std::vector<RangeMinimum> uneven_costs_;        // by feature with uneven costs
  std::vector<std::int32_t> box_low_, box_high_;  // by feature: the cells that cost less than the limit
  std::vector<std::int32_t> low_, high_;          // by feature: the box of the present node
  std::vector<Visit> visits_;

  // The reduced ensemble. The arrays of nodes have room for more than n_nodes_.
  std::size_t n_nodes_ = 0;
  std::vector<std::int64_t> roots_, first_cut_;
  std::vector<std::int32_t> feature_, cut_, left_, right_;
  std::vector<double> value_;
  std::vector<std::vector<std::int32_t>> kept_cuts_;  // by feature
  std::vector<std::int32_t> tree_, first_merged_, last_merged_;
  std::vector<std::int32_t> origin_;                  // by cell: its cheapest cell in the whole ensemble
  std::vector<std::int32_t> original_;
  Cells cells_{};
  std::optional<Ensemble> ensemble_;
};

}  // namespace fcca
