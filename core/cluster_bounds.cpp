#include "cluster_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double bins_by_weight = 32;  // a bin is closed when it has at least 1/32 of the weight; a share with that much has a bin for itself
constexpr double most_tabulated = 1 << 20;
}  // namespace

template <class W>
ClusterBounds::ClusterBounds(const TreeRows<W>& rows, const LeafCost& cost)
    : criterion_(cost.criterion()), whole_(true), bin_of_(rows.n_rows), least_(rows.least) {
  std::vector<double> share;
  double total = 0;
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    const double zeros = static_cast<double>(rows.planes[a * rows.n_planes]), ones = static_cast<double>(rows.planes[a * rows.n_planes + 1]);
    zeros_.push_back(zeros), ones_.push_back(ones);
    share.push_back(zeros + ones > 0 ? ones / (zeros + ones) : 0.0);
    whole_ = whole_ && zeros == std::floor(zeros) && ones == std::floor(ones);
    total += zeros + ones;
  }
  if (whole_ && total <= most_tabulated && criterion_ != Criterion::gini && criterion_ != Criterion::error) {
    for (double w = 0; w <= total; ++w) logarithmic_.push_back(w > 0 ? w * std::log(w) : 0.0);
  }
  std::vector<std::size_t> order(rows.n_rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return share[a] < share[b]; });
  const double heavy = total / bins_by_weight;
  double last_weight = infinity;  // weight of the last bin; infinite if it takes no more rows
  for (std::size_t at = 0, end = 0; at < order.size(); at = end) {
    double weight = 0;
    for (end = at; end < order.size() && share[order[end]] == share[order[at]]; ++end) weight += zeros_[order[end]] + ones_[order[end]];
    const bool is_heavy = weight >= heavy;
    if (is_heavy || last_weight >= heavy) bins_.emplace_back(), last_weight = 0;
    else bins_.back().is_mixed = true;
    last_weight = is_heavy ? infinity : last_weight + weight;
    for (std::size_t a = at; a < end; ++a) bin_of_[order[a]] = static_cast<std::uint8_t>(bins_.size() - 1);
  }
}

void ClusterBounds::clear() {
  for (Bin& bin : bins_) bin.zeros = bin.ones = bin.least = 0;
}

bool ClusterBounds::are_useful() {
  constexpr double least_share = 0.05;
  clear();
  for (std::size_t a = 0; a < bin_of_.size(); ++a) add(static_cast<std::int32_t>(a));
  double bounds[3];
  write(3, 0, bounds);
  const double least = std::accumulate(least_.begin(), least_.end(), 0.0);
  return bounds[2] - least > least_share * (bounds[0] - least);
}

double ClusterBounds::logarithmic(double weight) const {
  const auto at = static_cast<std::size_t>(weight);
  if (at < logarithmic_.size()) return logarithmic_[at];
  return weight > 0 ? weight * std::log(weight) : 0.0;
}

// A bound on the cost of a leaf: that of LeafCost::least_of. It is concave in the weights, and twice the weights cost twice as much.
double ClusterBounds::group_cost(double zeros, double ones) const {
  const double n = zeros + ones, error = std::min(zeros, ones);
  switch (criterion_) {
    case Criterion::error: return error;
    case Criterion::gini: return n > 0 ? 2 * zeros * ones / n : 0.0;
    default: break;
  }
  const double entropy = logarithmic(n) - logarithmic(zeros) - logarithmic(ones);
  return criterion_ == Criterion::error_and_log_loss ? entropy + error / 2 : entropy;
}

// A leaf costs at least group_cost G of its rows. As G is concave and homogeneous, it is the least of its tangents, which are linear in the
// weights. So the cost of a partition is at least that of the following one, which assigns every row to the group whose tangent is
// lowest for it. Its groups are intervals of the share of class 1, because tangents are linear, and equal shares stay together. Therefore
// the best partition into intervals is a lower bound for trees with as many leaves.
//
// The intervals consist of whole bins, and at their ends of parts of mixed bins. G is superadditive, so a group costs at least G of its whole
// bins and least_of its other rows. Of the intervals up to bin j, covered_[j] is the least cost: the last interval begins with a bin i, or
// its first part is in the mixed bin before i, whose rows then cost their least_of. An interval without whole bins (i = j) costs nothing here.
void ClusterBounds::write(std::size_t n_bounds, double penalty, double* bounds) {
  filled_.clear();
  for (const Bin& bin : bins_) {
    if (bin.zeros + bin.ones > 0) filled_.push_back(&bin);
  }
  const std::size_t n = filled_.size(), width = n + 1;
  cost_.assign(width * width, 0.0);  // of the bins from i to before j, by j and i
  for (std::size_t i = 0; i < n; ++i) {
    double zeros = 0, ones = 0;
    for (std::size_t j = i + 1; j <= n; ++j) {
      zeros += filled_[j - 1]->zeros, ones += filled_[j - 1]->ones;
      cost_[j * width + i] = group_cost(zeros, ones);
    }
  }
  begun_.assign(width, infinity), covered_.assign(width, 0.0);
  begun_[0] = 0;
  double least = infinity;
  for (std::size_t k = 0; k < n_bounds; ++k) {
    for (std::size_t j = 0; j <= n; ++j) {
      double cost = infinity;
      for (std::size_t i = 0; i <= j; ++i) cost = std::min(cost, begun_[i] + cost_[j * width + i]);
      covered_[j] = cost;
    }
    least = std::min(least, covered_[n] + static_cast<double>(k + 1) * penalty);
    bounds[k] = least;
    for (std::size_t i = 0; i <= n; ++i) {
      begun_[i] = covered_[i];
      if (i > 0 && filled_[i - 1]->is_mixed) begun_[i] = std::min(begun_[i], covered_[i - 1] + filled_[i - 1]->least);
    }
  }
}

template ClusterBounds::ClusterBounds(const TreeRows<std::int16_t>&, const LeafCost&);
template ClusterBounds::ClusterBounds(const TreeRows<std::int32_t>&, const LeafCost&);
template ClusterBounds::ClusterBounds(const TreeRows<double>&, const LeafCost&);

}  // namespace fcca
