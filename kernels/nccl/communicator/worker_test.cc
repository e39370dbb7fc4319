// A caller that waits for a call which may never return must itself return.
#include "kernels/nccl/communicator/worker.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

#include "kernels/core/base/clock.h"

namespace railgauge::nccl {
namespace {

using ::testing::HasSubstr;

class Watching : public ::testing::Test {
 protected:
  static constexpr double kLongNs = 60e9;
  static Watch for_long() {
    return {.deadline_monotonic_ns = monotonic_now_ns() + kLongNs, .stall_ns = kLongNs};
  }
  static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  Worker worker_{progress_};
};

TEST_F(Watching, GivesAJobsOwnEnd) {
  EXPECT_TRUE(worker_.run(
      "fine", [] { return Status{}; }, for_long()));
  const Status failed = worker_.run(
      "bad", [] { return fail(Code::kNotFound, "no such thing"); }, for_long());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no such thing");
  EXPECT_TRUE(worker_.run(
      "again", [] { return Status{}; }, for_long()));
}

TEST_F(Watching, StopsAJobThatLooksUp) {
  Watch watch = for_long();
  watch.stall_ns = 1e7;
  const Status stopped = worker_.run(
      "step",
      [progress = progress_]() -> Status {
        while (!progress->stopped()) nap();
        return progress->stopped_at("iteration 3");
      },
      watch);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(stopped.error().message, HasSubstr("iteration 3: not done after 0.0 s"));
  EXPECT_FALSE(worker_.lost());
  EXPECT_TRUE(worker_.run(
      "next", [] { return Status{}; }, for_long()))
      << "it holds no more";
}

TEST_F(Watching, LetsAJobGoOnThatComesAlong) {
  Watch watch = for_long();
  watch.stall_ns = 5e9;
  std::atomic<int> asked{0};
  watch.health = [&] {
    ++asked;
    return Status{};
  };
  EXPECT_TRUE(worker_.run(
      "step",
      [progress = progress_, &asked]() -> Status {
        while (asked < 3) {
          nap();
          progress->beat();
        }
        return progress->stopped() ? progress->stopped_at("work") : Status{};
      },
      watch));
}

TEST_F(Watching, StopsAJobWithWhatTheCommunicatorTells) {
  Watch watch = for_long();
  watch.health = [] { return fail(Code::kUnavailable, "a peer is gone"); };
  const Status stopped = worker_.run(
      "step",
      [progress = progress_]() -> Status {
        while (!progress->stopped()) nap();
        return progress->stopped_at("work");
      },
      watch);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kUnavailable);
  EXPECT_EQ(stopped.error().message, "work: a peer is gone");
  const Status after = worker_.run(
      "short", [] { return Status{}; }, watch);
  EXPECT_FALSE(after) << "asked at the end of a job too";
}

TEST_F(Watching, LeavesAJobBehindThatDoesNotLookUp) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  const auto over = std::make_shared<std::atomic<bool>>(false);
  Watch watch = for_long();
  watch.deadline_monotonic_ns = monotonic_now_ns() + 1e7;
  const Status left = worker_.run(
      "gpu0: join 2 ranks",
      [released, over]() -> Status {
        while (!*released) nap();
        *over = true;
        return {};
      },
      watch);
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(left.error().message,
              HasSubstr("gpu0: join 2 ranks: not done in time for the task's"));
  EXPECT_THAT(left.error().message, HasSubstr("(a call of NCCL or the driver hangs)"));
  EXPECT_TRUE(worker_.lost());
  EXPECT_FALSE(worker_.run(
      "next", [] { return Status{}; }, for_long()));
  *released = true;
  while (!*over) nap();
}

}  // namespace
}  // namespace railgauge::nccl
