#include "ensemble_bound.hpp"

#include <algorithm>
#include <limits>

namespace fcca {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int passes_between_refreshes = 4;
// A node's passes end when one has closed less than this share of the gap.
constexpr double worthwhile_at_root = 0.08, worthwhile_below = 0.05;
// Early passes at the root move messages only: a multiplier chosen for unpassed messages is a poor one.
constexpr int passes_before_multiplier = 2;

// Four at a time, which the processor can do side by side.
double least_of(const double* begin, const double* end) {
  double a = infinity, b = infinity, c = infinity, d = infinity;
  for (; end - begin >= 4; begin += 4) {
    a = begin[0] < a ? begin[0] : a, b = begin[1] < b ? begin[1] : b;
    c = begin[2] < c ? begin[2] : c, d = begin[3] < d ? begin[3] : d;
  }
  for (; begin != end; ++begin) a = *begin < a ? *begin : a;
  return std::min(std::min(a, b), std::min(c, d));
}

}  // namespace

Bound::Bound(const Ensemble& ensemble)
    : ensemble_(ensemble), base_(ensemble.trees.n_trees), least_(ensemble.trees.n_trees), leaf_cost_(ensemble.n_leaves()),
      slot_cost_(ensemble.n_slots()), side_cost_(ensemble.sides.size()), marginal_(ensemble.n_segments()), previous_least_(ensemble.trees.n_trees),
      first_segment_(ensemble.n_slots()), last_segment_(ensemble.n_slots()), cheap_leaf_(ensemble.trees.n_trees),
      strong_leaf_(ensemble.trees.n_trees), trial_leaf_(ensemble.trees.n_trees), position_(ensemble.n_leaves(), -1) {
  std::int64_t most_cuts = 0;
  for (const std::size_t j : ensemble.movable) most_cuts = std::max(most_cuts, ensemble.cells.n_cuts(j));
  steps_.resize(most_cuts + 2);
}

void Bound::begin(const Task& task, double unit, Live& all) {
  task_ = &task;
  cost_.resize(task.cost.size());
  for (std::size_t i = 0; i < cost_.size(); ++i) cost_[i] = std::min(excluded, task.cost[i] / unit);
  state.message.assign(ensemble_.n_segments(), 0.0);
  state.own = cost_;
  state.low = task.low, state.high = task.high;
  state.fixed = 0;
  state.multiplier.assign(task.n_rivals, 0.0);
  state.settled.assign(task.n_rivals, 0.0);
  lead_.resize(ensemble_.n_leaves() * task.n_rivals);

  all.trees = task.trees;
  all.leaves.clear(), all.first_leaf.assign(1, 0);
  for (const std::int32_t tree : task.trees) {
    for (std::int32_t leaf = ensemble_.first_leaf[tree]; leaf < ensemble_.first_leaf[tree + 1]; ++leaf) all.leaves.push_back(leaf);
    all.first_leaf.push_back(static_cast<std::int32_t>(all.leaves.size()));
    cheap_leaf_[tree] = ensemble_.first_leaf[tree];
  }
  strong_leaf_ = cheap_leaf_;
}

bool Bound::trim(std::size_t j) {
  const double* own = state.own.data() + ensemble_.cells.first_cell(j);
  std::int32_t &low = state.low[j], &high = state.high[j];
  while (low <= high && is_excluded(own[low])) ++low;
  while (high >= low && is_excluded(own[high])) --high;
  return low <= high;
}

// A feature that goes further than to its cheapest cell must fit into what the cheapest cells of the others leave of the limit.
bool Bound::clip_to_budget(double limit) {
  double least = 0;
  auto nearest = [&](std::size_t j) {
    return task_->cheapest(j, state.low[j], state.high[j], cost_.data() + ensemble_.cells.first_cell(j));
  };
  for (const std::size_t j : ensemble_.movable) least += cost_[ensemble_.cells.first_cell(j) + nearest(j)];
  if (least >= limit) return false;
  for (const std::size_t j : ensemble_.movable) {
    const double* cost = cost_.data() + ensemble_.cells.first_cell(j);
    const std::int32_t near = nearest(j);
    const double budget = limit - least + cost[near];
    while (state.low[j] < near && cost[state.low[j]] >= budget) ++state.low[j];
    while (state.high[j] > near && cost[state.high[j]] >= budget) --state.high[j];
  }
  return true;
}

// Gives a slot's messages back to the feature's own table.
void Bound::fold_messages(std::int32_t slot) {
  const std::int32_t j = ensemble_.slot_feature[slot], first = ensemble_.first_segment[slot];
  double* own = state.own.data() + ensemble_.cells.first_cell(j);
  for (std::int32_t s = first + first_segment_[slot]; s <= first + last_segment_[slot]; ++s) {
    const double message = state.message[s];
    if (message == 0) continue;
    const std::int32_t end = std::min(ensemble_.segment_high[s], state.high[j]);
    for (std::int32_t k = std::max(ensemble_.segment_low[s], state.low[j]); k <= end; ++k) own[k] = std::min(excluded, own[k] + message);
    state.message[s] = 0;
  }
}

// Lists what the box leaves of the parent's trees, leaves and sides, and computes their costs anew. A tree with one leaf left
// is settled: its lead is known and the leaf's sides become limits of the box. False if a tree has none left.
bool Bound::refresh(const Live& parent, Live& live) {
  const Ensemble& e = ensemble_;
  const std::size_t R = task_->n_rivals;
  live.trees.clear(), live.leaves.clear(), live.slots.clear(), live.slot_tree.clear(), live.runs.clear();
  live.first_leaf.assign(1, 0), live.first_run.assign(1, 0);
  for (std::size_t i = 0; i < parent.trees.size(); ++i) {
    const std::int32_t tree = parent.trees[i], begin_slot = e.first_slot[tree], end_slot = e.first_slot[tree + 1];
    double base = 0;
    for (std::int32_t slot = begin_slot; slot < end_slot; ++slot) {
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
    const std::size_t begin_leaf = live.leaves.size();
    for (std::int32_t p = parent.first_leaf[i]; p < parent.first_leaf[i + 1]; ++p) {
      const std::int32_t leaf = parent.leaves[p];
      if (leaf < 0) continue;
      double cost = 0;
      bool possible = true;
      for (std::int32_t side = e.first_side[leaf]; side < e.first_side[leaf + 1]; ++side) {
        const Side& s = e.sides[side];
        const std::int32_t first = std::max(s.first, first_segment_[s.slot]), last = std::min(s.last, last_segment_[s.slot]);
        double least = excluded;
        const double* message = state.message.data() + e.first_segment[s.slot];
        for (std::int32_t k = first; k <= last; ++k) least = std::min(least, message[k]);
        if (is_excluded(least)) {
          possible = false;
          break;
        }
        side_cost_[side] = least - slot_cost_[s.slot];
        cost += side_cost_[side];
      }
      if (possible) leaf_cost_[live.leaves.size()] = cost, live.leaves.push_back(leaf);
    }
    const std::size_t n_leaves = live.leaves.size() - begin_leaf;
    if (n_leaves == 0) return false;
    if (n_leaves == 1) {
      const std::int32_t leaf = live.leaves.back();
      live.leaves.pop_back();
      for (std::int32_t slot = begin_slot; slot < end_slot; ++slot) fold_messages(slot);
      for (std::int32_t side = e.first_side[leaf]; side < e.first_side[leaf + 1]; ++side) {
        const Side& s = e.sides[side];
        const std::int32_t j = e.slot_feature[s.slot], offset = e.first_segment[s.slot];
        double* own = state.own.data() + e.cells.first_cell(j);
        for (std::int32_t k = state.low[j]; k <= state.high[j]; ++k) {
          if (k < e.segment_low[offset + s.first] || k > e.segment_high[offset + s.last]) own[k] = excluded;
        }
      }
      for (std::size_t r = 0; r < R; ++r) state.settled[r] += task_->lead_of(leaf)[r];
      continue;
    }
    const std::int32_t tree_position = static_cast<std::int32_t>(live.trees.size());
    for (std::size_t p = begin_leaf; p < live.leaves.size(); ++p) position_[live.leaves[p]] = static_cast<std::int32_t>(p);
    for (std::int32_t slot = begin_slot; slot < end_slot; ++slot) {
      if (first_segment_[slot] == last_segment_[slot]) continue;
      const std::size_t begin_run = live.runs.size();
      for (std::int32_t x = e.first_slot_side[slot]; x < e.first_slot_side[slot + 1]; ++x) {
        const std::int32_t side = e.slot_sides[x], leaf = position_[e.side_leaf[side]];
        if (leaf < 0) continue;
        const std::int32_t first = std::max(e.sides[side].first, first_segment_[slot]);
        const std::int32_t last = std::min(e.sides[side].last, last_segment_[slot]);
        if (first == first_segment_[slot] && last == last_segment_[slot]) continue;
        live.runs.push_back({leaf, first, last, side_cost_[side], 0.0});
      }
      if (live.runs.size() == begin_run) {  // no leaf cares for this feature any more
        base -= slot_cost_[slot];
        fold_messages(slot);
        continue;
      }
      live.slots.push_back(slot), live.slot_tree.push_back(tree_position);
      live.first_run.push_back(static_cast<std::int32_t>(live.runs.size()));
    }
    double least = infinity;
    for (std::size_t p = begin_leaf; p < live.leaves.size(); ++p) {
      const std::int32_t leaf = live.leaves[p];
      position_[leaf] = -1;
      const double* lead = task_->lead_of(leaf);
      for (std::size_t r = 0; r < R; ++r) {
        lead_[p * R + r] = lead[r];
        leaf_cost_[p] -= state.multiplier[r] * lead[r];
      }
      least = std::min(least, leaf_cost_[p]);
    }
    base_[tree_position] = base, least_[tree_position] = least;
    live.trees.push_back(tree);
    live.first_leaf.push_back(static_cast<std::int32_t>(live.leaves.size()));
  }
  live.first_of_feature.assign(e.cells.n_features + 1, 0);
  for (const std::int32_t slot : live.slots) ++live.first_of_feature[e.slot_feature[slot] + 1];
  for (std::size_t j = 0; j < e.cells.n_features; ++j) live.first_of_feature[j + 1] += live.first_of_feature[j];
  live.by_feature.resize(live.slots.size());
  next_.assign(live.first_of_feature.begin(), live.first_of_feature.end() - 1);
  for (std::size_t i = 0; i < live.slots.size(); ++i) live.by_feature[next_[e.slot_feature[live.slots[i]]]++] = static_cast<std::int32_t>(i);
  for (const std::size_t j : e.movable) {
    if (!trim(j)) return false;
  }
  return true;
}

double Bound::total(const Live& live) const {
  double g = state.fixed;
  for (std::size_t r = 0; r < task_->n_rivals; ++r) g += state.multiplier[r] * (task_->needed[r] - state.settled[r]);
  for (const std::size_t j : ensemble_.movable) {
    const double* own = state.own.data() + ensemble_.cells.first_cell(j);
    g += least_of(own + state.low[j], own + state.high[j] + 1);
  }
  for (std::size_t i = 0; i < live.trees.size(); ++i) g += base_[i] + least_[i];
  return g;
}

// Adds to a feature's table what was noted as steps between its cells; cells that are dropped stay so.
void Bound::add_steps(double* own, std::int32_t low, std::int32_t high) {
  double level = 0;
  for (std::int32_t k = low; k <= high; ++k) {
    level += steps_[k];
    own[k] = is_excluded(own[k]) ? excluded : own[k] + level;
  }
}

// One feature: pulls every tree's min-marginal excess over the feature's segments into φ_j, drops the cells whose φ_j reaches
// the gap, and hands every tree its share back. Returns the new bound.
double Bound::pass(Live& live, std::size_t j, double g, double limit) {
  const Ensemble& e = ensemble_;
  std::int32_t low = state.low[j], high = state.high[j];
  if (low == high) return g;
  const std::int32_t begin = live.first_of_feature[j], end = live.first_of_feature[j + 1];
  double* own = state.own.data() + e.cells.first_cell(j);
  const double before = least_of(own + low, own + high + 1);
  std::fill(steps_.begin() + low, steps_.begin() + high + 2, 0.0);
  for (std::int32_t f = begin; f < end; ++f) {
    const std::int32_t i = live.by_feature[f], slot = live.slots[i], tree = live.slot_tree[i], offset = e.first_segment[slot];
    double *message = state.message.data() + offset, *marginal = marginal_.data() + offset;
    const std::int32_t first = first_segment_[slot], last = last_segment_[slot];
    Live::Run* const runs_begin = live.runs.data() + live.first_run[i];
    Live::Run* const runs_end = live.runs.data() + live.first_run[i + 1];
    // By segment, the least cost of the tree's leaves besides this slot. The leaves that care for the segment are set aside
    // until their new costs are known; all others admit every segment.
    for (Live::Run* run = runs_begin; run != runs_end; ++run) {
      run->rest = leaf_cost_[run->leaf] - run->extra;
      leaf_cost_[run->leaf] = infinity;
    }
    const double least_free = least_of(leaf_cost_.data() + live.first_leaf[tree], leaf_cost_.data() + live.first_leaf[tree + 1]);
    for (std::int32_t s = first; s <= last; ++s) marginal[s] = least_free;
    for (const Live::Run* run = runs_begin; run != runs_end; ++run) {
      for (std::int32_t s = run->first; s <= run->last; ++s) marginal[s] = std::min(marginal[s], run->rest);
    }
    const double tree_cost = least_[tree] + slot_cost_[slot];
    previous_least_[f - begin] = least_[tree];
    least_[tree] = least_free;
    for (std::int32_t s = first; s <= last; ++s) {
      const std::int32_t from = std::max(e.segment_low[offset + s], low), to = std::min(e.segment_high[offset + s], high);
      if (is_excluded(message[s]) || is_excluded(marginal[s])) {
        for (std::int32_t k = from; k <= to; ++k) own[k] = excluded;
        message[s] = excluded;
        continue;
      }
      const double excess = marginal[s] + message[s] - tree_cost;
      if (excess > 0 && from <= to) {
        message[s] -= excess;
        steps_[from] += excess, steps_[to + 1] -= excess;
      }
    }
  }
  add_steps(own, low, high);
  const double least = least_of(own + low, own + high + 1);
  if (is_excluded(least)) return infinity;
  g += least - before;
  const double gap = limit - g;
  if (gap <= 0) return g;
  // A box with feature j in cell k costs at least g + φ_j(k) − min φ_j.
  for (std::int32_t k = low; k <= high; ++k) {
    own[k] -= least;
    if (own[k] >= gap) own[k] = excluded;
  }
  state.fixed += least;
  while (is_excluded(own[low])) ++low;
  while (is_excluded(own[high])) --high;
  state.low[j] = low, state.high[j] = high;
  if (begin == end) return g;

  const double share = 1.0 / (end - begin);
  ranges_.build(own, low, high);
  std::fill(steps_.begin() + low, steps_.begin() + high + 2, 0.0);
  for (std::int32_t f = begin; f < end; ++f) {
    const std::int32_t slot = live.slots[live.by_feature[f]], offset = e.first_segment[slot];
    double* message = state.message.data() + offset;
    for (std::int32_t s = first_segment_[slot]; s <= last_segment_[slot]; ++s) {
      const std::int32_t from = std::max(e.segment_low[offset + s], low), to = std::min(e.segment_high[offset + s], high);
      const double spare = from <= to ? ranges_.least(from, to) : excluded;
      if (is_excluded(spare)) {
        message[s] = excluded;
      } else if (spare > 0) {
        const double handed = spare * share;
        message[s] += handed;
        steps_[from] -= handed, steps_[to + 1] += handed;
      }
    }
  }
  add_steps(own, low, high);
  for (std::int32_t f = begin; f < end; ++f) {
    const std::int32_t i = live.by_feature[f], slot = live.slots[i], tree = live.slot_tree[i], offset = e.first_segment[slot];
    const double* message = state.message.data() + offset;
    const double slot_cost = least_of(message + first_segment_[slot], message + last_segment_[slot] + 1);
    double least_leaf = least_[tree];
    for (std::int32_t x = live.first_run[i]; x < live.first_run[i + 1]; ++x) {
      Live::Run& run = live.runs[x];
      double side_cost = excluded;
      for (std::int32_t s = run.first; s <= run.last; ++s) side_cost = std::min(side_cost, message[s]);
      const bool possible = !is_excluded(side_cost);
      run.extra = possible ? side_cost - slot_cost : 0.0;
      leaf_cost_[run.leaf] = possible ? run.rest + run.extra : excluded;
      least_leaf = std::min(least_leaf, leaf_cost_[run.leaf]);
    }
    if (is_excluded(least_leaf) || is_excluded(slot_cost)) return infinity;
    g += slot_cost - slot_cost_[slot] + least_leaf - previous_least_[f - begin];
    base_[tree] += slot_cost - slot_cost_[slot];
    slot_cost_[slot] = slot_cost, least_[tree] = least_leaf;
  }
  double rest = excluded;
  for (std::int32_t k = low; k <= high; ++k) {
    if (own[k] < 0 && own[k] > -1e-13) own[k] = 0;  // all of it was handed out, up to rounding
    rest = std::min(rest, own[k]);
  }
  return g + rest;
}

// A box in which a tree ends in a leaf costs at least the bound plus what the leaf costs more than the tree's best.
void Bound::drop_leaves(Live& live, double gap) {
  for (std::size_t i = 0; i < live.trees.size(); ++i) {
    const double most = least_[i] + gap;
    for (std::int32_t p = live.first_leaf[i]; p < live.first_leaf[i + 1]; ++p) {
      if (leaf_cost_[p] >= most) leaf_cost_[p] = excluded, live.leaves[p] = -1;
    }
  }
}

bool Bound::exhausted(const Live& parent, Live& live, double limit, int passes, bool root, const Stop& stop) {
  bound_ = -infinity;
  if (!clip_to_budget(limit)) return true;
  double previous = -infinity;
  for (int p = 0;; ++p) {
    if (p == 0) {
      if (!refresh(parent, live)) return true;
    } else if (p % passes_between_refreshes == 0) {
      if (!refresh(live, spare_)) return true;
      std::swap(live, spare_);
    }
    if (!root || p >= passes_before_multiplier || p == passes) {
      for (std::size_t r = 0; r < task_->n_rivals; ++r) {
        if (!choose_multiplier(live, r)) return true;
      }
    }
    double g = total(live);
    bound_ = std::max(bound_, g);
    if (bound_ >= limit) return true;
    if (p == passes || stop.now()) return false;
    const double worthwhile = root ? worthwhile_at_root : worthwhile_below;
    if (p >= (root ? 5 : 2) && g - previous < worthwhile * (limit - bound_)) return false;
    previous = g;
    const std::size_t n = ensemble_.movable.size();
    for (std::size_t i = 0; i < n; ++i) {
      g = pass(live, ensemble_.movable[p % 2 ? n - 1 - i : i], g, limit);
      if (g >= limit) return true;
    }
    drop_leaves(live, limit - g);
  }
}

}  // namespace fcca
