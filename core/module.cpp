// The Python module: functions that take arrays and return arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "additive.hpp"
#include "arguments.hpp"
#include "cells.hpp"
#include "ensemble_search.hpp"
#include "fixed_charge.hpp"
#include "optimal_tree.hpp"
#include "parallel.hpp"
#include "raw_tree.hpp"
#include "selection_search.hpp"
#include "tree_scores.hpp"

namespace fcca {
namespace {

constexpr std::size_t many_points = 128;  // per chunk, if a point takes microseconds

// make_search() makes one thread's search, and search.solve(query, stop) solves one point.
template <class MakeSearch>
auto solve_all(const Questions& questions, const Effort& effort, std::size_t points_per_chunk, const nb::object& progress,
               MakeSearch make_search) {
  Results results(questions.size(), points_per_chunk);
  Stop stop(effort.time_limit);
  auto look_up = [&](std::size_t done) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!progress.is_none()) progress(done);
  };
  {
    nb::gil_scoped_release no_gil;
    for_each_chunk(
        questions.size(), points_per_chunk, effort.n_threads, stop,
        [&] {
          return [&, search = make_search()](std::size_t chunk, std::size_t begin, std::size_t end) mutable {
            for (std::size_t point = begin; point < end && !stop.now(); ++point) {
              const Clock::time_point start = Clock::now();
              const Stop point_stop(stop, effort.time_limit_per_row);
              Outcome outcome = search.solve(questions[point], point_stop);
              outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
              results.put(point, chunk, outcome);
            }
          };
        },
        look_up);
  }
  return results.to_tuple();
}

AdditiveModel checked_model(const CellArrays& cells, const Matrix& values, const Doubles& base) {
  require(values.shape(0) == cells.cells.n_cells() && values.shape(1) == base.shape(0) && base.shape(0) > 0, "values and base disagree");
  require_all(values, is_finite, "a value must be finite"), require_all(base, is_finite, "a base must be finite");
  return {cells.cells, base.shape(0), values.data(), base.data()};
}

auto solve_additive(Matrix rows, Longs points, Ints own_class, Ints target, Doubles margin, const CellArrays& cells, const LimitArrays& limits,
                    Matrix values, Doubles base, double lambda0, double lambda1, double lambda2, std::size_t n_threads, double time_limit,
                    double time_limit_per_row, nb::object progress) {
  const AdditiveModel model = checked_model(cells, values, base);
  const Cost cost = checked_cost(lambda0, lambda1, lambda2);
  const Questions questions{rows, points, own_class, target, margin, limits.limits};
  questions.check(model.cells.n_features, std::max<std::size_t>(2, model.n_outputs)), cells.check(rows), limits.check(cells.cells, questions.size());
  require(!limits.limits.between_features(), "rules between features are for the branch and bound");
  return solve_all(questions, {n_threads, time_limit, time_limit_per_row}, many_points, progress,
                   [&] { return AdditiveSearch(model, limits.limits, cost); });
}

// A linear model has no cells.
Cells numbers_only(std::size_t n_features) { return {n_features, nullptr, nullptr, nullptr, nullptr, {nullptr, nullptr}}; }

auto solve_linear(Matrix rows, Longs points, Ints own_class, Ints target, Doubles margin, const LimitArrays& limits, Doubles coef,
                  Doubles centre, double intercept, Doubles box_low, Doubles box_high, Doubles unit, double lambda0, double lambda1,
                  double lambda2, std::size_t n_threads, double time_limit, double time_limit_per_row, nb::object progress) {
  const LinearModel model{coef.shape(0), coef.data(), centre.data(), intercept, {box_low.data(), box_high.data()}, unit.data()};
  require(centre.shape(0) == model.n_features && box_low.shape(0) == model.n_features && box_high.shape(0) == model.n_features &&
              unit.shape(0) == model.n_features,
          "coef, centre, box and unit disagree");
  require_all(unit, is_unit, "a unit must be a number above 0");
  for (const Doubles* numbers : {&coef, &centre, &box_low, &box_high}) require_all(*numbers, is_finite, "coef, centre and box must be finite");
  require(is_finite(intercept), "intercept must be finite");
  const Cost cost = checked_cost(lambda0, lambda1, lambda2);
  const Questions questions{rows, points, own_class, target, margin, limits.limits};
  questions.check(model.n_features, 2), limits.check(numbers_only(model.n_features), questions.size());
  require(!limits.limits.between_features(), "rules between features are not for linear models");
  return solve_all(questions, {n_threads, time_limit, time_limit_per_row}, many_points, progress,
                   [&] { return FixedChargeSearch(model, limits.limits, cost); });
}

auto solve_ensemble(Matrix rows, Longs points, Ints own_class, Ints target, Doubles margin, const CellArrays& cell_arrays,
                    const LimitArrays& limits, Longs roots, Ints feature, Ints cut, Ints left, Ints right, Matrix values, Doubles base,
                    Doubles side_least, IntMatrix examples, double lambda0, double lambda1, double lambda2, double relative_gap,
                    std::size_t n_threads, double time_limit, double time_limit_per_row, nb::object progress,
                    std::optional<Longs> first_left, std::optional<FlatBytes> left_cells) {
  const Cells& cells = cell_arrays.cells;
  const std::size_t n_nodes = feature.shape(0);
  require(cut.shape(0) == n_nodes && values.shape(0) == n_nodes, "the nodes' arrays disagree");
  require_all(values, is_finite, "a value must be finite"), require_all(base, is_finite, "a base must be finite");
  require(relative_gap >= 0 && relative_gap < 1, "relative_gap must be at least 0 and below 1");
  require_all(side_least, is_number, "the least value of a side row must be a number");
  require(values.shape(1) == base.shape(0) && side_least.shape(0) < base.shape(0), "values, base and side rows disagree");
  require_nodes(roots, feature, left, right, cells.n_features);
  require(examples.shape(1) == cells.n_features, "examples and model have different numbers of features");
  const Cost cost = checked_cost(lambda0, lambda1, lambda2);
  const Questions questions{rows, points, own_class, target, margin, limits.limits};
  questions.check(cells.n_features, std::max<std::size_t>(2, base.shape(0) - side_least.shape(0))), cell_arrays.check(rows), limits.check(cells, questions.size());
  const CellTrees trees{roots.shape(0), roots.data(), n_nodes, feature.data(), cut.data(), left.data(), right.data(), base.shape(0), values.data(),
                        first_left ? first_left->data() : nullptr, left_cells ? left_cells->data() : nullptr};
  require(first_left.has_value() == left_cells.has_value() && (!first_left || first_left->shape(0) == n_nodes), "the nodes' arrays disagree");
  for (std::size_t node = 0; first_left && node < n_nodes; ++node) {
    if (feature(node) < 0 || !trees.has_set(static_cast<std::int32_t>(node))) continue;
    const std::int64_t n_cells = cells.n_cuts(feature(node)) + 1;
    require((*first_left)(node) <= static_cast<std::int64_t>(left_cells->shape(0)) - n_cells, "the cells of a node are out of range");
  }
  Examples example_cells;
  for (std::size_t i = 0; i < examples.shape(0); ++i) {
    const std::int32_t* first = examples.data() + i * cells.n_features;
    for (std::size_t j = 0; j < cells.n_features; ++j) require(first[j] >= 0 && first[j] <= cells.n_cuts(j), "the cell of an example is out of range");
    example_cells.emplace_back(first, first + cells.n_features);
  }
  const EnsembleModel ensemble = [&] {
    nb::gil_scoped_release no_gil;
    return EnsembleModel(trees, base.data(), cells);
  }();
  const SideRows side_rows{side_least.shape(0), side_least.data()};
  return solve_all(questions, {n_threads, time_limit, time_limit_per_row}, 1, progress,
                   [&] { return EnsembleSearch(ensemble, limits.limits, cost, example_cells, side_rows, relative_gap); });
}

void score_additive(Matrix rows, const CellArrays& cells, Matrix values, Doubles base, MutableMatrix out) {
  const AdditiveModel model = checked_model(cells, values, base);
  require(rows.shape(1) == model.cells.n_features && out.shape(0) == rows.shape(0) && out.shape(1) == base.shape(0),
          "rows, model and out disagree");
  cells.check(rows);
  nb::gil_scoped_release no_gil;
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    model.score(rows.data() + i * rows.shape(1), out.data() + i * base.shape(0));
  }
}

template <class Number>
void score_rows(const Trees& trees, const Parts& parts, const double* base, double divisor, const Matrix& rows, MutableMatrix& out) {
  std::vector<Number> sum(trees.n_outputs), part_sum(trees.n_outputs);
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    score_row<Number>(trees, parts, base, divisor, rows.data() + i * rows.shape(1), sum.data(), part_sum.data(),
                      out.data() + i * trees.n_outputs);
  }
}

void score_trees(Matrix rows, Longs roots, Ints feature, Doubles threshold, Ints left, Ints right, std::optional<FlatBytes> missing_left,
                 std::optional<Longs> first_code, std::optional<Longs> n_codes, std::optional<FlatBytes> left_codes, Matrix value, Doubles base,
                 Longs part_size, Doubles part_divisor, Doubles part_weight, bool nested, double divisor, bool single_precision,
                 MutableMatrix out) {
  const std::size_t n_nodes = feature.shape(0);
  require(threshold.shape(0) == n_nodes && left.shape(0) == n_nodes && right.shape(0) == n_nodes && value.shape(0) == n_nodes,
          "the nodes' arrays disagree");
  if (!are_in_order(roots, feature, left, right, rows.shape(1))) require_nodes(roots, feature, left, right, rows.shape(1));
  require(value.shape(1) == base.shape(0) && out.shape(1) == base.shape(0) && out.shape(0) == rows.shape(0),
          "value, base and out disagree");
  require(part_size.shape(0) == part_divisor.shape(0) && part_size.shape(0) == part_weight.shape(0), "the parts disagree");
  std::size_t n_trees = 0;
  for (std::size_t part = 0; part < part_size.shape(0); ++part) {
    require(is_below(roots.shape(0) - n_trees + 1)(part_size(part)), "the sizes of the parts must sum to the number of trees");
    n_trees += part_size(part);
  }
  require(n_trees == roots.shape(0), "the sizes of the parts must sum to the number of trees");
  require(!missing_left || missing_left->shape(0) == n_nodes, "missing_left and the nodes disagree");
  require(first_code.has_value() == n_codes.has_value() && first_code.has_value() == left_codes.has_value(), "the categories' arrays disagree");
  if (first_code) {
    require(first_code->shape(0) == n_nodes && n_codes->shape(0) == n_nodes, "the categories and the nodes disagree");
    for (std::size_t node = 0; node < n_nodes; ++node) {
      if ((*first_code)(node) < 0) continue;
      require((*n_codes)(node) >= 0 && (*first_code)(node) <= static_cast<std::int64_t>(left_codes->shape(0)) - (*n_codes)(node),
              "the categories of a node are out of range");
    }
  }
  const Trees trees{roots.shape(0), roots.data(), feature.data(), threshold.data(), left.data(), right.data(), base.shape(0), value.data(),
                    missing_left ? missing_left->data() : nullptr, first_code ? first_code->data() : nullptr,
                    n_codes ? n_codes->data() : nullptr, left_codes ? left_codes->data() : nullptr};
  const Parts parts{part_size.shape(0), part_size.data(), part_divisor.data(), part_weight.data(), nested};
  nb::gil_scoped_release no_gil;
  if (single_precision) {
    score_rows<float>(trees, parts, base.data(), divisor, rows, out);
  } else {
    score_rows<double>(trees, parts, base.data(), divisor, rows, out);
  }
}

void look_for_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

using MaxNodes = std::optional<std::uint64_t>;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t most_rows = std::int64_t{1} << 52, most_leaves = 1'000'000;

// The arguments that the searches for trees share.
struct TreeArguments {
  std::optional<Ints> label;
  Doubles weight;
  std::optional<Longs> count;
  std::size_t n_classes;
  double units;
  std::int32_t criterion;
  double penalty;
  std::int32_t max_depth;
  std::optional<std::int64_t> max_leaves;
  double min_weight;
  std::int64_t min_rows;
  MaxNodes max_nodes;

  void check(std::size_t n_rows) const {
    require_classes(n_classes);
    require(!label || label->shape(0) == n_rows, "expected one label per row");
    require(weight.shape(0) == n_rows * (label ? 1 : n_classes), "expected one weight per row, or one per row and class without labels");
    require(!count || count->shape(0) == n_rows, "expected one count per row");
    if (label) require_labels(*label, n_classes);
    require_weights(weight, "weights must be finite and not negative, and so must their sum");
    require_all(count, [](std::int64_t n) { return n >= 0 && n <= most_rows; }, "counts must not be negative");
    require(std::isfinite(units) && units > 0, "units must be positive");
    require(0 <= criterion && criterion < n_criteria, "the criterion is out of range");
    require(is_weight(penalty) && max_depth >= 0, "penalty and max_depth must not be negative");
    require(!max_leaves || (*max_leaves >= 1 && *max_leaves <= most_leaves), "max_leaves must be between 1 and 1,000,000");
    require(is_weight(min_weight) && min_rows >= 1, "min_weight must not be negative, and min_rows must be at least 1");
  }
  const std::int32_t* labels() const { return label ? label->data() : nullptr; }
  const std::int64_t* counts() const { return count ? count->data() : nullptr; }
  TreeTask task() const {
    return {static_cast<Criterion>(criterion), units, penalty, max_depth, max_leaves.value_or(LeafBudget::unlimited),
            {min_weight, min_rows}, max_nodes.value_or(unlimited)};
  }
};

auto solve_tree(Bytes table, std::optional<Ints> label, Doubles weight, std::optional<Longs> count, std::size_t n_classes, std::int32_t criterion,
                double penalty, std::int32_t max_depth, std::optional<std::int64_t> max_leaves, double min_weight, std::int64_t min_rows,
                MaxNodes max_nodes, double time_limit, double units) {
  const TreeArguments given{label, weight, count, n_classes, units, criterion, penalty, max_depth, max_leaves, min_weight, min_rows, max_nodes};
  given.check(table.shape(0));
  require_all(table, [](std::uint8_t bit) { return bit <= 1; }, "the table must hold only 0 and 1");
  Stop stop(time_limit);
  TreeResult result;
  {
    nb::gil_scoped_release no_gil;
    stop.look_up_with(look_for_signals);
    const TreeTable rows{table.data(), given.labels(), weight.data(), given.counts(), table.shape(0), table.shape(1), n_classes};
    result = optimal_tree(rows, given.task(), stop);
  }
  std::vector<std::int32_t> column, left, right;
  for (const TreeNode& node : result.tree) column.push_back(node.column), left.push_back(node.left), right.push_back(node.right);
  return std::make_tuple(result.cost, result.bound, result.optimal, result.nodes, to_numpy(std::move(column)),
                         to_numpy(std::move(left)), to_numpy(std::move(right)));
}

auto solve_raw_tree(IntMatrix rank, std::optional<Ints> label, Doubles weight, std::optional<Longs> count, std::size_t n_classes,
                    std::int32_t criterion, double penalty, std::int32_t max_depth, std::optional<std::int64_t> max_leaves, double min_weight,
                    std::int64_t min_rows, MaxNodes max_nodes, double time_limit, double units) {
  const TreeArguments given{label, weight, count, n_classes, units, criterion, penalty, max_depth, max_leaves, min_weight, min_rows, max_nodes};
  require(n_classes >= 2, "expected at least two classes");
  given.check(rank.shape(0));
  require_all(rank, is_below(rank.shape(0)), "a rank must be below the number of rows");
  Stop stop(time_limit);
  RawTreeResult result;
  {
    nb::gil_scoped_release no_gil;
    stop.look_up_with(look_for_signals);
    const RawTable table{rank.data(), given.labels(), weight.data(), given.counts(), rank.shape(0), rank.shape(1), n_classes};
    result = raw_tree(table, given.task(), stop);
  }
  std::vector<std::int32_t> column, rank_left, rank_right, left, right;
  for (const RawNode& node : result.tree) {
    column.push_back(node.column), left.push_back(node.left), right.push_back(node.right);
    rank_left.push_back(node.rank_left), rank_right.push_back(node.rank_right);
  }
  return std::make_tuple(result.cost, result.bound, result.optimal, result.nodes, to_numpy(std::move(column)), to_numpy(std::move(rank_left)),
                         to_numpy(std::move(rank_right)), to_numpy(std::move(left)), to_numpy(std::move(right)));
}

std::vector<std::int64_t> whole_counts(const double* count, std::size_t n) {
  const double unit = unit_of(count, n);
  std::vector<std::int64_t> whole(n);
  for (std::size_t t = 0; t < n; ++t) whole[t] = std::llround(count[t] * unit);
  return whole;
}

void check_selection(const IntMatrix& passed, const Ints& label, const Doubles& weight, std::size_t n_classes, const Ints& chain_size,
                     const Doubles& count, std::size_t n_thresholds) {
  const std::size_t n_rows = passed.shape(0), n_chains = passed.shape(1);
  require(label.shape(0) == n_rows && weight.shape(0) == n_rows, "expected one label and weight per row");
  require(chain_size.shape(0) == n_chains, "expected one count per chain");
  require_labels(label, n_classes), require_weights(weight, "weights must be finite and not negative, and so must their sum");
  std::size_t n_conditions = 0;
  for (std::size_t c = 0; c < n_chains; ++c) {
    require(chain_size(c) >= 0 && chain_size(c) <= most_passed, "a chain must have 0 to 65,535 conditions");
    n_conditions += chain_size(c);
  }
  require(n_conditions == count.shape(0), "chains and conditions disagree");
  require_weights(count, "counts must be finite and not negative, and so must their sum");
  require(n_thresholds <= n_conditions, "more thresholds than conditions");
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::size_t c = 0; c < n_chains; ++c) require(passed(i, c) >= 0 && passed(i, c) <= chain_size(c), "a row passes more conditions than its chain has");
  }
}

// Takes one row of counts per row of the table, chains of conditions, and the requirements on a set. Costs are weights of rows. A cost of
// NaN means that no such set exists, or that none was found in time.
auto select_thresholds(IntMatrix passed, Ints label, Doubles weight, std::size_t n_classes, Ints chain_size, Doubles count, Ints state,
                       Ints feature, Ints per_feature, std::int32_t max_features, std::size_t n_thresholds, double ceiling,
                       MaxNodes max_nodes, double time_limit) {
  const std::size_t n_conditions = count.shape(0);
  check_selection(passed, label, weight, n_classes, chain_size, count, n_thresholds);
  require(n_conditions + chain_size.shape(0) <= most_slots, "an optimal selection takes at most 65,535 conditions and chains together");
  require(state.shape(0) == n_conditions && feature.shape(0) == n_conditions, "expected one state and feature per condition");
  require_all(state, is_below(3), "a state is out of range"), require_all(feature, is_below(per_feature.shape(0)), "a feature is out of range");
  require_all(per_feature, [](std::int32_t most) { return most >= 0; }, "caps must not be negative");
  require(max_features >= 0, "caps must not be negative");
  require(is_number(ceiling), "the ceiling must be a number");
  Stop stop(time_limit);
  SelectionResult result;
  double unit = 1;
  {
    nb::gil_scoped_release no_gil;
    stop.look_up_with(look_for_signals);
    const SelectionRows rows = selection_rows(passed.data(), label.data(), weight.data(), passed.shape(0),
                                              {chain_size.data(), chain_size.data() + chain_size.shape(0)}, n_classes);
    SelectionRules rules;
    rules.feature.assign(feature.data(), feature.data() + n_conditions);
    rules.per_feature.assign(per_feature.data(), per_feature.data() + per_feature.shape(0));
    rules.max_features = max_features;
    rules.count = whole_counts(count.data(), n_conditions);
    unit = rows.unit;
    const double most = std::clamp(std::floor(ceiling * unit), -1.0, static_cast<double>(rows.total));
    result = SelectionSearch(rows, rules, stop)
                 .run(decided_from(rules, state.data()), n_thresholds, static_cast<std::int64_t>(most), max_nodes.value_or(unlimited));
  }
  const double cost = result.found ? static_cast<double>(result.best.cost) / unit : std::numeric_limits<double>::quiet_NaN();
  return std::make_tuple(to_numpy(std::move(result.best.chosen)), cost, static_cast<double>(result.bound) / unit, result.optimal,
                         result.nodes);
}

// The conditions in the order in which plain greedy takes them.
auto greedy_thresholds(IntMatrix passed, Ints label, Doubles weight, std::size_t n_classes, Ints chain_size, Doubles count,
                       std::size_t n_thresholds) {
  check_selection(passed, label, weight, n_classes, chain_size, count, n_thresholds);
  std::vector<std::int32_t> order;
  {
    nb::gil_scoped_release no_gil;
    const SelectionRows rows = selection_rows(passed.data(), label.data(), weight.data(), passed.shape(0),
                                              {chain_size.data(), chain_size.data() + chain_size.shape(0)}, n_classes);
    const SelectionRules rules = no_rules(whole_counts(count.data(), count.shape(0)));
    order = greedy_order(rows, rules, nothing_decided(rules), n_thresholds);
  }
  return to_numpy(std::move(order));
}

void widen(Matrix rows, const CellArrays& cells, MutableDoubles smallest, MutableDoubles largest) {
  require(smallest.data() == cells.cells.smallest && largest.data() == cells.cells.largest, "not the arrays of these cells");
  cells.check(rows);
  nb::gil_scoped_release no_gil;
  widen_cells(rows.data(), rows.shape(0), cells.cells, smallest.data(), largest.data());
}

void find_cells(Matrix rows, const CellArrays& arrays, MutableInts out) {
  const Cells& cells = arrays.cells;
  const std::size_t m = cells.n_features;
  require(out.shape(1) == m && out.shape(0) == rows.shape(0), "rows and out disagree");
  arrays.check(rows);
  nb::gil_scoped_release no_gil;
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    for (std::size_t j = 0; j < m; ++j) out.data()[i * m + j] = static_cast<std::int32_t>(cells.cell_of(j, rows.data()[i * m + j]));
  }
}

}  // namespace
}  // namespace fcca

namespace nb = nanobind;

NB_MODULE(_core, m) {
  m.doc() = "The searches of fcca, as functions of arrays.";
  nb::class_<fcca::CellArrays>(m, "Cells")
      .def(nb::init<fcca::Longs, fcca::Doubles, fcca::Doubles, fcca::Doubles, fcca::Doubles, fcca::Doubles, std::optional<fcca::FlatBytes>,
                    std::optional<fcca::FlatBytes>, std::optional<fcca::Longs>, std::optional<fcca::Ints>, std::optional<fcca::Doubles>, double,
                    std::optional<fcca::Longs>, std::optional<fcca::Doubles>, std::optional<fcca::Doubles>>(),
           nb::arg("first_cut"), nb::arg("cuts"), nb::arg("smallest"), nb::arg("largest"), nb::arg("box_low"), nb::arg("box_high"),
           nb::arg("closed").none(), nb::arg("kinds").none(), nb::arg("first_code").none(), nb::arg("code_cell").none(),
           nb::arg("unit").none() = nb::none(), nb::arg("unordered") = 1.0, nb::arg("first_knot").none() = nb::none(),
           nb::arg("knot").none() = nb::none(), nb::arg("rank").none() = nb::none());
  nb::class_<fcca::LimitArrays>(m, "Limits")
      .def(nb::init<std::optional<fcca::Matrix>, std::optional<fcca::Matrix>, std::optional<fcca::Bytes>, std::optional<fcca::Doubles>,
                    std::optional<fcca::Doubles>, std::optional<fcca::Doubles>, std::optional<fcca::FlatBytes>, std::optional<fcca::Doubles>,
                    std::optional<fcca::Longs>, std::optional<fcca::Doubles>, std::optional<fcca::Ints>, std::int32_t, fcca::Longs, fcca::Ints,
                    fcca::Doubles, fcca::Doubles, fcca::Ints, fcca::FlatBytes, fcca::Ints, fcca::FlatBytes>(),
           nb::arg("low").none(), nb::arg("high").none(), nb::arg("frozen").none(), nb::arg("step").none(), nb::arg("origin").none(),
           nb::arg("weight").none(), nb::arg("fillable").none(), nb::arg("fill_near").none(), nb::arg("first_entry").none(),
           nb::arg("entry_factor").none(), nb::arg("entry_code").none(), nb::arg("max_changes"), nb::arg("first_term"), nb::arg("term_feature"),
           nb::arg("term_coef"), nb::arg("upper"), nb::arg("if_feature"), nb::arg("if_rises"), nb::arg("then_feature"), nb::arg("then_rises"));
  m.def("solve_additive", &fcca::solve_additive, nb::arg("rows"), nb::arg("points"), nb::arg("own_class"), nb::arg("target"),
        nb::arg("margin"), nb::arg("cells"), nb::arg("limits"), nb::arg("values"), nb::arg("base"), nb::arg("lambda0"), nb::arg("lambda1"),
        nb::arg("lambda2"), nb::arg("n_threads"), nb::arg("time_limit"), nb::arg("time_limit_per_row"), nb::arg("progress").none());
  m.def("solve_linear", &fcca::solve_linear, nb::arg("rows"), nb::arg("points"), nb::arg("own_class"), nb::arg("target"),
        nb::arg("margin"), nb::arg("limits"), nb::arg("coef"), nb::arg("centre"), nb::arg("intercept"),
        nb::arg("box_low"), nb::arg("box_high"), nb::arg("unit"), nb::arg("lambda0"), nb::arg("lambda1"),
        nb::arg("lambda2"), nb::arg("n_threads"), nb::arg("time_limit"), nb::arg("time_limit_per_row"), nb::arg("progress").none());
  m.def("solve_ensemble", &fcca::solve_ensemble, nb::arg("rows"), nb::arg("points"), nb::arg("own_class"), nb::arg("target"),
        nb::arg("margin"), nb::arg("cells"), nb::arg("limits"), nb::arg("roots"), nb::arg("feature"), nb::arg("cut"), nb::arg("left"),
        nb::arg("right"), nb::arg("values"), nb::arg("base"), nb::arg("side_least"), nb::arg("examples"), nb::arg("lambda0"), nb::arg("lambda1"),
        nb::arg("lambda2"), nb::arg("relative_gap"), nb::arg("n_threads"), nb::arg("time_limit"), nb::arg("time_limit_per_row"),
        nb::arg("progress").none(), nb::arg("first_left") = nb::none(), nb::arg("left_cells") = nb::none());
  m.def("solve_tree", &fcca::solve_tree, nb::arg("table"), nb::arg("label").none(), nb::arg("weight"), nb::arg("count").none(),
        nb::arg("n_classes"), nb::arg("criterion"), nb::arg("penalty"), nb::arg("max_depth"), nb::arg("max_leaves").none(),
        nb::arg("min_weight"), nb::arg("min_rows"), nb::arg("max_nodes").none(), nb::arg("time_limit"), nb::arg("units") = 1.0);
  m.def("solve_raw_tree", &fcca::solve_raw_tree, nb::arg("rank"), nb::arg("label").none(), nb::arg("weight"), nb::arg("count").none(),
        nb::arg("n_classes"), nb::arg("criterion"), nb::arg("penalty"), nb::arg("max_depth"), nb::arg("max_leaves").none(),
        nb::arg("min_weight"), nb::arg("min_rows"), nb::arg("max_nodes").none(), nb::arg("time_limit"), nb::arg("units") = 1.0);
  m.def("select_thresholds", &fcca::select_thresholds, nb::arg("passed"), nb::arg("label"), nb::arg("weight"), nb::arg("n_classes"),
        nb::arg("chain_size"), nb::arg("count"), nb::arg("state"), nb::arg("feature"), nb::arg("per_feature"), nb::arg("max_features"),
        nb::arg("n_thresholds"), nb::arg("ceiling"), nb::arg("max_nodes").none(), nb::arg("time_limit"));
  m.def("greedy_thresholds", &fcca::greedy_thresholds, nb::arg("passed"), nb::arg("label"), nb::arg("weight"), nb::arg("n_classes"),
        nb::arg("chain_size"), nb::arg("count"), nb::arg("n_thresholds"));
  m.def("score_additive", &fcca::score_additive, nb::arg("rows"), nb::arg("cells"), nb::arg("values"), nb::arg("base"), nb::arg("out").noconvert());
  m.def("score_trees", &fcca::score_trees, nb::arg("rows"), nb::arg("roots"), nb::arg("feature"), nb::arg("threshold"),
        nb::arg("left"), nb::arg("right"), nb::arg("missing_left").none(), nb::arg("first_code").none(), nb::arg("n_codes").none(),
        nb::arg("left_codes").none(), nb::arg("value"), nb::arg("base"), nb::arg("part_size"), nb::arg("part_divisor"),
        nb::arg("part_weight"), nb::arg("nested"), nb::arg("divisor"), nb::arg("single_precision"), nb::arg("out").noconvert());
  m.def("find_cells", &fcca::find_cells, nb::arg("rows"), nb::arg("cells"), nb::arg("out").noconvert());
  m.def("widen_cells", &fcca::widen, nb::arg("rows"), nb::arg("cells"), nb::arg("smallest").noconvert(), nb::arg("largest").noconvert());
}
