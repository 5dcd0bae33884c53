// Scores of rows by walking the trees, summed in the order and precision of the original classifier.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fcca {

// The nodes of all trees in one set of arrays. A leaf has feature -1. An inner node sends x <= threshold to the left or, if it has a set
// of categories, the categories in the set. Missing values are NaN.
struct Trees {
  std::size_t n_trees;
  const std::int64_t* roots;
  const std::int32_t* feature;
  const double* threshold;
  const std::int32_t* left;
  const std::int32_t* right;
  std::size_t n_outputs;
  const double* value;  // nodes × n_outputs
  const std::uint8_t* missing_left;  // by node; null if no value may be missing
  const std::int64_t* first_code;    // by node, into left_codes; -1 for a test of numbers. Null: no categories at all
  const std::int64_t* n_codes;       // by node
  const std::uint8_t* left_codes;    // whether a category goes to the left

  std::int32_t leaf_of(std::size_t tree, const double* row) const {
    std::int32_t node = static_cast<std::int32_t>(roots[tree]);
    if (missing_left == nullptr && first_code == nullptr) {
      while (feature[node] >= 0) node = row[feature[node]] <= threshold[node] ? left[node] : right[node];
    } else {
      while (feature[node] >= 0) node = goes_left(node, row[feature[node]]) ? left[node] : right[node];
    }
    return node;
  }
  bool goes_left(std::int32_t node, double x) const {
    if (std::isnan(x)) return missing_left != nullptr && missing_left[node] != 0;
    if (first_code == nullptr || first_code[node] < 0) return x <= threshold[node];
    return x >= 0 && x < static_cast<double>(n_codes[node]) && left_codes[first_code[node] + static_cast<std::int64_t>(x)] != 0;
  }
  const double* value_of(std::int32_t node) const { return value + static_cast<std::size_t>(node) * n_outputs; }
};

// Parts of consecutive trees. If nested, the sum of each part is divided and weighted before it is added to the total. Otherwise, the trees
// are added to the total one by one.
struct Parts {
  std::size_t n_parts;
  const std::int64_t* size;
  const double* divisor;
  const double* weight;
  bool nested;
};

// Number is float or double: the type in which the classifier sums.
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
