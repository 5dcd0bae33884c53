// The maximum number of leaves of a tree, and the costs of trees by their number of leaves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fcca {

// Costs of trees by slot. Without a limit on leaves, there is one slot for any number of leaves. With a limit, slot s is for at most s + 1
// leaves.
class LeafBudget {
 public:
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

  explicit LeafBudget(std::int64_t max_leaves) : max_leaves_(max_leaves) {}
  bool limited() const { return max_leaves_ != unlimited; }
  std::int64_t max_leaves() const { return max_leaves_; }
  std::size_t n_slots() const { return limited() ? static_cast<std::size_t>(max_leaves_) : 1; }
  std::size_t last_slot() const { return n_slots() - 1; }
  // The first slot for a tree with the given number of leaves.
  std::size_t slot_of(std::int64_t leaves) const { return limited() ? static_cast<std::size_t>(leaves - 1) : 0; }
  bool allows(std::int64_t leaves) const { return leaves <= max_leaves_; }

  // Calls visit(slot, left slot, right slot) for every way to divide the leaves of a tree between the sides of its first split. No side can
  // use more than side_slots. Trees with fewer leaves are covered, because a side need not use all of its leaves.
  template <class Visit>
  void for_each_division(std::size_t side_slots, Visit visit) const {
    if (!limited()) return visit(std::size_t{0}, std::size_t{0}, std::size_t{0});
    for (std::size_t slot = 1; slot < n_slots(); ++slot) for_each_division_of(slot, side_slots, visit);
  }
  template <class Visit>
  void for_each_division_of(std::size_t slot, std::size_t side_slots, Visit visit) const {
    if (!limited()) return visit(slot, std::size_t{0}, std::size_t{0});
    const std::size_t both = std::min(slot - 1, 2 * (side_slots - 1));  // sum of the slots of the sides
    for (std::size_t left = both - std::min(both, side_slots - 1); left <= std::min(both, side_slots - 1); ++left) {
      visit(slot, left, both - left);
    }
  }

 private:
  std::int64_t max_leaves_;
};

}  // namespace fcca
