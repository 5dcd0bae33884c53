#include "additive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "other_classes.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

void AdditiveModel::score(const double* row, double* out) const {
  std::copy(base, base + n_outputs, out);
  for (std::size_t j = 0; j < cells.n_features; ++j) {
    if (cells.n_cuts(j) == 0) continue;
    const double* v = value(j, cells.cell_of(j, row[j]));
    for (std::size_t k = 0; k < n_outputs; ++k) out[k] += v[k];
  }
}

AdditiveSearch::AdditiveSearch(const AdditiveModel& model, const Limits& limits, const Cost& cost)
    : model_(model), landings_(model.cells, limits, cost), scores_(model.n_outputs), own_cells_(model.cells.n_features) {
  for (std::size_t j = 0; j < model.cells.n_features; ++j) {
    if (model.cells.n_cuts(j) > 0) movable_.push_back(j);
  }
  for (std::size_t k = 0; k < model.n_outputs; ++k) {
    double largest = std::abs(model.base[k]);
    for (const std::size_t j : movable_) {
      double most = 0;
      for (std::int64_t cell = 0; cell <= model.cells.n_cuts(j); ++cell) most = std::max(most, std::abs(model.value(j, cell)[k]));
      largest += most;
    }
    rounding_.push_back(2 * std::numeric_limits<double>::epsilon() * static_cast<double>(movable_.size() + 4) * largest);
  }
}

// Adds an option for each cell that gains more than every cheaper cell. A cheapest change needs no other cells. Of categories with the same
// cost, only the one with the largest gain is added.
template <class Gain>
void AdditiveSearch::offer_gains(const Query& query, std::size_t j, double needed, Gain gain_of) {
  const std::int64_t own = own_cells_[j];
  const std::int32_t feature = static_cast<std::int32_t>(j);
  double best = 0;
  if (landings_.is_unordered(j, own)) {
    Option last{-1, 0, 0};
    landings_.from_near_to_far(query, j, own, [&](double cost, std::int64_t cell) {
      const double gain = gain_of(cell);
      if (gain <= best) return true;
      if (last.cost >= 0 && cost > last.cost) knapsack_.add_option(feature, last);
      best = gain;
      last = {cost, gain, static_cast<std::int32_t>(cell)};
      return true;
    });
    if (last.cost >= 0) knapsack_.add_option(feature, last);
    return;
  }
  landings_.from_near_to_far(query, j, own, [&](double cost, std::int64_t cell) {
    const double gain = gain_of(cell);
    if (gain > best) {
      best = gain;
      knapsack_.add_option(feature, {cost, gain, static_cast<std::int32_t>(cell)});
    }
    return best < needed;
  });
}

void AdditiveSearch::reach(const Query& query, std::size_t j) {
  reach_.clear();
  landings_.from_near_to_far(query, j, own_cells_[j], [&](double cost, std::int64_t cell) {
    reach_.push_back({cost, static_cast<std::int32_t>(cell)});
    return true;
  });
}

void AdditiveSearch::add_moves(const Query& query, const std::vector<Choice>& choices, Outcome& outcome) const {
  for (const Choice& choice : choices) {
    const std::size_t j = choice.feature;
    outcome.moves.push_back({choice.feature, landings_.of(query, j, choice.cell, own_cells_[j]),
                             model_.cells.last_cut_crossed(j, choice.cell, own_cells_[j])});
  }
  std::sort(outcome.moves.begin(), outcome.moves.end(), [](const Move& a, const Move& b) { return a.feature < b.feature; });
}

Outcome AdditiveSearch::solve_binary(const Query& query, const Stop& stop) {
  const std::int32_t target = query.target == any_other_class ? 1 - query.own_class : query.target;
  const double sign = target == 1 ? 1.0 : -1.0;
  const double needed = query.margin - sign * scores_[0] - rounding_[0];
  if (needed <= 0) return already_there(target);
  knapsack_.clear();
  for (const std::size_t j : movable_) {
    if (!query.may_move(j)) continue;
    const double here = *model_.value(j, own_cells_[j]);
    offer_gains(query, j, needed, [&](std::int64_t cell) { return sign * (*model_.value(j, cell) - here); });
  }
  Outcome outcome = knapsack_.solve(needed, stop);
  outcome.target = target;
  add_moves(query, knapsack_.choices(), outcome);
  return outcome;
}

std::optional<Outcome> AdditiveSearch::beat_own(const Query& query, const std::vector<std::int32_t>& targets, const Stop& stop) {
  const std::int32_t own = query.own_class;
  double least = infinity;
  std::vector<Choice> choices;
  std::vector<double> scores;
  std::int64_t nodes = 0;
  const auto improve = [&](std::int32_t t) -> std::optional<double> {
    const double needed = query.margin - (scores_[t] - scores_[own]) - rounding_[t] - rounding_[own];
    if (needed <= 0) return std::nullopt;
    knapsack_.clear();
    for (const std::size_t j : movable_) {
      if (!query.may_move(j)) continue;
      const double* here = model_.value(j, own_cells_[j]);
      offer_gains(query, j, needed, [&](std::int64_t cell) {
        const double* there = model_.value(j, cell);
        return (there[t] - here[t]) - (there[own] - here[own]);
      });
    }
    const Outcome outcome = knapsack_.solve(needed, stop);
    nodes += outcome.nodes;
    if (outcome.cost < least) least = outcome.cost, choices = knapsack_.choices();
    return open_bound_of(outcome);
  };
  const auto scores_after = [&] {
    if (least < infinity) scores = scores_;
    for (const Choice& choice : choices) {
      const double *here = model_.value(choice.feature, own_cells_[choice.feature]), *there = model_.value(choice.feature, choice.cell);
      for (std::size_t k = 0; k < scores.size(); ++k) scores[k] += there[k] - here[k];
    }
    return scores;
  };
  const auto has_margin = [&](std::int32_t winner) {
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(scores.size()); ++k) {
      if (k != winner && scores[winner] - scores[k] < query.margin - rounding_[winner] - rounding_[k]) return false;
    }
    return true;
  };
  const auto beaten = beat_own_class(own, targets, improve, scores_after, has_margin);
  if (!beaten) return std::nullopt;
  Outcome outcome = finished(least < infinity, beaten->open_bound < least, least, beaten->open_bound, nodes);
  outcome.target = beaten->winner;
  add_moves(query, choices, outcome);
  return outcome;
}

// One target against all its rivals at once. Only changes cheaper than the limit are searched.
Outcome AdditiveSearch::beat_rivals(const Query& query, std::int32_t target, double limit, const Stop& stop) {
  const std::int32_t n_classes = static_cast<std::int32_t>(model_.n_outputs);
  std::vector<double> needed(n_classes - 1), gains(n_classes - 1);
  auto for_each_rival = [&](auto value_against, std::vector<double>& out) {
    std::size_t r = 0;
    for (std::int32_t k = 0; k < n_classes; ++k) {
      if (k != target) out[r++] = value_against(k);
    }
  };
  for_each_rival(
      [&](std::int32_t k) { return query.margin - (scores_[target] - scores_[k]) - rounding_[target] - rounding_[k]; }, needed);
  rivals_.clear(n_classes - 1);
  for (const std::size_t j : movable_) {
    if (!query.may_move(j)) continue;
    const double* here = model_.value(j, own_cells_[j]);
    reach(query, j);
    for (const Reach& other : reach_) {
      const double* there = model_.value(j, other.cell);
      for_each_rival([&](std::int32_t k) { return (there[target] - here[target]) - (there[k] - here[k]); }, gains);
      rivals_.add_option(static_cast<std::int32_t>(j), other.cost, gains.data(), other.cell);
    }
  }
  return rivals_.solve(needed.data(), limit, stop);
}

Outcome AdditiveSearch::solve_classes(const Query& query, const Stop& stop) {
  const std::vector<std::int32_t> targets = targets_of(query, scores_);
  if (query.target == any_other_class && model_.n_outputs > 2) {
    if (const std::optional<Outcome> found = beat_own(query, targets, stop)) return *found;
  }
  Outcome best;
  double open_bound = infinity;  // the least bound of the unfinished targets
  std::int64_t nodes = 0;
  for (const std::int32_t t : targets) {
    Outcome outcome = beat_rivals(query, t, best.cost, stop);
    nodes += outcome.nodes;
    open_bound = std::min(open_bound, open_bound_of(outcome));
    if (!(outcome.cost < best.cost)) continue;
    best = std::move(outcome);
    best.target = t;
    add_moves(query, rivals_.choices(), best);
  }
  Outcome outcome = finished(best.cost < infinity, open_bound < infinity, best.cost, open_bound, nodes);
  outcome.target = best.target, outcome.moves = std::move(best.moves);
  return outcome;
}

Outcome AdditiveSearch::solve(const Query& query, const Stop& stop) {
  const Cells& cells = model_.cells;
  std::copy(model_.base, model_.base + model_.n_outputs, scores_.begin());
  for (const std::size_t j : movable_) {
    own_cells_[j] = cells.cell_of(j, query.row[j]);
    const double* v = model_.value(j, own_cells_[j]);
    for (std::size_t k = 0; k < model_.n_outputs; ++k) scores_[k] += v[k];
  }
  return model_.n_outputs == 1 ? solve_binary(query, stop) : solve_classes(query, stop);
}

}  // namespace fcca
