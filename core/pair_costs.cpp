#include "pair_costs.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "pair_kernels.hpp"

namespace fcca {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

namespace kernels {

// add(sum, weight) for one class's weight in the four leaves; the first class begins an empty sum.
template <bool first, class W, class Sum, class Add>
FCCA_INLINE void add_up(const ClassRow<W>& row, std::size_t n_columns, std::size_t stride, Sum* sum, Add add) {
  const W *__restrict in_both = row.both, *__restrict single = row.single;
  Sum *__restrict both = sum, *__restrict only_i = both + stride, *__restrict only_j = only_i + stride, *__restrict neither = only_j + stride;
  const W passing = row.passing, rest = row.rest;
  for (std::size_t j = 0; j < n_columns; ++j) {
    const W inside = in_both[j], outside = static_cast<W>(single[j] - inside);
    both[j] = add(first ? Sum(0) : both[j], inside);
    only_i[j] = add(first ? Sum(0) : only_i[j], static_cast<W>(passing - inside));
    only_j[j] = add(first ? Sum(0) : only_j[j], outside);
    neither[j] = add(first ? Sum(0) : neither[j], static_cast<W>(rest - outside));
  }
}

template <bool first, class W>
FCCA_INLINE void weights_body(const ClassRow<W>& row, std::size_t n, std::size_t stride, W* sum) {
  add_up<first>(row, n, stride, sum, [](W before, W w) { return static_cast<W>(before + w); });
}
template <bool first, class W>
FCCA_INLINE void largest_body(const ClassRow<W>& row, std::size_t n, std::size_t stride, W* most) {
  add_up<first>(row, n, stride, most, [](W before, W w) { return std::max(before, w); });
}
template <bool first, class W>
FCCA_INLINE void squares_body(const ClassRow<W>& row, std::size_t n, std::size_t stride, double* sum) {
  add_up<first>(row, n, stride, sum, [](double before, W w) { return before + static_cast<double>(w) * static_cast<double>(w); });
}
template <bool first, class W>
FCCA_INLINE void table_body(const ClassRow<W>& row, std::size_t n, std::size_t stride, const double* part, double* sum) {
  add_up<first>(row, n, stride, sum, [part](double before, W w) { return before + part[static_cast<std::int32_t>(w)]; });
}

template <class W>
FCCA_INLINE void error_body(const W* __restrict weight, const W* __restrict most, std::size_t n, double* __restrict cost) {
  for (std::size_t j = 0; j < n; ++j) cost[j] = static_cast<double>(weight[j]) - static_cast<double>(most[j]);
}
template <class W>
FCCA_INLINE void gini_body(const W* __restrict weight, const double* __restrict squares, std::size_t n, double* __restrict cost) {
  constexpr double tiny = std::numeric_limits<double>::min();
  for (std::size_t j = 0; j < n; ++j) {
    const double all = static_cast<double>(weight[j]), impure = all - squares[j] / (all > tiny ? all : tiny);
    cost[j] = impure > 0 ? impure : 0;  // round-off in an empty leaf
  }
}
template <class W>
FCCA_INLINE void curve_body(const W* __restrict weight, const double* __restrict sum, const double* __restrict total, std::size_t n,
                            double* __restrict cost) {
  for (std::size_t j = 0; j < n; ++j) cost[j] = total[static_cast<std::int32_t>(weight[j])] - sum[j];
}

#define FCCA_COST_KERNELS(W)                                                                                                  \
  FCCA_CLONES void weights(const ClassRow<W>& row, std::size_t n, std::size_t stride, bool first, W* sum) {                   \
    first ? weights_body<true>(row, n, stride, sum) : weights_body<false>(row, n, stride, sum);                               \
  }                                                                                                                           \
  FCCA_CLONES void largest(const ClassRow<W>& row, std::size_t n, std::size_t stride, bool first, W* most) {                  \
    first ? largest_body<true>(row, n, stride, most) : largest_body<false>(row, n, stride, most);                             \
  }                                                                                                                           \
  FCCA_CLONES void squares(const ClassRow<W>& row, std::size_t n, std::size_t stride, bool first, double* sum) {              \
    first ? squares_body<true>(row, n, stride, sum) : squares_body<false>(row, n, stride, sum);                               \
  }                                                                                                                           \
  FCCA_CLONES void error(const W* weight, const W* most, std::size_t n, double* cost) { error_body(weight, most, n, cost); }  \
  FCCA_CLONES void gini(const W* weight, const double* squares, std::size_t n, double* cost) { gini_body(weight, squares, n, cost); }
FCCA_COST_KERNELS(std::int16_t)
FCCA_COST_KERNELS(std::int32_t)
FCCA_COST_KERNELS(double)
#undef FCCA_COST_KERNELS

// Lowers in[j] and out[j] to the costs of the second splits with j as the first column, and in_i and out_i to those with i as the first
// column.
FCCA_CLONES void lower(const double* __restrict cost, std::size_t stride, std::size_t n, double* __restrict in, double* __restrict out, double& in_i,
                       double& out_i) {
  constexpr std::size_t lanes = 8;
  const double *__restrict both = cost, *__restrict only_i = both + stride, *__restrict only_j = only_i + stride, *__restrict neither = only_j + stride;
  double least_in[lanes], least_out[lanes];
  std::fill_n(least_in, lanes, in_i), std::fill_n(least_out, lanes, out_i);
  const auto look_at = [&](std::size_t j, double& least_in_i, double& least_out_i) {
    const double i_in = both[j] + only_i[j], i_out = only_j[j] + neither[j], j_in = both[j] + only_j[j], j_out = only_i[j] + neither[j];
    least_in_i = i_in < least_in_i ? i_in : least_in_i, least_out_i = i_out < least_out_i ? i_out : least_out_i;
    in[j] = j_in < in[j] ? j_in : in[j], out[j] = j_out < out[j] ? j_out : out[j];
  };
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) look_at(j + lane, least_in[lane], least_out[lane]);
  }
  for (; j < n; ++j) look_at(j, least_in[0], least_out[0]);
  in_i = *std::min_element(least_in, least_in + lanes), out_i = *std::min_element(least_out, least_out + lanes);
}

// Two classes in one pass: leaf(w0, w1) is the cost of a leaf.
template <class W, class Leaf>
FCCA_INLINE void two_classes_body(const ClassRow<W>* rows, std::size_t n, double* __restrict in, double* __restrict out,
                                  double& in_i, double& out_i, Leaf leaf) {
  using Sum = std::conditional_t<std::is_integral_v<W>, std::int32_t, double>;
  constexpr std::size_t lanes = 8;
  const W *__restrict zeros = rows[0].both, *__restrict ones = rows[1].both, *__restrict all_zeros = rows[0].single, *__restrict all_ones = rows[1].single;
  const Sum passing_0 = rows[0].passing, passing_1 = rows[1].passing, rest_0 = rows[0].rest, rest_1 = rows[1].rest;
  double least_in[lanes], least_out[lanes];
  std::fill_n(least_in, lanes, in_i), std::fill_n(least_out, lanes, out_i);
  const auto look_at = [&](std::size_t j, double& least_in_i, double& least_out_i) {
    const Sum in_0 = zeros[j], in_1 = ones[j], out_0 = static_cast<Sum>(all_zeros[j]) - in_0, out_1 = static_cast<Sum>(all_ones[j]) - in_1;
    const double both = leaf(in_0, in_1), only_i = leaf(passing_0 - in_0, passing_1 - in_1);
    const double only_j = leaf(out_0, out_1), neither = leaf(rest_0 - out_0, rest_1 - out_1);
    const double i_in = both + only_i, i_out = only_j + neither, j_in = both + only_j, j_out = only_i + neither;
    least_in_i = i_in < least_in_i ? i_in : least_in_i, least_out_i = i_out < least_out_i ? i_out : least_out_i;
    in[j] = j_in < in[j] ? j_in : in[j], out[j] = j_out < out[j] ? j_out : out[j];
  };
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) look_at(j + lane, least_in[lane], least_out[lane]);
  }
  for (; j < n; ++j) look_at(j, least_in[0], least_out[0]);
  in_i = *std::min_element(least_in, least_in + lanes), out_i = *std::min_element(least_out, least_out + lanes);
}

#define FCCA_TWO_CLASSES(W)                                                                                                   \
  FCCA_CLONES void gini_of_two(const ClassRow<W>* rows, std::size_t n, double least, double* in, double* out, double& in_i,   \
                               double& out_i) {                                                                               \
    constexpr double tiny = std::numeric_limits<double>::min();                                                               \
    two_classes_body(rows, n, in, out, in_i, out_i, [least](auto w0, auto w1) {                                               \
      const double all = static_cast<double>(w0 + w1), product = 2 * static_cast<double>(w0) * static_cast<double>(w1);       \
      const double impure = product / (all > tiny ? all : tiny);                                                              \
      const double cost = impure > 0 ? impure : 0; /* round-off in an empty leaf */                                           \
      return all < least ? infinity : cost;                                                                                   \
    });                                                                                                                       \
  }
FCCA_TWO_CLASSES(std::int16_t)
FCCA_TWO_CLASSES(std::int32_t)
FCCA_TWO_CLASSES(double)
#undef FCCA_TWO_CLASSES

#define FCCA_TWO_CLASSES(W)                                                                                                   \
  FCCA_CLONES void table_of_two(const ClassRow<W>* rows, std::size_t n, const double* total, const double* part, \
                                double* in, double* out, double& in_i, double& out_i) {                                       \
    two_classes_body(rows, n, in, out, in_i, out_i,                                                                    \
                     [=](std::int32_t w0, std::int32_t w1) { return total[w0 + w1] - part[w0] - part[w1]; });                 \
  }                                                                                                                           \
  FCCA_CLONES void error_and_table_of_two(const ClassRow<W>* rows, std::size_t n, const double* total,          \
                                          const double* part, double* in, double* out, double& in_i, double& out_i) {         \
    two_classes_body(rows, n, in, out, in_i, out_i, [=](std::int32_t w0, std::int32_t w1) {                            \
      return (total[w0 + w1] - part[w0] - part[w1]) + static_cast<double>(std::min(w0, w1)) / 2;                              \
    });                                                                                                                       \
  }
FCCA_TWO_CLASSES(std::int16_t)
FCCA_TWO_CLASSES(std::int32_t)
#undef FCCA_TWO_CLASSES

#define FCCA_TABLE_KERNELS(W)                                                                                                 \
  FCCA_CLONES void table(const ClassRow<W>& row, std::size_t n, std::size_t stride, bool first, const double* part, double* sum) { \
    first ? table_body<true>(row, n, stride, part, sum) : table_body<false>(row, n, stride, part, sum);                       \
  }                                                                                                                           \
  FCCA_CLONES void curve(const W* weight, const double* sum, const double* total, std::size_t n, double* cost) {              \
    curve_body(weight, sum, total, n, cost);                                                                                  \
  }
FCCA_TABLE_KERNELS(std::int16_t)
FCCA_TABLE_KERNELS(std::int32_t)
#undef FCCA_TABLE_KERNELS

}  // namespace kernels

namespace {

// Sums and costs of the curves, from tables for whole weights.
template <class W>
void curved_costs(const Curves& curves, const std::vector<ClassRow<W>>& classes, std::size_t n_columns, LeafSums<W>& sums) {
  const std::size_t stride = sums.stride;
  if constexpr (std::is_integral_v<W>) {
    if (curves.tabulated()) {
      for (const auto& row : classes) kernels::table(row, n_columns, stride, &row == classes.data(), curves.parts(), sums.sum.data());
      for (std::size_t at = 0; at < 4 * stride; at += stride) {
        kernels::curve(sums.n.data() + at, sums.sum.data() + at, curves.totals(), n_columns, sums.cost.data() + at);
      }
      return;
    }
  }
  for (const auto& row : classes) {
    const auto add = [&](double before, W w) { return before + curves.part(w); };
    if (&row == classes.data()) kernels::add_up<true>(row, n_columns, stride, sums.sum.data(), add);
    else kernels::add_up<false>(row, n_columns, stride, sums.sum.data(), add);
  }
  for (std::size_t at = 0; at < 4 * stride; at += stride) {
    for (std::size_t j = at; j < at + n_columns; ++j) sums.cost[j] = curves.total(sums.n[j]) - sums.sum[j];
  }
}

// Costs of the four leaves of i and every j < i, into sums.cost.
template <class W>
void leaf_costs(const LeafCost& cost, const std::vector<ClassRow<W>>& classes, std::size_t n_columns, LeafSums<W>& sums) {
  const Criterion criterion = cost.criterion();
  const std::size_t stride = sums.stride;
  const bool by_error = criterion == Criterion::error || criterion == Criterion::error_and_log_loss;
  for (const auto& row : classes) {
    const bool first = &row == classes.data();
    kernels::weights(row, n_columns, stride, first, sums.n.data());
    if (by_error) kernels::largest(row, n_columns, stride, first, sums.most.data());
    if (criterion == Criterion::gini) kernels::squares(row, n_columns, stride, first, sums.sum.data());
  }
  if (criterion != Criterion::error && criterion != Criterion::gini) curved_costs(cost.curves(), classes, n_columns, sums);
  for (std::size_t at = 0; at < 4 * stride; at += stride) {
    const W* n = sums.n.data() + at;
    double* costs = sums.cost.data() + at;
    if (criterion == Criterion::error) kernels::error(n, sums.most.data() + at, n_columns, costs);
    if (criterion == Criterion::gini) kernels::gini(n, sums.sum.data() + at, n_columns, costs);
    if (criterion != Criterion::error_and_log_loss) continue;
    for (std::size_t j = 0; j < n_columns; ++j) {
      costs[j] += (static_cast<double>(n[j]) - static_cast<double>(sums.most[at + j])) / 2;
    }
  }
}

// Two classes with a cost without logarithms, in one pass. Returns false for all others.
template <class W>
bool look_at_two(const LeafCost& cost, const std::vector<ClassRow<W>>& classes, std::size_t i, double* in, double* out) {
  if (classes.size() != 2 || cost.counted()) return false;
  if (cost.criterion() == Criterion::gini) {
    kernels::gini_of_two(classes.data(), i, cost.least_size(), in, out, in[i], out[i]);
    return true;
  }
  if constexpr (std::is_integral_v<W>) {
    if (!cost.curves().tabulated()) return false;
    const double *total = cost.curves().leaf_totals(), *part = cost.curves().parts();
    if (cost.criterion() == Criterion::error_and_log_loss) {
      kernels::error_and_table_of_two(classes.data(), i, total, part, in, out, in[i], out[i]);
    } else {
      kernels::table_of_two(classes.data(), i, total, part, in, out, in[i], out[i]);
    }
    return true;
  }
  return false;
}

}  // namespace

template <class W>
SecondSplits<W>::SecondSplits(const LeafCost& cost, std::size_t n_columns, const W* single, std::size_t stride, const W* all)
    : cost_(cost), all_(all), single_(cost.n_classes() + cost.counted()), classes_(cost.n_classes()), in_(n_columns, infinity),
      out_(n_columns, infinity), leaves_(n_columns), planes_(single_.size()) {
  for (std::size_t k = 0; k < single_.size(); ++k) single_[k] = single + k * stride;
}

template <class W>
void SecondSplits<W>::add_row(std::size_t i, const W* pair, std::size_t stride) {
  for (std::size_t k = 0; k < classes_.size(); ++k) classes_[k] = class_row(i, k, pair + k * stride);
  if (look_at_two(cost_, classes_, i, in_.data(), out_.data())) return;
  leaf_costs(cost_, classes_, i, leaves_);
  if (cost_.rules().any()) forbid_small(i, cost_.counted() ? pair + cost_.n_classes() * stride : nullptr);
  kernels::lower(leaves_.cost.data(), leaves_.stride, i, in_.data(), out_.data(), in_[i], out_[i]);
}

template <class W>
template <class Weight>
double SecondSplits<W>::leaf_of(Weight weight) {
  for (std::size_t k = 0; k < planes_.size(); ++k) planes_[k] = static_cast<double>(weight(k));
  return cost_.of_leaf(planes_.data());
}

template <class W>
FirstSplitCosts SecondSplits<W>::of(std::size_t i) {
  const double right = leaf_of([&](std::size_t k) { return single_[k][i]; });
  const double left = leaf_of([&](std::size_t k) { return static_cast<W>(all_[k] - single_[k][i]); });
  return {right + left, in_[i] + left, right + out_[i], in_[i] + out_[i], in_[i], out_[i]};
}

template <class W>
double SecondSplits<W>::as_leaf() {
  return leaf_of([&](std::size_t k) { return all_[k]; });
}

template <class W>
void SecondSplits<W>::forbid_small(std::size_t i, const W* both) {
  const std::size_t stride = leaves_.stride;
  std::vector<W>& rows = leaves_.most;  // no longer needed, so reused
  if (both != nullptr) kernels::weights(class_row(i, cost_.n_classes(), both), i, stride, true, rows.data());
  const std::vector<W>& counted = both != nullptr ? rows : leaves_.n;
  for (std::size_t at = 0; at < 4 * stride; at += stride) {
    for (std::size_t j = at; j < at + i; ++j) {
      if (cost_.too_small(static_cast<double>(leaves_.n[j]), static_cast<double>(counted[j]))) leaves_.cost[j] = infinity;
    }
  }
}

template class SecondSplits<std::int16_t>;
template class SecondSplits<std::int32_t>;
template class SecondSplits<double>;

}  // namespace fcca
