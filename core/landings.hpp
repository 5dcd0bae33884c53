// Landings of moves (the values that moved features take) and their costs.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cells.hpp"
#include "limits.hpp"
#include "query.hpp"

namespace fcca {

// Landings of all cells are computed once per model: for x0 inside the range of the data and without rules, a landing depends only on the
// direction.
class Landings {
 public:
  Landings(const Cells& cells, const Limits& limits, const Cost& cost)
      : cells_(cells), limits_(limits), cost_(cost), all_ordered_(cells.kinds == nullptr && cells.closed == nullptr), up_(cells.n_cells()), down_(cells.n_cells()) {
    for (std::size_t j = 0; j < cells.n_features; ++j) {
      if (cells.n_cuts(j) == 0 || cells.kind(j) == categories) continue;
      for (std::int64_t cell = 0; cell <= cells.last_number(j); ++cell) {
        // Moves that start at the far ends of the range.
        up_[cells.first_cell(j) + cell] = cells.landing(j, cell, -1, cells.box.low[j]);
        down_[cells.first_cell(j) + cell] = cells.landing(j, cell, cells.n_cuts(j) + 1, cells.box.high[j]);
      }
    }
  }

  // Whether the cost rises from the own cell outwards, and no cell beyond an unreachable cell can be reached.
  bool rises_outwards(const Query& query, std::size_t j, std::int64_t own) const {
    const bool shut_out = query.lowest(j) > query.row[j] || query.highest(j) < query.row[j];  // the bounds exclude the nearest values
    return !has_grid(j) && !is_unordered(j, own) && !shut_out && cells_.closed == nullptr;
  }
  bool has_grid(std::size_t j) const { return limits_.step != nullptr && limits_.step[j] > 0; }
  bool is_unordered(std::size_t j, std::int64_t own) const { return !all_ordered_ && cells_.is_unordered(j, own); }

  // The landing of a move of feature j into another cell; NaN if the cell cannot be reached.
  double of(const Query& query, std::size_t j, std::int64_t cell, std::int64_t own) const {
    return is_unordered(j, own) ? unordered(query, j, cell) : ordered(query, j, cell, own);
  }

  // The cost of that move; infinite for a cell that does not exist or cannot be reached.
  double cost(const Query& query, std::size_t j, std::int64_t cell, std::int64_t own) const {
    return price(query, j, cell, distance(query, j, cell, own));
  }

  // Calls visit(cost, cell) for every cell that can be reached, until it returns stop. Nearer cells come first (for categories, cheaper
  // ones), and in a tie the lower cell.
  template <class Visit>
  void from_near_to_far(const Query& query, std::size_t j, std::int64_t own, Visit visit) {
    if (!rises_outwards(query, j, own)) {
      const bool by_price = is_unordered(j, own);
      order_.clear();
      for (std::int64_t cell = 0; cell <= cells_.last_number(j); ++cell) {
        const double far = cell == own ? infinity : distance(query, j, cell, own);
        if (far < infinity) order_.push_back({by_price ? price(query, j, cell, far) : far, cell});
      }
      std::sort(order_.begin(), order_.end());
      for (const auto& [near, cell] : order_) {
        if (!visit(by_price ? near : price(query, j, cell, near), cell)) return;
      }
      return;
    }
    std::int64_t lower = own - 1, upper = own + 1;
    double below = distance(query, j, lower, own), above = distance(query, j, upper, own);
    while (below < infinity || above < infinity) {
      if (!(above < below)) {
        if (!visit(price(query, j, lower, below), lower)) return;
        below = distance(query, j, --lower, own);
      } else {
        if (!visit(price(query, j, upper, above), upper)) return;
        above = distance(query, j, ++upper, own);
      }
    }
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // Infinite for cells that cannot be reached.
  double distance(const Query& query, std::size_t j, std::int64_t cell, std::int64_t own) const {
    if (cell < 0 || cell > cells_.last_number(j)) return infinity;
    if (is_unordered(j, own)) return std::isnan(unordered(query, j, cell)) ? infinity : cells_.distances.unordered;
    const double to = ordered(query, j, cell, own);
    return std::isnan(to) ? infinity : cells_.distances.between(j, query.row[j], to);
  }
  double ordered(const Query& query, std::size_t j, std::int64_t cell, std::int64_t own) const {
    const double x0 = query.row[j];
    const bool upwards = cell > own;
    if (has_grid(j)) {
      return cells_.landing_on_grid(j, cell, upwards, x0, query.lowest(j), query.highest(j), limits_.step[j], limits_.origin[j]);
    }
    if (query.is_bounded(j)) {
      const double seen = (upwards ? cells_.smallest : cells_.largest)[cells_.first_cell(j) + cell], low = query.lowest(j), high = query.highest(j);
      return seen >= low && seen <= high ? seen : cells_.landing_within(j, cell, upwards, x0, low, high);
    }
    if (x0 < cells_.box.low[j] || x0 > cells_.box.high[j]) return cells_.landing(j, cell, own, x0);
    return (upwards ? up_ : down_)[cells_.first_cell(j) + cell];
  }
  double price(const Query& query, std::size_t j, std::int64_t cell, double distance) const {
    if (distance == infinity) return infinity;
    double price = cost_.of(distance);
    if (cells_.kind(j) == categories) price *= limits_.entry_factor[entry(query, j, cell)];
    return limits_.weight == nullptr ? price : price * limits_.weight[j];
  }
  std::int64_t entry(const Query& query, std::size_t j, std::int64_t cell) const {
    return limits_.first_entry[j] + static_cast<std::int64_t>(query.row[j]) * (cells_.n_cuts(j) + 1) + cell;
  }
  double unordered(const Query& query, std::size_t j, std::int64_t cell) const {
    constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
    if (cells_.kind(j) == categories) {
      const std::int64_t at = entry(query, j, cell);
      return std::isinf(limits_.entry_factor[at]) ? nowhere : static_cast<double>(limits_.entry_code[at]);
    }
    // A special value may always be replaced, a missing value only if a rule says so.
    if (std::isnan(query.row[j]) && (limits_.fillable == nullptr || limits_.fillable[j] == 0)) return nowhere;
    if (has_grid(j)) {
      const double near = limits_.fill_near[j];
      const double above = cells_.landing_on_grid(j, cell, true, near, std::max(near, query.lowest(j)), query.highest(j), limits_.step[j], limits_.origin[j]);
      const double below = cells_.landing_on_grid(j, cell, false, near, query.lowest(j), std::min(near, query.highest(j)), limits_.step[j], limits_.origin[j]);
      return std::isnan(above) || below == near || (near - below <= above - near) ? (std::isnan(below) ? above : below) : above;
    }
    return cells_.filling(j, cell, limits_.fill_near[j], query.lowest(j), query.highest(j));
  }

  const Cells& cells_;
  const Limits& limits_;
  Cost cost_;
  bool all_ordered_;  // no feature has unordered cells
  std::vector<double> up_, down_;  // by cell: entered from below, from above
  std::vector<std::pair<double, std::int64_t>> order_;
};

}  // namespace fcca
