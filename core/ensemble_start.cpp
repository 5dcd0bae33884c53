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

void Task::add_leads(const std::int32_t* cells, double* sums) const {
  std::fill(sums, sums + n_rivals, 0.0);
  for (std::size_t tree = 0; tree < ensemble->trees.n_trees; ++tree) {
    const double* value = ensemble->value_of(ensemble->leaf_at(tree, cells));
    for (std::size_t r = 0; r < n_rivals; ++r) sums[r] += lead[r].of(value);
  }
}

// Lists how the sums of leads change if one of the wanted features moves alone.
void Start::list_changes(const Task& task, const std::int32_t* cells) {
  if (task.ensemble->trees.has_sets()) list_changes_in<true>(task, cells);
  else list_changes_in<false>(task, cells);
}

template <bool with_sets>
void Start::list_changes_in(const Task& task, const std::int32_t* cells) {
  const Ensemble& e = *task.ensemble;
  changes_.resize(e.cells.n_features), amounts_.clear();
  for (auto& changes : changes_) changes.clear();
  low_ = task.low, high_ = task.high;
  for (std::size_t tree = 0; tree < e.trees.n_trees; ++tree) {
    const double* present = e.value_of(list_branches<with_sets>(task, tree, cells));
    while (!branches_.empty()) {
      auto [node, j, low, high] = branches_.back();
      branches_.pop_back();
      while (e.trees.feature[node] >= 0) {
        const std::int32_t feature = e.trees.feature[node];
        if (feature != j) {
          node = e.trees.child_at<with_sets>(node, cells[feature]);
          continue;
        }
        const CellTrees::Division division = e.trees.divide<with_sets>(node, low, high);
        if (division.end < high) branches_.push_back({division.rest, j, division.end + 1, high}), high = division.end;
        node = division.first;
      }
      const std::int32_t position = static_cast<std::int32_t>(amounts_.size());
      if (!add_amounts(task, e.value_of(node), present)) continue;
      changes_[j].push_back({low, position});
      if (high < task.high[j]) changes_[j].push_back({high + 1, ~position});
    }
  }
  for (auto& changes : changes_) {
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.cell != b.cell ? a.cell < b.cell : a.position < b.position; });
  }
}

// Adds the differences between the leads of two leaves; false if there are none.
bool Start::add_amounts(const Task& task, const double* value, const double* present) {
  bool differs = false;
  for (const Lead& lead : task.lead) {
    amounts_.push_back(lead.of(value) - lead.of(present));
    differs = differs || amounts_.back() != 0;
  }
  if (!differs) amounts_.resize(amounts_.size() - task.n_rivals);
  return differs;
}

// Lists the branches that leave a tree's path where a wanted feature alone sends the point to the other side. Returns the leaf of the path.
template <bool with_sets>
std::int32_t Start::list_branches(const Task& task, std::size_t tree, const std::int32_t* cells) {
  const CellTrees& trees = task.ensemble->trees;
  std::int32_t node = static_cast<std::int32_t>(trees.roots[tree]);
  while (trees.feature[node] >= 0) {
    const std::int32_t j = trees.feature[node];
    if (wanted_[j] == 0) {
      node = trees.child_at<with_sets>(node, cells[j]);
      continue;
    }
    const auto [end, first, rest] = trees.divide<with_sets>(node, low_[j], high_[j]);
    if (cells[j] <= end) {
      if (end < high_[j]) branches_.push_back({rest, j, end + 1, high_[j]}), high_[j] = end;
      node = first;
    } else {
      branches_.push_back({first, j, low_[j], end}), low_[j] = end + 1;
      node = rest;
    }
  }
  for (const Branch& branch : branches_) low_[branch.feature] = task.low[branch.feature], high_[branch.feature] = task.high[branch.feature];
  return node;
}

// Calls visit(cell) for the cheapest cell of each run of cells in which the leads are the same. They differ from the present leads by
// change_.
template <class Visit>
void Start::for_each_move(const Task& task, const std::vector<std::int32_t>& cells, std::size_t j, Visit visit) {
  change_.assign(task.n_rivals, 0.0);
  auto next = changes_[j].begin();
  const auto end = changes_[j].end();
  for (std::int32_t from = task.low[j]; from <= task.high[j];) {
    for (; next != end && next->cell <= from; ++next) {
      const bool adds = next->position >= 0;
      const double* amount = amounts_.data() + (adds ? next->position : ~next->position);
      for (std::size_t r = 0; r < task.n_rivals; ++r) change_[r] += adds ? amount[r] : -amount[r];
    }
    const std::int32_t to = next != end ? next->cell - 1 : task.high[j];
    const std::int32_t cell = task.cheapest(j, from, to, task.costs_of(j));
    if (cell != cells[j]) visit(cell);
    from = to + 1;
  }
}

// Replaces the move that saves most, without losing the leads needed; false if no move can be replaced.
bool Start::undo_one(const Task& task, std::vector<std::int32_t>& cells) {
  wanted_.resize(cells.size());
  for (std::size_t j = 0; j < cells.size(); ++j) wanted_[j] = cells[j] != task.own[j];
  list_changes(task, cells.data());
  double saving = 0;
  std::size_t feature = 0;
  std::int32_t to = 0;
  for (const std::size_t j : task.ensemble->movable) {
    if (wanted_[j] == 0) continue;
    const double* cost = task.costs_of(j);
    for_each_move(task, cells, j, [&](std::int32_t cell) {
      if (!(cost[cells[j]] - cost[cell] > saving)) return;
      for (std::size_t r = 0; r < task.n_rivals; ++r) {
        if (!(sums_[r] + change_[r] >= task.needed[r] + task.slack[r])) return;
      }
      saving = cost[cells[j]] - cost[cell], feature = j, to = cell;
    });
  }
  if (!(saving > 0)) return false;
  std::swap(cells[feature], to);
  task.add_leads(cells.data(), sums_.data());
  if (task.is_reached(sums_.data())) return true;
  cells[feature] = to;  // the sum of changes was inexact
  return false;
}

void Start::offer(const Task& task, std::vector<std::int32_t> cells, Incumbent& best) {
  sums_.resize(task.n_rivals);
  task.add_leads(cells.data(), sums_.data());
  if (!task.is_reached(sums_.data())) return;
  auto keep = [&](std::vector<std::int32_t>&& found) {
    if (task.rules != nullptr && !task.rules->keeps(found.data())) return;
    const double price = task.cost_of(found.data());
    if (price < strictly_below(best.cost)) best.cost = price, best.cells = std::move(found);
  };
  if (task.rules != nullptr) keep(std::vector<std::int32_t>(cells));  // undoing moves may break a rule
  while (undo_one(task, cells)) {}
  keep(std::move(cells));
}

void Start::run(const Task& task, std::vector<std::int32_t> cells, Measure measure, const Stop& stop, Incumbent& best) {
  const std::size_t R = task.n_rivals;
  const Ensemble& e = *task.ensemble;
  std::vector<double> sums(R);
  moved_.resize(R), wanted_.resize(cells.size());
  for (std::size_t step = 0; step < 2 * e.movable.size() + 5; ++step) {
    task.add_leads(cells.data(), sums.data());
    if (task.is_reached(sums.data())) return offer(task, std::move(cells), best);
    if (task.cost_of(cells.data()) >= best.cost || stop.now()) return;
    const double missing = shortfall(task, sums.data());
    double best_rate = -1, last_cost = infinity;
    std::int32_t feature = -1, to = 0, last_feature = -1, last_to = 0;
    const bool no_more = task.rules != nullptr && task.rules->max_changes() > 0 && n_moved(task, cells) >= task.rules->max_changes();
    for (std::size_t j = 0; j < cells.size(); ++j) wanted_[j] = task.low[j] < task.high[j] && !(no_more && cells[j] == task.own[j]);
    list_changes(task, cells.data());
    for (const std::size_t j : e.movable) {
      if (wanted_[j] == 0) continue;
      const double* cost = task.costs_of(j);
      for_each_move(task, cells, j, [&](std::int32_t cell) {
        for (std::size_t r = 0; r < R; ++r) moved_[r] = sums[r] + change_[r];
        const double left = shortfall(task, moved_.data()), capped = missing - left;
        const double gain = R == 1 ? change_[0] : capped;
        if (!(gain > 1e-12 * missing)) return;
        const double extra = cost[cell] - cost[cells[j]];
        if (left <= 0 && extra < last_cost) last_cost = extra, last_feature = static_cast<std::int32_t>(j), last_to = cell;
        const double size = measure == Measure::capped_gain ? capped : gain * gain;
        const double rate = size / std::max(extra, task.small_cost);
        if (rate > best_rate) best_rate = rate, feature = static_cast<std::int32_t>(j), to = cell;
      });
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

}  // namespace fcca
