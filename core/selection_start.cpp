#include "selection_start.hpp"

#include <algorithm>
#include <limits>

namespace fcca {

namespace {

// Whether after one more condition the set can still grow to n.
bool leaves_room(const SelectionRules& rules, const Decided& decided, std::int32_t condition, std::size_t n) {
  if (rules.max_features >= static_cast<std::int32_t>(rules.n_features())) return true;  // then every choice can be completed
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
      const bool better = best < 0 || cost[t] < cost[best] || (cost[t] == cost[best] && rules.count[t] > rules.count[best]);
      if (better && leaves_room(rules, decided, t, n)) best = t;
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

Candidate with_swaps(const SelectionRows& rows, const SelectionRules& rules, const Decided& decided, Candidate start, const Stop& stop) {
  Candidate best = std::move(start);
  std::vector<std::int64_t> cost;
  std::vector<std::int32_t> others;
  for (bool improved = true; improved && !stop.now();) {
    improved = false;
    Candidate next = best;
    for (const std::int32_t out : best.chosen) {
      if (decided.choice[out] == Decision::kept) continue;
      if (stop.now()) break;
      Decided without = decided;
      others.clear();
      for (const std::int32_t t : best.chosen) {
        if (t != out) others.push_back(t);
        if (t != out && decided.choice[t] != Decision::kept) choose(rules, without, t);
      }
      costs_of_adding(rows, groups_of(rows, others), cost);
      std::int32_t in = -1;
      for (std::int32_t t = 0; t < static_cast<std::int32_t>(rows.n_conditions); ++t) {
        if (without.choice[t] != Decision::open) continue;
        if (in < 0 || cost[t] < cost[in] || (cost[t] == cost[in] && rules.count[t] > rules.count[in])) in = t;
      }
      if (in < 0 || in == out || cost[in] > next.cost) continue;
      others.push_back(in);
      Candidate swapped = candidate(rows, rules, others);
      if (swapped.better_than(next)) next = std::move(swapped), improved = true;
    }
    best = std::move(next);
  }
  return best;
}

}  // namespace fcca
