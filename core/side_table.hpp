// The pair table of one side of a split, kept while the split moves along its chain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "pair_table.hpp"
#include "tree_rows.hpp"

namespace fcca {

// Holds the rows before or after a border in the order of a chain, whichever takes fewer additions.
template <class W>
class SideTable {
 public:
  SideTable(const TreeRows<W>& rows, const PairTable<W>& total) : rows_(rows), total_(total) {}

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
    for (; border_ < border; ++border_) check(), holds_right_ ? table_.remove(rows_, order[border_]) : table_.add(rows_, order[border_]);
    while (border_ > border) check(), --border_, holds_right_ ? table_.add(rows_, order[border_]) : table_.remove(rows_, order[border_]);
  }

  ShallowCosts costs(const LeafCost& cost, bool is_right) { return table_.one_side(rows_, total_, cost, is_right == holds_right_); }

 private:
  const TreeRows<W>& rows_;
  const PairTable<W>& total_;
  PairTable<W> table_;
  const std::int32_t* order_ = nullptr;
  std::size_t border_ = 0;
  bool holds_right_ = false;
};

}  // namespace fcca
