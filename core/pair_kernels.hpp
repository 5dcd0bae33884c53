// The inner loops of the pair table. Each has one body and, if the compiler supports it, one copy per instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// musl cannot choose a copy when the program is loaded.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(FCCA_NO_CLONES)
#define FCCA_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define FCCA_CLONES
#endif
#if defined(__GNUC__)
#define FCCA_INLINE inline __attribute__((always_inline))
#else
#define FCCA_INLINE inline
#endif

namespace fcca::kernels {

// Extremes of a signed weight over all second columns j, for the rows that pass the first column (in) and the rest (out).
template <class W>
struct Extremes {
  W most_in, least_in, most_out, least_out;
};

template <class W>
FCCA_INLINE void add_body(W* to, const W* x, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) to[j] = static_cast<W>(to[j] + x[j]);
}

template <class W>
FCCA_INLINE void subtract_body(W* to, const W* x, const W* y, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) to[j] = static_cast<W>(x[j] - y[j]);
}

// Addition to several places at once: a row goes into one bucket per chain.
template <class W>
FCCA_INLINE void add_to_each_body(W* base, const std::size_t* places, std::size_t n_places, const W* x, std::size_t n) {
  for (std::size_t p = 0; p < n_places; ++p) add_body(base + places[p], x, n);
}
// to[j] += weight where the mask is set. A set mask has all bits of a whole number, or is 1.
template <class W>
FCCA_INLINE void add_masked_body(W* to, const W* mask, W weight, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    if constexpr (std::is_integral_v<W>) to[j] = static_cast<W>(to[j] + static_cast<W>(mask[j] & weight));
    else to[j] += mask[j] * weight;
  }
}
// lengths: number of entries of the mask for each place.
template <class W>
FCCA_INLINE void add_parts_body(W* base, const std::size_t* places, const std::size_t* lengths, std::size_t n_places, const W* mask, W weight) {
  for (std::size_t p = 0; p < n_places; ++p) add_masked_body(base + places[p], mask, weight, lengths[p]);
}

template <class W>
FCCA_INLINE Extremes<W> extremes_body(const W* pair, const W* single, std::size_t n) {
  W a1 = 0, a0 = 0, b1 = 0, b0 = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const W in = pair[j], out = static_cast<W>(single[j] - pair[j]);
    a1 = std::max(a1, in), a0 = std::min(a0, in), b1 = std::max(b1, out), b0 = std::min(b0, out);
  }
  return {a1, a0, b1, b0};
}

// running += bucket, then the extremes of running (the right-hand rows) and of total - running (the left-hand ones).
template <class W>
FCCA_INLINE void two_sided_body(W* running, const W* bucket, const W* total, const W* single_right, const W* single_left,
                                std::size_t n, Extremes<W>& right, Extremes<W>& left) {
  W a1 = 0, a0 = 0, b1 = 0, b0 = 0, c1 = 0, c0 = 0, d1 = 0, d0 = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const W a = static_cast<W>(running[j] + bucket[j]);
    running[j] = a;
    const W b = static_cast<W>(single_right[j] - a), c = static_cast<W>(total[j] - a), d = static_cast<W>(single_left[j] - c);
    a1 = std::max(a1, a), a0 = std::min(a0, a), b1 = std::max(b1, b), b0 = std::min(b0, b);
    c1 = std::max(c1, c), c0 = std::min(c0, c), d1 = std::max(d1, d), d0 = std::min(d0, d);
  }
  right = {a1, a0, b1, b0}, left = {c1, c0, d1, d0};
}

// best[j] = max(best[j], value[j] - minus[j] + plus): one class's weight in one of the four leaves, for every second column.
template <class W>
FCCA_INLINE void raise_body(W* best, const W* value, const W* minus, W plus, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) best[j] = std::max(best[j], static_cast<W>(value[j] - minus[j] + plus));
}

#define FCCA_KERNELS(W)                                                                                                        \
  FCCA_CLONES void add(W* to, const W* x, std::size_t n);                                                                      \
  FCCA_CLONES void subtract(W* to, const W* x, const W* y, std::size_t n);                                                     \
  FCCA_CLONES void add_to_each(W* base, const std::size_t* places, std::size_t n_places, const W* x, std::size_t n);           \
  FCCA_CLONES void add_masked(W* to, const W* mask, W weight, std::size_t n);                                                  \
  FCCA_CLONES void add_parts(W* base, const std::size_t* places, const std::size_t* lengths, std::size_t n_places, const W* mask, W weight); \
  FCCA_CLONES Extremes<W> extremes(const W* pair, const W* single, std::size_t n);                                             \
  FCCA_CLONES void two_sided(W* running, const W* bucket, const W* total, const W* single_right, const W* single_left,         \
                             std::size_t n, Extremes<W>& right, Extremes<W>& left);                                            \
  FCCA_CLONES void raise(W* best, const W* value, const W* minus, W plus, std::size_t n);
FCCA_KERNELS(std::int16_t)
FCCA_KERNELS(std::int32_t)
FCCA_KERNELS(double)
#undef FCCA_KERNELS

}  // namespace fcca::kernels
