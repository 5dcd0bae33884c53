// The cost of a leaf: a function of the class weights of its rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace fcca {

// With class weights w_k and n = Σ w_k, a leaf costs
//   error      n − max w_k
//   gini       n − Σ w_k² / n
//   log_loss   −Σ w_k · log p_k, with the smoothed probabilities p_k = (w_k + ½) / (n + K/2)
//   evidence   minus the log of the probability of the labels, if the class probabilities have a Dirichlet(½) prior
//   error_and_log_loss   log_loss + error / 2
//
// Weights may be counted in units of 1/u rows, so that fractions of rows are whole numbers too. Then costs are also in these units, and
// u times as large. The formulas of error and gini stay the same, and the ½ row that smooths log_loss becomes u/2 units.
//
// The searches rely on these facts:
// - More rows never cost less. ∂cost/∂w_k ≥ 0: gini 1 − 2p_k + Σ p_j² ≥ (1 − p_k)²; evidence ψ(n + K/2) − ψ(w_k + ½) ≥ 0, as ψ
//   rises; log_loss log(y/x) + ½/x − (K/2)/y with x = w_k + ½ and y = n + K/2, which rises with y, and for the least possible
//   y = x + (K−1)/2 it is at least 0 by log(1 + u) ≥ u / (1 + u).
// - Removing a row from a leaf lowers the cost by at most most_of(row).
// - A leaf costs at least Σ least_of(row) over its distinct rows, whatever else is in it.
enum class Criterion : std::int32_t { error = 0, gini = 1, log_loss = 2, evidence = 3, error_and_log_loss = 4 };
constexpr std::int32_t n_criteria = 5;

// The logarithm of the gamma function for x > 0. Stirling's series is used after x is shifted to where it is exact to the last digits.
double log_gamma(double x);

// log_loss and evidence have the form total(n) − Σ part(w_k), both convex. Whole weights are looked up in tables.
class Curves {
 public:
  Curves(Criterion criterion, std::size_t n_classes, double units)
      : gamma_(criterion == Criterion::evidence), n_classes_(n_classes), units_(units) {}
  // Fills the tables for whole weights up to most. least: the weight below which a leaf is too small.
  void tabulate(std::size_t most, double least);
  bool tabulated() const { return !total_.empty(); }

  template <class W>
  double total(W n) const {
    if constexpr (std::is_integral_v<W>) {
      if (tabulated()) return total_[static_cast<std::size_t>(n)];
    }
    return exact(static_cast<double>(n), prior * static_cast<double>(n_classes_));
  }
  template <class W>
  double part(W w) const {
    if constexpr (std::is_integral_v<W>) {
      if (tabulated()) return part_[static_cast<std::size_t>(w)];
    }
    return exact(static_cast<double>(w), prior);
  }
  const double* totals() const { return total_.data(); }
  // The same; infinite if a leaf is too small.
  const double* leaf_totals() const { return leaf_total_.data(); }
  const double* parts() const { return part_.data(); }

 private:
  static constexpr double prior = 0.5;
  // Both curves are 0 at 0, so an empty leaf costs nothing.
  double exact(double w, double added) const {
    if (gamma_) return units_ * (log_gamma(std::max(0.0, w) / units_ + added) - log_gamma(added));
    return w * std::log(std::max(0.0, w) + added * units_);
  }

  bool gamma_;
  std::size_t n_classes_;
  double units_;
  std::vector<double> total_, leaf_total_, part_;
};

struct LeafRules {
  double min_weight = 0;       // minimum weight of a leaf
  std::int64_t min_rows = 1;   // minimum number of rows of a leaf
  bool any() const { return min_weight > 0 || min_rows > 1; }
};

class LeafCost {
 public:
  // total: the weight of all rows. units: number of units in a row of weight 1. counted: a plane of row counts follows the class planes.
  LeafCost(Criterion criterion, std::size_t n_classes, double total, double units, bool whole, LeafRules rules, bool counted);

  Criterion criterion() const { return criterion_; }
  std::size_t n_classes() const { return n_classes_; }
  const Curves& curves() const { return curves_; }
  const LeafRules& rules() const { return rules_; }
  bool counted() const { return counted_; }
  // Planes of net weights and their sums are enough for the plain error. Everything else needs the weights of all classes.
  bool is_plain_error() const { return criterion_ == Criterion::error && !rules_.any(); }
  // Whether the first fact above holds for trees. It does not with a minimum leaf size: a leaf that loses a row may become too small.
  bool more_rows_cost_more() const { return !rules_.any(); }

  // The cost of a leaf with these planes (not net); infinite if it is too small.
  double of_leaf(const double* planes) const {
    return too_small(weight_of(planes), rows_of(planes)) ? std::numeric_limits<double>::infinity() : without_rules(planes);
  }
  double without_rules(const double* planes) const;
  // Whether no split of these rows has two sides that are large enough.
  bool cannot_split(const double* planes) const { return too_small(weight_of(planes) / 2, rows_of(planes) / 2); }
  bool too_small(double weight, double rows) const {
    return rules_.any() && (weight < least_weight_ || (rules_.min_rows > 1 && rows < static_cast<double>(rules_.min_rows) - slack));
  }
  // The minimum weight of a leaf that is large enough, if rows are not counted separately from their weights.
  double least_size() const {
    if (!rules_.any()) return -std::numeric_limits<double>::infinity();
    return rules_.min_rows > 1 ? std::max(least_weight_, static_cast<double>(rules_.min_rows) - slack) : least_weight_;
  }
  // The bounds in the facts above, for a distinct row with these class weights. within: the weight of the rows at hand.
  double most_of(const double* weight, double within) const;
  double most_of(const double* weight) const { return most_of(weight, total_); }
  double least_of(const double* weight) const;

 private:
  // Half an odd number of rows may be too small by half a row. Rounding errors are far smaller.
  static constexpr double slack = 0.25;
  double weight_of(const double* planes) const;
  double rows_of(const double* planes) const { return counted_ ? planes[n_classes_] : weight_of(planes); }

  Criterion criterion_;
  std::size_t n_classes_;
  double total_;
  Curves curves_;
  LeafRules rules_;
  bool counted_;
  double least_weight_;
};

}  // namespace fcca
