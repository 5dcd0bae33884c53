// Landings of all cells, computed once per model: for x0 inside the box a landing depends on the direction alone.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "cells.hpp"

namespace fcca {

class Landings {
 public:
  explicit Landings(const Cells& cells) : cells_(cells), up_(cells.n_cells()), down_(cells.n_cells()) {
    for (std::size_t j = 0; j < cells.n_features; ++j) {
      if (cells.n_cuts(j) == 0) continue;
      for (std::int64_t cell = 0; cell <= cells.n_cuts(j); ++cell) {
        // As seen from the far edges of the box.
        up_[cells.first_cell(j) + cell] = cells.landing(j, cell, -1, cells.box.low[j]);
        down_[cells.first_cell(j) + cell] = cells.landing(j, cell, cells.n_cuts(j) + 1, cells.box.high[j]);
      }
    }
  }

  // Where a move of feature j from x0 in cell own into another cell lands; NaN where the box does not reach it.
  double of(std::size_t j, std::int64_t cell, std::int64_t own, double x0) const {
    if (x0 < cells_.box.low[j] || x0 > cells_.box.high[j]) return cells_.landing(j, cell, own, x0);
    return (cell > own ? up_ : down_)[cells_.first_cell(j) + cell];
  }

  // How far that is, in units of the training range; infinite for a cell that there is not or that the box does not reach.
  double distance(std::size_t j, std::int64_t cell, std::int64_t own, double x0) const {
    if (cell < 0 || cell > cells_.n_cuts(j)) return std::numeric_limits<double>::infinity();
    const double to = of(j, cell, own, x0);
    return std::isnan(to) ? std::numeric_limits<double>::infinity() : std::abs(to - x0) / cells_.box.range(j);
  }

 private:
  const Cells& cells_;
  std::vector<double> up_, down_;  // by cell: entered from below, from above
};

}  // namespace fcca
