// A tree ensemble in cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells.hpp"

namespace fcca {

// The nodes of all trees in one set of arrays. A leaf has feature -1. An inner node sends the cells up to cut to the left. A cut
// before the first cell sends nothing to the left, a cut after the last cell everything.
struct CellTrees {
  std::size_t n_trees;
  const std::int64_t* roots;
  std::size_t n_nodes;
  const std::int32_t* feature;
  const std::int32_t* cut;
  const std::int32_t* left;
  const std::int32_t* right;
  std::size_t n_outputs;
  const double* value;  // nodes × n_outputs
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
    while (trees.feature[node] >= 0) node = cell[trees.feature[node]] <= trees.cut[node] ? trees.left[node] : trees.right[node];
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
