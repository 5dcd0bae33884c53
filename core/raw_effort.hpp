// The effort of a search: it stops after a number of nodes, or when it is told to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel.hpp"

namespace fcca {

class RawEffort {
 public:
  RawEffort(std::uint64_t max_nodes, const Stop& stop) : max_nodes_(max_nodes), stop_(stop) {}
  // Before each node. False: the search has to end with the bounds it has.
  bool enter_node() {
    if (stopped_ || nodes_ >= max_nodes_ || is_late()) return !(stopped_ = true);
    ++nodes_;
    return true;
  }
  // After some steps of a node that may take long.
  bool go_on(std::size_t steps) {
    steps_ += steps;
    if (steps_ >= steps_between_looks) steps_ = 0, stopped_ = stopped_ || is_late();
    return !stopped_;
  }
  bool stopped() const { return stopped_; }
  std::uint64_t nodes() const { return nodes_; }

 private:
  static constexpr std::size_t steps_between_looks = 100'000;  // take some hundred microseconds
  bool is_late() const { return stop_.now(); }

  std::uint64_t max_nodes_;
  const Stop& stop_;
  std::uint64_t nodes_ = 0;
  std::size_t steps_ = 0;
  bool stopped_ = false;
};

}  // namespace fcca
