// Runs a function over chunks of points on several threads, with a deadline, cancellation and a regular callback.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace fcca {

using Clock = std::chrono::steady_clock;

// Searches check from time to time whether to stop. Bounds proven by then stay valid.
class Stop {
 public:
  explicit Stop(double seconds) : deadline_(in(seconds)) {}
  // A part of the work that has its own, shorter deadline.
  Stop(const Stop& whole, double seconds) : deadline_(in(seconds)), whole_(&whole) {}
  Stop(const Stop&) = delete;
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  bool now() const {
    if (cancelled() || (whole_ && whole_->now())) return true;
    const Clock::time_point time = Clock::now();
    if (look_up_ && time >= next_look_) {
      next_look_ = time + between_looks;
      look_up_();
    }
    return time >= deadline_;
  }

  // After this call, now() also calls look_up at intervals (one thread only). Its exceptions pass through the search.
  void look_up_with(std::function<void()> look_up) {
    look_up_ = std::move(look_up);
    next_look_ = Clock::now() + between_looks;
  }
  static constexpr auto between_looks = std::chrono::milliseconds(50);

 private:
  static Clock::time_point in(double seconds) {
    if (!(seconds < 1e9)) return Clock::time_point::max();
    if (seconds <= 0) return Clock::now();
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  std::atomic<bool> cancelled_{false};
  Clock::time_point deadline_;
  const Stop* whole_ = nullptr;
  std::function<void()> look_up_;
  mutable Clock::time_point next_look_ = Clock::time_point::max();
};

// Every thread creates a worker and calls worker(chunk, begin, end) for chunks of [0, n). look_up(points_done) runs on
// the calling thread about twenty times a second. An exception of look_up cancels the work and is rethrown after all threads
// have ended. A single thread is the calling thread, because starting another one takes longer than many searches.
template <class MakeWorker, class LookUp>
void for_each_chunk(std::size_t n, std::size_t chunk_size, std::size_t n_threads, Stop& stop, MakeWorker make_worker,
                    LookUp look_up) {
  const std::size_t n_chunks = n / chunk_size + (n % chunk_size != 0);
  n_threads = std::min(n_threads, n_chunks);
  std::atomic<std::size_t> next_chunk{0}, points_done{0};
  std::mutex mutex;
  std::condition_variable thread_ended;
  std::size_t running = 0;
  std::exception_ptr failure;

  auto run = [&] {
    try {
      auto worker = make_worker();
      for (std::size_t chunk; !stop.cancelled() && (chunk = next_chunk.fetch_add(1)) < n_chunks;) {
        const std::size_t begin = chunk * chunk_size, end = std::min(n, begin + chunk_size);
        worker(chunk, begin, end);
        points_done.fetch_add(end - begin, std::memory_order_relaxed);
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      failure = std::current_exception();
      stop.cancel();
    }
    std::lock_guard lock(mutex);
    --running;
    thread_ended.notify_one();
  };

  std::vector<std::thread> threads;
  if (n_threads > 1) threads.reserve(n_threads);
  while (n_threads > 1 && threads.size() < n_threads) {
    std::unique_lock lock(mutex);
    ++running;
    lock.unlock();
    bool started = true;
    try {
      threads.emplace_back(run);
    } catch (const std::system_error&) {  // the system cannot start another thread …
      started = false;
    } catch (const std::bad_alloc&) {  // … or has no memory for it
      started = false;
    }
    if (started) continue;
    lock.lock();
    --running;
    break;  // the threads that were started do all the work, or the calling thread if there is none
  }
  if (threads.empty()) {
    stop.look_up_with([&] { look_up(points_done.load(std::memory_order_relaxed)); });
    auto worker = make_worker();
    for (std::size_t chunk = 0; chunk < n_chunks; ++chunk) {
      const std::size_t begin = chunk * chunk_size, end = std::min(n, begin + chunk_size);
      worker(chunk, begin, end);
      points_done.fetch_add(end - begin, std::memory_order_relaxed);
    }
    look_up(n);
    return;
  }
  std::unique_lock lock(mutex);
  while (!thread_ended.wait_for(lock, Stop::between_looks, [&] { return running == 0; })) {
    if (stop.cancelled()) continue;  // look_up has thrown, or a thread has failed
    lock.unlock();
    try {
      look_up(points_done.load(std::memory_order_relaxed));
    } catch (...) {
      std::lock_guard guard(mutex);
      if (!failure) failure = std::current_exception();
      stop.cancel();
    }
    lock.lock();
  }
  lock.unlock();
  for (auto& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  look_up(n);
}

}  // namespace fcca
