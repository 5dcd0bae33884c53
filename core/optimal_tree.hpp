// From a binary table to the best tree: collapses rows, finds chains, picks the number type and runs the search.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"
#include "tree_search.hpp"

namespace fcca {

// Minimises the weight of misclassified rows + penalty · leaves over the trees of depth max_depth at most. Cost and bound of the
// result are that sum. It ends after max_nodes nodes of the search, or when told to stop.
TreeResult optimal_tree(const std::uint8_t* table, const std::int32_t* label, const double* weight, std::size_t n_rows,
                        std::size_t n_columns, std::size_t n_classes, double penalty, std::int32_t max_depth,
                        std::uint64_t max_nodes, const Stop& stop);

}  // namespace fcca
