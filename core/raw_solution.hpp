// What a search on raw columns knows about the trees for some rows, by slot of the leaf budget.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "leaf_budget.hpp"

namespace fcca {

// A node of the tree. An inner node separates two neighbouring values of its rows.
struct RawNode {
  std::int32_t column = -1;                // -1 for a leaf
  std::int32_t rank_left = -1, rank_right = -1;  // largest rank on the left, smallest rank on the right
  std::int32_t left = -1, right = -1;
};

// The first split of a tree and the trees of its sides, for at most some number of leaves. The split is a rank, so that the tree serves
// other rows as well.
struct RawSplitTree {
  std::int32_t column;
  std::uint32_t rank;
  std::int32_t left, right;             // numbers of trees
  std::size_t left_slot, right_slot;    // of the leaf budget
};

// All costs include the penalties of the leaves.
struct RawSolution {
  static constexpr std::int32_t simple = -1;  // the best tree with at most one split
  double bound;  // no tree costs less
  double floor;  // no tree costs less, even without the minimum size of a leaf
  double cost;   // of the best tree found
  std::int32_t tree = simple;
};
using RawSolutions = std::vector<RawSolution>;  // by slot
using RawLimits = std::vector<double>;          // by slot: only cheaper trees matter; no tree matters if it is -infinity

// The number of slots for trees of a depth: one without a limit on leaves.
inline std::size_t raw_slots(const LeafBudget& budget, std::int32_t depth) {
  if (!budget.limited()) return 1;
  return depth > 30 ? budget.n_slots() : std::min(budget.n_slots(), std::size_t{1} << depth);
}

// A tree with fewer leaves serves where more are allowed, and a bound for more leaves holds for fewer.
inline void settle(RawSolutions& solutions) {
  for (std::size_t s = 1; s < solutions.size(); ++s) {
    if (solutions[s - 1].cost < solutions[s].cost) solutions[s].cost = solutions[s - 1].cost, solutions[s].tree = solutions[s - 1].tree;
  }
  for (std::size_t s = solutions.size(); s-- > 0;) {
    RawSolution& own = solutions[s];
    if (s + 1 < solutions.size()) own.bound = std::max(own.bound, solutions[s + 1].bound), own.floor = std::max(own.floor, solutions[s + 1].floor);
    own.bound = std::min(std::max(own.bound, own.floor), own.cost);
  }
}

}  // namespace fcca
