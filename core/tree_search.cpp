#include "tree_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

// The next number of a pseudo-random sequence (SplitMix64).
std::uint64_t next_hash(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
}  // namespace

template <class W>
TreeSearch<W>::TreeSearch(TreeRows<W> rows, const LeafCost& cost, double penalty, LeafBudget budget, std::uint64_t max_nodes,
                          const Stop& stop)
    : rows_(std::move(rows)), cost_(cost), penalty_(penalty), budget_(budget), max_nodes_(max_nodes), stop_(stop) {
  const double scale = cost_.is_plain_error() ? std::accumulate(rows_.most.begin(), rows_.most.end(), 0.0) : leaf_of_all();
  tolerance_ = 1e-10 * std::max(scale, penalty_);
  std::uint64_t state = 88172645463325252ull;
  for (std::size_t r = 0; r < rows_.n_rows; ++r) row_hash_.push_back(next_hash(state));
  if (budget_.limited() && cost_.n_classes() == 2 && rows_.n_planes >= 2) clusters_.emplace(rows_, cost_);
  if (clusters_ && !clusters_->are_useful()) clusters_.reset();
}

// The root may be a leaf of any size.
template <class W>
double TreeSearch<W>::leaf_of_all() const {
  const WeightSums all(rows_);
  return cost_.is_plain_error() ? all.net_error(rows_) : cost_.without_rules(all.planes.data());
}

template <class W>
void TreeSearch<W>::bounds_without_search(const WeightSums& sums, double* bounds) const {
  const double as_leaf = leaf_cost(sums), any = can_split(sums) ? std::min(as_leaf, least_split_cost(sums)) : as_leaf;
  std::fill_n(bounds, budget_.n_slots(), any);
  if (budget_.limited()) bounds[0] = as_leaf;
}

template <class W>
const typename TreeSearch<W>::Known* TreeSearch<W>::look_up(std::int32_t depth, std::uint64_t hash,
                                                            const std::vector<std::uint64_t>& key) const {
  if (static_cast<std::size_t>(depth) >= known_.size()) return nullptr;
  const auto found = known_[depth].find(hash);
  if (found == known_[depth].end()) return nullptr;
  for (const Known& known : found->second) {
    if (known.rows == key) return &known;
  }
  return nullptr;
}

// Whether known solutions decide every requested slot. If so, the solutions are set to them.
template <class W>
bool TreeSearch<W>::answer(const Known& known, const Limits& limits, Solutions& solutions) const {
  for (std::size_t slot = 0; slot < limits.size(); ++slot) {
    const Solution& solution = known.solutions[slot];
    if (solution.cost < limits[slot] - tolerance_ && solution.split == none) return false;
  }
  for (std::size_t slot = 0; slot < limits.size(); ++slot) {
    solutions[slot] = known.solutions[slot];
    if (solutions[slot].cost >= limits[slot] - tolerance_) solutions[slot].split = none;
  }
  return true;
}

template <class W>
void TreeSearch<W>::remember(std::int32_t depth, std::uint64_t hash, std::vector<std::uint64_t> key, const Solutions& solutions) {
  if (static_cast<std::size_t>(depth) >= known_.size()) known_.resize(depth + 1);
  auto& bucket = known_[depth][hash];
  for (Known& known : bucket) {
    if (known.rows != key) continue;
    for (std::size_t slot = 0; slot < solutions.size(); ++slot) {
      Solution& before = known.solutions[slot];
      const bool better = solutions[slot].split != none || (before.split == none && solutions[slot].cost > before.cost);
      if (better) before = solutions[slot];
    }
    return;
  }
  bucket.push_back({std::move(key), solutions});
}

template <class W>
std::uint64_t TreeSearch<W>::key_of(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n,
                                    std::vector<std::uint64_t>& key) const {
  key.assign((rows_.n_rows + 63) / 64, 0);
  std::uint64_t hash = 0;
  for (std::size_t a = 0; a < n; ++a) {
    const std::int32_t id = parent.id[rows[a]];
    key[id / 64] |= 1ull << (id % 64), hash ^= row_hash_[id];
  }
  return hash;
}

// The largest depth of a tree below these costs. A tree of depth d has at least d + 1 leaves, so it costs at least (d + 1) · penalty plus
// the least cost of its rows.
template <class W>
std::int32_t TreeSearch<W>::worthwhile_depth(std::int32_t depth, const Solutions& best, double least) const {
  double most = -infinity;
  std::int64_t leaves = 2;
  for (std::size_t slot = 0; slot < best.size(); ++slot) {
    most = std::max(most, best[slot].cost);
    if (best[slot].cost > -infinity) leaves = std::max<std::int64_t>(leaves, static_cast<std::int64_t>(slot) + 1);
  }
  if (budget_.limited()) depth = static_cast<std::int32_t>(std::min<std::int64_t>(depth, leaves - 1));
  if (!(penalty_ > 0)) return depth;
  return static_cast<std::int32_t>(std::min<double>(depth, std::max(1.0, std::ceil((most - least) / penalty_) - 1)));
}

// The cheapest tree of the rows for each slot, if it costs less than the limit. Otherwise `none`, with a lower bound that is at least the
// limit (up to the tolerance).
template <class W>
typename TreeSearch<W>::Solutions TreeSearch<W>::solve(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n,
                                                       std::int32_t depth, const Limits& limits, bool is_root, Side side) {
  WeightSums sums(parent.n_planes);
  for (std::size_t a = 0; a < n; ++a) sums.add(parent, rows[a]);
  const double as_leaf = leaf_cost(sums), least_split = least_split_cost(sums);
  const bool splits = depth > 0 && can_split(sums);
  Solutions best(limits.size());
  double most = -infinity;  // largest cost of the trees that a split might improve
  for (std::size_t slot = 0; slot < limits.size(); ++slot) {
    best[slot] = as_leaf < limits[slot] - tolerance_ ? Solution{as_leaf, leaf} : Solution{limits[slot], none};
    if (slot >= budget_.slot_of(2) || !budget_.limited()) most = std::max(most, best[slot].cost);
  }
  if (!splits || most <= least_split + tolerance_) {
    for (std::size_t slot = 0; slot < limits.size(); ++slot) {
      const bool only_leaf = !splits || slot < budget_.slot_of(2);
      if (best[slot].split == none) best[slot].cost = only_leaf ? as_leaf : std::min(as_leaf, least_split);
    }
    return best;
  }
  const std::int32_t asked = depth;
  depth = worthwhile_depth(depth, best, sums.least);
  if (is_root) root_depth_ = depth;

  std::vector<std::uint64_t> key;
  std::uint64_t hash = 0;
  const bool worth_remembering = asked >= 3 && !is_root;
  if (worth_remembering) {
    hash = key_of(parent, rows, n, key);
    const Known* known = look_up(asked, hash, key);
    if (known != nullptr && answer(*known, limits, best)) return best;
  }
  if (raise_to_clusters_of(parent, rows, n, best)) return best;
  enter_node();
  best = search(parent.restricted(rows, n), sums, depth, std::move(best), is_root, side);
  if (depth < asked) {  // deeper trees cost at least the limit
    for (std::size_t slot = 0; slot < limits.size(); ++slot) {
      if (best[slot].split == none) best[slot].cost = std::min(best[slot].cost, limits[slot]);
    }
  }
  if (worth_remembering) remember(asked, hash, std::move(key), best);
  return best;
}

template <class W>
typename TreeSearch<W>::Solutions TreeSearch<W>::search(const TreeRows<W>& rows, const WeightSums& sums, std::int32_t depth,
                                                        Solutions best, bool is_root, Side side) {
  if (depth == 1) {
    solve_depth_one(rows, sums, best);
    return best;
  }
  PairTable<W> total;
  total.reset(rows, !cost_.is_plain_error());
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    if (rows.n_columns > wide) check_stop();
    total.add(rows, a);
  }
  total.sum_chains(rows);
  std::vector<FirstSplitCosts> first_splits;
  total.first_splits(cost_, sums, first_splits);
  std::vector<double> costs(rows.n_columns);
  for (std::size_t i = 0; i < rows.n_columns; ++i) {
    offer_first_split(first_splits[i], rows.column[i], best);
    costs[i] = least_of(first_splits[i]);
  }
  if (is_root && best.back().split != none) root_best_ = best.back();
  // A tree deeper than two has at least four leaves.
  const auto betterable = [&](const Solution& tree) { return tree.cost > 4 * penalty_ + sums.least + tolerance_; };
  if (depth > 2 && std::any_of(best.begin(), best.end(), betterable)) {
    if (depth == 3 && cost_.is_plain_error()) sweep(rows, total, costs, best, is_root);
    else if (depth == 3) sweep_by_bounds(rows, total, first_splits, costs, leaf_cost(sums), best, is_root, side);
    else if (depth == 4 && may_use_quarters(rows)) solve_depth_four(rows, best, is_root);
    else branch(rows, first_splits, costs, depth, best, is_root, side);
  }
  return best;
}

template <class W>
void TreeSearch<W>::solve_depth_four(const TreeRows<W>& rows, Solutions& best, bool is_root) {
  DepthFour<W> search(rows, penalty_, tolerance_);
  const auto tree = search.solve(best[0].cost, [this] { enter_node(); }, [&](const typename DepthFour<W>::Tree& found, double bound) {
    if (!is_root) return;
    if (found.split >= 0) root_best_ = {found.cost, rows.column[found.split], found.depth};
    root_bound_ = std::max(root_bound_, bound);
  });
  if (tree.split >= 0) best[0] = {tree.cost, rows.column[tree.split], tree.depth};
  else if (best[0].split == none) best[0].cost = std::max(best[0].cost, search.bound());
}

// Stores a tree in every slot that allows its number of leaves, if it is cheaper than the tree there.
template <class W>
void TreeSearch<W>::offer(std::int64_t leaves, const Solution& tree, Solutions& best) const {
  for (std::size_t slot = budget_.slot_of(leaves); slot < best.size(); ++slot) {
    if (tree.cost < best[slot].cost - tolerance_) best[slot] = tree;
  }
}

template <class W>
void TreeSearch<W>::offer_first_split(const FirstSplitCosts& costs, std::int32_t column, Solutions& best) const {
  const std::size_t one = budget_.slot_of(1), two = budget_.slot_of(2);
  offer(2, {costs.two + 2 * penalty_, column, 2, one, one}, best);
  offer(3, {costs.three_right + 3 * penalty_, column, 2, one, two}, best);
  offer(3, {costs.three_left + 3 * penalty_, column, 2, two, one}, best);
  offer(4, {costs.four + 4 * penalty_, column, 2, two, two}, best);
}

template <class W>
double TreeSearch<W>::least_of(const FirstSplitCosts& costs) const {
  return std::min({costs.two + 2 * penalty_, std::min(costs.three_right, costs.three_left) + 3 * penalty_, costs.four + 4 * penalty_});
}

template <class W>
void TreeSearch<W>::solve_depth_one(const TreeRows<W>& rows, const WeightSums& all, Solutions& best) const {
  std::vector<double> in(rows.n_columns * rows.n_planes, 0.0);
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    for (std::size_t k = 0; k < rows.n_planes; ++k) {
      const double weight = rows.planes[a * rows.n_planes + k];
      rows.for_each_run(a, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i <= last; ++i) in[i * rows.n_planes + k] += weight;
      });
    }
  }
  WeightSums right(rows.n_planes), left(rows.n_planes);
  for (std::size_t i = 0; i < rows.n_columns; ++i) {
    right.planes.assign(in.begin() + i * rows.n_planes, in.begin() + (i + 1) * rows.n_planes);
    left.set_to_difference(all, right);
    offer(2, {leaf_cost(right) + leaf_cost(left), rows.column[i], 1, budget_.slot_of(1), budget_.slot_of(1)}, best);
  }
}

// Costs of trees of depth at most 2 by slot, including the penalties of their leaves. A slot holds the cost for at most its number of
// leaves or, without a limit, for any number of leaves.
template <class W>
void TreeSearch<W>::price(const ShallowCosts& costs, std::array<double, 4>& priced) const {
  priced = {costs.one + penalty_, costs.two + 2 * penalty_, costs.three + 3 * penalty_, costs.four + 4 * penalty_};
  for (std::size_t slot = 1; slot < priced.size(); ++slot) priced[slot] = std::min(priced[slot], priced[slot - 1]);
  if (!budget_.limited()) priced[0] = priced.back();
}

// Depth 3: along each chain the rows move one by one from the left of the first split to its right, and the pair table of the
// right-hand rows grows with them. A split is skipped if the costs of the last split solved already rule it out, by the argument
// of SplitBounds::spread_from: the growing side costs at least as much as then, and the shrinking side at least as much as then, minus
// the sum of most_of over the rows moved since.
template <class W>
void TreeSearch<W>::sweep(const TreeRows<W>& rows, const PairTable<W>& total, const std::vector<double>& costs, Solutions& best,
                          bool is_root) {
  const WeightSums all(rows);
  WeightSums on_left(rows.n_planes);
  PairTable<W> right_table;
  std::vector<double> right_bound(budget_.n_slots()), left_bound(budget_.n_slots());
  const std::size_t n_slots = std::min(shallow_slots(), budget_.n_slots());
  for (const std::size_t c : chains_by_cost(rows, costs)) {
    const ChainOrder order(rows, c);
    WeightSums on_right(rows.n_planes);
    double moved = 0;
    std::array<double, 4> last_right{}, last_left{};
    std::size_t in_table = rows.n_rows;  // the rows starting here are in the table
    for (std::int32_t count = rows.first_column[c + 1] - rows.first_column[c]; count >= 1; --count) {
      for (std::int32_t q = order.first[count]; q < order.first[count + 1]; ++q) {
        moved += rows.most[order.rows[q]];
        on_right.add(rows, order.rows[q]);
      }
      on_left.set_to_difference(all, on_right);
      bounds_without_search(on_right, right_bound.data()), bounds_without_search(on_left, left_bound.data());
      for (std::size_t slot = 0; slot < n_slots; ++slot) {
        if (cost_.more_rows_cost_more()) right_bound[slot] = std::max(right_bound[slot], last_right[slot]);
        left_bound[slot] = std::max(left_bound[slot], last_left[slot] - moved);
      }
      bool is_open = false;
      budget_.for_each_division(shallow_slots(), [&](std::size_t slot, std::size_t left, std::size_t right) {
        is_open = is_open || right_bound[right] + left_bound[left] < best[slot].cost - tolerance_;
      });
      if (!is_open) continue;
      enter_node();
      if (in_table == rows.n_rows) right_table.reset(rows, false);
      while (in_table > static_cast<std::size_t>(order.first[count])) {
        if (rows.n_columns > wide) check_stop();
        right_table.add(rows, order.rows[--in_table]);
      }
      ShallowCosts right_costs, left_costs;
      right_table.two_sides(rows, total, on_right, on_left, right_costs, left_costs);
      price(right_costs, last_right), price(left_costs, last_left);
      moved = 0;
      budget_.for_each_division(shallow_slots(), [&](std::size_t slot, std::size_t left, std::size_t right) {
        const double cost = last_right[right] + last_left[left];
        if (cost < best[slot].cost - tolerance_) best[slot] = {cost, rows.column[rows.first_column[c] + count - 1], 3, left, right};
      });
      if (is_root && best.back().split != none) root_best_ = best.back();
    }
  }
}

// Depth 4 and more: every split has a lower bound for its left and its right side. Solving one split raises the bounds of the
// others. The split with the least bound is solved next, so that the least bound, which is the bound of the node, rises evenly.
template <class W>
void TreeSearch<W>::branch(const TreeRows<W>& rows, const std::vector<FirstSplitCosts>& first_splits, const std::vector<double>& costs,
                           std::int32_t depth, Solutions& best, bool is_root, Side side) {
  SplitBounds<W> bounds = bounds_from_pairs(rows, first_splits);
  if (side.quarters != nullptr && budget_.limited()) side.quarters->raise(side.side, rows, shallow_side_slots, bounds);
  std::optional<QuarterBounds<W>> own_quarters;
  QuarterBounds<W>* quarters = is_root && root_quarters_ ? &*root_quarters_ : nullptr;
  if (quarters == nullptr && depth == 4 && !cost_.is_plain_error() && rows.n_columns <= QuarterBounds<W>::most_columns) {
    std::optional<QuarterBounds<W>>& kept = is_root ? root_quarters_ : own_quarters;
    quarters = &kept.emplace(rows, std::min(shallow_slots(), budget_.n_slots()), cost_.more_rows_cost_more());
    if (side.quarters != nullptr) quarters->share(eighths_, side.column_side);
  }
  if (is_root) raise_by_shallower(bounds);
  std::optional<CommonMost<W>> most;  // if most columns are nested, the splits of one chain are enough
  const auto check = [&] { if (rows.n_columns > wide) check_stop(); };
  if (cost_.more_rows_cost_more() && CommonMost<W>::is_useful(rows)) most.emplace(rows, check);
  if (cost_.more_rows_cost_more() && is_root) bounds.raise_by_all(shallower_best_.cost);
  std::vector<char> done(rows.n_columns, 0);
  for (bool is_first = true;; is_first = false) {
    NextSplit next = next_split(bounds, done, costs, best, is_first);
    if (is_root && is_first && next.split >= 0) next.split = split_of_shallower(rows, next.split);
    if (is_root) root_bound_ = std::max(root_bound_, std::min(next.least_bound, best.back().cost));
    if (next.split < 0) break;
    done[next.split] = 1;
    const bool is_better = !bounds.adopt_twin(next.split) && solve_sides(rows, bounds, next.split, depth, best, quarters, side);
    if (is_better && is_root) root_best_ = best.back();
    most ? bounds.spread_from(next.split, *most) : bounds.spread_from(next.split);
  }
  if (is_root && budget_.limited()) keep_for_deeper(bounds, rows.n_columns, depth);
}

// The split whose bound is furthest below the cost of a best tree; in a tie, the split with the cheapest tree of depth 2. The very first
// split is the one with the cheapest tree of depth 2, to find a good tree early.
template <class W>
typename TreeSearch<W>::NextSplit TreeSearch<W>::next_split(const SplitBounds<W>& bounds, const std::vector<char>& done,
                                                            const std::vector<double>& costs, const Solutions& best, bool is_first) const {
  NextSplit next{-1, infinity};
  double furthest = tolerance_;
  for (std::size_t i = 0; i < done.size(); ++i) {
    const double *on_left = bounds.left(i), *on_right = bounds.right(i);
    double below = -infinity, bound = infinity;
    budget_.for_each_division(best.size(), [&](std::size_t slot, std::size_t left, std::size_t right) {
      below = std::max(below, best[slot].cost - (on_left[left] + on_right[right]));
      if (slot == best.size() - 1) bound = std::min(bound, on_left[left] + on_right[right]);
    });
    next.least_bound = std::min(next.least_bound, bound);
    if (done[i] || below <= tolerance_) continue;
    const bool by_cost = is_first || (next.split >= 0 && below == furthest);
    if (next.split < 0 || (by_cost ? costs[i] < costs[next.split] : below > furthest)) next.split = static_cast<std::int32_t>(i), furthest = below;
  }
  return next;
}

// Solves both sides of a split, as long as the split can cost less than the best trees. Raises the bounds of the sides to their costs.
// Returns whether the split improves a tree.
template <class W>
bool TreeSearch<W>::solve_sides(const TreeRows<W>& rows, SplitBounds<W>& bounds, std::int32_t split, std::int32_t depth, Solutions& best,
                                QuarterBounds<W>* quarters, Side side) {
  const std::int32_t* first = bounds.rows_by(split).data();
  const std::size_t n_left = bounds.border(split), n_right = rows.n_rows - n_left;
  double *on_left = bounds.left(split), *on_right = bounds.right(split);
  Solutions left_trees, right_trees;
  Limits limits;
  if (needs_few_leaves(depth, side)) {
    for (const bool is_left : {n_left < n_right, n_left >= n_right}) {
      if (!set_side_limits(best, is_left ? on_left : on_right, is_left ? on_right : on_left, is_left, limits)) return false;
      solve_few_leaves(rows, is_left ? first : first + n_left, is_left ? n_left : n_right, rows.column[split], !is_left, side,
                       is_left ? on_left : on_right);
    }
  }
  for (const bool is_left : {n_left >= n_right, n_left < n_right}) {  // the larger side first: it fails earlier
    double *own = is_left ? on_left : on_right, *other = is_left ? on_right : on_left;
    if (!set_side_limits(best, own, other, is_left, limits)) return false;
    const Side known{quarters, QuarterBounds<W>::side(split, !is_left), QuarterBounds<W>::side(rows.column[split], !is_left)};
    const Solutions found = is_left ? solve(rows, first, n_left, depth - 1, limits, false, known)
                                    : solve(rows, first + n_left, n_right, depth - 1, limits, false, known);
    for (std::size_t slot = 0; slot < found.size(); ++slot) own[slot] = std::max(own[slot], found[slot].cost);
    (is_left ? left_trees : right_trees) = found;
  }
  bool is_better = false;
  budget_.for_each_division(best.size(), [&](std::size_t slot, std::size_t left, std::size_t right) {
    if (left_trees[left].split == none || right_trees[right].split == none) return;
    const double cost = left_trees[left].cost + right_trees[right].cost;
    if (cost >= best[slot].cost - tolerance_) return;
    best[slot] = {cost, rows.column[split], depth, left, right};
    is_better = true;
  });
  return is_better;
}

// A good tree of depth 5, early: the first split of the best tree of depth 3, with the best trees of depth 4 on both sides. The sides are
// remembered for the search to depth 5.
template <class W>
void TreeSearch<W>::deepen(const std::vector<std::int32_t>& everything, Solution& best) {
  if (best.split < 0) return;
  double cost = 0;
  for (const auto& side : divided(rows_, everything, best.split)) cost += solve(rows_, side.data(), side.size(), 4, {infinity})[0].cost;
  if (cost < best.cost - tolerance_) best = {cost, best.split, 5};
}

// The rows on the left and on the right of a split, a column of the caller.
template <class W>
std::array<std::vector<std::int32_t>, 2> TreeSearch<W>::divided(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen,
                                                                std::int32_t column) const {
  const auto local = static_cast<std::int32_t>(std::find(rows.column.begin(), rows.column.end(), column) - rows.column.begin());
  std::size_t chain = 0;
  while (rows.first_column[chain + 1] <= local) ++chain;
  std::array<std::vector<std::int32_t>, 2> sides;
  for (const std::int32_t a : chosen) sides[rows.passes(a, chain, local - rows.first_column[chain] + 1)].push_back(a);
  return sides;
}

template <class W>
std::int32_t TreeSearch<W>::extract(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, const Solution& solution,
                                    std::vector<TreeNode>& tree) {
  const std::int32_t at = static_cast<std::int32_t>(tree.size());
  tree.emplace_back();
  if (solution.split < 0) return at;
  const auto sides = divided(rows, chosen, solution.split);
  std::int32_t children[2];
  for (int side = 0; side < 2; ++side) {
    // The tree of the side is already known if the split was found by branching. It is found quickly if the split came from a pair table.
    const std::size_t slot = side == 0 ? solution.left_slot : solution.right_slot;
    Limits limits(budget_.n_slots(), -infinity);
    limits[slot] = infinity;
    const Solutions below = solve(rows, sides[side].data(), sides[side].size(), solution.depth - 1, limits);
    children[side] = extract(rows, sides[side], below[slot], tree);
  }
  tree[at] = {solution.split, children[0], children[1]};
  return at;
}

template <class W>
TreeResult TreeSearch<W>::run(std::int32_t max_depth) {
  std::vector<std::int32_t> everything(rows_.n_rows);
  std::iota(everything.begin(), everything.end(), 0);
  TreeResult result;
  const WeightSums all(rows_);
  Solution best{leaf_of_all() + penalty_, leaf};
  std::int32_t searched = 0, depth = 0;
  double proven = 0;  // bound for trees of any depth, from the finished searches
  max_depth = static_cast<std::int32_t>(std::min<std::size_t>(max_depth, rows_.n_rows));  // every split separates some rows
  max_depth = static_cast<std::int32_t>(std::min<std::int64_t>(max_depth, budget_.max_leaves() - 1));
  // Shallow trees first: each is the incumbent of the next. (Depth 3 starts from the best of depth 2, quarters from that of depth 3.)
  const std::int32_t first_depth = max_depth == 4 && may_use_quarters(rows_) ? 4 : 3;
  try {
    for (depth = std::min(max_depth, first_depth); depth <= max_depth && depth > 0; ++depth) {
      const bool is_too_deep = best.depth > depth;  // a tree of this depth is better if it costs the same, because it has fewer levels
      if (best.cost <= (searched + 2) * penalty_ + all.least + tolerance_ && !is_too_deep) break;  // deeper trees have more leaves than that
      root_best_ = {infinity, none}, root_bound_ = 0, shallower_best_ = depth > first_depth ? best : Solution{0, leaf};
      Limits limits(budget_.n_slots(), -infinity);
      limits.back() = is_too_deep ? best.cost + 3 * tolerance_ : best.cost;
      const Solution found = solve(rows_, everything.data(), rows_.n_rows, depth, limits, true).back();
      if (found.split != none && found.cost <= best.cost + tolerance_) best = found;
      searched = depth;
      proven = std::min(best.cost, (depth + 2) * penalty_ + all.least);  // deeper trees have at least depth + 2 leaves
      if (root_depth_ < depth) break;  // no deeper tree can be cheaper
      if (depth == 3 && max_depth > 4 && may_use_quarters(rows_)) deepen(everything, best);
    }
    result.optimal = true;
    result.bound = best.cost;
  } catch (const Stopped&) {
    if (root_best_.split != none && root_best_.cost < best.cost - tolerance_) best = root_best_;
    // The search at this depth bounds the trees up to it. It starts without a bound, so an earlier bound may be higher.
    const double deeper = depth < max_depth ? (depth + 2) * penalty_ + all.least : infinity;
    result.bound = std::min(best.cost, std::max(proven, std::min(std::max(root_bound_, least_split_cost(all)), deeper)));
    // The tree may already be proven: then only a less deep tree of the same cost was still searched for.
    if (result.bound >= best.cost - tolerance_) result.optimal = true, result.bound = best.cost;
  }
  result.cost = best.cost;
  result.nodes = nodes_;
  finishing_ = true;
  extract(rows_, everything, best, result.tree);
  return result;
}

template class TreeSearch<std::int16_t>;
template class TreeSearch<std::int32_t>;
template class TreeSearch<double>;

}  // namespace fcca
