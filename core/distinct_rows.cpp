#include "distinct_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace fcca {

namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// Eight bytes of 0 or 1 into eight bits, the first byte into the lowest.
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

DistinctRows distinct_rows(const std::uint8_t* table, const std::int32_t* label, const double* weight, std::size_t n_rows,
                           std::size_t n_columns, std::size_t n_classes) {
  DistinctRows found;
  found.n_columns = n_columns, found.n_classes = n_classes, found.n_words = std::max<std::size_t>(1, (n_columns + 63) / 64);
  const std::size_t words = found.n_words;
  std::vector<std::uint64_t> row(words);
  std::vector<std::uint32_t> slots(1024, UINT32_MAX);  // open addressing; full words are compared, never only the hash
  std::size_t n_found = 0;
  auto slot_of = [&](const std::uint64_t* bits) {
    std::uint64_t hash = 0x9E3779B97F4A7C15ull;
    for (std::size_t k = 0; k < words; ++k) hash = mixed(hash ^ bits[k]);
    std::size_t slot = hash & (slots.size() - 1);
    while (slots[slot] != UINT32_MAX && std::memcmp(found.bits.data() + slots[slot] * words, bits, words * 8) != 0) {
      slot = (slot + 1) & (slots.size() - 1);
    }
    return slot;
  };
  for (std::size_t i = 0; i < n_rows; ++i) {
    pack_row(table + i * n_columns, n_columns, row.data(), words);
    std::size_t slot = slot_of(row.data());
    if (slots[slot] == UINT32_MAX) {
      slots[slot] = static_cast<std::uint32_t>(n_found++);
      found.bits.insert(found.bits.end(), row.begin(), row.end());
      found.weight.resize(n_found * n_classes, 0.0);
      if (2 * n_found > slots.size()) {
        slots.assign(slots.size() * 2, UINT32_MAX);
        for (std::size_t r = 0; r < n_found; ++r) slots[slot_of(found.bits.data() + r * words)] = static_cast<std::uint32_t>(r);
        slot = slot_of(row.data());
      }
    }
    found.weight[slots[slot] * n_classes + label[i]] += weight[i];
  }

  std::vector<std::size_t> order(n_found);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(found.bits.begin() + a * words, found.bits.begin() + (a + 1) * words,
                                        found.bits.begin() + b * words, found.bits.begin() + (b + 1) * words);
  });
  DistinctRows sorted = found;
  for (std::size_t r = 0; r < n_found; ++r) {
    std::copy_n(found.bits.begin() + order[r] * words, words, sorted.bits.begin() + r * words);
    std::copy_n(found.weight.begin() + order[r] * n_classes, n_classes, sorted.weight.begin() + r * n_classes);
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
    // An equal column adds nothing: the first of them stands for all.
    if (tightest && size[tightest->back()] == size[j]) continue;
    if (tightest) tightest->push_back(j);
    else chains.push_back({j});
  }
  return chains;
}

}  // namespace fcca
