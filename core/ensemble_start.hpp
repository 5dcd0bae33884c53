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

// The lead of the target over a rival, which is a class that the target must beat: plus·value[plus_output] − minus·value[minus_output],
// where plus and minus are 0 or 1.
struct Lead {
  std::int32_t plus_output, minus_output;
  double plus, minus;
  double of(const double* value) const { return plus * value[plus_output] - minus * value[minus_output]; }
};

// minimise Σ_j cost_j(cell_j)  subject to, for every rival class r,  Σ_t lead_r(leaf of t) >= needed_r.
struct Task {
  const Ensemble* ensemble = nullptr;
  std::size_t n_rivals = 0;
  std::vector<Lead> lead;      // by rival
  std::vector<double> needed;  // by rival
  std::vector<double> slack;   // by rival: the largest rounding error of a sum of leads
  std::vector<double> cost;    // by cell; 0 for the own cell, infinite for cells that cannot be reached
  double fixed_cost = 0;       // of the features without cuts
  double small_cost = 0;       // negligible compared with the cost of a usual move
  std::vector<std::int32_t> own;        // by feature: the cell the point is in; before the first cell or after the last one if it is in none
  std::vector<std::int32_t> low, high;  // by feature: the cells that can be reached
  std::vector<std::uint8_t> uneven;     // by feature: whether the cost does not simply rise outwards from the own cell
  const FeatureRules* rules = nullptr;  // null: none

  // The cheapest cell of a range; costs begin with the feature's first cell.
  std::int32_t cheapest(std::size_t j, std::int32_t from, std::int32_t to, const double* costs) const {
    const std::int32_t near = std::clamp(own[j], from, to);
    if (near == own[j] || uneven[j] == 0) return near;
    return static_cast<std::int32_t>(std::min_element(costs + from, costs + to + 1) - costs);
  }
  const double* costs_of(std::size_t j) const { return cost.data() + ensemble->cells.first_cell(j); }
  double cost_of(const std::int32_t* cells) const {
    double total = 0;
    for (const std::size_t j : ensemble->movable) total += costs_of(j)[cells[j]];
    return total;
  }
  // Sums of leads over all trees.
  void add_leads(const std::int32_t* cells, double* sums) const;
  // Whether these sums reach the leads that are needed.
  bool is_reached(const double* sums) const {
    for (std::size_t r = 0; r < n_rivals; ++r) {
      if (!(sums[r] >= needed[r])) return false;
    }
    return true;
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
  // What is compared with the cost to choose the next move. A capped gain counts only what is missing.
  enum class Measure { capped_gain, squared_gain };

  // From these cells, moves one feature after the other until every rival is beaten. Replaces best with each cheaper result.
  void run(const Task& task, std::vector<std::int32_t> cells, Measure measure, const Stop& stop, Incumbent& best);
  // Replaces best with the polished cells if they are a counterfactual and cheaper.
  void offer(const Task& task, std::vector<std::int32_t> cells, Incumbent& best);

 private:
  // A tree's leads change by some amount if a feature moves into this cell or a later one.
  struct Change {
    std::int32_t cell;
    std::int32_t position;  // of the amount, in amounts_; ~position if it is subtracted
  };
  struct Branch {  // the cells of one feature that lead to a node, while all other features stay where they are
    std::int32_t node, feature, low, high;
  };

  void list_changes(const Task& task, const std::int32_t* cells);
  template <bool with_sets>
  void list_changes_in(const Task& task, const std::int32_t* cells);
  template <bool with_sets>
  std::int32_t list_branches(const Task& task, std::size_t tree, const std::int32_t* cells);
  bool add_amounts(const Task& task, const double* value, const double* present);
  template <class Visit>
  void for_each_move(const Task& task, const std::vector<std::int32_t>& cells, std::size_t j, Visit visit);
  bool undo_one(const Task& task, std::vector<std::int32_t>& cells);

  std::vector<std::uint8_t> wanted_;  // by feature: whether its moves are asked for
  std::vector<std::vector<Change>> changes_;  // by feature
  std::vector<double> amounts_;               // of n_rivals each
  std::vector<Branch> branches_;
  std::vector<std::int32_t> low_, high_;    // by feature: the cells that lead to the node on the path
  std::vector<double> sums_, moved_, change_;
};

}  // namespace fcca
