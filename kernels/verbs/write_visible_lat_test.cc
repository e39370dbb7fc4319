// A platform without ordered remote writes: a running kernel sees them late unless they were
// flushed, so a figure that claims a flush fails without one.
#include "kernels/verbs/testing/memory_fixture.h"

namespace railgauge {
namespace {

constexpr std::uint64_t kHoldUs = 20'000;
constexpr const char* kKernel = "verbs.write_visible_lat";

class HeldBack : public Memories {
 protected:
  void SetUp() override {
    Memories::SetUp();
    cuda_control().hold_writes_us = kHoldUs;
    cuda_control().writes_ordering = 0;
  }
  static auto run_few(Parameters wanted) {
    wanted.insert({{"iterations", "5"}, {"sizes", "64"}});
    return run(kKernel, std::move(wanted));
  }
  static const Point* point_of(const RankResult& result, std::string_view meaning) {
    for (const Point& point : result.points)
      if (point.meaning() == meaning) return &point;
    return nullptr;
  }
};

TEST_F(HeldBack, AKernelThatPollsUnflushedMemoryWaitsAndAFlushedOneSeesAtOnce) {
  const auto results = run_few({});
  expect_passed(results, "held back");
  const Point* polled = point_of(results[0], "gpu_visible");
  const Point* flushed = point_of(results[0], "gpu_visible_flushed");
  ASSERT_NE(polled, nullptr);
  ASSERT_NE(flushed, nullptr);
  EXPECT_GE(polled->min(), kHoldUs * 1e3);
  EXPECT_EQ(flushed->facts().at("flushed_by"), "cuFlushGPUDirectRDMAWrites");
  EXPECT_EQ(cuda_control().flushes, 5U);
}

// The passing case above fails here: the answer depends on the flush.
TEST_F(HeldBack, AFlushThatDoesNothingIsFoundByTheStaleFlag) {
  cuda_control().hold_writes_us = 1'000'000;
  cuda_control().flush_does_nothing = 1;
  const auto results = run_few({{"iterations", "1"}, {"stall_timeout", "10s"}});
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    EXPECT_THAT(
        result.status.error().message,
        HasSubstr("fake1:1: gpu_visible_flushed of 64: after cuFlushGPUDirectRDMAWrites the "
                  "GPU still saw the flag of an earlier message, 1 times of 1, expected its own"));
  }
}

TEST_F(HeldBack, ReadingBackIsTheFlushWhereTheHostHasNone) {
  cuda_control().no_flush = 1;
  const auto results = run_few({});
  expect_passed(results, "read back");
  EXPECT_EQ(point_of(results[0], "gpu_visible_flushed"), nullptr);
  const Point* read_back = point_of(results[0], "gpu_visible_read_back");
  ASSERT_NE(read_back, nullptr);
  EXPECT_EQ(read_back->facts().at("flushed_by"), "RDMA read");
  EXPECT_EQ(cuda_control().flushes, 0U);
}

TEST_F(HeldBack, ThePlatformsNeedAndItsWaysAreFacts) {
  const auto results = run_few({});
  expect_passed(results, "facts");
  for (const RankResult& result : results) {
    EXPECT_EQ(result.facts.at("rdma_writes_ordering"), "none");
    EXPECT_EQ(result.facts.at("flush_required"), "true");
    EXPECT_EQ(result.facts.at("flush_options"), "host");
    EXPECT_THAT(result.notes, Contains(HasSubstr("orders remote writes for nobody")));
  }
  cuda_control().writes_ordering = cu::kWritesOrderedForOwner;
  const auto ordered = run_few({});
  expect_passed(ordered, "ordered");
  EXPECT_EQ(ordered[0].facts.at("flush_required"), "false");
  EXPECT_THAT(ordered[0].notes, Not(Contains(HasSubstr("orders remote writes for nobody"))));
}

TEST_F(Memories, ReadingBackSurvivesAFailureOfEachCallOfEachLibrary) {
  setenv("RAILGAUGE_FAKE_CUDA", "no_flush=1", 1);
  walk(kKernel, {{"sizes", "64KiB"}, {"iterations", "2"}, {"stall_timeout", "100ms"}});
  unsetenv("RAILGAUGE_FAKE_CUDA");
}

}  // namespace
}  // namespace railgauge
