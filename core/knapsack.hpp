// The counterfactual problem of an additive model as a multiple-choice knapsack: every feature offers a few options
// (cells it could move to), each with a cost and a gain of score. At most one is chosen per feature, so that the gains reach
// the needed score at the least cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hull.hpp"
#include "outcome.hpp"
#include "parallel.hpp"

namespace fcca {

struct Option {
  double cost, gain;
  std::int32_t cell;
};

struct Choice {
  std::int32_t feature, cell;
};

class Knapsack {
 public:
  void clear();
  // Options of one feature, added one after the other with rising cost and rising gain.
  void add_option(std::int32_t feature, const Option& option);

  // Of equally cheap solutions, the first one in depth-first order wins: features by their best cost per gain and then by
  // column, each feature's cells from near to far, moving before staying. If the frontier search takes over, its order of
  // cost decides. Both orders depend only on the options.
  Outcome solve(double needed, const Stop& stop);
  const std::vector<Choice>& choices() const { return best_choices_; }

 private:
  struct Group {  // the options of one feature
    std::int32_t feature;
    std::size_t begin, end;
    double best_rate;  // least cost per gain of any of its options
  };
  struct Label {  // a partial choice of the frontier search
    double cost, missing;
    std::int64_t parent;
    std::int32_t option;  // -1: the feature stays
  };

  void prepare();
  double greedy(double needed);
  bool hopeless(std::size_t depth, double cost, double missing) const;
  void descend(std::size_t depth, double cost, double missing);
  void search_frontier(double needed);
  void keep(double cost);

  std::vector<Option> options_;
  std::vector<Group> groups_;
  Hull hull_;
  std::vector<double> remaining_gain_;   // by depth: the largest gain of the remaining groups
  std::vector<std::int32_t> path_;       // options chosen on the way down, and their groups
  std::vector<std::size_t> path_groups_;
  std::vector<Choice> best_choices_;  // the greedy solution until the search finds a better one
  std::vector<Choice> greedy_choices_;
  double best_cost_ = 0;
  bool found_ = false, stopped_ = false, node_budget_spent_ = false;
  std::int64_t nodes_ = 0;
  const Stop* stop_ = nullptr;
};

}  // namespace fcca
