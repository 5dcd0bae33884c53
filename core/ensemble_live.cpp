// The trees inside a box: the leaves and the segments of every slot that are inside it, and the costs of both.
#include <algorithm>
#include <limits>
#include <utility>

#include "ensemble_bound.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

bool Bound::trim(std::size_t j) {
  const double* own = state.own.data() + first_cell(j);
  std::int32_t &low = state.low[j], &high = state.high[j];
  while (low <= high && is_excluded(own[low])) ++low;
  while (high >= low && is_excluded(own[high])) --high;
  return low <= high;
}

bool Bound::refresh(const Live& parent, Live& live) {
  live.clear();
  for (std::size_t i = 0; i < parent.trees.size(); ++i) {
    const std::int32_t tree = parent.trees[i];
    measure_slots(tree, live.trees.size());
    const std::size_t begin_leaf = live.leaves.size();
    list_leaves(parent, i, live);
    const std::size_t n_leaves = live.leaves.size() - begin_leaf;
    if (n_leaves == 0) return false;
    if (n_leaves == 1) {
      settle(tree, live.leaves.back());
      live.leaves.pop_back();
      continue;
    }
    list_slots(tree, live);
    subtract_leads(begin_leaf, live);
    live.trees.push_back(tree);
    live.first_leaf.push_back(static_cast<std::int32_t>(live.leaves.size()));
  }
  sort_slots_by_feature(live);
  return std::all_of(movable().begin(), movable().end(), [this](std::size_t j) { return trim(j); });
}

// The segments of every slot of a tree that are inside the box, and the least message of each slot.
void Bound::measure_slots(std::int32_t tree, std::size_t position) {
  const LeafBoxes& e = boxes_;
  double base = 0;
  for (std::int32_t slot = e.first_slot[tree]; slot < e.first_slot[tree + 1]; ++slot) {
    const std::int32_t j = e.slot_feature[slot], offset = e.first_segment[slot];
    std::int32_t first = offset, last = e.first_segment[slot + 1] - 1;
    while (e.segment_high[first] < state.low[j]) ++first;
    while (e.segment_low[last] > state.high[j]) --last;
    first_segment_[slot] = first - offset, last_segment_[slot] = last - offset;
    double least = excluded;
    for (std::int32_t s = first; s <= last; ++s) least = std::min(least, state.message[s]);
    slot_cost_[slot] = least;
    base += least;
  }
  base_[position] = base;
}

// The leaves of the parent's tree that the box reaches, with the cost of their sides, and the runs of these sides. Leaves whose cheapest
// point costs the limit or more are dropped. This is valid because every other feature costs at least its cheapest cell in the box. So are
// leaves in which more features move than a rule allows.
void Bound::list_leaves(const Live& parent, std::size_t position, Live& live) {
  const LeafBoxes& e = boxes_;
  slot_runs_.clear();
  for (std::int32_t p = parent.first_leaf[position]; p < parent.first_leaf[position + 1]; ++p) {
    const std::int32_t leaf = parent.leaves[p];
    if (leaf < 0) continue;
    const std::size_t begin_run = slot_runs_.size();
    double cost = 0, distance = 0;
    std::int32_t n_moves = 0;
    bool possible = true;
    for (std::int32_t side = e.first_side[leaf]; side < e.first_side[leaf + 1] && possible; ++side) {
      const Side& s = e.sides[side];
      const std::int32_t first = std::max(s.first, first_segment_[s.slot]), last = std::min(s.last, last_segment_[s.slot]);
      double least = excluded;
      if (first == first_segment_[s.slot] && last == last_segment_[s.slot]) {
        least = slot_cost_[s.slot];
      } else {
        const double* message = state.message.data() + e.first_segment[s.slot];
        for (std::int32_t k = first; k <= last; ++k) least = std::min(least, message[k]);
        const double extra = least - slot_cost_[s.slot];
        cost += extra;
        slot_runs_.push_back({s.slot, {static_cast<std::int32_t>(live.leaves.size()), first, last, extra, 0.0}});
        distance += extra_distance(s);
        if (limits_moves_) n_moves += moves(s);
      }
      possible = !is_excluded(least) && distance < budget_;
    }
    if (possible && n_moves <= moves_left_) leaf_cost_[live.leaves.size()] = cost, live.leaves.push_back(leaf);
    else slot_runs_.resize(begin_run);
  }
}

// The cost of the cheapest cell of a side inside the box, compared with the cheapest cell of the box.
double Bound::extra_distance(const Side& side) const {
  const std::int32_t j = boxes_.slot_feature[side.slot];
  if (task_->uneven[j] != 0) return 0;  // a lower bound that needs no search for the cheapest cell
  const std::int32_t low = std::max(state.low[j], boxes_.lowest_cell(side)), high = std::min(state.high[j], boxes_.highest_cell(side));
  return low > high ? infinity : cost_[first_cell(j) + std::clamp(task_->own[j], low, high)] - nearest_cost_[j];
}

// Whether a feature that can stay in the box must move on this side.
bool Bound::moves(const Side& side) const {
  const std::int32_t j = boxes_.slot_feature[side.slot], own = task_->own[j];
  return state.low[j] <= own && own <= state.high[j] && (own < boxes_.lowest_cell(side) || boxes_.highest_cell(side) < own);
}

// If a tree has a single leaf left, every point of the box is in it. So its leads count in full, its messages go back to the features, and
// the cells outside the leaf are dropped.
void Bound::settle(std::int32_t tree, std::int32_t leaf) {
  const LeafBoxes& e = boxes_;
  for (std::int32_t slot = e.first_slot[tree]; slot < e.first_slot[tree + 1]; ++slot) fold_messages(slot);
  for (std::int32_t side = e.first_side[leaf]; side < e.first_side[leaf + 1]; ++side) {
    const Side& s = e.sides[side];
    const std::int32_t j = e.slot_feature[s.slot], lowest = e.lowest_cell(s), highest = e.highest_cell(s);
    double* own = state.own.data() + first_cell(j);
    for (std::int32_t k = state.low[j]; k <= state.high[j]; ++k) {
      if (k < lowest || k > highest) own[k] = excluded;
    }
  }
  for (std::size_t r = 0; r < task_->n_rivals; ++r) state.settled[r] += lead_of(leaf)[r];
}

// Gives a slot's messages back to the feature's own table.
void Bound::fold_messages(std::int32_t slot) {
  const std::int32_t j = boxes_.slot_feature[slot], first = boxes_.first_segment[slot];
  double* own = state.own.data() + first_cell(j);
  for (std::int32_t s = first + first_segment_[slot]; s <= first + last_segment_[slot]; ++s) {
    const double message = state.message[s];
    if (message == 0) continue;
    const std::int32_t end = std::min(boxes_.segment_high[s], state.high[j]);
    for (std::int32_t k = std::max(boxes_.segment_low[s], state.low[j]); k <= end; ++k) own[k] = std::min(excluded, own[k] + message);
    state.message[s] = 0;
  }
}

// The slots on which some leaf of the tree admits only a part of the segments inside the box, and these leaves. The other slots do not
// distinguish leaves, so their messages go back to the features.
void Bound::list_slots(std::int32_t tree, Live& live) {
  const LeafBoxes& e = boxes_;
  const std::size_t position = live.trees.size();
  const std::int32_t begin = e.first_slot[tree], end = e.first_slot[tree + 1];
  next_.assign(end - begin, 0);
  for (const SlotRun& run : slot_runs_) ++next_[run.slot - begin];
  std::int32_t n_runs = static_cast<std::int32_t>(live.runs.size());
  for (std::int32_t slot = begin; slot < end; ++slot) {
    const std::int32_t n = std::exchange(next_[slot - begin], n_runs);
    if (n == 0) {
      if (first_segment_[slot] == last_segment_[slot]) continue;
      base_[position] -= slot_cost_[slot];
      fold_messages(slot);
      continue;
    }
    n_runs += n;
    live.slots.push_back(slot), live.slot_tree.push_back(static_cast<std::int32_t>(position));
    live.first_run.push_back(n_runs);
  }
  live.runs.resize(n_runs);
  for (const SlotRun& run : slot_runs_) live.runs[next_[run.slot - begin]++] = run.run;
}

// Subtracts the value of their leads from the costs of the tree's leaves.
void Bound::subtract_leads(std::size_t begin_leaf, const Live& live) {
  const std::size_t R = task_->n_rivals;
  double least = infinity;
  for (std::size_t p = begin_leaf; p < live.leaves.size(); ++p) {
    const double* lead = lead_of(live.leaves[p]);
    for (std::size_t r = 0; r < R; ++r) {
      lead_[p * R + r] = lead[r];
      leaf_cost_[p] -= state.multiplier[r] * lead[r];
    }
    least = std::min(least, leaf_cost_[p]);
  }
  least_[live.trees.size()] = least;
}

void Bound::sort_slots_by_feature(Live& live) {
  const std::size_t n_features = task_->ensemble->cells.n_features;
  const std::vector<std::int32_t>& feature = boxes_.slot_feature;
  live.first_of_feature.assign(n_features + 1, 0);
  for (const std::int32_t slot : live.slots) ++live.first_of_feature[feature[slot] + 1];
  for (std::size_t j = 0; j < n_features; ++j) live.first_of_feature[j + 1] += live.first_of_feature[j];
  live.by_feature.resize(live.slots.size());
  next_.assign(live.first_of_feature.begin(), live.first_of_feature.end() - 1);
  for (std::size_t i = 0; i < live.slots.size(); ++i) live.by_feature[next_[feature[live.slots[i]]]++] = static_cast<std::int32_t>(i);
}

}  // namespace fcca
