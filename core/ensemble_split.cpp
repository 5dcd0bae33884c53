// The choice of the split of a box.
#include <algorithm>
#include <limits>

#include "ensemble_bound.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// A cut next to the own cell decides whether a feature moves at all, which is worth more than other cuts.
constexpr double own_cell_bonus = 2.0;
}  // namespace

Bound::Split Bound::split(const Live& live) {
  const LeafBoxes& e = boxes_;
  const std::size_t R = task_->n_rivals;
  ends_.assign(task_->ensemble->cells.n_cells() + 1, 0.0), begins_.assign(task_->ensemble->cells.n_cells() + 1, 0.0);
  auto worth = [&](std::int32_t leaf) {
    if (R == 1) return *lead_of(leaf);
    double sum = 0;
    for (std::size_t r = 0; r < R; ++r) sum += state.multiplier[r] * lead_of(leaf)[r];
    return sum;
  };
  for (std::size_t i = 0; i < live.trees.size(); ++i) {
    double most = -infinity, least = infinity;
    for (std::int32_t p = live.first_leaf[i]; p < live.first_leaf[i + 1]; ++p) {
      if (live.leaves[p] < 0) continue;
      most = std::max(most, worth(live.leaves[p])), least = std::min(least, worth(live.leaves[p]));
    }
    const double weight = most - least + 1e-9;
    for (const std::int32_t leaf : {cheap_leaf_[live.trees[i]], strong_leaf_[live.trees[i]]}) {
      for (std::int32_t side = e.first_side[leaf]; side < e.first_side[leaf + 1]; ++side) {
        const Side& s = e.sides[side];
        const std::int32_t j = e.slot_feature[s.slot];
        const std::int32_t from = std::max(state.low[j], e.lowest_cell(s)), to = std::min(state.high[j], e.highest_cell(s));
        const std::int64_t cells = first_cell(j);
        if (to < state.high[j] && to >= state.low[j]) ends_[cells + to] += weight;
        if (from > state.low[j] && from <= state.high[j]) begins_[cells + from - 1] += weight;
      }
    }
  }
  Split best;
  double best_weight = 0;
  for (const std::size_t j : movable()) {
    const std::int64_t cells = first_cell(j);
    double below = 0, above = 0;  // weight of the leaves in the lower part, and in the upper part
    for (std::int32_t k = state.low[j]; k < state.high[j]; ++k) above += begins_[cells + k];
    for (std::int32_t k = state.low[j]; k < state.high[j]; ++k) {
      below += ends_[cells + k];
      const double weight = std::min(below, above) * (k == task_->own[j] || k == task_->own[j] - 1 ? own_cell_bonus : 1.0);
      if (weight > best_weight) best_weight = weight, best = {static_cast<std::int32_t>(j), k};
      above -= begins_[cells + k];
    }
  }
  if (best.feature >= 0) return best;
  for (const std::size_t j : movable()) {  // no disagreement: split at any end of a leaf
    const std::int64_t cells = first_cell(j);
    for (std::int32_t k = state.low[j]; k < state.high[j]; ++k) {
      const double weight = std::max(ends_[cells + k], begins_[cells + k]);
      if (weight > best_weight) best_weight = weight, best = {static_cast<std::int32_t>(j), k};
    }
  }
  if (best.feature >= 0) return best;
  std::int32_t widest = 0;
  for (const std::size_t j : movable()) {
    const std::int32_t width = state.high[j] - state.low[j];
    if (width > widest) widest = width, best = {static_cast<std::int32_t>(j), (state.low[j] + state.high[j]) / 2};
  }
  return best;
}

}  // namespace fcca
