// The pair table of one side of a split, kept while the split moves along its chain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "pair_table.hpp"
#include "tree_rows.hpp"

namespace fcca {

// Holds the rows before or after a border in the order of a chain, whichever takes fewer additions.
template <class W>
class SideTable {
 public:
  SideTable(const TreeRows<W>& rows, const PairTable<W>& total) : rows_(rows), total_(total) {
    if (rows.n_rows * rows.stride > most_masks) return;
    masks_.resize(rows.n_rows * rows.stride);
    for (std::size_t a = 0; a < rows.n_rows; ++a) PairTable<W>::write_mask(rows, a, masks_.data() + a * rows.stride);
  }

  // Moves to a split of a chain. The rows are in order, and the rows before the border are on the left. check() is called at intervals.
  template <class Check>
  void move_to(const std::int32_t* order, std::size_t border, Check check) {
    const std::size_t n = rows_.n_rows, from_scratch = std::min(border, n - border);
    const std::size_t moved = border > border_ ? border - border_ : border_ - border;
    // Weights that are not whole are never removed: sums would lose digits.
    const bool grows = holds_right_ ? border <= border_ : border >= border_;
    if (order != order_ || moved > from_scratch || !(grows || std::is_integral_v<W>)) {
      table_.reset(rows_, true);
      order_ = order, holds_right_ = border >= n - border, border_ = holds_right_ ? n : 0;
    }
    for (; border_ < border; ++border_) check(), add_or_remove(order[border_], !holds_right_);
    while (border_ > border) check(), --border_, add_or_remove(order[border_], holds_right_);
  }

  ShallowCosts costs(const LeafCost& cost, bool is_right) { return table_.one_side(rows_, total_, cost, is_right == holds_right_); }

 private:
  void add_or_remove(std::int32_t row, bool is_added) {
    const W* mask = masks_.empty() ? nullptr : masks_.data() + static_cast<std::size_t>(row) * rows_.stride;
    is_added ? table_.add(rows_, row, mask) : table_.remove(rows_, row, mask);
  }

  static constexpr std::size_t most_masks = std::size_t{1} << 23;  // at most 64 MB
  const TreeRows<W>& rows_;
  const PairTable<W>& total_;
  PairTable<W> table_;
  std::vector<W> masks_;  // by row, unless there are too many
  const std::int32_t* order_ = nullptr;
  std::size_t border_ = 0;
  bool holds_right_ = false;
};

}  // namespace fcca
