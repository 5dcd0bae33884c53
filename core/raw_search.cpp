#include "raw_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// Shallower trees are searched a little beyond the limit of the deeper ones, by this share of the weight. Their bounds are then more useful.
constexpr double share_beyond_limit = 0.1;
}  // namespace

template <class W>
struct RawSearch<W>::Node {
  const RawRows<W>& rows;
  std::int32_t depth;
  double limit;
  Solution best;
  double least = infinity;  // least bound of the splits that are solved or ruled out
  std::vector<Thresholds> columns{};
  std::vector<Sides> solved{};
  std::priority_queue<Interval> open{};

  // Only cheaper trees matter.
  double upper() const { return std::min(limit, best.cost); }
};

template <class W>
RawSearch<W>::RawSearch(RawRows<W> rows, std::vector<typename RawRows<W>::Kind> kinds, double penalty, std::uint64_t max_nodes,
                        const Stop& stop)
    : rows_(std::move(rows)),
      penalty_(penalty),
      tolerance_(1e-10 * std::max(rows_.weight, penalty)),
      effort_(max_nodes, stop),
      depth_two_(std::move(kinds), penalty, tolerance_, effort_) {}

// The best tree if it costs less than the limit. Otherwise the bound is at least the limit (up to the tolerance). If the search is
// stopped, the bound and the tree are valid, but need not meet.
template <class W>
typename RawSearch<W>::Solution RawSearch<W>::solve(const RawRows<W>& rows, std::int32_t depth, double limit) {
  const double as_leaf = rows.errors_of_leaf() + penalty_;
  if (depth == 0 || rows.n_rows < 2) return {as_leaf, as_leaf};
  if (depth == 1) {
    std::vector<double> by_column;
    const double cost = best_split(rows, penalty_, by_column).cost;
    return {cost, cost};
  }
  const auto limit_of = [&](std::int32_t d) { return d < depth ? limit + share_beyond_limit * rows.weight : limit; };
  const DepthTwoTree two = depth_two_.solve(rows, limit_of(2));
  Solution best{two.bound, two.cost};
  if (two.column >= 0) {
    best.tree = static_cast<std::int32_t>(trees_.size());
    trees_.push_back({two.column, two.rank, simple, simple});
  }
  for (std::int32_t d = 3; d <= depth; ++d) {
    // A tree of depth d or more has at least d + 1 leaves.
    const double least = (d + 1) * penalty_;
    if (effort_.stopped() || least >= std::min(limit, best.cost) - tolerance_) {
      best.bound = std::min(best.bound, least);
      break;
    }
    best = branch(rows, d, limit_of(d), best);
  }
  return best;
}

// The best tree of exactly this depth or less, given the best shallower tree.
template <class W>
typename RawSearch<W>::Solution RawSearch<W>::branch(const RawRows<W>& rows, std::int32_t depth, double limit, const Solution& shallower) {
  Node node{rows, depth, limit, shallower};
  // The ends of every column have all rows on one side: the other side is empty, and costs at least the penalty of its leaf.
  const Solution empty{penalty_, penalty_};
  node.solved = {{empty, shallower}, {shallower, empty}};
  node.columns.resize(rows.n_columns);
  Interval promising{0, -1, 0, 0, 0, 0, 0, 0};
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    if (rows.is_constant(j)) continue;
    Thresholds& thresholds = node.columns[j];
    const auto *order = rows.order_of(j), *ranks = rows.ranks_of(j);
    double moved = 0;
    for (std::size_t place = 0; place < rows.n_rows; ++place) {
      if (place == 0 || ranks[place] != ranks[place - 1]) {
        thresholds.place.push_back(static_cast<std::uint32_t>(place)), thresholds.moved.push_back(moved);
      }
      moved += rows.weight_of(order[place]);
    }
    thresholds.place.push_back(static_cast<std::uint32_t>(rows.n_rows)), thresholds.moved.push_back(rows.weight);
    const std::int32_t end = static_cast<std::int32_t>(thresholds.place.size()) - 1;
    const Interval all{2 * penalty_, static_cast<std::int32_t>(j), 1, end - 1, 0, end, 0, 1};
    // The first split of the best shallower tree comes first: it often leads to a good tree.
    if (shallower.tree != simple && trees_[shallower.tree].column == all.column) promising = all;
    else node.open.push(all);
  }
  if (promising.column >= 0) {
    const auto* ranks = rows.ranks_of(promising.column);
    const auto place = std::upper_bound(ranks, ranks + rows.n_rows, trees_[shallower.tree].rank) - ranks;
    const auto& places = node.columns[promising.column].place;
    const auto threshold = std::lower_bound(places.begin(), places.end(), static_cast<std::uint32_t>(place)) - places.begin();
    if (promising.first <= threshold && threshold <= promising.last) solve_threshold(node, promising, static_cast<std::int32_t>(threshold));
    else node.open.push(promising);
  }
  while (!node.open.empty()) {
    Interval interval = node.open.top();
    if (interval.bound >= node.upper() - tolerance_ || !effort_.enter_node()) {
      node.least = std::min(node.least, interval.bound);  // all other intervals have at least this bound
      break;
    }
    node.open.pop();
    if (!tighten(node, interval)) continue;
    solve_threshold(node, interval, middle(node.columns[interval.column], interval));
  }
  node.best.bound = std::min(node.least, node.best.cost);
  return node.best;
}

// Solves the first split at a threshold of an interval, and leaves the intervals on both sides of it open.
template <class W>
void RawSearch<W>::solve_threshold(Node& node, const Interval& interval, std::int32_t threshold) {
  Sides sides = bounds_from_neighbours(node, interval, threshold);
  solve_sides(node, interval, threshold, sides);
  node.least = std::min(node.least, sides.left.bound + sides.right.bound);
  if (sides.left.cost + sides.right.cost < node.best.cost - tolerance_) {
    const std::uint32_t place = node.columns[interval.column].place[threshold];
    node.best.cost = sides.left.cost + sides.right.cost, node.best.tree = static_cast<std::int32_t>(trees_.size());
    trees_.push_back({interval.column, node.rows.ranks_of(interval.column)[place - 1], sides.left.tree, sides.right.tree});
  }
  const std::size_t number = node.solved.size();
  node.solved.push_back(sides);
  Interval lower = interval, upper = interval;
  lower.last = threshold - 1, lower.above = threshold, lower.sides_above = number;
  upper.first = threshold + 1, upper.below = threshold, upper.sides_below = number;
  if (lower.first <= lower.last) node.open.push(lower);
  if (upper.first <= upper.last) node.open.push(upper);
}

// Bounds and trees of the sides of a split from the solved thresholds next to it.
//
// Between two thresholds, rows move from the right to the left. A side never costs less with more rows: a tree for all of them serves the
// fewer rows, at no more errors. And a tree for fewer rows serves all of them, at no more errors than the weight of the rows added. Hence a
// side costs at least what it costs with fewer rows, and at least what it costs with more rows minus their weight. In the same way, the tree of the neighbour
// with more rows costs no more here, and that of the neighbour with fewer rows costs at most the weight of the added rows more.
template <class W>
typename RawSearch<W>::Sides RawSearch<W>::bounds_from_neighbours(const Node& node, const Interval& interval, std::int32_t threshold) const {
  const std::vector<double>& moved = node.columns[interval.column].moved;
  const Sides &below = node.solved[interval.sides_below], &above = node.solved[interval.sides_above];
  const double from_below = moved[threshold] - moved[interval.below], to_above = moved[interval.above] - moved[threshold];
  const auto between = [](const Solution& fewer, double added, const Solution& more, double removed) {
    const double bound = std::max(fewer.bound, more.bound - removed);
    return more.cost <= fewer.cost + added ? Solution{bound, more.cost, more.tree} : Solution{bound, fewer.cost + added, fewer.tree};
  };
  return {between(below.left, from_below, above.left, to_above), between(above.right, to_above, below.right, from_below)};
}

// Takes the thresholds off the ends of an interval that cannot lead to a better tree. False: none is left, or the bound of the interval has
// risen, so that others may come first.
template <class W>
bool RawSearch<W>::tighten(Node& node, Interval& interval) const {
  const std::vector<double>& moved = node.columns[interval.column].moved;
  const Sides below = node.solved[interval.sides_below], above = node.solved[interval.sides_above];
  const double low = moved[interval.below], high = moved[interval.above], upper = node.upper() - tolerance_;
  const auto bound_of = [&](std::int32_t t) {  // the bounds of bounds_from_neighbours
    return std::max(below.left.bound, above.left.bound - (high - moved[t])) + std::max(above.right.bound, below.right.bound - (moved[t] - low));
  };
  double bound;
  while (interval.first <= interval.last && (bound = bound_of(interval.first)) >= upper) node.least = std::min(node.least, bound), ++interval.first;
  while (interval.first <= interval.last && (bound = bound_of(interval.last)) >= upper) node.least = std::min(node.least, bound), --interval.last;
  if (interval.first > interval.last) return false;
  bound = infinity;
  for (std::int32_t t = interval.first; t <= interval.last; ++t) bound = std::min(bound, bound_of(t));
  if (bound <= interval.bound + tolerance_) return true;
  interval.bound = bound;
  node.open.push(interval);
  return false;
}

// The threshold in the middle of an interval, by weight.
template <class W>
std::int32_t RawSearch<W>::middle(const Thresholds& thresholds, const Interval& interval) const {
  const auto first = thresholds.moved.begin() + interval.first, last = thresholds.moved.begin() + interval.last;
  const double half = (*first + *last) / 2;
  auto found = std::lower_bound(first, last, half);
  if (found != first && half - *(found - 1) < *found - half) --found;
  return static_cast<std::int32_t>(found - thresholds.moved.begin());
}

// Solves the sides of a split as far as needed. They are searched beyond the cost of the best tree, by the weight to the far end of
// the interval: a bound higher than needed here rules out that much of the neighbourhood.
template <class W>
void RawSearch<W>::solve_sides(Node& node, const Interval& interval, std::int32_t threshold, Sides& sides) {
  const Thresholds& thresholds = node.columns[interval.column];
  const double here = thresholds.moved[threshold];
  const double beyond = std::max(thresholds.moved[interval.last] - here, here - thresholds.moved[interval.first]);
  const std::size_t place = thresholds.place[threshold];
  while (side_rows_.size() <= static_cast<std::size_t>(node.depth)) side_rows_.emplace_back();
  RawRows<W>& rows = side_rows_[node.depth];
  const bool left_first = here >= node.rows.weight - here;  // the larger side: it fails earlier
  for (const bool is_left : {left_first, !left_first}) {
    Solution& own = is_left ? sides.left : sides.right;
    const double limit = node.upper() + beyond - (is_left ? sides.right : sides.left).bound;
    if (own.bound >= own.cost - tolerance_) own.bound = own.cost;  // the neighbours decide it
    if (own.bound >= std::min(own.cost, limit) - tolerance_) continue;
    node.rows.restrict_to(interval.column, is_left ? 0 : place, is_left ? place : node.rows.n_rows, scratch_, rows);
    const Solution found = solve(rows, node.depth - 1, std::min(own.cost, limit));
    if (found.cost < own.cost) own.cost = found.cost, own.tree = found.tree;
    own.bound = std::min(std::max(own.bound, found.bound), own.cost);
  }
}

// Adds a tree for the rows to `out` and returns its root. Where a split of the tree does not separate the rows, only one side is used.
template <class W>
std::int32_t RawSearch<W>::extract(const RawRows<W>& rows, std::int32_t tree, std::int32_t depth, std::vector<RawNode>& out) {
  std::int32_t column = -1;
  std::size_t place = 0;
  Tree sides{-1, 0, simple, simple};
  if (tree != simple) {
    sides = trees_[tree];
    column = sides.column;
    const auto* ranks = rows.ranks_of(column);
    place = std::upper_bound(ranks, ranks + rows.n_rows, sides.rank) - ranks;
    if (place == 0) return extract(rows, sides.right, depth - 1, out);
    if (place == rows.n_rows) return extract(rows, sides.left, depth - 1, out);
  } else if (depth > 0 && rows.n_rows > 0) {
    std::vector<double> by_column;
    const OneSplit split = best_split(rows, penalty_, by_column);
    column = split.column, place = split.place;
  }
  const std::int32_t at = static_cast<std::int32_t>(out.size());
  out.emplace_back();
  if (column < 0) return at;
  const auto* ranks = rows.ranks_of(column);
  const std::int32_t rank_left = ranks[place - 1], rank_right = ranks[place];
  if (tree == simple) depth = 1;
  RawRows<W> side;
  rows.restrict_to(column, 0, place, scratch_, side);
  const std::int32_t left = extract(side, sides.left, depth - 1, out);
  rows.restrict_to(column, place, rows.n_rows, scratch_, side);
  const std::int32_t right = extract(side, sides.right, depth - 1, out);
  out[at] = {column, rank_left, rank_right, left, right};
  return at;
}

template <class W>
RawTreeResult RawSearch<W>::run(std::int32_t max_depth) {
  RawTreeResult result;
  if (rows_.n_rows == 0) {  // every row costs the same whatever a leaf predicts
    result.cost = result.bound = penalty_, result.optimal = true, result.tree.emplace_back();
    return result;
  }
  const std::int32_t depth = static_cast<std::int32_t>(std::min<std::size_t>(max_depth, rows_.n_rows));  // every split separates some rows
  const Solution best = solve(rows_, depth, infinity);
  result.cost = best.cost;
  result.optimal = !effort_.stopped();
  result.bound = result.optimal ? best.cost : best.bound;
  result.nodes = effort_.nodes();
  extract(rows_, best.tree, depth, result.tree);
  return result;
}

template class RawSearch<std::int16_t>;
template class RawSearch<std::int32_t>;
template class RawSearch<double>;

}  // namespace fcca
