#include "selection_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace fcca {

namespace {

constexpr int passes_at_root = 150, passes_below = 16, passes_between = 3;
constexpr int most_branches = 16;  // branches of one node before its rows are rematched
constexpr double step = 0.3;  // step of the prices, as a share of the step that would close the gap if the matching stayed the same
constexpr std::size_t few_conditions = 64;       // with so few conditions, trying all pairs is as fast as bounding them
constexpr std::size_t many_conditions = 256;     // with more conditions, not every branch keeps its own prices
constexpr std::size_t most_memory = 1ull << 31;  // bytes of open nodes

// The nearest prices that are between 0 and 1 and sum to n. Conditions that are not open have the price 0.
void project(std::vector<double>& price, const std::vector<Decision>& choice, double n) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t t = 0; t < price.size(); ++t) {
    if (choice[t] == Decision::open) low = std::min(low, price[t] - 1), high = std::max(high, price[t]);
  }
  for (int i = 0; i < 40; ++i) {
    const double shift = (low + high) / 2;
    double sum = 0;
    for (std::size_t t = 0; t < price.size(); ++t) {
      if (choice[t] == Decision::open) sum += std::clamp(price[t] - shift, 0.0, 1.0);
    }
    (sum > n ? low : high) = shift;
  }
  for (std::size_t t = 0; t < price.size(); ++t) price[t] = choice[t] == Decision::open ? std::clamp(price[t] - high, 0.0, 1.0) : 0;
}

// The values are not in order afterwards.
double sum_of_largest(std::vector<double>& values, std::size_t n) {
  n = std::min(n, values.size());
  if (n == 0) return 0;
  std::nth_element(values.begin(), values.begin() + (n - 1), values.end(), std::greater<>());
  return std::accumulate(values.begin(), values.begin() + n, 0.0);
}

}  // namespace

void SelectionSearch::offer(const Candidate& candidate) {
  if (candidate.chosen.size() != n_ || candidate.cost > ceiling_) return;
  if (!has_best_ || candidate.better_than(best_)) best_ = candidate, has_best_ = true;
}

// Whether no set with at least this cost and at most this count can be better than the best set.
bool SelectionSearch::hopeless(std::int64_t bound, std::int64_t most_count) const {
  if (!has_best_) return bound > ceiling_;
  return bound > best_.cost || (bound == best_.cost && most_count <= best_.count);
}

std::int64_t SelectionSearch::most_count(const Decided& decided, std::size_t left) const {
  std::vector<std::int64_t> open;
  for (std::size_t t = 0; t < decided.choice.size(); ++t) {
    if (decided.choice[t] == Decision::open) open.push_back(rules_.count[t]);
  }
  left = std::min(left, open.size());
  std::nth_element(open.begin(), open.begin() + left, open.end(), std::greater<>());
  return std::accumulate(open.begin(), open.begin() + left, decided.count);
}

// Costs are whole numbers, so a bound may be rounded up, except for the rounding of sums of many doubles.
std::int64_t SelectionSearch::rounded_up(double bound) const {
  return static_cast<std::int64_t>(std::ceil(bound - 1e-11 * static_cast<double>(rows_.total)));
}

// An upper bound on the sum of values of `left` open conditions that are admissible together.
double SelectionSearch::best_sum(const Decided& decided, std::size_t left, const std::vector<double>& value) {
  if (is_limited_) return best_sum_within_limits(decided, left, value);
  sorted_.clear();
  for (std::size_t t = 0; t < value.size(); ++t) {
    if (decided.choice[t] == Decision::open) sorted_.push_back(value[t]);
  }
  return sum_of_largest(sorted_, left);
}

// Two relaxations, each at least the sum of any admissible set. The first takes the best conditions of every feature up to its limit, and
// of these the best `left`. The second takes the best conditions of the features in use, and of as many other features as are allowed.
double SelectionSearch::best_sum_within_limits(const Decided& decided, std::size_t left, const std::vector<double>& value) {
  by_feature_.resize(rules_.n_features());
  for (auto& values : by_feature_) values.clear();
  for (std::size_t t = 0; t < value.size(); ++t) {
    if (decided.choice[t] == Decision::open) by_feature_[rules_.feature[t]].push_back(value[t]);
  }
  std::vector<double> fresh;
  sorted_.clear();
  double in_use = 0;
  for (std::size_t j = 0; j < by_feature_.size(); ++j) {
    auto& values = by_feature_[j];
    const std::size_t cap = std::min<std::size_t>({values.size(), left, static_cast<std::size_t>(rules_.per_feature[j] - decided.used[j])});
    std::partial_sort(values.begin(), values.begin() + cap, values.end(), std::greater<>());
    sorted_.insert(sorted_.end(), values.begin(), values.begin() + cap);
    const double sum = std::accumulate(values.begin(), values.begin() + cap, 0.0);
    if (decided.used[j] > 0) in_use += sum;
    else fresh.push_back(sum);
  }
  const auto n_fresh = static_cast<std::size_t>(std::max(0, rules_.max_features - decided.n_features_used));
  return std::min(sum_of_largest(sorted_, left), in_use + sum_of_largest(fresh, n_fresh));
}

// Forbids the conditions that no better set has. This is valid because a set with condition t covers at most t and the best of the others.
// If even that bound is hopeless, no set with t is better.
void SelectionSearch::rule_out(Node& node) {
  const std::size_t left = n_ - node.decided.chosen.size();
  const double without = node.base - best_sum(node.decided, left - 1, *node.cover);
  for (std::size_t t = 0; t < rows_.n_conditions; ++t) {
    if (node.decided.choice[t] != Decision::open) continue;
    if (hopeless(rounded_up(without - (*node.cover)[t]))) node.decided.choice[t] = Decision::forbidden;
  }
}

// Alternates between prices and matchings: the prices move towards the conditions that separate the matched pairs, and the rows are
// rematched at the new prices. The bound comes from the mean of all matchings. It is valid because the bound of each matching is valid
// (see selection_pairs.hpp). Returns whether the node is still of interest.
bool SelectionSearch::tighten(Node& node, Play& play, int passes) {
  const std::size_t left = n_ - node.decided.chosen.size(), T = rows_.n_conditions;
  const auto& choice = node.decided.choice;
  const std::int64_t count = most_count(node.decided, left);
  auto value_of = [&](const Cut& cut) { return cut.pairs - best_sum(node.decided, left, cut.cover); };
  Cut matched, mixed;
  auto mix = [&](double share) {
    mixed.pairs = (1 - share) * play.mean.pairs + share * matched.pairs;
    mixed.cover.resize(T);
    for (std::size_t t = 0; t < T; ++t) mixed.cover[t] = (1 - share) * play.mean.cover[t] + share * matched.cover[t];
    return value_of(mixed);
  };
  double value = play.mean.cover.empty() ? -std::numeric_limits<double>::infinity() : value_of(play.mean);
  double least_value = std::numeric_limits<double>::infinity();
  project(play.price, choice, static_cast<double>(left));
  play.mean_price = play.price;
  for (int pass = 0; pass < passes && !stop_.now(); ++pass) {
    matcher_.match(play.price, matched);
    if (play.mean.cover.empty()) {
      play.mean = matched;
      value = value_of(play.mean);
    } else {
      double best_share = 0;
      for (const double share : {0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.0}) {
        const double mixed_value = mix(share);
        if (mixed_value > value) value = mixed_value, best_share = share;
        else if (mixed_value < value && best_share > 0) break;  // it is concave in the share, or nearly so
      }
      if (best_share > 0) mix(best_share), std::swap(play.mean, mixed);
    }
    node.bound = std::max(node.bound, rounded_up(play.unavoidable + value));
    if (hopeless(node.bound, count)) return false;
    double matched_value = matched.pairs, mean_cover = 0, spread = 0;
    std::size_t n_open = 0;
    for (std::size_t t = 0; t < T; ++t) {
      if (choice[t] != Decision::open) continue;
      matched_value -= play.price[t] * matched.cover[t];
      mean_cover += matched.cover[t], ++n_open;
    }
    mean_cover /= static_cast<double>(n_open);
    for (std::size_t t = 0; t < T; ++t) {
      if (choice[t] == Decision::open) spread += (matched.cover[t] - mean_cover) * (matched.cover[t] - mean_cover);
    }
    least_value = std::min(least_value, matched_value);
    const double gap = std::max(1e-3 * matched_value, matched_value - value);
    if (spread == 0 || gap <= 0) break;
    for (std::size_t t = 0; t < T; ++t) play.price[t] += step * gap / spread * matched.cover[t];
    project(play.price, choice, static_cast<double>(left));
    for (std::size_t t = 0; t < T; ++t) play.mean_price[t] += (play.price[t] - play.mean_price[t]) / (pass + 2);
    // The value of the matching at the best prices is about the largest possible bound.
    if (node.number > 0 && pass >= 3 && has_best_ && play.unavoidable + least_value < static_cast<double>(best_.cost) - 1) break;
  }
  return true;
}

// One condition is left to choose: all are tried at once.
void SelectionSearch::finish_last(const Decided& decided, const Groups& groups) {
  costs_of_adding(rows_, groups, cost_);
  std::int32_t best = -1;
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(rows_.n_conditions); ++t) {
    if (decided.choice[t] == Decision::open && better_added(rules_, cost_, t, best)) best = t;
  }
  if (best < 0 || hopeless(cost_[best], decided.count + rules_.count[best])) return;
  std::vector<std::int32_t> chosen = decided.chosen;
  chosen.push_back(best);
  offer(candidate(rows_, rules_, std::move(chosen)));
}

bool SelectionSearch::finish_last_two(Node node, const Groups& groups) {
  Decided& decided = node.decided;
  for (std::int32_t t = 0; t < static_cast<std::int32_t>(rows_.n_conditions); ++t) {
    if (decided.choice[t] != Decision::open) continue;
    if (stop_.now()) return false;
    decided.choice[t] = Decision::forbidden;
    Decided with = decided;
    choose(rules_, with, t);
    if (node.cover && hopeless(rounded_up(node.base - (*node.cover)[t] - best_sum(with, 1, *node.cover)))) continue;
    finish_last(with, split(rows_, groups, t));
  }
  return true;
}

void SelectionSearch::push(Node node) {
  const std::size_t left = n_ - node.decided.chosen.size();
  if (node.cover) node.bound = std::max(node.bound, rounded_up(node.base - best_sum(node.decided, left, *node.cover)));
  if (hopeless(node.bound, most_count(node.decided, left))) return;
  node.number = ++pushed_;
  heap_.push_back(std::move(node));
  std::push_heap(heap_.begin(), heap_.end(), [](const Node& a, const Node& b) { return a.later_than(b); });
}

SelectionSearch::Node SelectionSearch::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), [](const Node& a, const Node& b) { return a.later_than(b); });
  Node node = std::move(heap_.back());
  heap_.pop_back();
  return node;
}

std::shared_ptr<const std::vector<double>> SelectionSearch::remembered(const std::vector<double>& values) {
  const std::size_t bytes = values.size() * sizeof(double);
  remembered_ += bytes;
  return {new std::vector<double>(values), [this, bytes](const std::vector<double>* kept) { remembered_ -= bytes, delete kept; }};
}

std::size_t SelectionSearch::memory() const {
  const std::size_t per_node = sizeof(Node) + rows_.n_conditions + sizeof(std::int32_t) * (rules_.n_features() + n_);
  return heap_.size() * per_node + remembered_;
}

// Returns whether it finished. If not, the node is still open.
bool SelectionSearch::expand(Node node) {
  ++nodes_;
  const std::size_t left = n_ - node.decided.chosen.size();
  if (room(rules_, node.decided) < left) return true;
  if (hopeless(node.bound, most_count(node.decided, left))) return true;
  const Groups groups = groups_of(rows_, node.decided.chosen);
  if (left == 0) return offer(candidate(rows_, rules_, node.decided.chosen)), true;
  if (left == 1) return finish_last(node.decided, groups), true;
  const auto n_open = static_cast<std::size_t>(std::count(node.decided.choice.begin(), node.decided.choice.end(), Decision::open));
  if (left == 2 && n_open <= few_conditions) return finish_last_two(std::move(node), groups);
  // From time to time, and ever less often, tries whether a branch leads to a better set than the start.
  if (std::has_single_bit(nodes_)) {
    offer(with_swaps(rows_, rules_, root_, completed_greedily(rows_, rules_, node.decided, n_), 1, stop_));
  }
  matcher_.look_at(groups, node.decided.choice, stop_);
  Play play;
  play.price = *node.price;
  play.unavoidable = static_cast<double>(matcher_.unavoidable());
  node.bound = std::max(node.bound, matcher_.unavoidable());
  if (hopeless(node.bound, most_count(node.decided, left))) return true;
  const bool is_root = node.number == 0;
  // One branch per condition, the most promising first: it is in, and the conditions before it are out. The rows stay merged as they are.
  // Conditions that are out just have no price.
  for (int n_branches = 0; n_branches < most_branches && room(rules_, node.decided) >= left; ++n_branches) {
    if (!tighten(node, play, n_branches > 0 ? passes_between : is_root ? passes_at_root : passes_below)) return true;
    const bool is_kept = n_branches == 0 || rows_.n_conditions <= many_conditions;
    if (!play.mean.cover.empty() && is_kept) {
      node.base = play.unavoidable + play.mean.pairs;
      node.cover = remembered(play.mean.cover);
      rule_out(node);
    }
    if (is_root && n_branches == 0) {
      offer(with_swaps(rows_, rules_, root_, completed_by(rows_, rules_, node.decided, n_, play.mean_price), 1, stop_));
      if (has_best_) offer(with_swaps(rows_, rules_, root_, best_, 2, stop_));
    }
    std::int32_t branch = -1;
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(rows_.n_conditions); ++t) {
      if (node.decided.choice[t] != Decision::open) continue;
      if (branch < 0 || play.mean_price[t] > play.mean_price[branch]) branch = t;
    }
    if (branch < 0) return true;
    if (is_kept) node.price = remembered(play.price);
    Node in = node;
    choose(rules_, in.decided, branch);
    if (in.cover) in.base -= (*in.cover)[branch];
    push(std::move(in));
    node.decided.choice[branch] = Decision::forbidden;
    if (stop_.now()) break;
  }
  push(std::move(node));
  return true;
}

void SelectionSearch::start() {
  const std::vector<double> count(rules_.count.begin(), rules_.count.end());
  offer(with_swaps(rows_, rules_, root_, completed_greedily(rows_, rules_, root_, n_), 1, stop_));
  offer(with_swaps(rows_, rules_, root_, completed_by(rows_, rules_, root_, n_, count), 1, stop_));
}

SelectionResult SelectionSearch::run(const Decided& root, std::size_t n, std::int64_t ceiling, std::uint64_t max_nodes) {
  std::vector<std::int32_t> n_of_feature(rules_.n_features(), 0);
  for (const std::int32_t j : rules_.feature) ++n_of_feature[j];
  is_limited_ = rules_.max_features < static_cast<std::int32_t>(rules_.n_features());
  for (std::size_t j = 0; j < n_of_feature.size(); ++j) is_limited_ = is_limited_ || rules_.per_feature[j] < n_of_feature[j];
  n_ = n, ceiling_ = ceiling, has_best_ = false, nodes_ = pushed_ = 0;
  heap_.clear();
  root_ = root;
  start();
  std::vector<double> price(rows_.n_conditions, 0.0);
  heap_.push_back({root, 0, remembered(price), nullptr, 0, 0});
  SelectionResult result;
  std::int64_t proven = 0;
  bool stopped = false;
  while (!heap_.empty()) {
    Node node = pop();
    proven = std::max(proven, node.bound);  // the least bound of all open nodes
    stopped = stop_.now() || memory() > most_memory || nodes_ >= max_nodes || !expand(std::move(node));
    if (stopped) break;
  }
  result.found = has_best_, result.best = best_, result.nodes = nodes_;
  result.optimal = !stopped;
  result.bound = stopped ? (has_best_ ? std::min(proven, best_.cost) : proven) : (has_best_ ? best_.cost : ceiling + 1);
  return result;
}

}  // namespace fcca
