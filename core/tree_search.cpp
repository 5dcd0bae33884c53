#include "tree_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t wide = 500;  // columns from which on adding one row to a pair table takes longer than asking the time

std::uint64_t next_hash(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
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

template <class W>
double TreeSearch<W>::leaf_cost(double heaviest, const std::vector<double>& sums) const {
  const double gain = rows_.binary() ? std::abs(sums[0]) : *std::max_element(sums.begin(), sums.end());
  return rows_.unit() * (heaviest - gain) + penalty_;
}

// A tree is a leaf, or has two leaves at least.
template <class W>
double TreeSearch<W>::bound_without_search(double heaviest, const std::vector<double>& sums) const {
  return std::min(leaf_cost(heaviest, sums), 2 * penalty_);
}

template <class W>
typename TreeSearch<W>::SplitOrder TreeSearch<W>::sorted_by(const TreeRows<W>& rows, std::size_t chain) const {
  const std::size_t length = rows.first_column[chain + 1] - rows.first_column[chain];
  SplitOrder order;
  order.first.assign(length + 2, 0);
  for (std::size_t a = 0; a < rows.n_rows; ++a) ++order.first[rows.passed[a * rows.n_chains + chain] + 1];
  std::partial_sum(order.first.begin(), order.first.end(), order.first.begin());
  order.rows.resize(rows.n_rows);
  std::vector<std::int32_t> at(order.first.begin(), order.first.end());
  for (std::size_t a = 0; a < rows.n_rows; ++a) order.rows[at[rows.passed[a * rows.n_chains + chain]]++] = static_cast<std::int32_t>(a);
  return order;
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
void TreeSearch<W>::remember(std::int32_t depth, std::uint64_t hash, std::vector<std::uint64_t> key, Answer answer) {
  if (static_cast<std::size_t>(depth) >= known_.size()) known_.resize(depth + 1);
  const bool exact = answer.split != none;
  auto& bucket = known_[depth][hash];
  for (Known& known : bucket) {
    if (known.rows != key) continue;
    if (exact || (!known.exact && answer.cost > known.answer.cost)) known.answer = answer, known.exact = exact;
    return;
  }
  bucket.push_back({std::move(key), answer, exact});
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

// A tree of depth d has d + 1 leaves at least, so a deep one can be dearer than what is known already.
template <class W>
std::int32_t TreeSearch<W>::worthwhile_depth(std::int32_t depth, double cost) const {
  if (!(penalty_ > 0)) return depth;
  return static_cast<std::int32_t>(std::min<double>(depth, std::max(1.0, std::ceil(cost / penalty_) - 1)));
}

// The cheapest tree of the rows, if it costs less than the limit; otherwise none, with a lower bound that is not below the limit
// (by more than the tolerance).
template <class W>
typename TreeSearch<W>::Answer TreeSearch<W>::solve(const TreeRows<W>& parent, const std::int32_t* rows, std::size_t n,
                                                    std::int32_t depth, double limit, bool is_root) {
  double heaviest = 0;
  std::vector<double> sums(parent.n_planes, 0.0);
  for (std::size_t a = 0; a < n; ++a) {
    heaviest += parent.heaviest[rows[a]];
    for (std::size_t k = 0; k < parent.n_planes; ++k) sums[k] += parent.planes[rows[a] * parent.n_planes + k];
  }
  const double as_leaf = leaf_cost(heaviest, sums);
  Answer best{limit, none};
  if (as_leaf < limit - tolerance_) best = {as_leaf, leaf};
  if (depth == 0 || as_leaf <= 2 * penalty_ + tolerance_) return best.split == leaf ? best : Answer{as_leaf, none};
  if (best.cost <= 2 * penalty_ + tolerance_) return best.split == leaf ? best : Answer{2 * penalty_, none};
  const std::int32_t asked = depth;
  depth = worthwhile_depth(depth, best.cost);
  if (is_root) root_depth_ = depth;

  std::vector<std::uint64_t> key;
  std::uint64_t hash = 0;
  const bool worth_remembering = asked >= 3 && !is_root;
  if (worth_remembering) {
    hash = key_of(parent, rows, n, key);
    if (const Known* known = look_up(asked, hash, key)) {
      if (known->exact) return known->answer.cost < limit - tolerance_ ? known->answer : Answer{known->answer.cost, none};
      if (known->answer.cost >= limit - tolerance_) return {known->answer.cost, none};
    }
  }
  enter_node();
  const TreeRows<W> here = parent.restricted(rows, n);
  if (depth == 1) {
    best = solve_depth_one(here, heaviest, best);
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
    const double cost = here.unit() * (heaviest - gains[i]);
    if (cost < best.cost - tolerance_) best = {cost, here.column[i], 2};
  }
  if (is_root && best.split != none) root_best_ = best;
  // Anything deeper than two has four leaves at least.
  if (depth > 2 && best.cost > 4 * penalty_ + tolerance_) {
    best = depth == 3 ? sweep(here, total, gains, best, is_root) : branch(here, gains, depth, best, is_root);
  }
  if (worth_remembering) remember(asked, hash, std::move(key), best);
  return best;
}

template <class W>
typename TreeSearch<W>::Answer TreeSearch<W>::solve_depth_one(const TreeRows<W>& rows, double total, Answer best) const {
  std::vector<double> in(rows.n_columns * rows.n_planes, 0.0), all(rows.n_planes, 0.0), side(rows.n_planes);
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    for (std::size_t k = 0; k < rows.n_planes; ++k) {
      const double weight = rows.planes[a * rows.n_planes + k];
      all[k] += weight;
      for (std::size_t c = 0; c < rows.n_chains; ++c) {
        for (std::int32_t t = 0; t < rows.passed[a * rows.n_chains + c]; ++t) in[(rows.first_column[c] + t) * rows.n_planes + k] += weight;
      }
    }
  }
  for (std::size_t i = 0; i < rows.n_columns; ++i) {
    const double* passing = in.data() + i * rows.n_planes;
    double gain = 0;
    if (rows.binary()) {
      gain = std::abs(passing[0]) + std::abs(all[0] - passing[0]);
    } else {
      for (std::size_t k = 0; k < rows.n_planes; ++k) side[k] = all[k] - passing[k];
      gain = *std::max_element(passing, passing + rows.n_planes) + *std::max_element(side.begin(), side.end());
    }
    const double cost = rows.unit() * (total - gain) + 2 * penalty_;
    if (cost < best.cost - tolerance_) best = {cost, rows.column[i], 1};
  }
  return best;
}

// Depth 3: along each chain the rows move one by one from the left of the first split to its right, and the pair table of the
// right-hand rows grows with them.
template <class W>
typename TreeSearch<W>::Answer TreeSearch<W>::sweep(const TreeRows<W>& rows, const PairTable<W>& total,
                                                    const std::vector<double>& gains, Answer best, bool is_root) {
  std::vector<std::size_t> chains(rows.n_chains);
  std::iota(chains.begin(), chains.end(), 0);
  std::vector<double> promise(rows.n_chains, -infinity);
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    for (std::int32_t i = rows.first_column[c]; i < rows.first_column[c + 1]; ++i) promise[c] = std::max(promise[c], gains[i]);
  }
  std::stable_sort(chains.begin(), chains.end(), [&](std::size_t a, std::size_t b) { return promise[a] > promise[b]; });

  const double all_heaviest = std::accumulate(rows.heaviest.begin(), rows.heaviest.end(), 0.0);
  std::vector<double> all(rows.n_planes, 0.0);
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    for (std::size_t k = 0; k < rows.n_planes; ++k) all[k] += rows.planes[a * rows.n_planes + k];
  }
  PairTable<W> right_table;
  std::vector<double> right_sums(rows.n_planes), left_sums(rows.n_planes);
  for (const std::size_t c : chains) {
    const SplitOrder order = sorted_by(rows, c);
    std::fill(right_sums.begin(), right_sums.end(), 0.0);
    double right_heaviest = 0, moved = 0, last_right = 0, last_left = 0;
    std::size_t in_table = rows.n_rows;  // rows from here on are in the table
    for (std::int32_t count = rows.first_column[c + 1] - rows.first_column[c]; count >= 1; --count) {
      for (std::int32_t q = order.first[count]; q < order.first[count + 1]; ++q) {
        const std::size_t a = order.rows[q];
        moved += rows.spread[a], right_heaviest += rows.heaviest[a];
        for (std::size_t k = 0; k < rows.n_planes; ++k) right_sums[k] += rows.planes[a * rows.n_planes + k];
      }
      for (std::size_t k = 0; k < rows.n_planes; ++k) left_sums[k] = all[k] - right_sums[k];
      // More rows never cost less, so the growing side costs at least what it last did; a row that leaves takes its spread
      // with it at most, so the shrinking side costs at least what it last did less the weight moved since.
      const double right_bound = std::max(last_right, bound_without_search(right_heaviest, right_sums));
      const double left_bound = std::max(last_left - moved, bound_without_search(all_heaviest - right_heaviest, left_sums));
      if (right_bound + left_bound >= best.cost - tolerance_) continue;
      enter_node();
      if (in_table == rows.n_rows) right_table.reset(rows);
      while (in_table > static_cast<std::size_t>(order.first[count])) {
        if (rows.n_columns > wide) check_stop();
        right_table.add(rows, order.rows[--in_table]);
      }
      double right_gain, left_gain;
      right_table.two_sided_gains(rows, total, {penalty_ / rows.unit()}, right_gain, left_gain);
      last_right = rows.unit() * (right_heaviest - right_gain);
      last_left = rows.unit() * (all_heaviest - right_heaviest - left_gain);
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
// neighbours in the chain, by the argument of the sweep; the split with the least bound is solved next, so the least bound,
// which is the subtree's, rises as evenly as it can.
template <class W>
typename TreeSearch<W>::Answer TreeSearch<W>::branch(const TreeRows<W>& rows, const std::vector<double>& gains, std::int32_t depth,
                                                     Answer best, bool is_root) {
  const std::size_t n_columns = rows.n_columns;
  std::vector<SplitOrder> orders;
  std::vector<std::size_t> chain_of(n_columns);
  std::vector<double> left(n_columns), right(n_columns), right_spread(n_columns + 1);
  std::vector<std::uint64_t> right_hash(n_columns);
  std::vector<char> done(n_columns, 0);
  std::uint64_t all_hash = 0;
  for (std::size_t a = 0; a < rows.n_rows; ++a) all_hash ^= row_hash_[rows.id[a]];
  const double all_heaviest = std::accumulate(rows.heaviest.begin(), rows.heaviest.end(), 0.0);
  std::vector<double> all(rows.n_planes, 0.0), sums(rows.n_planes), rest(rows.n_planes);
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    for (std::size_t k = 0; k < rows.n_planes; ++k) all[k] += rows.planes[a * rows.n_planes + k];
  }
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    orders.push_back(sorted_by(rows, c));
    const SplitOrder& order = orders.back();
    std::fill(sums.begin(), sums.end(), 0.0);
    double heaviest = 0, spread = 0;
    std::uint64_t hash = 0;
    for (std::int32_t i = rows.first_column[c + 1] - 1; i >= rows.first_column[c]; --i) {
      const std::int32_t count = i - rows.first_column[c] + 1;
      for (std::int32_t q = order.first[count]; q < order.first[count + 1]; ++q) {
        const std::size_t a = order.rows[q];
        heaviest += rows.heaviest[a], spread += rows.spread[a], hash ^= row_hash_[rows.id[a]];
        for (std::size_t k = 0; k < rows.n_planes; ++k) sums[k] += rows.planes[a * rows.n_planes + k];
      }
      for (std::size_t k = 0; k < rows.n_planes; ++k) rest[k] = all[k] - sums[k];
      chain_of[i] = c, right_spread[i] = spread, right_hash[i] = hash;
      right[i] = bound_without_search(heaviest, sums);
      left[i] = bound_without_search(all_heaviest - heaviest, rest);
    }
  }

  auto spread_bounds = [&](std::int32_t from) {
    const std::size_t c = chain_of[from];
    for (std::int32_t i = rows.first_column[c]; i < rows.first_column[c + 1]; ++i) {
      if (i > from) {  // more rows on the left, fewer on the right
        left[i] = std::max(left[i], left[from]);
        right[i] = std::max(right[i], right[from] - (right_spread[from] - right_spread[i]));
      } else {
        right[i] = std::max(right[i], right[from]);
        left[i] = std::max(left[i], left[from] - (right_spread[i] - right_spread[from]));
      }
    }
  };
  // Two columns can split the rows alike. The hash finds candidates; that they are alike is checked row by row.
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>> solved;
  auto has = [&](std::size_t a, std::int32_t i) {
    return rows.passes(a, chain_of[i], i - rows.first_column[chain_of[i]] + 1);
  };
  auto split_alike = [&](std::int32_t i, std::int32_t j, bool complement) {
    for (std::size_t a = 0; a < rows.n_rows; ++a) {
      if ((has(a, i) == has(a, j)) == complement) return false;
    }
    return true;
  };
  auto adopt_twin = [&](std::int32_t i) {
    for (const bool complement : {false, true}) {
      const auto found = solved.find(complement ? all_hash ^ right_hash[i] : right_hash[i]);
      if (found == solved.end()) continue;
      for (const std::int32_t j : found->second) {
        if (!split_alike(i, j, complement)) continue;
        left[i] = std::max(left[i], complement ? right[j] : left[j]);
        right[i] = std::max(right[i], complement ? left[j] : right[j]);
        return true;
      }
    }
    return false;
  };

  for (std::size_t n_solved = 0;; ++n_solved) {
    std::int32_t next = -1;
    double least = infinity;
    for (std::size_t i = 0; i < n_columns; ++i) {
      const double bound = left[i] + right[i];
      least = std::min(least, bound);
      if (done[i] || bound >= best.cost - tolerance_) continue;
      // The first split is the most promising one, for the sake of a good tree early on.
      const bool better = next < 0 || (n_solved == 0 ? gains[i] > gains[next]
                                                     : bound != left[next] + right[next] ? bound < left[next] + right[next]
                                                                                         : gains[i] > gains[next]);
      if (better) next = static_cast<std::int32_t>(i);
    }
    if (is_root) root_bound_ = std::max(root_bound_, std::min(least, best.cost));
    if (next < 0) break;
    done[next] = 1;
    if (adopt_twin(next)) {
      spread_bounds(next);
      continue;
    }
    solved[right_hash[next]].push_back(next);
    const SplitOrder& order = orders[chain_of[next]];
    const std::int32_t border = order.first[next - rows.first_column[chain_of[next]] + 1];
    const std::size_t n_left = border, n_right = rows.n_rows - border;
    bool both_exact = true;
    for (const bool on_left : {n_left >= n_right, n_left < n_right}) {  // the larger side first: it fails earlier
      double& mine = on_left ? left[next] : right[next];
      const double others = on_left ? right[next] : left[next];
      const Answer answer = on_left ? solve(rows, order.rows.data(), n_left, depth - 1, best.cost - others)
                                    : solve(rows, order.rows.data() + border, n_right, depth - 1, best.cost - others);
      mine = std::max(mine, answer.cost);
      both_exact = both_exact && answer.split != none;
      if (left[next] + right[next] >= best.cost - tolerance_) {
        both_exact = false;
        break;
      }
    }
    if (both_exact) {
      best = {left[next] + right[next], rows.column[next], depth};
      if (is_root) root_best_ = best;
    }
    spread_bounds(next);
  }
  return best;
}

template <class W>
std::int32_t TreeSearch<W>::extract(const TreeRows<W>& rows, const std::vector<std::int32_t>& chosen, const Answer& answer,
                                    std::vector<TreeNode>& tree) {
  const std::int32_t at = static_cast<std::int32_t>(tree.size());
  tree.emplace_back();
  if (answer.split < 0) return at;
  const std::size_t local = std::find(rows.column.begin(), rows.column.end(), answer.split) - rows.column.begin();
  std::size_t chain = 0;
  while (rows.first_column[chain + 1] <= static_cast<std::int32_t>(local)) ++chain;
  const std::int32_t count = static_cast<std::int32_t>(local) - rows.first_column[chain] + 1;
  std::vector<std::int32_t> sides[2];
  for (const std::int32_t a : chosen) sides[rows.passes(a, chain, count)].push_back(a);
  std::int32_t children[2];
  for (int side = 0; side < 2; ++side) {
    // Known already where the split was found by branching, and quickly solved where a pair table gave it.
    const Answer below = solve(rows, sides[side].data(), sides[side].size(), answer.depth - 1, infinity);
    children[side] = extract(rows, sides[side], below, tree);
  }
  tree[at] = {answer.split, children[0], children[1]};
  return at;
}

template <class W>
TreeAnswer TreeSearch<W>::run(std::int32_t max_depth) {
  std::vector<std::int32_t> everything(rows_.n_rows);
  std::iota(everything.begin(), everything.end(), 0);
  TreeAnswer answer;
  Answer best = solve(rows_, everything.data(), rows_.n_rows, 0, infinity);
  std::int32_t searched = 0, depth = 0;
  double proven = 0;  // of trees of any depth, by the searches that ended
  max_depth = static_cast<std::int32_t>(std::min<std::size_t>(max_depth, rows_.n_rows));  // every split parts some rows
  try {
    // Shallow trees first: each is the incumbent of the next search. (The search to depth 3 starts from the best of depth 2.)
    for (depth = std::min(max_depth, 3); depth <= max_depth && depth > 0; ++depth) {
      if (best.cost <= (searched + 2) * penalty_ + tolerance_) break;  // deeper trees have more leaves than that
      root_best_ = {infinity, none}, root_bound_ = 0;
      const Answer found = solve(rows_, everything.data(), rows_.n_rows, depth, best.cost, true);
      if (found.split != none) best = found;
      searched = depth;
      proven = std::min(best.cost, (depth + 2) * penalty_);  // deeper trees have depth + 2 leaves at least
      if (root_depth_ < depth) break;  // no deeper tree could pay
    }
    answer.optimal = true;
    answer.bound = best.cost;
  } catch (const Stopped&) {
    if (root_best_.split != none && root_best_.cost < best.cost - tolerance_) best = root_best_;
    // The search at this depth bounds the trees up to it. It starts from nothing, so what is proven already may be more.
    const double deeper = depth < max_depth ? (depth + 2) * penalty_ : infinity;
    answer.bound = std::min(best.cost, std::max(proven, std::min(std::max(root_bound_, 2 * penalty_), deeper)));
  }
  answer.cost = best.cost;
  answer.nodes = nodes_;
  finishing_ = true;
  extract(rows_, everything, best, answer.tree);
  return answer;
}

template class TreeSearch<std::int16_t>;
template class TreeSearch<std::int32_t>;
template class TreeSearch<double>;

}  // namespace fcca
