#include "rival_knapsack.hpp"

#include <algorithm>
#include <limits>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

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

void RivalKnapsack::prepare(const double* needed) {
  for (Group& group : groups_) {
    group.best_rate = infinity;
    for (std::size_t o = group.begin; o < group.end; ++o) {
      for (std::size_t r = 0; r < n_rivals_; ++r) {
        const double share = needed[r] > 0 ? gains_of(o)[r] / needed[r] : 0;
        if (share > 0) group.best_rate = std::min(group.best_rate, costs_[o] / share);
      }
    }
  }
  std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
    return a.best_rate != b.best_rate ? a.best_rate < b.best_rate : a.feature < b.feature;
  });
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

// Valid rival by rival, hence also the dearest of them: what is missing against one rival cannot be gained at a better
// rate than the best that remains, nor at all where it exceeds all that remains.
double RivalKnapsack::lower_bound(std::size_t depth, const double* missing) const {
  double bound = 0;
  for (std::size_t r = 0; r < n_rivals_; ++r) {
    if (missing[r] <= 0) continue;
    if (remaining_gain_[depth * n_rivals_ + r] < missing[r]) return infinity;
    bound = std::max(bound, missing[r] * best_rate_[depth * n_rivals_ + r]);
  }
  return bound;
}

void RivalKnapsack::descend(std::size_t depth, double cost, const std::vector<double>& missing) {
  if (std::all_of(missing.begin(), missing.end(), [](double m) { return m <= 0; })) {
    best_cost_ = cost, found_ = true, best_choices_ = path_;
    return;
  }
  std::vector<double> left(n_rivals_);
  for (; depth < groups_.size(); ++depth) {
    if (++nodes_ % 1024 == 0 && stop_->now()) stopped_ = true;
    if (stopped_ || cost + lower_bound(depth, missing.data()) >= strictly_below(best_cost_)) return;
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

  Outcome outcome;
  const double root_bound = lower_bound(0, needed);
  if (root_bound < infinity) descend(0, 0, std::vector<double>(needed, needed + n_rivals_));
  outcome.nodes = nodes_;
  if (found_) outcome.cost = best_cost_;
  if (stopped_) {
    outcome.status = found_ ? Status::feasible : Status::unknown;
    outcome.bound = std::min(root_bound, outcome.cost);
  } else {
    outcome.status = found_ ? Status::optimal : Status::infeasible;  // infeasible: nothing below the limit
    outcome.bound = outcome.cost;
  }
  return outcome;
}

}  // namespace fcca
