// Exact counterfactuals of any tree ensemble: depth-first branch and bound over boxes of cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "ensemble.hpp"
#include "ensemble_bound.hpp"
#include "ensemble_reduction.hpp"
#include "ensemble_start.hpp"
#include "feature_rules.hpp"
#include "landings.hpp"
#include "limits.hpp"
#include "outcome.hpp"
#include "parallel.hpp"
#include "query.hpp"

namespace fcca {

// Training rows, in cells. If the greedy start finds no counterfactual, one of these rows may be one.
using Examples = std::vector<std::vector<std::int32_t>>;

// The last outputs of the trees, which are not scores of classes. Each must reach a minimum value, whatever the class.
struct SideRows {
  std::size_t n = 0;
  const double* least = nullptr;
};

// There is one object per thread. It keeps its buffers from point to point, but its outcome depends on the query alone. Of equally cheap
// changes, the first one that the search finds wins. With a relative gap, changes that are cheaper than the incumbent by at most this
// share of its cost are not searched.
class EnsembleSearch {
 public:
  EnsembleSearch(const EnsembleModel& ensemble, const Limits& limits, const Cost& cost, const Examples& examples, const SideRows& side_rows,
                 double relative_gap = 0);
  Outcome solve(const Query& query, const Stop& stop);

 private:
  void measure(const Query& query);
  // The leads of a target over all its rivals, or over one of them.
  void aim_at(const Query& query, std::int32_t target, std::int32_t only_rival = any_other_class);
  // Whether the leads of these cells reach the leads that the task needs.
  bool is_reached(const std::vector<std::int32_t>& cells);
  std::vector<double> scores_in(const std::vector<std::int32_t>& cells) const;
  // Tries the shortcut of other_classes.hpp. The result is empty if it does not apply.
  std::optional<Outcome> beat_own(const Query& query, const std::vector<std::int32_t>& targets, const Stop& stop);
  Outcome outcome_of(const Query& query, const Incumbent& incumbent, std::int32_t target, double open_bound) const;
  // Searches for a change that is cheaper than the incumbent. Returns a lower bound on everything left unsearched; infinite if nothing
  // was left.
  void search_reduced();
  double improve(Incumbent& incumbent, const Stop& stop);
  void begin_from_examples(Incumbent& incumbent);
  // Reduces the ensemble to what can be part of a change that is cheaper than the incumbent.
  void reduce();
  // Runs the greedy start from these cells of the reduced ensemble.
  void start_on_reduced(const std::vector<std::int32_t>& cells, Start::Measure measure);
  // Replaces the incumbent with these cells of the reduced ensemble if they are cheaper, and reach the leads in the whole ensemble.
  void take(const std::vector<std::int32_t>& cells);
  void branch_and_bound();
  void choose_unit();

  // A problem that is reduced once more than the one of the level before, and the search of its boxes.
  struct Level {
    Reduction reduction;
    Bound bound;
    std::vector<Bound::Live> live;    // by depth
    std::vector<Bound::State> saved;  // by depth
  };
  Reduction& reduction() { return levels_[0]->reduction; }
  // The cells of the whole ensemble that the given cells of a level stand for.
  const std::vector<std::int32_t>& original(std::size_t level, const std::vector<std::int32_t>& cells);
  // Removes cells that break the rules between features from the box; false if no point in it obeys the rules.
  bool keep_rules();
  // Searches the box in the state of a level's bound.
  void descend(std::size_t level, std::size_t depth, double inherited);
  // The same for a box whose bound is known: on the next level, or by splitting it.
  void descend_reduced(std::size_t level, const Bound::Live& live, double node_bound);
  void split(std::size_t level, std::size_t depth, double node_bound, bool keeps_rules);
  void leave_open(double node_bound) { open_bound_ = std::min(open_bound_, node_bound * unit_); }
  double limit() const;
  // Everything that is not searched costs at least this much, which is less than the cost by the relative gap or the proof tolerance.
  double enough(double cost) const { return cost * (1 - tolerance_); }

  const EnsembleModel& ensemble_;
  const Examples& examples_;
  SideRows side_rows_;
  double relative_gap_, tolerance_;
  Landings landings_;
  FeatureRules rules_;
  Task task_;
  Start start_;
  std::vector<double> scores_;

  // State of the running search.
  Incumbent best_;
  double unit_ = 1;
  double reduced_for_ = 0;  // cost of the incumbent when the ensemble was reduced
  double open_bound_ = 0;  // least bound of the boxes that were left open
  bool stopped_ = false, restart_ = false;
  std::int64_t nodes_ = 0;
  const Stop* stop_ = nullptr;
  std::vector<std::unique_ptr<Level>> levels_;  // the first one for the whole box
  Reduction::Part part_;
  std::vector<std::int32_t> nearest_;
  std::vector<double> sums_;
};

}  // namespace fcca
