#include "depth_four.hpp"

#include <algorithm>
#include <cmath>

#include "split_bounds.hpp"

namespace fcca {

template <class W>
static std::vector<W> as_weights(const std::vector<double>& numbers) {
  std::vector<W> weights;
  for (const double x : numbers) weights.push_back(static_cast<W>(x));
  return weights;
}

template <class W>
DepthFour<W>::DepthFour(const TreeRows<W>& rows, double penalty, double tolerance)
    : rows_(rows), penalty_(penalty), tolerance_(tolerance), shape_(rows.n_columns), masks_(chain_masks(rows)),
      mosts_(as_weights<W>(rows.most)), weighted_(rows, shape_, rows.planes), chain_of_(rows.n_columns), by_last_(rows.n_columns),
      with_(rows.n_columns), two_(2 * rows.n_columns), three_(rows.n_columns), least_(2 * rows.n_columns),
      pairs_(2 * rows.n_columns * rows.n_columns, std::numeric_limits<double>::quiet_NaN()), done_(rows.n_columns, 0) {
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    std::fill(chain_of_.begin() + rows.first_column[c], chain_of_.begin() + rows.first_column[c + 1], c);
  }
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    rows.for_each_run(a, [&](std::size_t, std::size_t last) { by_last_[last].push_back(static_cast<std::int32_t>(a)); });
  }
}

template <class W>
bool DepthFour<W>::fits(const TreeRows<W>& rows) {
  constexpr std::size_t most_bytes = std::size_t{1} << 26;
  const BlockShape<W> shape(rows.n_columns);
  return (rows.n_columns * shape.size() + rows.n_rows * shape.width()) * sizeof(W) <= most_bytes;
}

template <class W>
typename DepthFour<W>::Tree DepthFour<W>::solve(double limit, const std::function<void()>& check,
                                                const std::function<void(const Tree&, double)>& report) {
  best_ = {limit};
  add_up_rows();
  solve_depth_three(check, report);
  set_first_bounds();
  report(best_, bound());
  for (bool is_first = true;; is_first = false) {
    const std::int32_t split = next_split(is_first);
    if (split < 0) return best_;
    done_[split] = 1;
    expand(split, check);
    spread_from(split);
    report(best_, bound());
  }
}

template <class W>
double DepthFour<W>::bound() const {
  double bound = infinity;
  for (std::size_t i = 0; i < shape_.n_columns; ++i) bound = std::min(bound, least_[side_of(i, false)] + least_[side_of(i, true)]);
  return std::min(bound, best_.cost);
}

template <class W>
void DepthFour<W>::add_up_rows() {
  const WeightedRows<W> mosts(rows_, shape_, mosts_);
  all_.reset(shape_), most_.reset(shape_);
  for (std::size_t a = 0; a < rows_.n_rows; ++a) weighted_.add_to(all_, a), mosts.add_to(most_, a);
  sum_buckets(shape_, masks_, all_), sum_buckets(shape_, masks_, most_);
}

template <class W>
double DepthFour<W>::cost_of(const BestGains<W>& gains, double most) const {
  const ShallowCosts costs = gains.costs(most);
  return std::min({costs.one + penalty_, costs.two + 2 * penalty_, costs.three + 3 * penalty_, costs.four + 4 * penalty_});
}

// A tree is a leaf or has at least two leaves.
template <class W>
double DepthFour<W>::cost_without_search(double sum, double most) const {
  return std::min(0.5 * (most - std::abs(sum)) + penalty_, 2 * penalty_);
}

// Of the rows that are on both sides.
template <class W>
double DepthFour<W>::in_both(const PairSums<W>& sums, Side one, Side two) const {
  const double both = static_cast<double>(sums.pair[shape_.place(one / 2, two / 2)]);
  const double first = static_cast<double>(sums.single[one / 2]), second = static_cast<double>(sums.single[two / 2]);
  if (one % 2 == 1) return two % 2 == 1 ? both : first - both;
  return two % 2 == 1 ? second - both : static_cast<double>(sums.all) - first - second + both;
}

template <class W>
void DepthFour<W>::solve_depth_three(const std::function<void()>& check, const std::function<void(const Tree&, double)>& report) {
  std::vector<W>& rest = scratch_[0];
  for (std::size_t c = 0; c < rows_.n_chains; ++c) {
    buckets_.reset(shape_);
    for (std::int32_t i = rows_.first_column[c + 1] - 1; i >= rows_.first_column[c]; --i) {
      check();
      for (const std::int32_t a : by_last_[i]) weighted_.add_to(buckets_, a);
      with_[i] = buckets_;
      sum_buckets(shape_, masks_, with_[i]);
      set_to_difference(all_.single, with_[i].single, rest);
      BestGains<W> right, left;
      gains_of(shape_, masks_,
               {buckets_.pair.data(), nullptr, all_.pair.data(), with_[i].single.data(), rest.data(), with_[i].all,
                static_cast<W>(all_.all - with_[i].all)},
               right, left);
      two_[side_of(i, true)] = cost_of(right, most_of(side_of(i, true)));
      two_[side_of(i, false)] = cost_of(left, most_of(side_of(i, false)));
      three_[i] = two_[side_of(i, true)] + two_[side_of(i, false)];
      if (three_[i] < best_.cost - tolerance_) best_ = {three_[i], i, 3}, report(best_, 0);
    }
  }
}

// The side of a split costs at least as much as all rows, for trees of the same depth, minus the sum of most_of over the rows on the other
// side: take the best tree of the side and put those rows back. In whatever leaf a row ends, it adds at most its most_of.
template <class W>
void DepthFour<W>::set_first_bounds() {
  const double most = static_cast<double>(most_.all), sum = static_cast<double>(all_.all);
  double three = 0.5 * (most - std::abs(sum)) + penalty_;
  for (const double cost : three_) three = std::min(three, cost);
  for (Side side = 0; side < least_.size(); ++side) {
    const double right = static_cast<double>(all_.single[side / 2]);
    least_[side] = std::max(cost_without_search(side % 2 == 1 ? right : sum - right, most_of(side)), three - most_of(opposite(side)));
  }
}

// The split with the least bound; in a tie, with the cheapest tree of depth 3. The very first split is the one with the cheapest tree of
// depth 3, to find a good tree early.
template <class W>
std::int32_t DepthFour<W>::next_split(bool is_first) const {
  std::int32_t next = -1;
  double least = infinity;
  for (std::size_t i = 0; i < shape_.n_columns; ++i) {
    const double bound = least_[side_of(i, false)] + least_[side_of(i, true)];
    if (done_[i] || bound >= best_.cost - tolerance_) continue;
    const bool by_cost = is_first || bound == least;
    if (next < 0 || (by_cost ? three_[i] < three_[next] : bound < least)) next = static_cast<std::int32_t>(i), least = bound;
  }
  return next;
}

template <class W>
void DepthFour<W>::take_smaller_side(std::size_t split) {
  std::vector<char> has(rows_.n_rows, 0);
  std::size_t n_right = 0;
  for (std::int32_t i = static_cast<std::int32_t>(split); i < rows_.first_column[chain_of_[split] + 1]; ++i) {
    for (const std::int32_t a : by_last_[i]) has[a] = 1, ++n_right;
  }
  const bool is_right = 2 * n_right <= rows_.n_rows;
  smaller_.side = side_of(split, is_right);
  smaller_.first.assign(shape_.n_columns + 1, 0);
  smaller_.rows.clear();
  for (std::size_t i = 0; i < shape_.n_columns; ++i) {
    for (const std::int32_t a : by_last_[i]) {
      if (static_cast<bool>(has[a]) == is_right) smaller_.rows.push_back(a);
    }
    smaller_.first[i + 1] = smaller_.rows.size();
  }
  smaller_.difference.set_to_difference(all_, with_[split]);
  smaller_.sums = is_right ? &with_[split] : &smaller_.difference;
  smaller_.sums_of_rest = is_right ? &smaller_.difference : &with_[split];
}

// Solves the sides of a split, as long as the split can cost less than the best tree. Raises their bounds to their costs.
template <class W>
void DepthFour<W>::expand(std::size_t split, const std::function<void()>& check) {
  take_smaller_side(split);
  double cost = 0;
  for (const Side side : {opposite(smaller_.side), smaller_.side}) {  // the larger side first: it fails earlier
    const double limit = best_.cost - least_[opposite(side)];
    if (least_[side] >= limit - tolerance_) return;
    cost += least_of_side(side, limit, check);
  }
  if (cost < best_.cost - tolerance_) best_ = {cost, static_cast<std::int32_t>(split), 4};
}

// The cost of the best tree of depth at most 3 of a side, if it is below the limit. Otherwise the cost of a tree that is not.
template <class W>
double DepthFour<W>::least_of_side(Side side, double limit, const std::function<void()>& check) {
  double least = two_[side], skipped = infinity;
  std::vector<double> bounds(shape_.n_columns, infinity);
  for (std::size_t k = 0; k < shape_.n_columns; ++k) {
    if (k == side / 2) continue;
    if (!std::isnan(pair(side, k))) least = std::min(least, pair(side, k));
    else bounds[k] = quarter_bound(side, side_of(k, true)) + quarter_bound(side, side_of(k, false));
  }
  std::vector<char> wanted(shape_.n_columns, 0);
  for (std::size_t k = 0; k < shape_.n_columns; ++k) {
    wanted[k] = bounds[k] < std::min(limit, least) - tolerance_;
    if (!wanted[k]) skipped = std::min(skipped, bounds[k]);
  }
  for (const std::size_t c : chains_by_cost(rows_, three_)) look_at_chain(side, c, wanted, limit, least, skipped, check);
  least_[side] = std::max(least_[side], std::min(least, skipped));
  return least;
}

// Solves the quarters of the wanted splits of a chain, from its last split to its first, so that rows are only added to the quarter.
template <class W>
void DepthFour<W>::look_at_chain(Side side, std::size_t chain, const std::vector<char>& wanted, double limit, double& least,
                                 double& skipped, const std::function<void()>& check) {
  const auto begin = wanted.begin() + rows_.first_column[chain], end = wanted.begin() + rows_.first_column[chain + 1];
  const auto found = std::find(begin, end, 1);
  if (found == end) return;
  const std::size_t first = static_cast<std::size_t>(found - wanted.begin());
  buckets_.reset(shape_);
  Quarters last;
  last.second = shape_.n_columns;  // none yet
  for (std::size_t k = rows_.first_column[chain + 1]; k-- > first;) {
    for (std::size_t at = smaller_.first[k]; at < smaller_.first[k + 1]; ++at) weighted_.add_to(buckets_, smaller_.rows[at]);
    if (!wanted[k]) continue;
    const double bound = last.second < shape_.n_columns ? bound_by_neighbour(side, k, last) : -infinity;
    if (bound >= std::min(limit, least) - tolerance_) {
      skipped = std::min(skipped, bound);
      continue;
    }
    check();
    last = solve_quarters(side / 2, k);
    least = std::min(least, pair(side, k));
  }
}

// By the argument of SplitBounds::spread_from, for the second split: from the neighbour to an earlier split of its chain, rows only move from
// the left to the right. The right quarter costs at least as much as before, and the left one at least as much minus most_of the rows moved.
template <class W>
double DepthFour<W>::bound_by_neighbour(Side side, std::size_t second, const Quarters& solved) const {
  const double moved = in_both(most_, side, side_of(second, true)) - in_both(most_, side, side_of(solved.second, true));
  const double right = solved.right[side % 2], left = solved.left[side % 2] - moved;
  return std::max(right, quarter_bound(side, side_of(second, true))) + std::max(left, quarter_bound(side, side_of(second, false)));
}

// The best trees of depth at most 2 of the four quarters. The buckets hold the rows of the smaller side that have the second column.
template <class W>
typename DepthFour<W>::Quarters DepthFour<W>::solve_quarters(std::size_t split, std::size_t second) {
  const PairSums<W>&here = *smaller_.sums, &rest = *smaller_.sums_of_rest, &with = with_[second];
  set_to_difference(here.single, buckets_.single, scratch_[0]);
  set_to_difference(with.single, buckets_.single, scratch_[1]);
  set_to_difference(rest.single, scratch_[1], scratch_[2]);
  const W here_left = static_cast<W>(here.all - buckets_.all), rest_right = static_cast<W>(with.all - buckets_.all);
  BestGains<W> right, left;
  Quarters found;
  found.second = second;
  const auto take = [&](Side side) {
    found.right[side % 2] = cost_of(right, in_both(most_, side, side_of(second, true)));
    found.left[side % 2] = cost_of(left, in_both(most_, side, side_of(second, false)));
    pair(side, second) = found.right[side % 2] + found.left[side % 2];
  };
  gains_of(shape_, masks_,
           {buckets_.pair.data(), nullptr, here.pair.data(), buckets_.single.data(), scratch_[0].data(), buckets_.all, here_left}, right, left);
  take(smaller_.side);
  gains_of(shape_, masks_,
           {buckets_.pair.data(), with.pair.data(), rest.pair.data(), scratch_[1].data(), scratch_[2].data(), rest_right,
            static_cast<W>(rest.all - rest_right)},
           right, left);
  take(opposite(smaller_.side));
  pair(side_of(second, true), split) = found.right[0] + found.right[1];
  pair(side_of(second, false), split) = found.left[0] + found.left[1];
  return found;
}

// A lower bound on the cost of the best tree of depth at most 2 of the rows on both sides: as in set_first_bounds(), it costs at least as
// much as either side, minus most_of the rows of the side that are not in the other.
template <class W>
double DepthFour<W>::quarter_bound(Side one, Side two) const {
  const double by_one = two_[one] - in_both(most_, one, opposite(two)), by_two = two_[two] - in_both(most_, opposite(one), two);
  return std::max({by_one, by_two, cost_without_search(in_both(all_, one, two), in_both(most_, one, two))});
}

// Take the best tree of any side, and put the rows of a solved side back that are missing there. Each adds at most its most_of, and rows
// that are not on the solved side cost nothing less than 0. So the side costs at least as much as the solved one minus these most_of.
template <class W>
void DepthFour<W>::spread_from(std::size_t split) {
  for (const Side solved : {side_of(split, false), side_of(split, true)}) {
    for (Side side = 0; side < least_.size(); ++side) {
      least_[side] = std::max(least_[side], least_[solved] - in_both(most_, solved, opposite(side)));
    }
  }
}

template class DepthFour<std::int16_t>;
template class DepthFour<std::int32_t>;
template class DepthFour<double>;

}  // namespace fcca
