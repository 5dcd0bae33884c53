// The trees of depth 2 of one set of rows, for any leaf cost: the four leaves of every pair of columns are computed one by one.
#pragma once

#include <cstddef>
#include <vector>

#include "leaf_cost.hpp"
#include "pair_table.hpp"

namespace fcca {

// One class of one row i of a pair table, for second columns j < i.
template <class W>
struct ClassRow {
  const W* both;      // weight of the rows that have i and j
  const W* single;    // weight of the rows that have j
  W passing, rest;    // weight of the rows that have i, and of the others
};

// Scratch by leaf (both columns, only i, only j, neither) and second column.
template <class W>
struct LeafSums {
  std::vector<W> n, most;      // sum of the class weights, and the largest
  std::vector<double> sum;     // sum of the criterion's terms for the class weights
  std::vector<double> cost;
  std::size_t stride = 0;

  explicit LeafSums(std::size_t n_columns) : n(4 * n_columns), most(4 * n_columns), sum(4 * n_columns), cost(4 * n_columns), stride(n_columns) {}
};

// The best second splits of all first columns of one set of rows. The rows of the pair table are given one by one, in any order.
template <class W>
class SecondSplits {
 public:
  // single: by plane and column, stride apart, the weight of the rows that have the column; all: by plane, the weight of all rows.
  SecondSplits(const LeafCost& cost, std::size_t n_columns, const W* single, std::size_t stride, const W* all);

  // Row i of the pair table: by plane, stride apart, and column j, the weight of the rows that have columns i and j. Each pair of
  // columns is visited once, with j < i, because its leaves are the same in both orders.
  void add_row(std::size_t i, const W* pair, std::size_t stride);

  FirstSplitCosts of(std::size_t i);
  double as_leaf();

 private:
  ClassRow<W> class_row(std::size_t i, std::size_t plane, const W* both) const {
    return {both, single_[plane], single_[plane][i], static_cast<W>(all_[plane] - single_[plane][i])};
  }
  template <class Weight>
  double leaf_of(Weight weight);
  void forbid_small(std::size_t i, const W* both);

  const LeafCost& cost_;
  const W* all_;
  std::vector<const W*> single_;   // by plane
  std::vector<ClassRow<W>> classes_;
  std::vector<double> in_, out_;   // by first column: the best second split of the rows that have it, and of the rest
  LeafSums<W> leaves_;
  std::vector<double> planes_;     // scratch
};

}  // namespace fcca
