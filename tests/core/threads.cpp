// Teams of threads: every task once, and what follows in order.
#include <atomic>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "structures/balanced.hpp"
#include "threads/pool.hpp"
#include "threads/team.hpp"

namespace wm = widemargin;

TEST(team_finishes_tasks_in_order_after_all_of_them) {
  for (const int threads : {1, 2, 3, 5}) {
    wm::Team team(threads);
    for (std::int64_t round = 0; round < 300; ++round) {
      const std::int64_t count = round % 23;
      std::vector<int> runs(static_cast<std::size_t>(count), 0);
      std::vector<std::int64_t> order;
      std::atomic<std::int64_t> done{0};
      bool early = false;
      const auto task = [&](std::int64_t k, int worker) {
        CHECK(worker >= 0 && worker < threads);
        ++runs[static_cast<std::size_t>(k)];
        ++done;
      };
      if (round % 3 == 0) {
        team.run(count, task);  // in between, rounds with nothing to finish
      } else {
        team.run_in_order(count, task, [&](std::int64_t k) {
          early |= done != count;
          order.push_back(k);
        });
        CHECK(std::ssize(order) == count);
      }
      CHECK(done == count && !early);
      for (const int each : runs) CHECK(each == 1);
      for (std::int64_t k = 0; k < std::ssize(order); ++k) {
        CHECK(order[static_cast<std::size_t>(k)] == k);
      }
    }
  }
}

TEST(team_passes_on_what_a_task_throws_and_goes_on) {
  for (const int threads : {1, 2, 3}) {
    wm::Team team(threads);
    for (const bool last : {false, true}) {
      bool thrown = false;
      try {
        team.run_in_order(
            9,
            [&](std::int64_t k, int) {
              if (!last && k == 4) throw std::runtime_error("task");
            },
            [&](std::int64_t k) {
              if (last && k == 4) throw std::runtime_error("finish");
            });
      } catch (const std::runtime_error&) {
        thrown = true;
      }
      CHECK(thrown);
      std::int64_t sum = 0;
      team.run_in_order(9, [](std::int64_t, int) {}, [&](std::int64_t k) { sum += k; });
      CHECK(sum == 36);
    }
  }
}

TEST(pool_runs_each_task_once_and_passes_on_what_one_throws) {
  wm::Pool pool(3);
  for (int call = 0; call < 300; ++call) {
    std::vector<std::atomic<int>> runs(17);
    bool thrown = false;
    try {
      pool.run(17, [&](std::int64_t k) {
        ++runs[static_cast<std::size_t>(k)];
        if (call % 3 == 0 && k == 9) throw std::runtime_error("the tenth");
      });
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    CHECK(thrown == (call % 3 == 0));
    for (const auto& times : runs) CHECK(thrown ? times <= 1 : times == 1);
  }
}

#if defined(CLOCK_THREAD_CPUTIME_ID)
TEST(pool_sleeps_while_another_thread_finishes_a_long_task) {
  const auto cpu_seconds = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  wm::Pool pool(2);
  const auto calling = std::this_thread::get_id();
  std::atomic<bool> begun{false};
  const double before = cpu_seconds();
  pool.run(2, [&](std::int64_t) {
    if (std::this_thread::get_id() != calling) {
      begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds{300});
      return;
    }
    for (int look = 0; look < 2000 && !begun; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  });
  CHECK(begun);
  CHECK(cpu_seconds() - before < 0.02);
}
#endif

TEST(batches_have_their_longest_tasks_at_both_ends) {
  const std::vector<std::int64_t> length{3, 9, 1, 7, 5, 2, 8, 4, 6, 0};
  std::vector<std::int64_t> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  wm::balance(order, 4, [&](std::int64_t i) { return length[static_cast<std::size_t>(i)]; });
  CHECK((order == std::vector<std::int64_t>{1, 0, 2, 3, 6, 7, 5, 4, 8, 9}));
  wm::balance(order, 1, [](std::int64_t) { return 0; });
  CHECK(order.front() == 1 && order.back() == 9);
}
