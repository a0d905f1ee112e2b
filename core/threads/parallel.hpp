// Numbered tasks shared out among a few threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace widemargin {

// Asked now and then by the calling thread; true means: give up.
using Interrupted = std::function<bool()>;

struct InterruptedError : std::runtime_error {
  InterruptedError() : std::runtime_error("interrupted") {}
};

// Runs task(0) ... task(count - 1), in about that order, each once. The calling thread works too.
template <class Task>
void run_tasks(std::int64_t count, int threads, const Interrupted& interrupted, const Task& task) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failure_lock;

  const auto work = [&](bool calling) {
    try {
      while (!stop) {
        const std::int64_t i = next++;
        if (i >= count) return;
        task(i);
        if (calling && interrupted && interrupted()) throw InterruptedError();
      }
    } catch (...) {
      const std::scoped_lock lock(failure_lock);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (std::int64_t t = 1; t < threads && t < count; ++t) {
        others.emplace_back(work, false);
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do the work.
    }
    work(true);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace widemargin
