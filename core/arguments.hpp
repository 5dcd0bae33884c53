// Conversion of the arrays from Python to the structs of the searches, and of the results to arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "cells.hpp"
#include "limits.hpp"
#include "outcome.hpp"
#include "query.hpp"

namespace fcca {

namespace nb = nanobind;

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FlatBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IntMatrix = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableInts = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using MutableDoubles = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

template <class T>
auto to_numpy(std::vector<T>&& values) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owner->data();
  const std::size_t size = owner->size();
  nb::capsule capsule(owner.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owner.release();  // the capsule owns it from here on
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, capsule);
}

template <class Array, class Condition>
void require_all(const Array& values, Condition condition, const char* message) {
  require(std::all_of(values.data(), values.data() + values.size(), condition), message);
}
template <class Array, class Condition>
void require_all(const std::optional<Array>& values, Condition condition, const char* message) {
  if (values) require_all(*values, condition, message);
}

inline bool is_finite(double x) { return std::isfinite(x); }
inline bool is_number(double x) { return !std::isnan(x); }
inline bool is_unit(double x) { return x > 0 && x <= std::numeric_limits<double>::max(); }
inline bool is_weight(double x) { return x >= 0 && x <= std::numeric_limits<double>::max(); }
inline auto is_below(std::size_t n) {
  return [n](std::int64_t i) { return i >= 0 && static_cast<std::size_t>(i) < n; };
}

// Checks that weights and their sum are finite and not negative.
inline void require_weights(const Doubles& weight, const char* message) {
  require_all(weight, is_weight, message);
  require(is_finite(std::accumulate(weight.data(), weight.data() + weight.shape(0), 0.0)), message);
}

// Checks the number of classes. Labels are 32-bit numbers, so 2³¹ classes or more are not possible.
inline void require_classes(std::size_t n_classes) {
  require(n_classes > 0 && n_classes <= std::numeric_limits<std::int32_t>::max(), "the number of classes is out of range");
}

inline void require_labels(const Ints& label, std::size_t n_classes) {
  require_classes(n_classes);
  require_all(label, is_below(n_classes), "a label is out of range");
}

// Checks offsets into an array of the given number of entries.
inline void require_offsets(const Longs& offsets, std::size_t size, const char* message) {
  require(offsets.shape(0) > 0 && offsets(0) == 0, message);
  for (std::size_t i = 1; i < offsets.shape(0); ++i) require(offsets(i) >= offsets(i - 1), message);
  require(static_cast<std::size_t>(offsets(offsets.shape(0) - 1)) == size, message);
}

// Keeps the arrays that its cells point into.
class CellArrays {
 public:
  CellArrays(Longs first_cut, Doubles cuts, Doubles smallest, Doubles largest, Doubles box_low, Doubles box_high,
             std::optional<FlatBytes> closed, std::optional<FlatBytes> kinds, std::optional<Longs> first_code, std::optional<Ints> code_cell,
             std::optional<Doubles> unit, double unordered, std::optional<Longs> first_knot, std::optional<Doubles> knot, std::optional<Doubles> rank)
      : first_cut_(first_cut), cuts_(cuts), smallest_(smallest), largest_(largest), box_low_(box_low), box_high_(box_high), closed_(closed), kinds_(kinds),
        first_code_(first_code), code_cell_(code_cell), unit_(unit), first_knot_(first_knot), knot_(knot), rank_(rank) {
    const std::size_t m = box_low.shape(0);
    require(first_cut.shape(0) == m + 1 && box_high.shape(0) == m, "first_cut, box_low and box_high disagree");
    require_offsets(first_cut, cuts.shape(0), "first_cut and cuts disagree");
    require(smallest.shape(0) == cuts.shape(0) + m && largest.shape(0) == smallest.shape(0), "cuts and cells disagree");
    require(cuts.shape(0) < std::numeric_limits<std::int32_t>::max() - m, "more cells than can be numbered");
    require_all(cuts, is_number, "a cut must be a number");
    require(!kinds || (first_code && code_cell), "kinds without codes");
    cells = {m, first_cut.data(), cuts.data(), smallest.data(), largest.data(), {box_low.data(), box_high.data()}};
    require(!closed || closed->shape(0) == smallest.shape(0), "closed and cells disagree");
    require_all(closed, [](std::uint8_t entry) { return entry <= special_value; }, "closed is out of range");
    if (closed) cells.closed = closed->data();
    set_distances(unordered);
    if (!kinds) return;
    require(kinds->shape(0) == m && first_code->shape(0) == m + 1, "kinds and features disagree");
    require_all(*kinds, [](std::uint8_t kind) { return kind <= categories; }, "a kind is out of range");
    require_offsets(*first_code, code_cell->shape(0), "first_code and code_cell disagree");
    for (std::size_t j = 0; j < m; ++j) {
      for (std::int64_t code = (*first_code)(j); code < (*first_code)(j + 1); ++code) {
        require((*code_cell)(code) >= 0 && (*code_cell)(code) <= cells.n_cuts(j), "the cell of a code is out of range");
      }
    }
    cells.kinds = kinds->data(), cells.first_code = first_code->data(), cells.code_cell = code_cell->data();
    for (std::size_t j = 0; j < m; ++j) require(cells.kind(j) != numbers_with_missing || cells.n_cuts(j) > 0, "a column with missing values has no cell for them");
  }

  // Every category code must have a cell.
  void check(const Matrix& rows) const {
    require(rows.shape(1) == cells.n_features, "rows and cells have different numbers of features");
    if (cells.kinds == nullptr) return;
    for (std::size_t j = 0; j < cells.n_features; ++j) {
      if (cells.kind(j) != categories) continue;
      const double n_codes = static_cast<double>(cells.first_code[j + 1] - cells.first_code[j]);
      for (std::size_t i = 0; i < rows.shape(0); ++i) require(rows(i, j) >= 0 && rows(i, j) < n_codes, "a category code is out of range");
    }
  }

  Cells cells;

 private:
  void set_distances(double unordered) {
    const std::size_t m = cells.n_features;
    require(is_finite(unordered) && unordered > 0, "unordered must be a number above 0");
    cells.distances.unordered = unordered;
    if (unit_) {
      require(unit_->shape(0) == m, "unit and features disagree");
      require_all(*unit_, is_unit, "a unit must be a number above 0");
      cells.distances.unit = unit_->data();
    } else {
      for (std::size_t j = 0; j < m; ++j) ranges_.push_back(cells.box.range(j));
      cells.distances.unit = ranges_.data();
    }
    if (!first_knot_) return;
    require(knot_ && rank_ && first_knot_->shape(0) == m + 1 && rank_->shape(0) == knot_->shape(0), "first_knot, knot and rank disagree");
    require_offsets(*first_knot_, knot_->shape(0), "first_knot and knot disagree");
    require_all(*knot_, is_finite, "a knot must be finite"), require_all(*rank_, is_finite, "a rank must be finite");
    for (std::size_t j = 0; j < m; ++j) {
      for (std::int64_t k = (*first_knot_)(j) + 1; k < (*first_knot_)(j + 1); ++k) {
        require((*knot_)(k) > (*knot_)(k - 1) && (*rank_)(k) >= (*rank_)(k - 1), "knots must rise, and ranks must not fall");
      }
    }
    cells.distances.first_knot = first_knot_->data(), cells.distances.knot = knot_->data(), cells.distances.rank = rank_->data();
  }

  Longs first_cut_;
  Doubles cuts_, smallest_, largest_, box_low_, box_high_;
  std::optional<FlatBytes> closed_, kinds_;
  std::optional<Longs> first_code_;
  std::optional<Ints> code_cell_;
  std::optional<Doubles> unit_;
  std::optional<Longs> first_knot_;
  std::optional<Doubles> knot_, rank_;
  std::vector<double> ranges_;  // the units, if none are given
};

// Keeps the arrays that its limits point into.
class LimitArrays {
 public:
  LimitArrays(std::optional<Matrix> low, std::optional<Matrix> high, std::optional<Bytes> frozen, std::optional<Doubles> step,
              std::optional<Doubles> origin, std::optional<Doubles> weight, std::optional<FlatBytes> fillable, std::optional<Doubles> fill_near,
              std::optional<Longs> first_entry, std::optional<Doubles> entry_factor, std::optional<Ints> entry_code, std::int32_t max_changes,
              Longs first_term, Ints term_feature, Doubles term_coef, Doubles upper, Ints if_feature, FlatBytes if_rises, Ints then_feature,
              FlatBytes then_rises)
      : low_(low), high_(high), frozen_(frozen), step_(step), origin_(origin), weight_(weight), fillable_(fillable), fill_near_(fill_near),
        first_entry_(first_entry), entry_factor_(entry_factor), entry_code_(entry_code), first_term_(first_term), term_feature_(term_feature),
        term_coef_(term_coef), upper_(upper), if_feature_(if_feature), if_rises_(if_rises), then_feature_(then_feature), then_rises_(then_rises) {
    auto data = [](const auto& array) { return array ? array->data() : nullptr; };
    limits.low = data(low), limits.high = data(high), limits.frozen = data(frozen);
    limits.step = data(step), limits.origin = data(origin), limits.weight = data(weight);
    limits.fillable = data(fillable), limits.fill_near = data(fill_near);
    limits.first_entry = data(first_entry), limits.entry_factor = data(entry_factor), limits.entry_code = data(entry_code);
    limits.max_changes = max_changes;
    limits.linear = {upper.shape(0), first_term.data(), term_feature.data(), term_coef.data(), upper.data()};
    limits.implications = {if_feature.shape(0), if_feature.data(), if_rises.data(), then_feature.data(), then_rises.data()};
  }

  void check(const Cells& cells, std::size_t n_points) const {
    const std::size_t m = cells.n_features;
    auto per_point = [&](const auto& array) { return !array || (array->shape(0) == n_points && array->shape(1) == m); };
    auto per_feature = [&](const auto& array) { return !array || array->shape(0) == m; };
    require(per_point(low_) && per_point(high_) && per_point(frozen_), "expected one line of bounds and of frozen features per point");
    require(per_feature(step_) && per_feature(origin_) && per_feature(weight_) && per_feature(fillable_) && per_feature(fill_near_),
            "expected one step, origin, weight and filling per feature");
    require(low_.has_value() == high_.has_value() && step_.has_value() == origin_.has_value() && (fill_near_ || !fillable_), "a rule lacks a part");
    const std::uint8_t* closed = cells.closed;
    require(fill_near_ || closed == nullptr || std::find(closed, closed + cells.n_cells(), special_value) == closed + cells.n_cells(),
            "special values without values to replace them");
    require_all(low_, is_number, "a bound must be a number");
    require_all(high_, is_number, "a bound must be a number");
    require_all(step_, is_weight, "a step must be finite and not negative");
    require_all(origin_, is_finite, "an origin must be finite");
    require_all(weight_, is_weight, "a weight must be finite and not negative");
    require_all(entry_factor_, [](double factor) { return factor >= 0; }, "a factor must not be negative");
    require(limits.max_changes >= 0, "max_changes must not be negative");
    if (first_entry_) {
      require_all(*first_entry_, [](std::int64_t at) { return at >= 0; }, "first_entry is out of range");
    }
    for (std::size_t j = 0; j < m; ++j) {
      if (cells.kind(j) != categories) continue;
      require(first_entry_ && entry_factor_ && entry_code_ && first_entry_->shape(0) == m + 1, "categories without entries");
      const std::int64_t n_codes = cells.first_code[j + 1] - cells.first_code[j], n_cells = cells.n_cuts(j) + 1;
      require((*first_entry_)(j + 1) - (*first_entry_)(j) == n_codes * n_cells, "entries and categories disagree");
      require((*first_entry_)(j + 1) <= static_cast<std::int64_t>(std::min(entry_factor_->shape(0), entry_code_->shape(0))), "entries are missing");
    }
    require(first_term_.shape(0) == upper_.shape(0) + 1 && term_feature_.shape(0) == term_coef_.shape(0), "linear rules disagree");
    require_offsets(first_term_, term_feature_.shape(0), "linear rules disagree");
    require_all(term_coef_, is_finite, "a coefficient must be finite");
    require_all(upper_, is_number, "a limit must be a number");
    require(if_rises_.shape(0) == if_feature_.shape(0) && then_feature_.shape(0) == if_feature_.shape(0) && then_rises_.shape(0) == if_feature_.shape(0),
            "implications disagree");
    for (const Ints* features : {&term_feature_, &if_feature_, &then_feature_}) {
      require_all(*features, is_below(m), "the feature of a rule is out of range");
    }
  }

  Limits limits;

 private:
  std::optional<Matrix> low_, high_;
  std::optional<Bytes> frozen_;
  std::optional<Doubles> step_, origin_, weight_;
  std::optional<FlatBytes> fillable_;
  std::optional<Doubles> fill_near_;
  std::optional<Longs> first_entry_;
  std::optional<Doubles> entry_factor_;
  std::optional<Ints> entry_code_;
  Longs first_term_;
  Ints term_feature_;
  Doubles term_coef_, upper_;
  Ints if_feature_;
  FlatBytes if_rises_;
  Ints then_feature_;
  FlatBytes then_rises_;
};

// Rows, and the queries about them.
struct Questions {
  const Matrix& rows;
  const Longs& points;
  const Ints& own_class;
  const Ints& target;
  const Doubles& margin;
  const Limits& limits;

  std::size_t size() const { return points.shape(0); }
  void check(std::size_t n_features, std::size_t n_classes) const {
    require(rows.shape(1) == n_features, "rows and model have different numbers of features");
    require(own_class.shape(0) == size() && target.shape(0) == size() && margin.shape(0) == size(),
            "expected one class, target and margin per point");
    require_all(points, is_below(rows.shape(0)), "a point is out of range");
    require_all(own_class, is_below(n_classes), "a class is out of range");
    require_all(target, [&](std::int32_t k) { return k == any_other_class || is_below(n_classes)(k); }, "a target is out of range");
    require_all(margin, is_number, "a margin must be a number");
  }
  Query operator[](std::size_t point) const {
    const std::size_t m = rows.shape(1);
    auto line = [&](auto* table) { return table == nullptr ? nullptr : table + point * m; };
    return {rows.data() + points(point) * static_cast<std::int64_t>(m), own_class(point), target(point), margin(point),
            line(limits.frozen), line(limits.low), line(limits.high)};
  }
};

// Whether all children come after their parents, and all children, roots and features are in range. Then every walk ends at a leaf. This
// check is fast, and most trees pass it.
inline bool are_in_order(const Longs& roots, const Ints& feature, const Ints& left, const Ints& right, std::size_t n_features) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (feature.shape(0) > most || !std::all_of(roots.data(), roots.data() + roots.shape(0), is_below(feature.shape(0)))) return false;
  const std::int32_t n_nodes = static_cast<std::int32_t>(feature.shape(0)), m = static_cast<std::int32_t>(std::min(n_features, most));
  const std::int32_t *f = feature.data(), *l = left.data(), *r = right.data();
  std::int32_t wrong = 0;
  for (std::int32_t node = 0; node < n_nodes; ++node) {  // no branches, so that it runs in vectors
    wrong |= (f[node] >= 0) & ((f[node] >= m) | (l[node] <= node) | (l[node] >= n_nodes) | (r[node] <= node) | (r[node] >= n_nodes));
  }
  return wrong == 0;
}

// Checks the nodes of all trees: roots, children and features must be in range, and a node must be the root of one tree or the child of
// one node. So a walk that starts from a root never reaches a node twice.
inline void require_nodes(const Longs& roots, const Ints& feature, const Ints& left, const Ints& right, std::size_t n_features) {
  const std::size_t n_nodes = feature.shape(0);
  require(left.shape(0) == n_nodes && right.shape(0) == n_nodes, "the nodes' arrays disagree");
  require(n_nodes <= std::numeric_limits<std::int32_t>::max(), "more nodes than can be numbered");
  std::vector<bool> is_reached(n_nodes);
  auto reach = [&](std::int64_t node, const char* message) {
    require(is_below(n_nodes)(node), message);
    require(!is_reached[node], "a node has two parents");
    is_reached[node] = true;
  };
  for (std::size_t tree = 0; tree < roots.shape(0); ++tree) reach(roots(tree), "a root is out of range");
  for (std::size_t node = 0; node < n_nodes; ++node) {
    if (feature(node) < 0) continue;
    require(is_below(n_features)(feature(node)), "the feature of a node is out of range");
    reach(left(node), "a child is out of range"), reach(right(node), "a child is out of range");
  }
}

// Limits on threads and time.
struct Effort {
  std::size_t n_threads;
  double time_limit;            // seconds for all points
  double time_limit_per_row;  // seconds for each point
};

inline Cost checked_cost(double lambda0, double lambda1, double lambda2) {
  require(is_weight(lambda0) && is_weight(lambda1) && is_weight(lambda2), "lambda0, lambda1 and lambda2 must be finite and not negative");
  return {lambda0, lambda1, lambda2};
}

// The outcomes of all points, in the order of the points.
struct Results {
  Results(std::size_t n, std::size_t points_per_chunk)
      : cost(n, std::numeric_limits<double>::infinity()), bound(n, 0.0), seconds(n, 0.0),
        status(n, static_cast<std::int8_t>(Status::unknown)), target(n, -1), nodes(n, 0), n_moves(n, 0),
        moves(n / points_per_chunk + (n % points_per_chunk != 0)) {}

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

}  // namespace fcca
