// The bound of a box whose problem is reduced once more.
//
// Deep in the search, few leaves are left, and most segments and cells are no longer told apart by any of them. After another reduction,
// the passes over messages visit only those that are.
#include <algorithm>

#include "ensemble_bound.hpp"

namespace fcca {

namespace {
// Share of the leaves that were left at the last reduction.
constexpr double worth_reducing = 0.6;
// Below this number of leaves, another reduction costs more than it saves.
constexpr std::size_t few_leaves = 500;
}  // namespace

bool Bound::is_worth_reducing(const Live& live) const {
  return n_leaves_ > few_leaves && static_cast<double>(live.leaves.size()) < worth_reducing * static_cast<double>(n_leaves_);
}

void Bound::describe(const Live& live, Reduction::Part& part) const {
  part.low = state.low, part.high = state.high;
  part.drops_cell.resize(state.own.size());
  for (std::size_t cell = 0; cell < state.own.size(); ++cell) part.drops_cell[cell] = is_excluded(state.own[cell]);
  part.drops_node.assign(task_->ensemble->trees.n_nodes, 0);
  // The box is inside the last leaf of every other tree.
  for (std::size_t i = 0; i < live.trees.size(); ++i) {
    const std::int32_t tree = live.trees[i];
    for (std::int32_t leaf = boxes_.first_leaf[tree]; leaf < boxes_.first_leaf[tree + 1]; ++leaf) part.drops_node[boxes_.leaf_node[leaf]] = 1;
    for (std::int32_t p = live.first_leaf[i]; p < live.first_leaf[i + 1]; ++p) {
      if (live.leaves[p] >= 0) part.drops_node[boxes_.leaf_node[live.leaves[p]]] = 0;
    }
  }
}

// The message of a segment is the least message of the segments that it consists of, and φ_j is what is left of the cost of a cell. This
// is valid because the bound is valid for any messages that sum to the cost with φ_j.
void Bound::begin(const Reduction& reduction, const Bound& whole, double unit, Live& all) {
  begin(reduction.task, unit, all);
  state.multiplier = whole.state.multiplier;
  for (std::int32_t& leaf : all.leaves) {
    if (reduction.is_dropped(boxes_.leaf_node[leaf])) leaf = -1, --n_leaves_;
  }
  for (std::size_t j = 0; j < task_->ensemble->cells.n_features; ++j) {
    const double* before = whole.state.own.data() + whole.first_cell(j);
    for (std::int32_t k = state.low[j]; k <= state.high[j]; ++k) {
      const std::int64_t cell = first_cell(j) + k;
      const double* const end = before + reduction.last_merged()[cell] + 1;
      if (std::all_of(before + reduction.first_merged()[cell], end, is_excluded)) state.own[cell] = excluded;
    }
  }
  for (std::size_t tree = 0; tree < task_->ensemble->trees.n_trees; ++tree) inherit_messages(reduction, whole, tree);
}

void Bound::inherit_messages(const Reduction& reduction, const Bound& whole, std::size_t tree) {
  const LeafBoxes& from = whole.boxes_;
  std::int32_t source = from.first_slot[reduction.tree()[tree]];
  for (std::int32_t slot = boxes_.first_slot[tree]; slot < boxes_.first_slot[tree + 1]; ++slot) {
    const std::int32_t j = boxes_.slot_feature[slot];
    while (from.slot_feature[source] != j) ++source;
    std::int32_t segment = from.first_segment[source];
    for (std::int32_t s = boxes_.first_segment[slot]; s < boxes_.first_segment[slot + 1]; ++s) {
      const std::int64_t first = first_cell(j) + boxes_.segment_low[s], last = first_cell(j) + boxes_.segment_high[s];
      while (from.segment_high[segment] < reduction.first_merged()[first]) ++segment;
      double message = excluded;
      for (std::int32_t i = segment; i < from.first_segment[source + 1] && from.segment_low[i] <= reduction.last_merged()[last]; ++i) {
        message = std::min(message, whole.state.message[i]);
      }
      state.message[s] = message;
      for (std::int64_t cell = first; cell <= last; ++cell) {
        state.own[cell] = is_excluded(state.own[cell]) || is_excluded(message) ? excluded : state.own[cell] - message;
      }
    }
  }
}

}  // namespace fcca
