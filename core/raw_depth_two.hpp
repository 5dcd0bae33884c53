// The best tree of depth two on numeric columns: the inner step of the search on raw columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "raw_effort.hpp"
#include "raw_rows.hpp"
#include "raw_walks.hpp"

namespace fcca {

// The best tree of depth two that was found: its first split, and at most one split on each side of it.
struct DepthTwoTree {
  double bound;               // no tree costs less
  double cost;
  std::int32_t column = -1;   // -1: the tree has at most one split
  std::uint32_t rank = 0;     // rows with at most this rank go to the left
};

template <class W>
class DepthTwo {
 public:
  // kinds: of all rows of the problem. tolerance: two costs closer than this are equal.
  DepthTwo(std::vector<typename RawRows<W>::Kind> kinds, double penalty, double tolerance, RawEffort& effort);
  // The tree is the best one if that costs less than the limit. Otherwise the bound is at least the limit (up to the tolerance). If the
  // search is stopped, only the bound and the cost hold.
  DepthTwoTree solve(const RawRows<W>& rows, double limit);

 private:
  using Id = typename RawRows<W>::Id;
  static constexpr std::size_t lanes = Lanes<W>::count;
  static constexpr std::size_t few_kinds = 64;  // so many can have their weights listed once for all
  // A first split of the column at hand.
  struct Threshold {
    std::size_t place;   // number of rows on the left
    double moved;        // their weight
    double left, right;  // lower bounds of the costs of the two sides
  };

  void prepare_walks(const RawRows<W>& rows);
  void list_steps(const RawRows<W>& rows);
  void number_kinds(const RawRows<W>& rows);
  void list_weights(const std::vector<typename RawRows<W>::Kind>& kinds);
  void try_column(const RawRows<W>& rows, std::size_t column, double depth_one, double limit, DepthTwoTree& best);
  double list_thresholds(const RawRows<W>& rows, std::size_t column, double depth_one, double limit);
  void choose_tested();
  void solve_tested(const RawRows<W>& rows, std::size_t column);
  void solve_with_two_classes(const RawRows<W>& rows, const Id* order, const Walk<W>& walk);
  void solve_with_many_classes(const RawRows<W>& rows, const Id* order, const Walk<W>& walk);
  double spread_bounds(double limit);

  std::vector<typename RawRows<W>::Kind> kinds_;
  double penalty_, tolerance_;
  RawEffort& effort_;
  std::vector<SideWeights<W>> weights_, sums_;  // weights_: by interval between tested thresholds and kind
  std::size_t n_kinds_ = 0;                     // in use for the rows at hand
  std::vector<Id> kind_of_row_, number_of_kind_;
  std::vector<typename RawRows<W>::Kind> present_;
  std::vector<std::vector<WalkStep>> steps_;
  bool is_prepared_ = false;           // whether the steps and kinds are those of the rows at hand
  std::vector<Threshold> open_;       // thresholds that may still lead to a better tree
  std::vector<std::size_t> tested_;   // positions in open_
  std::vector<Id> key_;
  std::vector<double> by_column_;
  std::vector<std::size_t> columns_;
};

}  // namespace fcca
