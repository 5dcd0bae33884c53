// Inputs of the kernels, made from fixed seeds by nothing but IEEE arithmetic: the same on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../core/cells.hpp"
#include "../core/ensemble.hpp"

namespace fcca::instructions {

class Random {  // splitmix64: <random>'s distributions differ between libraries
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }

 private:
  std::uint64_t state_;
};

struct Table {
  std::size_t n_rows, n_features, n_classes;
  std::vector<double> x;  // n_rows × n_features, in [0, 1]
  std::vector<std::int32_t> label;

  const double* row(std::size_t i) const { return x.data() + i * n_features; }
};

// Every class has a score that is linear but for some pairs of features that count together, and noise; the largest is the label.
inline Table make_table(std::size_t n_rows, std::size_t n_features, std::size_t n_classes, std::uint64_t seed) {
  Random random(seed);
  Table table{n_rows, n_features, n_classes, {}, {}};
  std::vector<double> coef(n_classes * n_features);
  for (double& c : coef) c = 2 * random.uniform() - 1;
  std::vector<double> score(n_classes);
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::size_t j = 0; j < n_features; ++j) {
      const double u = random.uniform();
      // Every third feature takes few values, as counts and ages do.
      table.x.push_back(j % 3 == 2 ? static_cast<double>(static_cast<int>(u * 40)) / 40 : u);
    }
    const double* row = table.row(i);
    for (std::size_t k = 0; k < n_classes; ++k) {
      score[k] = 0.6 * random.uniform();
      for (std::size_t j = 0; j < n_features; ++j) score[k] += coef[k * n_features + j] * (row[j] - 0.5);
      for (std::size_t j = 0; j + 1 < n_features; j += 2) score[k] += (row[j] > 0.5) == (row[j + 1] > 0.3) ? coef[k * n_features + j] : 0.0;
    }
    table.label.push_back(static_cast<std::int32_t>(std::max_element(score.begin(), score.end()) - score.begin()));
  }
  return table;
}

// Owns what Cells points into.
struct CellStore {
  std::vector<std::int64_t> first_cut{0};
  std::vector<double> cuts, smallest, largest, box_low, box_high, unit;

  Cells view() const {
    Cells cells{box_low.size(), first_cut.data(), cuts.data(), smallest.data(), largest.data(), {box_low.data(), box_high.data()}};
    cells.distances.unit = unit.data();
    return cells;
  }
  void add_feature(const std::vector<double>& its_cuts, double low, double high) {
    cuts.insert(cuts.end(), its_cuts.begin(), its_cuts.end());
    first_cut.push_back(static_cast<std::int64_t>(cuts.size()));
    box_low.push_back(low), box_high.push_back(high), unit.push_back(high > low ? high - low : 1.0);
    smallest.assign(cuts.size() + box_low.size(), std::numeric_limits<double>::quiet_NaN());
    largest = smallest;
  }
  void widen(const Table& table) { widen_cells(table.x.data(), table.n_rows, view(), smallest.data(), largest.data()); }
};

// Cuts between the values of each feature, about as many rows between any two.
inline CellStore quantile_cells(const Table& table, std::size_t n_cuts) {
  CellStore store;
  for (std::size_t j = 0; j < table.n_features; ++j) {
    std::vector<double> values;
    for (std::size_t i = 0; i < table.n_rows; ++i) values.push_back(table.row(i)[j]);
    std::sort(values.begin(), values.end());
    std::vector<double> cuts;
    for (std::size_t q = 1; q <= n_cuts; ++q) {
      const std::size_t at = q * table.n_rows / (n_cuts + 1);
      if (values[at - 1] < values[at]) cuts.push_back(values[at - 1] + (values[at] - values[at - 1]) / 2);
    }
    store.add_feature(cuts, values.front(), values.back());
  }
  return store;
}

struct Growth {
  std::size_t n_rounds, depth;
  bool boosted = true;  // else a forest
  std::size_t n_cuts = 24;
};

// An ensemble of trees grown on a table, as scikit-learn would grow it but with squared errors: they need neither exp nor log, which
// differ between libraries.
class Grown {
 public:
  Grown(const Table& table, const Growth& growth, std::uint64_t seed)
      : n_outputs(table.n_classes == 2 ? 1 : table.n_classes), base(n_outputs, 0.0), table_(table), growth_(growth), random_(seed),
        candidates_(quantile_cells(table, growth.n_cuts)) {
    const Cells cells = candidates_.view();
    for (std::size_t i = 0; i < table.n_rows; ++i) {
      for (std::size_t j = 0; j < table.n_features; ++j) bin_.push_back(static_cast<std::int32_t>(cells.cell_of(j, table.row(i)[j])));
    }
    residual_.resize(table.n_rows);
    std::vector<double> score(table.n_rows * n_outputs, 0.0);
    for (std::size_t round = 0; round < growth.n_rounds; ++round) {
      for (std::size_t k = 0; k < n_outputs; ++k) grow_tree(k, score);
    }
    keep_used_cuts();
  }

  CellTrees trees() const {
    return {roots.size(), roots.data(), feature.size(), feature.data(), cut.data(), left.data(), right.data(), n_outputs, value.data()};
  }

  // The class that the model answers.
  std::int32_t answer(const double* row) const {
    std::vector<double> score = base;
    for (const std::int64_t root : roots) {
      std::size_t node = static_cast<std::size_t>(root);
      while (feature[node] >= 0) node = row[feature[node]] <= threshold[node] ? left[node] : right[node];
      for (std::size_t k = 0; k < n_outputs; ++k) score[k] += value[node * n_outputs + k];
    }
    if (n_outputs == 1) return score[0] > 0 ? 1 : 0;
    return static_cast<std::int32_t>(std::max_element(score.begin(), score.end()) - score.begin());
  }
  // For the first rows of the table.
  std::vector<std::int32_t> answers(std::size_t n) const {
    std::vector<std::int32_t> made;
    for (std::size_t i = 0; i < n; ++i) made.push_back(answer(table_.row(i)));
    return made;
  }

  // Of stumps: what each cell of each feature adds to the score.
  std::vector<double> additive_values() const {
    std::vector<double> values(cells.view().n_cells() * n_outputs, 0.0);
    for (const std::int64_t root : roots) {
      const std::int32_t j = feature[root];
      for (std::int64_t cell = 0; j >= 0 && cell <= cells.view().n_cuts(j); ++cell) {
        const std::int32_t leaf = cell <= cut[root] ? left[root] : right[root];
        for (std::size_t k = 0; k < n_outputs; ++k) {
          values[(cells.view().first_cell(j) + cell) * n_outputs + k] += value[leaf * n_outputs + k];
        }
      }
    }
    return values;
  }

  std::size_t n_outputs;
  std::vector<std::int64_t> roots;
  std::vector<std::int32_t> feature, cut, left, right;
  std::vector<double> threshold, value, base;
  CellStore cells;

 private:
  void grow_tree(std::size_t k, std::vector<double>& score) {
    const std::size_t n = table_.n_rows;
    std::vector<std::int32_t> rows(n);
    for (std::size_t i = 0; i < n; ++i) {
      rows[i] = static_cast<std::int32_t>(growth_.boosted ? i : random_.below(n));
      const bool is_it = table_.label[i] == static_cast<std::int32_t>(n_outputs == 1 ? 1 : k);
      residual_[i] = (is_it ? 1.0 : -1.0) - (growth_.boosted ? score[i * n_outputs + k] : 0.0);
    }
    roots.push_back(static_cast<std::int64_t>(feature.size()));
    grow(rows, 0, k);
    for (std::size_t i = 0; growth_.boosted && i < n; ++i) {
      std::size_t node = static_cast<std::size_t>(roots.back());
      while (feature[node] >= 0) node = bin_[i * table_.n_features + feature[node]] <= cut[node] ? left[node] : right[node];
      score[i * n_outputs + k] += value[node * n_outputs + k];
    }
  }

  std::int32_t grow(const std::vector<std::int32_t>& rows, std::size_t depth, std::size_t k) {
    const std::int32_t node = static_cast<std::int32_t>(feature.size());
    feature.push_back(-1), cut.push_back(-1), left.push_back(-1), right.push_back(-1), threshold.push_back(0);
    value.resize(value.size() + n_outputs, 0.0);
    double sum = 0;
    for (const std::int32_t i : rows) sum += residual_[i];
    const double n = static_cast<double>(rows.size()), share = growth_.boosted ? 0.3 : 1.0 / static_cast<double>(growth_.n_rounds);
    value[node * n_outputs + k] = share * sum / n;
    const Split split = depth < growth_.depth ? best_split(rows, sum) : Split{};
    if (split.feature < 0) return node;
    std::vector<std::int32_t> sides[2];
    for (const std::int32_t i : rows) sides[bin_[i * table_.n_features + split.feature] > split.cut].push_back(i);
    feature[node] = split.feature, cut[node] = split.cut;
    threshold[node] = candidates_.view().cuts_of(split.feature)[split.cut];
    value[node * n_outputs + k] = 0;
    const std::int32_t below = grow(sides[0], depth + 1, k), above = grow(sides[1], depth + 1, k);
    left[node] = below, right[node] = above;
    return node;
  }

  struct Split {
    std::int32_t feature = -1, cut = -1;
  };
  Split best_split(const std::vector<std::int32_t>& rows, double sum) {
    constexpr double fewest = 3;  // rows in a leaf
    Split best;
    const double n = static_cast<double>(rows.size());
    double best_gain = sum * sum / n + 1e-9;
    std::vector<double> sums(growth_.n_cuts + 1), counts(growth_.n_cuts + 1);
    for (std::size_t j = 0; j < table_.n_features; ++j) {
      if (!growth_.boosted && random_.uniform() < 0.5) continue;
      std::fill(sums.begin(), sums.end(), 0.0), std::fill(counts.begin(), counts.end(), 0.0);
      for (const std::int32_t i : rows) sums[bin_[i * table_.n_features + j]] += residual_[i], counts[bin_[i * table_.n_features + j]] += 1;
      double sum_below = 0, n_below = 0;
      for (std::int64_t c = 0; c < candidates_.view().n_cuts(j); ++c) {
        sum_below += sums[c], n_below += counts[c];
        if (n_below < fewest || n - n_below < fewest) continue;
        const double gain = sum_below * sum_below / n_below + (sum - sum_below) * (sum - sum_below) / (n - n_below);
        if (gain > best_gain) best_gain = gain, best = {static_cast<std::int32_t>(j), static_cast<std::int32_t>(c)};
      }
    }
    return best;
  }

  // As for any model that is read: the cells are those of the cuts that the trees test.
  void keep_used_cuts() {
    const Cells all = candidates_.view();
    std::vector<std::int32_t> renumbered(all.first_cut[all.n_features], -1);
    for (std::size_t node = 0; node < feature.size(); ++node) {
      if (feature[node] >= 0) renumbered[all.first_cut[feature[node]] + cut[node]] = 0;
    }
    for (std::size_t j = 0; j < all.n_features; ++j) {
      std::vector<double> kept;
      for (std::int64_t c = all.first_cut[j]; c < all.first_cut[j + 1]; ++c) {
        if (renumbered[c] < 0) continue;
        renumbered[c] = static_cast<std::int32_t>(kept.size());
        kept.push_back(all.cuts[c]);
      }
      cells.add_feature(kept, all.box.low[j], all.box.high[j]);
    }
    for (std::size_t node = 0; node < feature.size(); ++node) {
      if (feature[node] >= 0) cut[node] = renumbered[all.first_cut[feature[node]] + cut[node]];
    }
    cells.widen(table_);
  }

  const Table& table_;
  Growth growth_;
  Random random_;
  CellStore candidates_;
  std::vector<std::int32_t> bin_;
  std::vector<double> residual_;
};

}  // namespace fcca::instructions
