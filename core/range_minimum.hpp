// Least values of ranges of an array, each in constant time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fcca {

// Level h holds, for every position, the least of the 2^h values that start there. Two entries cover any range.
class RangeMinimum {
 public:
  void build(const double* values, std::int32_t low, std::int32_t high) {
    low_ = low;
    const std::size_t n = static_cast<std::size_t>(high - low + 1);
    const std::size_t n_levels = std::bit_width(n);
    stride_ = n;
    if (levels_.size() < n * n_levels) levels_.resize(n * n_levels);
    for (std::size_t i = 0; i < n; ++i) levels_[i] = values[low + static_cast<std::int32_t>(i)];
    for (std::size_t h = 1, width = 1; h < n_levels; ++h, width *= 2) {
      const double* below = levels_.data() + (h - 1) * n;
      double* level = levels_.data() + h * n;
      for (std::size_t i = 0; i + 2 * width <= n; ++i) level[i] = below[i] < below[i + width] ? below[i] : below[i + width];
    }
  }

  // Both ends included.
  double least(std::int32_t from, std::int32_t to) const {
    const std::size_t width = static_cast<std::size_t>(to - from + 1), h = std::bit_width(width) - 1;
    const double* level = levels_.data() + h * stride_;
    const double a = level[from - low_], b = level[to - low_ + 1 - (std::int64_t{1} << h)];
    return a < b ? a : b;
  }

 private:
  std::vector<double> levels_;
  std::size_t stride_ = 0;
  std::int32_t low_ = 0;
};

}  // namespace fcca
