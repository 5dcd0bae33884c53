// Runs the core's searches while memory and threads fail. Every allocation of a search fails once: the search then ends with
// std::bad_alloc, or with its answer where it can do without, and never otherwise. Threads that cannot be started are done without.
// Built and run by `make sanitize`, whose sanitizers see what is lost or touched on the way.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../benchmarks/instructions_inputs.hpp"
#include "../../core/additive.hpp"
#include "../../core/ensemble_search.hpp"
#include "../../core/fixed_charge.hpp"
#include "../../core/optimal_tree.hpp"
#include "../../core/selection_search.hpp"

namespace {

constexpr long never = std::numeric_limits<long>::max();
std::atomic<long> allocations_left{never};  // until one fails
std::atomic<bool> for_good{false};          // whether all fail from then on
std::atomic<long> threads_left{never};
std::atomic<long> threads_unjoined{0};  // counted here: /proc lists a thread for a moment after it was joined

bool fails(std::atomic<long>& left, bool from_then_on) {
  if (left.load(std::memory_order_relaxed) == never) return false;
  const long now = left.fetch_sub(1, std::memory_order_relaxed);
  return from_then_on ? now <= 0 : now == 0;
}

}  // namespace

void* operator new(std::size_t size) {
  if (fails(allocations_left, for_good.load(std::memory_order_relaxed))) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails(allocations_left, for_good.load(std::memory_order_relaxed)) ? nullptr : std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& nothrow) noexcept { return operator new(size, nothrow); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (fails(threads_left, true)) return EAGAIN;
  const int error = real(thread, attributes, run, argument);
  if (error == 0) ++threads_unjoined;
  return error;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  static const auto real = reinterpret_cast<decltype(&pthread_join)>(dlsym(RTLD_NEXT, "pthread_join"));
  const int error = real(thread, result);
  if (error == 0) --threads_unjoined;
  return error;
}

namespace fcca {
namespace {

using instructions::CellStore;
using instructions::Grown;
using instructions::make_table;
using instructions::quantile_cells;
using instructions::Table;

constexpr double no_limit = std::numeric_limits<double>::infinity();

void expect(bool holds, const std::string& what) {
  if (holds) return;
  allocations_left = never, threads_left = never;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  std::exit(1);
}

// The sum of the costs of all points, each found by a search of its own thread.
template <class MakeSearch>
double on_threads(std::size_t n_threads, const Table& table, const std::vector<std::int32_t>& own_class, MakeSearch make_search) {
  Stop stop(no_limit);
  std::vector<double> cost(own_class.size());
  for_each_chunk(
      own_class.size(), 2, n_threads, stop,
      [&] {
        return [&, search = make_search()](std::size_t, std::size_t begin, std::size_t end) mutable {
          for (std::size_t i = begin; i < end; ++i) {
            const Query query{table.row(i), own_class[i], any_other_class, 1e-4, nullptr, nullptr, nullptr};
            cost[i] = 1 + search.solve(query, stop).cost;
          }
        };
      },
      [](std::size_t) {});
  double sum = 0;
  for (const double c : cost) sum += c;
  return sum;
}

double additive(std::size_t n_threads, std::size_t n_classes) {
  const Table table = make_table(60, 4, n_classes, 1);
  const Grown grown(table, {12, 1}, 2);
  const std::vector<double> values = grown.additive_values();
  const AdditiveModel model{grown.cells.view(), grown.n_outputs, values.data(), grown.base.data()};
  const Limits limits;
  return on_threads(n_threads, table, grown.answers(12), [&] { return AdditiveSearch(model, limits, {0.1, 1, 0}); });
}

double ensemble(std::size_t n_threads, std::size_t n_classes) {
  const Table table = make_table(60, 4, n_classes, 3);
  const Grown grown(table, {8, 2}, 4);
  const Cells cells = grown.cells.view();
  const EnsembleModel compiled(grown.trees(), grown.base.data(), cells);
  const Limits limits;
  const Examples examples;
  return on_threads(n_threads, table, grown.answers(6), [&] { return EnsembleSearch(compiled, limits, {0.1, 1, 0}, examples, {}); });
}

double linear(std::size_t n_threads) {
  const Table table = make_table(60, 6, 2, 5);
  const std::vector<double> coef{1, -0.5, 0.3, 0.7, -0.2, 0.4}, centre(6, 0.5), low(6, 0.0), high(6, 1.0);
  const LinearModel model{6, coef.data(), centre.data(), 0.1, {low.data(), high.data()}, high.data()};
  const Limits limits;
  return on_threads(n_threads, table, std::vector<std::int32_t>(12, 0), [&] { return FixedChargeSearch(model, limits, {0.1, 1, 0.3}); });
}

double tree(std::int32_t depth, std::size_t n_classes, double row_weight, Criterion criterion = Criterion::error,
            std::int64_t max_leaves = LeafBudget::unlimited) {
  const Table table = make_table(60, 4, n_classes, 7);
  const CellStore store = quantile_cells(table, 3);
  const Cells cells = store.view();
  std::vector<std::uint8_t> bits;
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    for (std::size_t j = 0; j < table.n_features; ++j) {
      for (std::int64_t c = 0; c < cells.n_cuts(j); ++c) bits.push_back(table.row(i)[j] > cells.cuts_of(j)[c]);
    }
  }
  const std::vector<double> weight(table.n_rows, row_weight);
  const Stop stop(no_limit);
  TreeTask task;
  task.penalty = row_weight, task.max_depth = depth;
  task.criterion = criterion, task.max_leaves = max_leaves;
  return optimal_tree({bits.data(), table.label.data(), weight.data(), nullptr, table.n_rows, store.cuts.size(), n_classes}, task, stop).cost;
}

double selection(std::size_t n_classes) {
  const Table table = make_table(60, 4, n_classes, 8);
  const CellStore store = quantile_cells(table, 4);
  const Cells cells = store.view();
  std::vector<std::int32_t> passed, chain_size;
  for (std::size_t i = 0; i < table.x.size(); ++i) passed.push_back(static_cast<std::int32_t>(cells.cell_of(i % 4, table.x[i])));
  for (std::size_t j = 0; j < 4; ++j) chain_size.push_back(static_cast<std::int32_t>(cells.n_cuts(j)));
  const std::vector<double> weight(table.n_rows, 1.0);
  const SelectionRows rows = selection_rows(passed.data(), table.label.data(), weight.data(), table.n_rows, chain_size, n_classes);
  const SelectionRules rules = no_rules(std::vector<std::int64_t>(store.cuts.size(), 1));
  const Stop stop(no_limit);
  return static_cast<double>(SelectionSearch(rows, rules, stop).run(nothing_decided(rules), 4, rows.total, 1000).best.cost);
}

// Lets one allocation after the other fail, at most so many, evenly spread over all.
void without_memory(const char* name, const std::function<double()>& search, long most_trials) {
  allocations_left = never - 1;
  const double answer = search();
  const long n_allocations = never - 1 - allocations_left.exchange(never);
  long n_thrown = 0, n_done = 0;
  for (const bool all_that_follow : {false, true}) {
    for (long at = 0; at < n_allocations; at += 1 + n_allocations / most_trials) {
      for_good = all_that_follow;
      allocations_left = at;
      double found = answer;
      try {
        found = search();
        ++n_done;
      } catch (const std::bad_alloc&) {
        ++n_thrown;
      }
      allocations_left = never;
      expect(found == answer, std::string(name) + ": another answer after allocation " + std::to_string(at) + " failed");
      expect(threads_unjoined == 0, std::string(name) + ": a thread is left behind");
    }
  }
  expect(search() == answer, std::string(name) + ": another answer afterwards");
  expect(n_thrown > 0, std::string(name) + ": nothing failed");
  std::printf("%-28s %6ld allocations; one failing: %ld times no memory, %ld times the answer\n", name, n_allocations, n_thrown, n_done);
}

// Every number of threads that can be had: all chunks are done, each once.
void without_threads() {
  constexpr std::size_t n = 1001;
  for (std::size_t asked = 1; asked <= 4; ++asked) {
    for (long had = 0; had <= 4; ++had) {
      Stop stop(no_limit);
      std::vector<std::atomic<int>> done(n);
      std::atomic<std::size_t> n_workers{0};
      std::size_t last_look = 0;
      threads_left = had;
      for_each_chunk(
          n, 10, asked, stop,
          [&] {
            ++n_workers;
            return [&](std::size_t, std::size_t begin, std::size_t end) {
              for (std::size_t i = begin; i < end; ++i) ++done[i];
            };
          },
          [&](std::size_t points) { last_look = points; });
      threads_left = never;
      for (const auto& times : done) expect(times == 1, "a point was not done once");
      expect(last_look == n, "the last look up does not tell that all is done");
      const std::size_t expected = asked == 1 || had == 0 ? 1 : std::min<std::size_t>(asked, had);
      expect(n_workers == expected, "not as many workers as threads could be had");
    }
  }
  std::printf("%-28s fewer threads do the same work, and none leaves it to the caller\n", "no threads to spare");
}

// What goes wrong in a thread, while one is made or while looking up reaches the caller after all threads have ended.
void thrown_on() {
  for (const std::string where : {"worker", "making a worker", "looking up"}) {
    for (std::size_t n_threads = 1; n_threads <= 4; ++n_threads) {
      Stop stop(no_limit);
      bool caught = false;
      auto here = [&](const char* place) {
        if (where == place) throw std::runtime_error(where);
      };
      try {
        for_each_chunk(
            400, 1, n_threads, stop,
            [&] {
              here("making a worker");
              return [&](std::size_t, std::size_t begin, std::size_t) {
                if (begin == 7) here("worker");
                for (int i = 0; i < 100 && !stop.now(); ++i) std::this_thread::sleep_for(std::chrono::microseconds(10));
              };
            },
            [&](std::size_t) { here("looking up"); });
      } catch (const std::runtime_error& error) {
        caught = error.what() == where;
      }
      expect(caught, "an error of " + where + " did not reach the caller");
      expect(threads_unjoined == 0, "a thread is left behind by an error of " + where);
    }
  }
  std::printf("%-28s errors of threads, of making them and of looking up reach the caller\n", "errors");
}

}  // namespace
}  // namespace fcca

// An argument: how many allocations of each search fail at most; default 200.
int main(int argc, char** argv) {
  using namespace fcca;
  const long most = argc > 1 ? std::atol(argv[1]) : 200;
  without_threads();
  thrown_on();
  for (const std::size_t n_threads : {1, 3}) {
    const std::string on = n_threads == 1 ? "" : ", three threads";
    without_memory(("additive" + on).c_str(), [&] { return additive(n_threads, 2); }, most);
    without_memory(("additive, rivals" + on).c_str(), [&] { return additive(n_threads, 3); }, most);
    without_memory(("ensemble" + on).c_str(), [&] { return ensemble(n_threads, 2); }, most);
    without_memory(("ensemble, rivals" + on).c_str(), [&] { return ensemble(n_threads, 3); }, most);
    without_memory(("linear" + on).c_str(), [&] { return linear(n_threads); }, most);
  }
  without_memory("tree, depth 3", [] { return tree(3, 2, 1); }, most);
  without_memory("tree, depth 4, classes", [] { return tree(4, 3, 0.5); }, most);
  without_memory("tree, evidence, leaves", [] { return tree(4, 2, 1, Criterion::evidence, 6); }, most);
  without_memory("tree, log loss, weights", [] { return tree(3, 3, 0.5, Criterion::log_loss, 5); }, most);
  without_memory("selection", [] { return selection(2); }, most);
  without_memory("selection, three classes", [] { return selection(3); }, most);
  return 0;
}
