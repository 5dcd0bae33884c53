// The multiple-choice knapsack with several constraints: with more than two classes, the target must beat every other class (rival). The
// joint row is a weighted sum of these constraints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hull.hpp"
#include "knapsack.hpp"

namespace fcca {

class RivalKnapsack {
 public:
  void clear(std::size_t n_rivals);
  // Options of one feature, one after the other with rising cost. gains holds one entry per rival, and any of them may be
  // negative. Options that gain nothing compared with a cheaper one, or with no move, are left out.
  void add_option(std::int32_t feature, double cost, const double* gains, std::int32_t cell);

  // needed: one entry per rival. Only solutions cheaper than limit are searched. Of equally cheap solutions, the first one that the
  // search finds wins. It depends only on the options.
  Outcome solve(const double* needed, double limit, const Stop& stop);
  const std::vector<Choice>& choices() const { return best_choices_; }

 private:
  struct Group {
    std::int32_t feature;
    std::size_t begin, end;
    double best_rate;  // least cost per joint gain of any of its options
  };

  const double* gains_of(std::size_t option) const { return gains_.data() + option * n_rivals_; }
  double joint(const double* rows) const;
  void weigh(const double* needed);
  void build_hull();
  void prepare(const double* needed);
  void greedy(const double* needed);
  double lower_bound(std::size_t depth, double cost, const double* missing) const;
  void descend(std::size_t depth, double cost, const std::vector<double>& missing);

  std::size_t n_rivals_ = 0;
  std::vector<double> costs_, gains_;
  std::vector<std::int32_t> cells_;
  std::vector<Group> groups_;
  std::vector<double> importance_;                  // by rival: its weight in the joint row, summing to 1
  std::vector<double> joint_gain_;                  // by option
  Hull hull_;                                       // of the joint row
  std::vector<double> remaining_gain_, best_rate_;  // by depth and rival
  std::vector<Choice> path_, best_choices_;
  double best_cost_ = 0;
  bool found_ = false, stopped_ = false;
  std::int64_t nodes_ = 0;
  const Stop* stop_ = nullptr;
};

}  // namespace fcca
