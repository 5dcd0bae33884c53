#include "raw_walks.hpp"

#include <algorithm>
#include <cstring>

// The walks are compiled once per instruction set, and the best one is chosen at run time. All give the same result.
#if defined(__GNUC__) && defined(__x86_64__) && !defined(FCCA_NO_CLONES)
#define FCCA_WALKS_FOR_X86 1
#endif
#if defined(__GNUC__)
#define FCCA_INLINE inline __attribute__((always_inline))
#else
#define FCCA_INLINE inline
#endif

namespace fcca {

namespace {

#if defined(__GNUC__)
template <class W, std::size_t bytes>
struct VectorOf {
  typedef W Type __attribute__((vector_size(bytes)));
};
#else
template <class W, std::size_t bytes>
struct VectorOf {
  using Type = W;
};
#endif

// The lanes of both sides as vectors of an instruction set.
template <class W, std::size_t bytes>
struct Both {
  using Vector = typename VectorOf<W, bytes>::Type;
  static constexpr std::size_t n = sizeof(SideWeights<W>) / sizeof(Vector);
  Vector part[n];

  // Vector by vector, so that the compiler keeps all parts in registers.
  FCCA_INLINE void load(const SideWeights<W>& from) {
    for (std::size_t u = 0; u < n; ++u) std::memcpy(&part[u], reinterpret_cast<const char*>(&from) + u * sizeof(Vector), sizeof(Vector));
  }
  FCCA_INLINE void store(SideWeights<W>& to) const {
    for (std::size_t u = 0; u < n; ++u) std::memcpy(reinterpret_cast<char*>(&to) + u * sizeof(Vector), &part[u], sizeof(Vector));
  }
  FCCA_INLINE void clear() {
    for (std::size_t u = 0; u < n; ++u) part[u] = Vector{};
  }
  FCCA_INLINE void add(const SideWeights<W>& from) {
    for (std::size_t u = 0; u < n; ++u) {
      Vector added;
      std::memcpy(&added, reinterpret_cast<const char*>(&from) + u * sizeof(Vector), sizeof(Vector));
      part[u] += added;
    }
  }
  FCCA_INLINE void add(const Both& other) {
    for (std::size_t u = 0; u < n; ++u) part[u] += other.part[u];
  }
  FCCA_INLINE void subtract(const SideWeights<W>& from) {
    for (std::size_t u = 0; u < n; ++u) {
      Vector removed;
      std::memcpy(&removed, reinterpret_cast<const char*>(&from) + u * sizeof(Vector), sizeof(Vector));
      part[u] -= removed;
    }
  }
  FCCA_INLINE void raise_to(const Both& other) {
    for (std::size_t u = 0; u < n; ++u) part[u] = part[u] > other.part[u] ? part[u] : other.part[u];
  }
  FCCA_INLINE void raise_to_sum(const Both& a, const Both& b) {
    for (std::size_t u = 0; u < n; ++u) {
      const Vector sum = a.part[u] + b.part[u];
      part[u] = part[u] > sum ? part[u] : sum;
    }
  }
  FCCA_INLINE void raise_to_difference(const SideWeights<W>& from, const Both& other) {
    for (std::size_t u = 0; u < n; ++u) {
      Vector difference;
      std::memcpy(&difference, reinterpret_cast<const char*>(&from) + u * sizeof(Vector), sizeof(Vector));
      difference -= other.part[u];
      part[u] = part[u] > difference ? part[u] : difference;
    }
  }
  FCCA_INLINE void lower_to(const Both& other) {
    for (std::size_t u = 0; u < n; ++u) part[u] = part[u] < other.part[u] ? part[u] : other.part[u];
  }
};

template <std::size_t bytes, class W>
FCCA_INLINE void extremes_body(const Walk<W>& walk, Extremes<W>& found) {
  const auto* key = walk.key.data();
  const SideWeights<W>* weights = walk.weights.data();
  Both<W, bytes> most, least;
  most.clear(), least.clear();
  for (std::size_t j = 0; j < walk.rows.n_columns; ++j) {
    const auto* order = walk.rows.order_of(j);
    Both<W, bytes> sum;
    sum.clear();
    std::uint32_t place = 0;
    for (const WalkStep& step : walk.steps[j]) {
      for (; place < step.begin; ++place) {
        sum.add(weights[key[order[place]]]);
        most.raise_to(sum), least.lower_to(sum);
      }
      for (; place < step.end; ++place) sum.add(weights[key[order[place]]]);
      most.raise_to(sum), least.lower_to(sum);
    }
  }
  most.store(found.most), least.store(found.least);
}

// Let the best second split of a side predict class c on its left and d on its right. If the next rows to the right, of equal values, have none
// of class d, the split behind them is no worse: the right loses nothing. So some best split is followed by rows of class d. It is enough to
// look, at every place, at the classes k of the next rows: at the largest sum of a class on the left plus the sum of class k on the right.
// The former never falls along the walk.
template <std::size_t bytes, class W>
FCCA_INLINE void gains_body(const Walk<W>& walk, SideWeights<W>* sums, SideWeights<W>& found) {
  using Vectors = Both<W, bytes>;
  const auto *key = walk.key.data(), *label = walk.rows.label.data();
  const SideWeights<W>* weights = walk.weights.data();
  const std::size_t n_classes = walk.rows.n_classes, n_rows = walk.rows.n_rows;
  SideWeights<W>*on_right = sums, *all = sums + n_classes;
  Vectors gain;
  gain.clear();
  for (std::size_t k = 0; k < n_classes; ++k) gain.store(all[k]);
  for (std::size_t row = 0; row < n_rows; ++row) {
    Vectors sum;
    sum.load(all[label[row]]), sum.add(weights[key[row]]), sum.store(all[label[row]]);
  }
  for (std::size_t j = 0; j < walk.rows.n_columns; ++j) {
    const auto* order = walk.rows.order_of(j);
    std::memcpy(static_cast<void*>(on_right), all, n_classes * sizeof(SideWeights<W>));
    Vectors largest, before;  // the largest sum of a class on the left, here and before the rows of equal values
    largest.clear(), before.clear();
    std::uint32_t place = 0;
    for (const WalkStep& step : walk.steps[j]) {
      for (; place < step.begin; ++place) {
        const std::size_t row = order[place], k = label[row];
        Vectors rest;
        rest.load(on_right[k]);
        gain.raise_to_sum(largest, rest);
        rest.subtract(weights[key[row]]), rest.store(on_right[k]);
        largest.raise_to_difference(all[k], rest);
      }
      if (step.is_split) before = largest;
      Vectors rest;
      rest.load(on_right[step.label]);
      gain.raise_to_sum(before, rest);
      for (; place < step.end; ++place) rest.subtract(weights[key[order[place]]]);
      rest.store(on_right[step.label]);
      largest.raise_to_difference(all[step.label], rest);
    }
  }
  gain.store(found);
}

}  // namespace

#if defined(FCCA_WALKS_FOR_X86)
#define FCCA_WALKS(W)                                                                                                             \
  __attribute__((target("avx512bw"))) void extremes_512(const Walk<W>& walk, Extremes<W>& found) { extremes_body<64>(walk, found); } \
  __attribute__((target("avx2"))) void extremes_256(const Walk<W>& walk, Extremes<W>& found) { extremes_body<32>(walk, found); }   \
  __attribute__((target("avx512bw"))) void gains_512(const Walk<W>& walk, SideWeights<W>* sums, SideWeights<W>& found) {           \
    gains_body<64>(walk, sums, found);                                                                                             \
  }                                                                                                                                \
  __attribute__((target("avx2"))) void gains_256(const Walk<W>& walk, SideWeights<W>* sums, SideWeights<W>& found) {               \
    gains_body<32>(walk, sums, found);                                                                                             \
  }
namespace {
FCCA_WALKS(std::int16_t)
FCCA_WALKS(std::int32_t)
FCCA_WALKS(double)
const bool has_avx512 = __builtin_cpu_supports("avx512bw"), has_avx2 = __builtin_cpu_supports("avx2");
}  // namespace
#endif

template <class W>
void walk_extremes(const Walk<W>& walk, Extremes<W>& found) {
#if defined(FCCA_WALKS_FOR_X86)
  if (has_avx512) return extremes_512(walk, found);
  if (has_avx2) return extremes_256(walk, found);
#endif
  extremes_body<16>(walk, found);
}

template <class W>
void walk_gains(const Walk<W>& walk, std::vector<SideWeights<W>>& sums, SideWeights<W>& found) {
  sums.resize(2 * walk.rows.n_classes);
#if defined(FCCA_WALKS_FOR_X86)
  if (has_avx512) return gains_512(walk, sums.data(), found);
  if (has_avx2) return gains_256(walk, sums.data(), found);
#endif
  gains_body<16>(walk, sums.data(), found);
}

template void walk_extremes(const Walk<std::int16_t>&, Extremes<std::int16_t>&);
template void walk_extremes(const Walk<std::int32_t>&, Extremes<std::int32_t>&);
template void walk_extremes(const Walk<double>&, Extremes<double>&);
template void walk_gains(const Walk<std::int16_t>&, std::vector<SideWeights<std::int16_t>>&, SideWeights<std::int16_t>&);
template void walk_gains(const Walk<std::int32_t>&, std::vector<SideWeights<std::int32_t>>&, SideWeights<std::int32_t>&);
template void walk_gains(const Walk<double>&, std::vector<SideWeights<double>>&, SideWeights<double>&);

}  // namespace fcca
