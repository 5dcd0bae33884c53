// Lower bounds for the quarters of a node's rows: the rows on one side of a first split and on one side of a second.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "split_bounds.hpp"
#include "tree_rows.hpp"

namespace fcca {

// The cost of the best tree of depth at most 2 of every quarter, as far as it is known, by slot of the leaf budget. A quarter is the
// same set of rows whichever of its two splits comes first, so it is solved only once.
template <class W>
class QuarterBounds {
 public:
  static constexpr std::size_t most_columns = 512;  // 32 MB with four slots

  QuarterBounds(const TreeRows<W>& rows, std::size_t n_slots, bool more_rows_cost_more)
      : rows_(rows), n_slots_(n_slots), more_rows_cost_more_(more_rows_cost_more), chain_of_(rows.n_columns),
        cost_(n_sides() * n_sides() * n_slots, 0.0), exact_(n_sides() * n_sides(), 0) {
    for (std::size_t c = 0; c < rows.n_chains; ++c) {
      for (std::int32_t i = rows.first_column[c]; i < rows.first_column[c + 1]; ++i) chain_of_[i] = c;
    }
    for (std::size_t i = 0; i < rows.n_columns; ++i) {
      const std::size_t column = rows.column[i];
      if (column >= local_of_.size()) local_of_.resize(column + 1, 0);
      local_of_[column] = static_cast<std::int32_t>(i);
    }
  }

  // Whether a quarter is solved. side: the side of the first split; second: the second split, a column of the caller.
  bool is_exact(std::int32_t side, std::int32_t second, bool is_right) const { return exact_[place(side, side_of(second, is_right))]; }
  static std::int32_t side(std::int32_t split, bool is_right) { return 2 * split + is_right; }

  void set(std::int32_t side, std::int32_t second, bool is_right, const double* cost) {
    const std::int32_t other = side_of(second, is_right);
    for (const std::size_t at : {place(side, other), place(other, side)}) {
      std::copy_n(cost, n_slots_, cost_.begin() + at * n_slots_), exact_[at] = 1;
    }
  }

  // Raises the bounds of the second splits of one side of a first split. More rows never cost less, so the cost of a quarter is a
  // bound for the quarters that contain it: the quarters of the weaker splits of both chains.
  void raise(std::int32_t side, const TreeRows<W>& below, SplitBounds<W>& bounds) const {
    const std::int32_t split = side / 2;
    const std::size_t chain = chain_of_[split];
    const bool is_right = side % 2;
    std::int32_t from = is_right ? split : rows_.first_column[chain], to = is_right ? rows_.first_column[chain + 1] : split + 1;
    if (!more_rows_cost_more_) from = split, to = split + 1;
    for (std::size_t c = 0; c < below.n_chains; ++c) {
      const std::int32_t first = below.first_column[c], end = below.first_column[c + 1];
      for (std::int32_t i = first; i < end; ++i) {
        for (std::int32_t smaller = from; smaller < to; ++smaller) {
          raise(bounds.left(i), place(2 * smaller + is_right, side_of(below.column[i], false)));
          raise(bounds.right(i), place(2 * smaller + is_right, side_of(below.column[i], true)));
        }
      }
      if (!more_rows_cost_more_) continue;
      for (std::int32_t i = first + 1; i < end; ++i) raise_to(bounds.left(i), bounds.left(i - 1));
      for (std::int32_t i = end - 2; i >= first; --i) raise_to(bounds.right(i), bounds.right(i + 1));
    }
  }

 private:
  std::size_t n_sides() const { return 2 * rows_.n_columns; }
  std::int32_t side_of(std::int32_t column, bool is_right) const { return side(local_of_[column], is_right); }
  std::size_t place(std::int32_t first, std::int32_t second) const { return first * n_sides() + second; }
  void raise(double* bounds, std::size_t at) const { raise_to(bounds, cost_.data() + at * n_slots_); }
  void raise_to(double* bounds, const double* to) const {
    for (std::size_t slot = 0; slot < n_slots_; ++slot) bounds[slot] = std::max(bounds[slot], to[slot]);
  }

  const TreeRows<W>& rows_;
  std::size_t n_slots_;
  bool more_rows_cost_more_;
  std::vector<std::size_t> chain_of_;     // by split
  std::vector<std::int32_t> local_of_;    // column of the caller -> split
  std::vector<double> cost_;              // sides × sides × slots
  std::vector<char> exact_;               // sides × sides
};

}  // namespace fcca
