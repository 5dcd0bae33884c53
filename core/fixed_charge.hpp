// Linear models: every feature can be moved by any distance within the range of the data, and gains score in proportion.
// Every move costs λ0, and the distance d costs λ1·d + λ2·d². This is a fixed-charge problem, solved by branch and bound
// over the set of features that move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells.hpp"
#include "limits.hpp"
#include "outcome.hpp"
#include "parallel.hpp"
#include "query.hpp"

namespace fcca {

// Class 1 is predicted if coef·(x − centre) + intercept is above 0, and class 0 below. The centre keeps the digits of values that
// are close together and far from zero.
struct LinearModel {
  std::size_t n_features;
  const double* coef;
  const double* centre;
  double intercept;
  Box box;
  const double* unit;  // by feature: the unit of distance
};

class FixedChargeSearch {
 public:
  FixedChargeSearch(const LinearModel& model, const Limits& limits, const Cost& cost);
  // Of equally cheap changes, the first one that the search finds wins. It depends only on the model, the row and the costs.
  Outcome solve(const Query& query, const Stop& stop);

 private:
  enum class Fate : std::int8_t { open, moves, stays };
  struct Item {
    std::int32_t feature;
    double gain;  // score gained per range of the feature
    double room;  // distance to the end of the range of the data, or to a bound before it, in ranges
    Cost cost;    // of moves in ranges
    Fate fate;
  };
  struct Event {  // something that happens to an item as the multiplier μ grows
    enum Kind : std::int8_t { jump, start, saturate } kind;
    double multiplier;
    std::int32_t item;
    double distance;  // for a jump: how far
  };
  struct Relaxation {
    bool feasible = false;
    double cost = 0;
    std::int32_t split_item = -1;  // the open item that the relaxation moves only in part, if there is one
  };

  void add_events(std::int32_t item);
  Relaxation relax();
  double relaxed_cost(const Item& item, double distance) const;
  void keep_if_better(const std::vector<double>& distances);
  void close_residual(const std::vector<std::int32_t>& adjustable);
  double edge(const Query& query, std::size_t j, bool upwards) const;
  double fewest_moves_cost();
  void try_support();
  void descend();

  const LinearModel& model_;
  const Limits& limits_;
  Cost cost_;
  double needed_ = 0;
  std::vector<Item> items_;
  std::vector<Event> events_;
  std::vector<double> distances_, best_distances_;
  std::vector<Fate> saved_fates_;
  std::vector<double> reaches_;
  double best_cost_ = 0;
  bool stopped_ = false;
  std::int64_t nodes_ = 0;
  const Stop* stop_ = nullptr;
};

}  // namespace fcca
