// The leaves of an ensemble as boxes of cells, as the lower bound uses them.
//
// A slot is one feature in one tree: the tree's cuts divide the feature's cells into a few segments, and the tree does not
// distinguish the cells of a segment. A leaf is a box: on some of its tree's slots it admits a run of segments (a
// side), on the others all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ensemble.hpp"

namespace fcca {

struct Side {
  std::int32_t slot;
  std::int32_t first, last;  // segments of the slot
};

class LeafBoxes {
 public:
  // Each test must divide the cells that reach it.
  void build(const Ensemble& ensemble);

  std::size_t n_slots() const { return slot_feature.size(); }
  std::size_t n_segments() const { return segment_low.size(); }
  std::size_t n_leaves() const { return leaf_node.size(); }

  // The cells of its feature that a side admits, both included.
  std::int32_t lowest_cell(const Side& side) const { return segment_low[first_segment[side.slot] + side.first]; }
  std::int32_t highest_cell(const Side& side) const { return segment_high[first_segment[side.slot] + side.last]; }

  std::vector<std::int32_t> first_slot;     // by tree
  std::vector<std::int32_t> slot_feature;
  std::vector<std::int32_t> first_segment;  // by slot
  std::vector<std::int32_t> segment_low, segment_high;  // cells, both included

  std::vector<std::int32_t> first_leaf;  // by tree
  std::vector<std::int32_t> leaf_node;
  std::vector<std::int32_t> first_side;  // by leaf
  std::vector<Side> sides;
  std::vector<std::int32_t> side_leaf;

  std::vector<std::int32_t> first_slot_side;  // by slot, into slot_sides
  std::vector<std::int32_t> slot_sides;       // sides by slot

 private:
  struct Test {
    std::int32_t feature, cut;
    auto operator<=>(const Test&) const = default;
  };
  struct Run {
    std::int32_t first, last;
  };
  struct Step {  // visits a node after it sets the run of a slot, or, with node -1, restores the run
    std::int32_t node, slot;
    Run run;
  };

  void list_segments(const Ensemble& ensemble, std::size_t tree);
  void list_leaves(const Ensemble& ensemble, std::size_t tree);
  void sort_sides_by_slot();

  std::vector<Test> tests_;
  std::vector<std::int32_t> pending_;
  std::vector<Run> runs_;
  std::vector<Step> steps_;
  std::vector<std::int32_t> next_;
};

}  // namespace fcca
