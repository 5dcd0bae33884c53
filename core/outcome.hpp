// The outcome of a search for one point.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace fcca {

enum class Status : std::int8_t {
  optimal = 0,     // the cheapest change, proven
  within_gap = 1,  // a change that flips the model, and proof that its cost is within the relative gap of the cheapest: of the bound
  feasible = 2,    // a change that flips the model; time ran out before the proof, bound is a valid lower bound
  infeasible = 3,  // proven: no change inside the range of the data flips the model
  unknown = 4,     // time ran out before any change was found; bound is a valid lower bound
};

struct Move {
  std::int32_t feature;
  double landing;
  double cut;  // the cut crossed last; for models without cuts the landing itself
};

struct Outcome {
  Status status = Status::unknown;
  double cost = std::numeric_limits<double>::infinity();
  double bound = 0;
  std::int32_t target = -1;
  std::int64_t nodes = 0;
  double seconds = 0;
  std::vector<Move> moves;  // by feature
};

// The outcome of a search at its end. If it stopped early, open_bound is a lower bound on everything left unsearched.
inline Outcome finished(bool found, bool stopped, double cost, double open_bound, std::int64_t nodes) {
  Outcome outcome;
  outcome.nodes = nodes;
  if (found) outcome.cost = cost;
  if (stopped) {
    outcome.status = found ? Status::feasible : Status::unknown;
    outcome.bound = std::min(open_bound, outcome.cost);
  } else {
    outcome.status = found ? Status::optimal : Status::infeasible;
    outcome.bound = outcome.cost;
  }
  return outcome;
}

// A lower bound on everything that a search left unsearched; infinite if it ended with a proof.
inline double open_bound_of(const Outcome& outcome) {
  const bool is_open = outcome.status == Status::feasible || outcome.status == Status::unknown;
  return is_open ? outcome.bound : std::numeric_limits<double>::infinity();
}

// The target already wins by the margin, so nothing has to move. This happens only if the caller's own_class is not the class that the
// model predicts.
inline Outcome already_there(std::int32_t target) {
  Outcome outcome;
  outcome.status = Status::optimal;
  outcome.cost = 0;
  outcome.target = target;
  return outcome;
}

// Two costs that differ by less than this share count as equal. It is far above the rounding errors of a sum of a few terms, and far
// below the 1e-9 to which optimality is promised. Without it, rounding errors would break ties.
inline constexpr double tie_tolerance = 1e-12;
inline double strictly_below(double cost) { return cost * (1 - tie_tolerance); }

}  // namespace fcca
