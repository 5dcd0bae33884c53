// Cells: the intervals between a feature's cuts, with the range of the training values in each of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "distances.hpp"

namespace fcca {

// The training minimum and maximum of each feature. A counterfactual stays inside, or between them and x0.
struct Box {
  const double* low;
  const double* high;

  double range(std::size_t j) const {
    const double width = high[j] - low[j];
    return width > 0 ? width : 1.0;
  }
};

// What a column holds. If values may be missing, the last cut is infinite, and the cell after it holds the missing values. The cells of
// categories are groups of codes in an arbitrary order. Their cuts only count the cells.
enum Kind : std::uint8_t { numbers = 0, numbers_with_missing = 1, categories = 2 };

// Whether moves may enter a cell. A special value, such as -9 for "no record", has a cell that holds nothing else. No move enters it, and moves
// out of it have no direction.
enum Entry : std::uint8_t { open_cell = 0, closed_cell = 1, special_value = 2 };

// Feature j has the cuts cuts[first_cut[j]] < ... < cuts[first_cut[j + 1] - 1] and one cell more than cuts. Cell k holds
// the values x with cut[k - 1] < x <= cut[k]. The outermost cells end at the range of the data.
struct Cells {
  std::size_t n_features;
  const std::int64_t* first_cut;  // n_features + 1 offsets into cuts
  const double* cuts;
  const double* smallest;  // smallest training value of each cell, NaN if the cell holds none
  const double* largest;   // largest training value of each cell, NaN if the cell holds none
  Box box;
  const std::uint8_t* closed = nullptr;      // by cell: an Entry. A move on a grid may enter a closed cell. Null: all cells are open
  const std::uint8_t* kinds = nullptr;       // by feature; null: all are numbers
  const std::int64_t* first_code = nullptr;  // by feature, into code_cell
  const std::int32_t* code_cell = nullptr;   // the cell of each code of a column of categories
  Distances distances = {};

  Kind kind(std::size_t j) const { return kinds == nullptr ? numbers : static_cast<Kind>(kinds[j]); }
  std::int64_t n_cuts(std::size_t j) const { return first_cut[j + 1] - first_cut[j]; }
  const double* cuts_of(std::size_t j) const { return cuts + first_cut[j]; }
  std::int64_t first_cell(std::size_t j) const { return first_cut[j] + static_cast<std::int64_t>(j); }

  std::size_t n_cells() const { return static_cast<std::size_t>(first_cell(n_features)); }

  std::int64_t cell_of(std::size_t j, double x) const;
  // Whether all cells of feature j have the same distance from a value in its cell own: categories, missing values, special values.
  bool is_unordered(std::size_t j, std::int64_t own) const {
    return kind(j) == categories || (kind(j) == numbers_with_missing && own == n_cuts(j)) || is_special(j, own);
  }
  bool is_special(std::size_t j, std::int64_t cell) const { return closed != nullptr && closed[first_cell(j) + cell] == special_value; }
  // The last cell that holds numbers.
  std::int64_t last_number(std::size_t j) const { return kind(j) == numbers_with_missing ? n_cuts(j) - 1 : n_cuts(j); }

  // The landing of a move of feature j from x0 into another cell, that is, the value that the feature takes. It is the training value
  // nearest to x0, or the middle of a cell without training values. NaN if the cell is outside the range of the data.
  double landing(std::size_t j, std::int64_t cell, std::int64_t own_cell, double x0) const;

  // The same with bounds. If the training value lies before the part of the cell within the bounds, as seen from x0, the landing is the
  // near end of that part. If it lies behind that part, the landing is the middle of the part.
  double landing_within(std::size_t j, std::int64_t cell, bool upwards, double x0, double low, double high) const;

  // The same on a grid origin + k·step: the grid value nearest to x0 within the cell, the range of the data and the bounds.
  double landing_on_grid(std::size_t j, std::int64_t cell, bool upwards, double x0, double low, double high, double step, double origin) const;

  // The landing of a missing value that is filled in: as near to a given value as the cell's training values and the bounds allow.
  double filling(std::size_t j, std::int64_t cell, double near, double low, double high) const;

  // The cut that a move from own_cell into cell crosses last; NaN for categories, filled-in values and special values.
  double last_cut_crossed(std::size_t j, std::int64_t cell, std::int64_t own_cell) const {
    if (is_unordered(j, own_cell)) return std::numeric_limits<double>::quiet_NaN();
    return cell > own_cell ? cuts_of(j)[cell - 1] : cuts_of(j)[cell];
  }

 private:
  struct Interval {
    double open_low, low, high;  // values above open_low, from low to high
    bool empty() const { return !(low <= high) || open_low >= high; }
    double middle() const;
  };
  Interval interval(std::size_t j, std::int64_t cell, double lowest, double highest) const;
  // The landing in a cell without training values.
  double unseen(std::size_t j, std::int64_t cell, const Interval& left) const;
};

// λ0·(features moved) + λ1·Σ|move| + λ2·Σ move², where moves are measured as distances.
struct Cost {
  double lambda0, lambda1, lambda2;
  double of(double distance) const { return lambda0 + lambda1 * distance + lambda2 * distance * distance; }
};

// Widens smallest and largest to include the given rows, so that rows can be given in several chunks.
void widen_cells(const double* rows, std::size_t n_rows, const Cells& cells, double* smallest, double* largest);

}  // namespace fcca
