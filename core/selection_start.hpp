// Good sets of conditions to start the exact search from.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "selection_rows.hpp"
#include "selection_rules.hpp"

namespace fcca {

// A set and its cost. The cheaper set is better; in a tie, the set with the larger sum of counts.
struct Candidate {
  std::vector<std::int32_t> chosen;  // sorted
  std::int64_t cost = 0;
  std::int64_t count = 0;

  bool better_than(const Candidate& other) const { return cost != other.cost ? cost < other.cost : count > other.count; }
};

// Whether adding t, at cost[t], is better than adding `than`. Anything is better than −1, which stands for none.
inline bool better_added(const SelectionRules& rules, const std::vector<std::int64_t>& cost, std::int32_t t, std::int32_t than) {
  return than < 0 || cost[t] < cost[than] || (cost[t] == cost[than] && rules.count[t] > rules.count[than]);
}

Candidate candidate(const SelectionRows& rows, const SelectionRules& rules, std::vector<std::int32_t> chosen);

// Adds, one after the other, the admissible condition that lowers the cost most, until n are chosen. In a tie, it adds the one with the
// larger count, then the first.
std::vector<std::int32_t> greedy_order(const SelectionRows& rows, const SelectionRules& rules, Decided decided, std::size_t n);
Candidate completed_greedily(const SelectionRows& rows, const SelectionRules& rules, Decided decided, std::size_t n);

// Adds the admissible conditions with the largest values until n are chosen.
Candidate completed_by(const SelectionRows& rows, const SelectionRules& rules, Decided decided, std::size_t n,
                       const std::vector<double>& value);

// Exchanges one chosen condition at a time, as long as this makes the set better. If it does not, exchanges up to most_out at once.
Candidate with_swaps(const SelectionRows& rows, const SelectionRules& rules, const Decided& decided, Candidate start, int most_out,
                     const Stop& stop);

}  // namespace fcca
