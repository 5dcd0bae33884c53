#include "raw_leaf_costs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t few_kinds = 64;
}  // namespace

template <class W>
RawLeafCosts<W>::RawLeafCosts(const LeafCost& cost, LeafBudget budget, std::vector<typename Rows::Kind> kinds, double scale, double penalty,
                              RawEffort& effort)
    : cost_(cost), budget_(budget), kinds_(std::move(kinds)), penalty_(penalty), tolerance_(1e-10 * std::max(scale, penalty)), effort_(effort),
      few_kinds_(kinds_.size() <= few_kinds), splits_(cost) {}

// The rows at hand weigh less than all rows, so a row can add less to one of their leaves.
template <class W>
void RawLeafCosts<W>::prepare_removals(const Rows& rows) {
  std::vector<double> weight(cost_.n_classes(), 0.0);
  const auto most = [&](double net, std::size_t label) {
    weight[label] = net;
    const double removal = net > rows.weight ? 0 : cost_.most_of(weight.data(), rows.weight);
    weight[label] = 0;
    return removal;
  };
  removal_.clear();
  if (few_kinds_) {
    for (const auto& kind : kinds_) removal_.push_back(most(static_cast<double>(kind.net), kind.label));
  } else {
    for (std::size_t row = 0; row < rows.n_rows; ++row) removal_.push_back(most(static_cast<double>(rows.net[row]), rows.label[row]));
  }
}

// Most rows add far less to the cost of a tree than they can: on average, at most their share of the cost of a leaf. Twice this share was the
// fastest in trials.
template <class W>
double RawLeafCosts<W>::slack(const Rows& rows) const {
  double moved = 0;
  for (std::size_t row = 0; row < rows.n_rows; ++row) moved += removal(rows, row);
  return moved > 0 ? 2 * cost_.without_rules(rows.sums.data()) / moved : 0;
}

template <class W>
typename RawLeafCosts<W>::OneSplitCosts RawLeafCosts<W>::one_split(const Rows& rows) {
  OneSplitCosts one{leaf(rows), leaf_floor(rows), 0, 0};
  one.cost = one.leaf, one.floor = one.leaf_floor;
  by_column_.assign(rows.n_columns, infinity);
  if (rows.n_rows < 2 || rows.n_columns == 0) return one;
  splits_.list_blocks(rows);
  places_.assign(1, rows.n_rows);
  splits_.start(rows, rows.order_of(0), places_);
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    if (rows.is_constant(j)) continue;
    splits_.walk(rows, j);
    by_column_[j] = splits_.best_in_column();
  }
  splits_.finish();
  splits_.refine(rows, 0);
  one.cost = std::min(one.cost, splits_.low(0) + 2 * penalty_);
  one.floor = std::min({one.cost, one.floor, splits_.floor(0) + 2 * penalty_});
  return one;
}

template <class W>
RawSolutions RawLeafCosts<W>::depth_one(const Rows& rows, std::size_t n_slots) {
  const OneSplitCosts one = one_split(rows);
  RawSolutions out(n_slots, {one.cost, one.floor, one.cost});
  if (budget_.limited()) out[0] = {one.leaf, one.leaf_floor, one.leaf};
  return out;
}

template <class W>
RawSolutions RawLeafCosts<W>::depth_two(const Rows& rows, const RawLimits& limits, std::vector<RawSplitTree>& trees) {
  const OneSplitCosts one = one_split(rows);
  Search search{rows, limits, RawSolutions(limits.size(), {one.cost, one.floor, one.cost}), one, trees};
  if (budget_.limited()) search.best[0] = {one.leaf, one.leaf_floor, one.leaf};
  // Two splits make three leaves.
  const double least = 3 * penalty_;
  bool is_open = false;
  for (std::size_t s = first_slot(); s < limits.size(); ++s) is_open = is_open || least < std::min(limits[s], one.cost) - tolerance_;
  if (!is_open || rows.n_rows < 3 || cost_.cannot_split(rows.sums.data()) || !effort_.enter_node()) {
    const bool splits = rows.n_rows > 2 && !cost_.cannot_split(rows.sums.data());
    for (std::size_t s = first_slot(); s < limits.size(); ++s) {
      if (splits) search.best[s].bound = std::min(search.best[s].bound, least);
      search.best[s].floor = std::min(search.best[s].floor, least);
    }
    return search.best;
  }
  for (std::size_t s = first_slot(); s < limits.size(); ++s) {
    if (limits[s] == -infinity) search.best[s].bound = search.best[s].floor = std::min(search.best[s].floor, least);
  }
  prepare_removals(rows);
  for (std::size_t row = 0; row < rows.n_rows; ++row) search.moved += removal(rows, row);
  columns_.resize(rows.n_columns);
  std::iota(columns_.begin(), columns_.end(), 0);
  std::stable_sort(columns_.begin(), columns_.end(), [&](std::size_t a, std::size_t b) { return by_column_[a] < by_column_[b]; });
  for (const std::size_t column : columns_) {
    if (!rows.is_constant(column)) try_column(search, column);
  }
  for (RawSolution& own : search.best) own.bound = std::min(own.bound, own.cost), own.floor = has_minimum() ? own.floor : own.bound;
  return search.best;
}

// The least cost of a tree that begins with a threshold. Three leaves: one of the sides is a leaf.
template <class W>
double RawLeafCosts<W>::cost_of(const Threshold& t, std::size_t slot, bool floors) {
  const double *leaf = floors ? t.leaf_floor : t.leaf, *split = floors ? t.floor : t.bound;
  return slot == 2 ? std::min(split[0] + leaf[1], leaf[0] + split[1]) : split[0] + split[1];
}

template <class W>
bool RawLeafCosts<W>::is_open(const Search& search, const Threshold& threshold) const {
  for (std::size_t s = first_slot(); s < search.best.size(); ++s) {
    if (cost_of(threshold, s, false) < std::min(search.limits[s], search.best[s].cost) - tolerance_) return true;
  }
  return false;
}

// Lowers the bounds to those of a threshold that is solved or ruled out.
template <class W>
void RawLeafCosts<W>::close(Search& search, const Threshold& threshold) const {
  for (std::size_t s = first_slot(); s < search.best.size(); ++s) {
    RawSolution& own = search.best[s];
    own.bound = std::min(own.bound, cost_of(threshold, s, false)), own.floor = std::min(own.floor, cost_of(threshold, s, true));
  }
}

// Solves the first splits of a column that can cost less than the limits and the best trees. Lowers the bounds to theirs.
template <class W>
void RawLeafCosts<W>::try_column(Search& search, std::size_t column) {
  if (effort_.stopped()) {  // what is left has trees of at least three leaves
    for (std::size_t s = first_slot(); s < search.best.size(); ++s) {
      RawSolution& own = search.best[s];
      own.bound = std::min(own.bound, 3 * penalty_), own.floor = std::min(own.floor, 3 * penalty_);
    }
    return;
  }
  list_thresholds(search, column);
  while (!open_.empty()) {
    if (!effort_.go_on(search.rows.n_rows * search.rows.n_columns)) {
      for (const Threshold& threshold : open_) close(search, threshold);
      return;
    }
    choose_tested();
    solve_tested(search, column);
    spread_bounds(search);
  }
}

// Lists the thresholds that can cost less than the limits, and closes the others.
//
// If a side could be split once for less than the best tree with one split of all rows minus what the rows of the other side can add, the same
// split of all rows would be better than the best.
template <class W>
void RawLeafCosts<W>::list_thresholds(Search& search, std::size_t column) {
  const Rows& rows = search.rows;
  const auto *order = rows.order_of(column), *ranks = rows.ranks_of(column);
  const std::size_t P = splits_.n_planes();
  planes_.assign(2 * P, W(0));
  W *left = planes_.data(), *right = left + P;
  for (std::size_t row = 0; row < rows.n_rows; ++row) {
    right[rows.label[row]] += rows.net[row];
    if (cost_.counted()) right[P - 1] += static_cast<W>(rows.count[row]);
  }
  open_.clear();
  double moved = 0;
  for (std::size_t place = 1; place < rows.n_rows; ++place) {
    const std::size_t row = order[place - 1];
    moved += removal(rows, row);
    left[rows.label[row]] += rows.net[row], right[rows.label[row]] -= rows.net[row];
    if (cost_.counted()) left[P - 1] += static_cast<W>(rows.count[row]), right[P - 1] -= static_cast<W>(rows.count[row]);
    if (ranks[place] == ranks[place - 1]) continue;
    Threshold threshold{place, moved, {}, {}, {}, {}};
    for (const std::size_t side : {0, 1}) {
      const W* planes = side == 0 ? left : right;
      const double other = side == 0 ? search.moved - moved : moved, as_leaf = splits_.leaf(planes) + penalty_;
      threshold.leaf_floor[side] = as_leaf;
      threshold.leaf[side] = splits_.too_small(planes) ? infinity : as_leaf;
      threshold.floor[side] = std::max(std::min(as_leaf, 2 * penalty_), search.one.floor - other);
      threshold.bound[side] = std::max({std::min(threshold.leaf[side], 2 * penalty_), threshold.floor[side], search.one.cost - other});
    }
    if (is_open(search, threshold)) open_.push_back(threshold);
    else close(search, threshold);
  }
}

// A few open thresholds, evenly spread.
template <class W>
void RawLeafCosts<W>::choose_tested() {
  constexpr std::size_t most = RawSecondSplits<W>::most_tested;
  const std::size_t n = open_.size(), tested = std::min(n, most);
  tested_.resize(tested);
  for (std::size_t i = 0; i < tested; ++i) tested_[i] = n <= most ? i : (2 * i + 1) * n / (2 * most);
}

// Sets the bounds of the tested thresholds to the costs of their sides, which are trees with at most one split, unless lower bounds on these
// costs already close a threshold.
template <class W>
void RawLeafCosts<W>::solve_tested(Search& search, std::size_t column) {
  const Rows& rows = search.rows;
  places_.clear();
  for (const std::size_t t : tested_) places_.push_back(open_[t].place);
  splits_.start(rows, rows.order_of(column), places_);
  for (const std::size_t j : columns_) {
    if (!rows.is_constant(j)) splits_.walk(rows, j);
  }
  splits_.finish();
  for (std::size_t i = 0; i < tested_.size(); ++i) {
    Threshold& threshold = open_[tested_[i]];
    const auto raise = [&](std::size_t side) {
      const double split = splits_.low(2 * i + side) + 2 * penalty_, floor = splits_.floor(2 * i + side) + 2 * penalty_;
      threshold.bound[side] = std::max(threshold.bound[side], std::min(threshold.leaf[side], split));
      threshold.floor[side] = std::max(threshold.floor[side], std::min(threshold.leaf_floor[side], floor));
    };
    raise(0), raise(1);
    for (std::size_t side = 0; side < 2 && is_open(search, threshold); ++side) splits_.refine(rows, 2 * i + side), raise(side);
    if (is_open(search, threshold)) offer(search, column, threshold);
    close(search, threshold);
  }
}

// Keeps the trees of a threshold whose sides are solved, where they are better.
template <class W>
void RawLeafCosts<W>::offer(Search& search, std::size_t column, const Threshold& threshold) const {
  const std::uint32_t rank = search.rows.ranks_of(column)[threshold.place - 1];
  const std::size_t one = budget_.slot_of(1), two = budget_.slot_of(2);
  for (std::size_t s = first_slot(); s < search.best.size(); ++s) {
    RawSolution& own = search.best[s];
    const double cost = cost_of(threshold, s, false);
    if (cost >= own.cost - tolerance_) continue;
    const bool left_is_leaf = s == 2 && threshold.leaf[0] + threshold.bound[1] == cost;
    own.cost = cost, own.tree = static_cast<std::int32_t>(search.trees.size());
    search.trees.push_back({static_cast<std::int32_t>(column), rank, RawSolution::simple, RawSolution::simple, left_is_leaf ? one : two,
                            s == 2 && !left_is_leaf ? one : two});
  }
}

// Raises the bounds of the other thresholds with those of the tested ones, and closes thresholds that reach the limits.
//
// Between two thresholds, rows move from the right to the left. A side never costs less with more rows, if its leaves may have any size, and
// with fewer rows it costs at least what it did minus what the rows removed can add: the same trees serve both sets of rows.
template <class W>
void RawLeafCosts<W>::spread_bounds(Search& search) {
  constexpr double none = -infinity;
  double left = none, left_floor = none, right_floor = none, left_more = none;
  const auto raise = [](double& value, double to) { value = std::max(value, to); };
  std::size_t next = tested_.size();
  for (std::size_t i = open_.size(); i-- > 0;) {
    Threshold& t = open_[i];
    if (next > 0 && tested_[next - 1] == i) {
      raise(left, t.bound[0] - t.moved), raise(left_more, t.floor[0] - t.moved), raise(right_floor, t.floor[1]), --next;
    } else {
      raise(t.bound[0], left + t.moved), raise(t.floor[0], left_more + t.moved);
      raise(t.bound[1], right_floor), raise(t.floor[1], right_floor);
    }
  }
  double right = none, right_more = none;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Threshold t = open_[i];
    if (next < tested_.size() && tested_[next] == i) {
      raise(right, t.bound[1] + t.moved), raise(right_more, t.floor[1] + t.moved), raise(left_floor, t.floor[0]), ++next;
      continue;
    }
    raise(t.bound[1], right - t.moved), raise(t.floor[1], right_more - t.moved);
    raise(t.bound[0], left_floor), raise(t.floor[0], left_floor);
    if (is_open(search, t)) open_[kept++] = t;
    else close(search, t);
  }
  open_.resize(kept);
}

// The best tree with at most one split, place by place.
template <class W>
OneSplit RawLeafCosts<W>::best_split(const Rows& rows) const {
  OneSplit best{leaf(rows)};
  std::vector<double> left, right;
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    const auto *order = rows.order_of(j), *ranks = rows.ranks_of(j);
    left.assign(rows.sums.size(), 0.0), right = rows.sums;
    for (std::size_t place = 1; place < rows.n_rows; ++place) {
      const std::size_t row = order[place - 1], k = rows.label[row];
      left[k] += static_cast<double>(rows.net[row]), right[k] -= static_cast<double>(rows.net[row]);
      if (cost_.counted()) left.back() += static_cast<double>(rows.count[row]), right.back() -= static_cast<double>(rows.count[row]);
      if (ranks[place] == ranks[place - 1]) continue;
      const double cost = cost_.of_leaf(left.data()) + cost_.of_leaf(right.data()) + 2 * penalty_;
      if (cost < best.cost - tolerance_) best = {cost, static_cast<std::int32_t>(j), place};
    }
  }
  return best;
}

template class RawLeafCosts<std::int32_t>;
template class RawLeafCosts<double>;

}  // namespace fcca
