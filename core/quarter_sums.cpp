#include "quarter_sums.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "pair_kernels.hpp"

namespace fcca {

namespace {

#if defined(__GNUC__)
template <class W>
struct VectorOf {
  typedef W Type __attribute__((vector_size(32)));
};
#endif

// A vector of 32 bytes.
template <class W>
struct Vector {
  static constexpr std::size_t n = 32 / sizeof(W);
#if defined(__GNUC__)
  typename VectorOf<W>::Type v;
#else
  W v[n];
#endif

  FCCA_INLINE static Vector from(const W* at) {
    Vector out;
    std::memcpy(&out.v, at, sizeof(out.v));
    return out;
  }
  FCCA_INLINE void to(W* at) const { std::memcpy(at, &v, sizeof(v)); }
#if defined(__GNUC__)
  FCCA_INLINE static Vector all(W x) { return {x - typename VectorOf<W>::Type{}}; }
  FCCA_INLINE Vector operator+(const Vector& y) const { return {v + y.v}; }
  FCCA_INLINE Vector operator-(const Vector& y) const { return {v - y.v}; }
  FCCA_INLINE Vector masked(const Vector& mask) const {
    if constexpr (std::is_integral_v<W>) return {v & mask.v};
    else return {v * mask.v};
  }
  FCCA_INLINE void raise(const Vector& y) { v = v > y.v ? v : y.v; }
  FCCA_INLINE void lower(const Vector& y) { v = v < y.v ? v : y.v; }
#else
  template <class Make>
  FCCA_INLINE static Vector made(Make make) {
    Vector out;
    for (std::size_t t = 0; t < n; ++t) out.v[t] = make(t);
    return out;
  }
  FCCA_INLINE static Vector all(W x) { return made([&](std::size_t) { return x; }); }
  FCCA_INLINE Vector operator+(const Vector& y) const { return made([&](std::size_t t) { return static_cast<W>(v[t] + y.v[t]); }); }
  FCCA_INLINE Vector operator-(const Vector& y) const { return made([&](std::size_t t) { return static_cast<W>(v[t] - y.v[t]); }); }
  FCCA_INLINE Vector masked(const Vector& mask) const { return made([&](std::size_t t) { return mask.v[t] != 0 ? v[t] : W(0); }); }
  FCCA_INLINE void raise(const Vector& y) { *this = made([&](std::size_t t) { return std::max(v[t], y.v[t]); }); }
  FCCA_INLINE void lower(const Vector& y) { *this = made([&](std::size_t t) { return std::min(v[t], y.v[t]); }); }
#endif
  FCCA_INLINE Vector absolute() const {
    Vector out = all(0) - *this;
    out.raise(*this);
    return out;
  }
};

// Extremes, over all second columns, of the sums of the rows with a first column (in) and without it (out).
template <class W>
struct LaneExtremes {
  Vector<W> most_in{}, least_in{}, most_out{}, least_out{};

  FCCA_INLINE void look_at(const Vector<W>& in, const Vector<W>& out) {
    most_in.raise(in), least_in.lower(in), most_out.raise(out), least_out.lower(out);
  }
};

template <class W>
struct LaneGains {
  Vector<W> two{}, three{}, four{};

  // The largest |a| + |s - a| over all a is the largest of |s|, 2 · max a − s and s − 2 · min a.
  FCCA_INLINE void raise(const LaneExtremes<W>& e, const Vector<W>& in, W all) {
    const Vector<W> out = Vector<W>::all(all) - in;
    const Vector<W> leaf_in = in.absolute(), leaf_out = out.absolute();
    Vector<W> split_in = e.most_in - in + e.most_in, split_out = e.most_out - out + e.most_out;  // no sum is above the total
    split_in.raise(in - e.least_in - e.least_in), split_out.raise(out - e.least_out - e.least_out);
    two.raise(leaf_in + leaf_out);
    three.raise(split_in + leaf_out), three.raise(leaf_in + split_out);
    four.raise(split_in + split_out);
  }
  FCCA_INLINE static W largest(const Vector<W>& of) {
    W lane[Vector<W>::n];
    of.to(lane);
    return *std::max_element(lane, lane + Vector<W>::n);
  }
  FCCA_INLINE BestGains<W> best(W all) const {
    return {all < 0 ? static_cast<W>(-all) : all, largest(two), largest(three), largest(four)};
  }
};

// Every number in all lanes of a vector. (Within a loop, GCC makes such a vector lane by lane.)
template <class W>
FCCA_INLINE void widen(const W* __restrict x, std::size_t n, W* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = 0; t < Vector<W>::n; ++t) out[i * Vector<W>::n + t] = x[i];
  }
}

// wide: space for the sums of both sets in every second column.
template <bool has_less, class W>
FCCA_INLINE void gains_body(const BlockShape<W>& shape, const W* masks, const TwoSets<W>& sets, W* wide, BestGains<W>& first,
                            BestGains<W>& second) {
  using V = Vector<W>;
  W *wide_first = wide, *wide_second = wide + shape.n_columns * V::n;
  widen(sets.single_first, shape.n_columns, wide_first), widen(sets.single_second, shape.n_columns, wide_second);
  LaneGains<W> of_first, of_second;
  for (std::size_t block = 0; block < shape.n_blocks; ++block) {
    const std::size_t start = block * shape.n_columns * V::n;
    LaneExtremes<W> e_first, e_second;
    V sum = V::all(0);
    for (std::size_t i = shape.n_columns; i-- > 0;) {
      const std::size_t at = start + i * V::n;
      sum = sum.masked(V::from(masks + i * V::n)) + V::from(sets.buckets + at);
      const V a = has_less ? V::from(sets.less_buckets + at) - sum : sum;
      const V c = V::from(sets.both + at) - a;
      e_first.look_at(a, V::from(wide_first + i * V::n) - a);
      e_second.look_at(c, V::from(wide_second + i * V::n) - c);
    }
    of_first.raise(e_first, V::from(sets.single_first + block * V::n), sets.all_first);
    of_second.raise(e_second, V::from(sets.single_second + block * V::n), sets.all_second);
  }
  first = of_first.best(sets.all_first), second = of_second.best(sets.all_second);
}

template <class W>
FCCA_INLINE void add_row_body(const W* row, const ColumnRun* runs, std::size_t n_runs, const BlockShape<W>& shape, W* pair, W* single) {
  using V = Vector<W>;
  for (std::size_t block = 0; block < shape.n_blocks; ++block) {
    const V weight = V::from(row + block * V::n);
    (V::from(single + block * V::n) + weight).to(single + block * V::n);
    W* start = pair + block * shape.n_columns * V::n;
    for (std::size_t p = 0; p < n_runs; ++p) {
      W* at = start + static_cast<std::size_t>(runs[p].last) * V::n;
      (V::from(at) + weight).to(at);
    }
  }
}

template <class W>
FCCA_INLINE void sum_body(const BlockShape<W>& shape, const W* masks, W* pair) {
  using V = Vector<W>;
  for (std::size_t block = 0; block < shape.n_blocks; ++block) {
    W* start = pair + block * shape.n_columns * V::n;
    V sum = V::all(0);
    for (std::size_t i = shape.n_columns; i-- > 0;) {
      sum = sum.masked(V::from(masks + i * V::n)) + V::from(start + i * V::n);
      sum.to(start + i * V::n);
    }
  }
}

}  // namespace

namespace kernels {
#define FCCA_QUARTER_KERNELS(W)                                                                                                     \
  static FCCA_CLONES void gains_of(const BlockShape<W>& shape, const W* masks, const TwoSets<W>& sets, W* wide, BestGains<W>& first, \
                                   BestGains<W>& second) {                                                                          \
    sets.less_buckets != nullptr ? gains_body<true>(shape, masks, sets, wide, first, second)                                        \
                                 : gains_body<false>(shape, masks, sets, wide, first, second);                                      \
  }                                                                                                                                 \
  static FCCA_CLONES void add_row(const W* row, const ColumnRun* runs, std::size_t n_runs, const BlockShape<W>& shape, W* pair,  \
                                  W* single) {                                                                                      \
    add_row_body(row, runs, n_runs, shape, pair, single);                                                                               \
  }                                                                                                                                 \
  static FCCA_CLONES void difference(const W* of, const W* without, std::size_t n, W* out) { subtract_body(out, of, without, n); }    \
  static FCCA_CLONES void sum_buckets(const BlockShape<W>& shape, const W* masks, W* pair) { sum_body(shape, masks, pair); }
FCCA_QUARTER_KERNELS(std::int16_t)
FCCA_QUARTER_KERNELS(std::int32_t)
FCCA_QUARTER_KERNELS(double)
#undef FCCA_QUARTER_KERNELS
}  // namespace kernels

template <class W>
void set_to_difference(const std::vector<W>& of, const std::vector<W>& without, std::vector<W>& out) {
  out.resize(of.size());
  kernels::difference(of.data(), without.data(), of.size(), out.data());
}

template <class W>
void PairSums<W>::set_to_difference(const PairSums& of, const PairSums& without) {
  fcca::set_to_difference(of.pair, without.pair, pair), fcca::set_to_difference(of.single, without.single, single);
  all = static_cast<W>(of.all - without.all);
}

template <class W>
WeightedRows<W>::WeightedRows(const TreeRows<W>& rows, const BlockShape<W>& shape, const std::vector<W>& weights)
    : rows_(rows), shape_(shape), weights_(weights), expanded_(rows.n_rows * shape.width(), W(0)) {
  for (std::size_t a = 0; a < rows.n_rows; ++a) {
    W* to = expanded_.data() + a * shape_.width();
    rows.for_each_run(a, [&](std::int32_t first, std::int32_t last) { std::fill(to + first, to + last + 1, weights[a]); });
  }
}

template <class W>
void WeightedRows<W>::add_to(PairSums<W>& sums, std::size_t row) const {
  kernels::add_row(expanded_.data() + row * shape_.width(), rows_.runs.data() + rows_.first_run[row],
                   static_cast<std::size_t>(rows_.first_run[row + 1] - rows_.first_run[row]), shape_, sums.pair.data(), sums.single.data());
  sums.all = static_cast<W>(sums.all + weights_[row]);
}

template <class W>
std::vector<W> chain_masks(const TreeRows<W>& rows) {
  const W keep = std::is_integral_v<W> ? static_cast<W>(-1) : W(1);
  constexpr std::size_t n = Vector<W>::n;
  std::vector<W> masks(rows.n_columns * n, keep);
  for (std::size_t c = 0; c < rows.n_chains; ++c) std::fill_n(masks.begin() + (rows.first_column[c + 1] - 1) * n, n, W(0));
  return masks;
}

template <class W>
void sum_buckets(const BlockShape<W>& shape, const std::vector<W>& masks, PairSums<W>& sums) {
  kernels::sum_buckets(shape, masks.data(), sums.pair.data());
}

template <class W>
void gains_of(const BlockShape<W>& shape, const std::vector<W>& masks, const TwoSets<W>& sets, BestGains<W>& first, BestGains<W>& second) {
  std::vector<W> wide(2 * shape.n_columns * Vector<W>::n);
  kernels::gains_of(shape, masks.data(), sets, wide.data(), first, second);
}

#define FCCA_QUARTER_SUMS(W)                                                                                             \
  template void set_to_difference(const std::vector<W>&, const std::vector<W>&, std::vector<W>&);                        \
  template struct PairSums<W>;                                                                                           \
  template class WeightedRows<W>;                                                                                        \
  template std::vector<W> chain_masks(const TreeRows<W>&);                                                               \
  template void sum_buckets(const BlockShape<W>&, const std::vector<W>&, PairSums<W>&);                                  \
  template void gains_of(const BlockShape<W>&, const std::vector<W>&, const TwoSets<W>&, BestGains<W>&, BestGains<W>&);
FCCA_QUARTER_SUMS(std::int16_t)
FCCA_QUARTER_SUMS(std::int32_t)
FCCA_QUARTER_SUMS(double)
#undef FCCA_QUARTER_SUMS

}  // namespace fcca
