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

// The chains and, by row, the original class weights with the bounds of the cost.
template <class W>
TreeRows<W> tree_rows(const DistinctRows& rows, const LeafCost& cost) {
  TreeRows<W> out;
  const std::size_t n_classes = rows.n_classes;
  const bool net = cost.is_plain_error();
  out.n_planes = !net ? n_classes + cost.counted() : n_classes == 2 ? 1 : n_classes;
  const auto chains = nested_chains(rows);
  out.n_chains = chains.size();
  out.first_column.push_back(0);
  for (const auto& chain : chains) {
    out.column.insert(out.column.end(), chain.begin(), chain.end());
    out.first_column.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  out.n_columns = out.column.size();
  out.passed.reserve(rows.n_rows() * out.n_chains), out.first_run.reserve(rows.n_rows() + 1), out.runs.reserve(rows.n_rows());
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    const double* w = rows.weight.data() + r * n_classes;
    const double most = *std::max_element(w, w + n_classes), least = *std::min_element(w, w + n_classes);
    if (net && most == least) continue;  // it costs the same whatever a leaf predicts
    if (net && n_classes == 2) {
      out.planes.push_back(static_cast<W>(w[1] - w[0]));
    } else {
      for (std::size_t k = 0; k < n_classes; ++k) out.planes.push_back(static_cast<W>(net ? w[k] - least : w[k]));
      if (!net && cost.counted()) out.planes.push_back(static_cast<W>(rows.count[r]));
    }
    out.most.push_back(net ? most - least : cost.most_of(w));
    out.least.push_back(net ? 0 : cost.least_of(w));
    out.id.push_back(static_cast<std::int32_t>(out.n_rows++));
    for (std::size_t c = 0; c < chains.size(); ++c) {
      std::int32_t passed = 0;
      while (passed < static_cast<std::int32_t>(chains[c].size()) && rows.has(r, chains[c][passed])) ++passed;
      out.passed.push_back(passed);
      if (passed > 0) out.runs.push_back({out.first_column[c], out.first_column[c] + passed - 1});
    }
    out.end_row();
  }
  return out;
}

}  // namespace

TreeResult optimal_tree(const TreeTable& table, const TreeTask& task, const Stop& stop) {
  const DistinctRows rows =
      distinct_rows(table.bits, table.label, table.weight, table.count, table.n_rows, table.n_columns, table.n_classes);
  double total = 0, n_rows = 0;
  bool whole = true, counted = false;
  for (std::size_t r = 0; r < rows.n_rows(); ++r) {
    double weight = 0;
    for (std::size_t k = 0; k < rows.n_classes; ++k) {
      const double w = rows.weight[r * rows.n_classes + k];
      weight += w, whole = whole && w == std::floor(w);
    }
    total += weight, n_rows += rows.count[r];
    counted = counted || (task.rules.min_rows > 1 && weight != rows.count[r]);
  }
  const LeafCost cost(task.criterion, rows.n_classes, total, task.units, whole, task.rules, counted);
  // If no tree of this depth on these rows can reach the limit, there is no limit.
  const bool limited = task.max_leaves < static_cast<std::int64_t>(rows.n_rows()) &&
                       (task.max_depth > 62 || task.max_leaves < (std::int64_t{1} << task.max_depth));
  const LeafBudget budget(limited ? task.max_leaves : LeafBudget::unlimited);
  // Whole weights are summed as integers, exactly and in short vectors. Others are summed as doubles.
  const auto searched = [&]<class W>(W) {
    return TreeSearch<W>(tree_rows<W>(rows, cost), cost, task.penalty, budget, task.max_nodes, stop).run(task.max_depth);
  };
  const double largest = std::max(total, n_rows);
  TreeResult result = whole && largest <= std::numeric_limits<std::int16_t>::max()   ? searched(std::int16_t{})
                      : whole && largest <= std::numeric_limits<std::int32_t>::max() ? searched(std::int32_t{})
                                                                                     : searched(double{});
  const double error = cost.is_plain_error() ? unavoidable_error(rows) : 0;
  result.cost += error;
  result.bound += error;
  return result;
}

}  // namespace fcca
