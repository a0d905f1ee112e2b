// Threads that stay for a while and share out the tasks of many short rounds.
#pragma once

#include <algorithm>
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
      share_out(count, task, nullptr);
    }
  }

  // Runs all tasks, then finish(k) for k = 0 ... count - 1, one after the other. Each is finished
  // by who ran it: what it left is in the caches there.
  template <class Task, class Finish>
  void run_in_order(std::int64_t count, Task&& task, Finish&& finish) {
    if (others_.empty()) {
      for (std::int64_t k = 0; k < count; ++k) task(k, 0);
      for (std::int64_t k = 0; k < count; ++k) finish(k);
    } else {
      const std::function<void(std::int64_t)> last = finish;
      share_out(count, task, &last);
    }
  }

 private:
  static constexpr int bits = 24;  // of a number of tasks
  static constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;

  void share_out(std::int64_t count, const std::function<void(std::int64_t, int)>& task,
                 const std::function<void(std::int64_t)>* finish) {
    task_ = &task;
    finish_ = finish;
    count_ = count;
    done_.store(0, std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
    const std::uint64_t round = (open_.load(std::memory_order_relaxed) >> (2 * bits)) + 1;
    open_.store((round << (2 * bits)) | static_cast<std::uint64_t>(count) << bits,
                std::memory_order_release);
    work(0, taken_);
    await(finish == nullptr ? done_ : finished_, count);
    if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // Looks again at once for a while, then lets others run in between.
  struct Patience {
    int looks = 0;
    void wait() {
      if (++looks > 1000) std::this_thread::yield();
    }
  };
  static void await(const std::atomic<std::int64_t>& number, std::int64_t value) {
    Patience patience;
    while (number.load(std::memory_order_acquire) != value) patience.wait();
  }

  // Takes tasks as long as there are any, the calling thread the first one, others the last one, so
  // that what one of them does stands together; returns whether there was one.
  bool work(int worker, std::vector<std::int64_t>& taken) {
    bool any = false;
    taken.clear();
    std::uint64_t open = open_.load(std::memory_order_acquire);
    while ((open & mask) != (open >> bits & mask)) {
      const std::uint64_t next = worker == 0 ? open + 1 : open - (std::uint64_t{1} << bits);
      if (!open_.compare_exchange_weak(open, next, std::memory_order_acquire)) continue;
      // The round goes on until this task is done, so what it runs stays what it is.
      const std::uint64_t k = worker == 0 ? open & mask : next >> bits & mask;
      taken.push_back(static_cast<std::int64_t>(k));
      attempt([&] { (*task_)(taken.back(), worker); });
      // With nothing to finish the round may be over once this is counted, and another one open.
      if (finish_ == nullptr) taken.clear();
      done_.fetch_add(1, std::memory_order_release);
      any = true;
      open = open_.load(std::memory_order_acquire);
    }
    if (!taken.empty()) finish_own(worker, taken);
    return any;
  }

  void finish_own(int worker, std::vector<std::int64_t>& taken) {
    if (worker != 0) std::ranges::reverse(taken);
    const std::int64_t count = count_;
    await(done_, count);
    for (const std::int64_t k : taken) {
      await(finished_, k);
      attempt([&] { (*finish_)(k); });
      finished_.store(k + 1, std::memory_order_release);
    }
  }

  template <class Call>
  void attempt(Call&& call) {
    try {
      if (!failed_.load(std::memory_order_relaxed)) call();
    } catch (...) {
      const std::scoped_lock lock(failure_lock_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void follow(int worker) {
    Patience patience;
    std::vector<std::int64_t> taken;
    while (!over_.load(std::memory_order_relaxed)) {
      if (work(worker, taken)) {
        patience = {};
      } else {
        patience.wait();
      }
    }
  }

  const std::function<void(std::int64_t, int)>* task_ = nullptr;
  const std::function<void(std::int64_t)>* finish_ = nullptr;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> taken_;
  // The number of the round, and below it the end and the beginning of the tasks that nobody has
  // taken yet: one number, so that a thread that comes late cannot take a task of another round
  // than it has seen.
  alignas(64) std::atomic<std::uint64_t> open_{0};
  alignas(64) std::atomic<std::int64_t> done_{0};
  alignas(64) std::atomic<std::int64_t> finished_{0};
  alignas(64) std::atomic<bool> over_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::mutex failure_lock_;
  std::vector<std::jthread> others_;  // last: they end before what they use
};

}  // namespace widemargin
