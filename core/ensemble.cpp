#include "ensemble.hpp"

#include <algorithm>
#include <utility>

namespace fcca {

Ensemble::Ensemble(const CellTrees& trees_, const double* base_, const Cells& cells_) : trees(trees_), base(base_), cells(cells_) {
  for (std::size_t j = 0; j < cells.n_features; ++j) {
    if (cells.n_cuts(j) > 0) movable.push_back(j);
  }
  first_slot.push_back(0), first_segment.push_back(0), first_leaf.push_back(0), first_side.push_back(0);
  node_leaf.assign(trees.n_nodes, -1);
  for (std::size_t tree = 0; tree < trees.n_trees; ++tree) compile_tree(tree);

  first_slot_side.assign(n_slots() + 1, 0);
  for (const Side& side : sides) ++first_slot_side[side.slot + 1];
  for (std::size_t slot = 0; slot < n_slots(); ++slot) first_slot_side[slot + 1] += first_slot_side[slot];
  slot_sides.resize(sides.size());
  std::vector<std::int32_t> next(first_slot_side.begin(), first_slot_side.end() - 1);
  for (std::size_t side = 0; side < sides.size(); ++side) slot_sides[next[sides[side].slot]++] = static_cast<std::int32_t>(side);

  first_tree_of.assign(cells.n_features + 1, 0);
  for (const std::int32_t j : slot_feature) ++first_tree_of[j + 1];
  for (std::size_t j = 0; j < cells.n_features; ++j) first_tree_of[j + 1] += first_tree_of[j];
  tree_of.resize(n_slots());
  next.assign(first_tree_of.begin(), first_tree_of.end() - 1);
  for (std::size_t slot = 0; slot < n_slots(); ++slot) tree_of[next[slot_feature[slot]]++] = slot_tree[slot];
}

void Ensemble::compile_tree(std::size_t tree) {
  const std::int32_t root = static_cast<std::int32_t>(trees.roots[tree]);
  // The cuts of the tree, by feature.
  std::vector<std::pair<std::int32_t, std::int32_t>> tests;
  std::vector<std::int32_t> pending{root};
  while (!pending.empty()) {
    const std::int32_t node = pending.back();
    pending.pop_back();
    if (trees.feature[node] < 0) continue;
    if (divides(node)) tests.push_back({trees.feature[node], trees.cut[node]});
    pending.push_back(trees.left[node]), pending.push_back(trees.right[node]);
  }
  std::sort(tests.begin(), tests.end());
  tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
  const std::int32_t begin = first_slot.back();
  for (std::size_t i = 0; i < tests.size();) {
    const std::int32_t j = tests[i].first;
    std::int32_t low = 0;
    for (; i < tests.size() && tests[i].first == j; ++i) {
      segment_low.push_back(low), segment_high.push_back(tests[i].second);
      low = tests[i].second + 1;
    }
    segment_low.push_back(low), segment_high.push_back(static_cast<std::int32_t>(cells.n_cuts(j)));
    slot_feature.push_back(j), slot_tree.push_back(static_cast<std::int32_t>(tree));
    first_segment.push_back(static_cast<std::int32_t>(segment_low.size()));
  }
  const std::int32_t end = static_cast<std::int32_t>(slot_feature.size());
  first_slot.push_back(end);

  // Walk down the tree with the runs of segments that are still possible.
  struct Run {
    std::int32_t first, last;
  };
  std::vector<Run> all;
  for (std::int32_t slot = begin; slot < end; ++slot) all.push_back({0, first_segment[slot + 1] - first_segment[slot] - 1});
  std::vector<std::pair<std::int32_t, std::vector<Run>>> open{{root, all}};
  while (!open.empty()) {
    auto [node, runs] = std::move(open.back());
    open.pop_back();
    if (trees.feature[node] < 0) {
      node_leaf[node] = static_cast<std::int32_t>(leaf_tree.size());
      for (std::int32_t slot = begin; slot < end; ++slot) {
        const Run& run = runs[slot - begin];
        if (run.first > 0 || run.last < all[slot - begin].last) {
          sides.push_back({slot, run.first, run.last});
          side_leaf.push_back(node_leaf[node]);
        }
      }
      leaf_tree.push_back(static_cast<std::int32_t>(tree)), leaf_node.push_back(node);
      first_side.push_back(static_cast<std::int32_t>(sides.size()));
      continue;
    }
    if (!divides(node)) {
      open.push_back({trees.cut[node] < 0 ? trees.right[node] : trees.left[node], std::move(runs)});
      continue;
    }
    const auto slots = slot_feature.begin();
    const std::int32_t slot = static_cast<std::int32_t>(std::lower_bound(slots + begin, slots + end, trees.feature[node]) - slots);
    const auto highs = segment_high.begin();
    const std::int32_t segment = static_cast<std::int32_t>(
        std::lower_bound(highs + first_segment[slot], highs + first_segment[slot + 1], trees.cut[node]) - highs - first_segment[slot]);
    const Run run = runs[slot - begin];
    if (run.first <= segment) {
      auto left = runs;
      left[slot - begin].last = std::min(run.last, segment);
      open.push_back({trees.left[node], std::move(left)});
    }
    if (run.last > segment) {
      runs[slot - begin].first = std::max(run.first, segment + 1);
      open.push_back({trees.right[node], std::move(runs)});
    }
  }
  first_leaf.push_back(static_cast<std::int32_t>(leaf_tree.size()));
}

}  // namespace fcca
