// A device that vanishes in the middle of the timed part and does not come back, in each manner of
// measuring: every later call of libibverbs fails, releases too, or posts are taken and polls find
// nothing, with or without an event of the device. A GPU that vanishes under a transfer is here
// too.
#include <infiniband/verbs.h>

#include <functional>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/testing/memory_fixture.h"

namespace railgauge {
namespace {

// The stall limit, and what a loaded machine may take beside it.
constexpr const char* kStallLimit = "400ms";
constexpr double kMostSeconds = 8;
constexpr std::uint64_t kLostAt = 300;  // a data operation of the timed part

struct Manner {
  const char* name;
  const char* kernel;
  Parameters parameters{};
};
void PrintTo(const Manner& manner, std::ostream* out) { *out << manner.name; }

// Each task would have far more messages, or a longer time, than the device lives.
std::vector<Manner> manners() {
  return {
      {"WriteBw", "verbs.write_bw"},
      {"WriteBwForATime", "verbs.write_bw", {{"duration", "10s"}, {"iterations", "0"}}},
      {"WriteBwBothWays", "verbs.write_bw", {{"direction", "both"}, {"iterations", "0"}}},
      {"WriteBwWithEvents", "verbs.write_bw", {{"poll", "events"}}},
      {"WriteBwOfRails",
       "verbs.write_bw",
       {{"devices", "fake0:1,fake1:1"}, {"iterations", "0"}, {"duration", "10s"}}},
      {"WriteBwOfGpus", "verbs.write_bw", {{"memory", "cuda"}}},
      {"WriteBwStaged", "verbs.write_bw", {{"memory", "staged"}}},
      {"WriteImmBw", "verbs.write_imm_bw"},
      {"ReadBw", "verbs.read_bw"},
      {"SendBw", "verbs.send_bw"},
      {"SendBwShared", "verbs.send_bw", {{"srq", "true"}}},
      {"SendBwOfDatagrams", "verbs.send_bw", {{"transport", "UD"}}},
      {"AtomicBw", "verbs.atomic_bw"},
      {"WriteLat", "verbs.write_lat"},
      {"WriteLatStaged", "verbs.write_lat", {{"memory", "staged"}}},
      {"WriteImmLat", "verbs.write_imm_lat"},
      {"SendLat", "verbs.send_lat"},
      {"SendLatWithEvents", "verbs.send_lat", {{"poll", "events"}}},
      {"ReadLat", "verbs.read_lat"},
      {"ReadLatWithEvents", "verbs.read_lat", {{"poll", "events"}}},
      {"AtomicLat", "verbs.atomic_lat"},
      {"WriteVisibleLat", "verbs.write_visible_lat"},
  };
}

class LostDevice : public Memories, public ::testing::WithParamInterface<Manner> {
 protected:
  void TearDown() override {
    verbs_control().on_data_write = nullptr;
    Memories::TearDown();
  }
  static auto run_long(const Manner& manner) {
    Parameters parameters = manner.parameters;
    parameters.insert({{"sizes", "64"}, {"iterations", "100000"}, {"stall_timeout", kStallLimit}});
    return run(manner.kernel, parameters);
  }
  // Runs until `lose` has been called; the task ends in time and says who was lost where.
  template <class Lose>
  static void expect_told_in_time(const Manner& manner, const std::string& call, Lose lose) {
    verbs_control().on_data_write = [lose](std::uint64_t number) {
      if (number == kLostAt) lose();
    };
    const double begin_ns = monotonic_now_ns();
    ::testing::internal::CaptureStderr();  // releases that fail are a line each
    const auto results = run_long(manner);
    ::testing::internal::GetCapturedStderr();
    EXPECT_LT((monotonic_now_ns() - begin_ns) / 1e9, kMostSeconds);
    ASSERT_GE(verbs_control().data_writes, kLostAt) << "it was never lost";
    std::string all;
    for (const RankResult& result : results) {
      EXPECT_TRUE(result.points.empty());
      ASSERT_FALSE(result.status);
      expect_clear(result.status, 0);
      EXPECT_NE(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_THAT(result.status.error().message, ::testing::ContainsRegex("fake[01]:1|gpu[01]"));
      all += result.status.error().message + "\n";
    }
    EXPECT_THAT(all, ::testing::ContainsRegex(call));
    expect_nothing_left(manner.name);
  }
};

void lose_adapter() { verbs_control().fail_from = verbs_control().calls + 1; }

TEST_P(LostDevice, WhoseCallsAllFailEndsTheTask) {
  expect_told_in_time(GetParam(), "post: |poll the completion queue|completion event",
                      lose_adapter);
}

TEST_P(LostDevice, ThatSaysNothingEndsTheTaskWithinItsStallLimit) {
  verbs_control().fail_quietly = 1;
  expect_told_in_time(GetParam(), "does not answer ibv_query_qp|completion event", lose_adapter);
}

INSTANTIATE_TEST_SUITE_P(Manners, LostDevice, ::testing::ValuesIn(manners()),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

// An event that ends every measurement.
struct Told {
  const char* name;
  int type;
  const char* words;
};
void PrintTo(const Told& told, std::ostream* out) { *out << told.name; }

class ToldLoss : public Memories, public ::testing::WithParamInterface<Told> {
 protected:
  void TearDown() override {
    verbs_control().on_data_write = nullptr;
    Memories::TearDown();
  }
  // No limit is near, so that only the event can end the task.
  static auto run_until(const Manner& manner, const std::function<void()>& lose) {
    verbs_control().on_data_write = [lose](std::uint64_t number) {
      if (number == kLostAt) lose();
    };
    Parameters parameters = manner.parameters;
    parameters.insert({{"sizes", "64"}, {"iterations", "1000000"}, {"stall_timeout", "60s"}});
    const double begin_ns = monotonic_now_ns();
    ::testing::internal::CaptureStderr();
    auto results = run(manner.kernel, parameters);
    ::testing::internal::GetCapturedStderr();
    EXPECT_LT((monotonic_now_ns() - begin_ns) / 1e9, kMostSeconds) << manner.name;
    return results;
  }
  static std::vector<Manner> waits() {
    return {{"WriteBw", "verbs.write_bw"},
            {"WriteBwWithEvents", "verbs.write_bw", {{"poll", "events"}}},
            {"SendBw", "verbs.send_bw"},
            {"WriteLat", "verbs.write_lat"},
            {"ReadLatWithEvents", "verbs.read_lat", {{"poll", "events"}}}};
  }
};

// Posts are taken and polls find nothing; the devices say why.
TEST_P(ToldLoss, OfADeviceThatSaysNothingElseEndsTheTaskAtOnceAndCountsNothing) {
  for (const Manner& manner : waits()) {
    verbs_control().reset();
    verbs_control().fail_quietly = 1;
    const auto results = run_until(manner, [] {
      lose_adapter();
      fake::tell_async_event(GetParam().type);
    });
    for (const RankResult& result : results) {
      EXPECT_TRUE(result.points.empty());
      ASSERT_FALSE(result.status) << manner.name;
      expect_clear(result.status, 0);
    }
    EXPECT_THAT(results[0].status.error().message + results[1].status.error().message,
                ::testing::AllOf(::testing::HasSubstr(GetParam().words),
                                 ::testing::HasSubstr("while in use: ")))
        << manner.name;
    expect_nothing_left(manner.name);
  }
}

// Data still moves: the event alone ends the task, on the side of that device.
TEST_P(ToldLoss, OfOneSidesDeviceEndsTheTaskBetweenTwoBatches) {
  for (const Manner& manner : waits()) {
    verbs_control().reset();
    const auto results =
        run_until(manner, [] { fake::tell_async_event(GetParam().type, "fake0"); });
    ASSERT_FALSE(results[0].status) << manner.name;
    EXPECT_EQ(results[0].status.error().code, Code::kUnavailable);
    EXPECT_THAT(results[0].status.error().message, ::testing::HasSubstr(GetParam().words));
    EXPECT_FALSE(results[1].status) << manner.name;
    for (const RankResult& result : results) EXPECT_TRUE(result.points.empty());
    expect_nothing_left(manner.name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Events, ToldLoss,
    ::testing::Values(Told{"DeviceFatal", IBV_EVENT_DEVICE_FATAL,
                           "fake0: device removed or in a fatal state (IBV_EVENT_DEVICE_FATAL)"},
                      Told{"PortErr", IBV_EVENT_PORT_ERR,
                           "fake0:1: port went down (IBV_EVENT_PORT_ERR)"},
                      Told{"QueuePairFatal", IBV_EVENT_QP_FATAL,
                           "fake0:1: queue pair broke (IBV_EVENT_QP_FATAL)"}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

// Events of a healthy device end nothing.
TEST_F(Memories, EventsOfOtherKindsAndPortsEndNoTask) {
  verbs_control().on_data_write = [](std::uint64_t number) {
    if (number != kLostAt) return;
    fake::tell_async_event(IBV_EVENT_COMM_EST);
    fake::tell_async_event(IBV_EVENT_PORT_ACTIVE);
    fake::tell_async_event(IBV_EVENT_LID_CHANGE);
  };
  const auto results = run("verbs.write_bw", {{"sizes", "64"}, {"iterations", "5000"}});
  verbs_control().on_data_write = nullptr;
  for (const RankResult& result : results) EXPECT_TRUE(result.status);
}

class LostGpu : public LostDevice {};

TEST_P(LostGpu, EndsTheTaskThatCopiesToIt) {
  cuda_control().fail_error = cu::kUnknown;
  expect_told_in_time(GetParam(), "CUDA_ERROR_UNKNOWN",
                      [] { cuda_control().fail_from = cuda_control().calls + 1; });
}

INSTANTIATE_TEST_SUITE_P(
    Manners, LostGpu,
    ::testing::Values(Manner{"WriteBwStaged", "verbs.write_bw", {{"memory", "staged"}}},
                      Manner{"WriteLatStaged", "verbs.write_lat", {{"memory", "staged"}}},
                      Manner{"WriteVisibleLat", "verbs.write_visible_lat"}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

}  // namespace
}  // namespace railgauge
