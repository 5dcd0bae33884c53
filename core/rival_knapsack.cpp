#include "rival_knapsack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int weighing_rounds = 24;
}  // namespace

void RivalKnapsack::clear(std::size_t n_rivals) {
  n_rivals_ = n_rivals;
  costs_.clear(), gains_.clear(), cells_.clear(), groups_.clear();
}

void RivalKnapsack::add_option(std::int32_t feature, double cost, const double* gains, std::int32_t cell) {
  const bool new_group = groups_.empty() || groups_.back().feature != feature;
  auto nothing_over = [&](auto gain_of_cheaper) {
    for (std::size_t r = 0; r < n_rivals_; ++r) {
      if (gains[r] > gain_of_cheaper(r)) return false;
    }
    return true;
  };
  if (nothing_over([](std::size_t) { return 0.0; })) return;
  if (!new_group) {
    for (std::size_t o = groups_.back().begin; o < groups_.back().end; ++o) {
      if (nothing_over([&](std::size_t r) { return gains_of(o)[r]; })) return;
    }
  } else {
    groups_.push_back({feature, costs_.size(), costs_.size(), infinity});
  }
  costs_.push_back(cost);
  gains_.insert(gains_.end(), gains, gains + n_rivals_);
  cells_.push_back(cell);
  groups_.back().end = costs_.size();
}

double RivalKnapsack::joint(const double* rows) const {
  double sum = 0;
  for (std::size_t r = 0; r < n_rivals_; ++r) sum += importance_[r] * rows[r];
  return sum;
}

void RivalKnapsack::build_hull() {
  joint_gain_.resize(costs_.size());
  for (std::size_t o = 0; o < costs_.size(); ++o) joint_gain_[o] = joint(gains_of(o));
  hull_.clear();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    hull_.add_group(
        g, groups_[g].begin, groups_[g].end, [&](std::size_t o) { return joint_gain_[o]; },
        [&](std::size_t o) { return costs_[o]; });
  }
  hull_.sort();
}

// The sum of the rows, each weighted by its rival's importance, is a row that every solution satisfies. So its relaxation bounds the
// cost for any weights. Good weights are found by raising the weights of the rivals that the relaxation does not beat.
void RivalKnapsack::weigh(const double* needed) {
  double total = 0;
  importance_.assign(n_rivals_, 0.0);
  for (std::size_t r = 0; r < n_rivals_; ++r) total += std::max(0.0, needed[r]);
  for (std::size_t r = 0; r < n_rivals_; ++r) importance_[r] = total > 0 ? std::max(0.0, needed[r]) / total : 1.0 / n_rivals_;
  std::vector<double> best = importance_, missing(n_rivals_);
  double best_bound = -infinity;
  for (int round = 0; round < weighing_rounds; ++round) {
    build_hull();
    const double bound = hull_.cost(0, joint(needed));
    if (bound > best_bound) best_bound = bound, best = importance_;
    std::copy(needed, needed + n_rivals_, missing.begin());
    hull_.fill(joint(needed), [&](const Hull::Edge& edge, double share) {
      for (std::size_t r = 0; r < n_rivals_; ++r) {
        missing[r] -= share * (gains_of(edge.to)[r] - (edge.from == edge.to ? 0 : gains_of(edge.from)[r]));
      }
    });
    double largest = 0, sum = 0;
    for (std::size_t r = 0; r < n_rivals_; ++r) largest = std::max(largest, std::abs(missing[r]));
    if (!(largest > 0)) break;
    for (std::size_t r = 0; r < n_rivals_; ++r) {
      // No weight falls to 0, so a rival that is left out can come back.
      importance_[r] = std::max(1e-3 / n_rivals_, importance_[r]) * std::exp(missing[r] / largest / (1 + round / 4));
      sum += importance_[r];
    }
    for (double& weight : importance_) weight /= sum;
  }
  importance_ = best;
}

void RivalKnapsack::prepare(const double* needed) {
  weigh(needed);
  for (Group& group : groups_) {
    group.best_rate = infinity;
    for (std::size_t o = group.begin; o < group.end; ++o) {
      const double gain = joint(gains_of(o));
      if (gain > 0) group.best_rate = std::min(group.best_rate, costs_[o] / gain);
    }
  }
  std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
    return a.best_rate != b.best_rate ? a.best_rate < b.best_rate : a.feature < b.feature;
  });
  build_hull();
  remaining_gain_.assign((groups_.size() + 1) * n_rivals_, 0.0);
  best_rate_.assign((groups_.size() + 1) * n_rivals_, infinity);
  for (std::size_t g = groups_.size(); g-- > 0;) {
    for (std::size_t r = 0; r < n_rivals_; ++r) {
      double most = 0, rate = best_rate_[(g + 1) * n_rivals_ + r];
      for (std::size_t o = groups_[g].begin; o < groups_[g].end; ++o) {
        const double gain = gains_of(o)[r];
        most = std::max(most, gain);
        if (gain > 0) rate = std::min(rate, costs_[o] / gain);
      }
      remaining_gain_[g * n_rivals_ + r] = remaining_gain_[(g + 1) * n_rivals_ + r] + most;
      best_rate_[g * n_rivals_ + r] = rate;
    }
  }
}

// Finds a first solution, so that the search can prune from the start. It always takes the option that gains the most missing score per
// cost.
void RivalKnapsack::greedy(const double* needed) {
  std::vector<double> missing(needed, needed + n_rivals_);
  std::vector<char> used(groups_.size(), 0);
  std::vector<Choice> taken;
  double cost = 0;
  for (std::size_t step = 0; step < groups_.size(); ++step) {
    std::size_t best = costs_.size(), best_group = 0;
    double best_worth = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t o = groups_[g].begin; !used[g] && o < groups_[g].end; ++o) {
        double closed = 0;
        for (std::size_t r = 0; r < n_rivals_; ++r) {
          closed += std::max(0.0, missing[r]) - std::max(0.0, missing[r] - gains_of(o)[r]);
        }
        const double worth = closed / (costs_[o] + std::numeric_limits<double>::min());
        if (closed > 0 && worth > best_worth) best_worth = worth, best = o, best_group = g;
      }
    }
    if (best == costs_.size()) return;
    used[best_group] = 1;
    cost += costs_[best];
    taken.push_back({groups_[best_group].feature, cells_[best]});
    for (std::size_t r = 0; r < n_rivals_; ++r) missing[r] -= gains_of(best)[r];
    if (cost >= strictly_below(best_cost_)) return;
    if (std::all_of(missing.begin(), missing.end(), [](double m) { return m <= 0; })) {
      best_cost_ = cost, found_ = true, best_choices_ = taken;
      return;
    }
  }
}

// The bound is valid for each rival, and so is the largest of these bounds: the score missing against one rival cannot be gained at a
// better rate than the best remaining rate, and not at all if it exceeds the remaining gain. The bound of the joint row is valid too.
double RivalKnapsack::lower_bound(std::size_t depth, double cost, const double* missing) const {
  double bound = 0;
  for (std::size_t r = 0; r < n_rivals_; ++r) {
    if (missing[r] <= 0) continue;
    if (remaining_gain_[depth * n_rivals_ + r] < missing[r]) return infinity;
    bound = std::max(bound, missing[r] * best_rate_[depth * n_rivals_ + r]);
  }
  if (cost + bound >= best_cost_) return bound;
  return std::max(bound, hull_.cost(depth, joint(missing)));
}

void RivalKnapsack::descend(std::size_t depth, double cost, const std::vector<double>& missing) {
  if (std::all_of(missing.begin(), missing.end(), [](double m) { return m <= 0; })) {
    best_cost_ = cost, found_ = true, best_choices_ = path_;
    return;
  }
  std::vector<double> left(n_rivals_);
  for (; depth < groups_.size(); ++depth) {
    if (++nodes_ % 16 == 0 && stop_->now()) stopped_ = true;
    if (stopped_ || cost + lower_bound(depth, cost, missing.data()) >= strictly_below(best_cost_)) return;
    for (std::size_t o = groups_[depth].begin; o < groups_[depth].end && !stopped_; ++o) {
      const double new_cost = cost + costs_[o];
      if (new_cost >= strictly_below(best_cost_)) break;  // the options after this one cost more
      for (std::size_t r = 0; r < n_rivals_; ++r) left[r] = missing[r] - gains_of(o)[r];
      path_.push_back({groups_[depth].feature, cells_[o]});
      descend(depth + 1, new_cost, left);
      path_.pop_back();
    }
  }
}

Outcome RivalKnapsack::solve(const double* needed, double limit, const Stop& stop) {
  prepare(needed);
  path_.clear(), best_choices_.clear();
  found_ = stopped_ = false;
  nodes_ = 0, stop_ = &stop, best_cost_ = limit;
  const double root_bound = lower_bound(0, 0, needed);
  if (root_bound < strictly_below(limit)) {
    greedy(needed);
    descend(0, 0, std::vector<double>(needed, needed + n_rivals_));
  }
  return finished(found_, stopped_, best_cost_, root_bound, nodes_);  // infeasible: nothing below the limit
}

}  // namespace fcca
