#include "optimal_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "distinct_rows.hpp"

namespace fcca {

namespace {

// The errors that every tree makes: equal rows of different classes.
double unavoidable_error(const DistinctRows& rows) {
  double error = 0;
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    const double* w = rows.weight.data() + r * rows.n_classes;
    double sum = 0;
    for (std::size_t k = 0; k < rows.n_classes; ++k) sum += w[k];
    error += sum - *std::max_element(w, w + rows.n_classes);
  }
  return error;
}

template <class W>
TreeRows<W> tree_rows(const DistinctRows& rows) {
  TreeRows<W> out;
  const std::size_t n_classes = rows.n_classes;
  out.n_planes = n_classes == 2 ? 1 : n_classes;
  const auto chains = nested_chains(rows);
  out.n_chains = chains.size();
  out.first_column.push_back(0);
  for (const auto& chain : chains) {
    out.column.insert(out.column.end(), chain.begin(), chain.end());
    out.first_column.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  out.n_columns = out.column.size();
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    const double* w = rows.weight.data() + r * n_classes;
    const double most = *std::max_element(w, w + n_classes), least = *std::min_element(w, w + n_classes);
    if (most == least) continue;  // it costs the same whatever a leaf predicts
    for (std::size_t k = 0; k < out.n_planes; ++k) out.planes.push_back(static_cast<W>(n_classes == 2 ? w[1] - w[0] : w[k] - least));
    out.spread.push_back(most - least);
    out.id.push_back(static_cast<std::int32_t>(out.n_rows++));
    for (const auto& chain : chains) {
      std::int32_t passed = 0;
      while (passed < static_cast<std::int32_t>(chain.size()) && rows.has(r, chain[passed])) ++passed;
      out.passed.push_back(passed);
    }
  }
  return out;
}

template <class W>
TreeResult search(const DistinctRows& rows, double penalty, std::int32_t max_depth, std::uint64_t max_nodes, const Stop& stop) {
  return TreeSearch<W>(tree_rows<W>(rows), penalty, max_nodes, stop).run(max_depth);
}

}  // namespace

TreeResult optimal_tree(const std::uint8_t* table, const std::int32_t* label, const double* weight, std::size_t n_rows,
                        std::size_t n_columns, std::size_t n_classes, double penalty, std::int32_t max_depth,
                        std::uint64_t max_nodes, const Stop& stop) {
  const DistinctRows rows = distinct_rows(table, label, weight, n_rows, n_columns, n_classes);
  double total = 0;
  bool whole = true;
  for (const double w : rows.weight) total += w, whole = whole && w == std::floor(w);
  // Whole weights are summed as integers, exactly and in short vectors; others as doubles.
  const auto searched = [&]<class W>(W) { return search<W>(rows, penalty, max_depth, max_nodes, stop); };
  TreeResult result = whole && total <= std::numeric_limits<std::int16_t>::max()   ? searched(std::int16_t{})
                      : whole && total <= std::numeric_limits<std::int32_t>::max() ? searched(std::int32_t{})
                                                                                   : searched(double{});
  const double error = unavoidable_error(rows);
  result.cost += error;
  result.bound += error;
  return result;
}

}  // namespace fcca
