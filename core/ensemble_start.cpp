#include "ensemble_start.hpp"

#include <algorithm>

#include "outcome.hpp"

namespace fcca {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double shortfall(const Task& task, const double* sums) {
  double total = 0;
  for (std::size_t r = 0; r < task.n_rivals; ++r) total += std::max(0.0, task.needed[r] - sums[r]);
  return total;
}

std::int32_t n_moved(const Task& task, const std::vector<std::int32_t>& cells) {
  std::int32_t n = 0;
  for (std::size_t j = 0; j < cells.size(); ++j) n += cells[j] != task.own[j];
  return n;
}

}  // namespace

void Start::leads(const Task& task, const std::int32_t* cells, double* sums) const {
  std::fill(sums, sums + task.n_rivals, 0.0);
  for (const std::int32_t tree : task.trees) {
    const double* lead = task.lead_of(ensemble_.leaf_at(tree, cells));
    for (std::size_t r = 0; r < task.n_rivals; ++r) sums[r] += lead[r];
  }
}

double Start::cost(const Task& task, const std::int32_t* cells) const {
  double total = 0;
  for (const std::size_t j : ensemble_.movable) total += task.cost[ensemble_.cells.first_cell(j) + cells[j]];
  return total;
}

bool Start::beaten(const Task& task, const double* sums) {
  for (std::size_t r = 0; r < task.n_rivals; ++r) {
    if (!(sums[r] >= task.needed[r])) return false;
  }
  return true;
}

// Sums of the leads of the trees that test feature j, for each of its cells. The other features stay where they are.
void Start::lead_along(const Task& task, const std::int32_t* cells, std::size_t j) {
  const CellTrees& trees = ensemble_.trees;
  const std::int32_t last = static_cast<std::int32_t>(ensemble_.cells.n_cuts(j));
  const std::size_t R = task.n_rivals;
  along_.assign((last + 2) * R, 0.0);
  for (std::int32_t i = ensemble_.first_tree_of[j]; i < ensemble_.first_tree_of[j + 1]; ++i) {
    if (task.matters[ensemble_.tree_of[i]] == 0) continue;
    open_.clear();
    open_.push_back({static_cast<std::int32_t>(trees.roots[ensemble_.tree_of[i]]), 0, last});
    while (!open_.empty()) {
      auto [node, low, high] = open_.back();
      open_.pop_back();
      while (trees.feature[node] >= 0) {
        const std::int32_t cut = trees.cut[node];
        if (trees.feature[node] != static_cast<std::int32_t>(j)) {
          node = cells[trees.feature[node]] <= cut ? trees.left[node] : trees.right[node];
        } else if (high <= cut) {
          node = trees.left[node];
        } else if (low > cut) {
          node = trees.right[node];
        } else {
          open_.push_back({trees.right[node], cut + 1, high});
          high = cut;
          node = trees.left[node];
        }
      }
      const double* lead = task.lead_of(ensemble_.node_leaf[node]);
      for (std::size_t r = 0; r < R; ++r) along_[low * R + r] += lead[r], along_[(high + 1) * R + r] -= lead[r];
    }
  }
  for (std::size_t i = R; i < (last + 1) * R; ++i) along_[i] += along_[i - R];
}

void Start::offer(const Task& task, std::vector<std::int32_t> cells, Incumbent& best) {
  const std::size_t R = task.n_rivals;
  sums_.resize(R);
  leads(task, cells.data(), sums_.data());
  if (!beaten(task, sums_.data())) return;
  auto keep = [&](std::vector<std::int32_t>&& found) {
    if (task.rules != nullptr && !task.rules->keeps(found.data())) return;
    const double price = cost(task, found.data());
    if (price < strictly_below(best.cost)) best.cost = price, best.cells = std::move(found);
  };
  if (task.rules != nullptr) keep(std::vector<std::int32_t>(cells));  // undoing moves may break a rule
  // Undoes as many moves as possible, the largest saving first.
  for (bool changed = true; changed;) {
    changed = false;
    double saving = 0;
    std::size_t feature = 0;
    std::int32_t to = 0;
    for (const std::size_t j : ensemble_.movable) {
      if (cells[j] == task.own[j]) continue;
      lead_along(task, cells.data(), j);
      const double* cost = task.cost.data() + ensemble_.cells.first_cell(j);
      for (std::int32_t cell = task.low[j]; cell <= task.high[j]; ++cell) {
        if (!(cost[cells[j]] - cost[cell] > saving)) continue;
        bool holds = true;
        for (std::size_t r = 0; r < R && holds; ++r) {
          holds = sums_[r] - along_[cells[j] * R + r] + along_[cell * R + r] >= task.needed[r] + task.slack[r];
        }
        if (holds) saving = cost[cells[j]] - cost[cell], feature = j, to = cell;
      }
    }
    if (saving > 0) {
      cells[feature] = to;
      leads(task, cells.data(), sums_.data());
      changed = true;
    }
  }
  keep(std::move(cells));
}

void Start::greedy(const Task& task, std::vector<std::int32_t> cells, Measure measure, const Stop& stop, Incumbent& best) {
  const std::size_t R = task.n_rivals;
  std::vector<double> sums(R);
  moved_.resize(R);
  for (std::size_t step = 0; step < 2 * ensemble_.movable.size() + 5; ++step) {
    leads(task, cells.data(), sums.data());
    if (beaten(task, sums.data())) return offer(task, std::move(cells), best);
    if (cost(task, cells.data()) >= best.cost || stop.now()) return;
    const double missing = shortfall(task, sums.data());
    double best_rate = -1, last_cost = infinity;
    std::int32_t feature = -1, to = 0, last_feature = -1, last_to = 0;
    const bool no_more = task.rules != nullptr && task.rules->max_changes() > 0 && n_moved(task, cells) >= task.rules->max_changes();
    for (const std::size_t j : ensemble_.movable) {
      if (task.low[j] == task.high[j] || (no_more && cells[j] == task.own[j])) continue;
      lead_along(task, cells.data(), j);
      const double* cost = task.cost.data() + ensemble_.cells.first_cell(j);
      for (std::int32_t cell = task.low[j]; cell <= task.high[j]; ++cell) {
        for (std::size_t r = 0; r < R; ++r) moved_[r] = sums[r] - along_[cells[j] * R + r] + along_[cell * R + r];
        const double left = shortfall(task, moved_.data()), capped = missing - left;
        const double gain = R == 1 ? moved_[0] - sums[0] : capped;
        if (!(gain > 1e-12 * missing)) continue;
        const double extra = cost[cell] - cost[cells[j]];
        if (left <= 0 && extra < last_cost) last_cost = extra, last_feature = static_cast<std::int32_t>(j), last_to = cell;
        const double size = measure == Measure::gain ? gain : measure == Measure::capped_gain ? capped : gain * gain;
        const double rate = size / std::max(extra, task.small_cost);
        if (rate > best_rate) best_rate = rate, feature = static_cast<std::int32_t>(j), to = cell;
      }
    }
    if (last_feature >= 0) {  // a single move suffices: the cheapest such move is a counterfactual too
      auto there = cells;
      there[last_feature] = last_to;
      offer(task, std::move(there), best);
    }
    if (feature < 0) return;
    cells[feature] = to;
  }
}

void Start::run(const Task& task, const std::vector<std::int32_t>& cells, const Stop& stop, Incumbent& best) {
  for (const Measure measure : {Measure::gain, Measure::capped_gain, Measure::squared_gain}) greedy(task, cells, measure, stop, best);
}

void Start::run_once(const Task& task, const std::vector<std::int32_t>& cells, const Stop& stop, Incumbent& best) {
  greedy(task, cells, Measure::capped_gain, stop, best);
}

}  // namespace fcca
