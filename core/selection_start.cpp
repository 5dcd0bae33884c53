#include "selection_start.hpp"

#include <algorithm>
#include <utility>

namespace fcca {

namespace {

// Whether the set can still grow to n conditions after one more condition.
bool leaves_room(const SelectionRules& rules, const Decided& decided, std::int32_t condition, std::size_t n) {
  if (rules.max_features >= static_cast<std::int32_t>(rules.n_features())) return true;  // every choice can be completed
  Decided after = decided;
  choose(rules, after, condition);
  return after.chosen.size() + room(rules, after) >= n;
}

}  // namespace

Candidate candidate(const SelectionRows& rows, const SelectionRules& rules, std::vector<std::int32_t> chosen) {
  Candidate made;
  std::sort(chosen.begin(), chosen.end());
  made.cost = groups_of(rows, chosen).cost;
  for (const std::int32_t t : chosen) made.count += rules.count[t];
  made.chosen = std::move(chosen);
  return made;
}

std::vector<std::int32_t> greedy_order(const SelectionRows& rows, const SelectionRules& rules, Decided decided, std::size_t n) {
  Groups groups = groups_of(rows, decided.chosen);
  std::vector<std::int64_t> cost;
  while (decided.chosen.size() < n) {
    costs_of_adding(rows, groups, cost);
    std::int32_t best = -1;
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(rows.n_conditions); ++t) {
      if (decided.choice[t] != Decision::open) continue;
      if (better_added(rules, cost, t, best) && leaves_room(rules, decided, t, n)) best = t;
    }
    if (best < 0) break;
    choose(rules, decided, best);
    groups = split(rows, groups, best);
  }
  return decided.chosen;
}

Candidate completed_greedily(const SelectionRows& rows, const SelectionRules& rules, Decided decided, std::size_t n) {
  return candidate(rows, rules, greedy_order(rows, rules, std::move(decided), n));
}

Candidate completed_by(const SelectionRows& rows, const SelectionRules& rules, Decided decided, std::size_t n,
                       const std::vector<double>& value) {
  while (decided.chosen.size() < n) {
    std::int32_t best = -1;
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(rows.n_conditions); ++t) {
      if (decided.choice[t] != Decision::open || (best >= 0 && value[t] <= value[best])) continue;
      if (leaves_room(rules, decided, t, n)) best = t;
    }
    if (best < 0) break;
    choose(rules, decided, best);
  }
  return candidate(rows, rules, decided.chosen);
}

Candidate with_swaps(const SelectionRows& rows, const SelectionRules& rules, const Decided& decided, Candidate start, int most_out,
                     const Stop& stop) {
  Candidate best = std::move(start);
  std::vector<std::int32_t> free;  // conditions that may be exchanged
  // The best set after removing some conditions and adding others greedily.
  Candidate next;
  auto refill_without = [&](std::int32_t one, std::int32_t other) {
    Decided without = decided;
    for (const std::int32_t t : free) {
      if (t != one && t != other) choose(rules, without, t);
    }
    Candidate filled = completed_greedily(rows, rules, std::move(without), best.chosen.size());
    if (filled.chosen.size() == best.chosen.size() && filled.better_than(next)) next = std::move(filled);
  };
  for (int n_out = 1; n_out <= std::min(most_out, 2) && !stop.now();) {
    free.clear();
    for (const std::int32_t t : best.chosen) {
      if (decided.choice[t] != Decision::kept) free.push_back(t);
    }
    next = best;
    for (std::size_t i = 0; i < free.size() && !stop.now(); ++i) {
      if (n_out == 1) refill_without(free[i], free[i]);
      for (std::size_t j = i + 1; n_out == 2 && j < free.size() && !stop.now(); ++j) refill_without(free[i], free[j]);
    }
    const bool improved = next.better_than(best);
    best = std::move(next);
    n_out = improved ? 1 : n_out + 1;
  }
  return best;
}

}  // namespace fcca
