#include "fixed_charge.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_distance = 1e-14;  // share of the range: rounding error of a distance of 0
}  // namespace

FixedChargeSearch::FixedChargeSearch(const LinearModel& model, const Limits& limits, const Cost& cost)
    : model_(model), limits_(limits), cost_(cost) {}

// The farthest value that a move of feature j can reach.
double FixedChargeSearch::edge(const Query& query, std::size_t j, bool upwards) const {
  const double x0 = query.row[j];
  return upwards ? std::min(query.highest(j), std::max(model_.box.high[j], x0)) : std::max(query.lowest(j), std::min(model_.box.low[j], x0));
}

// How an item moves as the multiplier μ per unit of score grows. An item that is fixed to move minimises λ1·d + λ2·d² − μ·gain·d:
// it starts at μ = λ1/gain and reaches the end of its room at (λ1 + 2·λ2·room)/gain. An open item also pays λ0. Its cost is replaced
// with the largest convex function below it, a straight line from (0, 0) to the point where the line touches the curve, at
// d = min(room, √(λ0/λ2)). So it jumps there when μ·gain reaches the slope of the line, and then moves like the others.
void FixedChargeSearch::add_events(std::int32_t index) {
  const Item& item = items_[index];
  const auto [lambda0, lambda1, lambda2] = item.cost;
  double jump_to = 0;
  if (item.fate == Fate::open && lambda0 > 0) {
    jump_to = lambda2 > 0 ? std::min(item.room, std::sqrt(lambda0 / lambda2)) : item.room;
  } else if (lambda2 == 0) {
    jump_to = item.room;  // a linear cost: all or nothing, and anything between on the way
  }
  double multiplier = lambda1 / item.gain;
  if (jump_to > 0) {
    if (item.fate == Fate::open) multiplier = (lambda0 / jump_to + lambda1 + lambda2 * jump_to) / item.gain;
    events_.push_back({Event::jump, multiplier, index, jump_to});
  }
  if (jump_to < item.room) {
    const double end = (lambda1 + 2 * lambda2 * item.room) / item.gain;
    events_.push_back({Event::start, multiplier, index, 0});
    events_.push_back({Event::saturate, std::max(multiplier, end), index, 0});
  }
}

double FixedChargeSearch::relaxed_cost(const Item& item, double distance) const {
  if (item.fate == Fate::moves) return item.cost.of(distance);
  if (distance <= 0) return 0;
  const double touch = item.cost.lambda2 > 0 ? std::min(item.room, std::sqrt(item.cost.lambda0 / item.cost.lambda2)) : item.room;
  if (distance >= touch) return item.cost.of(distance);
  return distance * (item.cost.of(touch) / touch);
}

// The cheapest way to the needed score if open items cost their convex envelope. All items share one multiplier μ, which
// rises until the score is reached. It is a lower bound for the subtree because the envelope is never above the true cost.
FixedChargeSearch::Relaxation FixedChargeSearch::relax() {
  events_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].fate != Fate::stays) add_events(static_cast<std::int32_t>(i));
  }
  std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    if (a.multiplier != b.multiplier) return a.multiplier < b.multiplier;
    return a.item != b.item ? a.item < b.item : a.kind < b.kind;
  });

  distances_.assign(items_.size(), 0.0);
  Relaxation relaxation;
  double missing = needed_, speed = 0, multiplier = 0;  // speed: score gained per unit of μ by the items under way
  std::vector<std::int32_t> under_way;
  std::int32_t partial = -1;  // the item that stops before its end, at a cost per gain that does not depend on the distance
  auto after = [&](std::int32_t i, double by) {
    return std::min(items_[i].room, distances_[i] + by * items_[i].gain / (2 * items_[i].cost.lambda2));
  };
  auto advance = [&](double to) {  // returns true when the score is reached on the way
    const double by = to - multiplier;
    multiplier = to;
    double gained = 0;  // computed from the distances: `by` is a small difference and loses digits if λ2 is tiny
    for (const std::int32_t i : under_way) gained += items_[i].gain * (after(i, by) - distances_[i]);
    const bool reached = !under_way.empty() && gained >= missing;
    for (const std::int32_t i : under_way) distances_[i] = after(i, reached ? std::min(by, missing / speed) : by);
    missing -= gained;
    return reached;
  };

  for (const Event& event : events_) {
    if ((relaxation.feasible = advance(event.multiplier))) break;
    const Item& item = items_[event.item];
    const double item_speed = item.gain * item.gain / (2 * item.cost.lambda2);
    if (event.kind == Event::jump) {
      if (item.gain * event.distance >= missing) {
        distances_[event.item] = missing / item.gain;
        partial = event.item;
        const bool in_part = distances_[event.item] < event.distance && item.fate == Fate::open && item.cost.lambda0 > 0;
        if (in_part) relaxation.split_item = event.item;
        relaxation.feasible = true;
        break;
      }
      distances_[event.item] = event.distance;
      missing -= item.gain * event.distance;
    } else if (event.kind == Event::start) {
      under_way.push_back(event.item);
      speed += item_speed;
    } else {  // the remaining distance is a rounding error of the steps before, or the whole distance if λ2 is tiny
      const double left = item.room - distances_[event.item];
      if (item.gain * left >= missing) {
        distances_[event.item] += missing / item.gain;
        partial = event.item;
        relaxation.feasible = true;
        break;
      }
      distances_[event.item] = item.room;
      missing -= item.gain * left;
      under_way.erase(std::find(under_way.begin(), under_way.end(), event.item));
      speed = 0;
      for (const std::int32_t i : under_way) speed += items_[i].gain * items_[i].gain / (2 * items_[i].cost.lambda2);
    }
  }
  if (relaxation.feasible) {
    if (partial >= 0) under_way.assign(1, partial);
    close_residual(under_way);
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].fate != Fate::stays) relaxation.cost += relaxed_cost(items_[i], distances_[i]);
  }
  return relaxation;
}

// Steps along μ lose digits if λ2 is small compared with λ1. The missing score is recomputed from the distances. The adjustable
// items share it in proportion to their gains, as in a further step of μ.
void FixedChargeSearch::close_residual(const std::vector<std::int32_t>& adjustable) {
  double squares = 0;
  for (const std::int32_t i : adjustable) squares += items_[i].gain * items_[i].gain;
  if (!(squares > 0)) return;
  for (int round = 0; round < 64; ++round) {
    double missing = needed_;
    for (std::size_t i = 0; i < items_.size(); ++i) missing -= items_[i].gain * distances_[i];
    if (std::abs(missing) <= 4e-16 * needed_) return;
    for (const std::int32_t i : adjustable) {
      distances_[i] = std::clamp(distances_[i] + missing * items_[i].gain / squares, 0.0, items_[i].room);
    }
  }
}

void FixedChargeSearch::keep_if_better(const std::vector<double>& distances) {
  double cost = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (distances[i] > 0) cost += items_[i].cost.of(distances[i]);
  }
  if (cost < strictly_below(best_cost_)) best_cost_ = cost, best_distances_ = distances;
}

// A feasible change from the relaxation: it moves the same features, by the best distances for them.
void FixedChargeSearch::try_support() {
  saved_fates_.resize(items_.size());
  const std::vector<double> relaxed = distances_;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    saved_fates_[i] = items_[i].fate;
    items_[i].fate = relaxed[i] > 0 ? Fate::moves : Fate::stays;
  }
  if (relax().feasible) keep_if_better(distances_);
  for (std::size_t i = 0; i < items_.size(); ++i) items_[i].fate = saved_fates_[i];
}

// Another lower bound for the subtree, which is better if λ0 dominates. Enough features must move that the sum of their largest gains
// reaches the needed score, and no score is gained at a better rate than the best one.
double FixedChargeSearch::fewest_moves_cost() {
  reaches_.clear();
  double missing = needed_, least_rate = infinity, least_charge = infinity;
  std::size_t n_moves = 0;
  for (const Item& item : items_) {
    if (item.fate == Fate::stays) continue;
    least_rate = std::min(least_rate, item.cost.lambda1 / item.gain);
    least_charge = std::min(least_charge, item.cost.lambda0);
    if (item.fate == Fate::moves) ++n_moves, missing -= item.gain * item.room;
    else reaches_.push_back(item.gain * item.room);
  }
  std::sort(reaches_.begin(), reaches_.end(), std::greater<>());
  // If only a rounding error is missing before the last feature, that feature is not counted as needed.
  for (std::size_t i = 0; i < reaches_.size() && missing > 1e-12 * needed_; ++i) ++n_moves, missing -= reaches_[i];
  return n_moves == 0 ? 0 : least_charge * static_cast<double>(n_moves) + least_rate * needed_;
}

void FixedChargeSearch::descend() {
  ++nodes_;
  if (stop_->now()) stopped_ = true;  // a node sorts all features, so reading the clock is cheap in comparison
  if (stopped_) return;
  const Relaxation relaxation = relax();
  if (!relaxation.feasible || std::max(relaxation.cost, fewest_moves_cost()) >= strictly_below(best_cost_)) return;
  if (relaxation.split_item < 0) {
    keep_if_better(distances_);  // the envelope equals the true cost here, so this is the subtree's optimum
    return;
  }
  try_support();
  Fate& fate = items_[relaxation.split_item].fate;
  fate = Fate::moves;
  descend();
  fate = Fate::stays;
  descend();
  fate = Fate::open;
}

Outcome FixedChargeSearch::solve(const Query& query, const Stop& stop) {
  const double* row = query.row;
  const std::int32_t target = query.target == any_other_class ? 1 - query.own_class : query.target;
  const double sign = target == 1 ? 1.0 : -1.0;
  double score = model_.intercept;
  items_.clear();
  for (std::size_t j = 0; j < model_.n_features; ++j) {
    score += model_.coef[j] * (row[j] - model_.centre[j]);
    const double slope = sign * model_.coef[j];
    if (slope == 0 || !query.may_move(j)) continue;
    const double border = edge(query, j, slope > 0);
    if (!(slope > 0 ? border > row[j] : border < row[j])) continue;
    const double range = model_.box.range(j), room = std::abs(border - row[j]) / range, weight = limits_.weight == nullptr ? 1.0 : limits_.weight[j];
    if (room > 0) {
      // The search measures in ranges, whatever the unit is. With a unit far from the range, digits would be lost.
      const double units = range / model_.unit[j];
      const Cost cost{weight * cost_.lambda0, weight * cost_.lambda1 * units, weight * cost_.lambda2 * units * units};
      items_.push_back({static_cast<std::int32_t>(j), std::abs(slope) * range, room, cost, Fate::open});
    }
  }
  needed_ = query.margin - sign * score;
  if (needed_ <= 0) return already_there(target);
  stop_ = &stop, stopped_ = false, nodes_ = 0, best_cost_ = infinity;
  best_distances_.clear();

  Outcome outcome;
  outcome.target = target;
  const Relaxation root = relax();
  if (!root.feasible) {
    outcome.status = Status::infeasible;
    outcome.bound = infinity;
    return outcome;
  }
  descend();
  const bool found = best_cost_ < infinity;
  outcome = finished(found, stopped_, best_cost_, root.cost, nodes_);
  outcome.target = target;
  for (std::size_t i = 0; found && i < items_.size(); ++i) {
    const double d = best_distances_[i];
    if (!(d > no_distance)) continue;
    const std::size_t j = items_[i].feature;
    const bool upwards = sign * model_.coef[j] > 0;
    const double border = edge(query, j, upwards), step = d * model_.box.range(j);
    const double moved = upwards ? std::min(border, row[j] + step) : std::max(border, row[j] - step);
    const double landing = d >= items_[i].room ? border : moved;
    if (landing != row[j]) outcome.moves.push_back({items_[i].feature, landing, landing});
  }
  return outcome;
}

}  // namespace fcca
