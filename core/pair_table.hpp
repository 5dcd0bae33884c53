// Weights of all pairs of columns, from which the best tree of depth 2 is read off without looking at single leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tree_rows.hpp"

namespace fcca {

// Gains are less the price of the leaves. A leaf gains the weight of its best class (with two classes, |Σ of the signed plane|).
struct LeafPrice {
  double per_leaf;  // in units of gain
};

// pair[k][i][j] = weight in plane k of the rows that pass column i and column j; single[k][j] = of those that pass j.
template <class W>
class PairTable {
 public:
  // An empty table over the columns of rows.
  void reset(const TreeRows<W>& rows);
  // Adds a row to the bucket of the last column it passes in each chain; sum_chains() turns buckets into pairs.
  void add(const TreeRows<W>& rows, std::size_t row);
  void sum_chains(const TreeRows<W>& rows);

  // For each column i: the gain of the best tree that splits first at i and has depth 2 at most.
  void first_split_gains(LeafPrice price, std::vector<double>& gains) const;

  // *this holds the buckets of the right-hand rows, total the pairs of all: the gains of the best trees of depth 2 at most of
  // the right-hand rows and of the others, in one pass.
  void two_sided_gains(const TreeRows<W>& rows, const PairTable& total, LeafPrice price, double& right, double& left);

 private:
  std::size_t n_columns_ = 0, stride_ = 0, n_planes_ = 0;
  std::vector<W> pair_, single_, sum_;         // sum_: by plane
  std::vector<W> row_, running_, other_, best_;  // scratch
  std::vector<std::size_t> places_;              // a row's buckets
};

}  // namespace fcca
