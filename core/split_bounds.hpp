// Lower bounds for the first splits of a tree: one for the rows on the left of each split, and one for the rows on its right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "leaf_budget.hpp"
#include "tree_rows.hpp"

namespace fcca {

// Chains by the least cost of a tree that begins with one of their columns, the most promising first.
template <class W>
std::vector<std::size_t> chains_by_cost(const TreeRows<W>& rows, const std::vector<double>& costs) {
  std::vector<std::size_t> chains(rows.n_chains);
  std::iota(chains.begin(), chains.end(), 0);
  std::vector<double> least(rows.n_chains, std::numeric_limits<double>::infinity());
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    for (std::int32_t i = rows.first_column[c]; i < rows.first_column[c + 1]; ++i) least[c] = std::min(least[c], costs[i]);
  }
  std::stable_sort(chains.begin(), chains.end(), [&](std::size_t a, std::size_t b) { return least[a] < least[b]; });
  return chains;
}

// The sum of most_of over the rows on a side of one split and on a side of another.
template <class W>
class CommonMost {
 public:
  static bool is_useful(const TreeRows<W>& rows) {
    constexpr std::size_t most_columns = 1024;  // 8 MB
    return 2 * rows.n_chains > rows.n_columns && rows.n_columns <= most_columns;
  }

  // check: called for each row; it ends the search if the time is over.
  template <class Check>
  CommonMost(const TreeRows<W>& rows, Check check) : n_columns_(rows.n_columns), both_(n_columns_ * n_columns_, 0.0) {
    for (std::size_t a = 0; a < rows.n_rows; ++a) {
      check();
      rows.for_each_run(a, [&](std::size_t, std::size_t one) {
        rows.for_each_run(a, [&](std::size_t, std::size_t other) { both_[one * n_columns_ + other] += rows.most[a]; });
      });
      all_ += rows.most[a];
    }
    // A row has been added to the last column that it passes in each chain. It passes the columns before it, too.
    for (std::size_t c = 0; c < rows.n_chains; ++c) {
      for (std::size_t i = rows.first_column[c + 1] - 1; i-- > static_cast<std::size_t>(rows.first_column[c]);) {
        for (std::size_t j = 0; j < n_columns_; ++j) both_[i * n_columns_ + j] += both_[(i + 1) * n_columns_ + j];
      }
    }
    for (std::size_t j = 0; j < n_columns_; ++j) {
      for (std::size_t c = 0; c < rows.n_chains; ++c) {
        double* row = both_.data() + j * n_columns_;
        for (std::size_t i = rows.first_column[c + 1] - 1; i-- > static_cast<std::size_t>(rows.first_column[c]);) row[i] += row[i + 1];
      }
    }
  }
  // The rows that have the column are on the right.
  double operator()(std::size_t one, bool one_is_right, std::size_t two, bool two_is_right) const {
    const double both = both_[one * n_columns_ + two], first = both_[one * (n_columns_ + 1)], second = both_[two * (n_columns_ + 1)];
    if (one_is_right) return two_is_right ? both : std::max(0.0, first - both);
    return std::max(0.0, two_is_right ? second - both : all_ - first - second + both);  // round-off must not raise a bound
  }

 private:
  std::size_t n_columns_;
  std::vector<double> both_;  // columns × columns
  double all_ = 0;
};

// A split is a local column of the rows. Its right side holds the rows that have the column. Each side has a bound per slot of the
// leaf budget. left + right is a valid bound because the sides of a split are separate problems.
template <class W>
class SplitBounds {
 public:
  // row_hash: by distinct row of the whole problem. side_bounds(sums, bounds): writes lower bounds for the rows of one side, by slot,
  // without a search. more_rows_cost_more: whether more rows never cost less, for trees.
  template <class SideBounds>
  SplitBounds(const TreeRows<W>& rows, const LeafBudget& budget, const std::vector<std::uint64_t>& row_hash, bool more_rows_cost_more,
              SideBounds side_bounds);

  double* left(std::size_t split) { return left_.data() + split * n_slots_; }
  double* right(std::size_t split) { return right_.data() + split * n_slots_; }
  const double* left(std::size_t split) const { return left_.data() + split * n_slots_; }
  const double* right(std::size_t split) const { return right_.data() + split * n_slots_; }

  // The rows of the sides of a split. The rows before the border are on the left.
  const std::vector<std::int32_t>& rows_by(std::int32_t split) const { return orders_[chain_of_[split]].rows; }
  std::int32_t border(std::int32_t split) const { return orders_[chain_of_[split]].first[columns_to_pass(split)]; }

  // Raises the bounds of the other splits of the chain with the bounds of this one.
  void spread_from(std::int32_t split);
  // Raises the bounds of all splits with the bounds of this one.
  void spread_from(std::int32_t split, const CommonMost<W>& most);
  // Raises all bounds, given a lower bound on the cost of all rows, for trees of the same depth as those of the sides.
  void raise_by_all(double all_rows);

  // Looks for a solved split that divides the rows in the same way. If there is one, copies its bounds and returns true. Otherwise the
  // split counts as solved after this call.
  bool adopt_twin(std::int32_t split);

 private:
  void raise(double* bounds, const double* by, double less) const {
    for (std::size_t slot = 0; slot < n_slots_; ++slot) bounds[slot] = std::max(bounds[slot], by[slot] - less);
  }
  std::int32_t columns_to_pass(std::int32_t split) const { return split - rows_.first_column[chain_of_[split]] + 1; }
  bool divide_alike(std::int32_t one, std::int32_t other, bool mirrored) const;

  const TreeRows<W>& rows_;
  std::size_t n_slots_;
  bool more_rows_cost_more_;
  std::vector<double> left_, right_;         // splits × slots
  std::vector<ChainOrder> orders_;           // by chain
  std::vector<std::size_t> chain_of_;        // by split
  std::vector<double> right_most_;           // by split: the largest possible cost of the rows on the right
  std::vector<std::uint64_t> right_hash_;    // by split: hash of the set of rows on the right
  std::uint64_t all_hash_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> solved_;  // splits by right_hash_
};

template <class W>
template <class SideBounds>
SplitBounds<W>::SplitBounds(const TreeRows<W>& rows, const LeafBudget& budget, const std::vector<std::uint64_t>& row_hash,
                            bool more_rows_cost_more, SideBounds side_bounds)
    : rows_(rows), n_slots_(budget.n_slots()), more_rows_cost_more_(more_rows_cost_more), left_(rows.n_columns * n_slots_),
      right_(rows.n_columns * n_slots_), chain_of_(rows.n_columns), right_most_(rows.n_columns), right_hash_(rows.n_columns) {
  for (std::size_t a = 0; a < rows.n_rows; ++a) all_hash_ ^= row_hash[rows.id[a]];
  const WeightSums all(rows);
  WeightSums on_left(rows.n_planes);
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    const ChainOrder& order = orders_.emplace_back(rows, c);
    WeightSums on_right(rows.n_planes);
    std::uint64_t hash = 0;
    for (std::int32_t i = rows.first_column[c + 1] - 1; i >= rows.first_column[c]; --i) {
      chain_of_[i] = c;
      const std::int32_t count = columns_to_pass(i);
      for (std::int32_t q = order.first[count]; q < order.first[count + 1]; ++q) {
        on_right.add(rows, order.rows[q]);
        hash ^= row_hash[rows.id[order.rows[q]]];
      }
      on_left.set_to_difference(all, on_right);
      right_most_[i] = on_right.most, right_hash_[i] = hash;
      side_bounds(on_right, right(i)), side_bounds(on_left, left(i));
    }
  }
}

// The columns of a chain are nested (x > 1, x > 2, …). So from one split to a later one of its chain, rows only move from the right
// side to the left. The cost of a side is the cost of the best tree for its rows, and two facts say how it changes:
//
// - More rows never cost less. Take the best tree of the larger set and leave out the additional rows: no leaf's cost grows, so
//   the smaller set costs at most as much. The side that receives rows therefore costs at least as much as before. (This does not hold
//   if leaves have a minimum size: a leaf that loses rows may become too small.)
// - Removing a row lowers the cost by at most most_of(row). Take the best tree of the smaller set and put the row back: in whatever
//   leaf it ends, it adds at most most_of(row). The side that loses rows therefore costs at least as much as before, minus the sum of
//   most_of over these rows.
//
// Both hold for the optimal costs under any limit on leaves, and so for lower bounds on them: a valid bound for one split gives a valid
// bound for the other.
template <class W>
void SplitBounds<W>::spread_from(std::int32_t split) {
  const std::size_t c = chain_of_[split];
  for (std::int32_t i = rows_.first_column[c]; i < rows_.first_column[c + 1]; ++i) {
    if (i > split) {  // rows moved to the left
      if (more_rows_cost_more_) raise(left(i), left(split), 0);
      raise(right(i), right(split), right_most_[split] - right_most_[i]);
    } else {  // rows moved to the right
      if (more_rows_cost_more_) raise(right(i), right(split), 0);
      raise(left(i), left(split), right_most_[i] - right_most_[split]);
    }
  }
}

template <class W>
bool SplitBounds<W>::divide_alike(std::int32_t one, std::int32_t other, bool mirrored) const {
  for (std::size_t a = 0; a < rows_.n_rows; ++a) {
    const bool same_side =
        rows_.passes(a, chain_of_[one], columns_to_pass(one)) == rows_.passes(a, chain_of_[other], columns_to_pass(other));
    if (same_side == mirrored) return false;
  }
  return true;
}

// The same two facts for any two sides: leave out the rows that are on the solved side only, which lowers the cost by at most the sum of
// most_of over them; then add the rows that are on the other side only, which does not lower it.
template <class W>
void SplitBounds<W>::spread_from(std::int32_t split, const CommonMost<W>& most) {
  if (!more_rows_cost_more_) return spread_from(split);
  for (const bool from_right : {false, true}) {
    const double* solved = from_right ? right(split) : left(split);
    for (std::size_t i = 0; i < rows_.n_columns; ++i) {
      raise(left(i), solved, most(split, from_right, i, true));
      raise(right(i), solved, most(split, from_right, i, false));
    }
  }
}

// A side costs at least as much as all rows, minus the sum of most_of over the rows that it lacks.
template <class W>
void SplitBounds<W>::raise_by_all(double all_rows) {
  const double most = std::accumulate(rows_.most.begin(), rows_.most.end(), 0.0);
  for (std::size_t i = 0; i < rows_.n_columns; ++i) {
    for (std::size_t slot = 0; slot < n_slots_; ++slot) {
      left(i)[slot] = std::max(left(i)[slot], all_rows - right_most_[i]);
      right(i)[slot] = std::max(right(i)[slot], all_rows - (most - right_most_[i]));
    }
  }
}

// Equal sets of rows have equal costs, so a bound for one is a bound for the other. The hash finds candidates, and they are then compared
// row by row.
template <class W>
bool SplitBounds<W>::adopt_twin(std::int32_t split) {
  for (const bool mirrored : {false, true}) {
    const auto found = solved_.find(mirrored ? all_hash_ ^ right_hash_[split] : right_hash_[split]);
    if (found == solved_.end()) continue;
    for (const std::int32_t twin : found->second) {
      if (!divide_alike(split, twin, mirrored)) continue;
      raise(left(split), mirrored ? right(twin) : left(twin), 0);
      raise(right(split), mirrored ? left(twin) : right(twin), 0);
      return true;
    }
  }
  solved_[right_hash_[split]].push_back(split);
  return false;
}

}  // namespace fcca
