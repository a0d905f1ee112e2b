// Threads that stay, and share out the numbered tasks of one call after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace widemargin {

// The calling thread works too, and waits for nobody who has not begun: a thread that is slow to
// wake costs nothing. Threads look out for the next call before they go to sleep, as calls come
// close together and a thread that sleeps may take as long to wake as a call: after a moment they
// let others have the core, if any want it. So does the calling thread when it waits for the rest.
class Pool {
 public:
  explicit Pool(int threads) : wanted_(threads - 1) {}
  ~Pool() { dismiss(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return wanted_ + 1; }

  // Runs task(k) for k = 0 ... count - 1, in about that order, each once, and waits for all.
  template <class Task>
  void run(std::int64_t count, const Task& task) {
    const std::unique_lock only(in_use_, std::try_to_lock);
    if (wanted_ < 1 || count < 2 || !only.owns_lock()) {
      for (std::int64_t k = 0; k < count; ++k) task(k);
      return;
    }
    gather();
    task_ = &task;
    call_ = [](const void* given, std::int64_t k) { (*static_cast<const Task*>(given))(k); };
    count_ = count;
    next_ = 0;
    open_ = true;
    ++round_;
    round_.notify_all();
    work();
    open_ = false;
    // Those who came in while it was open are at their last task.
    watch([this] { return inside_ > 0; });
    for (int there = inside_; there > 0; there = inside_) inside_.wait(there);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }

  static int process() {
#ifndef _WIN32
    return static_cast<int>(getpid());
#else
    return 0;
#endif
  }

  void gather() {
    if (!others_.empty() && process() == process_) return;
    // In a forked process the threads of the other one are not there: they cannot be joined.
    if (!others_.empty()) {
      static_cast<void>(new std::vector<std::thread>(std::move(others_)));
      inside_ = 0;
    }
    others_.clear();
    process_ = process();
    try {
      for (int t = 0; t < wanted_; ++t) {
        others_.emplace_back([this, seen = round_.load()] { follow(seen); });
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do the work.
      if (others_.empty()) wanted_ = 0;
    }
  }

  void dismiss() {
    if (others_.empty()) return;
    if (process() != process_) {
      static_cast<void>(new std::vector<std::thread>(std::move(others_)));
      return;
    }
    over_ = true;
    ++round_;
    round_.notify_all();
    for (std::thread& other : others_) other.join();
  }

  void work() {
    try {
      for (std::int64_t k = next_++; k < count_; k = next_++) call_(task_, k);
    } catch (...) {
      const std::scoped_lock lock(failure_lock_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
  }

  // Looks on for a while, as long as the condition holds.
  template <class Condition>
  static void watch(const Condition& holds) {
    const auto began = std::chrono::steady_clock::now();
    while (holds()) {
      const auto waited = std::chrono::steady_clock::now() - began;
      if (waited >= watched_) return;
      if (waited < alert_) {
        pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

  void follow(std::uint32_t seen) {
    while (true) {
      watch([&] { return round_ == seen; });
      round_.wait(seen);
      seen = round_;
      if (over_) return;
      ++inside_;
      // Whoever closes the round after this waits until `inside_` has fallen again.
      if (open_) work();
      if (--inside_ == 0) inside_.notify_all();
    }
  }

  static constexpr std::chrono::microseconds alert_{30}, watched_{1000};

  int wanted_;
  int process_ = 0;
  std::mutex in_use_;
  const void* task_ = nullptr;
  void (*call_)(const void*, std::int64_t) = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint32_t> round_{0};
  std::atomic<int> inside_{0};
  std::atomic<bool> open_{false}, over_{false};
  std::exception_ptr failure_;
  std::mutex failure_lock_;
  std::vector<std::thread> others_;
};

}  // namespace widemargin
