// Trees of depth 4 for the plain error of two classes, from pair sums of the rows on one side of every first split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "quarter_sums.hpp"
#include "tree_rows.hpp"

namespace fcca {

// Two splits j and k cut the rows into four quarters. The pair sums of one quarter give those of the other three, by subtraction from the
// sums of the rows with j, of the rows with k, and of all rows. So only the rows of the smallest quarter are added up, and the best trees
// of depth 2 of all four quarters follow. They serve the trees that split at j first, and those that split at k first.
template <class W>
class DepthFour {
 public:
  struct Tree {
    double cost;
    std::int32_t split = -1;  // a column of the rows; -1 if no tree costs less than the limit
    std::int32_t depth = 0;
  };

  // penalty: per leaf. tolerance: costs closer than this are equal.
  DepthFour(const TreeRows<W>& rows, double penalty, double tolerance);

  // Whether the tables for these rows fit into the memory that is set aside for them.
  static bool fits(const TreeRows<W>& rows);

  // The cheapest tree that costs less than the limit. check() is called often, and may throw. report(tree, bound) is called when the tree
  // or the lower bound on the cost of every tree may have improved.
  Tree solve(double limit, const std::function<void()>& check, const std::function<void(const Tree&, double)>& report);
  // A lower bound on the cost of every tree with a split, after solve().
  double bound() const;

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  using Side = std::size_t;  // of a split: twice the split, and one more for the rows that have the column
  static Side side_of(std::size_t split, bool is_right) { return 2 * split + is_right; }
  static Side opposite(Side side) { return side ^ 1; }

  // The rows on the smaller side of a split, by the last column that they pass in each chain.
  struct SmallerSide {
    Side side = 0;
    std::vector<std::size_t> first;  // by column, and one more
    std::vector<std::int32_t> rows;
    const PairSums<W>*sums = nullptr, *sums_of_rest = nullptr;
    PairSums<W> difference;
  };
  struct Quarters {
    std::size_t second = 0;
    double right[2], left[2];  // of the sides of the first split: the costs of the rows with the second split and without it
  };

  void add_up_rows();
  void solve_depth_three(const std::function<void()>& check, const std::function<void(const Tree&, double)>& report);
  void set_first_bounds();
  std::int32_t next_split(bool is_first) const;
  void take_smaller_side(std::size_t split);
  void expand(std::size_t split, const std::function<void()>& check);
  double least_of_side(Side side, double limit, const std::function<void()>& check);
  void look_at_chain(Side side, std::size_t chain, const std::vector<char>& wanted, double limit, double& least, double& skipped,
                     const std::function<void()>& check);
  Quarters solve_quarters(std::size_t split, std::size_t second);
  double bound_by_neighbour(Side side, std::size_t second, const Quarters& solved) const;
  void spread_from(std::size_t split);

  double cost_of(const BestGains<W>& gains, double most) const;
  double cost_without_search(double sum, double most) const;
  double in_both(const PairSums<W>& sums, Side one, Side two) const;
  double most_of(Side side) const {
    const double right = static_cast<double>(most_.single[side / 2]);
    return side % 2 == 1 ? right : static_cast<double>(most_.all) - right;
  }
  double& pair(Side side, std::size_t second) { return pairs_[side * shape_.n_columns + second]; }
  double quarter_bound(Side one, Side two) const;

  const TreeRows<W>& rows_;
  double penalty_, tolerance_;
  BlockShape<W> shape_;
  std::vector<W> masks_, mosts_;
  WeightedRows<W> weighted_;
  std::vector<std::size_t> chain_of_;
  std::vector<std::vector<std::int32_t>> by_last_;  // by column: the rows for which it is the last column that they pass in its chain
  PairSums<W> all_, most_;                          // of the signed weights, and of most_of
  std::vector<PairSums<W>> with_;                   // by column: the sums of the rows that have it
  std::vector<double> two_;    // by side: the cost of its best tree of depth at most 2
  std::vector<double> three_;  // by split: the cost of the best tree of depth at most 3 that begins with it
  std::vector<double> least_;  // by side: a lower bound on the cost of its best tree of depth at most 3
  std::vector<double> pairs_;  // by side and second split: the cost of the best tree of the side that begins with it; NaN if unknown
  std::vector<char> done_;
  SmallerSide smaller_;
  PairSums<W> buckets_;
  std::vector<W> scratch_[3];
  Tree best_{infinity};
};

}  // namespace fcca
