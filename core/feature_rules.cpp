#include "feature_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// Sums in another order differ by less than this share of their terms. A box is dropped only if its sum exceeds the limit by more.
constexpr double sum_tolerance = 1e-12;
}  // namespace

void FeatureRules::measure(const Query& query, const std::vector<std::int32_t>& own, const Landings& landings) {
  own_ = own;
  const LinearRules& linear = limits_.linear;
  if (linear.n_rules == 0) return;
  values_.assign(cells_.n_cells(), std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t term = 0; term < linear.first_term[linear.n_rules]; ++term) {
    const std::int32_t j = linear.feature[term];
    double* values = values_.data() + cells_.first_cell(j);
    values[own[j]] = query.row[j];
    if (!query.may_move(j)) continue;
    for (std::int64_t cell = 0; cell <= cells_.last_number(j); ++cell) {
      if (cell != own[j]) values[cell] = landings.of(query, j, cell, own[j]);
    }
  }
}

bool FeatureRules::keeps_linear(std::size_t rule, const std::int32_t* cells) const {
  const LinearRules& linear = limits_.linear;
  bool binding = false;
  double sum = 0;
  for (std::int64_t term = begin(rule); term < end(rule); ++term) {
    const std::int32_t j = linear.feature[term];
    binding = binding || moves(j, cells);
    sum += linear.coef[term] * value(j, cells[j]);
    if (std::isnan(sum)) return true;  // a sum with a missing value is unknown
  }
  return !binding || sum <= linear.upper[rule];
}

bool FeatureRules::keeps(const std::int32_t* cells) const {
  if (limits_.max_changes > 0) {
    std::int32_t n = 0;
    for (std::size_t j = 0; j < own_.size(); ++j) n += cells[j] != own_[j];
    if (n > limits_.max_changes) return false;
  }
  const Implications& rules = limits_.implications;
  for (std::size_t i = 0; i < rules.n; ++i) {
    auto goes = [&](std::int32_t j, bool up) { return has_direction(j) && (up ? cells[j] > own_[j] : cells[j] < own_[j]); };
    if (goes(rules.feature[i], rules.rises[i] != 0) && !goes(rules.then_feature[i], rules.then_rises[i] != 0)) return false;
  }
  for (std::size_t rule = 0; rule < limits_.linear.n_rules; ++rule) {
    if (!keeps_linear(rule, cells)) return false;
  }
  return true;
}

bool FeatureRules::shrink_count(std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const {
  if (limits_.max_changes == 0) return true;
  std::int32_t n = 0;
  for (std::size_t j = 0; j < own_.size(); ++j) n += own_[j] < low[j] || own_[j] > high[j];
  if (n > limits_.max_changes) return false;
  if (n < limits_.max_changes) return true;
  for (std::size_t j = 0; j < own_.size(); ++j) {
    if (low[j] <= own_[j] && own_[j] <= high[j]) low[j] = high[j] = own_[j];
  }
  return true;
}

bool FeatureRules::shrink_implication(std::size_t i, std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const {
  const Implications& rules = limits_.implications;
  const std::int32_t a = rules.feature[i], b = rules.then_feature[i];
  const bool a_up = rules.rises[i] != 0, b_up = rules.then_rises[i] != 0;
  if (!has_direction(a)) return true;
  const bool a_must = a_up ? low[a] > own_[a] : high[a] < own_[a];
  if (a_must) {
    if (!has_direction(b)) return false;
    if (b_up) low[b] = std::max(low[b], own_[b] + 1);
    else high[b] = std::min(high[b], own_[b] - 1);
    return low[b] <= high[b];
  }
  const bool b_can = !has_direction(b) ? false : b_up ? high[b] > own_[b] : low[b] < own_[b];
  if (!b_can) {
    if (a_up) high[a] = std::min(high[a], own_[a]);
    else low[a] = std::max(low[a], own_[a]);
  }
  return low[a] <= high[a];
}

// Values rise with the cells, so the least sum in a box is at its ends. The term of one feature is at most the limit minus the least terms
// of the others.
bool FeatureRules::shrink_linear(std::size_t rule, std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const {
  const LinearRules& linear = limits_.linear;
  bool binding = false;
  double least = 0, size = std::abs(linear.upper[rule]);
  for (std::int64_t term = begin(rule); term < end(rule); ++term) {
    const std::int32_t j = linear.feature[term];
    binding = binding || own_[j] < low[j] || own_[j] > high[j];
    if (low[j] <= own_[j] && own_[j] <= high[j] && std::isnan(value(j, own_[j]))) return true;  // may stay missing
    while (low[j] <= high[j] && std::isnan(value(j, low[j]))) ++low[j];
    while (high[j] >= low[j] && std::isnan(value(j, high[j]))) --high[j];
    if (low[j] > high[j]) return false;
    const double coef = linear.coef[term];
    least += std::min(coef * value(j, low[j]), coef * value(j, high[j]));
    size += std::max(std::abs(coef * value(j, low[j])), std::abs(coef * value(j, high[j])));
  }
  if (!binding) return true;
  const double most = linear.upper[rule] + sum_tolerance * size;
  if (least > most) return false;
  for (std::int64_t term = begin(rule); term < end(rule); ++term) {
    const std::int32_t j = linear.feature[term];
    const double coef = linear.coef[term];
    const double room = most - (least - std::min(coef * value(j, low[j]), coef * value(j, high[j])));
    auto fits = [&](std::int32_t cell) { return !(coef * value(j, cell) > room); };
    if (coef > 0) {
      while (high[j] > low[j] && !fits(high[j])) --high[j];
    } else {
      while (low[j] < high[j] && !fits(low[j])) ++low[j];
    }
  }
  return true;
}

bool FeatureRules::shrink(std::vector<std::int32_t>& low, std::vector<std::int32_t>& high) const {
  if (!shrink_count(low, high)) return false;
  for (std::size_t i = 0; i < limits_.implications.n; ++i) {
    if (!shrink_implication(i, low, high)) return false;
  }
  for (std::size_t rule = 0; rule < limits_.linear.n_rules; ++rule) {
    if (!shrink_linear(rule, low, high)) return false;
  }
  return true;
}

FeatureRules::Split FeatureRules::split(const std::vector<std::int32_t>& low, const std::vector<std::int32_t>& high,
                                        const std::int32_t* cells) const {
  const LinearRules& linear = limits_.linear;
  Split best;
  for (std::size_t rule = 0; rule < linear.n_rules && best.feature < 0; ++rule) {
    if (keeps_linear(rule, cells)) continue;
    double best_relief = 0;
    for (std::int64_t term = begin(rule); term < end(rule); ++term) {
      const std::int32_t j = linear.feature[term];
      const std::int32_t end_cell = linear.coef[term] > 0 ? low[j] : high[j];
      if (end_cell == cells[j]) continue;
      const double relief = std::abs(linear.coef[term] * (value(j, cells[j]) - value(j, end_cell)));
      const double worth = std::isnan(relief) ? infinity : relief;
      if (worth > best_relief) best_relief = worth, best = {j, (std::min(cells[j], end_cell) + std::max(cells[j], end_cell)) / 2};
    }
  }
  if (best.feature >= 0) return best;
  // An implication: whether its first feature moves.
  const Implications& rules = limits_.implications;
  for (std::size_t i = 0; i < rules.n; ++i) {
    for (const std::int32_t j : {rules.feature[i], rules.then_feature[i]}) {
      if (low[j] < high[j]) return {j, std::clamp(own_[j], low[j], high[j] - 1)};
    }
  }
  return best;
}

}  // namespace fcca
