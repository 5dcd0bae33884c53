#include "tree_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t wide = 500;  // from this many columns on, adding a row to a pair table takes longer than asking the time

// The next number of a pseudo-random sequence (SplitMix64).
std::uint64_t next_hash(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// Chains by the best gain of their columns, the most promising first.
template <class W>
std::vector<std::size_t> chains_by_gain(const TreeRows<W>& rows, const std::vector<double>& gains) {
  std::vector<std::size_t> chains(rows.n_chains);
  std::iota(chains.begin(), chains.end(), 0);
  std::vector<double> most(rows.n_chains, -infinity);
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    for (std::int32_t i = rows.first_column[c]; i < rows.first_column[c + 1]; ++i) most[c] = std::max(most[c], gains[i]);
  }
  std::stable_sort(chains.begin(), chains.end(), [&](std::size_t a, std::size_t b) { return most[a] > most[b]; });
  return chains;
}
}  // namespace

template <class W>
TreeSearch<W>::TreeSearch(TreeRows<W> rows, double penalty, std::uint64_t max_nodes, const Stop& stop)
    : rows_(std::move(rows)), penalty_(penalty), max_nodes_(max_nodes), stop_(stop) {
  const double total = std::accumulate(rows_.spread.begin(), rows_.spread.end(), 0.0);
  tolerance_ = 1e-10 * std::max(total, penalty_);
  std::uint64_t state = 88172645463325252ull;
  for (std::size_t r = 0; r < rows_.n_rows; ++r) row_hash_.push_back(next_hash(state));
}

// Valid because a tree is a leaf or has at least two leaves, and errors are never negative.
template <class W>
double TreeSearch<W>::bound_without_search(const WeightSums& sums) const {
  return std::min(leaf_cost(sums), 2 * penalty_);
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

template <class W>
void TreeSearch<W>::remember(std::int32_t depth, std::uint64_t hash, std::vector<std::uint64_t> key, Solution solution) {
  if (static_cast<std::size_t>(depth) >= known_.size()) known_.resize(depth + 1);
  const bool exact = solution.split != none;
  auto& bucket = known_[depth][hash];
  for (Known& known : bucket) {
    if (known.rows != key) continue;
    if (exact || (!known.exact && solution.cost > known.solution.cost)) known.solution = solution, known.exact = exact;
    return;
  }
  bucket.push_back({std::move(key), solution, exact});
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

// The depth that the cheapest tree below this cost can have. A tree of depth d has at least d + 1 leaves, so it costs at least
// (d + 1) · penalty.
template <class W>
std::int32_t TreeSearch<W>::worthwhile_depth(std::int32_t depth, double cost) const {
  if (!(penalty_ > 0)) return depth;
  return static_cast<std::int32_t>(std::min<double>(depth, std::max(1.0, std::ceil(cost / penalty_) - 1)));
}

// The cheapest tree of the rows, if it costs less than the limit. Otherwise none, with a lower bound that is at least the limit
// (up to the tolerance).
template <class W>
typename TreeSearch<W>::Solution TreeSearch<W>::solve(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n,
                                                    std::int32_t depth, double limit, bool is_root) {
  WeightSums sums(parent.n_planes);
  for (std::size_t a = 0; a < n; ++a) sums.add(parent, rows[a]);
  const double as_leaf = leaf_cost(sums);
  Solution best{limit, none};
  if (as_leaf < limit - tolerance_) best = {as_leaf, leaf};
  if (depth == 0 || as_leaf <= 2 * penalty_ + tolerance_) return best.split == leaf ? best : Solution{as_leaf, none};
  if (best.cost <= 2 * penalty_ + tolerance_) return best.split == leaf ? best : Solution{2 * penalty_, none};
  const std::int32_t asked = depth;
  depth = worthwhile_depth(depth, best.cost);
  if (is_root) root_depth_ = depth;

  std::vector<std::uint64_t> key;
  std::uint64_t hash = 0;
  const bool worth_remembering = asked >= 3 && !is_root;
  if (worth_remembering) {
    hash = key_of(parent, rows, n, key);
    if (const Known* known = look_up(asked, hash, key)) {
      if (known->exact) return known->solution.cost < limit - tolerance_ ? known->solution : Solution{known->solution.cost, none};
      if (known->solution.cost >= limit - tolerance_) return {known->solution.cost, none};
    }
  }
  enter_node();
  const TreeRows<W> here = parent.restricted(rows, n);
  if (depth == 1) {
    best = solve_depth_one(here, sums, best);
    if (worth_remembering) remember(asked, hash, std::move(key), best);
    return best;
  }

  PairTable<W> total;
  total.reset(here);
  for (std::size_t a = 0; a < n; ++a) {
    if (here.n_columns > wide) check_stop();
    total.add(here, a);
  }
  total.sum_chains(here);
  std::vector<double> gains;
  total.first_split_gains({penalty_ / here.unit()}, gains);
  for (std::size_t i = 0; i < here.n_columns; ++i) {
    const double cost = here.unit() * (sums.spread - gains[i]);
    if (cost < best.cost - tolerance_) best = {cost, here.column[i], 2};
  }
  if (is_root && best.split != none) root_best_ = best;
  // A tree deeper than two has at least four leaves.
  if (depth > 2 && best.cost > 4 * penalty_ + tolerance_) {
    best = depth == 3 ? sweep(here, total, gains, best, is_root) : branch(here, gains, depth, best, is_root);
  }
  if (worth_remembering) remember(asked, hash, std::move(key), best);
  return best;
}

template <class W>
typename TreeSearch<W>::Solution TreeSearch<W>::solve_depth_one(const TreeRows<W>& rows, const WeightSums& all, Solution best) const {
  std::vector<double> in(rows.n_columns * rows.n_planes, 0.0), side(rows.n_planes);
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    for (std::size_t k = 0; k < rows.n_planes; ++k) {
      const double weight = rows.planes[a * rows.n_planes + k];
      for (std::size_t c = 0; c < rows.n_chains; ++c) {
        for (std::int32_t t = 0; t < rows.passed[a * rows.n_chains + c]; ++t) in[(rows.first_column[c] + t) * rows.n_planes + k] += weight;
      }
    }
  }
  for (std::size_t i = 0; i < rows.n_columns; ++i) {
    const double* passing = in.data() + i * rows.n_planes;
    double gain = 0;
    if (rows.binary()) {
      gain = std::abs(passing[0]) + std::abs(all.planes[0] - passing[0]);
    } else {
      for (std::size_t k = 0; k < rows.n_planes; ++k) side[k] = all.planes[k] - passing[k];
      gain = *std::max_element(passing, passing + rows.n_planes) + *std::max_element(side.begin(), side.end());
    }
    const double cost = rows.unit() * (all.spread - gain) + 2 * penalty_;
    if (cost < best.cost - tolerance_) best = {cost, rows.column[i], 1};
  }
  return best;
}

// Depth 3: along each chain the rows move one by one from the left of the first split to its right, and the pair table of the
// right-hand rows grows with them. A split is skipped if the costs of the last split solved already rule it out, by the argument
// of SplitBounds::spread_from: the growing side costs at least what it did then, the shrinking side at least what it did then,
// less the spread of the rows moved since.
template <class W>
typename TreeSearch<W>::Solution TreeSearch<W>::sweep(const TreeRows<W>& rows, const PairTable<W>& total,
                                                    const std::vector<double>& gains, Solution best, bool is_root) {
  const WeightSums all(rows);
  WeightSums on_left(rows.n_planes);
  PairTable<W> right_table;
  for (const std::size_t c : chains_by_gain(rows, gains)) {
    const ChainOrder order(rows, c);
    WeightSums on_right(rows.n_planes);
    double moved = 0, last_right = 0, last_left = 0;
    std::size_t in_table = rows.n_rows;  // rows from here on are in the table
    for (std::int32_t count = rows.first_column[c + 1] - rows.first_column[c]; count >= 1; --count) {
      for (std::int32_t q = order.first[count]; q < order.first[count + 1]; ++q) {
        moved += rows.spread[order.rows[q]];
        on_right.add(rows, order.rows[q]);
      }
      on_left.set_to_difference(all, on_right);
      const double right_bound = std::max(last_right, bound_without_search(on_right));
      const double left_bound = std::max(last_left - moved, bound_without_search(on_left));
      if (right_bound + left_bound >= best.cost - tolerance_) continue;
      enter_node();
      if (in_table == rows.n_rows) right_table.reset(rows);
      while (in_table > static_cast<std::size_t>(order.first[count])) {
        if (rows.n_columns > wide) check_stop();
        right_table.add(rows, order.rows[--in_table]);
      }
      double right_gain, left_gain;
      right_table.two_sided_gains(rows, total, {penalty_ / rows.unit()}, right_gain, left_gain);
      last_right = rows.unit() * (on_right.spread - right_gain);
      last_left = rows.unit() * (on_left.spread - left_gain);
      moved = 0;
      if (last_right + last_left < best.cost - tolerance_) {
        best = {last_right + last_left, rows.column[rows.first_column[c] + count - 1], 3};
        if (is_root) root_best_ = best;
      }
    }
  }
  return best;
}

// Depth 4 and more: every split has a lower bound for its left and its right side. Solving one split raises the bounds of its
// neighbours in the chain. The split with the least bound is solved next, so the least bound, which is the node's, rises as evenly
// as it can.
template <class W>
typename TreeSearch<W>::Solution TreeSearch<W>::branch(const TreeRows<W>& rows, const std::vector<double>& gains, std::int32_t depth,
                                                     Solution best, bool is_root) {
  SplitBounds<W> bounds(rows, row_hash_, [this](const WeightSums& sums) { return bound_without_search(sums); });
  std::vector<char> done(rows.n_columns, 0);
  for (bool is_first = true;; is_first = false) {
    const NextSplit next = next_split(bounds, done, gains, best.cost, is_first);
    if (is_root) root_bound_ = std::max(root_bound_, std::min(next.least_bound, best.cost));
    if (next.split < 0) return best;
    done[next.split] = 1;
    if (!bounds.adopt_twin(next.split) && solve_sides(rows, bounds, next.split, depth, best.cost)) {
      best = {bounds.of(next.split), rows.column[next.split], depth};
      if (is_root) root_best_ = best;
    }
    bounds.spread_from(next.split);
  }
}

// The split with the least bound below the cost of the best tree, of equal ones that with the most gain. The first split of all is
// the one with the most gain, to have a good tree early on.
template <class W>
typename TreeSearch<W>::NextSplit TreeSearch<W>::next_split(const SplitBounds<W>& bounds, const std::vector<char>& done,
                                                            const std::vector<double>& gains, double best_cost, bool is_first) const {
  NextSplit next{-1, infinity};
  for (std::size_t i = 0; i < done.size(); ++i) {
    const double bound = bounds.of(i);
    next.least_bound = std::min(next.least_bound, bound);
    if (done[i] || bound >= best_cost - tolerance_) continue;
    const bool by_gain = is_first || (next.split >= 0 && bound == bounds.of(next.split));
    if (next.split < 0 || (by_gain ? gains[i] > gains[next.split] : bound < bounds.of(next.split))) next.split = static_cast<std::int32_t>(i);
  }
  return next;
}

// Solves both sides of a split, as far as it can cost less than the best tree, and raises its bounds to what they cost. Returns
// whether the split is the better one; its bound is then its cost.
template <class W>
bool TreeSearch<W>::solve_sides(const TreeRows<W>& rows, SplitBounds<W>& bounds, std::int32_t split, std::int32_t depth, double best_cost) {
  const std::int32_t* first = bounds.rows_by(split).data();
  const std::size_t n_left = bounds.border(split), n_right = rows.n_rows - n_left;
  double &left = bounds.left[split], &right = bounds.right[split];
  bool both_exact = true;
  for (const bool on_left : {n_left >= n_right, n_left < n_right}) {  // the larger side first: it fails earlier
    const Solution side = on_left ? solve(rows, first, n_left, depth - 1, best_cost - right)
                                : solve(rows, first + n_left, n_right, depth - 1, best_cost - left);
    double& bound = on_left ? left : right;
    bound = std::max(bound, side.cost);
    both_exact = both_exact && side.split != none;
    if (left + right >= best_cost - tolerance_) return false;
  }
  return both_exact;
}

template <class W>
std::int32_t TreeSearch<W>::extract(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, const Solution& solution,
                                    std::vector<TreeNode>& tree) {
  const std::int32_t at = static_cast<std::int32_t>(tree.size());
  tree.emplace_back();
  if (solution.split < 0) return at;
  const std::size_t local = std::find(rows.column.begin(), rows.column.end(), solution.split) - rows.column.begin();
  std::size_t chain = 0;
  while (rows.first_column[chain + 1] <= static_cast<std::int32_t>(local)) ++chain;
  const std::int32_t count = static_cast<std::int32_t>(local) - rows.first_column[chain] + 1;
  std::vector<std::int32_t> sides[2];
  for (const std::int32_t a : chosen) sides[rows.passes(a, chain, count)].push_back(a);
  std::int32_t children[2];
  for (int side = 0; side < 2; ++side) {
    // Known already where the split was found by branching, and quickly solved where a pair table gave it.
    const Solution below = solve(rows, sides[side].data(), sides[side].size(), solution.depth - 1, infinity);
    children[side] = extract(rows, sides[side], below, tree);
  }
  tree[at] = {solution.split, children[0], children[1]};
  return at;
}

template <class W>
TreeResult TreeSearch<W>::run(std::int32_t max_depth) {
  std::vector<std::int32_t> everything(rows_.n_rows);
  std::iota(everything.begin(), everything.end(), 0);
  TreeResult result;
  Solution best = solve(rows_, everything.data(), rows_.n_rows, 0, infinity);
  std::int32_t searched = 0, depth = 0;
  double proven = 0;  // of trees of any depth, by the searches that ended
  max_depth = static_cast<std::int32_t>(std::min<std::size_t>(max_depth, rows_.n_rows));  // every split parts some rows
  try {
    // Shallow trees first: each is the incumbent of the next search. (The search to depth 3 starts from the best of depth 2.)
    for (depth = std::min(max_depth, 3); depth <= max_depth && depth > 0; ++depth) {
      if (best.cost <= (searched + 2) * penalty_ + tolerance_) break;  // deeper trees have more leaves than that
      root_best_ = {infinity, none}, root_bound_ = 0;
      const Solution found = solve(rows_, everything.data(), rows_.n_rows, depth, best.cost, true);
      if (found.split != none) best = found;
      searched = depth;
      proven = std::min(best.cost, (depth + 2) * penalty_);  // deeper trees have depth + 2 leaves at least
      if (root_depth_ < depth) break;  // no deeper tree could pay
    }
    result.optimal = true;
    result.bound = best.cost;
  } catch (const Stopped&) {
    if (root_best_.split != none && root_best_.cost < best.cost - tolerance_) best = root_best_;
    // The search at this depth bounds the trees up to it. It starts from nothing, so what is proven already may be more.
    const double deeper = depth < max_depth ? (depth + 2) * penalty_ : infinity;
    result.bound = std::min(best.cost, std::max(proven, std::min(std::max(root_bound_, 2 * penalty_), deeper)));
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
