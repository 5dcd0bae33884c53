// The rows of an optimal-tree problem: distinct binary rows with class weights, their columns grouped into chains.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace fcca {

// The columns of one chain that a row passes: all from the first column of the chain to the last one passed.
struct ColumnRun {
  std::int32_t first, last;
};

// A chain is a list of nested columns (x > t1 ⊇ x > t2 ⊇ …), so a row is described by the number of columns it passes. A column
// that is nested with no other is a chain of one.
//
// Weights are kept in planes: one per class and, if leaves have a minimum number of rows, one more with the numbers of rows. For the plain
// error, net weights are enough. With two classes, there is one plane: the weight of class 1 minus the weight of class 0. With more, there
// is one plane per class, minus the row's smallest weight. The weight left out is an error of every tree, so the caller adds it. A leaf
// then gains the weight of its best class (with two classes, |Σ of the signed plane|), and the errors of a tree are unit · (Σ most − gain
// of its leaves), because with the signed plane a leaf gains twice what it saves.
template <class W>
struct TreeRows {
  std::size_t n_rows = 0, n_chains = 0, n_columns = 0, n_planes = 1;
  std::size_t stride = 0;                 // n_columns, rounded up so that vector loops need no tail
  std::vector<std::int32_t> first_column;  // by chain, and one more
  std::vector<std::int32_t> column;        // local column -> column of the caller
  std::vector<std::int32_t> passed;        // n_rows × n_chains
  // By row: the columns that it passes, one run per chain in which it passes any. Rows of one-hot columns pass few of many chains.
  std::vector<std::int32_t> first_run{0};  // by row, and one more
  std::vector<ColumnRun> runs;
  std::vector<W> planes;                   // n_rows × n_planes
  // By row: the largest and the smallest amount that it can add to the cost of a leaf. For net weights, the largest is the heaviest class
  // weight minus the lightest, which is also its largest gain, and the smallest is 0.
  std::vector<double> most, least;
  std::vector<std::int32_t> id;            // row -> distinct row of the whole problem

  bool binary() const { return n_planes == 1; }
  double unit() const { return binary() ? 0.5 : 1.0; }
  bool passes(std::size_t row, std::size_t chain, std::int32_t count) const { return passed[row * n_chains + chain] >= count; }

  void end_row() { first_run.push_back(static_cast<std::int32_t>(runs.size())); }
  // Calls visit(first column, last column) for the runs of a row.
  template <class Visit>
  void for_each_run(std::size_t row, Visit visit) const {
    const ColumnRun* end = runs.data() + first_run[row + 1];
    for (const ColumnRun* run = runs.data() + first_run[row]; run != end; ++run) visit(run->first, run->last);
  }

  // The given rows, with the columns that still separate some of them.
  TreeRows restricted(const std::int32_t* rows, std::size_t n) const;
};

// Sums over some rows, from which the cost of a leaf with these rows is computed.
struct WeightSums {
  double most = 0, least = 0;
  std::vector<double> planes;

  explicit WeightSums(std::size_t n_planes) : planes(n_planes, 0.0) {}
  template <class W>
  explicit WeightSums(const TreeRows<W>& rows) : WeightSums(rows.n_planes) {
    for (std::size_t row = 0; row < rows.n_rows; ++row) add(rows, row);
  }
  template <class W>
  void add(const TreeRows<W>& rows, std::size_t row) {
    most += rows.most[row], least += rows.least[row];
    for (std::size_t k = 0; k < planes.size(); ++k) planes[k] += rows.planes[row * planes.size() + k];
  }
  void set_to_difference(const WeightSums& all, const WeightSums& part) {
    most = all.most - part.most, least = all.least - part.least;
    for (std::size_t k = 0; k < planes.size(); ++k) planes[k] = all.planes[k] - part.planes[k];
  }
  // The errors of a leaf with these sums of net weights.
  template <class W>
  double net_error(const TreeRows<W>& rows) const {
    const double gain = rows.binary() ? std::abs(planes[0]) : *std::max_element(planes.begin(), planes.end());
    return rows.unit() * (most - gain);
  }
};

// Rows sorted by the number of columns of a chain that they pass. A split at one of its columns cuts the list in two.
struct ChainOrder {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> first;  // by number of columns passed, and one more

  template <class W>
  ChainOrder(const TreeRows<W>& all, std::size_t chain) : rows(all.n_rows) {
    const std::size_t length = all.first_column[chain + 1] - all.first_column[chain];
    first.assign(length + 2, 0);
    for (std::size_t a = 0; a < all.n_rows; ++a) ++first[all.passed[a * all.n_chains + chain] + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::int32_t> at(first.begin(), first.end());
    for (std::size_t a = 0; a < all.n_rows; ++a) rows[at[all.passed[a * all.n_chains + chain]]++] = static_cast<std::int32_t>(a);
  }
};

template <class W>
TreeRows<W> TreeRows<W>::restricted(const std::int32_t* rows, std::size_t n) const {
  constexpr std::size_t lanes = 32 / sizeof(W);
  TreeRows out;
  out.n_rows = n;
  out.n_planes = n_planes;
  std::vector<std::size_t> n_last(n_columns, 0);  // by column: number of rows with a run that ends there
  std::size_t n_runs = 0;
  for (std::size_t a = 0; a < n; ++a) {
    for_each_run(rows[a], [&](std::int32_t, std::int32_t last) { ++n_last[last]; });
    n_runs += static_cast<std::size_t>(first_run[rows[a] + 1] - first_run[rows[a]]);
  }
  out.first_column.push_back(0);
  std::vector<std::int32_t> to(n_columns, 0);       // by last column of a run: number of new columns of the chain that the run passes
  std::vector<std::int32_t> new_chain(n_columns, 0);  // by first column of a run
  for (std::size_t c = 0; c < n_chains; ++c) {
    const std::size_t begin = first_column[c], end = first_column[c + 1];
    const std::size_t n_passing = std::accumulate(n_last.begin() + begin, n_last.begin() + end, std::size_t{0});
    std::int32_t distinct = n_passing < n ? 0 : -1;
    for (std::size_t i = begin; i < end; ++i) {
      if (n_last[i] > 0 && ++distinct > 0) out.column.push_back(column[i]);
      to[i] = distinct;
    }
    if (distinct <= 0) continue;
    new_chain[begin] = static_cast<std::int32_t>(out.n_chains++);
    out.first_column.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  out.n_columns = out.column.size();
  out.stride = (out.n_columns + lanes - 1) / lanes * lanes;
  out.passed.assign(n * out.n_chains, 0);
  out.planes.resize(n * n_planes);
  out.most.resize(n), out.least.resize(n), out.id.resize(n);
  out.first_run.reserve(n + 1), out.runs.resize(n_runs);
  ColumnRun* next = out.runs.data();
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t r = rows[a];
    std::int32_t* passed_here = out.passed.data() + a * out.n_chains;
    for_each_run(r, [&](std::int32_t first, std::int32_t last) {
      if (to[last] <= 0) return;
      const std::int32_t chain = new_chain[first], begin = out.first_column[chain];
      passed_here[chain] = to[last];
      *next++ = {begin, begin + to[last] - 1};
    });
    out.first_run.push_back(static_cast<std::int32_t>(next - out.runs.data()));
    for (std::size_t k = 0; k < n_planes; ++k) out.planes[a * n_planes + k] = planes[r * n_planes + k];
    out.most[a] = most[r], out.least[a] = least[r], out.id[a] = id[r];
  }
  out.runs.resize(static_cast<std::size_t>(next - out.runs.data()));
  return out;
}

}  // namespace fcca
