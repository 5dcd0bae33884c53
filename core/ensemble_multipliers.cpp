// The bound's multipliers: one per rival class, each chosen by cutting planes.
#include <algorithm>
#include <limits>

#include "ensemble_bound.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

void Bound::set_multiplier(const Live& live, std::size_t rival, double multiplier) {
  const double change = multiplier - state.multiplier[rival];
  state.multiplier[rival] = multiplier;
  const double* lead = lead_.data() + rival;
  const std::size_t R = task_->n_rivals;
  for (std::size_t i = 0; i < live.trees.size(); ++i) {
    double least = infinity;
    for (std::int32_t p = live.first_leaf[i]; p < live.first_leaf[i + 1]; ++p) {
      leaf_cost_[p] -= change * lead[p * R];
      least = std::min(least, leaf_cost_[p]);
    }
    least_[i] = least;
  }
}

// Maximises the bound over one multiplier. The messages and the other multipliers stay the same. The bound is a concave function of the
// multiplier, and is maximised by cutting planes from both sides. It is valid for any multiplier >= 0, so this need not end at the maximum.
// Returns false if even the strongest leaves of all trees together do not reach the needed lead. Then no point of the box does.
bool Bound::choose_multiplier(const Live& live, std::size_t rival) {
  const std::size_t n = live.trees.size(), R = task_->n_rivals;
  const double needed = task_->needed[rival] - state.settled[rival], slack = task_->slack[rival];
  if (n == 0) return needed <= slack;
  const double present = state.multiplier[rival];
  const double* lead = lead_.data() + rival;

  struct Plane {  // the bound is at most cost + multiplier·(needed − sum), up to terms that do not depend on the multiplier
    double cost = 0, sum = 0;
  };
  auto best_leaves = [&](double multiplier, std::vector<std::int32_t>& chosen) {
    Plane plane;
    const double change = multiplier - present;
    for (std::size_t i = 0; i < n; ++i) {
      double least = infinity;
      std::int32_t best = live.first_leaf[i];
      for (std::int32_t p = live.first_leaf[i]; p < live.first_leaf[i + 1]; ++p) {
        if (live.leaves[p] < 0) continue;
        const double cost = leaf_cost_[p] - change * lead[p * R];
        if (cost < least) least = cost, best = p;
      }
      chosen[live.trees[i]] = live.leaves[best];
      plane.cost += leaf_cost_[best] + present * lead[best * R];
      plane.sum += lead[best * R];
    }
    return plane;
  };
  auto strongest_leaves = [&](std::vector<std::int32_t>& chosen) {
    Plane plane;
    for (std::size_t i = 0; i < n; ++i) {
      double most = -infinity, least = 0;
      std::int32_t best = live.first_leaf[i];
      for (std::int32_t p = live.first_leaf[i]; p < live.first_leaf[i + 1]; ++p) {
        if (live.leaves[p] < 0) continue;
        const double value = lead[p * R], cost = leaf_cost_[p] + present * value;
        if (value > most || (value == most && cost < least)) most = value, least = cost, best = p;
      }
      chosen[live.trees[i]] = live.leaves[best];
      plane.cost += least, plane.sum += most;
    }
    return plane;
  };

  Plane below, above;  // a plane whose sum is below what is needed, and one whose sum reaches it
  const Plane here = best_leaves(present, trial_leaf_);
  if (here.sum < needed) {
    below = here;
    cheap_leaf_ = trial_leaf_;
    above = strongest_leaves(strong_leaf_);
    if (above.sum < needed - slack) return false;
  } else {
    above = here;
    strong_leaf_ = trial_leaf_;
    const Plane free = best_leaves(0, trial_leaf_);
    if (free.sum >= needed) {
      cheap_leaf_ = strong_leaf_ = trial_leaf_;
      set_multiplier(live, rival, present / 2);  // zero is best for these messages; they will change
      return true;
    }
    below = free;
    cheap_leaf_ = trial_leaf_;
  }
  double chosen = present;
  for (int step = 0; step < 40 && above.sum - below.sum > slack; ++step) {
    chosen = std::max(0.0, (above.cost - below.cost) / (above.sum - below.sum));  // where the two planes meet
    const Plane plane = best_leaves(chosen, trial_leaf_);
    if (plane.cost + chosen * (needed - plane.sum) >= below.cost + chosen * (needed - below.sum) - 1e-11) break;
    if (plane.sum >= needed) above = plane, strong_leaf_ = trial_leaf_;
    else below = plane, cheap_leaf_ = trial_leaf_;
  }
  set_multiplier(live, rival, chosen);
  return true;
}

}  // namespace fcca
