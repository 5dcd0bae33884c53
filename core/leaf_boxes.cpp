#include "leaf_boxes.hpp"

#include <algorithm>

namespace fcca {

void LeafBoxes::build(const Ensemble& ensemble) {
  for (auto* offsets : {&first_slot, &first_segment, &first_leaf, &first_side}) offsets->assign(1, 0);
  for (auto* list : {&slot_feature, &segment_low, &segment_high, &leaf_node, &side_leaf}) list->clear();
  sides.clear();
  for (std::size_t tree = 0; tree < ensemble.trees.n_trees; ++tree) {
    list_segments(ensemble, tree);
    list_leaves(ensemble, tree);
  }
  sort_sides_by_slot();
}

// The slots of a tree, and the segments between its cuts.
void LeafBoxes::list_segments(const Ensemble& ensemble, std::size_t tree) {
  const CellTrees& trees = ensemble.trees;
  tests_.clear();
  pending_.assign(1, static_cast<std::int32_t>(trees.roots[tree]));
  while (!pending_.empty()) {
    const std::int32_t node = pending_.back();
    pending_.pop_back();
    if (trees.feature[node] < 0) continue;
    tests_.push_back({trees.feature[node], trees.cut[node]});
    pending_.push_back(trees.left[node]), pending_.push_back(trees.right[node]);
  }
  std::sort(tests_.begin(), tests_.end());
  tests_.erase(std::unique(tests_.begin(), tests_.end()), tests_.end());
  for (std::size_t i = 0; i < tests_.size();) {
    const std::int32_t j = tests_[i].feature;
    std::int32_t low = 0;
    for (; i < tests_.size() && tests_[i].feature == j; ++i) {
      segment_low.push_back(low), segment_high.push_back(tests_[i].cut);
      low = tests_[i].cut + 1;
    }
    segment_low.push_back(low), segment_high.push_back(static_cast<std::int32_t>(ensemble.cells.n_cuts(j)));
    slot_feature.push_back(j);
    first_segment.push_back(static_cast<std::int32_t>(segment_low.size()));
  }
  first_slot.push_back(static_cast<std::int32_t>(slot_feature.size()));
}

// Walks down a tree with the runs of segments that are still possible.
void LeafBoxes::list_leaves(const Ensemble& ensemble, std::size_t tree) {
  const CellTrees& trees = ensemble.trees;
  const std::int32_t begin = first_slot[tree], end = first_slot[tree + 1];
  auto last_of = [this](std::int32_t slot) { return first_segment[slot + 1] - first_segment[slot] - 1; };
  runs_.clear();
  for (std::int32_t slot = begin; slot < end; ++slot) runs_.push_back({0, last_of(slot)});
  auto visit = [&](std::int32_t node) {
    if (trees.feature[node] < 0) {
      for (std::int32_t slot = begin; slot < end; ++slot) {
        const Run run = runs_[slot - begin];
        if (run.first == 0 && run.last == last_of(slot)) continue;
        sides.push_back({slot, run.first, run.last});
        side_leaf.push_back(static_cast<std::int32_t>(leaf_node.size()));
      }
      leaf_node.push_back(node);
      first_side.push_back(static_cast<std::int32_t>(sides.size()));
      return;
    }
    const auto slots = slot_feature.begin(), highs = segment_high.begin();
    const std::int32_t slot = static_cast<std::int32_t>(std::lower_bound(slots + begin, slots + end, trees.feature[node]) - slots);
    const std::int32_t offset = first_segment[slot];
    const std::int32_t segment =
        static_cast<std::int32_t>(std::lower_bound(highs + offset, highs + first_segment[slot + 1], trees.cut[node]) - highs) - offset;
    const Run run = runs_[slot - begin];
    steps_.push_back({-1, slot, run});
    steps_.push_back({trees.left[node], slot, {run.first, segment}});
    steps_.push_back({trees.right[node], slot, {segment + 1, run.last}});
  };
  visit(static_cast<std::int32_t>(trees.roots[tree]));
  while (!steps_.empty()) {
    const Step step = steps_.back();
    steps_.pop_back();
    runs_[step.slot - begin] = step.run;
    if (step.node >= 0) visit(step.node);
  }
  first_leaf.push_back(static_cast<std::int32_t>(leaf_node.size()));
}

void LeafBoxes::sort_sides_by_slot() {
  first_slot_side.assign(n_slots() + 1, 0);
  for (const Side& side : sides) ++first_slot_side[side.slot + 1];
  for (std::size_t slot = 0; slot < n_slots(); ++slot) first_slot_side[slot + 1] += first_slot_side[slot];
  slot_sides.resize(sides.size());
  next_.assign(first_slot_side.begin(), first_slot_side.end() - 1);
  for (std::size_t side = 0; side < sides.size(); ++side) slot_sides[next_[sides[side].slot]++] = static_cast<std::int32_t>(side);
}

}  // namespace fcca
