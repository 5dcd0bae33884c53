// Lower bounds for the first splits of a tree: one for the rows on the left of each split, one for those on its right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tree_rows.hpp"

namespace fcca {

// A split is a local column of the rows; its right side are the rows that have the column. The bound of a split, left + right, is
// valid because the sides of a split are separate problems.
template <class W>
class SplitBounds {
 public:
  // row_hash: by distinct row of the whole problem. side_bound(sums): a lower bound for the rows of one side, without a search.
  template <class SideBound>
  SplitBounds(const TreeRows<W>& rows, const std::vector<std::uint64_t>& row_hash, SideBound side_bound);

  double of(std::size_t split) const { return left[split] + right[split]; }

  // The rows of the sides of a split: those before the border are on the left.
  const std::vector<std::int32_t>& rows_by(std::int32_t split) const { return orders_[chain_of_[split]].rows; }
  std::int32_t border(std::int32_t split) const { return orders_[chain_of_[split]].first[columns_to_pass(split)]; }

  // Raises the bounds of the other splits of the chain by what is known of this one.
  void spread_from(std::int32_t split);

  // Looks for a split already solved that divides the rows in the same way. If there is one, takes over its bounds and returns
  // true. Otherwise the split counts as solved from now on.
  bool adopt_twin(std::int32_t split);

  std::vector<double> left, right;  // by split

 private:
  std::int32_t columns_to_pass(std::int32_t split) const { return split - rows_.first_column[chain_of_[split]] + 1; }
  bool divide_alike(std::int32_t one, std::int32_t other, bool mirrored) const;

  const TreeRows<W>& rows_;
  std::vector<ChainOrder> orders_;           // by chain
  std::vector<std::size_t> chain_of_;        // by split
  std::vector<double> right_spread_;         // by split: of the rows on the right
  std::vector<std::uint64_t> right_hash_;    // by split: of the set of rows on the right
  std::uint64_t all_hash_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> solved_;  // splits by right_hash_
};

template <class W>
template <class SideBound>
SplitBounds<W>::SplitBounds(const TreeRows<W>& rows, const std::vector<std::uint64_t>& row_hash, SideBound side_bound)
    : left(rows.n_columns), right(rows.n_columns), rows_(rows), chain_of_(rows.n_columns), right_spread_(rows.n_columns),
      right_hash_(rows.n_columns) {
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
      right_spread_[i] = on_right.spread, right_hash_[i] = hash;
      right[i] = side_bound(on_right), left[i] = side_bound(on_left);
    }
  }
}

// The columns of a chain are nested (x > 1, x > 2, …). So from one split to a later one of its chain, rows only move from the right
// side to the left. The cost of a side is the cost of the best tree for its rows, and two facts tell how it changes:
//
// - More rows never cost less. Take the best tree of the larger set and leave out the additional rows: no leaf's errors grow, so
//   the smaller set costs at most as much. The side that receives rows therefore costs at least what it cost before.
// - A row that leaves lowers the cost by its spread at most. Take the best tree of the smaller set and put the row back: in whatever
//   leaf it ends, it adds at most its spread. The side that loses rows therefore costs at least what it cost before, less the
//   spread of these rows.
//
// Both hold for the optimal costs, and so for lower bounds of them: a bound that is valid for one split, carried over like this,
// is valid for the other.
template <class W>
void SplitBounds<W>::spread_from(std::int32_t split) {
  const std::size_t c = chain_of_[split];
  for (std::int32_t i = rows_.first_column[c]; i < rows_.first_column[c + 1]; ++i) {
    if (i > split) {  // rows moved to the left
      left[i] = std::max(left[i], left[split]);
      right[i] = std::max(right[i], right[split] - (right_spread_[split] - right_spread_[i]));
    } else {  // rows moved to the right
      right[i] = std::max(right[i], right[split]);
      left[i] = std::max(left[i], left[split] - (right_spread_[i] - right_spread_[split]));
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

// Equal sets of rows have equal costs, so a bound for one is a bound for the other. The hash finds candidates; whether they are
// equal is checked row by row.
template <class W>
bool SplitBounds<W>::adopt_twin(std::int32_t split) {
  for (const bool mirrored : {false, true}) {
    const auto found = solved_.find(mirrored ? all_hash_ ^ right_hash_[split] : right_hash_[split]);
    if (found == solved_.end()) continue;
    for (const std::int32_t twin : found->second) {
      if (!divide_alike(split, twin, mirrored)) continue;
      left[split] = std::max(left[split], mirrored ? right[twin] : left[twin]);
      right[split] = std::max(right[split], mirrored ? left[twin] : right[twin]);
      return true;
    }
  }
  solved_[right_hash_[split]].push_back(split);
  return false;
}

}  // namespace fcca
