// Threads that stay for a while and share out the tasks of many short rounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace widemargin {

// Rounds are short, so those who wait for the next one do not sleep; a team should not outlive one
// compiled call. A round is over when its tasks are: nobody waits for a thread that the machine has
// not let run.
class Team {
 public:
  explicit Team(int threads) {
    try {
      for (int t = 1; t < threads; ++t) others_.emplace_back([this, t] { follow(t); });
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do the work.
    }
  }
  ~Team() { over_ = true; }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Runs task(k, worker) for k = 0 ... count - 1, each once, and waits for all of them.
  template <class Task>
  void run(std::int64_t count, Task&& task) {
    if (others_.empty()) {
      for (std::int64_t k = 0; k < count; ++k) task(k, 0);
    } else {
      share_out(count, task);
    }
  }

 private:
  static constexpr int left_bits = 40;

  void share_out(std::int64_t count, const std::function<void(std::int64_t, int)>& task) {
    task_ = &task;
    done_.store(0, std::memory_order_relaxed);
    const std::uint64_t round = (open_.load(std::memory_order_relaxed) >> left_bits) + 1;
    open_.store((round << left_bits) | static_cast<std::uint64_t>(count),
                std::memory_order_release);
    work(0);
    Patience patience;
    while (done_.load(std::memory_order_acquire) < count) patience.wait();
    if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // Looks again at once for a while, then lets others run in between.
  struct Patience {
    int looks = 0;
    void wait() {
      if (++looks > 1000) std::this_thread::yield();
    }
  };

  // Takes tasks as long as there are any; returns whether there was one.
  bool work(int worker) {
    constexpr std::uint64_t left_mask = (std::uint64_t{1} << left_bits) - 1;
    bool any = false;
    std::uint64_t open = open_.load(std::memory_order_acquire);
    while ((open & left_mask) != 0) {
      if (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acquire)) continue;
      // The round goes on until this task is done, so what it runs stays what it is.
      attempt(static_cast<std::int64_t>(open & left_mask) - 1, worker);
      any = true;
      open = open_.load(std::memory_order_acquire);
    }
    return any;
  }

  void attempt(std::int64_t k, int worker) {
    try {
      if (!failed_.load(std::memory_order_relaxed)) (*task_)(k, worker);
    } catch (...) {
      const std::scoped_lock lock(failure_lock_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
    done_.fetch_add(1, std::memory_order_release);
  }

  void follow(int worker) {
    Patience patience;
    while (!over_.load(std::memory_order_relaxed)) {
      if (work(worker)) {
        patience = {};
      } else {
        patience.wait();
      }
    }
  }

  const std::function<void(std::int64_t, int)>* task_ = nullptr;
  // The number of the round, and below it how many of its tasks nobody has taken yet: one number,
  // so that a thread that comes late cannot take a task of another round than it has seen.
  alignas(64) std::atomic<std::uint64_t> open_{0};
  alignas(64) std::atomic<std::int64_t> done_{0};
  alignas(64) std::atomic<bool> over_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::mutex failure_lock_;
  std::vector<std::jthread> others_;  // last: they end before what they use
};

}  // namespace widemargin
