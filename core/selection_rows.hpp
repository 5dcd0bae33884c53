// Rows described by the conditions they pass, and the groups of rows that a set of conditions does not separate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fcca {

inline constexpr std::int32_t most_passed = std::numeric_limits<std::uint16_t>::max();  // conditions of one chain

// Conditions are grouped into chains, each nested in the one before it (x > 1, x > 2, …). A row passes the first `passed` conditions of a
// chain. Rows that pass the same conditions are merged. Weights are whole multiples of a unit, so that sums are exact.
struct SelectionRows {
  std::size_t n_rows = 0, n_chains = 0, n_classes = 0, n_conditions = 0;
  std::vector<std::uint16_t> passed;          // n_chains × n_rows
  std::vector<std::int64_t> weight;           // n_rows × n_classes
  std::vector<std::int32_t> first_condition;  // of each chain, and the number of conditions at the end
  std::vector<std::int32_t> chain;            // of each condition
  double unit = 1;                            // weight of a row in units: its weight · unit
  std::int64_t total = 0;

  bool holds(std::size_t row, std::int32_t condition) const {
    const std::int32_t c = chain[condition];
    return passed[c * n_rows + row] > condition - first_condition[c];
  }
};

// Whole numbers, and numbers with up to six decimals, are converted exactly. Others are rounded to 52 bits of their sum.
double unit_of(const double* values, std::size_t n);

SelectionRows selection_rows(const std::int32_t* passed, const std::int32_t* label, const double* weight, std::size_t n_rows,
                             const std::vector<std::int32_t>& chain_size, std::size_t n_classes);

// Groups of rows that the chosen conditions do not separate. Groups of a single class are left out: they cost nothing, whatever is
// chosen later.
struct Groups {
  std::vector<std::int32_t> rows;   // sorted by group
  std::vector<std::int32_t> begin;  // of each group, and the number of rows at the end
  std::int64_t cost = 0;            // weight outside the heaviest class, over all groups

  std::size_t size() const { return begin.size() - 1; }
};

Groups one_group(const SelectionRows& rows);
Groups split(const SelectionRows& rows, const Groups& groups, std::int32_t condition);
Groups groups_of(const SelectionRows& rows, const std::vector<std::int32_t>& chosen);

// cost[t]: cost of the groups after adding condition t, for all conditions in one pass over the rows.
void costs_of_adding(const SelectionRows& rows, const Groups& groups, std::vector<std::int64_t>& cost);

}  // namespace fcca
