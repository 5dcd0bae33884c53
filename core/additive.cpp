#include "additive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

// Offers the cells whose gain beats that of every cheaper one: the others are in no cheapest answer. Of categories, which cost the
// same, the one that gains most.
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

// To beat the own class alone costs no more than to beat all, and whoever is answered then is not the own class. So the cheapest of
// these is the cheapest of all wherever its winner has the margin over everybody.
std::optional<Outcome> AdditiveSearch::beat_own_class(const Query& query, const std::vector<std::int32_t>& targets, const Stop& stop) {
  const std::int32_t own_class = query.own_class;
  Outcome best;
  std::vector<Choice> choices;
  double open_bound = infinity;
  std::int64_t nodes = 0;
  for (const std::int32_t t : targets) {
    const double needed = query.margin - (scores_[t] - scores_[own_class]) - rounding_[t] - rounding_[own_class];
    if (needed <= 0) return std::nullopt;
    knapsack_.clear();
    for (const std::size_t j : movable_) {
      if (!query.may_move(j)) continue;
      const double* here = model_.value(j, own_cells_[j]);
      offer_gains(query, j, needed, [&](std::int64_t cell) {
        const double* there = model_.value(j, cell);
        return (there[t] - here[t]) - (there[own_class] - here[own_class]);
      });
    }
    const Outcome outcome = knapsack_.solve(needed, stop);
    nodes += outcome.nodes;
    if (outcome.status == Status::feasible || outcome.status == Status::unknown) open_bound = std::min(open_bound, outcome.bound);
    if (outcome.cost < best.cost) best = outcome, choices = knapsack_.choices();
  }
  best.nodes = nodes;
  const bool found = best.cost < infinity, proven = !(open_bound < best.cost);
  best.status = found ? (proven ? Status::optimal : Status::feasible) : (proven ? Status::infeasible : Status::unknown);
  best.bound = proven ? best.cost : open_bound;
  best.target = any_other_class;
  if (!found) return best;
  std::vector<double> scores = scores_;
  for (const Choice& choice : choices) {
    const double *here = model_.value(choice.feature, own_cells_[choice.feature]), *there = model_.value(choice.feature, choice.cell);
    for (std::size_t k = 0; k < scores.size(); ++k) scores[k] += there[k] - here[k];
  }
  const std::int32_t winner = static_cast<std::int32_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(scores.size()); ++k) {
    if (k != winner && scores[winner] - scores[k] < query.margin - rounding_[winner] - rounding_[k]) return std::nullopt;
  }
  if (winner == own_class) return std::nullopt;
  best.target = winner;
  best.moves.clear();
  add_moves(query, choices, best);
  return best;
}

Outcome AdditiveSearch::solve_rivals(const Query& query, const Stop& stop) {
  const std::int32_t n_classes = static_cast<std::int32_t>(model_.n_outputs);
  std::vector<double> needed(n_classes - 1), gains(n_classes - 1);
  Outcome best;
  best.status = Status::infeasible;
  double open_bound = infinity;  // the least bound of the targets that could not be finished
  std::int64_t nodes = 0;
  // The class that is closest to winning is likely the cheapest: its cost prunes the searches for the others.
  std::vector<std::int32_t> targets;
  for (std::int32_t t = 0; t < n_classes; ++t) {
    if (query.target == any_other_class ? t != query.own_class : t == query.target) targets.push_back(t);
  }
  std::stable_sort(targets.begin(), targets.end(), [&](std::int32_t a, std::int32_t b) { return scores_[a] > scores_[b]; });
  if (query.target == any_other_class && n_classes > 2) {
    if (const std::optional<Outcome> found = beat_own_class(query, targets, stop)) return *found;
  }
  for (const std::int32_t t : targets) {
    auto against_rivals = [&](auto difference, std::vector<double>& out) {
      std::size_t r = 0;
      for (std::int32_t k = 0; k < n_classes; ++k) {
        if (k != t) out[r++] = difference(k);
      }
    };
    against_rivals([&](std::int32_t k) { return query.margin - (scores_[t] - scores_[k]) - rounding_[t] - rounding_[k]; }, needed);
    rivals_.clear(n_classes - 1);
    for (const std::size_t j : movable_) {
      if (!query.may_move(j)) continue;
      const double* here = model_.value(j, own_cells_[j]);
      reach(query, j);
      for (const Reach& other : reach_) {
        const double* there = model_.value(j, other.cell);
        against_rivals([&](std::int32_t k) { return (there[t] - here[t]) - (there[k] - here[k]); }, gains);
        rivals_.add_option(static_cast<std::int32_t>(j), other.cost, gains.data(), other.cell);
      }
    }
    Outcome outcome = rivals_.solve(needed.data(), best.cost, stop);
    nodes += outcome.nodes;
    if (outcome.status == Status::feasible || outcome.status == Status::unknown) open_bound = std::min(open_bound, outcome.bound);
    if (outcome.cost < best.cost) {
      best = outcome;
      best.target = t;
      add_moves(query, rivals_.choices(), best);
    }
  }
  best.nodes = nodes;
  if (open_bound < infinity) {
    best.status = best.cost < infinity ? Status::feasible : Status::unknown;
    best.bound = std::min(open_bound, best.cost);
  } else {
    best.status = best.cost < infinity ? Status::optimal : Status::infeasible;
    best.bound = best.cost;
  }
  return best;
}

Outcome AdditiveSearch::solve(const Query& query, const Stop& stop) {
  const Cells& cells = model_.cells;
  std::copy(model_.base, model_.base + model_.n_outputs, scores_.begin());
  for (const std::size_t j : movable_) {
    own_cells_[j] = cells.cell_of(j, query.row[j]);
    const double* v = model_.value(j, own_cells_[j]);
    for (std::size_t k = 0; k < model_.n_outputs; ++k) scores_[k] += v[k];
  }
  return model_.n_outputs == 1 ? solve_binary(query, stop) : solve_rivals(query, stop);
}

}  // namespace fcca
