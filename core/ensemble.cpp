#include "ensemble.hpp"

#include <algorithm>
#include <cmath>

namespace fcca {

EnsembleModel::EnsembleModel(const CellTrees& trees, const double* base_, const Cells& cells) : Ensemble(trees, cells), base(base_), sizes(trees.n_outputs, 0.0) {
  std::vector<double> largest(trees.n_outputs);
  std::vector<std::int32_t> pending;
  for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
    std::fill(largest.begin(), largest.end(), 0.0);
    pending.assign(1, static_cast<std::int32_t>(trees.roots[tree]));
    while (!pending.empty()) {
      const std::int32_t node = pending.back();
      pending.pop_back();
      if (trees.feature[node] >= 0) {
        pending.push_back(trees.left[node]), pending.push_back(trees.right[node]);
        continue;
      }
      for (std::size_t k = 0; k < trees.n_outputs; ++k) largest[k] = std::max(largest[k], std::abs(value_of(node)[k]));
    }
    for (std::size_t k = 0; k < trees.n_outputs; ++k) sizes[k] += largest[k];
  }
}

}  // namespace fcca
