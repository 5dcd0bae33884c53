// From a binary table to the best tree: merges equal rows, finds chains, chooses the number type and runs the search.
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
  const std::int64_t* count;  // number of rows that each row stands for; null: one
  std::size_t n_rows, n_columns, n_classes;
};

struct TreeTask {
  Criterion criterion = Criterion::error;
  double units = 1;    // number of units of weight in a row of weight 1
  double penalty = 0;  // the penalty per leaf, in units of the cost
  std::int32_t max_depth = 0;
  std::int64_t max_leaves = LeafBudget::unlimited;
  LeafRules rules;
  std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max();
};

// Minimises the cost of the leaves + penalty · leaves. The cost and the bound in the result refer to this sum. The search ends after
// max_nodes nodes, or when it is told to stop.
TreeResult optimal_tree(const TreeTable& table, const TreeTask& task, const Stop& stop);

}  // namespace fcca
