// Weights of all pairs of columns in blocks of vectors, from which the best trees of depth 2 of two sets of rows are computed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pair_table.hpp"
#include "tree_rows.hpp"

namespace fcca {

// The layout of pair sums. First column j is lane j % lanes of block j / lanes. Within a block, the vectors of the second columns are
// neighbours, so every pass reads a table from one end to the other.
template <class W>
struct BlockShape {
  static constexpr std::size_t lanes = 32 / sizeof(W);
  std::size_t n_columns = 0, n_blocks = 0;

  BlockShape() = default;
  explicit BlockShape(std::size_t columns) : n_columns(columns), n_blocks((columns + lanes - 1) / lanes) {}
  std::size_t width() const { return n_blocks * lanes; }
  std::size_t size() const { return n_columns * width(); }
  std::size_t place(std::size_t second, std::size_t first) const { return (first / lanes * n_columns + second) * lanes + first % lanes; }
};

// out: the numbers of one list minus those of another.
template <class W>
void set_to_difference(const std::vector<W>& of, const std::vector<W>& without, std::vector<W>& out);

// Sums of one weight per row: of the rows with both columns of a pair, of the rows with one column, and of all rows.
template <class W>
struct PairSums {
  std::vector<W> pair, single;
  W all = 0;

  void reset(const BlockShape<W>& shape) { pair.assign(shape.size(), 0), single.assign(shape.width(), 0), all = 0; }
  void set_to_difference(const PairSums& of, const PairSums& without);
};

// The rows as vectors: in every column that a row passes, its weight.
template <class W>
class WeightedRows {
 public:
  // weights: by row.
  WeightedRows(const TreeRows<W>& rows, const BlockShape<W>& shape, const std::vector<W>& weights);
  // Adds a row to the sums. Pairs are buckets until sum_buckets(): of the columns that a row passes in a chain, it is added to the last.
  void add_to(PairSums<W>& sums, std::size_t row) const;

 private:
  const TreeRows<W>& rows_;
  BlockShape<W> shape_;
  const std::vector<W>& weights_;
  std::vector<W> expanded_;  // rows × width
};

// By column: a vector that keeps numbers if the next column is in the same chain, and clears them if not.
template <class W>
std::vector<W> chain_masks(const TreeRows<W>& rows);

// Turns the buckets of pairs into sums.
template <class W>
void sum_buckets(const BlockShape<W>& shape, const std::vector<W>& masks, PairSums<W>& sums);

// The largest gains of trees with one to four leaves. With one signed plane, a leaf gains the absolute value of its sum.
template <class W>
struct BestGains {
  W one = 0, two = 0, three = 0, four = 0;

  // most: the sum of most_of over the rows.
  ShallowCosts costs(double most) const {
    const auto cost = [most](W gain) { return 0.5 * (most - static_cast<double>(gain)); };
    return {cost(one), cost(two), cost(three), cost(four)};
  }
};

// The gains of two sets of rows. The pairs of the first set are the sums of the buckets or, if `less_buckets` is given, less_buckets minus
// these sums. The pairs of the second set are those of both sets minus those of the first.
template <class W>
struct TwoSets {
  const W *buckets, *less_buckets, *both;
  const W *single_first, *single_second;
  W all_first, all_second;
};
template <class W>
void gains_of(const BlockShape<W>& shape, const std::vector<W>& masks, const TwoSets<W>& sets, BestGains<W>& first, BestGains<W>& second);

}  // namespace fcca
