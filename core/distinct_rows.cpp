#include "distinct_rows.hpp"

#include <algorithm>
#include <bit>

#include "row_table.hpp"

namespace fcca {

namespace {

// Packs eight bytes of 0 or 1 into eight bits. The first byte becomes the lowest bit.
std::uint64_t packed_eight(const std::uint8_t* bytes) {
  std::uint64_t eight = 0;
  for (int i = 7; i >= 0; --i) eight = eight << 8 | bytes[i];
  return (eight * 0x0102040810204080ull) >> 56;
}

void pack_row(const std::uint8_t* row, std::size_t n_columns, std::uint64_t* words, std::size_t n_words) {
  std::fill(words, words + n_words, 0);
  std::size_t j = 0;
  for (; j + 8 <= n_columns; j += 8) words[j / 64] |= packed_eight(row + j) << (j % 64);
  for (; j < n_columns; ++j) words[j / 64] |= static_cast<std::uint64_t>(row[j]) << (j % 64);
}

}  // namespace

DistinctRows distinct_rows(const std::uint8_t* table, const std::int32_t* label, const double* weight, const std::int64_t* count,
                           std::size_t n_rows, std::size_t n_columns, std::size_t n_classes) {
  const std::size_t n_words = std::max<std::size_t>(1, (n_columns + 63) / 64);
  RowTable<std::uint64_t> found(n_words);
  std::vector<double> found_weight, found_count;
  std::vector<std::uint64_t> row(n_words);
  for (std::size_t i = 0; i < n_rows; ++i) {
    pack_row(table + i * n_columns, n_columns, row.data(), n_words);
    const std::size_t number = found.number_of(row.data());
    found_weight.resize(found.size() * n_classes, 0.0);
    double* weights = &found_weight[number * n_classes];
    if (label != nullptr) {
      weights[label[i]] += weight[i];
    } else {
      for (std::size_t k = 0; k < n_classes; ++k) weights[k] += weight[i * n_classes + k];
    }
    found_count.resize(found.size(), 0.0);
    found_count[number] += count == nullptr ? 1.0 : static_cast<double>(count[i]);
  }
  DistinctRows sorted;
  sorted.n_columns = n_columns, sorted.n_words = n_words, sorted.n_classes = n_classes;
  sorted.bits.reserve(found.size() * n_words), sorted.weight.reserve(found.size() * n_classes);
  for (const std::size_t number : found.sorted()) {
    sorted.bits.insert(sorted.bits.end(), found.row(number), found.row(number) + n_words);
    const auto weights = found_weight.begin() + number * n_classes;
    sorted.weight.insert(sorted.weight.end(), weights, weights + n_classes);
    sorted.count.push_back(found_count[number]);
  }
  return sorted;
}

std::vector<std::vector<std::int32_t>> nested_chains(const DistinctRows& rows) {
  const std::size_t n = rows.n_rows(), words = (n + 63) / 64;
  std::vector<std::uint64_t> members(rows.n_columns * words, 0);  // by column: which rows have it
  std::vector<std::size_t> size(rows.n_columns, 0);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t k = 0; k < rows.n_words; ++k) {
      for (std::uint64_t left = rows.bits[r * rows.n_words + k]; left; left &= left - 1) {
        const std::size_t j = k * 64 + std::countr_zero(left);
        members[j * words + r / 64] |= 1ull << (r % 64);
        ++size[j];
      }
    }
  }
  std::vector<std::int32_t> order;
  for (std::size_t j = 0; j < rows.n_columns; ++j) {
    if (0 < size[j] && size[j] < n) order.push_back(static_cast<std::int32_t>(j));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return size[a] > size[b]; });

  std::vector<std::vector<std::int32_t>> chains;
  auto within = [&](std::int32_t inner, std::int32_t outer) {
    const std::uint64_t *a = &members[inner * words], *b = &members[outer * words];
    for (std::size_t k = 0; k < words; ++k) {
      if (a[k] & ~b[k]) return false;
    }
    return true;
  };
  for (const std::int32_t j : order) {
    std::vector<std::int32_t>* tightest = nullptr;
    for (auto& chain : chains) {
      if ((!tightest || size[chain.back()] < size[tightest->back()]) && within(j, chain.back())) tightest = &chain;
    }
    // Equal columns add nothing, so only the first one is kept.
    if (tightest && size[tightest->back()] == size[j]) continue;
    if (tightest) tightest->push_back(j);
    else chains.push_back({j});
  }
  return chains;
}

}  // namespace fcca
