// Runs one kernel of the core on a fixed input, so that callgrind can count its instructions: those of measured() are counted, those
// that make the input are not. Prints the answer and the nodes, which tell a slower search from one that does other work.
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "../core/additive.hpp"
#include "../core/ensemble_search.hpp"
#include "../core/fixed_charge.hpp"
#include "../core/optimal_tree.hpp"
#include "../core/selection_search.hpp"
#include "../core/tree_scores.hpp"
#include "instructions_inputs.hpp"

namespace fcca::instructions {

struct Work {
  std::int64_t nodes = 0;
  double answer = 0;  // a sum over what was computed
};

}  // namespace fcca::instructions

// By this name callgrind knows what to count.
extern "C" void measured(const std::function<fcca::instructions::Work()>& kernel, fcca::instructions::Work& work) { work = kernel(); }

namespace fcca::instructions {
namespace {

Work count(const std::function<Work()>& kernel) {
  auto* volatile call = measured;  // else the compiler inlines it, or makes copies of other names
  Work work;
  call(kernel, work);
  return work;
}

constexpr double no_limit = std::numeric_limits<double>::infinity();

// Owns what Limits points into.
struct RuleStore {
  Limits limits;
  std::vector<double> low, high, step, origin, coef, upper;
  std::vector<std::uint8_t> rises, then_rises;
  std::vector<std::int64_t> first_term;
  std::vector<std::int32_t> term_feature, if_feature, then_feature;
};

enum class Rules { none, of_features, between_features };

RuleStore make_rules(Rules kind, const Table& table, std::size_t n_points) {
  RuleStore rules;
  if (kind == Rules::of_features) {  // a move goes no further than 0.35, and every second feature stays on a grid
    for (std::size_t i = 0; i < n_points * table.n_features; ++i) rules.low.push_back(table.x[i] - 0.35), rules.high.push_back(table.x[i] + 0.35);
    for (std::size_t j = 0; j < table.n_features; ++j) rules.step.push_back(j % 2 ? 0.05 : 0.0), rules.origin.push_back(0);
    rules.limits.low = rules.low.data(), rules.limits.high = rules.high.data();
    rules.limits.step = rules.step.data(), rules.limits.origin = rules.origin.data();
  }
  if (kind == Rules::between_features) {  // four moves at most, a sum with a limit, a rise that calls for another
    rules.first_term = {0, 2}, rules.term_feature = {0, 1}, rules.coef = {1, 1}, rules.upper = {1.3};
    rules.if_feature = {2}, rules.rises = {1}, rules.then_feature = {3}, rules.then_rises = {1};
    rules.limits.max_changes = 4;
    rules.limits.linear = {1, rules.first_term.data(), rules.term_feature.data(), rules.coef.data(), rules.upper.data()};
    rules.limits.implications = {1, rules.if_feature.data(), rules.rises.data(), rules.then_feature.data(), rules.then_rises.data()};
  }
  return rules;
}

// The first rows, each with the class that the model answers. Any other class is asked for.
template <class Search>
Work solve(Search search, const Table& table, const std::vector<std::int32_t>& own_class, const Limits& limits) {
  const Stop stop(no_limit);
  Work work;
  for (std::size_t i = 0; i < own_class.size(); ++i) {
    auto line = [&](const double* of_points) { return of_points == nullptr ? nullptr : of_points + i * table.n_features; };
    const Query query{table.row(i), own_class[i], any_other_class, 1e-4, nullptr, line(limits.low), line(limits.high)};
    const Outcome outcome = search.solve(query, stop);
    work.nodes += outcome.nodes;
    if (outcome.status == Status::optimal) work.answer += 1 + outcome.cost;  // one more for being found
  }
  return work;
}

struct Shape {
  std::size_t n_rows, n_features, n_classes, n_points;
};

Work additive(Shape shape, Growth growth, Rules kind = Rules::none) {
  const Table table = make_table(shape.n_rows, shape.n_features, shape.n_classes, 1);
  const Grown grown(table, growth, 2);
  const std::vector<double> values = grown.additive_values();
  const AdditiveModel model{grown.cells.view(), grown.n_outputs, values.data(), grown.base.data()};
  const std::vector<std::int32_t> own_class = grown.answers(shape.n_points);
  const RuleStore rules = make_rules(kind, table, shape.n_points);
  return count([&] { return solve(AdditiveSearch(model, rules.limits, {0.1, 1, 0}), table, own_class, rules.limits); });
}

Work ensemble(Shape shape, Growth growth, Rules kind = Rules::none) {
  const Table table = make_table(shape.n_rows, shape.n_features, shape.n_classes, 3);
  const Grown grown(table, growth, 4);
  const Cells cells = grown.cells.view();
  Examples examples;
  for (std::size_t i = table.n_rows - 20; i < table.n_rows; ++i) {
    examples.emplace_back();
    for (std::size_t j = 0; j < table.n_features; ++j) examples.back().push_back(static_cast<std::int32_t>(cells.cell_of(j, table.row(i)[j])));
  }
  const std::vector<std::int32_t> own_class = grown.answers(shape.n_points);
  const RuleStore rules = make_rules(kind, table, shape.n_points);
  return count([&] {
    const EnsembleModel compiled(grown.trees(), grown.base.data(), cells);
    return solve(EnsembleSearch(compiled, rules.limits, {0.1, 1, 0}, examples, {}), table, own_class, rules.limits);
  });
}

Work linear(Shape shape, Cost cost) {
  const Table table = make_table(shape.n_rows, shape.n_features, 2, 5);
  Random random(6);
  std::vector<double> coef, centre(shape.n_features, 0.5), low(shape.n_features, 0.0), high(shape.n_features, 1.0);
  for (std::size_t j = 0; j < shape.n_features; ++j) coef.push_back(2 * random.uniform() - 1);
  const LinearModel model{shape.n_features, coef.data(), centre.data(), 0.1, {low.data(), high.data()}, high.data()};
  std::vector<std::int32_t> own_class;
  for (std::size_t i = 0; i < shape.n_points; ++i) {
    double score = model.intercept;
    for (std::size_t j = 0; j < shape.n_features; ++j) score += coef[j] * (table.row(i)[j] - centre[j]);
    own_class.push_back(score > 0 ? 1 : 0);
  }
  const Limits limits;
  return count([&] { return solve(FixedChargeSearch(model, limits, cost), table, own_class, limits); });
}

// Columns x > cut in chains, as FCCA's thresholds make them.
std::vector<std::uint8_t> binary_table(const Table& table, const Cells& cells) {
  std::vector<std::uint8_t> bits;
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    for (std::size_t j = 0; j < table.n_features; ++j) {
      for (std::int64_t c = 0; c < cells.n_cuts(j); ++c) bits.push_back(table.row(i)[j] > cells.cuts_of(j)[c]);
    }
  }
  return bits;
}

Work tree(Shape shape, std::size_t n_cuts, std::int32_t depth, double row_weight, Criterion criterion = Criterion::error,
          std::int64_t max_leaves = LeafBudget::unlimited) {
  const Table table = make_table(shape.n_rows, shape.n_features, shape.n_classes, 7);
  const CellStore store = quantile_cells(table, n_cuts);
  const std::vector<std::uint8_t> bits = binary_table(table, store.view());
  const std::vector<double> weight(table.n_rows, row_weight);
  TreeTask task;
  task.penalty = 0.01 * row_weight * static_cast<double>(table.n_rows), task.max_depth = depth;
  task.criterion = criterion, task.max_leaves = max_leaves;
  return count([&] {
    const Stop stop(no_limit);
    const TreeResult result =
        optimal_tree({bits.data(), table.label.data(), weight.data(), nullptr, table.n_rows, store.cuts.size(), table.n_classes}, task, stop);
    return Work{static_cast<std::int64_t>(result.nodes), result.cost + static_cast<double>(result.optimal)};
  });
}

// How many cuts of each feature a row is above.
std::vector<std::int32_t> cells_of(const Table& table, const Cells& cells) {
  std::vector<std::int32_t> passed(table.n_rows * table.n_features);
  for (std::size_t i = 0; i < passed.size(); ++i) {
    passed[i] = static_cast<std::int32_t>(cells.cell_of(i % table.n_features, table.x[i]));
  }
  return passed;
}

struct Selection {
  Selection(Shape shape, std::size_t n_cuts) : table(make_table(shape.n_rows, shape.n_features, shape.n_classes, 8)) {
    const CellStore store = quantile_cells(table, n_cuts);
    passed = cells_of(table, store.view());
    weight.assign(table.n_rows, 1.0);
    Random random(9);
    for (std::size_t j = 0; j < table.n_features; ++j) {
      chain_size.push_back(static_cast<std::int32_t>(store.view().n_cuts(j)));
      rules.feature.insert(rules.feature.end(), chain_size.back(), static_cast<std::int32_t>(j));
      rules.per_feature.push_back(chain_size.back());
    }
    rules.max_features = static_cast<std::int32_t>(table.n_features);
    for (std::size_t t = 0; t < store.cuts.size(); ++t) rules.count.push_back(static_cast<std::int64_t>(1 + random.below(50)));
  }
  SelectionRows rows() const {
    return selection_rows(passed.data(), table.label.data(), weight.data(), table.n_rows, chain_size, table.n_classes);
  }

  Table table;
  std::vector<std::int32_t> passed, chain_size;
  std::vector<double> weight;
  SelectionRules rules;
};

Work select_thresholds(Shape shape, std::size_t n_cuts, std::size_t n_chosen, bool limited) {
  Selection selection(shape, n_cuts);
  if (limited) selection.rules.per_feature.assign(shape.n_features, 2), selection.rules.max_features = 3;
  return count([&] {
    const Stop stop(no_limit);
    const SelectionRows rows = selection.rows();
    const SelectionResult result = SelectionSearch(rows, selection.rules, stop)
                                       .run(nothing_decided(selection.rules), n_chosen, rows.total, std::numeric_limits<std::uint64_t>::max());
    return Work{static_cast<std::int64_t>(result.nodes), static_cast<double>(result.best.cost) + 0.5 * result.optimal};
  });
}

Work greedy_thresholds(Shape shape, std::size_t n_cuts, std::size_t n_chosen) {
  const Selection selection(shape, n_cuts);
  return count([&] {
    const SelectionRows rows = selection.rows();
    Work work;
    for (const std::int32_t t : greedy_order(rows, selection.rules, nothing_decided(selection.rules), n_chosen)) work.answer += t;
    return work;
  });
}

Work widen(Shape shape, std::size_t n_cuts) {
  const Table table = make_table(shape.n_rows, shape.n_features, 2, 10);
  CellStore store = quantile_cells(table, n_cuts);
  Work work = count([&] {
    store.widen(table);
    return Work{};
  });
  for (std::size_t cell = 0; cell < store.smallest.size(); ++cell) work.answer += store.largest[cell] - store.smallest[cell];
  return work;
}

// Every third column has gaps and every third holds categories.
Work find_cells(Shape shape, std::size_t n_cuts) {
  Table table = make_table(shape.n_rows, shape.n_features, 2, 11);
  CellStore store = quantile_cells(table, n_cuts);
  Cells cells = store.view();
  constexpr std::int64_t n_codes = 8;
  std::vector<std::uint8_t> kinds;
  std::vector<std::int64_t> first_code{0};
  std::vector<std::int32_t> code_cell;
  for (std::size_t j = 0; j < table.n_features; ++j) {
    kinds.push_back(j % 3 == 1 ? numbers_with_missing : j % 3 == 2 ? categories : numbers);
    for (std::int32_t code = 0; kinds[j] == categories && code < n_codes; ++code) code_cell.push_back(code / 2);
    first_code.push_back(static_cast<std::int64_t>(code_cell.size()));
    if (kinds[j] == numbers_with_missing) store.cuts[store.first_cut[j + 1] - 1] = no_limit;
  }
  for (std::size_t i = 0; i < table.x.size(); ++i) {
    const std::uint8_t kind = kinds[i % table.n_features];
    if (kind == categories) table.x[i] = static_cast<double>(static_cast<int>(table.x[i] * (n_codes - 1)));
    if (kind == numbers_with_missing && i % 7 == 0) table.x[i] = std::numeric_limits<double>::quiet_NaN();
  }
  cells.kinds = kinds.data(), cells.first_code = first_code.data(), cells.code_cell = code_cell.data();
  std::vector<std::int32_t> found;
  Work work = count([&] {
    found = cells_of(table, cells);
    return Work{};
  });
  for (const std::int32_t cell : found) work.answer += cell;
  return work;
}

template <class Number>
Work score_trees(Shape shape, Growth growth) {
  const Table table = make_table(shape.n_rows, shape.n_features, shape.n_classes, 15);
  const Grown grown(table, growth, 16);
  const Trees trees{grown.roots.size(), grown.roots.data(), grown.feature.data(), grown.threshold.data(), grown.left.data(), grown.right.data(),
                    grown.n_outputs, grown.value.data(), nullptr, nullptr, nullptr, nullptr};
  const std::int64_t all = static_cast<std::int64_t>(grown.roots.size());
  const double one = 1;
  const Parts parts{1, &all, &one, &one, false};
  std::vector<double> out(grown.n_outputs);
  std::vector<Number> sum(grown.n_outputs), part_sum(grown.n_outputs);
  return count([&] {
    Work work;
    for (std::size_t i = 0; i < table.n_rows; ++i) {
      score_row<Number>(trees, parts, grown.base.data(), 1, table.row(i), sum.data(), part_sum.data(), out.data());
      for (const double score : out) work.answer += score;
    }
    return work;
  });
}

Work score_additive(Shape shape, Growth growth) {
  const Table table = make_table(shape.n_rows, shape.n_features, shape.n_classes, 17);
  const Grown grown(table, growth, 18);
  const std::vector<double> values = grown.additive_values();
  const AdditiveModel model{grown.cells.view(), grown.n_outputs, values.data(), grown.base.data()};
  std::vector<double> out(grown.n_outputs);
  return count([&] {
    Work work;
    for (std::size_t i = 0; i < table.n_rows; ++i) {
      model.score(table.row(i), out.data());
      for (const double score : out) work.answer += score;
    }
    return work;
  });
}

struct Kernel {
  const char* name;
  std::function<Work()> run;
};

// Shapes are {rows, features, classes, points}, large enough that the inner loops decide and small enough for callgrind.
const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all{
      {"additive, two classes", [] { return additive({400, 14, 2, 400}, {150, 1}); }},
      {"additive, three classes", [] { return additive({300, 12, 3, 150}, {60, 1}); }},
      {"additive, grids and bounds", [] { return additive({400, 14, 2, 400}, {150, 1}, Rules::of_features); }},
      {"ensemble, depth 2", [] { return ensemble({300, 10, 2, 20}, {100, 2}); }},
      {"ensemble, depth 3", [] { return ensemble({300, 10, 2, 12}, {60, 3}); }},
      {"ensemble, three classes", [] { return ensemble({300, 8, 3, 10}, {30, 2}); }},
      {"ensemble, forest", [] { return ensemble({300, 10, 2, 8}, {50, 4, false}); }},
      {"ensemble, rules between features", [] { return ensemble({300, 10, 2, 10}, {60, 2}, Rules::between_features); }},
      {"linear, fixed charge", [] { return linear({300, 24, 2, 300}, {0.1, 1, 0}); }},
      {"linear, squared moves", [] { return linear({300, 24, 2, 300}, {0.1, 0.5, 1}); }},
      {"tree, depth 3", [] { return tree({1000, 10, 2, 0}, 16, 3, 1); }},
      {"tree, depth 4, three classes", [] { return tree({200, 6, 3, 0}, 5, 4, 1); }},
      {"tree, fractional weights", [] { return tree({300, 8, 2, 0}, 10, 3, 0.123456789); }},
      {"tree, gini, three classes", [] { return tree({300, 8, 3, 0}, 8, 3, 1, Criterion::gini); }},
      {"tree, gini, two classes", [] { return tree({300, 8, 2, 0}, 8, 3, 1, Criterion::gini); }},
      {"tree, log loss, eight leaves", [] { return tree({150, 5, 2, 0}, 4, 4, 1, Criterion::log_loss, 8); }},
      {"tree, log loss, three classes", [] { return tree({150, 5, 3, 0}, 4, 4, 1, Criterion::log_loss, 8); }},
      {"tree, evidence, eight leaves", [] { return tree({150, 5, 2, 0}, 4, 4, 1, Criterion::evidence, 8); }},
      {"select thresholds", [] { return select_thresholds({160, 7, 2, 0}, 7, 4, false); }},
      {"select thresholds, limits per feature", [] { return select_thresholds({160, 7, 2, 0}, 7, 4, true); }},
      {"greedy thresholds", [] { return greedy_thresholds({2000, 12, 2, 0}, 16, 12); }},
      {"widen cells", [] { return widen({6000, 12, 2, 0}, 24); }},
      {"find cells", [] { return find_cells({6000, 12, 2, 0}, 24); }},
      {"score trees, single precision", [] { return score_trees<float>({1500, 10, 2, 0}, {60, 3}); }},
      {"score trees, double precision", [] { return score_trees<double>({1000, 10, 3, 0}, {30, 3}); }},
      {"score additive", [] { return score_additive({5000, 12, 2, 0}, {40, 1}); }},
  };
  return all;
}

int print_environment() {
#if defined(__clang__)
  std::printf("compiler\tclang %d.%d.%d\n", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  std::printf("compiler\tgcc %d.%d.%d\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
#if defined(__GLIBC__)
  std::printf("C library\tglibc %s\n", gnu_get_libc_version());
#endif
#if defined(__GLIBCXX__)
  std::printf("C++ library\tlibstdc++ %d\n", __GLIBCXX__);
#endif
#if defined(__x86_64__)
  std::printf("vectors\t%s\n", __builtin_cpu_supports("avx2") ? "avx2" : "sse2");  // which of the core's clones run
#endif
  return 0;
}

}  // namespace
}  // namespace fcca::instructions

// Without arguments the kernels; with --environment what their counts depend on; with a kernel's name its nodes and answer.
int main(int argc, char** argv) {
  using namespace fcca::instructions;
  if (argc > 1 && std::strcmp(argv[1], "--environment") == 0) return print_environment();
  for (const auto& [name, run] : kernels()) {
    if (argc < 2) std::printf("%s\n", name);
    if (argc < 2 || std::strcmp(argv[1], name) != 0) continue;
    const Work work = run();
    std::printf("%lld %.9g\n", static_cast<long long>(work.nodes), work.answer);
    return 0;
  }
  return argc < 2 ? 0 : 2;
}
