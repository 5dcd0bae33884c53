// The best second split of both sides of several first splits at once, for any cost of a leaf.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "leaf_cost.hpp"
#include "raw_rows.hpp"

namespace fcca {

// Places of a column's order are grouped into blocks, which end between two values. One pass over the rows of a block adds up what every
// side receives. The costs of its leaves are computed only at the ends of blocks. More rows never cost less, so a second split within a
// block costs at least the leaf of the rows before the block plus the leaf of the rows behind it. Only blocks that can hold a better split
// are then searched place by place. (The bound is for leaves of any size, so it holds with a minimum size, too.)
template <class W>
class RawSecondSplits {
 public:
  using Rows = RawRows<W>;
  using Id = typename Rows::Id;
  static constexpr std::size_t most_tested = 8;  // first splits at once
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  explicit RawSecondSplits(const LeafCost& cost) : cost_(cost), n_planes_(cost.n_classes() + cost.counted()) {}
  void list_blocks(const Rows& rows);

  // First splits of a column, by the number of rows on their left, in ascending order. Side 2b is the left of split b, 2b + 1 its right.
  void start(const Rows& rows, const Id* order, const std::vector<std::size_t>& places);
  void walk(const Rows& rows, std::size_t column);
  // Lower bounds on the cost of the two leaves of a side's best second split: within the rules for leaves, and without.
  double low(std::size_t side) const { return splits_[side] ? std::min(best_[side], open_[side]) : infinity; }
  double floor(std::size_t side) const { return std::min({best_[side], open_[side], floor_[side]}); }
  // Searches the blocks that can hold a better split of a side. Its low is then exact.
  void refine(const Rows& rows, std::size_t side);
  // Notes which blocks are open, after all columns.
  void finish();
  double best_in_column() const { return in_column_; }  // of side 0, in the column walked last, at the ends of blocks

  // The cost of a leaf of any size, without its penalty.
  double leaf(const W* planes) const;
  bool too_small(const W* planes) const;
  std::size_t n_planes() const { return n_planes_; }

 private:
  struct Block {
    std::uint32_t begin, end;
    bool has_places;  // whether it holds several values
  };
  struct Candidate {
    double bound;
    std::uint32_t column, block, side;
    std::size_t planes;  // position in pool_: the sums of the side before the block
  };
  struct Cell {
    std::uint32_t interval, place;  // the place of its class in the sums of a block
    W weight;
  };
  template <class Leaf>
  void walk_with(const Rows& rows, std::size_t column, Leaf leaf);
  template <class Leaf>
  void refine_with(const Rows& rows, const Candidate& candidate, Leaf leaf);
  template <class Leaf>
  void close_block(std::size_t side, const W* added, const Candidate& here, bool has_places, Leaf leaf);
  template <class Visit>
  auto with_leaf(Visit visit) const;

  const LeafCost& cost_;
  std::size_t n_planes_, n_sides_ = 0;
  std::vector<std::vector<Block>> blocks_;   // by column
  std::vector<Cell> cells_;                  // by row
  std::vector<W> all_, at_, added_, sums_, rest_;  // all_, at_: by side and plane, all rows and those before the current block
  std::vector<double> leaf_at_, best_, floor_, open_;  // by side
  std::vector<char> splits_;                 // by side: whether it is large enough for two leaves
  std::vector<Candidate> candidates_;
  std::vector<W> pool_;
  double in_column_ = infinity;
};

}  // namespace fcca
