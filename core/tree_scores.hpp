// Scores of rows by walking the trees, added up in the order and precision of the classifier they were read from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fcca {

// All trees' nodes in one set of arrays; a leaf has feature -1, an inner node sends x <= threshold to the left.
struct Trees {
  std::size_t n_trees;
  const std::int64_t* roots;
  const std::int32_t* feature;
  const double* threshold;
  const std::int32_t* left;
  const std::int32_t* right;
  std::size_t n_outputs;
  const double* value;  // nodes × n_outputs

  std::int32_t leaf_of(std::size_t tree, const double* row) const {
    std::int32_t node = static_cast<std::int32_t>(roots[tree]);
    while (feature[node] >= 0) node = row[feature[node]] <= threshold[node] ? left[node] : right[node];
    return node;
  }
  const double* value_of(std::int32_t node) const { return value + static_cast<std::size_t>(node) * n_outputs; }
};

// Consecutive trees whose sum is divided and weighted before it is added. A sum that is not nested starts from the base.
struct Parts {
  std::size_t n_parts;
  const std::int64_t* size;
  const double* divisor;
  const double* weight;
  bool nested;
};

// Number is float or double: what the classifier adds up in.
template <class Number>
void score_row(const Trees& trees, const Parts& parts, const double* base, double divisor, const double* row, Number* sum,
               Number* part_sum, double* out) {
  const std::size_t K = trees.n_outputs;
  for (std::size_t k = 0; k < K; ++k) sum[k] = static_cast<Number>(base[k]);
  std::size_t tree = 0;
  for (std::size_t part = 0; part < parts.n_parts; ++part) {
    Number* into = parts.nested ? part_sum : sum;
    if (parts.nested) for (std::size_t k = 0; k < K; ++k) part_sum[k] = 0;
    for (const std::size_t end = tree + static_cast<std::size_t>(parts.size[part]); tree < end; ++tree) {
      const double* leaf = trees.value_of(trees.leaf_of(tree, row));
      for (std::size_t k = 0; k < K; ++k) into[k] += static_cast<Number>(leaf[k]);
    }
    if (parts.nested) {
      for (std::size_t k = 0; k < K; ++k) {
        sum[k] += part_sum[k] / static_cast<Number>(parts.divisor[part]) * static_cast<Number>(parts.weight[part]);
      }
    }
  }
  for (std::size_t k = 0; k < K; ++k) out[k] = static_cast<double>(sum[k] / static_cast<Number>(divisor));
}

}  // namespace fcca
