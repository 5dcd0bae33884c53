// Exact counterfactuals of any tree ensemble: depth-first branch and bound over boxes of cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ensemble.hpp"
#include "ensemble_bound.hpp"
#include "ensemble_start.hpp"
#include "feature_rules.hpp"
#include "landings.hpp"
#include "limits.hpp"
#include "outcome.hpp"
#include "parallel.hpp"
#include "query.hpp"

namespace fcca {

// Training rows, in cells: where the greedy start finds no answer, one of them may be one.
using Examples = std::vector<std::vector<std::int32_t>>;

// Scores that are not those of classes and must reach a least value, whatever the class: the last outputs of the trees.
struct SideRows {
  std::size_t n = 0;
  const double* least = nullptr;
};

// One per thread: keeps its buffers from point to point. What it answers depends on the query alone, and among equally cheap
// answers it is the first that the search meets.
class EnsembleSearch {
 public:
  EnsembleSearch(const Ensemble& ensemble, const Limits& limits, const Cost& cost, const Examples& examples, const SideRows& side_rows);
  Outcome solve(const Query& query, const Stop& stop);

 private:
  void measure(const Query& query);
  // The leads of a target over all its rivals, or over one of them.
  void aim_at(const Query& query, std::int32_t target, std::int32_t only_rival = any_other_class);
  // Any other class will do: one that only has to beat the own class. Nothing if no class wins what was found by the margin.
  std::optional<Outcome> beat_own_class(const Query& query, const std::vector<std::int32_t>& targets, const Stop& stop);
  Outcome outcome_of(const Query& query, const Answer& answer, std::int32_t target, double open_bound) const;
  // Searches for an answer cheaper than the one given. The bound is on all that is cheaper than it, infinite if that is nothing.
  double improve(Answer& answer, const Stop& stop);
  double try_leaves(Answer& answer);
  double branch_and_bound(Answer& answer, const Stop& stop);
  void begin_from_examples(Answer& answer);
  // Shrinks the box by the rules between features; false if nothing in it keeps them.
  bool keep_rules();
  void descend(std::size_t depth, double inherited);
  double limit() const;

  const Ensemble& ensemble_;
  const Examples& examples_;
  SideRows side_rows_;
  Landings landings_;
  FeatureRules rules_;
  Task task_;
  Start start_;
  Bound bound_;
  std::vector<double> scores_;

  // Of the search that is running.
  Answer best_;
  double unit_ = 1;
  double open_bound_ = 0;  // least bound of the boxes that were left open
  bool stopped_ = false, restart_ = false;
  std::int64_t nodes_ = 0;
  const Stop* stop_ = nullptr;
  std::vector<Bound::Live> live_;    // by depth
  std::vector<Bound::State> saved_;  // by depth
  std::vector<std::int32_t> nearest_;
  std::vector<double> sums_;
};

}  // namespace fcca
