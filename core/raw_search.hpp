// The search for the best sparse tree on numeric columns. It minimises the errors + penalty · leaves, for depth at most D.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "raw_depth_two.hpp"
#include "raw_effort.hpp"
#include "raw_rows.hpp"

namespace fcca {

// A node of the tree. An inner node separates two neighbouring values of its rows.
struct RawNode {
  std::int32_t column = -1;                // -1 for a leaf
  std::int32_t rank_left = -1, rank_right = -1;  // largest rank on the left, smallest rank on the right
  std::int32_t left = -1, right = -1;
};

struct RawTreeResult {
  double cost = 0, bound = 0;
  bool optimal = false;
  std::uint64_t nodes = 0;
  std::vector<RawNode> tree;
};

template <class W>
class RawSearch {
 public:
  // penalty: the penalty per leaf. max_nodes: the maximum number of row sets to visit.
  RawSearch(RawRows<W> rows, std::vector<typename RawRows<W>::Kind> kinds, double penalty, std::uint64_t max_nodes, const Stop& stop);
  RawTreeResult run(std::int32_t max_depth);

 private:
  // A lower bound on the cost of all trees, and the best tree found.
  struct Solution {
    double bound, cost;
    std::int32_t tree = simple;  // position in trees_
  };
  static constexpr std::int32_t simple = -1;  // the best tree with at most one split
  // The first split of a tree and the trees of its sides. The splits are ranks, so that the tree serves other rows as well.
  struct Tree {
    std::int32_t column;
    std::uint32_t rank;
    std::int32_t left, right;
  };
  // The sides of a first split.
  struct Sides {
    Solution left, right;
  };
  // The distinct values of a column: threshold t has place[t] rows of weight moved[t] on its left. The first and the last threshold have
  // no rows on one side.
  struct Thresholds {
    std::vector<std::uint32_t> place;
    std::vector<double> moved;
  };
  // Neighbouring thresholds that have not been solved yet, between two that have been. Positions in the list of the solved sides.
  struct Interval {
    double bound;  // no split of the interval leads to a cheaper tree
    std::int32_t column, first, last;  // thresholds
    std::int32_t below, above;         // the solved thresholds at its ends
    std::size_t sides_below, sides_above;
    bool operator<(const Interval& other) const {  // the least bound comes first; then long intervals, which rule out most
      if (bound != other.bound) return bound > other.bound;
      if (last - first != other.last - other.first) return last - first < other.last - other.first;
      return column != other.column ? column > other.column : first > other.first;
    }
  };
  struct Node;  // the state of the search in one node

  Solution solve(const RawRows<W>& rows, std::int32_t depth, double limit);
  Solution branch(const RawRows<W>& rows, std::int32_t depth, double limit, const Solution& shallower);
  void solve_threshold(Node& node, const Interval& interval, std::int32_t threshold);
  bool tighten(Node& node, Interval& interval) const;
  std::int32_t middle(const Thresholds& thresholds, const Interval& interval) const;
  Sides bounds_from_neighbours(const Node& node, const Interval& interval, std::int32_t threshold) const;
  void solve_sides(Node& node, const Interval& interval, std::int32_t threshold, Sides& sides);
  std::int32_t extract(const RawRows<W>& rows, std::int32_t tree, std::int32_t depth, std::vector<RawNode>& out);

  RawRows<W> rows_;
  double penalty_, tolerance_;
  RawEffort effort_;
  DepthTwo<W> depth_two_;
  std::vector<Tree> trees_;
  std::deque<RawRows<W>> side_rows_;  // by depth of the node: the rows of one side of its first split
  typename RawRows<W>::Scratch scratch_;
};

}  // namespace fcca
