// What is known about the sides of splits before they are searched, and depth 3 for costs that need every pair of columns.
#include <algorithm>
#include <array>
#include <limits>

#include "tree_search.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

// Searches trees of depth 3 if reading a pair table takes longer than building it. Every split has bounds, as in branch().
template <class W>
void TreeSearch<W>::sweep_by_bounds(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<FirstSplitCosts>& first_splits,
                                    const std::vector<double>& costs, double as_leaf, Solutions& best, bool is_root, Side side) {
  SplitBounds<W> bounds = bounds_from_pairs(rows, first_splits);
  if (side.quarters != nullptr) side.quarters->raise(side.side, rows, shallow_slots(), bounds);
  SideTable<W> table(rows, total);
  std::vector<char> done(rows.n_columns, 0);
  for (const std::size_t c : chains_by_cost(rows, costs)) {
    for (std::int32_t split = 0; (split = open_split(rows, c, bounds, done, costs, best)) >= 0;) {
      done[split] = 1;
      if (!bounds.adopt_twin(split) && solve_quarters(rows, table, bounds, split, side, best) && is_root && best.back().split != none) {
        root_best_ = best.back();
      }
      bounds.spread_from(split);
    }
  }
  raise_to_bounds(rows, bounds, as_leaf, best);
  if (is_root && budget_.limited()) keep_for_deeper(bounds, rows.n_columns, 3);
}

// The bounds that need no search: the cost of a side as a leaf, and the cost of its best tree with two leaves, which is known from the pair
// table of all rows.
template <class W>
SplitBounds<W> TreeSearch<W>::bounds_from_pairs(const TreeRows<W>& rows, const std::vector<FirstSplitCosts>& first_splits) const {
  SplitBounds<W> bounds(rows, budget_, row_hash_, cost_.more_rows_cost_more(),
                        [this](const WeightSums& sums, double* side) { bounds_without_search(sums, side); });
  if (!budget_.limited()) return bounds;
  const std::size_t one = budget_.slot_of(1), two = budget_.slot_of(2);
  for (std::size_t i = 0; i < rows.n_columns; ++i) {
    double *left = bounds.left(i), *right = bounds.right(i);
    left[two] = std::max(left[two], std::min(left[one], first_splits[i].left_split + 2 * penalty_));
    right[two] = std::max(right[two], std::min(right[one], first_splits[i].right_split + 2 * penalty_));
  }
  return bounds;
}

// Raises lower bounds on the costs of the trees of some rows, by slot.
template <class W>
void TreeSearch<W>::raise_to_clusters(const TreeRows<W>& rows, const std::int32_t* chosen, std::size_t n, std::size_t n_slots, double* bounds) {
  if (!clusters_) return;
  clusters_->clear();
  for (std::size_t a = 0; a < n; ++a) clusters_->add(rows.id[chosen[a]]);
  std::vector<double> least(n_slots);
  clusters_->write(n_slots, penalty_, least.data());
  for (std::size_t slot = 0; slot < n_slots; ++slot) bounds[slot] = std::max(bounds[slot], least[slot]);
}

// Raises the bounds of the slots without a tree. Returns whether the bounds of all slots that matter reach their limits.
template <class W>
bool TreeSearch<W>::raise_to_clusters_of(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n, Solutions& best) {
  if (!clusters_) return false;
  std::vector<double> bounds(best.size(), -infinity);
  raise_to_clusters(parent, rows, n, best.size(), bounds.data());
  for (std::size_t slot = 0; slot < best.size(); ++slot) {
    if (best[slot].cost > bounds[slot] + tolerance_) return false;
  }
  for (std::size_t slot = 0; slot < best.size(); ++slot) {
    if (best[slot].split == none) best[slot].cost = bounds[slot];
  }
  return true;
}

// The limits, by slot, below which the trees of one side must cost for a split to improve the best trees: the cost of the best trees minus
// the lower bound of the other side. False if no tree of this side can be that cheap.
template <class W>
bool TreeSearch<W>::set_side_limits(const Solutions& best, const double* own, const double* other, bool is_left, Limits& limits) const {
  limits.assign(best.size(), -infinity);
  budget_.for_each_division(best.size(), [&](std::size_t slot, std::size_t left, std::size_t right) {
    const std::size_t here = is_left ? left : right, there = is_left ? right : left;
    if (other[there] < infinity) limits[here] = std::max(limits[here], best[slot].cost - other[there]);
  });
  bool any = false;
  for (std::size_t slot = 0; slot < limits.size(); ++slot) {
    if (own[slot] >= limits[slot] - tolerance_) limits[slot] = -infinity;
    any = any || limits[slot] > -infinity;
  }
  return any;
}

// Raises the bounds of one side of a split for at most three leaves to the costs of the best trees. That takes one pair table, and makes the
// limits of the deep search of the other side tight.
template <class W>
void TreeSearch<W>::solve_few_leaves(const TreeRows<W>& rows, const std::int32_t* chosen, std::size_t n, std::int32_t column, bool is_right,
                                     Side side, double* bounds) {
  if (side.quarters != nullptr && side.quarters->is_exact(side.side, column, is_right)) return;
  const Solutions found = solve(rows, chosen, n, 2, Limits(shallow_slots(), infinity));
  std::array<double, 4> costs;
  for (std::size_t slot = 0; slot < costs.size(); ++slot) costs[slot] = found[slot].cost;
  for (std::size_t slot = 0; slot < shallow_side_slots; ++slot) bounds[slot] = std::max(bounds[slot], costs[slot]);
  if (side.quarters != nullptr) side.quarters->set(side.side, column, is_right, costs.data());
}

// A tree with at most d leaves has a depth of at most d - 1. So for so few leaves, the bounds of the sides of a search to depth d, whose sides
// were searched to depth d - 1, hold for deeper trees.
template <class W>
void TreeSearch<W>::keep_for_deeper(const SplitBounds<W>& bounds, std::size_t n_splits, std::int32_t depth) {
  kept_slots_ = std::min(static_cast<std::size_t>(depth), budget_.n_slots());
  kept_bounds_.clear();
  for (std::size_t i = 0; i < n_splits; ++i) {
    kept_bounds_.insert(kept_bounds_.end(), bounds.left(i), bounds.left(i) + kept_slots_);
    kept_bounds_.insert(kept_bounds_.end(), bounds.right(i), bounds.right(i) + kept_slots_);
  }
}

template <class W>
void TreeSearch<W>::raise_by_shallower(SplitBounds<W>& bounds) const {
  for (std::size_t at = 0; at < kept_bounds_.size(); ++at) {
    const std::size_t side = at / kept_slots_, slot = at % kept_slots_;
    double& bound = (side % 2 == 1 ? bounds.right(side / 2) : bounds.left(side / 2))[slot];
    bound = std::max(bound, kept_bounds_[at]);
  }
}

// If no tree below the limit was found, raises the lower bound in best to the least bound of all splits and of a leaf.
template <class W>
void TreeSearch<W>::raise_to_bounds(const TreeRows<W>& rows, const SplitBounds<W>& bounds, double as_leaf, Solutions& best) const {
  Limits least(best.size(), as_leaf);
  for (std::size_t i = 0; i < rows.n_columns; ++i) {
    budget_.for_each_division(shallow_slots(), [&](std::size_t slot, std::size_t left, std::size_t right) {
      least[slot] = std::min(least[slot], bounds.left(i)[left] + bounds.right(i)[right]);
    });
  }
  for (std::size_t slot = 0; slot < best.size(); ++slot) {
    if (best[slot].split == none) best[slot].cost = std::max(best[slot].cost, least[slot]);
  }
}

// The split of a chain that can improve a tree; of several, the split with the cheapest tree of depth 2; -1 if there is none.
template <class W>
std::int32_t TreeSearch<W>::open_split(const TreeRows<W>& rows, std::size_t chain, const SplitBounds<W>& bounds,
                                       const std::vector<char>& done, const std::vector<double>& costs, const Solutions& best) const {
  std::int32_t next = -1;
  for (std::int32_t i = rows.first_column[chain]; i < rows.first_column[chain + 1]; ++i) {
    if (!done[i] && (next < 0 || costs[i] < costs[next]) && is_open(bounds, i, best)) next = i;
  }
  return next;
}

// Whether a split of depth 3 can improve a tree.
template <class W>
bool TreeSearch<W>::is_open(const SplitBounds<W>& bounds, std::int32_t split, const Solutions& best) const {
  const double *on_left = bounds.left(split), *on_right = bounds.right(split);
  bool is_open = false;
  budget_.for_each_division(shallow_slots(), [&](std::size_t slot, std::size_t left, std::size_t right) {
    is_open = is_open || on_left[left] + on_right[right] < best[slot].cost - tolerance_;
  });
  return is_open;
}

// Solves both sides of a split of depth 3, as long as the split can cost less than the best trees. Returns whether it improves a tree.
template <class W>
bool TreeSearch<W>::solve_quarters(const TreeRows<W>& rows, SideTable<W>& table, SplitBounds<W>& bounds, std::int32_t split, Side side,
                                   Solutions& best) {
  enter_node();
  const std::size_t border = bounds.border(split), n_quarter_slots = std::min(shallow_slots(), budget_.n_slots());
  for (const bool is_right : {2 * border < rows.n_rows, 2 * border >= rows.n_rows}) {  // the larger side first: it fails earlier
    double* own = is_right ? bounds.right(split) : bounds.left(split);
    if (side.quarters == nullptr || !side.quarters->is_exact(side.side, rows.column[split], is_right)) {
      const std::int32_t* order = bounds.rows_by(split).data();
      raise_to_clusters(rows, is_right ? order + border : order, is_right ? rows.n_rows - border : border, n_quarter_slots, own);
      if (!is_open(bounds, split, best)) return false;
      table.move_to(bounds.rows_by(split).data(), border, [&] { if (rows.n_columns > wide) check_stop(); });
      std::array<double, 4> priced;
      price(table.costs(cost_, is_right), priced);
      std::copy_n(priced.begin(), n_quarter_slots, own);
      if (side.quarters != nullptr) side.quarters->set(side.side, rows.column[split], is_right, own);
    }
    if (!is_open(bounds, split, best)) return false;
  }
  bool is_better = false;
  budget_.for_each_division(shallow_slots(), [&](std::size_t slot, std::size_t left, std::size_t right) {
    const double cost = bounds.left(split)[left] + bounds.right(split)[right];
    if (cost < best[slot].cost - tolerance_) best[slot] = {cost, rows.column[split], 3, left, right}, is_better = true;
  });
  return is_better;
}

// The first split of the best shallower tree, to find a good tree early; another one if that tree is a leaf.
template <class W>
std::int32_t TreeSearch<W>::split_of_shallower(const TreeRows<W>& rows, std::int32_t otherwise) const {
  const auto found = std::find(rows.column.begin(), rows.column.end(), shallower_best_.split);
  return found == rows.column.end() ? otherwise : static_cast<std::int32_t>(found - rows.column.begin());
}

#define FCCA_SWEEPS(W)                                                                                                            \
  template void TreeSearch<W>::sweep_by_bounds(const TreeRows<W>&, const PairTable<W>&, const std::vector<FirstSplitCosts>&,      \
                                               const std::vector<double>&, double, Solutions&, bool, Side);                       \
  template SplitBounds<W> TreeSearch<W>::bounds_from_pairs(const TreeRows<W>&, const std::vector<FirstSplitCosts>&) const;        \
  template void TreeSearch<W>::raise_to_clusters(const TreeRows<W>&, const std::int32_t*, std::size_t, std::size_t, double*);       \
  template bool TreeSearch<W>::raise_to_clusters_of(const TreeRows<W>&, const std::int32_t*, std::size_t, Solutions&);             \
  template void TreeSearch<W>::solve_few_leaves(const TreeRows<W>&, const std::int32_t*, std::size_t, std::int32_t, bool, Side, double*); \
  template bool TreeSearch<W>::set_side_limits(const Solutions&, const double*, const double*, bool, Limits&) const;              \
  template std::int32_t TreeSearch<W>::split_of_shallower(const TreeRows<W>&, std::int32_t) const;                                \
  template void TreeSearch<W>::keep_for_deeper(const SplitBounds<W>&, std::size_t, std::int32_t);                                 \
  template void TreeSearch<W>::raise_by_shallower(SplitBounds<W>&) const;
FCCA_SWEEPS(std::int16_t)
FCCA_SWEEPS(std::int32_t)
FCCA_SWEEPS(double)
#undef FCCA_SWEEPS

}  // namespace fcca
