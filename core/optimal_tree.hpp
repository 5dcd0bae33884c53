// From a binary table to the best tree: collapses rows, finds chains, picks the number type and runs the search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "leaf_budget.hpp"
#include "leaf_cost.hpp"
#include "parallel.hpp"
#include "tree_search.hpp"

namespace fcca {

struct TreeTable {
  const std::uint8_t* bits;   // n_rows × n_columns, 0 or 1
  const std::int32_t* label;  // null: weight is n_rows × n_classes, the weight of each class in a row
  const double* weight;
  const std::int64_t* count;  // how many rows each stands for; null: one
  std::size_t n_rows, n_columns, n_classes;
};

struct TreeTask {
  Criterion criterion = Criterion::error;
  double units = 1;    // of weight: how many make a row of weight 1
  double penalty = 0;  // the price of a leaf, as its cost
  std::int32_t max_depth = 0;
  std::int64_t max_leaves = LeafBudget::unlimited;
  LeafRules rules;
  std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max();
};

// Minimises the cost of the leaves + penalty · leaves. Cost and bound of the result are that sum. It ends after max_nodes nodes of the
// search, or when told to stop.
TreeResult optimal_tree(const TreeTable& table, const TreeTask& task, const Stop& stop);

}  // namespace fcca
