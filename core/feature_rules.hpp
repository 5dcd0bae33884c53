// Rules between features: the maximum number of moves, sums with an upper limit, and moves that require other moves. The lower bound
// leaves out leaves in which too many features move, and ignores the other rules. The branch and bound uses all rules to shrink its boxes,
// and accepts no point that breaks one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells.hpp"
#include "landings.hpp"
#include "limits.hpp"
#include "query.hpp"

namespace fcca {

class FeatureRules {
 public:
  FeatureRules(const Cells& cells, const Limits& limits) : cells_(cells), limits_(limits) {}

  bool any() const { return limits_.between_features(); }
  std::int32_t max_changes() const { return limits_.max_changes; }

  // Stores the own cells of a point, and the value that it takes in each cell.
  void measure(const Query& query, const std::vector<std::int32_t>& own, const Landings& landings);

  bool keeps(const std::int32_t* cells) const;

  // Removes cells at the ends of the box that no point in it can have; false if no point is left. low and high are the first and the last
  // cell of each feature.
  bool shrink(std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const;

  // The split of a box whose cheapest cells break a rule: the feature and the last cell of the lower part; -1 for none.
  struct Split {
    std::int32_t feature = -1, cell = 0;
  };
  Split split(const std::vector<std::int32_t>& low, const std::vector<std::int32_t>& high, const std::int32_t* cells) const;

 private:
  bool moves(std::int32_t j, const std::int32_t* cells) const { return cells[j] != own_[j]; }
  // Filling in a missing value is neither a rise nor a fall.
  bool has_direction(std::int32_t j) const { return !(cells_.kind(j) == numbers_with_missing && own_[j] == cells_.n_cuts(j)); }
  double value(std::int32_t j, std::int32_t cell) const { return values_[cells_.first_cell(j) + cell]; }
  // Positions of the terms of a rule.
  std::int64_t begin(std::size_t rule) const { return limits_.linear.first_term[rule]; }
  std::int64_t end(std::size_t rule) const { return limits_.linear.first_term[rule + 1]; }
  bool keeps_linear(std::size_t rule, const std::int32_t* cells) const;
  bool shrink_linear(std::size_t rule, std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const;
  bool shrink_count(std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const;
  bool shrink_implication(std::size_t i, std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const;

  const Cells& cells_;
  const Limits& limits_;
  std::vector<std::int32_t> own_;
  std::vector<double> values_;  // by cell, for features of linear rules: its value; NaN for unreachable cells and missing values
};

}  // namespace fcca
