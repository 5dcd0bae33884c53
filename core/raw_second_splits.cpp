#include "raw_second_splits.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace fcca {

namespace {
// Larger blocks have fewer ends, but more places to search.
std::size_t block_size(std::size_t n_rows) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::sqrt(static_cast<double>(n_rows))), 4, 128);
}

// The cost of a leaf of any size from the sums of its classes, for one criterion. two: whether there are two classes.
template <class W, bool is_curved, bool has_error, bool two>
struct LeafFormula {
  const Curves& curves;
  std::size_t n_classes;
  double operator()(const W* w) const {
    const std::size_t n_all = two ? 2 : n_classes;
    W n = w[0], most = w[0];
    for (std::size_t k = 1; k < n_all; ++k) n += w[k], most = std::max(most, w[k]);
    double cost = 0;
    if constexpr (is_curved) {
      cost = total(n);
      for (std::size_t k = 0; k < n_all; ++k) cost -= part(w[k]);
      if constexpr (has_error) cost += static_cast<double>(n - most) / 2;
    } else if constexpr (has_error) {
      cost = static_cast<double>(n - most);
    } else {
      double squares = 0;
      for (std::size_t k = 0; k < n_all; ++k) squares += static_cast<double>(w[k]) * static_cast<double>(w[k]);
      cost = n > 0 ? std::max(0.0, static_cast<double>(n) - squares / static_cast<double>(n)) : 0;
    }
    return cost;
  }
  // Whole weights are in the tables: the rows are given as integers only then.
  double total(W n) const {
    if constexpr (std::is_integral_v<W>) return curves.totals()[n];
    else return curves.total(n);
  }
  double part(W w) const {
    if constexpr (std::is_integral_v<W>) return curves.parts()[w];
    else return curves.part(w);
  }
};
}  // namespace

// Calls visit with the formula of the criterion.
template <class W>
template <class Visit>
auto RawSecondSplits<W>::with_leaf(Visit visit) const {
  const std::size_t K = cost_.n_classes();
  const Curves& curves = cost_.curves();
  const bool two = K == 2;
  switch (cost_.criterion()) {
    case Criterion::error: return two ? visit(LeafFormula<W, false, true, true>{curves, K}) : visit(LeafFormula<W, false, true, false>{curves, K});
    case Criterion::gini: return two ? visit(LeafFormula<W, false, false, true>{curves, K}) : visit(LeafFormula<W, false, false, false>{curves, K});
    case Criterion::error_and_log_loss:
      return two ? visit(LeafFormula<W, true, true, true>{curves, K}) : visit(LeafFormula<W, true, true, false>{curves, K});
    default: return two ? visit(LeafFormula<W, true, false, true>{curves, K}) : visit(LeafFormula<W, true, false, false>{curves, K});
  }
}

template <class W>
double RawSecondSplits<W>::leaf(const W* planes) const {
  return with_leaf([&](auto formula) { return formula(planes); });
}

template <class W>
bool RawSecondSplits<W>::too_small(const W* planes) const {
  if (!cost_.rules().any()) return false;
  double n = 0;
  for (std::size_t k = 0; k < cost_.n_classes(); ++k) n += static_cast<double>(planes[k]);
  return cost_.too_small(n, cost_.counted() ? static_cast<double>(planes[cost_.n_classes()]) : n);
}

template <class W>
void RawSecondSplits<W>::list_blocks(const Rows& rows) {
  const std::size_t size = block_size(rows.n_rows);
  const std::uint32_t n = static_cast<std::uint32_t>(rows.n_rows);
  blocks_.resize(rows.n_columns);
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    blocks_[j].clear();
    if (rows.is_constant(j)) continue;
    const Id* ranks = rows.ranks_of(j);
    for (std::uint32_t begin = 0; begin < n;) {
      std::uint32_t end = std::min<std::uint32_t>(begin + static_cast<std::uint32_t>(size), n);
      while (end < n && ranks[end] == ranks[end - 1]) ++end;
      blocks_[j].push_back({begin, end, ranks[begin] != ranks[end - 1]});
      begin = end;
    }
  }
}

template <class W>
void RawSecondSplits<W>::start(const Rows& rows, const Id* order, const std::vector<std::size_t>& places) {
  const std::size_t P = n_planes_;
  n_sides_ = 2 * places.size();
  cells_.resize(rows.n_rows);
  all_.assign(n_sides_ * P, W(0)), added_.assign(2 * P, W(0)), sums_.assign((places.size() + 1) * P, W(0)), rest_.resize(P);
  leaf_at_.resize(n_sides_), splits_.assign(n_sides_, 1);
  best_.assign(n_sides_, infinity), floor_.assign(n_sides_, infinity), open_.assign(n_sides_, infinity);
  candidates_.clear(), pool_.clear();
  std::size_t at = 0;
  for (std::size_t i = 0; i <= places.size(); ++i) {
    const std::size_t end = i < places.size() ? places[i] : rows.n_rows;
    for (; at < end; ++at) {
      const std::size_t row = order[at];
      cells_[row] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i * P + rows.label[row]), rows.net[row]};
      sums_[i * P + rows.label[row]] += rows.net[row];
      if (cost_.counted()) sums_[i * P + cost_.n_classes()] += static_cast<W>(rows.count[row]);
    }
  }
  for (std::size_t b = 0; b < places.size(); ++b) {
    for (std::size_t i = 0; i <= places.size(); ++i) {
      for (std::size_t k = 0; k < P; ++k) all_[(2 * b + (i > b)) * P + k] += sums_[i * P + k];
    }
  }
  if (!cost_.rules().any()) return;
  std::vector<double> planes(P);
  for (std::size_t s = 0; s < n_sides_; ++s) {
    for (std::size_t k = 0; k < P; ++k) planes[k] = static_cast<double>(all_[s * P + k]);
    splits_[s] = !cost_.cannot_split(planes.data());
  }
}

template <class W>
void RawSecondSplits<W>::walk(const Rows& rows, std::size_t column) {
  with_leaf([&](auto formula) { walk_with(rows, column, formula); });
}

template <class W>
template <class Leaf>
void RawSecondSplits<W>::walk_with(const Rows& rows, std::size_t column, Leaf leaf) {
  const std::size_t P = n_planes_, n_tested = n_sides_ / 2;
  const Id* order = rows.order_of(column);
  at_.assign(n_sides_ * P, W(0));
  std::fill(leaf_at_.begin(), leaf_at_.end(), 0.0);
  in_column_ = infinity;
  W *left = added_.data(), *right = left + P;
  for (std::size_t number = 0; number < blocks_[column].size(); ++number) {
    const Block& block = blocks_[column][number];
    std::fill(sums_.begin(), sums_.end(), W(0));
    for (std::uint32_t place = block.begin; place < block.end; ++place) {
      const Cell& cell = cells_[order[place]];
      sums_[cell.place] += cell.weight;
    }
    for (std::uint32_t place = block.begin; cost_.counted() && place < block.end; ++place) {
      sums_[cells_[order[place]].interval * P + P - 1] += static_cast<W>(rows.count[order[place]]);
    }
    for (std::size_t k = 0; k < P; ++k) {
      left[k] = right[k] = W(0);
      for (std::size_t i = 0; i <= n_tested; ++i) right[k] += sums_[i * P + k];
    }
    for (std::size_t b = 0; b < n_tested; ++b) {
      for (std::size_t k = 0; k < P; ++k) left[k] += sums_[b * P + k], right[k] -= sums_[b * P + k];
      Candidate here{0, static_cast<std::uint32_t>(column), static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(2 * b), 0};
      close_block(2 * b, left, here, block.has_places, leaf);
      here.side = static_cast<std::uint32_t>(2 * b + 1);
      close_block(2 * b + 1, right, here, block.has_places, leaf);
    }
  }
}

// Adds the rows of a block to a side, and looks at the split at its end. The block is a candidate if it can hold a better one.
template <class W>
template <class Leaf>
void RawSecondSplits<W>::close_block(std::size_t side, const W* added, const Candidate& here, bool has_places, Leaf leaf) {
  const std::size_t P = n_planes_;
  W *at = at_.data() + side * P, *rest = rest_.data(), any = W(0);
  const W* all = all_.data() + side * P;
  for (std::size_t k = 0; k < P; ++k) any += added[k];
  if (any == W(0)) return;
  for (std::size_t k = 0; k < P; ++k) at[k] += added[k], rest[k] = all[k] - at[k];
  const double before = leaf_at_[side], behind = leaf(rest), cost = (leaf_at_[side] = leaf(at)) + behind;
  if (side == 0) in_column_ = std::min(in_column_, cost);
  if (!too_small(at) && !too_small(rest)) best_[side] = std::min(best_[side], cost);
  floor_[side] = std::min(floor_[side], cost);
  if (!has_places || before + behind >= best_[side]) return;
  candidates_.push_back(here);
  candidates_.back().bound = before + behind, candidates_.back().planes = pool_.size();
  for (std::size_t k = 0; k < P; ++k) pool_.push_back(at[k] - added[k]);
}

template <class W>
void RawSecondSplits<W>::finish() {
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    if (a.side != b.side) return a.side < b.side;
    if (a.bound != b.bound) return a.bound < b.bound;
    return a.column != b.column ? a.column < b.column : a.block < b.block;
  });
  for (const Candidate& candidate : candidates_) open_[candidate.side] = std::min(open_[candidate.side], candidate.bound);
}

template <class W>
void RawSecondSplits<W>::refine(const Rows& rows, std::size_t side) {
  if (splits_[side]) {
    const auto first = std::lower_bound(candidates_.begin(), candidates_.end(), side, [](const Candidate& c, std::size_t s) { return c.side < s; });
    for (auto candidate = first; candidate != candidates_.end() && candidate->side == side && candidate->bound < best_[side]; ++candidate) {
      with_leaf([&](auto formula) { refine_with(rows, *candidate, formula); });
    }
    open_[side] = infinity;
  }
}

template <class W>
template <class Leaf>
void RawSecondSplits<W>::refine_with(const Rows& rows, const Candidate& candidate, Leaf leaf) {
  const std::size_t P = n_planes_, side = candidate.side;
  const Id *order = rows.order_of(candidate.column), *ranks = rows.ranks_of(candidate.column);
  const Block& block = blocks_[candidate.column][candidate.block];
  W *at = pool_.data() + candidate.planes, *rest = rest_.data();
  const W* all = all_.data() + side * P;
  std::uint32_t last = block.end;  // the last place with a row of the side
  for (std::uint32_t place = block.begin; place < block.end; ++place) {
    const std::size_t row = order[place];
    if ((cells_[row].interval > side / 2) != (side % 2 == 1)) continue;
    if (last != block.end && ranks[last] != ranks[place]) {
      for (std::size_t k = 0; k < P; ++k) rest[k] = all[k] - at[k];
      const double cost = leaf(at) + leaf(rest);
      floor_[side] = std::min(floor_[side], cost);
      if (!too_small(at) && !too_small(rest)) best_[side] = std::min(best_[side], cost);
    }
    at[rows.label[row]] += rows.net[row];
    if (cost_.counted()) at[P - 1] += static_cast<W>(rows.count[row]);
    last = place;
  }
}

template class RawSecondSplits<std::int32_t>;
template class RawSecondSplits<double>;

}  // namespace fcca
