// Weights of all pairs of columns, from which the best trees of depth 2 are computed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "leaf_cost.hpp"
#include "tree_rows.hpp"

namespace fcca {

// Costs of the best trees with one first split, by their leaves. The penalties of the leaves are not included.
struct FirstSplitCosts {
  double two, three_right, three_left, four;  // three_right: the rows that have the column are split again
  // The sides alone, each with exactly two leaves; unknown for the plain error.
  double right_split = -std::numeric_limits<double>::infinity(), left_split = right_split;
};

// The least of these costs over all first splits, and the cost of a leaf.
struct ShallowCosts {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  double one = infinity, two = infinity, three = infinity, four = infinity;

  void lower(const FirstSplitCosts& costs) {
    two = std::min(two, costs.two), four = std::min(four, costs.four);
    three = std::min({three, costs.three_right, costs.three_left});
  }
};

// pair[k][i][j] = weight in plane k of the rows that pass column i and column j; single[k][j] = weight of the rows that pass j.
template <class W>
class PairTable {
 public:
  // An empty table over the columns of rows. is_half: only pairs with j < i are used, so no others are kept.
  void reset(const TreeRows<W>& rows, bool is_half);
  // Writes, for a row, which columns it passes: a stride of masks for the kernels.
  static void write_mask(const TreeRows<W>& rows, std::size_t row, W* mask);
  // Adds a row to the bucket of the last column it passes in each chain; sum_chains() turns buckets into pairs. mask: from write_mask(), if
  // it is at hand.
  void add(const TreeRows<W>& rows, std::size_t row, const W* mask = nullptr);
  // Removes a row. This is exact if weights are whole.
  void remove(const TreeRows<W>& rows, std::size_t row, const W* mask = nullptr);
  void sum_chains(const TreeRows<W>& rows);

  // For each first column, the costs of the best trees of depth 2 of all rows, whose sums are given.
  void first_splits(const LeafCost& cost, const WeightSums& all, std::vector<FirstSplitCosts>& costs) const;

  // If *this holds the buckets of some rows and total the pairs of all rows: the costs of the best trees of depth at most 2.
  // For the plain error: the costs of the right-hand rows, which *this holds, and of the others, in one pass.
  void two_sides(const TreeRows<W>& rows, const PairTable& total, const WeightSums& on_right, const WeightSums& on_left,
                 ShallowCosts& right, ShallowCosts& left);
  // For any other cost: the costs of the rows held, or of the others.
  ShallowCosts one_side(const TreeRows<W>& rows, const PairTable& total, const LeafCost& cost, bool of_held);

 private:
  template <bool is_added>
  void add_or_remove(const TreeRows<W>& rows, std::size_t row, const W* mask);
  void set_others(const PairTable& total);

  std::size_t length_of(std::size_t i) const { return is_half_ ? std::min((i + lanes - 1) / lanes * lanes, stride_) : stride_; }

  static constexpr std::size_t lanes = 32 / sizeof(W);
  std::size_t n_columns_ = 0, stride_ = 0, n_planes_ = 0;
  bool is_half_ = false;
  std::vector<W> pair_, single_, sum_;         // sum_: by plane
  std::vector<W> row_, running_, other_, best_;  // scratch
  std::vector<std::size_t> places_, lengths_;    // a row's buckets
};

}  // namespace fcca
