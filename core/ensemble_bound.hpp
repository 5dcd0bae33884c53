// The lower bound of the branch and bound.
//
// The score rows are dualised by multipliers μ_r >= 0, and every (tree, feature) slot has messages M(segment) that move cost
// between the feature's own table φ_j and the tree, so that  fixed_j + φ_j(k) + Σ_t M_tj(k) = cost_j(k)  always. Then
//
//   g = Σ_r μ_r·needed_r + Σ_j (fixed_j + min_k φ_j(k)) + Σ_t min_leaf ( Σ_j min_{k in leaf} M_tj(k) − Σ_r μ_r·lead_r(leaf) )
//
// is a lower bound for any messages and any μ >= 0. Every counterfactual puts each feature into one cell and each tree into one leaf, so it
// costs at least the minima. Its leads reach the needed leads, so the terms with multipliers sum to at most 0. Passes over the features
// raise the bound. Cells and leaves whose bound reaches the incumbent are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ensemble_reduction.hpp"
#include "ensemble_start.hpp"
#include "leaf_boxes.hpp"
#include "parallel.hpp"
#include "range_minimum.hpp"

namespace fcca {

class Bound {
 public:
  // The state that a node passes to its children. Costs are in units of the incumbent's cost.
  struct State {
    std::vector<double> message;          // by segment
    std::vector<double> own;              // φ, by cell; excluded for cells that are dropped
    std::vector<std::int32_t> low, high;  // by feature: the box
    double fixed = 0;
    std::vector<double> multiplier;  // by rival
    std::vector<double> settled;     // by rival: leads of the trees that have one leaf left
  };

  // The trees, leaves and sides that are left in a box, tree by tree.
  struct Live {
    struct Run {  // a leaf that admits only some of a slot's segments
      std::int32_t leaf;  // position in leaves
      std::int32_t first, last;
      double extra;  // least message of these segments minus the least message of all
      double rest;   // the other costs of the leaf, while the slot is processed
    };
    std::vector<std::int32_t> trees;
    std::vector<std::int32_t> first_leaf, leaves;  // by tree; dropped leaves are -1
    std::vector<std::int32_t> slots, slot_tree;    // slot_tree: positions in trees
    std::vector<std::int32_t> first_run;           // by slot
    std::vector<Run> runs;
    std::vector<std::int32_t> first_of_feature, by_feature;  // positions in slots

    void clear() {
      trees.clear(), leaves.clear(), slots.clear(), slot_tree.clear(), runs.clear();
      first_leaf.assign(1, 0), first_run.assign(1, 0);
    }
  };

  // The cost of a dropped cell or leaf. Costs are in units of the incumbent's cost, so every other cost is at most a few units, far below
  // this. It is small enough that such costs added to it are not lost to rounding.
  static constexpr double excluded = 1e15;
  static bool is_excluded(double value) { return value >= excluded / 2; }

  // Sets state and all to the whole box of a reduced task. After this call, costs and limits are in units.
  void begin(const Task& task, double unit, Live& all);
  // The same for a part of a problem that is reduced once more, with the messages and the multipliers of the whole.
  void begin(const Reduction& reduction, const Bound& whole, double unit, Live& all);

  // Whether so few leaves are left that it pays to reduce the box once more, and the part of the problem that is left in the box.
  bool is_worth_reducing(const Live& live) const;
  void describe(const Live& live, Reduction::Part& part) const;

  // Raises the bound of the box in state by the given number of passes, and shrinks the box. Lists the remaining trees, leaves and sides in
  // live. Returns true if no point of the box can cost less than limit. After the call, bound() is the best bound proven.
  bool exhausted(const Live& parent, Live& live, double limit, int passes, bool root, const Stop& stop);
  double bound() const { return bound_; }

  // The split at which the trees' best leaves disagree most: the feature, and the last cell of the lower part.
  struct Split {
    std::int32_t feature = -1, cell = 0;
  };
  Split split(const Live& live);

  // Removes dropped cells at the ends of a feature's range; false if no cell is left.
  bool trim(std::size_t j);

  State state;

 private:
  void inherit_messages(const Reduction& reduction, const Bound& whole, std::size_t tree);
  bool clip_to_budget(double limit);

  // Lists in live the parent's trees, leaves and sides that are inside the box, and recomputes their costs. False if a tree has no leaf
  // left, or a feature has no cell left.
  bool refresh(const Live& parent, Live& live);
  void measure_slots(std::int32_t tree, std::size_t position);
  void list_leaves(const Live& parent, std::size_t position, Live& live);
  void settle(std::int32_t tree, std::int32_t leaf);
  void fold_messages(std::int32_t slot);
  void list_slots(std::int32_t tree, Live& live);
  double extra_distance(const Side& side) const;
  bool moves(const Side& side) const;
  void subtract_leads(std::size_t begin_leaf, const Live& live);
  void sort_slots_by_feature(Live& live);

  bool choose_multiplier(const Live& live, std::size_t rival);
  void set_multiplier(const Live& live, std::size_t rival, double multiplier);

  double total(const Live& live) const;
  double least_own(std::size_t j) const;
  double pass(Live& live, std::size_t j, double g, double limit);
  void pull_excess(Live& live, std::size_t j);
  void drop_cells(std::size_t j, double least, double gap);
  bool hand_out(const Live& live, std::size_t j);
  double reprice_trees(Live& live, std::size_t j, double g);
  void add_steps(double* own, std::int32_t low, std::int32_t high);
  void drop_leaves(Live& live, double gap);

  struct SlotRun {
    std::int32_t slot;
    Live::Run run;
  };

  // The leads of a leaf are the values of its node, because the task is reduced.
  const double* lead_of(std::int32_t leaf) const { return task_->ensemble->value_of(boxes_.leaf_node[leaf]); }
  const std::vector<std::size_t>& movable() const { return task_->ensemble->movable; }
  std::int64_t first_cell(std::size_t j) const { return task_->ensemble->cells.first_cell(j); }

  const Task* task_ = nullptr;
  LeafBoxes boxes_;
  std::size_t n_leaves_ = 0;          // without those that were dropped before the reduction
  std::vector<double> cost_;          // of the task, in units
  std::vector<double> nearest_cost_;  // by feature: cost of the cheapest cell of the box
  double fixed_cost_ = 0;             // of the features without cuts
  double budget_ = 0;                 // limit minus these costs
  bool limits_moves_ = false;
  std::int32_t moves_left_ = 0;       // allowed moves beyond those of all points of the box
  double bound_ = 0;
  Live spare_;
  // Costs under the present state. A tree costs base plus the least cost of its leaves, where base is the sum of its slots' least
  // messages. So a leaf's cost is the extra cost of its sides minus the value of its leads.
  std::vector<double> base_, least_;  // by position in trees
  std::vector<double> leaf_cost_;     // by position in leaves
  std::vector<double> lead_;          // by position in leaves × rivals
  std::vector<double> slot_cost_;     // by slot: its least message
  std::vector<double> marginal_, previous_least_;
  std::vector<SlotRun> slot_runs_;  // of the tree that is being listed, by leaf
  std::vector<double> steps_;       // by cell of a feature
  RangeMinimum ranges_;
  std::vector<std::int32_t> first_segment_, last_segment_;  // by slot: the segments inside the box
  std::vector<std::int32_t> cheap_leaf_, strong_leaf_;      // by tree: best leaf just below and above the multiplier chosen
  std::vector<std::int32_t> trial_leaf_, next_;
  std::vector<double> ends_, begins_;  // by cell: weight of the best leaves that end there, or begin after it
};

}  // namespace fcca
