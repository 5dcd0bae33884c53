#include "selection_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fcca {

namespace {

constexpr double exact_below = 4503599627370496.0;  // 2^52

// Whole weights are taken as they are; others as multiples of a unit that keeps their sum within 52 bits.
double unit_of(const double* weight, std::size_t n) {
  double total = 0;
  bool whole = true;
  for (std::size_t i = 0; i < n; ++i) total += weight[i], whole = whole && weight[i] == std::floor(weight[i]);
  if (total <= 0 || (whole && total < exact_below)) return 1;
  return std::exp2(51 - std::ilogb(total));
}

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
  // Sorted, so that the order of the table's rows does not matter.
  std::vector<std::size_t> order(n_rows);
  std::iota(order.begin(), order.end(), 0);
  const std::size_t m = out.n_chains;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(passed + a * m, passed + (a + 1) * m, passed + b * m, passed + (b + 1) * m);
  });
  const std::int32_t* last = nullptr;
  for (const std::size_t i : order) {
    const std::int64_t units = std::llround(weight[i] * out.unit);
    if (units == 0) continue;
    const std::int32_t* row = passed + i * m;
    if (last == nullptr || !std::equal(row, row + m, last)) {
      out.passed.insert(out.passed.end(), row, row + m);
      out.weight.insert(out.weight.end(), n_classes, 0);
      ++out.n_rows;
      last = row;
    }
    out.weight[(out.n_rows - 1) * n_classes + label[i]] += units;
    out.total += units;
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
  Groups groups = one_group(rows);
  for (const std::int32_t condition : chosen) groups = split(rows, groups, condition);
  return groups;
}

void costs_of_adding(const SelectionRows& rows, const Groups& groups, std::vector<std::int64_t>& cost) {
  const std::size_t K = rows.n_classes;
  cost.assign(rows.n_conditions, 0);
  std::vector<std::int64_t> held, above(K), below(K);
  for (std::size_t c = 0; c < rows.n_chains; ++c) {
    const std::size_t first = rows.first_condition[c], size = rows.first_condition[c + 1] - first;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      held.assign((size + 1) * K, 0);
      std::fill(below.begin(), below.end(), 0), std::fill(above.begin(), above.end(), 0);
      for (std::int32_t at = groups.begin[g]; at < groups.begin[g + 1]; ++at) {
        const std::size_t row = groups.rows[at];
        std::int64_t* cell = held.data() + rows.passed[row * rows.n_chains + c] * K;
        for (std::size_t k = 0; k < K; ++k) cell[k] += rows.weight[row * K + k], above[k] += rows.weight[row * K + k];
      }
      for (std::size_t s = 0; s < size; ++s) {  // the rows that pass exactly s conditions go below condition s
        for (std::size_t k = 0; k < K; ++k) below[k] += held[s * K + k], above[k] -= held[s * K + k];
        cost[first + s] += cost_of(below.data(), K) + cost_of(above.data(), K);
      }
    }
  }
}

}  // namespace fcca
