#include "pair_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "pair_costs.hpp"
#include "pair_kernels.hpp"

namespace fcca {

namespace kernels {
#define FCCA_KERNELS(W)                                                                                                        \
  FCCA_CLONES void add(W* to, const W* x, std::size_t n) { add_body(to, x, n); }                                               \
  FCCA_CLONES void subtract(W* to, const W* x, const W* y, std::size_t n) { subtract_body(to, x, y, n); }                      \
  FCCA_CLONES void add_to_each(W* base, const std::size_t* places, std::size_t n_places, const W* x, std::size_t n) {          \
    add_to_each_body(base, places, n_places, x, n);                                                                            \
  }                                                                                                                            \
  FCCA_CLONES void add_masked(W* to, const W* mask, W weight, std::size_t n) { add_masked_body(to, mask, weight, n); }         \
  FCCA_CLONES void add_parts(W* base, const std::size_t* places, const std::size_t* lengths, std::size_t n_places, const W* mask, W weight) { \
    add_parts_body(base, places, lengths, n_places, mask, weight);                                                             \
  }                                                                                                                            \
  FCCA_CLONES Extremes<W> extremes(const W* pair, const W* single, std::size_t n) { return extremes_body(pair, single, n); }   \
  FCCA_CLONES void two_sided(W* running, const W* bucket, const W* total, const W* single_right, const W* single_left,         \
                             std::size_t n, Extremes<W>& right, Extremes<W>& left) {                                           \
    two_sided_body(running, bucket, total, single_right, single_left, n, right, left);                                         \
  }                                                                                                                            \
  FCCA_CLONES void raise(W* best, const W* value, const W* minus, W plus, std::size_t n) {                                     \
    raise_body(best, value, minus, plus, n);                                                                                   \
  }
FCCA_KERNELS(std::int16_t)
FCCA_KERNELS(std::int32_t)
FCCA_KERNELS(double)
#undef FCCA_KERNELS
}  // namespace kernels

namespace {

// Gains of the two sides of a first split, each as a leaf and with a second split at its best column.
struct SideGains {
  double right_leaf, right_split, left_leaf, left_split;
};

// With one signed plane, the maximum of |a| + |s - a| over all j is the largest of |s|, 2·max a − s and s − 2·min a. No single pair has
// to be computed.
template <class W>
SideGains binary_gains(const kernels::Extremes<W>& e, double passing, double rest) {
  return {std::abs(passing), std::max(2.0 * e.most_in - passing, passing - 2.0 * e.least_in), std::abs(rest),
          std::max(2.0 * e.most_out - rest, rest - 2.0 * e.least_out)};
}

// The largest gain of the trees with each number of leaves.
struct ShallowGains {
  double one, two = lowest, three = lowest, four = lowest;
  static constexpr double lowest = std::numeric_limits<double>::lowest();

  void raise(const SideGains& gains) {
    two = std::max(two, gains.right_leaf + gains.left_leaf);
    three = std::max({three, gains.right_split + gains.left_leaf, gains.right_leaf + gains.left_split});
    four = std::max(four, gains.right_split + gains.left_split);
  }
  ShallowCosts costs(double unit, double most) const {
    return {unit * (most - one), unit * (most - two), unit * (most - three), unit * (most - four)};
  }
};

}  // namespace

template <class W>
void PairTable<W>::reset(const TreeRows<W>& rows, bool is_half) {
  is_half_ = is_half;
  n_columns_ = rows.n_columns, stride_ = rows.stride, n_planes_ = rows.n_planes;
  pair_.assign(n_planes_ * n_columns_ * stride_, 0);
  single_.assign(n_planes_ * stride_, 0);
  sum_.assign(n_planes_, 0);
  row_.assign(stride_, 0);
}

template <class W>
template <bool is_added>
void PairTable<W>::add_or_remove(const TreeRows<W>& rows, std::size_t row, const W* mask) {
  const std::size_t n_runs = static_cast<std::size_t>(rows.first_run[row + 1] - rows.first_run[row]);
  const ColumnRun* runs = rows.runs.data() + rows.first_run[row];
  places_.resize(n_runs);
  for (std::size_t p = 0; p < n_runs; ++p) places_[p] = static_cast<std::size_t>(runs[p].last) * stride_;
  if (is_half_) {
    lengths_.resize(n_runs);
    for (std::size_t p = 0; p < n_runs; ++p) lengths_[p] = length_of(static_cast<std::size_t>(runs[p].last));
    if (mask == nullptr) write_mask(rows, row, row_.data()), mask = row_.data();
  }
  for (std::size_t k = 0; k < n_planes_; ++k) {
    const W there = rows.planes[row * n_planes_ + k], weight = is_added ? there : static_cast<W>(-there);
    sum_[k] = static_cast<W>(sum_[k] + weight);
    if (weight == 0) continue;
    W* plane = pair_.data() + k * n_columns_ * stride_;
    if (is_half_) {
      kernels::add_masked(single_.data() + k * stride_, mask, weight, stride_);
      kernels::add_parts(plane, places_.data(), lengths_.data(), places_.size(), mask, weight);
      continue;
    }
    std::fill(row_.begin(), row_.end(), W(0));
    for (std::size_t p = 0; p < n_runs; ++p) std::fill(row_.data() + runs[p].first, row_.data() + runs[p].last + 1, weight);
    kernels::add(single_.data() + k * stride_, row_.data(), stride_);
    kernels::add_to_each(plane, places_.data(), places_.size(), row_.data(), stride_);
  }
}

template <class W>
void PairTable<W>::write_mask(const TreeRows<W>& rows, std::size_t row, W* mask) {
  std::fill_n(mask, rows.stride, W(0));
  rows.for_each_run(row, [&](std::size_t first, std::size_t last) {
    std::fill(mask + first, mask + last + 1, static_cast<W>(std::is_integral_v<W> ? -1 : 1));
  });
}

template <class W>
void PairTable<W>::add(const TreeRows<W>& rows, std::size_t row, const W* mask) {
  add_or_remove<true>(rows, row, mask);
}

template <class W>
void PairTable<W>::remove(const TreeRows<W>& rows, std::size_t row, const W* mask) {
  add_or_remove<false>(rows, row, mask);
}

template <class W>
void PairTable<W>::sum_chains(const TreeRows<W>& rows) {
  for (std::size_t k = 0; k < n_planes_; ++k) {
    W* plane = pair_.data() + k * n_columns_ * stride_;
    for (std::size_t c = 0; c < rows.n_chains; ++c) {
      for (std::int32_t i = rows.first_column[c + 1] - 2; i >= rows.first_column[c]; --i) {
        kernels::add(plane + i * stride_, plane + (i + 1) * stride_, length_of(i));
      }
    }
  }
}

// One first column i of one side, many classes: the four leaves' best weights for every second column, then the best column.
// pair(k) is plane k of row i, single(k) the side's columns, passing[k] and all[k] the side's weights with and without i.
template <class W, class Pair, class Single>
static SideGains many_class_gains(std::size_t n_planes, std::size_t n, std::size_t stride, Pair pair, Single single, const W* all,
                                  std::size_t i, std::vector<W>& best) {
  best.assign(5 * stride, std::numeric_limits<W>::lowest());
  W *in_in = best.data(), *in_out = in_in + stride, *out_in = in_out + stride, *out_out = out_in + stride;
  W* nothing = out_out + stride;
  std::fill(nothing, nothing + stride, W(0));
  W leaf_in = std::numeric_limits<W>::lowest(), leaf_out = leaf_in;
  for (std::size_t k = 0; k < n_planes; ++k) {
    const W* p = pair(k);
    const W* s = single(k);
    const W passing = s[i], rest = static_cast<W>(all[k] - s[i]);
    leaf_in = std::max(leaf_in, passing), leaf_out = std::max(leaf_out, rest);
    kernels::raise(in_in, p, nothing, 0, stride);
    kernels::raise(in_out, nothing, p, passing, stride);
    kernels::raise(out_in, s, p, 0, stride);
    kernels::raise(out_out, p, s, rest, stride);
  }
  double in = ShallowGains::lowest, out = in;
  for (std::size_t j = 0; j < n; ++j) {
    in = std::max(in, static_cast<double>(in_in[j]) + in_out[j]);
    out = std::max(out, static_cast<double>(out_in[j]) + out_out[j]);
  }
  return {static_cast<double>(leaf_in), in, static_cast<double>(leaf_out), out};
}

template <class W>
void PairTable<W>::first_splits(const LeafCost& cost, const WeightSums& all, std::vector<FirstSplitCosts>& costs) const {
  costs.resize(n_columns_);
  const auto single = [&](std::size_t k) { return single_.data() + k * stride_; };
  const auto pair = [&](std::size_t i) { return [&, i](std::size_t k) { return pair_.data() + (k * n_columns_ + i) * stride_; }; };
  if (!cost.is_plain_error()) {
    SecondSplits<W> second(cost, n_columns_, single_.data(), stride_, sum_.data());
    for (std::size_t i = 0; i < n_columns_; ++i) second.add_row(i, pair_.data() + i * stride_, n_columns_ * stride_);
    for (std::size_t i = 0; i < n_columns_; ++i) costs[i] = second.of(i);
    return;
  }
  std::vector<W> best;
  const double unit = n_planes_ == 1 ? 0.5 : 1.0;
  for (std::size_t i = 0; i < n_columns_; ++i) {
    const SideGains gains = n_planes_ == 1 ? binary_gains(kernels::extremes(pair_.data() + i * stride_, single_.data(), stride_),
                                                          single_[i], static_cast<double>(sum_[0]) - single_[i])
                                           : many_class_gains<W>(n_planes_, n_columns_, stride_, pair(i), single, sum_.data(), i, best);
    const auto left_over = [&](double right, double left) { return unit * (all.most - right - left); };
    costs[i] = {left_over(gains.right_leaf, gains.left_leaf), left_over(gains.right_split, gains.left_leaf),
                left_over(gains.right_leaf, gains.left_split), left_over(gains.right_split, gains.left_split)};
  }
}

template <class W>
void PairTable<W>::set_others(const PairTable& total) {
  other_.resize(n_planes_ * stride_ + n_planes_);
  W *single = other_.data(), *sum = single + n_planes_ * stride_;
  for (std::size_t at = 0; at < n_planes_ * stride_; ++at) single[at] = static_cast<W>(total.single_[at] - single_[at]);
  for (std::size_t k = 0; k < n_planes_; ++k) sum[k] = static_cast<W>(total.sum_[k] - sum_[k]);
}

template <class W>
void PairTable<W>::two_sides(const TreeRows<W>& rows, const PairTable& total, const WeightSums& right_sums, const WeightSums& left_sums,
                             ShallowCosts& right, ShallowCosts& left) {
  set_others(total);
  const W *single_left = other_.data(), *sum_left = other_.data() + n_planes_ * stride_;
  const auto leaf = [&](const W* sum) {
    return n_planes_ == 1 ? std::abs(static_cast<double>(sum[0])) : static_cast<double>(*std::max_element(sum, sum + n_planes_));
  };
  ShallowGains on_right{leaf(sum_.data())}, on_left{leaf(sum_left)};
  std::vector<W> many;  // planes of total - running, for many classes
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    running_.assign(n_planes_ * stride_, 0);
    for (std::int32_t i = rows.first_column[c + 1] - 1; i >= rows.first_column[c]; --i) {
      if (n_planes_ == 1) {
        kernels::Extremes<W> right_extremes, left_extremes;
        kernels::two_sided(running_.data(), pair_.data() + i * stride_, total.pair_.data() + i * stride_, single_.data(),
                           single_left, stride_, right_extremes, left_extremes);
        on_right.raise(binary_gains(right_extremes, single_[i], static_cast<double>(sum_[0]) - single_[i]));
        on_left.raise(binary_gains(left_extremes, single_left[i], static_cast<double>(sum_left[0]) - single_left[i]));
        continue;
      }
      many.resize(n_planes_ * stride_);
      for (std::size_t k = 0; k < n_planes_; ++k) {
        const std::size_t at = (k * n_columns_ + i) * stride_;
        kernels::add(running_.data() + k * stride_, pair_.data() + at, stride_);
        for (std::size_t j = 0; j < stride_; ++j) many[k * stride_ + j] = static_cast<W>(total.pair_[at + j] - running_[k * stride_ + j]);
      }
      on_right.raise(many_class_gains<W>(
          n_planes_, n_columns_, stride_, [&](std::size_t k) { return running_.data() + k * stride_; },
          [&](std::size_t k) { return single_.data() + k * stride_; }, sum_.data(), i, best_));
      on_left.raise(many_class_gains<W>(
          n_planes_, n_columns_, stride_, [&](std::size_t k) { return many.data() + k * stride_; },
          [&](std::size_t k) { return single_left + k * stride_; }, sum_left, i, best_));
    }
  }
  right = on_right.costs(rows.unit(), right_sums.most), left = on_left.costs(rows.unit(), left_sums.most);
}

template <class W>
ShallowCosts PairTable<W>::one_side(const TreeRows<W>& rows, const PairTable& total, const LeafCost& cost, bool of_held) {
  if (!of_held) set_others(total);
  const W *single = of_held ? single_.data() : other_.data(), *sum = of_held ? sum_.data() : other_.data() + n_planes_ * stride_;
  best_.resize(n_planes_ * stride_);
  SecondSplits<W> second(cost, n_columns_, single, stride_, sum);
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    running_.assign(n_planes_ * stride_, 0);
    for (std::int32_t i = rows.first_column[c + 1] - 1; i >= rows.first_column[c]; --i) {
      const std::size_t length = length_of(i);
      for (std::size_t k = 0; k < n_planes_; ++k) {
        const std::size_t at = (k * n_columns_ + i) * stride_;
        W* running = running_.data() + k * stride_;
        kernels::add(running, pair_.data() + at, length);
        if (!of_held) kernels::subtract(best_.data() + k * stride_, total.pair_.data() + at, running, length);
      }
      second.add_row(i, of_held ? running_.data() : best_.data(), stride_);
    }
  }
  ShallowCosts costs{second.as_leaf()};
  for (std::size_t i = 0; i < n_columns_; ++i) costs.lower(second.of(i));
  return costs;
}

template class PairTable<std::int16_t>;
template class PairTable<std::int32_t>;
template class PairTable<double>;

}  // namespace fcca
