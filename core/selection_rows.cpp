#include "selection_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "row_table.hpp"

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
  return std::exp2(std::min(1023, 51 - std::ilogb(total)));  // finite even if the sum is tiny
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
  RowTable<std::int32_t> found(m);
  std::vector<std::int64_t> found_weight;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::int64_t units = std::llround(weight[i] * out.unit);
    if (units == 0) continue;
    const std::size_t number = found.number_of(passed + i * m);
    found_weight.resize(found.size() * n_classes, 0);
    found_weight[number * n_classes + label[i]] += units;
    out.total += units;
  }
  out.n_rows = found.size();
  const std::vector<std::size_t> order = found.sorted();
  for (const std::size_t r : order) {
    out.weight.insert(out.weight.end(), found_weight.begin() + r * n_classes, found_weight.begin() + (r + 1) * n_classes);
  }
  out.passed.resize(m * out.n_rows);
  for (std::size_t c = 0; c < m; ++c) {
    for (std::size_t i = 0; i < out.n_rows; ++i) out.passed[c * out.n_rows + i] = static_cast<std::uint16_t>(found.row(order[i])[c]);
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
  // A row's group is given by the chosen conditions that it passes, one bit each.
  std::vector<std::uint64_t> passes(rows.n_rows, 0);
  for (std::size_t bit = 0; bit < chosen.size(); ++bit) {
    const std::size_t c = rows.chain[chosen[bit]];
    const int passed_before = chosen[bit] - rows.first_condition[c];
    const std::uint16_t* passed = rows.passed.data() + c * rows.n_rows;
    for (std::size_t i = 0; i < rows.n_rows; ++i) passes[i] |= static_cast<std::uint64_t>(passed[i] > passed_before) << bit;
  }
  RowTable<std::uint64_t> found(1);
  std::vector<std::int32_t> group(rows.n_rows), size;
  for (std::size_t i = 0; i < rows.n_rows; ++i) {
    group[i] = static_cast<std::int32_t>(found.number_of(&passes[i]));
    size.resize(found.size(), 0);
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

// Adds the cost of every split of one chain in one group. K is the number of classes; 0 if it is known only at run time.
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
