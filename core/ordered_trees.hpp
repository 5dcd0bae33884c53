// Trees whose tests send sets of cells to the left, rewritten so that every test sends the cells up to a cut to the left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fcca {

// A node with a set lists whether each cell of its feature goes to the left, starting at first_left. All other nodes have a cut, and -1 as
// first_left.
struct SetTrees {
  std::size_t n_trees;
  const std::int64_t* roots;
  const std::int32_t* feature;
  const std::int32_t* cut;
  const std::int32_t* left;
  const std::int32_t* right;
  const std::int64_t* first_left;
  const std::uint8_t* left_cells;
};

struct OrderedTrees {
  std::vector<std::int64_t> roots;
  std::vector<std::int32_t> feature, cut, left, right;
  std::vector<std::int32_t> source;  // the original node of each node
};

// n_cells: by feature. A branch that no cell reaches is left out. If a set consists of several runs of cells, the subtree below it is
// repeated for each run. Throws std::overflow_error if there are too many nodes, or if a tree becomes too deep.
OrderedTrees ordered(const SetTrees& trees, std::size_t n_features, const std::int64_t* n_cells);

}  // namespace fcca
