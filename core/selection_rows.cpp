#include "selection_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace fcca {

namespace {

constexpr double exact_below = 4503599627370496.0;  // 2^52

std::int64_t cost_of(const std::int64_t* weight, std::size_t n_classes) {
  std::int64_t sum = 0, most = 0;
  for (std::size_t k = 0; k < n_classes; ++k) sum += weight[k], most = std::max(most, weight[k]);
  return sum - most;
}

// Appends the rows as one more group, unless they are of a single class.
void append_group(const SelectionRows& rows, const std::int32_t* from, const std::int32_t* to, Groups& groups,
                  std::vector<std::int64_t>& held) {
  held.assign(rows.n_classes, 0);
  for (const std::int32_t* row = from; row != to; ++row) {
    for (std::size_t k = 0; k < rows.n_classes; ++k) held[k] += rows.weight[*row * rows.n_classes + k];
  }
  const std::int64_t cost = cost_of(held.data(), rows.n_classes);
  if (cost == 0) return;
  groups.cost += cost;
  groups.rows.insert(groups.rows.end(), from, to);
  groups.begin.push_back(static_cast<std::int32_t>(groups.rows.size()));
}

}  // namespace

double unit_of(const double* values, std::size_t n) {
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += values[i];
  if (total <= 0) return 1;
  for (double unit = 1; unit <= 1e6 && total * unit < exact_below; unit *= 10) {
    const bool whole = std::all_of(values, values + n, [&](double x) {
      return std::abs(x * unit - std::round(x * unit)) <= 1e-12 * std::abs(x * unit);
    });
    if (whole) return unit;
  }
  return std::exp2(std::min(1023, 51 - std::ilogb(total)));  // finite also where the sum is tiny
}

SelectionRows selection_rows(const std::int32_t* passed, const std::int32_t* label, const double* weight, std::size_t n_rows,
                             const std::vector<std::int32_t>& chain_size, std::size_t n_classes) {
  SelectionRows out;
  out.n_chains = chain_size.size(), out.n_classes = n_classes;
  out.first_condition.push_back(0);
  for (std::size_t c = 0; c < chain_size.size(); ++c) {
    out.chain.insert(out.chain.end(), chain_size[c], static_cast<std::int32_t>(c));
    out.first_condition.push_back(static_cast<std::int32_t>(out.chain.size()));
  }
  out.n_conditions = out.chain.size();
  out.unit = unit_of(weight, n_rows);
  const std::size_t m = out.n_chains;
  std::vector<std::int64_t> found_weight;
  std::vector<std::size_t> example;  // of each distinct row, one row of the table
  std::vector<std::uint32_t> slots(1024, UINT32_MAX);  // open addressing; full rows are compared, never only the hash
  auto row_at = [&](std::size_t i) { return passed + i * m; };
  auto slot_of = [&](const std::int32_t* row) {
    std::uint64_t hash = 0x9E3779B97F4A7C15ull;
    for (std::size_t c = 0; c < m; ++c) hash = (hash ^ static_cast<std::uint64_t>(row[c])) * 0xBF58476D1CE4E5B9ull, hash ^= hash >> 29;
    std::size_t slot = hash & (slots.size() - 1);
    while (slots[slot] != UINT32_MAX && !std::equal(row, row + m, row_at(example[slots[slot]]))) slot = (slot + 1) & (slots.size() - 1);
    return slot;
  };
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::int64_t units = std::llround(weight[i] * out.unit);
    if (units == 0) continue;
    std::size_t slot = slot_of(row_at(i));
    if (slots[slot] == UINT32_MAX) {
      slots[slot] = static_cast<std::uint32_t>(example.size());
      example.push_back(i);
      found_weight.resize(found_weight.size() + n_classes, 0);
      if (2 * example.size() > slots.size()) {
        slots.assign(4 * slots.size(), UINT32_MAX);
        for (std::size_t r = 0; r < example.size(); ++r) slots[slot_of(row_at(example[r]))] = static_cast<std::uint32_t>(r);
        slot = slot_of(row_at(i));
      }
    }
    found_weight[slots[slot] * n_classes + label[i]] += units;
    out.total += units;
  }
  // Sorted, so that the order of the table's rows does not matter.
  out.n_rows = example.size();
  std::vector<std::uint32_t> order(out.n_rows);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::lexicographical_compare(row_at(example[a]), row_at(example[a]) + m, row_at(example[b]), row_at(example[b]) + m);
  });
  for (const std::uint32_t r : order) {
    out.weight.insert(out.weight.end(), found_weight.begin() + r * n_classes, found_weight.begin() + (r + 1) * n_classes);
  }
  out.passed.resize(m * out.n_rows);
  for (std::size_t c = 0; c < m; ++c) {
    for (std::size_t i = 0; i < out.n_rows; ++i) out.passed[c * out.n_rows + i] = static_cast<std::uint16_t>(row_at(example[order[i]])[c]);
  }
  return out;
}

Groups one_group(const SelectionRows& rows) {
  Groups groups;
  groups.begin.push_back(0);
  std::vector<std::int32_t> all(rows.n_rows);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int64_t> held;
  append_group(rows, all.data(), all.data() + all.size(), groups, held);
  return groups;
}

Groups split(const SelectionRows& rows, const Groups& groups, std::int32_t condition) {
  Groups out;
  out.begin.push_back(0);
  out.rows.reserve(groups.rows.size());
  std::vector<std::int32_t> yes, no;
  std::vector<std::int64_t> held;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    yes.clear(), no.clear();
    for (std::int32_t at = groups.begin[g]; at < groups.begin[g + 1]; ++at) {
      (rows.holds(groups.rows[at], condition) ? yes : no).push_back(groups.rows[at]);
    }
    for (const auto* side : {&no, &yes}) {
      if (!side->empty()) append_group(rows, side->data(), side->data() + side->size(), out, held);
    }
  }
  return out;
}

Groups groups_of(const SelectionRows& rows, const std::vector<std::int32_t>& chosen) {
  constexpr std::size_t n_bits = 64;
  if (chosen.size() > n_bits) {
    Groups groups = one_group(rows);
    for (const std::int32_t condition : chosen) groups = split(rows, groups, condition);
    return groups;
  }
  // What a row answers to the chosen conditions, one bit each, says its group.
  std::vector<std::uint64_t> answers(rows.n_rows, 0);
  for (std::size_t bit = 0; bit < chosen.size(); ++bit) {
    const std::size_t c = rows.chain[chosen[bit]];
    const int passed_before = chosen[bit] - rows.first_condition[c];
    const std::uint16_t* passed = rows.passed.data() + c * rows.n_rows;
    for (std::size_t i = 0; i < rows.n_rows; ++i) answers[i] |= static_cast<std::uint64_t>(passed[i] > passed_before) << bit;
  }
  std::vector<std::int32_t> slots(std::bit_ceil(2 * rows.n_rows + 2), -1), group(rows.n_rows), size;
  std::vector<std::uint64_t> answer_of;
  for (std::size_t i = 0; i < rows.n_rows; ++i) {
    std::size_t slot = (answers[i] * 0x9E3779B97F4A7C15ull >> 20) & (slots.size() - 1);
    while (slots[slot] >= 0 && answer_of[slots[slot]] != answers[i]) slot = (slot + 1) & (slots.size() - 1);
    if (slots[slot] < 0) slots[slot] = static_cast<std::int32_t>(size.size()), size.push_back(0), answer_of.push_back(answers[i]);
    group[i] = slots[slot];
    ++size[group[i]];
  }
  const std::size_t K = rows.n_classes;
  std::vector<std::int64_t> held(size.size() * K, 0);
  for (std::size_t i = 0; i < rows.n_rows; ++i) {
    for (std::size_t k = 0; k < K; ++k) held[group[i] * K + k] += rows.weight[i * K + k];
  }
  Groups groups;
  groups.begin.push_back(0);
  std::vector<std::int32_t> next(size.size(), -1);
  for (std::size_t g = 0; g < size.size(); ++g) {
    const std::int64_t cost = cost_of(held.data() + g * K, K);
    if (cost == 0) continue;
    groups.cost += cost;
    next[g] = groups.begin.back();
    groups.begin.push_back(next[g] + size[g]);
  }
  groups.rows.resize(groups.begin.back());
  for (std::size_t i = 0; i < rows.n_rows; ++i) {
    if (next[group[i]] >= 0) groups.rows[next[group[i]]++] = static_cast<std::int32_t>(i);
  }
  return groups;
}

namespace {

// One chain in one group: adds the cost of every split. K is the number of classes, 0 where only known at run time.
template <std::size_t K>
void add_costs_of_chain(const SelectionRows& rows, const std::uint16_t* passed, const std::int32_t* from, const std::int32_t* to,
                        std::size_t size, std::vector<std::int64_t>& held, std::int64_t* cost) {
  const std::size_t n_classes = K ? K : rows.n_classes;
  held.assign((size + 3) * n_classes, 0);
  std::int64_t *below = held.data() + (size + 1) * n_classes, *above = below + n_classes;
  for (const std::int32_t* row = from; row != to; ++row) {
    std::int64_t* cell = held.data() + passed[*row] * n_classes;
    const std::int64_t* weight = rows.weight.data() + *row * n_classes;
    for (std::size_t k = 0; k < n_classes; ++k) cell[k] += weight[k];
  }
  for (std::size_t s = 0; s <= size; ++s) {
    for (std::size_t k = 0; k < n_classes; ++k) above[k] += held[s * n_classes + k];
  }
  for (std::size_t s = 0; s < size; ++s) {  // the rows that pass exactly s conditions go below condition s
    for (std::size_t k = 0; k < n_classes; ++k) below[k] += held[s * n_classes + k], above[k] -= held[s * n_classes + k];
    if constexpr (K == 2) cost[s] += std::min(below[0], below[1]) + std::min(above[0], above[1]);
    else cost[s] += cost_of(below, n_classes) + cost_of(above, n_classes);
  }
}

}  // namespace

void costs_of_adding(const SelectionRows& rows, const Groups& groups, std::vector<std::int64_t>& cost) {
  cost.assign(rows.n_conditions, 0);
  std::vector<std::int64_t> held;
  const auto add = rows.n_classes == 2 ? add_costs_of_chain<2> : add_costs_of_chain<0>;
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    const std::size_t first = rows.first_condition[c], size = rows.first_condition[c + 1] - first;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::int32_t* all = groups.rows.data();
      add(rows, rows.passed.data() + c * rows.n_rows, all + groups.begin[g], all + groups.begin[g + 1], size, held, cost.data() + first);
    }
  }
}

}  // namespace fcca
