#include "knapsack.hpp"

#include <algorithm>
#include <limits>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// The depth-first search is fastest on problems from real data, with a few hundred nodes. Many equal options (for example with
// λ1 = λ2 = 0) can make it exponential. After this many nodes, the frontier search takes over, which drops dominated partial choices.
constexpr std::int64_t depth_first_node_budget = 20'000;
constexpr std::int64_t nodes_between_looks = 1'024;
}  // namespace

void Knapsack::clear() {
  options_.clear();
  groups_.clear();
}

void Knapsack::add_option(std::int32_t feature, const Option& option) {
  const double rate = option.cost / option.gain;
  if (groups_.empty() || groups_.back().feature != feature) {
    groups_.push_back({feature, options_.size(), options_.size(), rate});
  }
  options_.push_back(option);
  groups_.back().end = options_.size();
  groups_.back().best_rate = std::min(groups_.back().best_rate, rate);
}

void Knapsack::prepare() {
  std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
    return a.best_rate != b.best_rate ? a.best_rate < b.best_rate : a.feature < b.feature;
  });
  remaining_gain_.assign(groups_.size() + 1, 0.0);
  for (std::size_t g = groups_.size(); g-- > 0;) {
    remaining_gain_[g] = remaining_gain_[g + 1] + options_[groups_[g].end - 1].gain;
  }
  hull_.clear();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    hull_.add_group(
        g, groups_[g].begin, groups_[g].end, [&](std::size_t o) { return options_[o].gain; },
        [&](std::size_t o) { return options_[o].cost; });
  }
  hull_.sort();
}

// Finds a first solution and keeps it as the best so far: the features' best options in order of rate, and at the end the cheapest
// option that suffices. Returns its cost.
double Knapsack::greedy(double needed) {
  double least = infinity, cost = 0, missing = needed;
  std::vector<Choice>& taken = greedy_choices_;
  taken.clear();
  for (const Group& group : groups_) {
    const Option* best = nullptr;
    for (std::size_t o = group.begin; o < group.end; ++o) {
      const Option& option = options_[o];
      if (option.gain >= missing) {
        if (cost + option.cost < least) {
          least = cost + option.cost;
          best_choices_ = taken;
          best_choices_.push_back({group.feature, option.cell});
        }
        break;
      }
      if (!best || option.cost * best->gain <= best->cost * option.gain) best = &option;
    }
    if (best) cost += best->cost, missing -= best->gain, taken.push_back({group.feature, best->cell});
    if (cost >= least) break;
  }
  return least;
}

// Whether no completion of this choice is cheaper than the best solution. This is valid because the remaining groups gain at most
// remaining_gain_, and the missing score costs at least the relaxation in which options may be taken in fractions.
bool Knapsack::hopeless(std::size_t depth, double cost, double missing) const {
  const double limit = strictly_below(best_cost_);
  // Groups are sorted by rate, so no remaining group has a better rate than the first. This check is cheaper than the full bound.
  return remaining_gain_[depth] < missing || cost + missing * groups_[depth].best_rate >= limit ||
         cost + hull_.cost(depth, missing) >= limit;
}

void Knapsack::keep(double cost) {
  best_cost_ = cost;
  found_ = true;
  best_choices_.clear();
  for (std::size_t i = 0; i < path_.size(); ++i) {
    best_choices_.push_back({groups_[path_groups_[i]].feature, options_[path_[i]].cell});
  }
}

void Knapsack::descend(std::size_t depth, double cost, double missing) {
  for (; depth < groups_.size(); ++depth) {
    ++nodes_;
    if (nodes_ % nodes_between_looks == 0 && stop_->now()) stopped_ = true;
    if (nodes_ > depth_first_node_budget) node_budget_spent_ = true;
    if (stopped_ || node_budget_spent_ || hopeless(depth, cost, missing)) return;
    for (std::size_t o = groups_[depth].begin; o < groups_[depth].end; ++o) {
      const Option& option = options_[o];
      const double new_cost = cost + option.cost;
      if (new_cost >= strictly_below(best_cost_)) break;  // the options after this one cost more
      path_.push_back(static_cast<std::int32_t>(o));
      path_groups_.push_back(depth);
      const bool suffices = option.gain >= missing;
      if (suffices) keep(new_cost);
      else descend(depth + 1, new_cost, missing - option.gain);
      path_.pop_back();
      path_groups_.pop_back();
      if (suffices || stopped_ || node_budget_spent_) break;  // later options gain more than needed and cost more
    }
  }
}

// Lists, feature by feature, all partial choices that are neither hopeless nor dominated. A choice is dominated by another one that
// costs no more and misses no more, because every completion of the first also completes the second.
void Knapsack::search_frontier(double needed) {
  std::vector<Label> labels{{0, needed, -1, -1}};
  std::vector<Label> next;
  std::vector<std::int64_t> layer{0}, next_layer;
  std::int64_t best_parent = -1;
  std::int32_t best_option = -1;
  std::size_t best_depth = 0;
  for (std::size_t depth = 0; depth < groups_.size() && !layer.empty(); ++depth) {
    next.clear();
    for (const std::int64_t at : layer) {
      const Label label = labels[at];
      if (hopeless(depth, label.cost, label.missing)) continue;
      next.push_back({label.cost, label.missing, at, -1});
      for (std::size_t o = groups_[depth].begin; o < groups_[depth].end; ++o) {
        ++nodes_;
        const Option& option = options_[o];
        const double cost = label.cost + option.cost;
        if (cost >= strictly_below(best_cost_)) break;
        if (option.gain >= label.missing) {
          best_cost_ = cost, found_ = true;
          best_parent = at, best_option = static_cast<std::int32_t>(o), best_depth = depth;
          break;
        }
        next.push_back({cost, label.missing - option.gain, at, static_cast<std::int32_t>(o)});
      }
      if (stop_->now()) stopped_ = true;
      if (stopped_) break;
    }
    if (stopped_) break;
    std::stable_sort(next.begin(), next.end(), [](const Label& a, const Label& b) {
      return a.cost != b.cost ? a.cost < b.cost : a.missing < b.missing;
    });
    next_layer.clear();
    double least_missing = infinity;
    for (const Label& label : next) {
      if (label.missing >= least_missing) continue;
      least_missing = label.missing;
      next_layer.push_back(static_cast<std::int64_t>(labels.size()));
      labels.push_back(label);
    }
    layer.swap(next_layer);
  }
  if (best_parent < 0) return;  // the depth-first solution stays the best
  best_choices_.assign(1, {groups_[best_depth].feature, options_[best_option].cell});
  for (std::int64_t at = best_parent; at > 0; at = labels[at].parent) {
    const std::int32_t o = labels[at].option;
    if (o < 0) continue;
    const auto owner = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.begin <= static_cast<std::size_t>(o) && static_cast<std::size_t>(o) < group.end;
    });
    best_choices_.push_back({owner->feature, options_[o].cell});
  }
}

Outcome Knapsack::solve(double needed, const Stop& stop) {
  prepare();
  path_.clear(), path_groups_.clear(), best_choices_.clear();
  found_ = stopped_ = node_budget_spent_ = false;
  nodes_ = 0, stop_ = &stop;

  Outcome outcome;
  if (remaining_gain_[0] < needed) {
    outcome.status = Status::infeasible;
    outcome.bound = infinity;
    return outcome;
  }
  const double greedy_cost = greedy(needed);
  // A little above the greedy cost, so that the search can find an equally cheap solution in its own order.
  best_cost_ = greedy_cost * (1 + 4 * tie_tolerance) + std::numeric_limits<double>::min();
  const double root_bound = hull_.cost(0, needed);
  descend(0, 0, needed);
  if (node_budget_spent_ && !stopped_) search_frontier(needed);
  if (!found_ && greedy_cost < infinity) best_cost_ = greedy_cost, found_ = true;
  return finished(found_, stopped_, best_cost_, root_bound, nodes_);
}

}  // namespace fcca
