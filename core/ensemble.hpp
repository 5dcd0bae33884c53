// A tree ensemble in cells, as the branch and bound uses it.
//
// A slot is one feature in one tree: the tree's cuts divide the feature's cells into a few segments, and the tree does not
// distinguish the cells of a segment. A leaf is a box: on some of its tree's slots it admits a run of segments (a
// side), on the others all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells.hpp"

namespace fcca {

// The nodes of all trees in one set of arrays. A leaf has feature -1. An inner node sends the cells up to cut to the left.
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

struct Side {
  std::int32_t slot;
  std::int32_t first, last;  // segments of the slot
};

class Ensemble {
 public:
  Ensemble(const CellTrees& trees, const double* base, const Cells& cells);

  std::size_t n_slots() const { return slot_feature.size(); }
  std::size_t n_segments() const { return segment_low.size(); }
  std::size_t n_leaves() const { return leaf_tree.size(); }

  // The leaf of a tree that the cells (one per feature) end in.
  std::int32_t leaf_at(std::size_t tree, const std::int32_t* cell) const {
    std::int32_t node = static_cast<std::int32_t>(trees.roots[tree]);
    while (trees.feature[node] >= 0) node = cell[trees.feature[node]] <= trees.cut[node] ? trees.left[node] : trees.right[node];
    return node_leaf[node];
  }
  // The cells of its feature that a side admits, both included.
  std::int32_t lowest_cell(const Side& side) const { return segment_low[first_segment[side.slot] + side.first]; }
  std::int32_t highest_cell(const Side& side) const { return segment_high[first_segment[side.slot] + side.last]; }
  const double* value_of(std::size_t leaf) const { return trees.value + static_cast<std::size_t>(leaf_node[leaf]) * trees.n_outputs; }

  CellTrees trees;
  const double* base;  // n_outputs
  const Cells& cells;
  std::vector<std::size_t> movable;  // features with cuts

  std::vector<std::int32_t> first_slot;     // by tree
  std::vector<std::int32_t> slot_feature, slot_tree;
  std::vector<std::int32_t> first_segment;  // by slot
  std::vector<std::int32_t> segment_low, segment_high;  // cells, both included

  std::vector<std::int32_t> first_leaf;  // by tree
  std::vector<std::int32_t> leaf_tree, leaf_node;
  std::vector<std::int32_t> node_leaf;   // by node, -1 for inner nodes and for leaves that no cell reaches
  std::vector<std::int32_t> first_side;  // by leaf
  std::vector<Side> sides;
  std::vector<std::int32_t> side_leaf;

  std::vector<std::int32_t> first_slot_side;  // by slot, into slot_sides
  std::vector<std::int32_t> slot_sides;       // sides by slot
  std::vector<std::int32_t> first_tree_of, tree_of;  // by feature, the trees that test it

 private:
  // A cut before the first cell sends nothing to the left. A cut after the last cell sends everything to the left.
  bool divides(std::int32_t node) const { return trees.cut[node] >= 0 && trees.cut[node] < cells.n_cuts(trees.feature[node]); }
  void compile_tree(std::size_t tree);
};

}  // namespace fcca
