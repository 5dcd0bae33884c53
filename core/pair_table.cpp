#include "pair_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pair_kernels.hpp"

namespace fcca {

namespace kernels {
#define FCCA_KERNELS(W)                                                                                                        \
  FCCA_CLONES void add(W* to, const W* x, std::size_t n) { add_body(to, x, n); }                                               \
  FCCA_CLONES void add_to_each(W* base, const std::size_t* places, std::size_t n_places, const W* x, std::size_t n) {          \
    add_to_each_body(base, places, n_places, x, n);                                                                            \
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

// The gain of splitting at the first column, each side a leaf or split once more at the best second column. With one signed
// plane, |a| + |s - a| over all j is the largest of |s|, 2·max a − s and s − 2·min a: no single pair has to be looked at.
template <class W>
double binary_gain(const kernels::Extremes<W>& e, double passing, double rest, double price) {
  const double in = std::max(2.0 * e.most_in - passing, passing - 2.0 * e.least_in);
  const double out = std::max(2.0 * e.most_out - rest, rest - 2.0 * e.least_out);
  return std::max(std::abs(passing) - price, in - 2 * price) + std::max(std::abs(rest) - price, out - 2 * price);
}

}  // namespace

template <class W>
void PairTable<W>::reset(const TreeRows<W>& rows) {
  n_columns_ = rows.n_columns, stride_ = rows.stride, n_planes_ = rows.n_planes;
  pair_.assign(n_planes_ * n_columns_ * stride_, 0);
  single_.assign(n_planes_ * stride_, 0);
  sum_.assign(n_planes_, 0);
  row_.assign(stride_, 0);
}

template <class W>
void PairTable<W>::add(const TreeRows<W>& rows, std::size_t row) {
  const std::int32_t* passed = rows.passed.data() + row * rows.n_chains;
  places_.clear();
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    if (passed[c] > 0) places_.push_back((rows.first_column[c] + passed[c] - 1) * stride_);
  }
  for (std::size_t k = 0; k < n_planes_; ++k) {
    const W weight = rows.planes[row * n_planes_ + k];
    sum_[k] = static_cast<W>(sum_[k] + weight);
    if (weight == 0) continue;
    std::fill(row_.begin(), row_.end(), W(0));
    for (std::size_t c = 0; c < rows.n_chains; ++c) {
      std::fill_n(row_.begin() + rows.first_column[c], passed[c], weight);
    }
    kernels::add(single_.data() + k * stride_, row_.data(), stride_);
    kernels::add_to_each(pair_.data() + k * n_columns_ * stride_, places_.data(), places_.size(), row_.data(), stride_);
  }
}

template <class W>
void PairTable<W>::sum_chains(const TreeRows<W>& rows) {
  for (std::size_t k = 0; k < n_planes_; ++k) {
    W* plane = pair_.data() + k * n_columns_ * stride_;
    for (std::size_t c = 0; c < rows.n_chains; ++c) {
      for (std::int32_t i = rows.first_column[c + 1] - 2; i >= rows.first_column[c]; --i) {
        kernels::add(plane + i * stride_, plane + (i + 1) * stride_, stride_);
      }
    }
  }
}

// One first column i of one side, many classes: the four leaves' best weights for every second column, then the best column.
// pair(k) is plane k of row i, single(k) the side's columns, passing[k] and all[k] the side's weights with and without i.
template <class W, class Pair, class Single>
static double many_class_gain(std::size_t n_planes, std::size_t n, std::size_t stride, Pair pair, Single single, const W* all,
                              std::size_t i, double price, std::vector<W>& best) {
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
  double in = leaf_in - price, out = leaf_out - price;
  for (std::size_t j = 0; j < n; ++j) {
    in = std::max(in, static_cast<double>(in_in[j]) + in_out[j] - 2 * price);
    out = std::max(out, static_cast<double>(out_in[j]) + out_out[j] - 2 * price);
  }
  return in + out;
}

template <class W>
void PairTable<W>::first_split_gains(LeafPrice price, std::vector<double>& gains) const {
  gains.resize(n_columns_);
  std::vector<W> best;
  for (std::size_t i = 0; i < n_columns_; ++i) {
    if (n_planes_ == 1) {
      const auto e = kernels::extremes(pair_.data() + i * stride_, single_.data(), stride_);
      gains[i] = binary_gain(e, single_[i], static_cast<double>(sum_[0]) - single_[i], price.per_leaf);
    } else {
      gains[i] = many_class_gain<W>(
          n_planes_, n_columns_, stride_, [&](std::size_t k) { return pair_.data() + (k * n_columns_ + i) * stride_; },
          [&](std::size_t k) { return single_.data() + k * stride_; }, sum_.data(), i, price.per_leaf, best);
    }
  }
}

template <class W>
void PairTable<W>::two_sided_gains(const TreeRows<W>& rows, const PairTable& total, LeafPrice price, double& right, double& left) {
  other_.resize(n_planes_ * stride_ + n_planes_);
  W* single_left = other_.data();
  W* sum_left = other_.data() + n_planes_ * stride_;
  for (std::size_t at = 0; at < n_planes_ * stride_; ++at) single_left[at] = static_cast<W>(total.single_[at] - single_[at]);
  for (std::size_t k = 0; k < n_planes_; ++k) sum_left[k] = static_cast<W>(total.sum_[k] - sum_[k]);
  auto leaf = [&](const W* sum) {
    return n_planes_ == 1 ? std::abs(static_cast<double>(sum[0])) : static_cast<double>(*std::max_element(sum, sum + n_planes_));
  };
  right = leaf(sum_.data()) - price.per_leaf;
  left = leaf(sum_left) - price.per_leaf;

  std::vector<W> many;  // planes of total - running, for many classes
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    running_.assign(n_planes_ * stride_, 0);
    for (std::int32_t i = rows.first_column[c + 1] - 1; i >= rows.first_column[c]; --i) {
      if (n_planes_ == 1) {
        kernels::Extremes<W> on_right, on_left;
        kernels::two_sided(running_.data(), pair_.data() + i * stride_, total.pair_.data() + i * stride_, single_.data(),
                           single_left, stride_, on_right, on_left);
        right = std::max(right, binary_gain(on_right, single_[i], static_cast<double>(sum_[0]) - single_[i], price.per_leaf));
        left = std::max(left, binary_gain(on_left, single_left[i], static_cast<double>(sum_left[0]) - single_left[i],
                                          price.per_leaf));
        continue;
      }
      many.resize(n_planes_ * stride_);
      for (std::size_t k = 0; k < n_planes_; ++k) {
        const std::size_t at = (k * n_columns_ + i) * stride_;
        kernels::add(running_.data() + k * stride_, pair_.data() + at, stride_);
        for (std::size_t j = 0; j < stride_; ++j) many[k * stride_ + j] = static_cast<W>(total.pair_[at + j] - running_[k * stride_ + j]);
      }
      right = std::max(right, many_class_gain<W>(
                                  n_planes_, n_columns_, stride_, [&](std::size_t k) { return running_.data() + k * stride_; },
                                  [&](std::size_t k) { return single_.data() + k * stride_; }, sum_.data(), i, price.per_leaf, best_));
      left = std::max(left, many_class_gain<W>(
                                n_planes_, n_columns_, stride_, [&](std::size_t k) { return many.data() + k * stride_; },
                                [&](std::size_t k) { return single_left + k * stride_; }, sum_left, i, price.per_leaf, best_));
    }
  }
}

template class PairTable<std::int16_t>;
template class PairTable<std::int32_t>;
template class PairTable<double>;

}  // namespace fcca
