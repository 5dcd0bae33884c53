// From numeric columns to the best tree: merges equal rows, chooses the cost of a leaf and the number type, and runs the search.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimal_tree.hpp"
#include "parallel.hpp"
#include "raw_search.hpp"

namespace fcca {

struct RawTable {
  const std::int32_t* rank;   // n_rows × n_columns: the ranks of the values in their column, from 0
  const std::int32_t* label;  // null: weight is n_rows × n_classes, the weight of each class in a row
  const double* weight;
  const std::int64_t* count;  // number of rows that each row stands for; null: one
  std::size_t n_rows, n_columns, n_classes;
};

// Minimises the cost of the leaves + penalty · leaves. The search ends after max_nodes nodes, or when it is told to stop.
RawTreeResult raw_tree(const RawTable& table, const TreeTask& task, const Stop& stop);

}  // namespace fcca
