// From numeric columns to the best tree for the error: merges equal rows, chooses the number type and runs the search.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"
#include "raw_search.hpp"

namespace fcca {

struct RawTable {
  const std::int32_t* rank;   // n_rows × n_columns: the ranks of the values in their column, from 0
  const std::int32_t* label;  // null: weight is n_rows × n_classes, the weight of each class in a row
  const double* weight;
  std::size_t n_rows, n_columns, n_classes;
};

// Minimises the errors + penalty · leaves, for at most this depth. The search ends after max_nodes nodes, or when it is told to stop.
RawTreeResult raw_tree(const RawTable& table, double penalty, std::int32_t max_depth, std::uint64_t max_nodes, const Stop& stop);

}  // namespace fcca
