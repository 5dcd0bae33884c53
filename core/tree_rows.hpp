// The rows of an optimal-tree problem: distinct binary rows with class weights, their columns grouped into chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fcca {

// A chain is a list of nested columns (x > t1 ⊇ x > t2 ⊇ …), so a row is described by how many of them it passes. Columns
// that nest with no other are chains of one.
//
// Weights are kept in planes. With two classes there is one plane, the weight of class 1 minus that of class 0: what both
// classes share is an error of every tree and left to the caller. With more, one plane per class, less the row's smallest.
template <class W>
struct TreeRows {
  std::size_t n_rows = 0, n_chains = 0, n_columns = 0, n_planes = 1;
  std::size_t stride = 0;                 // n_columns, rounded up so that vector loops need no tail
  std::vector<std::int32_t> first_column;  // by chain, and one more
  std::vector<std::int32_t> column;        // local column -> column of the caller
  std::vector<std::int32_t> passed;        // n_rows × n_chains
  std::vector<W> planes;                   // n_rows × n_planes
  std::vector<double> heaviest;            // by row, in units of gain: its share of the most that can be gained
  std::vector<double> spread;              // by row, in units of cost: the most that it can add to the cost of a tree
  std::vector<std::int32_t> id;            // row -> distinct row of the whole problem

  bool binary() const { return n_planes == 1; }
  // Cost is unit · (Σ heaviest − gain): with the signed plane a leaf's gain is |Σ|, twice what it saves.
  double unit() const { return binary() ? 0.5 : 1.0; }
  bool passes(std::size_t row, std::size_t chain, std::int32_t count) const { return passed[row * n_chains + chain] >= count; }

  // The rows given, with the columns that still tell some of them apart.
  TreeRows restricted(const std::int32_t* rows, std::size_t n) const;
};

template <class W>
TreeRows<W> TreeRows<W>::restricted(const std::int32_t* rows, std::size_t n) const {
  constexpr std::size_t lanes = 32 / sizeof(W);
  TreeRows out;
  out.n_rows = n;
  out.n_planes = n_planes;
  out.first_column.push_back(0);
  std::vector<std::size_t> kept;
  std::vector<std::vector<std::int32_t>> rank;  // by kept chain: old count -> new count
  std::vector<char> present;
  for (std::size_t c = 0; c < n_chains; ++c) {
    const std::size_t length = first_column[c + 1] - first_column[c];
    present.assign(length + 1, 0);
    for (std::size_t a = 0; a < n; ++a) present[passed[rows[a] * n_chains + c]] = 1;
    std::vector<std::int32_t> to(length + 1, 0);
    std::int32_t distinct = -1;
    for (std::size_t count = 0; count <= length; ++count) {
      if (!present[count]) continue;
      to[count] = ++distinct;
      if (distinct > 0) out.column.push_back(column[first_column[c] + count - 1]);
    }
    if (distinct <= 0) continue;
    kept.push_back(c);
    rank.push_back(std::move(to));
    out.first_column.push_back(static_cast<std::int32_t>(out.column.size()));
  }
  out.n_chains = kept.size();
  out.n_columns = out.column.size();
  out.stride = (out.n_columns + lanes - 1) / lanes * lanes;
  out.passed.resize(n * out.n_chains);
  out.planes.resize(n * n_planes);
  out.heaviest.resize(n), out.spread.resize(n), out.id.resize(n);
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t r = rows[a];
    for (std::size_t c = 0; c < kept.size(); ++c) out.passed[a * out.n_chains + c] = rank[c][passed[r * n_chains + kept[c]]];
    for (std::size_t k = 0; k < n_planes; ++k) out.planes[a * n_planes + k] = planes[r * n_planes + k];
    out.heaviest[a] = heaviest[r], out.spread[a] = spread[r], out.id[a] = id[r];
  }
  return out;
}

}  // namespace fcca
