#include "selection_pairs.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace fcca {

namespace {

constexpr std::size_t nearest = 10;         // pairs per row; more are of little help
constexpr std::size_t widest_look = 4096;   // rows of another class that a row is compared with
constexpr std::size_t n_buckets = 64;       // of prices between 0 and 1

}  // namespace

void PairMatcher::number_open_conditions(const std::vector<Decision>& choice) {
  open_.clear(), slot_.clear(), first_slot_.clear(), chains_.clear(), code_.clear();
  std::int32_t slot = 0;
  for (std::size_t c = 0; c < rows_.n_chains; ++c) {
    const std::int32_t first = rows_.first_condition[c], end = rows_.first_condition[c + 1];
    std::vector<Code> code{0};
    for (std::int32_t t = first; t < end; ++t) code.push_back(code.back() + (choice[t] == Decision::open));
    if (code.back() == 0) continue;
    first_slot_.push_back(slot++);
    for (std::int32_t t = first; t < end; ++t) {
      if (choice[t] == Decision::open) open_.push_back(t), slot_.push_back(slot++);
    }
    chains_.push_back(static_cast<std::int32_t>(c));
    code_.push_back(std::move(code));
  }
  sums_.assign(slot, 0);
  change_.assign(slot, 0);
}

// Rows that the open conditions do not separate become one point. The cost of all classes but its heaviest cannot be avoided. The weight
// of the heaviest class minus the second heaviest remains to be paired. (The cost of a group is at least the sum of the costs of any parts
// that its weights are divided into.)
void PairMatcher::collect_points(const std::int32_t* from, const std::int32_t* to) {
  const std::size_t n = to - from, m = chains_.size(), K = rows_.n_classes;
  row_codes_.resize(n * m);
  for (std::size_t c = 0; c < m; ++c) {
    const std::uint16_t* passed = rows_.passed.data() + chains_[c] * rows_.n_rows;
    for (std::size_t i = 0; i < n; ++i) row_codes_[i * m + c] = code_[c][passed[from[i]]];
  }
  by_code_.resize(n);
  std::iota(by_code_.begin(), by_code_.end(), 0);
  auto codes_of = [&](std::int32_t i) { return row_codes_.data() + static_cast<std::size_t>(i) * m; };
  std::sort(by_code_.begin(), by_code_.end(), [&](std::int32_t a, std::int32_t b) {
    return std::lexicographical_compare(codes_of(a), codes_of(a) + m, codes_of(b), codes_of(b) + m);
  });
  struct Merged {
    Point point;
    std::int32_t like;
  };
  std::vector<Merged> merged;
  for (std::size_t begin = 0, end; begin < n; begin = end) {
    held_.assign(K, 0);
    for (end = begin; end < n && std::equal(codes_of(by_code_[begin]), codes_of(by_code_[begin]) + m, codes_of(by_code_[end])); ++end) {
      for (std::size_t k = 0; k < K; ++k) held_[k] += rows_.weight[from[by_code_[end]] * K + k];
    }
    const std::size_t heaviest = std::max_element(held_.begin(), held_.end()) - held_.begin();
    const std::int64_t most = held_[heaviest], sum = std::accumulate(held_.begin(), held_.end(), std::int64_t{0});
    held_[heaviest] = 0;
    const std::int64_t second = *std::max_element(held_.begin(), held_.end());
    unavoidable_ += sum - most;
    if (most > second) merged.push_back({{most - second, static_cast<std::int32_t>(heaviest)}, by_code_[begin]});
  }
  std::stable_sort(merged.begin(), merged.end(), [](const Merged& a, const Merged& b) { return a.point.label < b.point.label; });
  codes_.resize(m * merged.size());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    points_.push_back(merged[i].point);
    if (K > 2) point_codes_.insert(point_codes_.end(), codes_of(merged[i].like), codes_of(merged[i].like) + m);
    for (std::size_t c = 0; c < m; ++c) codes_[c * merged.size() + i] = codes_of(merged[i].like)[c];
  }
}

// Pairs of the points [begin, end), which are of one group and sorted by class. Their codes are in codes_.
void PairMatcher::pair_up(std::size_t begin, std::size_t end, const Stop& stop) {
  const std::size_t n = end - begin, m = chains_.size();
  std::vector<std::size_t> class_begin{0};
  for (std::size_t i = 1; i <= n; ++i) {
    if (i == n || points_[begin + i].label != points_[begin + i - 1].label) class_begin.push_back(i);
  }
  if (class_begin.size() < 3) return;
  distance_.resize(n);
  std::vector<Code> farthest(n);             // the largest distance of a point's partners …
  std::vector<std::size_t> last_farthest(n);  // … and the last partner at this distance
  std::vector<std::size_t> at_distance;
  for (std::size_t a = 0; a + 1 < class_begin.size(); ++a) {
    for (std::size_t i = class_begin[a]; i < class_begin[a + 1]; ++i) {
      if (i % 64 == 0 && stop.now()) return;
      at_distance.assign(1, 0);
      std::vector<std::pair<std::size_t, std::size_t>> looks;
      for (std::size_t b = 0; b + 1 < class_begin.size(); ++b) {
        if (b == a) continue;
        std::size_t from = class_begin[b], to = class_begin[b + 1];
        if (to - from > widest_look) {  // compare with rows around the same relative position
          const double share = static_cast<double>(i - class_begin[a]) / static_cast<double>(class_begin[a + 1] - class_begin[a]);
          const std::size_t middle = from + static_cast<std::size_t>(share * static_cast<double>(to - from));
          from = std::max(from + widest_look / 2, middle) - widest_look / 2;
          to = std::min(to, from + widest_look);
        }
        looks.emplace_back(from, to);
        std::fill(distance_.begin() + from, distance_.begin() + to, 0);
        for (std::size_t c = 0; c < m; ++c) {
          const Code* code = codes_.data() + c * n;
          const Code mine = code[i];
          for (std::size_t j = from; j < to; ++j) distance_[j] += static_cast<Code>(code[j] > mine ? code[j] - mine : mine - code[j]);
        }
        for (std::size_t j = from; j < to; ++j) {
          if (distance_[j] >= at_distance.size()) at_distance.resize(distance_[j] + 1, 0);
          ++at_distance[distance_[j]];
        }
      }
      std::size_t within = 0, limit = 0;
      while (limit + 1 < at_distance.size() && within + at_distance[limit] < nearest) within += at_distance[limit++];
      std::size_t left = nearest - std::min(nearest, within);
      farthest[i] = static_cast<Code>(limit), last_farthest[i] = 0;
      for (const auto& [from, to] : looks) {
        for (std::size_t j = from; j < to; ++j) {
          if (distance_[j] > limit || (distance_[j] == limit && left == 0)) continue;
          if (distance_[j] == limit) --left, last_farthest[i] = j;
          // If it was found from the other side, the pair already exists.
          if (j < i && (distance_[j] < farthest[j] || (distance_[j] == farthest[j] && i <= last_farthest[j]))) continue;
          pairs_.push_back({static_cast<std::int32_t>(begin + i), static_cast<std::int32_t>(begin + j),
                            static_cast<std::uint32_t>(spans_.size())});
          for (std::size_t c = 0; c < m; ++c) {
            const Code x = codes_[c * n + i], y = codes_[c * n + j];
            const auto first = static_cast<std::uint16_t>(first_slot_[c]);
            if (x == y) continue;
            spans_.push_back({static_cast<std::uint16_t>(first + std::min(x, y)), static_cast<std::uint16_t>(first + std::max(x, y))});
          }
        }
      }
    }
  }
}

void PairMatcher::look_at(const Groups& groups, const std::vector<Decision>& choice, const Stop& stop) {
  number_open_conditions(choice);
  points_.clear(), pairs_.clear(), spans_.clear(), point_codes_.clear();
  unavoidable_ = 0;
  for (std::size_t g = 0; g < groups.size() && !stop.now(); ++g) {
    const std::size_t begin = points_.size();
    collect_points(groups.rows.data() + groups.begin[g], groups.rows.data() + groups.begin[g + 1]);
    pair_up(begin, points_.size(), stop);
  }
  bucket_.resize(pairs_.size());
  order_.resize(pairs_.size());
}

// Sorts the pairs by the price of the conditions between them.
void PairMatcher::price_pairs(const std::vector<double>& price) {
  std::fill(sums_.begin(), sums_.end(), 0);
  for (std::size_t i = 0; i < open_.size(); ++i) sums_[slot_[i]] = static_cast<float>(price[open_[i]]);
  for (std::size_t c = 0; c < first_slot_.size(); ++c) {
    const std::size_t end = c + 1 < first_slot_.size() ? first_slot_[c + 1] : sums_.size();
    for (std::size_t s = first_slot_[c] + 1; s < end; ++s) sums_[s] += sums_[s - 1];
  }
  std::array<std::uint32_t, n_buckets + 1> begin{};
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const std::size_t end = p + 1 < pairs_.size() ? pairs_[p + 1].first_span : spans_.size();
    float between = 0;
    for (std::size_t s = pairs_[p].first_span; s < end; ++s) between += sums_[spans_[s].high] - sums_[spans_[s].low];
    bucket_[p] = between < 1 ? static_cast<std::uint8_t>(std::max(0.0f, between) * n_buckets) : n_buckets;
    ++begin[bucket_[p]];
  }
  std::uint32_t n_before = 0;
  for (std::uint32_t& n : begin) n_before += n, n = n_before - n;
  n_worthwhile_ = begin[n_buckets];
  for (std::size_t p = 0; p < pairs_.size(); ++p) order_[begin[bucket_[p]]++] = static_cast<std::uint32_t>(p);
}

std::int64_t PairMatcher::match_pairs() {
  left_.resize(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i) left_[i] = points_[i].weight;
  std::int64_t matched = 0;
  for (std::uint32_t at = 0; at < n_worthwhile_; ++at) {
    const std::size_t p = order_[at];
    const Pair& pair = pairs_[p];
    const std::int64_t weight = std::min(left_[pair.one], left_[pair.other]);
    if (weight == 0) continue;
    left_[pair.one] -= weight, left_[pair.other] -= weight, matched += weight;
    const std::size_t end = p + 1 < pairs_.size() ? pairs_[p + 1].first_span : spans_.size();
    for (std::size_t s = pair.first_span; s < end; ++s) change_[spans_[s].low] += weight, change_[spans_[s].high] -= weight;
  }
  return matched;
}

// Whether joining two clusters without a common class gains more than the price of the conditions that then separate more rows. These
// conditions are listed in told_apart_, once for every additional part.
bool PairMatcher::worth_joining(const Cluster& one, const Cluster& other) {
  told_apart_.clear();
  float price = 0;
  const std::size_t m = chains_.size();
  std::array<Code, std::tuple_size_v<decltype(Cluster::rows)>> codes;
  for (std::size_t c = 0; c < m; ++c) {
    for (int a = 0; a < one.size; ++a) codes[a] = point_codes_[one.rows[a] * m + c];
    for (int b = 0; b < other.size; ++b) codes[one.size + b] = point_codes_[other.rows[b] * m + c];
    const auto end = codes.begin() + one.size + other.size;
    const auto [low, high] = std::minmax_element(codes.begin(), end);
    for (Code at = *low; at < *high; ++at) {  // the condition that rows of a larger code pass
      auto passing = [&](auto from, auto to) { return static_cast<int>(std::count_if(from, to, [&](Code code) { return code > at; })); };
      const int a = passing(codes.begin(), codes.begin() + one.size), b = passing(codes.begin() + one.size, end);
      const int more = std::min(a + b, one.size + other.size - a - b) - std::min(a, one.size - a) - std::min(b, other.size - b);
      const auto slot = static_cast<std::uint16_t>(first_slot_[c] + at);
      price += static_cast<float>(more) * (sums_[slot + 1] - sums_[slot]);
      for (int i = 0; i < more; ++i) told_apart_.push_back({slot, static_cast<std::uint16_t>(slot + 1)});
    }
    if (price >= 1) return false;
  }
  return true;
}

// Joins clusters of a pair's rows as far as their weights allow. Returns the joined weight.
std::int64_t PairMatcher::join(std::size_t pair) {
  auto &ones = clusters_of_[pairs_[pair].one], &others = clusters_of_[pairs_[pair].other];
  for (auto* mine : {&ones, &others}) std::erase_if(*mine, [&](std::int32_t at) { return clusters_[at].weight == 0; });
  std::int64_t joined = 0;
  const std::size_t n_ones = ones.size(), n_others = others.size();  // new clusters come after them
  for (std::size_t a = 0; a < n_ones; ++a) {
    const std::int32_t first = ones[a];
    for (std::size_t b = 0; b < n_others && clusters_[first].weight > 0; ++b) {
      const std::int32_t second = others[b];
      const Cluster &one = clusters_[first], &other = clusters_[second];
      if (other.weight == 0 || (one.classes & other.classes) != 0) continue;
      if (one.size + other.size > static_cast<std::int32_t>(one.rows.size())) continue;
      if (one.size + other.size == 2) {
        const std::size_t end = pair + 1 < pairs_.size() ? pairs_[pair + 1].first_span : spans_.size();
        told_apart_.assign(spans_.begin() + pairs_[pair].first_span, spans_.begin() + end);
      } else if (!worth_joining(one, other)) {
        continue;
      }
      Cluster both = one;
      for (std::int32_t i = 0; i < other.size; ++i) both.rows[both.size++] = other.rows[i];
      both.classes |= other.classes;
      both.weight = std::min(one.weight, other.weight);
      clusters_[first].weight -= both.weight, clusters_[second].weight -= both.weight, joined += both.weight;
      for (const Span& span : told_apart_) change_[span.low] += both.weight, change_[span.high] -= both.weight;
      for (std::int32_t i = 0; i < both.size; ++i) clusters_of_[both.rows[i]].push_back(static_cast<std::int32_t>(clusters_.size()));
      clusters_.push_back(both);
    }
  }
  return joined;
}

std::int64_t PairMatcher::grow_clusters() {
  clusters_.clear();
  clusters_of_.resize(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i) {
    clusters_of_[i].assign(1, static_cast<std::int32_t>(i));
    clusters_.push_back({{static_cast<std::int32_t>(i)}, 1, std::uint64_t{1} << (points_[i].label % 64), points_[i].weight});
  }
  std::int64_t joined = 0;
  for (std::uint32_t at = 0; at < n_worthwhile_; ++at) joined += join(order_[at]);
  return joined;
}

void PairMatcher::match(const std::vector<double>& price, Cut& cut) {
  price_pairs(price);
  std::fill(change_.begin(), change_.end(), 0);
  cut.pairs = static_cast<double>(rows_.n_classes > 2 ? grow_clusters() : match_pairs());
  cut.cover.assign(rows_.n_conditions, 0);
  for (std::size_t i = 0, c = 0; i < open_.size(); ++i) {
    // The condition lies between its slot's predecessor and its slot.
    while (c + 1 < first_slot_.size() && first_slot_[c + 1] < slot_[i]) ++c;
    std::int64_t& running = change_[slot_[i] - 1];
    if (slot_[i] - 1 > first_slot_[c]) running += change_[slot_[i] - 2];
    cut.cover[open_[i]] = static_cast<double>(running);
  }
}

}  // namespace fcca
