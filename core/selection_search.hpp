// The cheapest set of k conditions, with proof: best-first branch and bound over the conditions in the set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "parallel.hpp"
#include "selection_pairs.hpp"
#include "selection_rows.hpp"
#include "selection_rules.hpp"
#include "selection_start.hpp"

namespace fcca {

struct SelectionResult {
  bool found = false;
  Candidate best;
  std::int64_t bound = 0;  // no admissible set costs less
  bool optimal = false;    // nothing better, in cost and then in count, is left
  std::uint64_t nodes = 0;
};

class SelectionSearch {
 public:
  SelectionSearch(const SelectionRows& rows, const SelectionRules& rules, const Stop& stop)
      : rows_(rows), rules_(rules), stop_(stop), matcher_(rows) {}

  // root: the conditions kept and forbidden from the start. Sets that cost more than the ceiling are ignored.
  // The search ends after max_nodes branches, or when it is told to stop.
  SelectionResult run(const Decided& root, std::size_t n, std::int64_t ceiling, std::uint64_t max_nodes);

 private:
  struct Node {
    Decided decided;
    std::int64_t bound = 0;
    std::shared_ptr<const std::vector<double>> price;  // the final prices (dual values) of the parent
    // The parent's last cut holds here too: a set costs at least base minus the cover of the conditions still to be chosen.
    std::shared_ptr<const std::vector<double>> cover;
    double base = 0;
    std::uint64_t number = 0;

    // Whether the other node is visited first: the node with the least bound, and in a tie the newest, which is the deepest.
    bool later_than(const Node& other) const { return bound != other.bound ? bound > other.bound : number < other.number; }
  };

  // The current prices (dual values) of the conditions, and the mean of all matchings of the rows.
  struct Play {
    std::vector<double> price, mean_price;
    Cut mean;
    double unavoidable = 0;
  };

  void offer(const Candidate& candidate);
  void start();
  bool hopeless(std::int64_t bound, std::int64_t most_count = std::numeric_limits<std::int64_t>::max()) const;
  std::int64_t most_count(const Decided& decided, std::size_t left) const;
  double best_sum(const Decided& decided, std::size_t left, const std::vector<double>& value);
  double best_sum_within_limits(const Decided& decided, std::size_t left, const std::vector<double>& value);
  std::int64_t rounded_up(double bound) const;
  bool expand(Node node);
  bool tighten(Node& node, Play& play, int passes);
  void rule_out(Node& node);
  void finish_last(const Decided& decided, const Groups& groups);
  bool finish_last_two(Node node, const Groups& groups);
  void push(Node node);
  Node pop();
  std::shared_ptr<const std::vector<double>> remembered(const std::vector<double>& values);
  std::size_t memory() const;

  const SelectionRows& rows_;
  const SelectionRules& rules_;
  const Stop& stop_;
  PairMatcher matcher_;
  Decided root_;
  std::size_t n_ = 0;
  bool is_limited_ = false;  // whether the features limit the choice
  bool has_best_ = false;
  Candidate best_;
  std::int64_t ceiling_ = 0;
  std::uint64_t nodes_ = 0, pushed_ = 0;
  std::size_t remembered_ = 0;  // bytes of prices and covers that open nodes share; outlives the heap
  std::vector<Node> heap_;
  // of the current node
  std::vector<double> sorted_;
  std::vector<std::vector<double>> by_feature_;
  std::vector<std::int64_t> cost_;
};

}  // namespace fcca
