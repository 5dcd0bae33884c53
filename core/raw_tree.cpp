#include "raw_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "raw_error_costs.hpp"
#include "raw_leaf_costs.hpp"
#include "row_table.hpp"

namespace fcca {

namespace {

// Distinct rows with their class weights.
struct MergedRows {
  std::vector<std::size_t> source;    // a row of the table with the same values
  std::vector<double> weight;         // rows × classes
  std::vector<std::int64_t> count;    // number of rows of the caller
};

MergedRows merged_rows(const RawTable& table) {
  const std::size_t n_classes = table.n_classes;
  RowTable<std::int32_t> distinct(table.n_columns);
  MergedRows first;
  for (std::size_t row = 0; row < table.n_rows; ++row) {
    const std::size_t number = distinct.number_of(table.rank + row * table.n_columns);
    if (number == first.source.size()) {
      first.source.push_back(row), first.weight.resize(first.weight.size() + n_classes, 0.0), first.count.push_back(0);
    }
    double* weights = &first.weight[number * n_classes];
    first.count[number] += table.count == nullptr ? 1 : table.count[row];
    if (table.label != nullptr) {
      weights[table.label[row]] += table.weight[row];
    } else {
      for (std::size_t k = 0; k < n_classes; ++k) weights[k] += table.weight[row * n_classes + k];
    }
  }
  MergedRows out;
  for (const std::size_t number : distinct.sorted()) {
    const double* weights = &first.weight[number * n_classes];
    out.source.push_back(first.source[number]), out.count.push_back(first.count[number]);
    out.weight.insert(out.weight.end(), weights, weights + n_classes);
  }
  return out;
}

// One row per distinct row and label.
struct LabelledRows {
  std::vector<std::size_t> source;
  std::vector<double> net;
  std::vector<std::uint32_t> label;
  std::vector<std::int64_t> count;
  bool is_net = true, is_counted = false;
  double total = 0;          // Σ |net|
  double unavoidable = 0;    // the errors that every tree makes: equal rows of different classes
  bool whole = true;

  void add(std::size_t from, double weight, std::size_t of_class, std::int64_t n_rows) {
    source.push_back(from), net.push_back(weight), label.push_back(static_cast<std::uint32_t>(of_class)), count.push_back(n_rows);
    total += std::abs(weight), whole = whole && weight == std::floor(weight);
  }
};

LabelledRows net_rows(const MergedRows& rows, std::size_t n_classes) {
  LabelledRows out;
  for (std::size_t r = 0; r < rows.source.size(); ++r) {
    const double* w = &rows.weight[r * n_classes];
    const double least = *std::min_element(w, w + n_classes);
    if (n_classes == 2) {
      // A leaf with the signed sum s makes (Σ |net| − |s|) / 2 errors, and `least` more in each row.
      out.unavoidable += least;
      if (w[1] != w[0]) out.add(rows.source[r], w[1] - w[0], w[1] > w[0], 0);
      continue;
    }
    // A leaf that predicts class c makes Σ_k w_k − w_c errors in a row: Σ_k (w_k − least) − (w_c − least), and (K − 1) · least more.
    out.unavoidable += static_cast<double>(n_classes - 1) * least;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (w[k] > least) out.add(rows.source[r], w[k] - least, k, 0);
    }
  }
  return out;
}

// The number of rows counts once: with the first label of a distinct row.
LabelledRows class_rows(const MergedRows& rows, std::size_t n_classes, const LeafRules& rules) {
  LabelledRows out;
  out.is_net = false;
  for (std::size_t r = 0; r < rows.source.size(); ++r) {
    double weight = 0;
    std::int64_t count = rows.count[r];
    for (std::size_t k = 0; k < n_classes; ++k) {
      const double w = rows.weight[r * n_classes + k];
      if (w > 0) out.add(rows.source[r], w, k, count), count = 0;
      weight += w;
    }
    if (weight == 0 && rules.min_rows > 1) out.add(rows.source[r], 0, 0, count);  // the row counts, although it weighs nothing
    out.is_counted = out.is_counted || (rules.min_rows > 1 && weight != static_cast<double>(rows.count[r]));
  }
  return out;
}

template <class W>
std::vector<typename RawRows<W>::Kind> kinds_of(const LabelledRows& rows) {
  std::vector<typename RawRows<W>::Kind> kinds;
  for (std::size_t r = 0; r < rows.net.size(); ++r) kinds.push_back({static_cast<W>(rows.net[r]), rows.label[r]});
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

// Sorts the rows by every column, and rows of equal values by label.
template <class W>
RawRows<W> raw_rows(const RawTable& table, const LabelledRows& rows, const std::vector<typename RawRows<W>::Kind>& kinds) {
  using Id = typename RawRows<W>::Id;
  RawRows<W> out;
  const std::size_t n = rows.net.size();
  out.n_rows = n, out.n_columns = table.n_columns, out.n_classes = table.n_classes, out.is_net = rows.is_net;
  out.weight = rows.total, out.sums.assign(out.binary() ? 1 : table.n_classes + rows.is_counted, 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    const typename RawRows<W>::Kind kind{static_cast<W>(rows.net[r]), rows.label[r]};
    out.net.push_back(kind.net), out.label.push_back(static_cast<Id>(kind.label));
    out.kind.push_back(static_cast<Id>(std::lower_bound(kinds.begin(), kinds.end(), kind) - kinds.begin()));
    out.sums[out.binary() ? 0 : kind.label] += rows.net[r];
    if (rows.is_counted) out.count.push_back(rows.count[r]), out.sums.back() += static_cast<double>(rows.count[r]);
  }
  // Counting sort, from the rows in the order of their labels.
  std::vector<std::size_t> by_label(n), first;
  std::iota(by_label.begin(), by_label.end(), 0);
  std::stable_sort(by_label.begin(), by_label.end(), [&](std::size_t a, std::size_t b) { return rows.label[a] < rows.label[b]; });
  out.order.resize(n * table.n_columns), out.rank.resize(n * table.n_columns);
  for (std::size_t j = 0; j < table.n_columns; ++j) {
    const auto rank_of = [&](std::size_t r) { return static_cast<std::size_t>(table.rank[rows.source[r] * table.n_columns + j]); };
    first.assign(table.n_rows + 1, 0);
    for (std::size_t r = 0; r < n; ++r) ++first[rank_of(r) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    for (const std::size_t r : by_label) {
      const std::size_t place = j * n + first[rank_of(r)]++;
      out.order[place] = static_cast<Id>(r), out.rank[place] = static_cast<Id>(rank_of(r));
    }
  }
  return out;
}

// The error, with any number of leaves of any size.
RawTreeResult least_error_tree(const RawTable& table, const LabelledRows& rows, const TreeTask& task, const Stop& stop) {
  const auto searched = [&]<class W>(W) {
    auto kinds = kinds_of<W>(rows);
    RawRows<W> sorted = raw_rows<W>(table, rows, kinds);
    RawEffort effort(task.max_nodes, stop);
    RawErrorCosts<W> costs(std::move(kinds), sorted.weight, task.penalty, effort);
    return RawSearch<RawErrorCosts<W>>(std::move(sorted), costs, LeafBudget(LeafBudget::unlimited), effort).run(task.max_depth);
  };
  // Whole weights are summed as integers, exactly and in short vectors. Others are summed as doubles. With short integers, ranks and the numbers
  // of weights by interval are short as well.
  constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max();
  const bool is_short = table.n_rows <= most && table.n_classes <= most && (Lanes<std::int16_t>::count + 1) * kinds_of<double>(rows).size() <= most;
  RawTreeResult result = is_short && rows.whole && rows.total <= std::numeric_limits<std::int16_t>::max() ? searched(std::int16_t{})
                         : rows.whole && rows.total <= std::numeric_limits<std::int32_t>::max()            ? searched(std::int32_t{})
                                                                                                           : searched(double{});
  result.cost += rows.unavoidable;
  result.bound += rows.unavoidable;
  return result;
}

// Any cost of a leaf, and any limits.
RawTreeResult least_cost_tree(const RawTable& table, const LabelledRows& rows, const TreeTask& task, const LeafBudget& budget, const Stop& stop) {
  const LeafCost cost(task.criterion, table.n_classes, rows.total, task.units, rows.whole, task.rules, rows.is_counted);
  const auto searched = [&]<class W>(W) {
    auto kinds = kinds_of<W>(rows);
    RawRows<W> sorted = raw_rows<W>(table, rows, kinds);
    RawEffort effort(task.max_nodes, stop);
    const double scale = cost.without_rules(sorted.sums.data());
    RawLeafCosts<W> costs(cost, budget, std::move(kinds), scale, task.penalty, effort);
    return RawSearch<RawLeafCosts<W>>(std::move(sorted), costs, budget, effort).run(task.max_depth);
  };
  // Whole weights are summed as integers, if the costs of all sums are in tables or need none.
  const bool is_curved = task.criterion != Criterion::error && task.criterion != Criterion::gini;
  double n_rows = 0;
  for (const std::int64_t count : rows.count) n_rows += static_cast<double>(count);
  const bool is_whole = rows.whole && std::max(rows.total, n_rows) <= std::numeric_limits<std::int32_t>::max();
  return is_whole && (!is_curved || cost.curves().tabulated()) ? searched(std::int32_t{}) : searched(double{});
}

}  // namespace

RawTreeResult raw_tree(const RawTable& table, const TreeTask& task, const Stop& stop) {
  const MergedRows rows = merged_rows(table);
  // If no tree of this depth on these rows can reach the limit, there is no limit.
  const bool limited = task.max_leaves < static_cast<std::int64_t>(rows.source.size()) &&
                       (task.max_depth > 62 || task.max_leaves < (std::int64_t{1} << task.max_depth));
  if (task.criterion == Criterion::error && !limited && !task.rules.any()) {
    return least_error_tree(table, net_rows(rows, table.n_classes), task, stop);
  }
  return least_cost_tree(table, class_rows(rows, table.n_classes, task.rules), task,
                         LeafBudget(limited ? task.max_leaves : LeafBudget::unlimited), stop);
}

}  // namespace fcca
