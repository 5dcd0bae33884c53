// Lower bounds for the quarters of a node's rows: the rows on one side of a first split and on one side of a second.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "split_bounds.hpp"
#include "tree_rows.hpp"

namespace fcca {

// The costs of the best trees of depth at most 2 of the rows on one side of each of three splits, by these sides and by slot. The order of
// the splits does not matter, so a cost serves all first splits.
class EighthCosts {
 public:
  using Costs = std::array<double, 4>;
  bool empty() const { return costs_.empty(); }
  const Costs* find(std::int32_t one, std::int32_t two, std::int32_t three) const {
    const auto found = costs_.find(key_of(one, two, three));
    return found == costs_.end() ? nullptr : &found->second;
  }
  void set(std::int32_t one, std::int32_t two, std::int32_t three, const Costs& costs) {
    if (costs_.size() < most_entries) costs_.emplace(key_of(one, two, three), costs);
  }

 private:
  static constexpr std::size_t most_entries = std::size_t{1} << 20;  // about 64 MB
  // 21 bits per side: there are fewer than 2^20 columns.
  static std::uint64_t key_of(std::int32_t one, std::int32_t two, std::int32_t three) {
    if (one > two) std::swap(one, two);
    if (two > three) std::swap(two, three);
    if (one > two) std::swap(one, two);
    return (static_cast<std::uint64_t>(one) << 42) | (static_cast<std::uint64_t>(two) << 21) | static_cast<std::uint64_t>(three);
  }
  std::unordered_map<std::uint64_t, Costs> costs_;
};

// The cost of the best tree of depth at most 2 of every quarter, as far as it is known, by slot of the leaf budget. A quarter is the
// same set of rows whichever of its two splits comes first, so it is solved only once.
template <class W>
class QuarterBounds {
 public:
  static constexpr std::size_t most_columns = 512;  // 32 MB with four slots

  QuarterBounds(const TreeRows<W>& rows, std::size_t n_slots, bool more_rows_cost_more)
      : first_column_(rows.first_column), n_columns_(rows.n_columns), n_slots_(n_slots), more_rows_cost_more_(more_rows_cost_more),
        column_(rows.column), chain_of_(rows.n_columns),
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

  // The rows are those on one side of a split of the whole problem, so their quarters are eighths of it. Takes the known costs, and adds
  // those that are found. shared_side: as in side(), for a column of the caller.
  void share(EighthCosts& eighths, std::int32_t shared_side) {
    eighths_ = &eighths, shared_side_ = shared_side;
    if (eighths.empty()) return;
    for (std::int32_t one = 0; one < static_cast<std::int32_t>(n_sides()); ++one) {
      for (std::int32_t two = 0; two < one; ++two) {
        const EighthCosts::Costs* known = eighths.find(shared_side, column_side(one), column_side(two));
        if (known != nullptr) set_both(one, two, known->data());
      }
    }
  }

  // Whether a quarter is solved. side: the side of the first split; second: the second split, a column of the caller.
  bool is_exact(std::int32_t side, std::int32_t second, bool is_right) const { return exact_[place(side, side_of(second, is_right))]; }
  static std::int32_t side(std::int32_t split, bool is_right) { return 2 * split + is_right; }

  void set(std::int32_t side, std::int32_t second, bool is_right, const double* cost) {
    const std::int32_t other = side_of(second, is_right);
    set_both(side, other, cost);
    if (eighths_ == nullptr) return;
    EighthCosts::Costs costs{};
    std::copy_n(cost, n_slots_, costs.begin());
    eighths_->set(shared_side_, column_side(side), column_side(other), costs);
  }

  // Raises the bounds of the second splits of one side of a first split. More rows never cost less, so the cost of a quarter is a
  // bound for the quarters that contain it: the quarters of the weaker splits of both chains. most_slots: only so many slots are raised.
  void raise(std::int32_t side, const TreeRows<W>& below, std::size_t most_slots, SplitBounds<W>& bounds) const {
    const std::size_t n_slots = std::min(most_slots, n_slots_);
    const std::int32_t split = side / 2;
    const std::size_t chain = chain_of_[split];
    const bool is_right = side % 2;
    std::int32_t from = is_right ? split : first_column_[chain], to = is_right ? first_column_[chain + 1] : split + 1;
    if (!more_rows_cost_more_) from = split, to = split + 1;
    for (std::size_t c = 0; c < below.n_chains; ++c) {
      const std::int32_t first = below.first_column[c], end = below.first_column[c + 1];
      for (std::int32_t i = first; i < end; ++i) {
        for (std::int32_t smaller = from; smaller < to; ++smaller) {
          raise(bounds.left(i), place(2 * smaller + is_right, side_of(below.column[i], false)), n_slots);
          raise(bounds.right(i), place(2 * smaller + is_right, side_of(below.column[i], true)), n_slots);
        }
      }
      if (!more_rows_cost_more_) continue;
      for (std::int32_t i = first + 1; i < end; ++i) raise_to(bounds.left(i), bounds.left(i - 1), n_slots);
      for (std::int32_t i = end - 2; i >= first; --i) raise_to(bounds.right(i), bounds.right(i + 1), n_slots);
    }
  }

 private:
  std::size_t n_sides() const { return 2 * n_columns_; }
  void set_both(std::int32_t one, std::int32_t two, const double* cost) {
    for (const std::size_t at : {place(one, two), place(two, one)}) {
      std::copy_n(cost, n_slots_, cost_.begin() + at * n_slots_), exact_[at] = 1;
    }
  }
  std::int32_t column_side(std::int32_t local) const { return side(column_[local / 2], local % 2); }
  std::int32_t side_of(std::int32_t column, bool is_right) const { return side(local_of_[column], is_right); }
  std::size_t place(std::int32_t first, std::int32_t second) const { return first * n_sides() + second; }
  void raise(double* bounds, std::size_t at, std::size_t n_slots) const { raise_to(bounds, cost_.data() + at * n_slots_, n_slots); }
  static void raise_to(double* bounds, const double* to, std::size_t n_slots) {
    for (std::size_t slot = 0; slot < n_slots; ++slot) bounds[slot] = std::max(bounds[slot], to[slot]);
  }

  std::vector<std::int32_t> first_column_;  // by chain, and one more
  std::size_t n_columns_, n_slots_;
  bool more_rows_cost_more_;
  std::vector<std::int32_t> column_;      // split -> column of the caller
  std::vector<std::size_t> chain_of_;     // by split
  std::vector<std::int32_t> local_of_;    // column of the caller -> split
  std::vector<double> cost_;              // sides × sides × slots
  std::vector<char> exact_;               // sides × sides
  EighthCosts* eighths_ = nullptr;
  std::int32_t shared_side_ = 0;
};

}  // namespace fcca
