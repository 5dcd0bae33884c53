// The rows of an optimal-tree problem on numeric columns: distinct rows with net weights, sorted by every column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

namespace fcca {

// Net weights are the class weights of a row minus the weight of its lightest class. The weight left out is an error of every tree, so the
// caller adds it. With two classes, a row has one signed weight: the weight of class 1 minus the weight of class 0. With more classes,
// it becomes one row per class with a positive net weight. So every row has one label, the class of its net weight.
//
// With sums s_k of the net weights, a leaf makes Σ |net| − max s_k errors, and (Σ |net| − |s|) / 2 with one signed sum s.
//
// Net weights are for the error alone. For other costs of leaves, a row of the problem becomes one row per class with its weight of that
// class (is_net is false). These rows have equal values everywhere, so no split separates them.
template <class W>
struct RawRows {
  using Id = std::conditional_t<sizeof(W) == 2, std::uint16_t, std::uint32_t>;
  // A pair of net weight and label. Rows of the same kind look the same to the walks along a column.
  struct Kind {
    W net;
    std::uint32_t label;
    bool operator<(const Kind& other) const { return label != other.label ? label < other.label : net < other.net; }
    bool operator==(const Kind& other) const = default;
  };

  std::size_t n_rows = 0, n_columns = 0, n_classes = 0;
  bool is_net = true;        // false: the weights are whole weights of one class, not net weights
  double weight = 0;         // Σ |net weight|
  std::vector<double> sums;  // net weight by class; one signed sum with two classes; then the number of rows, if rows are counted
  std::vector<W> net;        // by row
  std::vector<Id> label, kind;
  std::vector<std::int64_t> count;  // by row: the number of rows that it stands for; empty if rows are not counted
  std::vector<Id> order;     // columns × rows: the rows, sorted by the column; equal values by label
  std::vector<Id> rank;      // columns × rows: the rank of the value at each place of the order

  bool binary() const { return is_net && n_classes == 2; }
  const Id* order_of(std::size_t column) const { return order.data() + column * n_rows; }
  const Id* ranks_of(std::size_t column) const { return rank.data() + column * n_rows; }
  bool is_constant(std::size_t column) const { return ranks_of(column)[0] == ranks_of(column)[n_rows - 1]; }
  double weight_of(std::size_t row) const { return std::abs(static_cast<double>(net[row])); }
  double errors_of_leaf() const {
    return binary() ? (weight - std::abs(sums[0])) / 2 : weight - *std::max_element(sums.begin(), sums.end());
  }

  // Memory that restrict_to uses again and again.
  struct Scratch {
    std::vector<Id> new_id;
    std::vector<std::uint8_t> kept;
  };
  // The rows at the places [begin, end) of a column's order.
  void restrict_to(std::size_t column, std::size_t begin, std::size_t end, Scratch& scratch, RawRows& out) const {
    out.n_rows = end - begin, out.n_columns = n_columns, out.n_classes = n_classes, out.is_net = is_net;
    out.weight = 0, out.sums.assign(sums.size(), 0.0);
    out.net.resize(out.n_rows), out.label.resize(out.n_rows), out.kind.resize(out.n_rows);
    out.count.resize(count.empty() ? 0 : out.n_rows);
    scratch.new_id.resize(n_rows), scratch.kept.assign(n_rows, 0);
    for (std::size_t place = begin; place < end; ++place) scratch.kept[order_of(column)[place]] = 1;
    std::size_t next = 0;
    for (std::size_t row = 0; row < n_rows; ++row) {
      scratch.new_id[row] = static_cast<Id>(next);
      if (!scratch.kept[row]) continue;
      out.net[next] = net[row], out.label[next] = label[row], out.kind[next] = kind[row];
      out.weight += weight_of(row), out.sums[binary() ? 0 : label[row]] += static_cast<double>(net[row]);
      if (!count.empty()) out.count[next] = count[row], out.sums[n_classes] += static_cast<double>(count[row]);
      ++next;
    }
    // Every row is written, and only a kept one moves the place on. The last column may so write one entry too many.
    out.order.resize(n_columns * out.n_rows + 1), out.rank.resize(n_columns * out.n_rows + 1);
    for (std::size_t j = 0; j < n_columns; ++j) {
      const Id *from = order_of(j), *ranks = ranks_of(j);
      Id *to = out.order.data() + j * out.n_rows, *to_ranks = out.rank.data() + j * out.n_rows;
      std::size_t at = 0;
      for (std::size_t place = 0; place < n_rows; ++place) {
        const Id row = from[place];
        to[at] = scratch.new_id[row], to_ranks[at] = ranks[place];
        at += scratch.kept[row];
      }
    }
  }
};

// The best tree with at most one split.
struct OneSplit {
  double cost;
  std::int32_t column = -1;  // -1: a leaf
  std::size_t place = 0;     // number of rows on the left
};

// The place of the split of a column with the largest gain of the two leaves over a leaf of all rows, 0 if there is none.
template <class W>
std::size_t best_place_of_two(const RawRows<W>& rows, std::size_t column, double& gain) {
  // Splitting a signed sum s into a + b saves (|a| + |b| − |s|) / 2 errors, which is how far a lies outside the range from 0 to s.
  using Sum = std::conditional_t<std::is_integral_v<W>, std::int32_t, double>;
  const auto *order = rows.order_of(column), *ranks = rows.ranks_of(column);
  const Sum all = static_cast<Sum>(rows.sums[0]), high = std::max(all, Sum(0)), low = std::min(all, Sum(0));
  Sum most = 0, left = 0;
  std::size_t place = 0;
  for (std::size_t k = 0; k + 1 < rows.n_rows; ++k) {
    left += static_cast<Sum>(rows.net[order[k]]);
    const Sum saved = std::max(left - high, low - left);
    if (saved > most && ranks[k] != ranks[k + 1]) most = saved, place = k + 1;
  }
  gain = static_cast<double>(most);
  return place;
}

template <class W>
std::size_t best_place_of_many(const RawRows<W>& rows, std::size_t column, std::vector<double>& left, double& gain) {
  const auto *order = rows.order_of(column), *ranks = rows.ranks_of(column);
  const double as_leaf = *std::max_element(rows.sums.begin(), rows.sums.end());
  double most = as_leaf;
  std::size_t place = 0;
  left.assign(rows.n_classes, 0.0);
  for (std::size_t k = 0; k + 1 < rows.n_rows; ++k) {
    left[rows.label[order[k]]] += static_cast<double>(rows.net[order[k]]);
    if (ranks[k] == ranks[k + 1]) continue;
    double on_left = 0, on_right = 0;
    for (std::size_t c = 0; c < left.size(); ++c) on_left = std::max(on_left, left[c]), on_right = std::max(on_right, rows.sums[c] - left[c]);
    if (on_left + on_right > most) most = on_left + on_right, place = k + 1;
  }
  gain = most - as_leaf;
  return place;
}

// by_column: set to the least cost of a tree that begins with each column; that of a leaf if the column does not separate the rows.
template <class W>
OneSplit best_split(const RawRows<W>& rows, double penalty, std::vector<double>& by_column) {
  const double as_leaf = rows.errors_of_leaf() + penalty;
  OneSplit best{as_leaf};
  by_column.assign(rows.n_columns, as_leaf);
  std::vector<double> left;
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    if (rows.is_constant(j)) continue;
    double gain = 0;
    const std::size_t place = rows.binary() ? best_place_of_two(rows, j, gain) : best_place_of_many(rows, j, left, gain);
    if (place == 0) continue;
    by_column[j] = as_leaf - gain + penalty;
    if (by_column[j] < best.cost) best = {by_column[j], static_cast<std::int32_t>(j), place};
  }
  return best;
}

}  // namespace fcca
