// The target classes of a query, and a shortcut if any other class is allowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "query.hpp"

namespace fcca {

// The targets of a query. A single score means two classes. The class that is closest to winning comes first: it is likely the
// cheapest, and its cost prunes the searches for the others.
inline std::vector<std::int32_t> targets_of(const Query& query, const std::vector<double>& scores) {
  const std::int32_t n_classes = std::max<std::int32_t>(2, static_cast<std::int32_t>(scores.size()));
  std::vector<std::int32_t> targets;
  for (std::int32_t t = 0; t < n_classes; ++t) {
    if (query.target == any_other_class ? t != query.own_class : t == query.target) targets.push_back(t);
  }
  if (scores.size() > 1) {
    std::stable_sort(targets.begin(), targets.end(), [&](std::int32_t a, std::int32_t b) { return scores[a] > scores[b]; });
  }
  return targets;
}

// How a search against the own class alone ended.
struct OwnClassBeaten {
  std::int32_t winner;  // any_other_class if no change was found
  double open_bound;    // lower bound on everything left unsearched; infinite if nothing was left
};

// The cheapest change after which some class leads the own class by the margin, ignoring all other rivals. Fewer conditions
// never cost more, so it is a lower bound for every target. If its winner has the margin over all classes, it is also a valid
// change, and so the optimum. Otherwise returns nothing, and every target has to be searched against all of its rivals.
//
// improve(target): searches for a cheaper change after which target leads the own class. Returns the open bound, or nothing if
//   target already leads.
// scores(): the scores after the cheapest change; empty if there is none.
// has_margin(winner): whether the winner leads every other class by the margin after that change.
template <class Improve, class Scores, class HasMargin>
std::optional<OwnClassBeaten> beat_own_class(std::int32_t own_class, const std::vector<std::int32_t>& targets, Improve improve,
                                             Scores scores, HasMargin has_margin) {
  double open_bound = std::numeric_limits<double>::infinity();
  for (const std::int32_t target : targets) {
    const std::optional<double> open = improve(target);
    if (!open) return std::nullopt;
    open_bound = std::min(open_bound, *open);
  }
  const std::vector<double> reached = scores();
  if (reached.empty()) return OwnClassBeaten{any_other_class, open_bound};
  const auto winner = static_cast<std::int32_t>(std::max_element(reached.begin(), reached.end()) - reached.begin());
  if (winner == own_class || !has_margin(winner)) return std::nullopt;
  return OwnClassBeaten{winner, open_bound};
}

}  // namespace fcca
