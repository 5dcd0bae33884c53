#include "ensemble_search.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "other_classes.hpp"

namespace fcca {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int passes_at_root = 40, passes_below = 3;
constexpr std::size_t most_examples_polished = 8;
// Changes that are cheaper than the incumbent by less than this share of it are not searched. The share is far above the rounding errors
// of the bound, and far below the 1e-9 to which optimality is promised.
constexpr double proof_tolerance = 1e-11;
// Costs are computed in units of the incumbent's cost. If a change is cheaper than this share of the unit, a new unit is chosen.
constexpr double much_cheaper = 1e-3;
// If the incumbent becomes cheaper than this share before the root is split, the ensemble is reduced again.
constexpr double worth_reducing = 0.95;

}  // namespace

EnsembleSearch::EnsembleSearch(const EnsembleModel& ensemble, const Limits& limits, const Cost& cost, const Examples& examples,
                               const SideRows& side_rows, double relative_gap)
    : ensemble_(ensemble), examples_(examples), side_rows_(side_rows), relative_gap_(relative_gap),
      tolerance_(std::max(relative_gap, proof_tolerance)), landings_(ensemble.cells, limits, cost), rules_(ensemble.cells, limits),
      scores_(ensemble.trees.n_outputs - side_rows.n) {
  levels_.push_back(std::make_unique<Level>());
  task_.ensemble = &ensemble;
  task_.small_cost = std::max(1e-6 * (cost.lambda0 + cost.lambda1 + cost.lambda2), std::numeric_limits<double>::min());
}

// Computes the own cells, the cells that can be reached, and their costs.
void EnsembleSearch::measure(const Query& query) {
  const Cells& cells = ensemble_.cells;
  task_.cost.assign(cells.n_cells(), 0.0);
  task_.own.assign(cells.n_features, 0);
  for (const std::size_t j : ensemble_.movable) task_.own[j] = static_cast<std::int32_t>(cells.cell_of(j, query.row[j]));
  task_.low = task_.high = task_.own;
  task_.uneven.assign(cells.n_features, 0);
  for (const std::size_t j : ensemble_.movable) {
    if (!query.may_move(j)) continue;
    double* cost = task_.cost.data() + cells.first_cell(j);
    const std::int32_t own = task_.own[j];
    if (!landings_.rises_outwards(query, j, own)) {
      task_.uneven[j] = 1;
      for (std::int32_t cell = 0; cell <= cells.n_cuts(j); ++cell) {
        if (cell == own) continue;
        cost[cell] = landings_.cost(query, j, cell, own);
        if (cost[cell] < infinity) task_.low[j] = std::min(task_.low[j], cell), task_.high[j] = std::max(task_.high[j], cell);
      }
      continue;
    }
    auto reach = [&](std::int32_t& edge, std::int32_t step) {
      for (;; edge += step) {
        const double price = landings_.cost(query, j, edge + step, own);
        if (price == infinity) return;
        cost[edge + step] = price;
      }
    };
    reach(task_.low[j], -1), reach(task_.high[j], +1);
  }
  if (rules_.any()) {
    rules_.measure(query, task_.own, landings_);
    task_.rules = &rules_;
  }
  scores_ = scores_in(task_.own);
}

// Sets the leads of a target over its rivals. With one output, the only rival of a class is the other class.
void EnsembleSearch::aim_at(const Query& query, std::int32_t target, std::int32_t only_rival) {
  const std::int32_t K = static_cast<std::int32_t>(scores_.size());
  task_.lead.clear(), task_.needed.clear(), task_.slack.clear();
  auto add = [&](const Lead& lead, double least) {
    const double base = lead.of(ensemble_.base);
    // A lead reaches the margin if it misses it by no more than the rounding error of a sum of this many numbers.
    const double rounding = 2 * std::numeric_limits<double>::epsilon() * static_cast<double>(ensemble_.trees.n_trees + 4);
    const double size = lead.plus * ensemble_.sizes[lead.plus_output] + lead.minus * ensemble_.sizes[lead.minus_output];
    const double slack = rounding * (std::abs(least) + std::abs(base) + size);
    task_.lead.push_back(lead), task_.slack.push_back(slack), task_.needed.push_back(least - base - slack);
  };
  for (std::int32_t k = 0; k < std::max(K, 2); ++k) {
    if (k == target || (only_rival >= 0 && k != only_rival)) continue;
    if (K > 1) add({target, k, 1.0, 1.0}, query.margin);
    else add({0, 0, target == 1 ? 1.0 : 0.0, target == 1 ? 0.0 : 1.0}, query.margin);
  }
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(side_rows_.n); ++i) add({K + i, K + i, 1.0, 0.0}, side_rows_.least[i]);
  task_.n_rivals = task_.lead.size();
}

double EnsembleSearch::limit() const {
  return best_.cost < infinity ? enough(best_.cost / unit_) : 2.0;
}

void EnsembleSearch::begin_from_examples(Incumbent& incumbent) {
  std::vector<std::pair<double, std::vector<std::int32_t>>> usable;
  for (const auto& example : examples_) {
    auto cells = example;
    for (const std::size_t j : ensemble_.movable) cells[j] = std::clamp(cells[j], task_.low[j], task_.high[j]);
    if (rules_.any() && !rules_.keeps(cells.data())) continue;
    if (is_reached(cells)) usable.push_back({task_.cost_of(cells.data()), std::move(cells)});
  }
  std::sort(usable.begin(), usable.end());
  if (usable.size() > most_examples_polished) usable.resize(most_examples_polished);
  for (auto& [price, cells] : usable) start_.offer(task_, std::move(cells), incumbent);
}

void EnsembleSearch::reduce() {
  reduction().build(task_, enough(best_.cost));
  reduced_for_ = best_.cost;
}

void EnsembleSearch::start_on_reduced(const std::vector<std::int32_t>& cells, Start::Measure measure) {
  Incumbent found{best_.cost, {}};
  start_.run(reduction().task, cells, measure, *stop_, found);
  if (found.found()) take(found.cells);
}

void EnsembleSearch::take(const std::vector<std::int32_t>& cells) {
  const std::vector<std::int32_t>& original = reduction().original(cells);
  const double price = task_.cost_of(original.data());
  if (price < strictly_below(best_.cost) && is_reached(original)) best_.cost = price, best_.cells = original;
}

double EnsembleSearch::improve(Incumbent& incumbent, const Stop& stop) {
  best_ = {incumbent.cost, {}};
  stop_ = &stop, stopped_ = false, open_bound_ = infinity;
  start_.run(task_, task_.own, Start::Measure::capped_gain, stop, best_);
  if (!best_.found()) begin_from_examples(best_);
  try {
    search_reduced();
  } catch (const std::overflow_error&) {  // this search needs too much memory, so it ends like one that is out of time
    stopped_ = true, open_bound_ = 0;
  }
  if (best_.found()) incumbent = best_;
  return stopped_ ? open_bound_ : infinity;
}

// Proves that no change is cheaper than best_, or replaces best_ by a cheaper one until that is proven.
void EnsembleSearch::search_reduced() {
  if (best_.cost > 0) {
    reduce();
    start_on_reduced(reduction().task.own, Start::Measure::squared_gain);
  }
  while (best_.cost > 0 && !stopped_) {
    if (best_.cost < worth_reducing * reduced_for_) reduce();
    if (reduction().task.ensemble->trees.n_trees == 0) break;  // no cheaper change changes a lead
    restart_ = false;
    branch_and_bound();
    if (!restart_) break;
  }
}

void EnsembleSearch::choose_unit() {
  unit_ = best_.cost;
  if (unit_ < infinity) return;
  unit_ = 0;
  const Task& task = reduction().task;
  for (const std::size_t j : task.ensemble->movable) {
    double most = 0;
    for (std::int32_t cell = task.low[j]; cell <= task.high[j]; ++cell) {
      if (task.costs_of(j)[cell] < infinity) most = std::max(most, task.costs_of(j)[cell]);
    }
    unit_ += most;
  }
  if (!(unit_ > 0)) unit_ = 1;
}

void EnsembleSearch::branch_and_bound() {
  const Task& task = reduction().task;
  choose_unit();
  auto& [reduction, bound, live, saved] = *levels_[0];
  if (live.empty()) live.resize(2);
  bound.begin(task, unit_, live[0]);
  sums_.resize(task.n_rivals);
  task.add_leads(task.own.data(), sums_.data());
  for (std::size_t r = 0; r < task.n_rivals; ++r) {
    const double missing = task.needed[r] - sums_[r];
    if (missing > 0) bound.state.multiplier[r] = 1 / (missing * static_cast<double>(task.n_rivals));
  }
  descend(0, 0, 0.0);
}

bool EnsembleSearch::keep_rules() {
  Bound& bound = levels_[0]->bound;
  Bound::State& box = bound.state;
  if (!rules_.shrink(box.low, box.high)) return false;
  for (const std::size_t j : reduction().task.ensemble->movable) {
    if (!bound.trim(j)) return false;
  }
  return true;
}

const std::vector<std::int32_t>& EnsembleSearch::original(std::size_t level, const std::vector<std::int32_t>& cells) {
  const std::vector<std::int32_t>* found = &cells;
  for (std::size_t i = level + 1; i-- > 0;) found = &levels_[i]->reduction.original(*found);
  return *found;
}

// The search is exact because the children of a box partition it, its bound is valid, and its cheapest point has each feature in its
// cheapest cell.
void EnsembleSearch::descend(std::size_t level, std::size_t depth, double inherited) {
  auto& [reduction, bound, live, saved] = *levels_[level];
  if (live.size() <= depth + 2) live.resize(depth + 40);
  const bool root = level == 0 && depth == 0, was_bounded = level > 0 && depth == 0;
  nodes_ += !was_bounded;
  if (rules_.any() && !keep_rules()) return;
  const int passes = root ? passes_at_root : was_bounded ? 0 : passes_below;
  const bool done = bound.exhausted(live[depth], live[depth + 1], limit(), passes, root, *stop_);
  if (done || (rules_.any() && !keep_rules())) return;
  const double node_bound = std::max(inherited, bound.bound());
  if (stop_->now()) {
    stopped_ = true;
    return leave_open(node_bound);
  }
  const Task& task = reduction.task;
  const Bound::State& box = bound.state;
  nearest_.assign(task.own.size(), 0);
  for (const std::size_t j : task.ensemble->movable) nearest_[j] = task.cheapest(j, box.low[j], box.high[j], task.costs_of(j));
  const std::vector<std::int32_t>& nearest = original(level, nearest_);
  const bool keeps_rules = !rules_.any() || rules_.keeps(nearest.data());
  if (keeps_rules && is_reached(nearest)) {
    const double price = task_.cost_of(nearest.data());
    if (price < strictly_below(best_.cost)) best_.cost = price, best_.cells = nearest;
    restart_ = best_.cost < much_cheaper * unit_;
    return;
  }
  if (root) {  // deeper, greedy runs cost more than they save
    start_on_reduced(nearest_, Start::Measure::capped_gain);
    restart_ = best_.cost < worth_reducing * reduced_for_;
    if (restart_) return;
  }
  if (!rules_.any() && bound.is_worth_reducing(live[depth + 1])) return descend_reduced(level, live[depth + 1], node_bound);
  split(level, depth, node_bound, keeps_rules);
}

void EnsembleSearch::descend_reduced(std::size_t level, const Bound::Live& live, double node_bound) {
  if (levels_.size() == level + 1) levels_.push_back(std::make_unique<Level>());
  const auto& [whole, whole_bound, whole_live, whole_saved] = *levels_[level];
  auto& [reduction, bound, parts, saved] = *levels_[level + 1];
  if (parts.empty()) parts.resize(2);
  whole_bound.describe(live, part_);
  if (!reduction.build(whole.task, part_, enough(best_.cost))) return;
  if (reduction.task.ensemble->trees.n_trees == 0) return;  // no cheaper change of this box changes a lead
  bound.begin(reduction, whole_bound, unit_, parts[0]);
  descend(level + 1, 0, node_bound);
}

void EnsembleSearch::split(std::size_t level, std::size_t depth, double node_bound, bool keeps_rules) {
  auto& [reduction, bound, live, saved] = *levels_[level];
  Bound::Split split;
  if (!keeps_rules) {
    const FeatureRules::Split by_rule = rules_.split(bound.state.low, bound.state.high, nearest_.data());
    split = {by_rule.feature, by_rule.cell};
  }
  if (split.feature < 0) split = bound.split(live[depth + 1]);
  if (split.feature < 0) return;  // a single point, and no counterfactual

  if (saved.size() <= depth) saved.resize(depth + 20);
  saved[depth] = bound.state;
  const bool far_is_low = reduction.task.own[split.feature] > split.cell;
  for (const bool low_part : {far_is_low, !far_is_low}) {
    if (low_part != far_is_low) bound.state = saved[depth];
    if (low_part) bound.state.high[split.feature] = split.cell;
    else bound.state.low[split.feature] = split.cell + 1;
    if (bound.trim(split.feature)) descend(level, depth + 1, node_bound);
    if (restart_) return;
    if (stopped_) {
      if (low_part == far_is_low) leave_open(node_bound);  // the other part was not searched
      return;
    }
  }
}

Outcome EnsembleSearch::outcome_of(const Query& query, const Incumbent& incumbent, std::int32_t target, double open_bound) const {
  Outcome outcome = finished(incumbent.found(), open_bound < incumbent.cost, incumbent.cost, open_bound, nodes_);
  if (!incumbent.found()) return outcome;
  outcome.target = target;
  // The incumbent only became cheaper, so all that was left out, for any incumbent, costs at least what is enough for the last one.
  if (relative_gap_ > 0 && outcome.cost > 0 && outcome.bound >= enough(outcome.cost)) {
    outcome.status = Status::within_gap, outcome.bound = enough(outcome.cost);
  }
  for (const std::size_t j : ensemble_.movable) {
    if (incumbent.cells[j] == task_.own[j]) continue;
    outcome.moves.push_back({static_cast<std::int32_t>(j), landings_.of(query, j, incumbent.cells[j], task_.own[j]),
                             ensemble_.cells.last_cut_crossed(j, incumbent.cells[j], task_.own[j])});
  }
  return outcome;
}

bool EnsembleSearch::is_reached(const std::vector<std::int32_t>& cells) {
  sums_.resize(task_.n_rivals);
  task_.add_leads(cells.data(), sums_.data());
  return task_.is_reached(sums_.data());
}

std::vector<double> EnsembleSearch::scores_in(const std::vector<std::int32_t>& cells) const {
  std::vector<double> scores(ensemble_.base, ensemble_.base + scores_.size());
  for (std::size_t tree = 0; tree < ensemble_.trees.n_trees; ++tree) {
    const double* value = ensemble_.value_of(ensemble_.leaf_at(tree, cells.data()));
    for (std::size_t k = 0; k < scores.size(); ++k) scores[k] += value[k];
  }
  return scores;
}

std::optional<Outcome> EnsembleSearch::beat_own(const Query& query, const std::vector<std::int32_t>& targets, const Stop& stop) {
  Incumbent incumbent;
  const auto improve_over_own = [&](std::int32_t target) -> std::optional<double> {
    aim_at(query, target, query.own_class);
    if (is_reached(task_.own)) return std::nullopt;
    return improve(incumbent, stop);
  };
  const auto scores_after = [&] { return incumbent.found() ? scores_in(incumbent.cells) : std::vector<double>{}; };
  const auto has_margin = [&](std::int32_t winner) {
    aim_at(query, winner);
    return is_reached(incumbent.cells);
  };
  const auto beaten = beat_own_class(query.own_class, targets, improve_over_own, scores_after, has_margin);
  if (!beaten) return std::nullopt;
  return outcome_of(query, incumbent, beaten->winner, beaten->open_bound);
}

Outcome EnsembleSearch::solve(const Query& query, const Stop& stop) {
  measure(query);
  const std::vector<std::int32_t> targets = targets_of(query, scores_);
  nodes_ = 0;
  if (query.target == any_other_class && scores_.size() > 2) {
    if (const std::optional<Outcome> found = beat_own(query, targets, stop)) return *found;
  }
  Incumbent incumbent;
  std::int32_t reached = any_other_class;
  double open_bound = infinity;
  for (const std::int32_t target : targets) {
    aim_at(query, target);
    if (is_reached(task_.own)) return already_there(target);
    const double before = incumbent.cost;
    open_bound = std::min(open_bound, improve(incumbent, stop));
    if (incumbent.cost < before) reached = target;
  }
  return outcome_of(query, incumbent, reached, open_bound);
}

}  // namespace fcca
