// Arrays in, arrays out.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "additive.hpp"
#include "cells.hpp"
#include "ensemble_search.hpp"
#include "fixed_charge.hpp"
#include "optimal_tree.hpp"
#include "parallel.hpp"
#include "tree_scores.hpp"

namespace nb = nanobind;

namespace fcca {
namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MaybeBytes = std::optional<Bytes>;
using IntMatrix = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableInts = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableDoubles = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::size_t many_points = 128;  // per chunk, where a point takes microseconds

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class T>
auto to_numpy(std::vector<T>&& values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owner->data();
  const std::size_t size = owner->size();
  nb::capsule capsule(owner.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, capsule);
}

Cells cells_of(const Longs& first_cut, const Doubles& cuts, const double* smallest, const double* largest,
               std::size_t n_cells, const Doubles& box_low, const Doubles& box_high) {
  const std::size_t m = box_low.shape(0);
  require(first_cut.shape(0) == m + 1 && box_high.shape(0) == m, "first_cut, box_low and box_high disagree");
  require(static_cast<std::size_t>(first_cut(m)) == cuts.shape(0) && n_cells == cuts.shape(0) + m, "cuts and cells disagree");
  return {m, first_cut.data(), cuts.data(), smallest, largest, {box_low.data(), box_high.data()}};
}

// What is asked, about which rows.
struct Questions {
  const Matrix& rows;
  const Longs& points;
  const Ints& own_class;
  const Ints& target;
  const Doubles& margin;
  const MaybeBytes& frozen;

  std::size_t size() const { return points.shape(0); }
  void check(std::size_t n_features) const {
    require(rows.shape(1) == n_features, "rows have another number of features than the model");
    require(own_class.shape(0) == size() && target.shape(0) == size() && margin.shape(0) == size(),
            "one class, target and margin per point");
    require(!frozen || (frozen->shape(0) == size() && frozen->shape(1) == n_features), "one line of frozen features per point");
  }
  Query operator[](std::size_t point) const {
    return {rows.data() + points(point) * static_cast<std::int64_t>(rows.shape(1)), own_class(point), target(point), margin(point),
            frozen ? frozen->data() + point * rows.shape(1) : nullptr};
  }
};

// How much may be spent on it.
struct Effort {
  std::size_t n_threads;
  double time_limit;            // seconds for all points
  double time_limit_per_point;  // seconds for each
};

// What the searches of all points found, in the order of the points.
struct Results {
  Results(std::size_t n, std::size_t points_per_chunk)
      : cost(n, std::numeric_limits<double>::infinity()), bound(n, 0.0), seconds(n, 0.0),
        status(n, static_cast<std::int8_t>(Status::unknown)), target(n, -1), nodes(n, 0), n_moves(n, 0),
        moves((n + points_per_chunk - 1) / points_per_chunk) {}

  void put(std::size_t point, std::size_t chunk, const Outcome& outcome) {
    cost[point] = outcome.cost;
    bound[point] = outcome.bound;
    seconds[point] = outcome.seconds;
    status[point] = static_cast<std::int8_t>(outcome.status);
    target[point] = outcome.target;
    nodes[point] = outcome.nodes;
    n_moves[point] = static_cast<std::int64_t>(outcome.moves.size());
    moves[chunk].insert(moves[chunk].end(), outcome.moves.begin(), outcome.moves.end());
  }

  auto to_tuple() {
    std::vector<std::int64_t> first_move(cost.size() + 1, 0);
    for (std::size_t i = 0; i < cost.size(); ++i) first_move[i + 1] = first_move[i] + n_moves[i];
    std::vector<std::int32_t> feature;
    std::vector<double> landing, cut;
    feature.reserve(first_move.back()), landing.reserve(first_move.back()), cut.reserve(first_move.back());
    for (auto& chunk : moves) {
      for (const Move& move : chunk) feature.push_back(move.feature), landing.push_back(move.landing), cut.push_back(move.cut);
      std::vector<Move>().swap(chunk);
    }
    return std::make_tuple(to_numpy(std::move(cost)), to_numpy(std::move(bound)), to_numpy(std::move(status)),
                           to_numpy(std::move(target)), to_numpy(std::move(nodes)), to_numpy(std::move(first_move)),
                           to_numpy(std::move(feature)), to_numpy(std::move(landing)), to_numpy(std::move(cut)),
                           to_numpy(std::move(seconds)));
  }

  std::vector<double> cost, bound, seconds;
  std::vector<std::int8_t> status;
  std::vector<std::int32_t> target;
  std::vector<std::int64_t> nodes, n_moves;
  std::vector<std::vector<Move>> moves;  // by chunk
};

// make_search() makes one thread's search, and search.solve(query, stop) answers one point.
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
              const Stop point_stop(stop, effort.time_limit_per_point);
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

auto solve_additive(Matrix rows, Longs points, Ints own_class, Ints target, Doubles margin, MaybeBytes frozen, Longs first_cut,
                    Doubles cuts, Doubles smallest, Doubles largest, Doubles box_low, Doubles box_high, Matrix values,
                    Doubles base, double lambda0, double lambda1, double lambda2, std::size_t n_threads, double time_limit,
                    double time_limit_per_point, nb::object progress) {
  const AdditiveModel model{cells_of(first_cut, cuts, smallest.data(), largest.data(), smallest.shape(0), box_low, box_high),
                            base.shape(0), values.data(), base.data()};
  require(values.shape(0) == smallest.shape(0) && values.shape(1) == base.shape(0), "values and base disagree");
  const Questions questions{rows, points, own_class, target, margin, frozen};
  questions.check(model.cells.n_features);
  return solve_all(questions, {n_threads, time_limit, time_limit_per_point}, many_points, progress,
                   [&] { return AdditiveSearch(model, {lambda0, lambda1, lambda2}); });
}

auto solve_linear(Matrix rows, Longs points, Ints own_class, Ints target, Doubles margin, MaybeBytes frozen, Doubles coef,
                  Doubles centre, double intercept, Doubles box_low, Doubles box_high, double lambda0, double lambda1,
                  double lambda2, std::size_t n_threads, double time_limit, double time_limit_per_point, nb::object progress) {
  const LinearModel model{coef.shape(0), coef.data(), centre.data(), intercept, {box_low.data(), box_high.data()}};
  require(centre.shape(0) == model.n_features && box_low.shape(0) == model.n_features && box_high.shape(0) == model.n_features,
          "coef, centre and box disagree");
  const Questions questions{rows, points, own_class, target, margin, frozen};
  questions.check(model.n_features);
  return solve_all(questions, {n_threads, time_limit, time_limit_per_point}, many_points, progress,
                   [&] { return FixedChargeSearch(model, {lambda0, lambda1, lambda2}); });
}

auto solve_ensemble(Matrix rows, Longs points, Ints own_class, Ints target, Doubles margin, MaybeBytes frozen, Longs first_cut,
                    Doubles cuts, Doubles smallest, Doubles largest, Doubles box_low, Doubles box_high, Longs roots, Ints feature,
                    Ints cut, Ints left, Ints right, Matrix values, Doubles base, IntMatrix examples, double lambda0, double lambda1,
                    double lambda2, std::size_t n_threads, double time_limit, double time_limit_per_point, nb::object progress) {
  const Cells cells = cells_of(first_cut, cuts, smallest.data(), largest.data(), smallest.shape(0), box_low, box_high);
  const std::size_t n_nodes = feature.shape(0);
  require(cut.shape(0) == n_nodes && left.shape(0) == n_nodes && right.shape(0) == n_nodes && values.shape(0) == n_nodes,
          "the nodes' arrays disagree");
  require(values.shape(1) == base.shape(0), "values and base disagree");
  require(examples.shape(1) == cells.n_features, "examples have another number of features than the model");
  const Questions questions{rows, points, own_class, target, margin, frozen};
  questions.check(cells.n_features);
  const CellTrees trees{roots.shape(0), roots.data(), n_nodes, feature.data(), cut.data(), left.data(), right.data(), base.shape(0), values.data()};
  Examples example_cells;
  for (std::size_t i = 0; i < examples.shape(0); ++i) {
    const std::int32_t* first = examples.data() + i * cells.n_features;
    example_cells.emplace_back(first, first + cells.n_features);
  }
  const Ensemble ensemble = [&] {
    nb::gil_scoped_release no_gil;
    return Ensemble(trees, base.data(), cells);
  }();
  return solve_all(questions, {n_threads, time_limit, time_limit_per_point}, 1, progress,
                   [&] { return EnsembleSearch(ensemble, {lambda0, lambda1, lambda2}, example_cells); });
}

void score_additive(Matrix rows, Longs first_cut, Doubles cuts, Doubles box_low, Doubles box_high, Matrix values, Doubles base,
                    nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
  const AdditiveModel model{cells_of(first_cut, cuts, nullptr, nullptr, values.shape(0), box_low, box_high), base.shape(0),
                            values.data(), base.data()};
  require(rows.shape(1) == model.cells.n_features && out.shape(0) == rows.shape(0) && out.shape(1) == base.shape(0),
          "rows, model and out disagree");
  nb::gil_scoped_release no_gil;
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    model.score(rows.data() + i * rows.shape(1), out.data() + i * base.shape(0));
  }
}

using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Number>
void score_rows(const Trees& trees, const Parts& parts, const double* base, double divisor, const Matrix& rows, MutableMatrix& out) {
  std::vector<Number> sum(trees.n_outputs), part_sum(trees.n_outputs);
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    score_row<Number>(trees, parts, base, divisor, rows.data() + i * rows.shape(1), sum.data(), part_sum.data(),
                      out.data() + i * trees.n_outputs);
  }
}

void score_trees(Matrix rows, Longs roots, Ints feature, Doubles threshold, Ints left, Ints right, Matrix value, Doubles base,
                 Longs part_size, Doubles part_divisor, Doubles part_weight, bool nested, double divisor, bool single_precision,
                 MutableMatrix out) {
  const std::size_t n_nodes = feature.shape(0);
  require(threshold.shape(0) == n_nodes && left.shape(0) == n_nodes && right.shape(0) == n_nodes && value.shape(0) == n_nodes,
          "the nodes' arrays disagree");
  require(value.shape(1) == base.shape(0) && out.shape(1) == base.shape(0) && out.shape(0) == rows.shape(0),
          "value, base and out disagree");
  require(part_size.shape(0) == part_divisor.shape(0) && part_size.shape(0) == part_weight.shape(0), "the parts disagree");
  std::int64_t n_trees = 0;
  for (std::size_t part = 0; part < part_size.shape(0); ++part) n_trees += part_size(part);
  require(n_trees == static_cast<std::int64_t>(roots.shape(0)), "the parts do not add up to the trees");
  const Trees trees{roots.shape(0), roots.data(), feature.data(), threshold.data(), left.data(), right.data(), base.shape(0), value.data()};
  const Parts parts{part_size.shape(0), part_size.data(), part_divisor.data(), part_weight.data(), nested};
  nb::gil_scoped_release no_gil;
  if (single_precision) {
    score_rows<float>(trees, parts, base.data(), divisor, rows, out);
  } else {
    score_rows<double>(trees, parts, base.data(), divisor, rows, out);
  }
}

auto solve_tree(Bytes table, Ints label, Doubles weight, std::size_t n_classes, double penalty, std::int32_t max_depth,
                double time_limit) {
  require(label.shape(0) == table.shape(0) && weight.shape(0) == table.shape(0), "one label and weight per row");
  Stop stop(time_limit);
  TreeAnswer answer;
  auto look_up = [] {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  {
    nb::gil_scoped_release no_gil;
    stop.look_up_with(look_up);
    answer = optimal_tree(table.data(), label.data(), weight.data(), table.shape(0), table.shape(1), n_classes, penalty, max_depth,
                          stop);
  }
  std::vector<std::int32_t> column, left, right;
  for (const TreeNode& node : answer.tree) column.push_back(node.column), left.push_back(node.left), right.push_back(node.right);
  return std::make_tuple(answer.cost, answer.bound, answer.optimal, answer.nodes, to_numpy(std::move(column)),
                         to_numpy(std::move(left)), to_numpy(std::move(right)));
}

void widen(Matrix rows, Longs first_cut, Doubles cuts, Doubles box_low, Doubles box_high, MutableDoubles smallest,
           MutableDoubles largest) {
  const Cells cells = cells_of(first_cut, cuts, smallest.data(), largest.data(), smallest.shape(0), box_low, box_high);
  require(rows.shape(1) == cells.n_features && largest.shape(0) == smallest.shape(0), "rows and cells disagree");
  nb::gil_scoped_release no_gil;
  widen_cells(rows.data(), rows.shape(0), cells, smallest.data(), largest.data());
}

void find_cells(Matrix rows, Longs first_cut, Doubles cuts, MutableInts out) {
  const std::size_t m = first_cut.shape(0) - 1;
  require(rows.shape(1) == m && out.shape(1) == m && out.shape(0) == rows.shape(0), "rows, cells and out disagree");
  require(static_cast<std::size_t>(first_cut(m)) == cuts.shape(0), "first_cut and cuts disagree");
  const Cells cells{m, first_cut.data(), cuts.data(), nullptr, nullptr, {nullptr, nullptr}};
  nb::gil_scoped_release no_gil;
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    for (std::size_t j = 0; j < m; ++j) out.data()[i * m + j] = static_cast<std::int32_t>(cells.cell_of(j, rows.data()[i * m + j]));
  }
}

}  // namespace
}  // namespace fcca

NB_MODULE(_core, m) {
  m.doc() = "The searches of fcca: arrays in, arrays out.";
  m.def("solve_additive", &fcca::solve_additive, nb::arg("rows"), nb::arg("points"), nb::arg("own_class"), nb::arg("target"),
        nb::arg("margin"), nb::arg("frozen").none(), nb::arg("first_cut"), nb::arg("cuts"), nb::arg("smallest"),
        nb::arg("largest"), nb::arg("box_low"), nb::arg("box_high"), nb::arg("values"), nb::arg("base"), nb::arg("lambda0"), nb::arg("lambda1"),
        nb::arg("lambda2"), nb::arg("n_threads"), nb::arg("time_limit"), nb::arg("time_limit_per_point"), nb::arg("progress").none());
  m.def("solve_linear", &fcca::solve_linear, nb::arg("rows"), nb::arg("points"), nb::arg("own_class"), nb::arg("target"),
        nb::arg("margin"), nb::arg("frozen").none(), nb::arg("coef"), nb::arg("centre"), nb::arg("intercept"),
        nb::arg("box_low"), nb::arg("box_high"), nb::arg("lambda0"), nb::arg("lambda1"),
        nb::arg("lambda2"), nb::arg("n_threads"), nb::arg("time_limit"), nb::arg("time_limit_per_point"), nb::arg("progress").none());
  m.def("solve_ensemble", &fcca::solve_ensemble, nb::arg("rows"), nb::arg("points"), nb::arg("own_class"), nb::arg("target"),
        nb::arg("margin"), nb::arg("frozen").none(), nb::arg("first_cut"), nb::arg("cuts"), nb::arg("smallest"),
        nb::arg("largest"), nb::arg("box_low"), nb::arg("box_high"), nb::arg("roots"), nb::arg("feature"), nb::arg("cut"), nb::arg("left"),
        nb::arg("right"), nb::arg("values"), nb::arg("base"), nb::arg("examples"), nb::arg("lambda0"), nb::arg("lambda1"),
        nb::arg("lambda2"), nb::arg("n_threads"), nb::arg("time_limit"), nb::arg("time_limit_per_point"), nb::arg("progress").none());
  m.def("solve_tree", &fcca::solve_tree, nb::arg("table"), nb::arg("label"), nb::arg("weight"), nb::arg("n_classes"),
        nb::arg("penalty"), nb::arg("max_depth"), nb::arg("time_limit"));
  m.def("score_additive", &fcca::score_additive, nb::arg("rows"), nb::arg("first_cut"), nb::arg("cuts"), nb::arg("box_low"),
        nb::arg("box_high"), nb::arg("values"), nb::arg("base"), nb::arg("out"));
  m.def("score_trees", &fcca::score_trees, nb::arg("rows"), nb::arg("roots"), nb::arg("feature"), nb::arg("threshold"),
        nb::arg("left"), nb::arg("right"), nb::arg("value"), nb::arg("base"), nb::arg("part_size"), nb::arg("part_divisor"),
        nb::arg("part_weight"), nb::arg("nested"), nb::arg("divisor"), nb::arg("single_precision"), nb::arg("out"));
  m.def("find_cells", &fcca::find_cells, nb::arg("rows"), nb::arg("first_cut"), nb::arg("cuts"), nb::arg("out"));
  m.def("widen_cells", &fcca::widen, nb::arg("rows"), nb::arg("first_cut"), nb::arg("cuts"), nb::arg("box_low"),
        nb::arg("box_high"), nb::arg("smallest"), nb::arg("largest"));
}
