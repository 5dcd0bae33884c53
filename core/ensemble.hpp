// A tree ensemble in cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells.hpp"

namespace fcca {

// The nodes of all trees in one set of arrays. A leaf has feature -1. An inner node sends the cells up to cut to the left. A cut
// before the first cell sends nothing to the left, a cut after the last cell everything. Some inner nodes send a set of cells to the left
// instead. They list whether each cell of their feature is in the set, from first_left on. The first_left of other nodes is -1.
struct CellTrees {
  // The cells low to high of a node's feature, divided into those up to end, which all go to first, and the others, which go to rest. For
  // a set, rest is the same node again, because the other cells may go to both sides. If end is high, there are no other cells.
  struct Division {
    std::int32_t end, first, rest;
  };
  // with_sets: false if no node has a set.
  template <bool with_sets = true>
  Division divide(std::int32_t node, std::int32_t low, std::int32_t high) const {
    if (!with_sets || !has_set(node)) return low > cut[node] ? Division{high, right[node], -1} : Division{std::min(high, cut[node]), left[node], right[node]};
    const std::uint8_t* goes_left = left_cells + first_left[node];
    std::int32_t end = low;
    while (end < high && goes_left[end + 1] == goes_left[low]) ++end;
    return {end, goes_left[low] != 0 ? left[node] : right[node], node};
  }
  template <bool with_sets = true>
  std::int32_t child_at(std::int32_t node, std::int32_t cell) const {
    const bool goes_left = with_sets && has_set(node) ? left_cells[first_left[node] + cell] != 0 : cell <= cut[node];
    return goes_left ? left[node] : right[node];
  }
  bool has_sets() const { return first_left != nullptr; }
  bool has_set(std::int32_t node) const { return has_sets() && first_left[node] >= 0; }

  std::size_t n_trees;
  const std::int64_t* roots;
  std::size_t n_nodes;
  const std::int32_t* feature;
  const std::int32_t* cut;
  const std::int32_t* left;
  const std::int32_t* right;
  std::size_t n_outputs;
  const double* value;  // nodes × n_outputs
  const std::int64_t* first_left = nullptr;  // null: there are no sets
  const std::uint8_t* left_cells = nullptr;
};

struct Ensemble {
  Ensemble(const CellTrees& trees_, const Cells& cells_) : trees(trees_), cells(cells_) {
    for (std::size_t j = 0; j < cells.n_features; ++j) {
      if (cells.n_cuts(j) > 0) movable.push_back(j);
    }
  }

  // The leaf of a tree that the cells (one per feature) end in.
  std::int32_t leaf_at(std::size_t tree, const std::int32_t* cell) const {
    std::int32_t node = static_cast<std::int32_t>(trees.roots[tree]);
    if (!trees.has_sets()) {
      while (trees.feature[node] >= 0) node = trees.child_at<false>(node, cell[trees.feature[node]]);
    } else {
      while (trees.feature[node] >= 0) node = trees.child_at(node, cell[trees.feature[node]]);
    }
    return node;
  }
  const double* value_of(std::int32_t node) const { return trees.value + static_cast<std::size_t>(node) * trees.n_outputs; }

  CellTrees trees;
  const Cells& cells;
  std::vector<std::size_t> movable;  // features with cuts
};

// The ensemble of a classifier. It is the same for all points.
struct EnsembleModel : Ensemble {
  EnsembleModel(const CellTrees& trees, const double* base, const Cells& cells);

  const double* base;         // n_outputs
  std::vector<double> sizes;  // by output: the largest absolute values of all trees, summed
};

}  // namespace fcca
