// The admissible sets of conditions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace fcca {

enum class Decision : std::int8_t { open = 0, kept = 1, forbidden = 2 };

struct SelectionRules {
  std::vector<std::int32_t> feature;      // of each condition
  std::vector<std::int32_t> per_feature;  // maximum number of conditions of each feature
  std::int32_t max_features = 0;
  std::vector<std::int64_t> count;  // decides between sets that cost the same: the larger sum wins

  std::size_t n_features() const { return per_feature.size(); }
};

// Rules that allow every set of conditions.
inline SelectionRules no_rules(std::vector<std::int64_t> count) {
  SelectionRules rules;
  rules.feature.assign(count.size(), 0);
  rules.per_feature.assign(1, static_cast<std::int32_t>(count.size()));
  rules.max_features = 1;
  rules.count = std::move(count);
  return rules;
}

// A partial choice: conditions chosen, conditions ruled out, the rest open.
struct Decided {
  std::vector<Decision> choice;       // of each condition
  std::vector<std::int32_t> chosen;   // in this order
  std::vector<std::int32_t> used;     // number of chosen conditions of each feature
  std::int32_t n_features_used = 0;
  std::int64_t count = 0;             // sum over the chosen conditions
};

inline Decided nothing_decided(const SelectionRules& rules) {
  Decided decided;
  decided.choice.assign(rules.feature.size(), Decision::open);
  decided.used.assign(rules.n_features(), 0);
  return decided;
}

// Rules out conditions that the limits no longer allow.
inline void close_full_features(const SelectionRules& rules, Decided& decided) {
  for (std::size_t t = 0; t < decided.choice.size(); ++t) {
    if (decided.choice[t] != Decision::open) continue;
    const std::int32_t j = rules.feature[t];
    const bool no_more_features = decided.used[j] == 0 && decided.n_features_used >= rules.max_features;
    if (no_more_features || decided.used[j] >= rules.per_feature[j]) decided.choice[t] = Decision::forbidden;
  }
}

inline void choose(const SelectionRules& rules, Decided& decided, std::int32_t condition) {
  decided.choice[condition] = Decision::kept;
  decided.chosen.push_back(condition);
  decided.count += rules.count[condition];
  if (decided.used[rules.feature[condition]]++ == 0) ++decided.n_features_used;
  close_full_features(rules, decided);
}

// The initial state: 0 open, 1 kept, 2 forbidden.
inline Decided decided_from(const SelectionRules& rules, const std::int32_t* state) {
  Decided decided = nothing_decided(rules);
  for (std::size_t t = 0; t < decided.choice.size(); ++t) {
    if (state[t] == 2) decided.choice[t] = Decision::forbidden;
  }
  for (std::size_t t = 0; t < decided.choice.size(); ++t) {
    if (state[t] == 1) choose(rules, decided, static_cast<std::int32_t>(t));
  }
  close_full_features(rules, decided);
  return decided;
}

// The maximum number of further conditions.
inline std::size_t room(const SelectionRules& rules, const Decided& decided) {
  std::vector<std::int32_t> open(rules.n_features(), 0), fresh;
  for (std::size_t t = 0; t < decided.choice.size(); ++t) open[rules.feature[t]] += decided.choice[t] == Decision::open;
  std::size_t room = 0;
  for (std::size_t j = 0; j < open.size(); ++j) {
    const std::int32_t left = std::min(open[j], rules.per_feature[j] - decided.used[j]);
    if (decided.used[j] > 0) room += left;
    else if (left > 0) fresh.push_back(left);
  }
  std::sort(fresh.begin(), fresh.end(), std::greater<>());
  const std::size_t allowed = std::max(0, rules.max_features - decided.n_features_used);
  for (std::size_t i = 0; i < std::min(allowed, fresh.size()); ++i) room += fresh[i];
  return room;
}

}  // namespace fcca
