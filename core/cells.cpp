#include "cells.hpp"

#include <algorithm>
#include <limits>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
}  // namespace

std::int64_t Cells::cell_of(std::size_t j, double x) const {
  if (kinds != nullptr && kinds[j] != numbers) {
    if (kinds[j] == categories) return code_cell[first_code[j] + static_cast<std::int64_t>(x)];
    if (std::isnan(x)) return n_cuts(j);
  }
  const double* begin = cuts_of(j);
  return std::lower_bound(begin, begin + n_cuts(j), x) - begin;
}

// The part of a cell between lowest and highest.
Cells::Interval Cells::interval(std::size_t j, std::int64_t cell, double lowest, double highest) const {
  const double open_low = cell == 0 ? -infinity : cuts_of(j)[cell - 1];
  const double closed_high = cell == n_cuts(j) ? highest : std::min(highest, cuts_of(j)[cell]);
  return {open_low, std::max(lowest, open_low), closed_high};
}

double Cells::Interval::middle() const {
  if (empty()) return nowhere;
  const double middle = low + (high - low) / 2;
  return middle > open_low ? middle : high;  // of two adjacent floats, only the upper one is in the cell
}

double Cells::unseen(std::size_t j, std::int64_t cell, const Interval& left) const {
  return closed != nullptr && closed[first_cell(j) + cell] != 0 ? nowhere : left.middle();
}

double Cells::landing(std::size_t j, std::int64_t cell, std::int64_t own_cell, double x0) const {
  const bool upwards = cell > own_cell;
  const double seen = upwards ? smallest[first_cell(j) + cell] : largest[first_cell(j) + cell];
  if (!std::isnan(seen)) return seen;
  return unseen(j, cell, interval(j, cell, std::min(box.low[j], x0), std::max(box.high[j], x0)));
}

double Cells::landing_within(std::size_t j, std::int64_t cell, bool upwards, double x0, double low, double high) const {
  const Interval left = interval(j, cell, std::max(low, std::min(box.low[j], x0)), std::min(high, std::max(box.high[j], x0)));
  if (left.empty()) return nowhere;
  const double seen = upwards ? smallest[first_cell(j) + cell] : largest[first_cell(j) + cell];
  if (std::isnan(seen)) return unseen(j, cell, left);
  if (upwards) return seen > left.high ? left.middle() : std::max(seen, left.low);
  return seen < left.low ? left.middle() : std::min(seen, left.high);
}

double Cells::landing_on_grid(std::size_t j, std::int64_t cell, bool upwards, double x0, double low, double high, double step,
                              double origin) const {
  if (is_special(j, cell)) return nowhere;
  const Interval left = interval(j, cell, std::max(low, std::min(box.low[j], x0)), std::min(high, std::max(box.high[j], x0)));
  if (left.empty()) return nowhere;
  auto inside = [&](double x) { return x > left.open_low && x >= left.low && x <= left.high; };
  // The quotient is rounded, so the multiple sought is one of three.
  const double k = upwards ? std::ceil((left.low - origin) / step) : std::floor((left.high - origin) / step);
  for (const double by : {-1.0, 0.0, 1.0}) {
    const double x = origin + (upwards ? k + by : k - by) * step;
    if (inside(x)) return x;
  }
  return nowhere;
}

double Cells::filling(std::size_t j, std::int64_t cell, double near, double low, double high) const {
  const Interval left = interval(j, cell, std::max(low, box.low[j]), std::min(high, box.high[j]));
  if (left.empty()) return nowhere;
  const double first = smallest[first_cell(j) + cell], last = largest[first_cell(j) + cell];
  if (std::isnan(first)) return unseen(j, cell, left);
  const double to = std::clamp(near, first, last);
  if (to > left.high) return left.high;
  return to < left.low ? left.low : to;
}

void widen_cells(const double* rows, std::size_t n_rows, const Cells& cells, double* smallest, double* largest) {
  const std::size_t m = cells.n_features;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double* row = rows + i * m;
    for (std::size_t j = 0; j < m; ++j) {
      if (std::isnan(row[j]) || cells.kind(j) == categories) continue;
      const std::int64_t cell = cells.first_cell(j) + (cells.n_cuts(j) ? cells.cell_of(j, row[j]) : 0);
      // Written so that the first value replaces the NaN of a cell without values.
      if (!(smallest[cell] <= row[j])) smallest[cell] = row[j];
      if (!(largest[cell] >= row[j])) largest[cell] = row[j];
    }
  }
}

}  // namespace fcca
