// Distances of moves. The cost of a change is a function of its distance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fcca {

// A number moves by |to − from| in units of its feature. With knots, it moves by the difference of its ranks, which are linear between the
// knots and constant beyond them. Both distances never decrease away from a value, even after rounding: subtractions, quotients and
// products of rounded numbers keep the order of their arguments, and a rank never exceeds the rank of the next knot. So the cost rises
// outwards.
struct Distances {
  const double* unit = nullptr;              // by feature: the unit of distance
  double unordered = 1.0;                    // distance of a move between cells without an order
  const std::int64_t* first_knot = nullptr;  // by feature, into knot and rank; if null, or for a feature without knots, distances are in units
  const double* knot = nullptr;              // rising
  const double* rank = nullptr;              // not falling

  double between(std::size_t j, double from, double to) const {
    return first_knot == nullptr ? std::abs(to - from) / unit[j] : between_ranks(j, from, to);
  }

 private:
  // A separate function, so that distances in units take only a few instructions.
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
