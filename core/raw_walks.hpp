// Walks along sorted columns for many first splits at once: what the best second split of each side gains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "raw_rows.hpp"

namespace fcca {

// A first split divides the rows into two sides. A walk along a second column adds up the net weights of each side. After each distinct
// value, the sums are those on the left of a second split there. Each lane of a vector belongs to one first split, so one walk serves
// all lanes.
template <class W>
struct Lanes {
  static constexpr std::size_t bytes = 64, count = bytes / sizeof(W);
  alignas(bytes) W lane[count];
};

// What a row adds to the sums of the two sides, by first split: its net weight on its side, 0 on the other.
template <class W>
struct SideWeights {
  Lanes<W> left, right;
};

// The rows before `begin`, from the end of the step before, are taken one by one. A look at the sums between them does no harm, even if they
// have equal values: then they have the same label. The rows from begin to end are taken together. With several classes, they have one label, and
// is_split tells whether a second split is possible at their begin. With two classes, a second split is possible at their end.
struct WalkStep {
  std::uint32_t begin, end, label;
  bool is_split;
};

template <class W>
struct Walk {
  using Id = typename RawRows<W>::Id;
  const RawRows<W>& rows;
  const std::vector<Id>& key;                        // by row: its weights
  const std::vector<SideWeights<W>>& weights;
  const std::vector<std::vector<WalkStep>>& steps;   // by column; none if the column does not separate the rows
};

// The largest and the smallest sum of a side over all second splits, with two classes.
template <class W>
struct Extremes {
  SideWeights<W> most, least;
};
template <class W>
void walk_extremes(const Walk<W>& walk, Extremes<W>& found);

// The largest gain of the two leaves of a side over all second splits, with any number of classes: the largest sum of a class on the left
// plus the largest on the right. sums: memory for 2 · n_classes entries.
template <class W>
void walk_gains(const Walk<W>& walk, std::vector<SideWeights<W>>& sums, SideWeights<W>& found);

}  // namespace fcca
