// The problem of one point and one target class, and greedy counterfactuals to begin from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ensemble.hpp"
#include "feature_rules.hpp"
#include "parallel.hpp"

namespace fcca {

// minimise Σ_j cost_j(cell_j)  subject to, for every rival class r,  Σ_t lead_r(leaf of t) >= needed_r.
// A rival is a class that the target must beat. The lead of a leaf over a rival is its value for the target minus its value for
// the rival.
struct Task {
  std::size_t n_rivals = 0;
  std::vector<double> lead;    // leaves × n_rivals
  std::vector<std::int32_t> trees;    // trees with leads that differ; the leads of the others are included in needed
  std::vector<std::uint8_t> matters;  // by tree: whether it is in trees
  std::vector<double> needed;  // by rival
  std::vector<double> slack;   // by rival: the largest rounding error of a sum of leads
  std::vector<double> cost;    // by cell; 0 for the own cell, infinite for cells that cannot be reached
  double small_cost = 0;       // negligible compared with the cost of a usual move
  std::vector<std::int32_t> own;        // by feature: the cell the point is in
  std::vector<std::int32_t> low, high;  // by feature: the cells that can be reached
  std::vector<std::uint8_t> uneven;     // by feature: whether the cost does not simply rise outwards from the own cell
  const FeatureRules* rules = nullptr;  // null: none

  const double* lead_of(std::size_t leaf) const { return lead.data() + leaf * n_rivals; }

  // The cheapest cell of a range; costs begin with the feature's first cell.
  std::int32_t cheapest(std::size_t j, std::int32_t from, std::int32_t to, const double* costs) const {
    const std::int32_t near = std::clamp(own[j], from, to);
    if (near == own[j] || uneven[j] == 0) return near;
    return static_cast<std::int32_t>(std::min_element(costs + from, costs + to + 1) - costs);
  }
};

// The cheapest change found so far.
struct Incumbent {
  double cost = std::numeric_limits<double>::infinity();
  std::vector<std::int32_t> cells;
  bool found() const { return !cells.empty(); }
};

class Start {
 public:
  explicit Start(const Ensemble& ensemble) : ensemble_(ensemble) {}

  // From these cells, moves one feature after the other until every rival is beaten, with three ways of choosing the feature. Replaces
  // best with each cheaper result.
  void run(const Task& task, const std::vector<std::int32_t>& cells, const Stop& stop, Incumbent& best);
  // The same with one way of choosing the feature.
  void run_once(const Task& task, const std::vector<std::int32_t>& cells, const Stop& stop, Incumbent& best);
  // Replaces best with the polished cells if they are a counterfactual and cheaper.
  void offer(const Task& task, std::vector<std::int32_t> cells, Incumbent& best);

  // Sums of leads over all trees.
  void leads(const Task& task, const std::int32_t* cells, double* sums) const;
  double cost(const Task& task, const std::int32_t* cells) const;
  static bool beaten(const Task& task, const double* sums);

 private:
  enum class Measure { gain, capped_gain, squared_gain };

  void greedy(const Task& task, std::vector<std::int32_t> cells, Measure measure, const Stop& stop, Incumbent& best);
  void lead_along(const Task& task, const std::int32_t* cells, std::size_t j);

  const Ensemble& ensemble_;
  std::vector<double> along_;  // cells of a feature × n_rivals: the leads of the trees that test it, if it is in that cell
  struct Open {
    std::int32_t node, low, high;
  };
  std::vector<Open> open_;
  std::vector<double> sums_, moved_;
};

}  // namespace fcca
