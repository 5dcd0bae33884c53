#include "raw_depth_two.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// Runs of one label from this length on are added up without a look at the sums in between, which are never extreme.
constexpr std::size_t long_run_of_two = 16, long_run_of_many = 8;
// With fewer rows, looking for long runs takes longer than it saves.
constexpr std::uint32_t few_rows = 256;

template <class Id>
bool has_ties(const Id* ranks, std::size_t n) {
  std::size_t ties = 0;
  for (std::size_t k = 1; k < n; ++k) ties += ranks[k] == ranks[k - 1];
  return ties > 0;
}
}  // namespace

template <class W>
DepthTwo<W>::DepthTwo(std::vector<typename RawRows<W>::Kind> kinds, double penalty, double tolerance, RawEffort& effort)
    : kinds_(std::move(kinds)), penalty_(penalty), tolerance_(tolerance), effort_(effort) {
  number_of_kind_.assign(kinds_.size(), 0);
  if (kinds_.size() <= few_kinds) list_weights(kinds_);
}

// Interval i holds the rows behind i of the tested thresholds: on their right, and on the left of the others.
template <class W>
void DepthTwo<W>::list_weights(const std::vector<typename RawRows<W>::Kind>& kinds) {
  n_kinds_ = kinds.size();
  weights_.resize((lanes + 1) * n_kinds_);
  for (std::size_t i = 0; i <= lanes; ++i) {
    for (std::size_t kind = 0; kind < n_kinds_; ++kind) {
      SideWeights<W>& weights = weights_[i * n_kinds_ + kind];
      for (std::size_t t = 0; t < lanes; ++t) {
        weights.left.lane[t] = t >= i ? kinds[kind].net : W(0);
        weights.right.lane[t] = t < i ? kinds[kind].net : W(0);
      }
    }
  }
}

// Many kinds are numbered again for the rows at hand, so that the list of weights stays small.
template <class W>
void DepthTwo<W>::number_kinds(const RawRows<W>& rows) {
  if (kinds_.size() <= few_kinds) {
    kind_of_row_ = rows.kind;
    return;
  }
  present_.clear();
  kind_of_row_.resize(rows.n_rows);
  for (std::size_t row = 0; row < rows.n_rows; ++row) {
    const Id kind = rows.kind[row];
    Id& number = number_of_kind_[kind];
    if (number >= present_.size() || !(present_[number] == kinds_[kind])) {
      number = static_cast<Id>(present_.size());
      present_.push_back(kinds_[kind]);
    }
    kind_of_row_[row] = number;
  }
  list_weights(present_);
}

template <class W>
void DepthTwo<W>::list_steps(const RawRows<W>& rows) {
  const std::size_t long_run = rows.binary() ? long_run_of_two : long_run_of_many;
  const std::uint32_t n = static_cast<std::uint32_t>(rows.n_rows);
  steps_.resize(rows.n_columns);
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    auto& steps = steps_[j];
    steps.clear();
    if (rows.is_constant(j)) continue;
    const Id *order = rows.order_of(j), *ranks = rows.ranks_of(j);
    if (n < few_rows && !has_ties(ranks, n)) {
      steps.push_back({n, n, 0, true});
      continue;
    }
    std::uint32_t run = 0;  // where the current run of one label begins
    const auto end_run = [&](std::uint32_t end) {
      if (end - run >= long_run) steps.push_back({run, end, rows.label[order[run]], true});
    };
    for (std::uint32_t begin = 0, end; begin < n; begin = end) {
      for (end = begin + 1; end < n && ranks[end] == ranks[begin];) ++end;
      const std::uint32_t first = rows.label[order[begin]];
      if (rows.label[order[end - 1]] == first) {
        if (run < begin && rows.label[order[begin - 1]] != first) end_run(begin), run = begin;
        continue;
      }
      // Equal values with several labels, which are sorted by label.
      end_run(begin);
      for (std::uint32_t from = begin, to; from < end; from = to) {
        const std::uint32_t label = rows.label[order[from]];
        for (to = rows.binary() ? end : from + 1; to < end && rows.label[order[to]] == label;) ++to;
        steps.push_back({from, to, label, from == begin});
      }
      run = end;
    }
    end_run(n);
    steps.push_back({n, n, 0, true});
  }
}

// Only if a walk is needed: often the bounds decide.
template <class W>
void DepthTwo<W>::prepare_walks(const RawRows<W>& rows) {
  list_steps(rows);
  number_kinds(rows);
  key_.resize(rows.n_rows);
  is_prepared_ = true;
}

template <class W>
DepthTwoTree DepthTwo<W>::solve(const RawRows<W>& rows, double limit) {
  const double as_leaf = rows.errors_of_leaf() + penalty_;
  DepthTwoTree best{as_leaf, as_leaf};
  if (rows.n_rows < 2 || as_leaf <= 2 * penalty_ + tolerance_) return best;  // a split makes two leaves
  if (2 * penalty_ >= limit - tolerance_ || !effort_.enter_node()) return {2 * penalty_, as_leaf};
  const OneSplit one = best_split(rows, penalty_, by_column_);
  best.bound = best.cost = one.cost;
  if (one.cost <= 3 * penalty_ + tolerance_) return best;  // two splits make three leaves
  is_prepared_ = false;
  columns_.resize(rows.n_columns);
  std::iota(columns_.begin(), columns_.end(), 0);
  std::stable_sort(columns_.begin(), columns_.end(), [&](std::size_t a, std::size_t b) { return by_column_[a] < by_column_[b]; });
  for (const std::size_t column : columns_) {
    if (effort_.stopped()) best.bound = std::min(best.bound, 2 * penalty_);
    else if (!rows.is_constant(column)) try_column(rows, column, one.cost, limit, best);
  }
  best.bound = std::min(best.bound, best.cost);
  return best;
}

// Solves the first splits of a column that can cost less than the limit and the best tree. Lowers best.bound to their bounds.
template <class W>
void DepthTwo<W>::try_column(const RawRows<W>& rows, std::size_t column, double depth_one, double limit, DepthTwoTree& best) {
  const Id* ranks = rows.ranks_of(column);
  best.bound = std::min(best.bound, list_thresholds(rows, column, depth_one, std::min(limit, best.cost)));
  while (!open_.empty()) {
    if (!effort_.go_on(rows.n_rows * rows.n_columns)) {
      for (const Threshold& threshold : open_) best.bound = std::min(best.bound, threshold.left + threshold.right);
      return;
    }
    if (!is_prepared_) prepare_walks(rows);
    choose_tested();
    solve_tested(rows, column);
    for (const std::size_t t : tested_) {
      const double cost = open_[t].left + open_[t].right;
      if (cost >= best.cost - tolerance_) continue;
      best.cost = cost, best.column = static_cast<std::int32_t>(column), best.rank = ranks[open_[t].place - 1];
    }
    best.bound = std::min(best.bound, spread_bounds(std::min(limit, best.cost)));
  }
}

// Lists the thresholds that can cost less than the limit. Returns the least bound of the others.
//
// The best tree with one split costs `depth_one` on all rows. If a side could be split once for less than depth_one minus the weight of the other
// side, the same split of all rows would cost less than depth_one, because each unit of weight adds at most one error.
template <class W>
double DepthTwo<W>::list_thresholds(const RawRows<W>& rows, std::size_t column, double depth_one, double limit) {
  const Id *order = rows.order_of(column), *ranks = rows.ranks_of(column);
  open_.clear();
  double moved = 0, least = infinity;
  for (std::size_t place = 1; place < rows.n_rows; ++place) {
    moved += rows.weight_of(order[place - 1]);
    if (ranks[place] == ranks[place - 1]) continue;
    const double left = std::max(penalty_, depth_one - (rows.weight - moved)), right = std::max(penalty_, depth_one - moved);
    if (left + right < limit - tolerance_) open_.push_back({place, moved, left, right});
    else least = std::min(least, left + right);
  }
  return least;
}

// As many open thresholds as there are lanes, evenly spread.
template <class W>
void DepthTwo<W>::choose_tested() {
  const std::size_t n = open_.size(), tested = std::min(n, lanes);
  tested_.resize(tested);
  for (std::size_t i = 0; i < tested; ++i) tested_[i] = n <= lanes ? i : (2 * i + 1) * n / (2 * lanes);
}

// Sets the bounds of the tested thresholds to the costs of their sides, which are trees with at most one split.
template <class W>
void DepthTwo<W>::solve_tested(const RawRows<W>& rows, std::size_t column) {
  const Id* order = rows.order_of(column);
  std::size_t place = 0;
  for (std::size_t i = 0; i <= tested_.size(); ++i) {
    const std::size_t end = i < tested_.size() ? open_[tested_[i]].place : rows.n_rows;
    for (; place < end; ++place) key_[order[place]] = static_cast<Id>(i * n_kinds_ + kind_of_row_[order[place]]);
  }
  const Walk<W> walk{rows, key_, weights_, steps_};
  if (rows.binary()) solve_with_two_classes(rows, order, walk);
  else solve_with_many_classes(rows, order, walk);
}

// Splitting a side with the signed sum s into s = a + b saves (|a| + |b| − |s|) / 2 errors, which is how far a lies outside the range from
// 0 to s. So only the largest and the smallest a matter.
template <class W>
void DepthTwo<W>::solve_with_two_classes(const RawRows<W>& rows, const Id* order, const Walk<W>& walk) {
  Extremes<W> found;
  walk_extremes(walk, found);
  double sum = 0;
  std::size_t place = 0;
  const auto cost = [&](double weight, double side, double most, double least) {
    const double saved = std::max(most - std::max(side, 0.0), std::min(side, 0.0) - least);
    return (weight - std::abs(side)) / 2 + penalty_ + std::min(0.0, penalty_ - saved);
  };
  for (std::size_t t = 0; t < tested_.size(); ++t) {
    Threshold& threshold = open_[tested_[t]];
    for (; place < threshold.place; ++place) sum += static_cast<double>(rows.net[order[place]]);
    threshold.left = cost(threshold.moved, sum, found.most.left.lane[t], found.least.left.lane[t]);
    threshold.right = cost(rows.weight - threshold.moved, rows.sums[0] - sum, found.most.right.lane[t], found.least.right.lane[t]);
  }
}

template <class W>
void DepthTwo<W>::solve_with_many_classes(const RawRows<W>& rows, const Id* order, const Walk<W>& walk) {
  SideWeights<W> found;
  walk_gains(walk, sums_, found);
  std::vector<double> sum(rows.n_classes, 0.0);
  std::size_t place = 0;
  const auto cost = [&](double weight, double heaviest, double gain) {
    return weight + penalty_ - std::max(heaviest, gain - penalty_);
  };
  for (std::size_t t = 0; t < tested_.size(); ++t) {
    Threshold& threshold = open_[tested_[t]];
    for (; place < threshold.place; ++place) sum[rows.label[order[place]]] += static_cast<double>(rows.net[order[place]]);
    double left = 0, right = 0;
    for (std::size_t k = 0; k < rows.n_classes; ++k) left = std::max(left, sum[k]), right = std::max(right, rows.sums[k] - sum[k]);
    threshold.left = cost(threshold.moved, left, found.left.lane[t]);
    threshold.right = cost(rows.weight - threshold.moved, right, found.right.lane[t]);
  }
}

// Raises the bounds of the other thresholds with the costs of the tested ones, and closes those that reach the limit. Returns the least
// bound of the thresholds that are closed.
//
// Between two thresholds, rows move from the right to the left. A side never costs less with more rows, and with fewer rows it costs at
// least what it did minus the weight of the rows removed: the same trees serve both sets of rows, and each row costs between 0 and its
// weight.
template <class W>
double DepthTwo<W>::spread_bounds(double limit) {
  double left = -infinity, right = -infinity, least = infinity;
  std::size_t next = tested_.size(), kept = 0;
  for (std::size_t i = open_.size(); i-- > 0;) {
    Threshold& threshold = open_[i];
    if (next > 0 && tested_[next - 1] == i) {
      left = std::max(left, threshold.left - threshold.moved), right = std::max(right, threshold.right), --next;
    } else {
      threshold.left = std::max(threshold.left, left + threshold.moved), threshold.right = std::max(threshold.right, right);
    }
  }
  left = right = -infinity;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Threshold threshold = open_[i];
    if (next < tested_.size() && tested_[next] == i) {
      left = std::max(left, threshold.left), right = std::max(right, threshold.right + threshold.moved), ++next;
      least = std::min(least, threshold.left + threshold.right);
      continue;
    }
    threshold.left = std::max(threshold.left, left), threshold.right = std::max(threshold.right, right - threshold.moved);
    const double bound = threshold.left + threshold.right;
    if (bound < limit - tolerance_) open_[kept++] = threshold;
    else least = std::min(least, bound);
  }
  open_.resize(kept);
  return least;
}

template class DepthTwo<std::int16_t>;
template class DepthTwo<std::int32_t>;
template class DepthTwo<double>;

}  // namespace fcca
