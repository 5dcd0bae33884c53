// The linear relaxation of a multiple-choice knapsack: options may be taken in fractions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace fcca {

// The edges of all groups' lower convex hulls in the gain–cost plane, by rising cost per gain.
class Hull {
 public:
  struct Edge {
    std::size_t group;
    double gain, rate;
    std::size_t from, to;  // options at its ends; from == to for the edge that starts at (0, 0)
  };

  void clear() { edges_.clear(); }

  // The hull of (0, 0), which is no move, and the options [begin, end), in order of rising cost. Option o gains gain(o) at cost(o).
  template <class Gain, class Cost>
  void add_group(std::size_t group, std::size_t begin, std::size_t end, Gain gain, Cost cost) {
    double reached = 0, paid = 0;
    std::size_t at = end;  // none yet
    for (;;) {
      std::size_t vertex = end;
      double rate = std::numeric_limits<double>::infinity();
      for (std::size_t o = at == end ? begin : at + 1; o < end; ++o) {
        if (!(gain(o) > reached)) continue;
        const double r = (cost(o) - paid) / (gain(o) - reached);
        if (r <= rate) rate = r, vertex = o;
      }
      if (vertex == end) return;
      edges_.push_back({group, gain(vertex) - reached, rate, at == end ? vertex : at, vertex});
      reached = gain(vertex), paid = cost(vertex), at = vertex;
    }
  }

  void sort() {
    std::sort(edges_.begin(), edges_.end(),
              [](const Edge& a, const Edge& b) { return a.rate != b.rate ? a.rate < b.rate : a.group < b.group; });
  }

  // A lower bound on the cost of gaining the missing score from first_group and the groups after it: the edges are filled by rising
  // rate. It is valid because every choice is a point on or above its hull.
  double cost(std::size_t first_group, double missing) const {
    double cost = 0;
    for (const Edge& edge : edges_) {
      if (edge.group < first_group) continue;
      if (edge.gain >= missing) return cost + std::max(0.0, missing) * edge.rate;
      cost += edge.gain * edge.rate;
      missing -= edge.gain;
    }
    return cost;
  }

  // Calls visit(edge, share) for the edges that gain the missing score.
  template <class Visit>
  void fill(double missing, Visit visit) const {
    for (const Edge& edge : edges_) {
      if (!(missing > 0)) return;
      visit(edge, std::min(1.0, missing / edge.gain));
      missing -= edge.gain;
    }
  }

 private:
  std::vector<Edge> edges_;
};

}  // namespace fcca
