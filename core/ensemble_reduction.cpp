#include "ensemble_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// Sums of leads that differ by less than this share of a step count as equal.
constexpr double same_step = 1e-7;
// A step is at least this many times the rounding error of a sum, so that rounding errors are far below same_step.
constexpr double least_step = 1e8;
// Without sets of cells, the reduced ensemble is not larger than the whole one.
constexpr std::size_t most_nodes = 2'000'000;  // half a gigabyte, including the tables of the search
}  // namespace

void Reduction::build(const Task& whole, double limit) {
  begin(whole, nullptr, limit);
  contract_trees();  // the own cells cost nothing, so every tree has a leaf left
  finish();
}

bool Reduction::build(const Task& whole, const Part& part, double limit) {
  begin(whole, &part, limit);
  if (!contract_trees()) return false;
  finish();
  return true;
}

void Reduction::begin(const Task& whole, const Part* part, double limit) {
  whole_ = &whole, part_ = part, limit_ = limit;
  most_nodes_ = std::max(most_nodes, whole.ensemble->trees.n_nodes);
  limits_moves_ = whole.rules != nullptr && whole.rules->max_changes() > 0;
  most_moves_ = limits_moves_ ? whole.rules->max_changes() : 0;
  const std::size_t R = whole.n_rivals;
  task.n_rivals = R, task.rules = whole.rules;
  task.needed = whole.needed, task.slack = whole.slack, task.small_cost = whole.small_cost, task.uneven = whole.uneven;
  task.fixed_cost = whole.fixed_cost;
  task.lead.clear();
  for (std::size_t r = 0; r < R; ++r) task.lead.push_back({static_cast<std::int32_t>(r), static_cast<std::int32_t>(r), 1.0, 0.0});
  clip_box();
}

bool Reduction::contract_trees() {
  roots_.clear(), tree_.clear(), n_nodes_ = 0;
  if (value_.size() < feature_.size() * task.n_rivals) value_.resize(feature_.size() * task.n_rivals);
  kept_cuts_.resize(whole_->ensemble->cells.n_features);
  for (auto& cuts : kept_cuts_) cuts.clear();
  double least = whole_->fixed_cost;
  for (const std::size_t j : whole_->ensemble->movable) least += least_cost(j, box_low_[j], box_high_[j]);
  const CellTrees& trees = whole_->ensemble->trees;
  const std::size_t R = task.n_rivals;
  for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
    const std::int32_t root = contract(static_cast<std::int32_t>(trees.roots[tree]), least);
    if (root < 0) return false;
    if (feature_[root] >= 0) {
      roots_.push_back(root), tree_.push_back(static_cast<std::int32_t>(tree));
      continue;
    }
    // A single leaf: all cheaper changes have its leads.
    for (std::size_t r = 0; r < R; ++r) task.needed[r] -= value_[root * R + r];
    --n_nodes_;
  }
  for (std::size_t r = 0; r < R; ++r) round_needed(r);
  return true;
}

// Raises the needed lead to the next sum of leads that exists. If the leads of every tree differ by multiples of a step, as in forests with
// pure leaves, all sums differ by multiples of it. This is valid because no sum is between the needed lead and the raised one.
void Reduction::round_needed(std::size_t rival) {
  const std::size_t R = task.n_rivals;
  if (roots_.empty()) return;
  // The nodes of a tree end with its root.
  auto for_each_difference = [&](auto visit) {
    double sum = 0;
    for (std::size_t tree = 0, node = 0; tree < roots_.size(); ++tree) {
      double first = infinity;
      for (; node <= static_cast<std::size_t>(roots_[tree]); ++node) {
        if (left_[node] != no_child) continue;
        const double lead = value_[node * R + rival];
        if (first == infinity) first = lead;
        else if (!visit(std::abs(lead - first))) return infinity;
      }
      sum += first;
    }
    return sum;
  };
  double step = infinity;
  const double smallest = least_step * task.slack[rival];
  for_each_difference([&](double difference) {
    if (difference > smallest) step = std::min(step, difference);
    return true;
  });
  if (step == infinity) return;
  const double tolerance = same_step * step / static_cast<double>(roots_.size());
  const double sum = for_each_difference([&](double difference) { return std::abs(difference - step * std::round(difference / step)) <= tolerance; });
  if (sum == infinity) return;
  const double raised = sum + step * (std::ceil((task.needed[rival] - sum) / step - 4 * same_step) - 2 * same_step);
  task.needed[rival] = std::max(task.needed[rival], raised);
}

void Reduction::finish() {
  if (whole_->rules == nullptr) {
    merge_cells();
  } else {
    cells_ = whole_->ensemble->cells;
    task.cost = whole_->cost, task.own = whole_->own, task.low = box_low_, task.high = box_high_;
  }
  const CellTrees reduced{roots_.size(), roots_.data(), n_nodes_, feature_.data(), cut_.data(), left_.data(), right_.data(), task.n_rivals, value_.data()};
  ensemble_.emplace(reduced, cells_);
  task.ensemble = &*ensemble_;
}

// Leaves out the cells at the ends of the box that cost the limit or more on their own.
void Reduction::clip_box() {
  const Task& whole = *whole_;
  uneven_costs_.resize(whole.ensemble->cells.n_features);
  box_low_ = part_ != nullptr ? part_->low : whole.low, box_high_ = part_ != nullptr ? part_->high : whole.high;
  for (const std::size_t j : whole.ensemble->movable) {
    const double* cost = whole.costs_of(j);
    const std::int32_t near = std::clamp(whole.own[j], box_low_[j], box_high_[j]);
    while (box_low_[j] < near && cost[box_low_[j]] >= limit_) ++box_low_[j];
    while (box_high_[j] > near && cost[box_high_[j]] >= limit_) --box_high_[j];
    if (whole.uneven[j] != 0) uneven_costs_[j].build(cost, box_low_[j], box_high_[j]);
  }
  low_ = box_low_, high_ = box_high_;
}

double Reduction::least_cost(std::size_t j, std::int32_t low, std::int32_t high) const {
  const std::int32_t near = std::clamp(whole_->own[j], low, high);
  if (near == whole_->own[j]) return 0;
  return whole_->uneven[j] != 0 ? uneven_costs_[j].least(low, high) : whole_->costs_of(j)[near];
}

// Starts to visit a side of a test if it has points that cost less than the limit; false otherwise. All points of a box cost at least the
// sum of the least costs of its features. Sums of rounded costs differ from the exact ones by far less than the proof tolerance.
bool Reduction::enter(std::int32_t node, std::int32_t j, std::int32_t low, std::int32_t high, double rest, std::int32_t other_moves) {
  if (low > high) return false;
  const double cost = rest + least_cost(j, low, high);
  if (!(cost < limit_)) return false;
  const std::int32_t n_moves = limits_moves_ ? other_moves + moves(j, low, high) : 0;
  if (n_moves > most_moves_) return false;
  low_[j] = low, high_[j] = high;
  const CellTrees& trees = whole_->ensemble->trees;
  while (trees.feature[node] >= 0) {  // down to the next test that divides the box
    const std::int32_t feature = trees.feature[node];
    if (trees.has_set(node)) {
      const CellTrees::Division division = trees.divide(node, low_[feature], high_[feature]);
      if (division.end < high_[feature]) break;
      node = division.first;
    } else if (high_[feature] <= trees.cut[node]) {
      node = trees.left[node];
    } else if (low_[feature] > trees.cut[node]) {
      node = trees.right[node];
    } else {
      break;
    }
  }
  visits_.emplace_back(node, cost, n_moves);
  return true;
}

// Adds the remaining part of a tree behind the present nodes, children first. Returns its root; -1 if no leaf is left. All points of the
// box cost at least least.
std::int32_t Reduction::contract(std::int32_t root, double least) {
  const CellTrees& trees = whole_->ensemble->trees;
  visits_.assign(1, {root, least, 0});
  std::int32_t result = nothing;  // of the visit that ended last
  while (!visits_.empty()) {
    Visit& visit = visits_.back();
    const std::int32_t node = visit.node, j = trees.feature[node];
    if (j < 0) {
      result = part_ != nullptr && part_->drops_node[node] != 0 ? dropped : add_leaf(node);
      visits_.pop_back();
      continue;
    }
    if (visit.stage == 0) {
      visit.stage = 1, visit.low = low_[j], visit.high = high_[j];
      visit.rest = visit.cost - least_cost(j, visit.low, visit.high);
      visit.other_moves = limits_moves_ ? visit.moves - moves(j, visit.low, visit.high) : 0;
      visit.division = trees.divide(node, visit.low, visit.high);
      result = nothing;
      if (enter(visit.division.first, j, visit.low, visit.division.end, visit.rest, visit.other_moves)) continue;
    }
    const CellTrees::Division division = visit.division;
    if (visit.stage == 1) {
      visit.stage = 2, visit.left = result;
      result = nothing;
      if (enter(division.rest, j, division.end + 1, visit.high, visit.rest, visit.other_moves)) continue;
    }
    low_[j] = visit.low, high_[j] = visit.high;
    if (result == nothing) result = visit.left;
    else if (visit.left != nothing && (result >= 0 || visit.left >= 0)) result = add_test(j, division.end, kept(visit.left), kept(result));
    visits_.pop_back();
  }
  return result;
}

// The node of a side of a test. The dropped leaves of a side become one.
std::int32_t Reduction::kept(std::int32_t side) {
  if (side != dropped) return side;
  const std::int32_t node = add_node(-1, 0, dropped, dropped);
  std::fill_n(value_.begin() + static_cast<std::ptrdiff_t>(node * task.n_rivals), task.n_rivals, 0.0);
  return node;
}

std::int32_t Reduction::add_node(std::int32_t j, std::int32_t cut, std::int32_t left, std::int32_t right) {
  if (n_nodes_ == feature_.size()) make_room();
  feature_[n_nodes_] = j, cut_[n_nodes_] = cut, left_[n_nodes_] = left, right_[n_nodes_] = right;
  return static_cast<std::int32_t>(n_nodes_++);
}

void Reduction::make_room() {
  if (n_nodes_ >= most_nodes_) throw std::overflow_error("too many nodes");
  const std::size_t n = std::min(most_nodes_, 2 * n_nodes_ + 64);
  value_.resize(n * task.n_rivals);
  for (auto* nodes : {&cut_, &left_, &right_, &feature_}) nodes->resize(n);  // feature_ last: if memory runs out, no other array is shorter
}

std::int32_t Reduction::add_leaf(std::int32_t node) {
  const std::int32_t leaf = add_node(-1, 0, no_child, no_child);
  const double* value = whole_->ensemble->value_of(node);
  double* leads = value_.data() + leaf * task.n_rivals;
  for (const Lead& lead : whole_->lead) *leads++ = lead.of(value);
  return leaf;
}

// Two leaves with the same leads become one. They are the last two nodes.
std::int32_t Reduction::add_test(std::int32_t j, std::int32_t cut, std::int32_t left, std::int32_t right) {
  const std::size_t R = task.n_rivals;
  const double *left_leads = value_.data() + left * R, *right_leads = value_.data() + right * R;
  if (feature_[left] < 0 && feature_[right] < 0 && !is_dropped(left) && !is_dropped(right) && std::equal(left_leads, left_leads + R, right_leads)) {
    --n_nodes_;
    return left;
  }
  kept_cuts_[j].push_back(cut);
  return add_node(j, cut, left, right);
}

// The cheapest cell of a range that is not dropped. If all are dropped, the cheapest one. The own cell always counts, so that costs rise
// outwards from it.
std::int32_t Reduction::cheapest_kept(std::size_t j, std::int32_t low, std::int32_t high) const {
  const double* cost = whole_->costs_of(j);
  const std::int32_t cheapest = whole_->cheapest(j, low, high, cost);
  if (part_ == nullptr || cheapest == whole_->own[j]) return cheapest;
  const std::uint8_t* dropped = part_->drops_cell.data() + whole_->ensemble->cells.first_cell(j);
  if (dropped[cheapest] == 0) return cheapest;
  std::int32_t best = -1;
  for (std::int32_t cell = low; cell <= high; ++cell) {
    if (dropped[cell] == 0 && (best < 0 || cost[cell] < cost[best])) best = cell;
  }
  return best < 0 ? cheapest : best;
}

// Merges the cells between the cuts that are left, and numbers the tests by these cuts.
void Reduction::merge_cells() {
  const Task& whole = *whole_;
  const std::size_t n_features = whole.ensemble->cells.n_features;
  first_cut_.assign(1, 0), task.cost.clear();
  for (auto* by_cell : {&origin_, &first_merged_, &last_merged_}) by_cell->clear();
  task.own.assign(n_features, 0), task.low.assign(n_features, 0), task.high.assign(n_features, 0);
  for (std::size_t j = 0; j < n_features; ++j) {
    std::vector<std::int32_t>& cuts = kept_cuts_[j];
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    const std::int32_t n = static_cast<std::int32_t>(cuts.size()), own = whole.own[j];
    task.own[j] = own < box_low_[j] ? -1 : n + 1;
    for (std::int32_t cell = 0, low = box_low_[j]; cell <= n; ++cell) {
      const std::int32_t high = cell < n ? cuts[cell] : box_high_[j];
      if (low <= own && own <= high) task.own[j] = cell;
      origin_.push_back(cheapest_kept(j, low, high)), first_merged_.push_back(low), last_merged_.push_back(high);
      task.cost.push_back(whole.costs_of(j)[origin_.back()]);
      low = high + 1;
    }
    // Features that had no cuts before are part of the fixed cost of the whole.
    if (n == 0 && whole.ensemble->cells.n_cuts(j) > 0) task.fixed_cost += task.cost.back();
    task.high[j] = n;
    first_cut_.push_back(first_cut_.back() + n);
  }
  for (std::size_t node = 0; node < n_nodes_; ++node) {
    if (feature_[node] < 0) continue;
    const std::vector<std::int32_t>& cuts = kept_cuts_[feature_[node]];
    cut_[node] = static_cast<std::int32_t>(std::lower_bound(cuts.begin(), cuts.end(), cut_[node]) - cuts.begin());
  }
  cells_ = {n_features, first_cut_.data(), nullptr, nullptr, nullptr, {nullptr, nullptr}};
}

const std::vector<std::int32_t>& Reduction::original(const std::vector<std::int32_t>& cells) {
  if (task.rules != nullptr) return cells;  // cells were not merged
  original_.resize(cells.size());
  for (std::size_t j = 0; j < cells.size(); ++j) original_[j] = origin_[cells_.first_cell(j) + cells[j]];
  return original_;
}

}  // namespace fcca
