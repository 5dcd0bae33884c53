// A hash table that merges equal rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace fcca {

// Numbers distinct rows of `width` entries in the order in which they first occur. Open addressing; rows are compared entry by
// entry, because a hash alone could mistake one row for another.
template <class T>
class RowTable {
 public:
  explicit RowTable(std::size_t width) : width_(width), slots_(std::size_t{1} << (64 - shift_), empty) {}

  std::size_t size() const { return size_; }
  const T* row(std::size_t number) const { return rows_.data() + number * width_; }

  // The number of a row. A new row gets the number size() and is copied into the table.
  std::size_t number_of(const T* row) {
    const std::size_t slot = slot_of(row);
    if (slots_[slot] != empty) return slots_[slot];
    slots_[slot] = static_cast<std::uint32_t>(size_);
    rows_.insert(rows_.end(), row, row + width_);
    ++size_;
    if (2 * size_ > slots_.size()) grow();
    return size_ - 1;
  }

  // All numbers, in the lexicographic order of their rows: an order that does not depend on which row came first.
  std::vector<std::size_t> sorted() const {
    std::vector<std::size_t> order(size_);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::lexicographical_compare(row(a), row(a) + width_, row(b), row(b) + width_);
    });
    return order;
  }

 private:
  static constexpr std::uint32_t empty = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint64_t factor = 0x9E3779B97F4A7C15ull;  // 2^64 divided by the golden ratio: spreads out close numbers

  // The slot of an equal row, or the empty slot where it belongs.
  std::size_t slot_of(const T* wanted) const {
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < width_; ++k) hash ^= hash >> 32, hash = (hash ^ static_cast<std::uint64_t>(wanted[k])) * factor;
    std::size_t slot = hash >> shift_;  // the upper bits of a product depend on all bits of its factors
    while (slots_[slot] != empty && !std::equal(wanted, wanted + width_, row(slots_[slot]))) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  void grow() {
    slots_.assign(4 * slots_.size(), empty), shift_ -= 2;
    for (std::size_t number = 0; number < size_; ++number) slots_[slot_of(row(number))] = static_cast<std::uint32_t>(number);
  }

  std::size_t width_, size_ = 0;
  int shift_ = 54;  // a hash without its last shift_ bits is a slot
  std::vector<T> rows_;               // size_ × width_
  std::vector<std::uint32_t> slots_;  // row numbers; the size is a power of two, and at most half of the slots are in use
};

}  // namespace fcca
