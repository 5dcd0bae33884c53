#include "ensemble_bound.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fcca {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int passes_between_refreshes = 4;
// A node's passes end when one has closed less than this share of the gap.
constexpr double worthwhile_at_root = 0.08, worthwhile_below = 0.05;
// Early passes at the root only move messages, because multipliers chosen before the first passes are poor.
constexpr int passes_before_multiplier = 2;
// A tree can be given only the least φ_j of a segment's cells. Further rounds give away what the first one leaves. With rules between
// features, there are more cells, and these rounds cost more than they save.
constexpr int rounds_of_sharing = 3;

// Four at a time, which the processor can compute in parallel.
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

void Bound::begin(const Task& task, double unit, Live& all) {
  task_ = &task, fixed_cost_ = task.fixed_cost / unit;
  boxes_.build(*task.ensemble);
  const std::size_t n_trees = task.ensemble->trees.n_trees, n_leaves = boxes_.n_leaves(), n_slots = boxes_.n_slots();
  n_leaves_ = n_leaves;
  for (auto* by_tree : {&base_, &least_, &previous_least_}) by_tree->resize(n_trees);
  trial_leaf_.resize(n_trees);
  leaf_cost_.resize(n_leaves), lead_.resize(n_leaves * task.n_rivals);
  slot_cost_.resize(n_slots), first_segment_.resize(n_slots), last_segment_.resize(n_slots);
  marginal_.resize(boxes_.n_segments());
  std::int64_t most_cuts = 0;
  for (const std::size_t j : movable()) most_cuts = std::max(most_cuts, task.ensemble->cells.n_cuts(j));
  steps_.resize(most_cuts + 2);

  cost_.resize(task.cost.size());
  for (std::size_t i = 0; i < cost_.size(); ++i) cost_[i] = std::min(excluded, task.cost[i] / unit);
  state.message.assign(boxes_.n_segments(), 0.0);
  state.own = cost_;
  state.low = task.low, state.high = task.high;
  state.fixed = task.fixed_cost / unit;
  state.multiplier.assign(task.n_rivals, 0.0);
  state.settled.assign(task.n_rivals, 0.0);

  all.trees.resize(n_trees), all.leaves.resize(n_leaves);
  std::iota(all.trees.begin(), all.trees.end(), 0), std::iota(all.leaves.begin(), all.leaves.end(), 0);
  all.first_leaf = boxes_.first_leaf;
  cheap_leaf_.assign(boxes_.first_leaf.begin(), boxes_.first_leaf.end() - 1);
  strong_leaf_ = cheap_leaf_;
}

// Drops cells at the ends of the box. This is valid because every other feature costs at least its cheapest cell. A cell that costs more
// than the limit minus these costs is in no counterfactual below the limit.
bool Bound::clip_to_budget(double limit) {
  auto nearest = [&](std::size_t j) { return task_->cheapest(j, state.low[j], state.high[j], cost_.data() + first_cell(j)); };
  double least = fixed_cost_;
  nearest_cost_.resize(task_->ensemble->cells.n_features);
  for (const std::size_t j : movable()) least += nearest_cost_[j] = cost_[first_cell(j) + nearest(j)];
  limits_moves_ = task_->rules != nullptr && task_->rules->max_changes() > 0;
  moves_left_ = 0;
  if (limits_moves_) {
    moves_left_ = task_->rules->max_changes();
    for (const std::size_t j : movable()) moves_left_ -= task_->own[j] < state.low[j] || state.high[j] < task_->own[j];
  }
  budget_ = limit - least;
  if (budget_ <= 0) return false;
  for (const std::size_t j : movable()) {
    const double* cost = cost_.data() + first_cell(j);
    const std::int32_t near = nearest(j);
    const double budget = budget_ + cost[near];
    while (state.low[j] < near && cost[state.low[j]] >= budget) ++state.low[j];
    while (state.high[j] > near && cost[state.high[j]] >= budget) --state.high[j];
  }
  return true;
}

double Bound::least_own(std::size_t j) const {
  const double* own = state.own.data() + first_cell(j);
  return least_of(own + state.low[j], own + state.high[j] + 1);
}

// The bound g defined in ensemble_bound.hpp.
double Bound::total(const Live& live) const {
  double g = state.fixed;
  for (std::size_t r = 0; r < task_->n_rivals; ++r) g += state.multiplier[r] * (task_->needed[r] - state.settled[r]);
  for (const std::size_t j : movable()) g += least_own(j);
  for (std::size_t i = 0; i < live.trees.size(); ++i) g += base_[i] + least_[i];
  return g;
}

// Adds the steps between a feature's cells to its table. Dropped cells stay dropped.
void Bound::add_steps(double* own, std::int32_t low, std::int32_t high) {
  double level = 0;
  for (std::int32_t k = low; k <= high; ++k) {
    level += steps_[k];
    own[k] = is_excluded(own[k]) ? excluded : own[k] + level;
  }
}

// Processes one feature: moves every tree's excess over the feature's segments into φ_j, drops the cells whose φ_j reaches the gap, and
// gives every tree its share back. Returns the new bound.
double Bound::pass(Live& live, std::size_t j, double g, double limit) {
  if (state.low[j] == state.high[j]) return g;
  const double before = least_own(j);
  pull_excess(live, j);
  const double least = least_own(j);
  if (is_excluded(least)) return infinity;
  g += least - before;
  const double gap = limit - g;
  if (gap <= 0) return g;
  drop_cells(j, least, gap);
  if (live.first_of_feature[j] == live.first_of_feature[j + 1]) return g;
  const int rounds = task_->rules == nullptr ? rounds_of_sharing : 1;
  for (int round = 0; round < rounds && hand_out(live, j); ++round) {}
  g = reprice_trees(live, j, g);
  if (g == infinity) return g;
  double* own = state.own.data() + first_cell(j);
  double rest = excluded;
  for (std::int32_t k = state.low[j]; k <= state.high[j]; ++k) {
    if (own[k] < 0 && own[k] > -1e-13) own[k] = 0;  // all of it was given to the trees, up to rounding
    rest = std::min(rest, own[k]);
  }
  return g + rest;
}

// Moves the min-marginal excess of the trees to φ_j: the extra cost of a tree in a segment compared with its best segment. This does not
// change the trees' best cost, so the bound cannot fall. The leaves that admit only some segments are set aside. reprice_trees
// recomputes their costs.
void Bound::pull_excess(Live& live, std::size_t j) {
  const LeafBoxes& e = boxes_;
  const std::int32_t low = state.low[j], high = state.high[j];
  const std::int32_t begin = live.first_of_feature[j], end = live.first_of_feature[j + 1];
  double* own = state.own.data() + first_cell(j);
  std::fill(steps_.begin() + low, steps_.begin() + high + 2, 0.0);
  for (std::int32_t f = begin; f < end; ++f) {
    const std::int32_t i = live.by_feature[f], slot = live.slots[i], tree = live.slot_tree[i], offset = e.first_segment[slot];
    double *message = state.message.data() + offset, *marginal = marginal_.data() + offset;
    const std::int32_t first = first_segment_[slot], last = last_segment_[slot];
    Live::Run* const runs_begin = live.runs.data() + live.first_run[i];
    Live::Run* const runs_end = live.runs.data() + live.first_run[i + 1];
    // The least cost of the tree's leaves without this slot, by segment. Leaves that are not set aside admit every segment.
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
}

// Moves the least φ_j into the fixed cost, and drops the cells whose φ_j then reaches the gap. This is valid because a point with feature
// j in cell k pays φ_j(k) instead of the minimum, so it costs at least g + φ_j(k) − min φ_j.
void Bound::drop_cells(std::size_t j, double least, double gap) {
  double* own = state.own.data() + first_cell(j);
  std::int32_t low = state.low[j], high = state.high[j];
  for (std::int32_t k = low; k <= high; ++k) {
    own[k] -= least;
    if (own[k] >= gap) own[k] = excluded;
  }
  state.fixed += least;
  while (is_excluded(own[low])) ++low;
  while (is_excluded(own[high])) --high;
  state.low[j] = low, state.high[j] = high;
}

// Gives every tree the same share of φ_j. In each segment, it is the share of the least φ_j of its cells, so that φ_j stays non-negative.
// Returns true if another round may give away more.
bool Bound::hand_out(const Live& live, std::size_t j) {
  const LeafBoxes& e = boxes_;
  const std::int32_t low = state.low[j], high = state.high[j];
  const std::int32_t begin = live.first_of_feature[j], end = live.first_of_feature[j + 1];
  double* own = state.own.data() + first_cell(j);
  const double share = 1.0 / (end - begin);
  bool handed_out = false;
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
        handed_out = true;
        const double handed = spare * share;
        message[s] += handed;
        steps_[from] -= handed, steps_[to + 1] += handed;
      }
    }
  }
  add_steps(own, low, high);
  return handed_out && end - begin > 1;
}

// Recomputes the costs of the trees that test feature j under its new messages. Returns the bound; infinite if a tree has no leaf left.
double Bound::reprice_trees(Live& live, std::size_t j, double g) {
  const std::int32_t begin = live.first_of_feature[j], end = live.first_of_feature[j + 1];
  for (std::int32_t f = begin; f < end; ++f) {
    const std::int32_t i = live.by_feature[f], slot = live.slots[i], tree = live.slot_tree[i];
    const double* message = state.message.data() + boxes_.first_segment[slot];
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
  return g;
}

// Drops the leaves that cost at least gap more than the best leaf of their tree. This is valid because a point in such a leaf pays its cost
// instead of the cost of the best leaf. So the point costs at least the bound plus the difference.
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
    const std::size_t n = movable().size();
    for (std::size_t i = 0; i < n; ++i) {
      g = pass(live, movable()[p % 2 ? n - 1 - i : i], g, limit);
      if (g >= limit) return true;
    }
    drop_leaves(live, limit - g);
  }
}

}  // namespace fcca
