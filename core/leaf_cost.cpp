#include "leaf_cost.hpp"

#include <numeric>

namespace fcca {

namespace {
constexpr std::size_t most_tabulated = std::size_t{1} << 22;  // 96 MB of tables
constexpr double round_off = 1e-12;

double sum_of(const double* weight, std::size_t n) { return std::accumulate(weight, weight + n, 0.0); }
}  // namespace

double log_gamma(double x) {
  double shift = 1;
  while (x < 10) shift *= x, x += 1;
  const double y = 1 / (x * x);
  const double series = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * 691.0 / 360360))))) / x;
  constexpr double half_log_two_pi = 0.91893853320467274178;
  return (x - 0.5) * std::log(x) - x + half_log_two_pi + series - std::log(shift);
}

void Curves::tabulate(std::size_t most, double least) {
  total_.resize(most + 1), leaf_total_.resize(most + 1), part_.resize(most + 1);
  for (std::size_t w = 0; w <= most; ++w) {
    total_[w] = exact(static_cast<double>(w), prior * static_cast<double>(n_classes_));
    leaf_total_[w] = static_cast<double>(w) < least ? std::numeric_limits<double>::infinity() : total_[w];
    part_[w] = exact(static_cast<double>(w), prior);
  }
}

LeafCost::LeafCost(Criterion criterion, std::size_t n_classes, double total, double units, bool whole, LeafRules rules, bool counted)
    : criterion_(criterion), n_classes_(n_classes), total_(total), curves_(criterion, n_classes, units), rules_(rules), counted_(counted),
      least_weight_(rules.min_weight - round_off * total) {
  const bool curved = criterion != Criterion::error && criterion != Criterion::gini;
  if (curved && whole && total <= static_cast<double>(most_tabulated)) curves_.tabulate(static_cast<std::size_t>(total), least_size());
}

double LeafCost::without_rules(const double* planes) const {
  const double n = sum_of(planes, n_classes_);
  if (!(n > 0)) return 0;
  const double error = n - *std::max_element(planes, planes + n_classes_);
  double squares = 0, curved = 0;
  switch (criterion_) {
    case Criterion::error: return error;
    case Criterion::gini:
      for (std::size_t k = 0; k < n_classes_; ++k) squares += planes[k] * planes[k];
      return std::max(0.0, n - squares / n);
    default:
      curved = curves_.total(n);
      for (std::size_t k = 0; k < n_classes_; ++k) curved -= curves_.part(planes[k]);
      return criterion_ == Criterion::error_and_log_loss ? curved + error / 2 : curved;
  }
}

double LeafCost::weight_of(const double* planes) const { return sum_of(planes, n_classes_); }

// The rows of a distinct row are always in one leaf. With its class weights v_k and their sum v, and the leaf's w_k and n ≤ N:
// - error: at most v, because the best class of the rest stays as good. gini: ∂cost/∂w_k = 1 − 2p_k + Σ p_j² ≤ 2.
// - total(n) − total(n − v) rises with n, as total is convex, and part(w_k) − part(w_k − v_k) falls with w_k towards v_k. So the
//   cost falls by at most total(N) − total(N − v) − Σ part(v_k).
double LeafCost::most_of(const double* weight, double within) const {
  const double v = sum_of(weight, n_classes_);
  if (criterion_ == Criterion::error) return v;
  if (criterion_ == Criterion::gini) return 2 * v;
  double curved = curves_.total(within) - curves_.total(within - v);
  for (std::size_t k = 0; k < n_classes_; ++k) curved -= curves_.part(weight[k]);
  return criterion_ == Criterion::error_and_log_loss ? curved + v / 2 : curved;
}

// - error and gini are superadditive: a leaf costs at least as much as its parts as separate leaves.
// - log_loss and evidence cost at least −Σ w_k · log(w_k / n), the minimum over all probabilities, which is superadditive.
// - error_and_log_loss is a sum of the two, so half of the bound for the error is added.
double LeafCost::least_of(const double* weight) const {
  const double v = sum_of(weight, n_classes_), error = v - *std::max_element(weight, weight + n_classes_);
  double squares = 0, entropy = 0;
  for (std::size_t k = 0; k < n_classes_; ++k) {
    squares += weight[k] * weight[k];
    if (weight[k] > 0) entropy += weight[k] * std::log(v / weight[k]);
  }
  switch (criterion_) {
    case Criterion::error: return error;
    case Criterion::gini: return v > 0 ? std::max(0.0, v - squares / v) : 0;
    case Criterion::error_and_log_loss: return entropy + error / 2;
    default: return entropy;
  }
}

}  // namespace fcca
