// How far a move goes: what a change costs is a function of this.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fcca {

// A number moves by |to − from| in units of its feature. With knots, it moves by the difference of its ranks, which are linear between the
// knots and constant beyond them. Both rise with the way from a value, also after rounding: subtractions, quotients and products of
// rounded numbers keep the order of their arguments, and a rank never exceeds that of the next knot. So the cost rises outwards.
struct Distances {
  const double* unit = nullptr;              // by feature: what a distance of 1 is
  double unordered = 1.0;                    // of a move between cells that have no order
  const std::int64_t* first_knot = nullptr;  // by feature, into knot and rank; null, or a feature without knots: by units
  const double* knot = nullptr;              // rising
  const double* rank = nullptr;              // not falling

  double between(std::size_t j, double from, double to) const {
    return first_knot == nullptr ? std::abs(to - from) / unit[j] : between_ranks(j, from, to);
  }

 private:
  // Apart, so that distances in units stay a few instructions.
  [[gnu::noinline]] double between_ranks(std::size_t j, double from, double to) const {
    if (first_knot[j] == first_knot[j + 1]) return std::abs(to - from) / unit[j];
    return std::abs(rank_of(j, to) - rank_of(j, from));
  }

  double rank_of(std::size_t j, double x) const {
    const double *begin = knot + first_knot[j], *end = knot + first_knot[j + 1];
    const double* above = std::upper_bound(begin, end, x);
    if (above == begin) return rank[first_knot[j]];
    const double* below = above - 1;
    const double at = rank[below - knot];
    if (above == end) return at;
    const double next = rank[above - knot];
    return std::min(next, at + (x - *below) / (*above - *below) * (next - at));
  }
};

}  // namespace fcca
