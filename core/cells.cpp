#include "cells.hpp"

#include <algorithm>
#include <limits>

namespace fcca {

std::int64_t Cells::cell_of(std::size_t j, double x) const {
  const double* begin = cuts_of(j);
  return std::lower_bound(begin, begin + n_cuts(j), x) - begin;
}

double Cells::landing(std::size_t j, std::int64_t cell, std::int64_t own_cell, double x0) const {
  const bool upwards = cell > own_cell;
  const double seen = upwards ? smallest[first_cell(j) + cell] : largest[first_cell(j) + cell];
  if (!std::isnan(seen)) return seen;

  const double lowest = std::min(box.low[j], x0), highest = std::max(box.high[j], x0);
  const double open_low = cell == 0 ? -std::numeric_limits<double>::infinity() : cuts_of(j)[cell - 1];
  const double closed_high = cell == n_cuts(j) ? highest : std::min(highest, cuts_of(j)[cell]);
  const double low = std::max(lowest, open_low);
  if (low > closed_high || open_low >= closed_high) return std::numeric_limits<double>::quiet_NaN();
  const double middle = low + (closed_high - low) / 2;
  return middle > open_low ? middle : closed_high;  // between two adjacent floats only the upper one is in the cell
}

void widen_cells(const double* rows, std::size_t n_rows, const Cells& cells, double* smallest, double* largest) {
  const std::size_t m = cells.n_features;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double* row = rows + i * m;
    for (std::size_t j = 0; j < m; ++j) {
      const std::int64_t cell = cells.first_cell(j) + (cells.n_cuts(j) ? cells.cell_of(j, row[j]) : 0);
      // Written so that the NaN of a cell without values yields to the first value seen.
      if (!(smallest[cell] <= row[j])) smallest[cell] = row[j];
      if (!(largest[cell] >= row[j])) largest[cell] = row[j];
    }
  }
}

}  // namespace fcca
