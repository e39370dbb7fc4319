#include "controller/mirror/pq/apart.h"

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace railgauge::pq {
namespace {

TEST(RunApart, ReturnsTheResult) {
  const auto text = run_apart([](const auto&) { return std::string("done"); }, 10, {});
  EXPECT_EQ(text, "done");
}

// A lookup of a name cannot be interrupted: whoever stops does not wait for it.
TEST(RunApart, LeavesBlockedWorkBehind) {
  const auto is_dropped = std::make_shared<std::atomic<bool>>(false);
  const auto block = [is_dropped](const std::atomic<bool>& is_given_up) {
    while (!is_given_up) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    *is_dropped = true;
    return 1;
  };
  const auto begin = std::chrono::steady_clock::now();
  int looks = 0;
  EXPECT_FALSE(run_apart(block, 60, [&looks] { return ++looks > 3; }));
  EXPECT_FALSE(run_apart(block, 0.05, {}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  for (int look = 0; look < 1'000 && !*is_dropped; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(*is_dropped);
}

}  // namespace
}  // namespace railgauge::pq
