// Tests that lanes hold, run and stamp their queued work, on the fake driver; its times mean
// nothing.
#include "kernels/cuda/route/lanes.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double soon() { return monotonic_now_ns() + 20e9; }

class GpuLanes : public gpu::OnFakes {
 protected:
  void SetUp() override {
    OnFakes::SetUp();
    gpus_.emplace_back(*gpu::Gpu::open("gpu0"));
    gpus_.emplace_back(*gpu::Gpu::open("gpu1"));
    ASSERT_TRUE(gpu(0).make_current());
    lanes_.emplace(*Lanes::create(gpu(0)));
  }
  void TearDown() override {
    lanes_.reset();
    gpus_.clear();
    OnFakes::TearDown();
  }
  const gpu::Gpu& gpu(std::size_t index) { return gpus_[index]; }
  Lanes& lanes() { return *lanes_; }

  // A lane whose operations only report their numbers.
  void add_telling(std::size_t on, std::vector<std::uint64_t>& told) {
    ASSERT_TRUE(lanes().add(gpu(on), [&told](cu::Stream, std::uint64_t operation) -> Status {
      told.push_back(operation);
      return {};
    }));
  }

 private:
  std::vector<gpu::Gpu> gpus_;
  std::optional<Lanes> lanes_;
};

TEST_F(GpuLanes, GiveOneRisingMarkForEachOfRepeatedOperations) {
  std::vector<std::uint64_t> first;
  std::vector<std::uint64_t> second;
  add_telling(0, first);
  add_telling(1, second);
  const auto marks = lanes().run({{.marks = 8, .repeat = 4}, {.marks = 3, .repeat = 1}}, soon());
  ASSERT_TRUE(marks) << marks.error().message;
  ASSERT_EQ(marks->size(), 2U);
  EXPECT_EQ(marks->at(0).marks_ns.size(), 8U);
  EXPECT_EQ(marks->at(1).marks_ns.size(), 3U);
  EXPECT_EQ(marks->at(0).opened_ns, 0);
  for (const auto& lane : *marks) {
    EXPECT_GT(lane.marks_ns.front(), lane.opened_ns);
    EXPECT_TRUE(std::ranges::is_sorted(lane.marks_ns, std::less_equal<>{}));
  }
  EXPECT_EQ(first.size(), 32U);
  EXPECT_THAT(second, ElementsAre(0, 1, 2));
}

// As where the first lane shares a hardware queue with the second one's copies.
TEST_F(GpuLanes, CountFromTheEarliestBeginOfTheirGpu) {
  auto other = gpu::StreamGate::create(gpu(0));
  ASSERT_TRUE(other);
  cu::Stream first = nullptr;
  cu::Stream second = nullptr;
  for (cu::Stream* stream : {&first, &second})
    ASSERT_TRUE(lanes().add(gpu(0), [stream](cu::Stream given, std::uint64_t) -> Status {
      *stream = given;
      return {};
    }));
  std::vector<std::uint64_t> told;
  add_telling(1, told);
  ASSERT_TRUE(lanes().touch(soon()));
  ASSERT_TRUE(other->hold(gpu(0), first));
  const double until = soon();
  const cu::Stream awaited = std::exchange(second, nullptr);
  std::atomic<bool> queued = false;
  std::thread opener([&] {
    ASSERT_TRUE(gpu(0).make_current());
    while (monotonic_now_ns() < until &&
           (!queued || loaded_cuda().stream_query(awaited) != cu::kSuccess))
      std::this_thread::yield();
    other->release();
  });
  ASSERT_TRUE(lanes().add(gpu(1), [&queued](cu::Stream, std::uint64_t) -> Status {
    queued = true;
    return {};
  }));
  const auto passed = lanes().run(std::vector<Lanes::Quota>(4, {.marks = 2, .repeat = 1}), until);
  opener.join();
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_GT(passed->at(0).opened_ns, passed->at(1).marks_ns.back());
  EXPECT_EQ(passed->at(1).opened_ns, 0);
  EXPECT_LT(passed->at(0).own_marks_ns().front(), passed->at(0).opened_ns);
  EXPECT_EQ(passed->at(1).own_marks_ns(), passed->at(1).marks_ns);
  EXPECT_EQ(std::min(passed->at(2).opened_ns, passed->at(3).opened_ns), 0);
  for (const auto& lane : *passed) {
    EXPECT_GT(lane.marks_ns.front(), 0);
    EXPECT_TRUE(std::ranges::is_sorted(lane.marks_ns, std::less_equal<>{}));
  }
}

// Where a rotating copy goes depends on it.
TEST_F(GpuLanes, CountOperationsOnFromOneRunToTheNext) {
  std::vector<std::uint64_t> told;
  add_telling(0, told);
  ASSERT_TRUE(lanes().touch(soon()));
  ASSERT_TRUE(lanes().run({{.marks = 1, .repeat = 2}}, soon()));
  ASSERT_TRUE(lanes().run_by_cpu(fake::test_clock(), {.marks = 2, .repeat = 1}, soon()));
  EXPECT_THAT(told, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(lanes().operations(0), 5U);
}

TEST_F(GpuLanes, RunNothingOfAnyLaneBeforeAllIsQueued) {
  bool idle = false;
  std::vector<cu::Stream> streams;
  for (const std::size_t on : {0U, 1U})
    ASSERT_TRUE(lanes().add(gpu(on), [&](cu::Stream stream, std::uint64_t) -> Status {
      if (std::ranges::find(streams, stream) == streams.end()) streams.push_back(stream);
      for (const cu::Stream seen : streams)
        idle = idle || loaded_cuda().stream_query(seen) == cu::kSuccess;
      return {};
    }));
  ASSERT_TRUE(lanes().run({{.marks = 4, .repeat = 2}, {.marks = 4, .repeat = 2}}, soon()));
  EXPECT_EQ(streams.size(), 2U);
  EXPECT_FALSE(idle);
}

// Work that waits for the GPU would wait for ever behind a closed gate.
TEST_F(GpuLanes, MakeNoEventWhileTheGateIsClosed) {
  std::vector<std::uint64_t> told;
  add_telling(0, told);
  add_telling(1, told);
  cuda_control().reset();
  ASSERT_TRUE(lanes().run({{.marks = 5, .repeat = 1}, {.marks = 7, .repeat = 1}}, soon()));
  const auto names = cuda_control().call_names();
  const auto closed = std::ranges::find_if(
      names, [](const std::string& name) { return name.starts_with("cuStreamWaitValue32"); });
  ASSERT_NE(closed, names.end());
  EXPECT_EQ(std::count(names.begin(), closed, "cuEventCreate"), 5 + 7);
  EXPECT_EQ(std::count(closed, names.end(), "cuEventCreate"), 0);
}

TEST_F(GpuLanes, GoOnAfterAnOperationThatCannotBeQueued) {
  std::vector<std::uint64_t> told;
  add_telling(0, told);
  bool refuse = true;
  cu::Stream stream = nullptr;
  ASSERT_TRUE(lanes().add(gpu(1), [&](cu::Stream given, std::uint64_t) -> Status {
    stream = given;
    if (refuse) return fail(Code::kInternal, "no");
    return {};
  }));
  const auto failed = lanes().run({{.marks = 4, .repeat = 1}, {.marks = 4, .repeat = 1}}, soon());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no");
  EXPECT_EQ(told.size(), 4U);
  EXPECT_EQ(loaded_cuda().stream_query(stream), cu::kSuccess) << "the gate stayed closed";
  refuse = false;
  EXPECT_TRUE(lanes().run({{.marks = 1, .repeat = 1}, {.marks = 1, .repeat = 1}}, soon()));
}

TEST_F(GpuLanes, WaiveWithoutStreamMemoryOperations) {
  std::vector<std::uint64_t> told;
  add_telling(0, told);
  cuda_control().no_stream_memops = 1;
  const auto held = lanes().run({{.marks = 1, .repeat = 1}}, soon());
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::kUnimplemented);
  EXPECT_TRUE(told.empty());
}

TEST_F(GpuLanes, SayWhichGpuWasNotDoneAtTheDeadline) {
  auto other = gpu::StreamGate::create(gpu(0));  // simulates a copy that does not end
  ASSERT_TRUE(other);
  ASSERT_TRUE(lanes().add(
      gpu(1), [&](cu::Stream stream, std::uint64_t) { return other->hold(gpu(1), stream); }));
  const auto late = lanes().run({{.marks = 1, .repeat = 1}}, monotonic_now_ns() + 5e6);
  other->release();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("gpu1: measure copies: not done at the task's "));
}

TEST_F(GpuLanes, StampByTheCpuWhatBlocksTheCaller) {
  std::vector<std::uint64_t> told;
  add_telling(0, told);
  const auto marks = lanes().run_by_cpu(fake::test_clock(), {.marks = 3, .repeat = 2}, soon());
  ASSERT_TRUE(marks) << marks.error().message;
  EXPECT_EQ(marks->size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(*marks));
  EXPECT_EQ(told.size(), 6U);
}

}  // namespace
}  // namespace railgauge::cuda
