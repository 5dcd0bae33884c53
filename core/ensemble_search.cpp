#include "ensemble_search.hpp"

#include <algorithm>
#include <cmath>

#include "other_classes.hpp"

namespace fcca {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int passes_at_root = 40, passes_below = 3;
constexpr std::size_t deepest_greedy = 1;  // below that, greedy runs cost more than they save
constexpr std::size_t most_examples_polished = 8;
// Changes that are cheaper than the incumbent by less than this share of it are not searched. The share is far above the rounding errors
// of the bound, and far below the 1e-9 to which optimality is promised.
constexpr double proof_tolerance = 1e-11;
// Costs are computed in units of the incumbent's cost. If a change is cheaper than this share of the unit, a new unit is chosen.
constexpr double much_cheaper = 1e-3;

}  // namespace

EnsembleSearch::EnsembleSearch(const Ensemble& ensemble, const Limits& limits, const Cost& cost, const Examples& examples,
                               const SideRows& side_rows)
    : ensemble_(ensemble), examples_(examples), side_rows_(side_rows), landings_(ensemble.cells, limits, cost),
      rules_(ensemble.cells, limits), start_(ensemble), bound_(ensemble), scores_(ensemble.trees.n_outputs - side_rows.n) {
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

// Computes the leads of a target over its rivals. With one output, the only rival of a class is the other class.
void EnsembleSearch::aim_at(const Query& query, std::int32_t target, std::int32_t only_rival) {
  const std::size_t K = scores_.size(), n_rivals = only_rival >= 0 ? 1 : std::max<std::size_t>(1, K - 1), R = n_rivals + side_rows_.n;
  auto for_each_lead = [&](const double* value, auto use) {
    for (std::size_t i = 0; i < side_rows_.n; ++i) use(n_rivals + i, value[K + i]);
    if (K == 1) return use(0, target == 1 ? value[0] : -value[0]);
    if (only_rival >= 0) return use(0, value[target] - value[only_rival]);
    for (std::size_t k = 0, r = 0; k < K; ++k) {
      if (static_cast<std::int32_t>(k) != target) use(r++, value[target] - value[k]);
    }
  };
  task_.n_rivals = R;
  task_.lead.resize(ensemble_.n_leaves() * R);
  task_.needed.resize(R);
  task_.slack.resize(R);
  for_each_lead(ensemble_.base, [&](std::size_t r, double lead) {
    const double least = r < n_rivals ? query.margin : side_rows_.least[r - n_rivals];
    task_.needed[r] = least - lead;
    task_.slack[r] = std::abs(least) + std::abs(lead);
  });
  std::vector<double> largest(R);
  task_.trees.clear();
  task_.matters.assign(ensemble_.trees.n_trees, 0);
  for (std::size_t tree = 0; tree < ensemble_.trees.n_trees; ++tree) {
    std::fill(largest.begin(), largest.end(), 0.0);
    for (std::int32_t leaf = ensemble_.first_leaf[tree]; leaf < ensemble_.first_leaf[tree + 1]; ++leaf) {
      for_each_lead(ensemble_.value_of(leaf), [&](std::size_t r, double lead) {
        task_.lead[leaf * R + r] = lead;
        largest[r] = std::max(largest[r], std::abs(lead));
      });
    }
    for (std::size_t r = 0; r < R; ++r) task_.slack[r] += largest[r];
    const double *first = task_.lead_of(ensemble_.first_leaf[tree]), *end = task_.lead_of(ensemble_.first_leaf[tree + 1]);
    for (const double* lead = first; lead != end && task_.matters[tree] == 0; lead += R) {
      if (!std::equal(lead, lead + R, first)) task_.matters[tree] = 1;
    }
    if (task_.matters[tree] != 0) task_.trees.push_back(static_cast<std::int32_t>(tree));
    else for (std::size_t r = 0; r < R; ++r) task_.needed[r] -= first[r];
  }
  // A lead reaches the margin if it misses it by no more than the rounding error of a sum of this many numbers.
  const double rounding = 2 * std::numeric_limits<double>::epsilon() * static_cast<double>(ensemble_.trees.n_trees + 4);
  for (std::size_t r = 0; r < R; ++r) task_.slack[r] *= rounding, task_.needed[r] -= task_.slack[r];
}

double EnsembleSearch::limit() const {
  return best_.cost < infinity ? best_.cost / unit_ * (1 - proof_tolerance) : 2.0;
}

// A single tree: its leaves are all the boxes, and the cheapest point of a leaf has each feature in its cheapest cell.
double EnsembleSearch::try_leaves(Incumbent& incumbent) {
  for (std::size_t leaf = 0; leaf < ensemble_.n_leaves(); ++leaf) {
    if (!Start::beaten(task_, task_.lead_of(leaf))) continue;
    ++nodes_;
    nearest_ = task_.own;
    bool reached = true;
    for (std::int32_t x = ensemble_.first_side[leaf]; x < ensemble_.first_side[leaf + 1] && reached; ++x) {
      const Side& side = ensemble_.sides[x];
      const std::int32_t j = ensemble_.slot_feature[side.slot];
      const std::int32_t low = std::max(task_.low[j], ensemble_.lowest_cell(side));
      const std::int32_t high = std::min(task_.high[j], ensemble_.highest_cell(side));
      reached = low <= high;
      if (reached) nearest_[j] = task_.cheapest(j, low, high, task_.cost.data() + ensemble_.cells.first_cell(j));
    }
    if (!reached) continue;
    const double price = start_.cost(task_, nearest_.data());
    if (price < strictly_below(incumbent.cost)) incumbent.cost = price, incumbent.cells = nearest_;
  }
  return infinity;
}

void EnsembleSearch::begin_from_examples(Incumbent& incumbent) {
  std::vector<std::pair<double, std::vector<std::int32_t>>> usable;
  for (const auto& example : examples_) {
    auto cells = example;
    for (const std::size_t j : ensemble_.movable) cells[j] = std::clamp(cells[j], task_.low[j], task_.high[j]);
    if (rules_.any() && !rules_.keeps(cells.data())) continue;
    if (is_reached(cells)) usable.push_back({start_.cost(task_, cells.data()), std::move(cells)});
  }
  std::sort(usable.begin(), usable.end());
  if (usable.size() > most_examples_polished) usable.resize(most_examples_polished);
  for (auto& [price, cells] : usable) start_.offer(task_, std::move(cells), incumbent);
}

double EnsembleSearch::improve(Incumbent& incumbent, const Stop& stop) {
  if (task_.trees.empty()) return infinity;  // no move changes a lead
  return ensemble_.trees.n_trees == 1 && !rules_.any() ? try_leaves(incumbent) : branch_and_bound(incumbent, stop);
}

double EnsembleSearch::branch_and_bound(Incumbent& incumbent, const Stop& stop) {
  best_ = {incumbent.cost, {}};
  start_.run(task_, task_.own, stop, best_);
  if (!best_.found()) begin_from_examples(best_);
  stop_ = &stop, stopped_ = false, open_bound_ = infinity;
  do {
    restart_ = false;
    if (!(best_.cost > 0)) break;
    unit_ = best_.cost;
    if (unit_ == infinity) {
      unit_ = 0;
      for (const std::size_t j : ensemble_.movable) {
        const double* cost = task_.cost.data() + ensemble_.cells.first_cell(j);
        double most = 0;
        for (std::int32_t cell = task_.low[j]; cell <= task_.high[j]; ++cell) {
          if (cost[cell] < infinity) most = std::max(most, cost[cell]);
        }
        unit_ += most;
      }
      if (!(unit_ > 0)) unit_ = 1;
    }
    if (live_.empty()) live_.resize(2);
    bound_.begin(task_, unit_, live_[0]);
    start_.leads(task_, task_.own.data(), sums_.data());
    for (std::size_t r = 0; r < task_.n_rivals; ++r) {
      const double missing = task_.needed[r] - sums_[r];
      if (missing > 0) bound_.state.multiplier[r] = 1 / (missing * static_cast<double>(task_.n_rivals));
    }
    descend(0, 0.0);
  } while (restart_ && !stopped_);
  if (best_.found()) incumbent = best_;
  return stopped_ ? open_bound_ : infinity;
}

bool EnsembleSearch::keep_rules() {
  Bound::State& box = bound_.state;
  if (!rules_.shrink(box.low, box.high)) return false;
  for (const std::size_t j : ensemble_.movable) {
    if (!bound_.trim(j)) return false;
  }
  return true;
}

// The search is exact because the children of a box partition it, its bound is valid, and its cheapest point has each feature in its
// cheapest cell.
void EnsembleSearch::descend(std::size_t depth, double inherited) {
  ++nodes_;
  if (live_.size() <= depth + 2) live_.resize(depth + 40);
  if (rules_.any() && !keep_rules()) return;
  const bool done = bound_.exhausted(live_[depth], live_[depth + 1], limit(), depth == 0 ? passes_at_root : passes_below, depth == 0, *stop_);
  if (done || (rules_.any() && !keep_rules())) return;
  const double node_bound = std::max(inherited, bound_.bound());
  auto leave_open = [&] { open_bound_ = std::min(open_bound_, node_bound * unit_); };
  if (stop_->now()) {
    stopped_ = true;
    return leave_open();
  }
  const Bound::State& box = bound_.state;
  nearest_ = task_.own;
  for (const std::size_t j : ensemble_.movable) {
    nearest_[j] = task_.cheapest(j, box.low[j], box.high[j], task_.cost.data() + ensemble_.cells.first_cell(j));
  }
  const bool keeps_rules = !rules_.any() || rules_.keeps(nearest_.data());
  if (keeps_rules && is_reached(nearest_)) {
    const double price = start_.cost(task_, nearest_.data());
    if (price < strictly_below(best_.cost)) best_.cost = price, best_.cells = nearest_;
    restart_ = best_.cost < much_cheaper * unit_;
    return;
  }
  if (depth <= deepest_greedy) {
    start_.run_once(task_, nearest_, *stop_, best_);
    restart_ = best_.cost < much_cheaper * unit_;
    if (restart_) return;
  }
  Bound::Split split;
  if (!keeps_rules) {
    const FeatureRules::Split by_rule = rules_.split(box.low, box.high, nearest_.data());
    split = {by_rule.feature, by_rule.cell};
  }
  if (split.feature < 0) split = bound_.split(live_[depth + 1]);
  if (split.feature < 0) return;  // a single point, and no counterfactual

  if (saved_.size() <= depth) saved_.resize(depth + 20);
  saved_[depth] = bound_.state;
  const bool far_is_low = task_.own[split.feature] > split.cell;
  for (const bool low_part : {far_is_low, !far_is_low}) {
    if (low_part != far_is_low) bound_.state = saved_[depth];
    if (low_part) bound_.state.high[split.feature] = split.cell;
    else bound_.state.low[split.feature] = split.cell + 1;
    if (bound_.trim(split.feature)) descend(depth + 1, node_bound);
    if (restart_) return;
    if (stopped_) {
      if (low_part == far_is_low) leave_open();  // the other part was not searched
      return;
    }
  }
}

Outcome EnsembleSearch::outcome_of(const Query& query, const Incumbent& incumbent, std::int32_t target, double open_bound) const {
  Outcome outcome = finished(incumbent.found(), open_bound < incumbent.cost, incumbent.cost, open_bound, nodes_);
  if (!incumbent.found()) return outcome;
  outcome.target = target;
  for (const std::size_t j : ensemble_.movable) {
    if (incumbent.cells[j] == task_.own[j]) continue;
    outcome.moves.push_back({static_cast<std::int32_t>(j), landings_.of(query, j, incumbent.cells[j], task_.own[j]),
                             ensemble_.cells.last_cut_crossed(j, incumbent.cells[j], task_.own[j])});
  }
  return outcome;
}

bool EnsembleSearch::is_reached(const std::vector<std::int32_t>& cells) {
  sums_.resize(task_.n_rivals);
  start_.leads(task_, cells.data(), sums_.data());
  return Start::beaten(task_, sums_.data());
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
