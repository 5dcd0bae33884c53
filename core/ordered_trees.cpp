#include "ordered_trees.hpp"

#include <algorithm>
#include <stdexcept>

namespace fcca {

namespace {

constexpr std::size_t most_nodes = 2'000'000;  // half a gigabyte, including the tables of the search
constexpr std::int32_t deepest = 20'000;       // needs a stack of a few megabytes

class Rewriter {
 public:
  Rewriter(const SetTrees& trees, std::size_t n_features, const std::int64_t* n_cells) : trees_(trees), low_(n_features, 0), high_(n_features) {
    for (std::size_t j = 0; j < n_features; ++j) high_[j] = static_cast<std::int32_t>(n_cells[j]) - 1;
  }

  OrderedTrees run() {
    for (std::size_t tree = 0; tree < trees_.n_trees; ++tree) {
      out_.roots.push_back(static_cast<std::int64_t>(out_.feature.size()));
      rewrite(static_cast<std::int32_t>(trees_.roots[tree]), 0);
    }
    return std::move(out_);
  }

 private:
  std::int32_t add(std::int32_t source, std::int32_t feature, std::int32_t cut) {
    if (out_.feature.size() >= most_nodes) throw std::overflow_error("too many nodes");
    out_.feature.push_back(feature), out_.cut.push_back(cut), out_.left.push_back(-1), out_.right.push_back(-1);
    out_.source.push_back(source);
    return static_cast<std::int32_t>(out_.feature.size()) - 1;
  }

  // Rewrites a node for the cells that reach it. Parents come before their children, so a tree's root is its first node.
  std::int32_t rewrite(std::int32_t node, std::int32_t depth) {
    for (std::int32_t j; (j = trees_.feature[node]) >= 0;) {
      const std::int32_t low = low_[j], high = high_[j];
      bool to_left;
      std::int32_t end;  // end of the first run of cells that go to the same side
      if (const std::int64_t first = trees_.first_left[node]; first < 0) {
        to_left = low <= trees_.cut[node];
        end = to_left ? std::min(high, trees_.cut[node]) : high;
      } else {
        const std::uint8_t* goes_left = trees_.left_cells + first;
        to_left = goes_left[low] != 0;
        for (end = low; end < high && (goes_left[end + 1] != 0) == to_left;) ++end;
      }
      const std::int32_t child = to_left ? trees_.left[node] : trees_.right[node];
      if (end == high) {
        node = child;
        continue;
      }
      if (depth == deepest) throw std::overflow_error("too deep");
      const std::int32_t made = add(node, j, end);
      high_[j] = end;
      const std::int32_t left = rewrite(child, depth + 1);
      high_[j] = high, low_[j] = end + 1;
      const std::int32_t right = rewrite(node, depth + 1);  // the runs after the first
      low_[j] = low;
      out_.left[made] = left, out_.right[made] = right;
      return made;
    }
    return add(node, -1, -1);
  }

  const SetTrees& trees_;
  std::vector<std::int32_t> low_, high_;  // by feature: the cells that reach the node
  OrderedTrees out_;
};

}  // namespace

OrderedTrees ordered(const SetTrees& trees, std::size_t n_features, const std::int64_t* n_cells) {
  return Rewriter(trees, n_features, n_cells).run();
}

}  // namespace fcca
