#include "raw_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "raw_error_costs.hpp"
#include "raw_leaf_costs.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// Shallower trees are searched a little beyond the limit of the deeper ones, by this share of the cost of a leaf. Their bounds are then
// more useful.
constexpr double share_beyond_limit = 0.1;
constexpr std::int32_t first_depth_of_stages = 4;
constexpr std::size_t least_forgotten = 64;  // fewer trees are not worth a pass
constexpr double shares_of_stages[] = {0.3, 0.5, 0.7, 0.9};  // of the cost of the best tree
}  // namespace

template <class Costs>
struct RawSearch<Costs>::Node {
  const Rows& rows;
  std::int32_t depth;
  RawLimits limits;     // -infinity for the slots that are not searched
  RawSolutions best;
  RawLimits upper{};    // only cheaper trees matter
  double dropped = 0;   // by how much all upper costs have dropped at least
  double slack = 0;     // how far beyond the upper costs to search, as a share of the weight moved
  std::vector<double> least{}, least_floor{};  // by slot: least bound of the splits that are solved or ruled out
  std::vector<Division> divisions{};           // of the slots that are searched
  std::size_t side_slots = 0;
  std::vector<Thresholds> columns{};
  std::vector<Sides> solved{};
  std::priority_queue<Interval> open{};

  void lower_upper() {
    double least_drop = infinity;
    for (std::size_t s = 0; s < best.size(); ++s) {
      const double lower = std::min(limits[s], best[s].cost);
      if (limits[s] > -infinity) least_drop = std::min(least_drop, upper[s] - lower);
      upper[s] = lower;
    }
    if (least_drop < infinity) dropped += least_drop;
  }
  void note(const SideBounds& bounds) {
    for (const Division& d : divisions) {
      least[d.slot] = std::min(least[d.slot], bounds.left[d.left] + bounds.right[d.right]);
      least_floor[d.slot] = std::min(least_floor[d.slot], bounds.left_floor[d.left] + bounds.right_floor[d.right]);
    }
  }
};

template <class Costs>
RawSearch<Costs>::RawSearch(Rows rows, Costs& costs, LeafBudget budget, RawEffort& effort)
    : rows_(std::move(rows)), costs_(costs), budget_(budget), penalty_(costs.penalty()), tolerance_(costs.tolerance()), effort_(effort) {}

// The limits of the search for shallower trees. The last slot of shallower trees serves all slots after it.
template <class Costs>
RawLimits RawSearch<Costs>::shallow_limits(const Rows& rows, std::int32_t depth, std::int32_t shallower, const RawLimits& limits) const {
  if (shallower == depth) return limits;
  RawLimits out(limits.begin(), limits.begin() + raw_slots(budget_, shallower));
  out.back() = *std::max_element(limits.begin() + out.size() - 1, limits.end());
  for (double& limit : out) limit += beyond_ * share_beyond_limit * costs_.scale(rows);
  return out;
}

// By slot, the best tree if it costs less than the limit. Otherwise the bound is at least the limit (up to the tolerance). If the search is
// stopped, the bound and the tree are valid, but need not meet.
template <class Costs>
RawSolutions RawSearch<Costs>::solve(const Rows& rows, std::int32_t depth, const RawLimits& limits) {
  const std::size_t n_slots = limits.size();
  RawSolutions best;
  if (depth == 0 || rows.n_rows < 2) {
    const double as_leaf = costs_.leaf(rows);
    return RawSolutions(n_slots, {as_leaf, costs_.leaf_floor(rows), as_leaf});
  }
  if (depth == 1) return costs_.depth_one(rows, n_slots);
  best = costs_.depth_two(rows, shallow_limits(rows, depth, 2, limits), trees_);
  for (std::int32_t d = 3; d <= depth; ++d) {
    best.resize(raw_slots(budget_, d), RawSolution(best.back()));
    const RawLimits here = shallow_limits(rows, depth, d, limits);
    // A tree of depth d or more has at least d + 1 leaves.
    const double least = (d + 1) * penalty_;
    bool is_open = false;
    for (std::size_t s = 0; s < best.size(); ++s) {
      const bool is_deep = !budget_.limited() || s >= static_cast<std::size_t>(d);
      is_open = is_open || (is_deep && least < std::min(here[s], best[s].cost) - tolerance_);
    }
    if (effort_.stopped() || !is_open) {
      best.resize(n_slots, RawSolution(best.back()));
      for (std::size_t s = budget_.limited() ? d : 0; s < n_slots; ++s) {
        best[s].bound = std::min(best[s].bound, least), best[s].floor = std::min(best[s].floor, least);
      }
      break;
    }
    best = branch(rows, d, here, best);
  }
  settle(best);
  return best;
}

// The best trees of exactly this depth or less, given the best shallower trees.
template <class Costs>
RawSolutions RawSearch<Costs>::branch(const Rows& rows, std::int32_t depth, const RawLimits& limits, const RawSolutions& shallower) {
  const std::size_t n_slots = shallower.size();
  Node node{rows, depth, limits, shallower};
  node.upper.assign(n_slots, infinity), node.least.assign(n_slots, infinity), node.least_floor.assign(n_slots, infinity);
  node.side_slots = raw_slots(budget_, depth - 1);
  // Trees of this depth have at least depth + 1 leaves. The shallower ones are all there is for fewer leaves.
  for (std::size_t s = 0; budget_.limited() && s < static_cast<std::size_t>(depth); ++s) node.limits[s] = -infinity;
  budget_.for_each_division(node.side_slots, [&](std::size_t slot, std::size_t left, std::size_t right) {
    if (slot < n_slots && node.limits[slot] > -infinity) node.divisions.push_back({slot, left, right});
  });
  node.lower_upper();
  list_thresholds(node);
  node.slack = beyond_ * costs_.slack(rows);
  const bool is_first_only = std::exchange(first_split_only_, false);
  open_columns(node, shallower);
  while (!is_first_only && !node.open.empty()) {
    Interval interval = node.open.top();
    const double excess = interval.excess + node.dropped;
    if (excess >= -tolerance_ || !effort_.enter_node()) {
      for (const Division& d : node.divisions) node.least[d.slot] = std::min(node.least[d.slot], node.upper[d.slot] + excess);
      break;
    }
    node.open.pop();
    if (!tighten(node, interval)) continue;
    solve_threshold(node, interval, middle(node.columns[interval.column], interval));
  }
  while (!node.open.empty() && costs_.has_minimum()) {
    const Interval interval = node.open.top();
    node.open.pop();
    for (std::int32_t t = interval.first; t <= interval.last; ++t) bound_sides(node, interval, t, true, bounds_), node.note(bounds_);
  }
  const double least = (depth + 1) * penalty_;
  for (std::size_t s = budget_.limited() ? depth : 0; s < n_slots; ++s) {
    RawSolution& own = node.best[s];
    const bool searched = node.limits[s] > -infinity && !is_first_only;
    own.bound = std::min(searched ? node.least[s] : std::min(own.bound, least), own.cost);
    own.floor = costs_.has_minimum() ? std::min({own.floor, std::max(least, searched ? node.least_floor[s] : least)}) : own.bound;
  }
  return node.best;
}

template <class Costs>
void RawSearch<Costs>::list_thresholds(Node& node) {
  const Rows& rows = node.rows;
  costs_.prepare_removals(rows);
  node.columns.resize(rows.n_columns);
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    if (rows.is_constant(j)) continue;
    Thresholds& thresholds = node.columns[j];
    const auto *order = rows.order_of(j), *ranks = rows.ranks_of(j);
    double moved = 0;
    for (std::size_t place = 0; place < rows.n_rows; ++place) {
      if (place == 0 || ranks[place] != ranks[place - 1]) {
        thresholds.place.push_back(static_cast<std::uint32_t>(place)), thresholds.moved.push_back(moved);
      }
      moved += costs_.removal(rows, order[place]);
    }
    thresholds.place.push_back(static_cast<std::uint32_t>(rows.n_rows)), thresholds.moved.push_back(moved);
  }
}

// Opens one interval per column. The first split of the best shallower tree is solved first: it often leads to a good tree.
template <class Costs>
void RawSearch<Costs>::open_columns(Node& node, const RawSolutions& shallower) {
  const Rows& rows = node.rows;
  // The ends of every column have all rows on one side: the other side is empty, and costs at least the penalty of its leaf. With a minimum
  // size, it is not a leaf.
  const RawSolutions empty(node.side_slots, {penalty_, penalty_, costs_.has_minimum() ? infinity : penalty_});
  const RawSolutions all(shallower.begin(), shallower.begin() + node.side_slots);
  node.solved = {{empty, all}, {all, empty}};
  double excess = infinity;
  for (const Division& d : node.divisions) excess = std::min(excess, 2 * penalty_ - node.upper[d.slot]);
  const std::int32_t tree = shallower.back().tree;
  const std::int32_t first = tree == RawSolution::simple ? -1 : trees_[tree].column;
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    if (node.columns[j].place.empty()) continue;
    const std::int32_t end = static_cast<std::int32_t>(node.columns[j].place.size()) - 1;
    const Interval all_of_column{excess - node.dropped, static_cast<std::int32_t>(j), 1, end - 1, 0, end, 0, 1};
    if (first == all_of_column.column) {
      const auto* ranks = rows.ranks_of(first);
      const auto place = std::upper_bound(ranks, ranks + rows.n_rows, trees_[tree].rank) - ranks;
      const auto& places = node.columns[first].place;
      const auto threshold = std::lower_bound(places.begin(), places.end(), static_cast<std::uint32_t>(place)) - places.begin();
      if (1 <= threshold && threshold < end) {
        solve_threshold(node, all_of_column, static_cast<std::int32_t>(threshold));
        continue;
      }
    }
    node.open.push(all_of_column);
  }
}

// Solves the first split at a threshold of an interval, and leaves the intervals on both sides of it open.
template <class Costs>
void RawSearch<Costs>::solve_threshold(Node& node, const Interval& interval, std::int32_t threshold) {
  Sides sides = bounds_from_neighbours(node, interval, threshold);
  solve_sides(node, interval, threshold, sides);
  offer(node, interval, threshold, sides);
  const std::size_t number = node.solved.size();
  node.solved.push_back(std::move(sides));
  Interval lower = interval, upper = interval;
  lower.last = threshold - 1, lower.above = threshold, lower.sides_above = number;
  upper.first = threshold + 1, upper.below = threshold, upper.sides_below = number;
  if (lower.first <= lower.last) node.open.push(lower);
  if (upper.first <= upper.last) node.open.push(upper);
}

// Notes the bounds of a solved split, and its trees if they are better.
template <class Costs>
void RawSearch<Costs>::offer(Node& node, const Interval& interval, std::int32_t threshold, const Sides& sides) {
  for (const Division& d : node.divisions) {
    const RawSolution &left = sides.left[d.left], &right = sides.right[d.right];
    node.least[d.slot] = std::min(node.least[d.slot], left.bound + right.bound);
    node.least_floor[d.slot] = std::min(node.least_floor[d.slot], left.floor + right.floor);
    if (left.cost + right.cost >= node.best[d.slot].cost - tolerance_) continue;
    const std::uint32_t place = node.columns[interval.column].place[threshold];
    node.best[d.slot].cost = left.cost + right.cost, node.best[d.slot].tree = static_cast<std::int32_t>(trees_.size());
    trees_.push_back({interval.column, node.rows.ranks_of(interval.column)[place - 1], left.tree, right.tree, d.left, d.right});
  }
  node.lower_upper();
}

// Bounds and trees of the sides of a split from the solved thresholds next to it.
//
// Between two thresholds, rows move from the right to the left. A side never costs less with more rows: a tree for all of them serves the
// fewer rows, at no more cost. And a tree for fewer rows serves all of them, at no more cost than most_of the rows added. Hence a
// side costs at least what it costs with fewer rows, and at least what it costs with more rows minus most_of the rows removed. In the same
// way, the tree of the neighbour with more rows costs no more here, and that of the neighbour with fewer rows at most most_of the added
// rows more.
//
// With a minimum size of leaves, a tree for more rows need not serve fewer: its leaves may become too small. So only the floor of fewer
// rows is a bound for more, because it holds for trees of leaves of any size.
template <class Costs>
typename RawSearch<Costs>::Sides RawSearch<Costs>::bounds_from_neighbours(const Node& node, const Interval& interval, std::int32_t threshold) const {
  const std::vector<double>& moved = node.columns[interval.column].moved;
  const Sides &below = node.solved[interval.sides_below], &above = node.solved[interval.sides_above];
  const double from_below = moved[threshold] - moved[interval.below], to_above = moved[interval.above] - moved[threshold];
  const auto between = [&](const RawSolutions& fewer, double added, const RawSolutions& more, double removed) {
    RawSolutions out(node.side_slots);
    for (std::size_t s = 0; s < out.size(); ++s) {
      out[s] = {std::max(fewer[s].floor, more[s].bound - removed), std::max(fewer[s].floor, more[s].floor - removed), fewer[s].cost + added,
                fewer[s].tree};
      if (!costs_.has_minimum() && more[s].cost <= out[s].cost) out[s].cost = more[s].cost, out[s].tree = more[s].tree;
    }
    return out;
  };
  return {between(below.left, from_below, above.left, to_above), between(above.right, to_above, below.right, from_below)};
}

// The bounds of bounds_from_neighbours, with or without the floors.
template <class Costs>
void RawSearch<Costs>::bound_sides(const Node& node, const Interval& interval, std::int32_t threshold, bool floors, SideBounds& bounds) const {
  const std::vector<double>& moved = node.columns[interval.column].moved;
  const Sides &below = node.solved[interval.sides_below], &above = node.solved[interval.sides_above];
  const double to_above = moved[interval.above] - moved[threshold], from_below = moved[threshold] - moved[interval.below];
  bounds.left.resize(node.side_slots), bounds.right.resize(node.side_slots);
  for (std::size_t s = 0; s < node.side_slots; ++s) {
    bounds.left[s] = std::max(below.left[s].floor, above.left[s].bound - to_above);
    bounds.right[s] = std::max(above.right[s].floor, below.right[s].bound - from_below);
  }
  if (!floors) return;
  bounds.left_floor.resize(node.side_slots), bounds.right_floor.resize(node.side_slots);
  for (std::size_t s = 0; s < node.side_slots; ++s) {
    bounds.left_floor[s] = std::max(below.left[s].floor, above.left[s].floor - to_above);
    bounds.right_floor[s] = std::max(above.right[s].floor, below.right[s].floor - from_below);
  }
}

template <class Costs>
double RawSearch<Costs>::excess_of(const Node& node, const SideBounds& bounds) const {
  double excess = infinity;
  for (const Division& d : node.divisions) excess = std::min(excess, bounds.left[d.left] + bounds.right[d.right] - node.upper[d.slot]);
  return excess;
}

template <class Costs>
bool RawSearch<Costs>::drop_if_closed(Node& node, const Interval& interval, std::int32_t threshold) {
  bound_sides(node, interval, threshold, false, bounds_);
  if (excess_of(node, bounds_) < -tolerance_) return false;
  bound_sides(node, interval, threshold, true, bounds_);
  node.note(bounds_);
  return true;
}

// Takes the thresholds off the ends of an interval that cannot lead to a better tree. False: none is left, or the excess of the interval has
// risen, so that others may come first.
template <class Costs>
bool RawSearch<Costs>::tighten(Node& node, Interval& interval) {
  while (interval.first <= interval.last && drop_if_closed(node, interval, interval.first)) ++interval.first;
  while (interval.first <= interval.last && drop_if_closed(node, interval, interval.last)) --interval.last;
  if (interval.first > interval.last) return false;
  double excess = infinity;
  for (std::int32_t t = interval.first; t <= interval.last; ++t) {
    bound_sides(node, interval, t, false, bounds_);
    excess = std::min(excess, excess_of(node, bounds_));
  }
  if (excess <= interval.excess + node.dropped + tolerance_) return true;
  interval.excess = excess - node.dropped;
  node.open.push(interval);
  return false;
}

// The threshold in the middle of an interval, by weight.
template <class Costs>
std::int32_t RawSearch<Costs>::middle(const Thresholds& thresholds, const Interval& interval) const {
  const auto first = thresholds.moved.begin() + interval.first, last = thresholds.moved.begin() + interval.last;
  const double half = (*first + *last) / 2;
  auto found = std::lower_bound(first, last, half);
  if (found != first && half - *(found - 1) < *found - half) --found;
  return static_cast<std::int32_t>(found - thresholds.moved.begin());
}

// The limits, by slot, of the trees of one side, and `beyond` more. False if no tree of this side is needed.
template <class Costs>
bool RawSearch<Costs>::set_side_limits(const Node& node, const Sides& sides, bool is_left, double beyond, RawLimits& limits) const {
  const RawSolutions &own = is_left ? sides.left : sides.right, &other = is_left ? sides.right : sides.left;
  limits.assign(node.side_slots, -infinity);
  for (const Division& d : node.divisions) {
    const std::size_t here = is_left ? d.left : d.right, there = is_left ? d.right : d.left;
    if (other[there].bound < infinity) limits[here] = std::max(limits[here], node.upper[d.slot] + beyond - other[there].bound);
  }
  bool any = false;
  for (std::size_t s = 0; s < limits.size(); ++s) {
    limits[s] = std::min(limits[s], own[s].cost);
    if (own[s].bound >= limits[s] - tolerance_) limits[s] = -infinity;
    any = any || limits[s] > -infinity;
  }
  return any;
}

// Solves the sides of a split as far as needed. They are searched beyond the cost of the best tree, in proportion to the weight to the far
// end of the interval: a bound higher than needed here rules out a part of the neighbourhood.
template <class Costs>
void RawSearch<Costs>::solve_sides(Node& node, const Interval& interval, std::int32_t threshold, Sides& sides) {
  const Thresholds& thresholds = node.columns[interval.column];
  const double here = thresholds.moved[threshold];
  const double beyond = node.slack * std::max(thresholds.moved[interval.last] - here, here - thresholds.moved[interval.first]);
  const std::size_t place = thresholds.place[threshold];
  while (side_rows_.size() <= static_cast<std::size_t>(node.depth)) side_rows_.emplace_back();
  Rows& rows = side_rows_[node.depth];
  const bool left_first = here >= thresholds.moved.back() - here;  // the larger side: it fails earlier
  RawLimits limits;
  for (const bool is_left : {left_first, !left_first}) {
    RawSolutions& own = is_left ? sides.left : sides.right;
    for (RawSolution& solution : own) {
      if (solution.bound >= solution.cost - tolerance_) solution.bound = solution.cost;  // the neighbours decide it
      if (!costs_.has_minimum()) solution.floor = solution.bound;
    }
    if (!set_side_limits(node, sides, is_left, beyond, limits)) continue;
    node.rows.restrict_to(interval.column, is_left ? 0 : place, is_left ? place : node.rows.n_rows, scratch_, rows);
    const std::size_t n_before = trees_.size();
    RawSolutions found = solve(rows, node.depth - 1, limits);
    forget_trees(n_before, found);
    for (std::size_t s = 0; s < own.size(); ++s) {
      if (found[s].cost < own[s].cost) own[s].cost = found[s].cost, own[s].tree = found[s].tree;
      own[s].bound = std::max(own[s].bound, found[s].bound), own[s].floor = std::max(own[s].floor, found[s].floor);
    }
    settle(own);
  }
}

// Of the trees from a number on, keeps those that the solutions use, and numbers them again. A tree comes after the trees of its sides.
template <class Costs>
void RawSearch<Costs>::forget_trees(std::size_t first, RawSolutions& solutions) {
  const std::size_t n = trees_.size() - first;
  if (n < least_forgotten) return;
  std::vector<std::int32_t> number(n, RawSolution::simple);  // RawSolution::simple: not used
  const auto mark = [&](std::int32_t tree) {
    if (tree >= static_cast<std::int32_t>(first)) number[tree - first] = tree;
  };
  for (const RawSolution& solution : solutions) mark(solution.tree);
  for (std::size_t at = n; at-- > 0;) {
    if (number[at] != RawSolution::simple) mark(trees_[first + at].left), mark(trees_[first + at].right);
  }
  const auto renumber = [&](std::int32_t& tree) {
    if (tree >= static_cast<std::int32_t>(first)) tree = number[tree - first];
  };
  std::size_t next = first;
  for (std::size_t at = 0; at < n; ++at) {
    if (number[at] == RawSolution::simple) continue;
    RawSplitTree& tree = trees_[next] = trees_[first + at];
    renumber(tree.left), renumber(tree.right);
    number[at] = static_cast<std::int32_t>(next++);
  }
  trees_.resize(next);
  for (RawSolution& solution : solutions) renumber(solution.tree);
}

// Adds a tree for the rows to `out` and returns its root. Where a split of the tree does not separate the rows, only one side is used.
template <class Costs>
std::int32_t RawSearch<Costs>::extract(const Rows& rows, std::int32_t tree, std::size_t slot, std::int32_t depth, std::vector<RawNode>& out) {
  std::int32_t column = -1;
  std::size_t place = 0;
  RawSplitTree sides{-1, 0, RawSolution::simple, RawSolution::simple, 0, 0};
  if (tree != RawSolution::simple) {
    sides = trees_[tree];
    column = sides.column;
    const auto* ranks = rows.ranks_of(column);
    place = std::upper_bound(ranks, ranks + rows.n_rows, sides.rank) - ranks;
    if (place == 0) return extract(rows, sides.right, sides.right_slot, depth - 1, out);
    if (place == rows.n_rows) return extract(rows, sides.left, sides.left_slot, depth - 1, out);
  } else if (depth > 0 && rows.n_rows > 0 && slot >= budget_.slot_of(2)) {
    const OneSplit split = costs_.best_split(rows);
    column = split.column, place = split.place;
  }
  const std::int32_t at = static_cast<std::int32_t>(out.size());
  out.emplace_back();
  if (column < 0) return at;
  const auto* ranks = rows.ranks_of(column);
  const std::int32_t rank_left = ranks[place - 1], rank_right = ranks[place];
  if (tree == RawSolution::simple) depth = 1;
  Rows side;
  rows.restrict_to(column, 0, place, scratch_, side);
  const std::int32_t left = extract(side, sides.left, sides.left_slot, depth - 1, out);
  rows.restrict_to(column, place, rows.n_rows, scratch_, side);
  const std::int32_t right = extract(side, sides.right, sides.right_slot, depth - 1, out);
  out[at] = {column, rank_left, rank_right, left, right};
  return at;
}

// Searches deep trees with rising limits: a low limit is shown to be a lower bound long before the optimum is, and stays valid if the search
// is stopped later. Before that, shallower trees and deep trees with the first split of the best of them are searched, for a good tree.
template <class Costs>
RawSolution RawSearch<Costs>::solve_by_stages(std::int32_t depth) {
  RawSolution best{0, 0, infinity};
  const auto limits_of = [&](std::int32_t to_depth, double limit) {
    RawLimits limits(raw_slots(budget_, to_depth), -infinity);
    limits.back() = limit;
    return limits;
  };
  const auto keep = [&](const RawSolution& found) {
    if (found.cost < best.cost) best.cost = found.cost, best.tree = found.tree;
  };
  const auto stage = [&](std::int32_t to_depth, double limit) {
    RawSolutions solutions = solve(rows_, to_depth, limits_of(to_depth, limit));
    const RawSolution& found = solutions.back();
    keep(found);
    // Deeper trees have at least to_depth + 2 leaves.
    const double bound = to_depth < depth ? std::min(found.bound, (to_depth + 2) * penalty_) : found.bound;
    best.bound = std::min(std::max(best.bound, bound), best.cost);
    return solutions;
  };
  if (Costs::has_stages && depth >= first_depth_of_stages) {
    RawSolutions shallower = stage(first_depth_of_stages - 1, infinity);
    beyond_ = 0;
    if (!effort_.stopped()) {
      const RawLimits limits = limits_of(first_depth_of_stages, best.cost);
      shallower.resize(limits.size(), RawSolution(shallower.back()));
      first_split_only_ = true;
      keep(branch(rows_, first_depth_of_stages, limits, shallower).back());
    }
    for (const double share : shares_of_stages) {
      if (!effort_.stopped()) stage(depth, share * best.cost);
    }
    beyond_ = 1;
  }
  if (!effort_.stopped()) stage(depth, best.cost);
  return best;
}

template <class Costs>
RawTreeResult RawSearch<Costs>::run(std::int32_t max_depth) {
  RawTreeResult result;
  if (rows_.n_rows == 0) {  // every row costs the same whatever a leaf predicts
    result.cost = result.bound = penalty_, result.optimal = true, result.tree.emplace_back();
    return result;
  }
  std::int32_t depth = static_cast<std::int32_t>(std::min<std::size_t>(max_depth, rows_.n_rows));  // every split separates some rows
  depth = static_cast<std::int32_t>(std::min<std::int64_t>(depth, budget_.max_leaves() - 1));
  if (costs_.leaf(rows_) == infinity) depth = 0;  // too small for two leaves
  const RawSolution best = depth == 0 ? RawSolution{0, 0, costs_.leaf_floor(rows_)} : solve_by_stages(depth);  // the root may be a leaf of any size
  result.cost = best.cost;
  result.optimal = !effort_.stopped();
  result.bound = result.optimal ? best.cost : std::min(best.bound, best.cost);
  result.nodes = effort_.nodes();
  extract(rows_, best.tree, raw_slots(budget_, depth) - 1, depth, result.tree);
  return result;
}

template class RawSearch<RawErrorCosts<std::int16_t>>;
template class RawSearch<RawErrorCosts<std::int32_t>>;
template class RawSearch<RawErrorCosts<double>>;
template class RawSearch<RawLeafCosts<std::int32_t>>;
template class RawSearch<RawLeafCosts<double>>;

}  // namespace fcca
