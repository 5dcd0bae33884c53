// A lower bound on the cost of any further choice of conditions, from pairs of rows of different classes.
//
// Two rows of one group and of different classes cost their common weight, unless a condition chosen later separates them. Match such rows
// in pairs, and use no row beyond its weight. Let M be the total weight of the pairs, and cover[t] the weight of the pairs that condition t
// separates. Then every set R of conditions costs at least M − Σ_{t in R} cover[t]: R separates a pair only if some t in R does, and in
// every other pair, one of the two rows is misclassified. This holds for every matching, and so for every mean of matchings.
//
// With more than two classes, clusters of rows that all have different classes give a better bound than pairs. m rows cost m − 1 if no
// condition separates them, and in general m minus the number of parts that R divides them into. A condition with p rows of the cluster on
// one side and q rows on the other adds at most min(p, q) parts, so its cover of the cluster is min(p, q).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "selection_rows.hpp"
#include "selection_rules.hpp"

namespace fcca {

// Spans and distances between rows are counted in 16 bits: the number of conditions, plus one per chain.
inline constexpr std::size_t most_slots = std::numeric_limits<std::uint16_t>::max();

// Every set R of open conditions costs at least pairs − Σ_{t in R} cover[t].
struct Cut {
  double pairs = 0;
  std::vector<double> cover;  // of each condition; 0 if it is not open
};

class PairMatcher {
 public:
  explicit PairMatcher(const SelectionRows& rows) : rows_(rows) {}

  // Merges rows of the groups that no open condition separates, and pairs each row with its nearest rows of other classes. If it is told
  // to stop, it leaves out rows and pairs. The bound from the others is still valid.
  void look_at(const Groups& groups, const std::vector<Decision>& choice, const Stop& stop);

  // The cost that remains even with all open conditions: equal rows of several classes.
  std::int64_t unavoidable() const { return unavoidable_; }

  // Matches the pairs, or grows clusters from them, in the order of the total price (dual value) of the conditions between them, as long
  // as it is below 1. Except for the loss of greedy matching, this is the best cut against a set that takes condition t with
  // share price[t].
  void match(const std::vector<double>& price, Cut& cut);

 private:
  struct Point {
    std::int64_t weight;  // weight of its heaviest class minus its second heaviest
    std::int32_t label;
  };
  struct Pair {
    std::int32_t one, other;
    std::uint32_t first_span;  // first span of the conditions between them; the spans end where the next pair's begin
  };
  using Code = std::uint16_t;
  struct Span {
    std::uint16_t low, high;  // positions in the running sums of a chain's prices
  };

  // Rows of different classes that are counted together, with a weight that each of them has.
  struct Cluster {
    std::array<std::int32_t, 6> rows;
    std::int32_t size;
    std::uint64_t classes;  // one bit each; beyond 64 classes, some share a bit and are treated as one
    std::int64_t weight;
  };

  void price_pairs(const std::vector<double>& price);
  std::int64_t match_pairs();
  std::int64_t grow_clusters();
  std::int64_t join(std::size_t pair);
  bool worth_joining(const Cluster& one, const Cluster& other);
  void number_open_conditions(const std::vector<Decision>& choice);
  void collect_points(const std::int32_t* from, const std::int32_t* to);
  void pair_up(std::size_t begin, std::size_t end, const Stop& stop);

  const SelectionRows& rows_;
  std::vector<std::int32_t> open_;        // the open conditions, by chain
  std::vector<std::int32_t> slot_;        // of each open condition: where its price ends in the running sums
  std::vector<std::int32_t> first_slot_;  // of each chain that has open conditions
  std::vector<std::int32_t> chains_;      // the chains that have open conditions
  std::vector<std::vector<Code>> code_;   // per such chain and number of conditions passed: how many of them are open
  std::int64_t unavoidable_ = 0;
  std::vector<Point> points_;
  std::vector<Code> codes_;  // chains × points of the current group
  std::vector<Pair> pairs_;
  std::vector<Span> spans_;
  std::vector<float> sums_;
  std::vector<std::int64_t> change_, left_;
  std::vector<std::uint8_t> bucket_;
  std::vector<std::uint32_t> order_;
  std::uint32_t n_worthwhile_ = 0;
  std::vector<Code> point_codes_;  // points × chains, if there are more than two classes
  std::vector<Cluster> clusters_;
  std::vector<std::vector<std::int32_t>> clusters_of_;  // of each point
  std::vector<Span> told_apart_;                        // conditions that separate more rows after joining two clusters
  // of the current group
  std::vector<Code> row_codes_;
  std::vector<std::int32_t> by_code_;
  std::vector<Code> distance_;
  std::vector<std::int64_t> held_;
};

}  // namespace fcca
