// Lower bounds from partitions of rows into groups: a tree with k leaves partitions its rows into k groups, and no partition into k groups of
// any kind costs less than these bounds. For two classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leaf_cost.hpp"
#include "tree_rows.hpp"

namespace fcca {

class ClusterBounds {
 public:
  // rows: all rows of the problem, with the weights of both classes in their first two planes.
  template <class W>
  ClusterBounds(const TreeRows<W>& rows, const LeafCost& cost);
  // Whether the bounds for few leaves are much above the bound for any number. They are not if most rows have one class.
  bool are_useful();
  // Some rows, given by their numbers in the whole problem.
  void clear();
  void add(std::int32_t id) {
    Bin& bin = bins_[bin_of_[id]];
    bin.ones += ones_[id], bin.zeros += zeros_[id], bin.least += least_[id];
  }
  // For each number of leaves from 1: a lower bound on the cost of a tree of these rows with at most so many leaves, including the penalties.
  void write(std::size_t n_bounds, double penalty, double* bounds);

 private:
  // Rows with neighbouring shares of class 1.
  struct Bin {
    double zeros = 0, ones = 0;
    double least = 0;        // sum of least_of over the rows
    bool is_mixed = false;   // whether shares differ, so that a border between groups may lie inside
  };
  double group_cost(double zeros, double ones) const;
  double logarithmic(double weight) const;

  Criterion criterion_;
  bool whole_;
  std::vector<std::uint8_t> bin_of_;           // by row
  std::vector<double> zeros_, ones_, least_;   // by row
  std::vector<Bin> bins_;
  std::vector<double> logarithmic_;            // w · log w for whole weights
  std::vector<const Bin*> filled_;             // scratch
  std::vector<double> cost_, covered_, begun_;
};

}  // namespace fcca
