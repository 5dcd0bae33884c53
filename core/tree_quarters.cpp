// Depth 3 for costs that need every pair of columns: which second splits have to be solved, and what is already known about them.
#include <algorithm>
#include <array>

#include "tree_search.hpp"

namespace fcca {

// Searches trees of depth 3 if reading a pair table takes longer than building it. Every split has bounds, as in branch().
template <class W>
void TreeSearch<W>::sweep_by_bounds(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<double>& costs, double as_leaf,
                                    Solutions& best, bool is_root, Side side) {
  SplitBounds<W> bounds(rows, budget_, row_hash_, cost_.more_rows_cost_more(),
                        [this](const WeightSums& sums, double* least) { bounds_without_search(sums, least); });
  if (side.quarters != nullptr) side.quarters->raise(side.side, rows, bounds);
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

#define FCCA_SWEEPS(W)                                                                                                            \
  template void TreeSearch<W>::sweep_by_bounds(const TreeRows<W>&, const PairTable<W>&, const std::vector<double>&, double, Solutions&, \
                                               bool, Side);
FCCA_SWEEPS(std::int16_t)
FCCA_SWEEPS(std::int32_t)
FCCA_SWEEPS(double)
#undef FCCA_SWEEPS

}  // namespace fcca
