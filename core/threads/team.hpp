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
// compiled call.
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
  void run(std::int64_t count, const std::function<void(std::int64_t, int)>& task) {
    task_ = &task;
    count_ = count;
    next_ = 0;
    working_ = static_cast<int>(others_.size());
    ++round_;
    work(0);
    while (working_ > 0) std::this_thread::yield();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void work(int worker) {
    try {
      for (std::int64_t k = next_++; k < count_; k = next_++) (*task_)(k, worker);
    } catch (...) {
      const std::scoped_lock lock(failure_lock_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
  }
  void follow(int worker) {
    std::int64_t seen = 0;
    while (true) {
      int idle = 0;
      while (round_ == seen && !over_) {
        if (++idle > 1000) std::this_thread::yield();
      }
      if (round_ == seen) return;
      seen = round_;
      work(worker);
      --working_;
    }
  }

  const std::function<void(std::int64_t, int)>* task_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0}, round_{0};
  std::atomic<int> working_{0};
  std::atomic<bool> over_{false};
  std::exception_ptr failure_;
  std::mutex failure_lock_;
  std::vector<std::jthread> others_;  // last: they end before what they use
};

}  // namespace widemargin
