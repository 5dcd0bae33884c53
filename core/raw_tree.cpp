#include "raw_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "row_table.hpp"

namespace fcca {

namespace {

// Distinct rows by net weight: one row per label. `source` is a row of the table with the same values.
struct NetRows {
  std::vector<std::size_t> source;
  std::vector<double> net;
  std::vector<std::uint32_t> label;
  double total = 0;          // Σ |net|
  double unavoidable = 0;    // the errors that every tree makes: equal rows of different classes
  bool whole = true;
};

NetRows net_rows(const RawTable& table) {
  const std::size_t n_classes = table.n_classes;
  RowTable<std::int32_t> distinct(table.n_columns);
  std::vector<std::size_t> source;
  std::vector<double> weight;
  for (std::size_t row = 0; row < table.n_rows; ++row) {
    const std::size_t number = distinct.number_of(table.rank + row * table.n_columns);
    if (number == source.size()) source.push_back(row), weight.resize(weight.size() + n_classes, 0.0);
    double* weights = &weight[number * n_classes];
    if (table.label != nullptr) {
      weights[table.label[row]] += table.weight[row];
    } else {
      for (std::size_t k = 0; k < n_classes; ++k) weights[k] += table.weight[row * n_classes + k];
    }
  }
  NetRows out;
  const auto add = [&](std::size_t number, double net, std::size_t label) {
    out.source.push_back(source[number]), out.net.push_back(net), out.label.push_back(static_cast<std::uint32_t>(label));
    out.total += std::abs(net), out.whole = out.whole && net == std::floor(net);
  };
  for (const std::size_t number : distinct.sorted()) {
    const double* w = &weight[number * n_classes];
    const double least = *std::min_element(w, w + n_classes);
    if (n_classes == 2) {
      // A leaf with the signed sum s makes (Σ |net| − |s|) / 2 errors, and `least` more in each row.
      out.unavoidable += least;
      if (w[1] != w[0]) add(number, w[1] - w[0], w[1] > w[0]);
      continue;
    }
    // A leaf that predicts class c makes Σ_k w_k − w_c errors in a row: Σ_k (w_k − least) − (w_c − least), and (K − 1) · least more.
    out.unavoidable += static_cast<double>(n_classes - 1) * least;
    for (std::size_t k = 0; k < n_classes; ++k) {
      if (w[k] > least) add(number, w[k] - least, k);
    }
  }
  return out;
}

template <class W>
std::vector<typename RawRows<W>::Kind> kinds_of(const NetRows& rows) {
  std::vector<typename RawRows<W>::Kind> kinds;
  for (std::size_t r = 0; r < rows.net.size(); ++r) kinds.push_back({static_cast<W>(rows.net[r]), rows.label[r]});
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

// Sorts the rows by every column, and rows of equal values by label.
template <class W>
RawRows<W> raw_rows(const RawTable& table, const NetRows& rows, const std::vector<typename RawRows<W>::Kind>& kinds) {
  using Id = typename RawRows<W>::Id;
  RawRows<W> out;
  const std::size_t n = rows.net.size();
  out.n_rows = n, out.n_columns = table.n_columns, out.n_classes = table.n_classes;
  out.weight = rows.total, out.sums.assign(out.binary() ? 1 : table.n_classes, 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    const typename RawRows<W>::Kind kind{static_cast<W>(rows.net[r]), rows.label[r]};
    out.net.push_back(kind.net), out.label.push_back(static_cast<Id>(kind.label));
    out.kind.push_back(static_cast<Id>(std::lower_bound(kinds.begin(), kinds.end(), kind) - kinds.begin()));
    out.sums[out.binary() ? 0 : kind.label] += rows.net[r];
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

}  // namespace

RawTreeResult raw_tree(const RawTable& table, double penalty, std::int32_t max_depth, std::uint64_t max_nodes, const Stop& stop) {
  const NetRows rows = net_rows(table);
  const auto searched = [&]<class W>(W) {
    auto kinds = kinds_of<W>(rows);
    RawRows<W> sorted = raw_rows<W>(table, rows, kinds);
    return RawSearch<W>(std::move(sorted), std::move(kinds), penalty, max_nodes, stop).run(max_depth);
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

}  // namespace fcca
