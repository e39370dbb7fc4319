#include "kernels/testing/gpu_presence.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/fakes/gpu_fixture.h"

namespace railgauge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = GpuPresence::Kind;

Result<int> none() { return fail(Code::kNotFound, "count the GPUs: there is none"); }

TEST(GpuPresence, UsableIsWhatCudaShows) {
  const GpuPresence presence = judge_gpu_presence(2, {});
  EXPECT_EQ(presence.kind, Kind::kUsable);
  EXPECT_EQ(presence.count, 2);
}

TEST(GpuPresence, AbsentIsWhatNothingShows) {
  for (const Code code : {Code::kNotFound, Code::kUnimplemented, Code::kFailedPrecondition}) {
    const GpuPresence presence = judge_gpu_presence(fail(code, "no driver"), {});
    EXPECT_EQ(presence.kind, Kind::kAbsent);
    EXPECT_EQ(presence.why, "no driver");
  }
}

TEST(GpuPresence, BrokenIsWhatAnotherPartOfTheDriverShows) {
  const GpuPresence listed = judge_gpu_presence(none(), {.listed = 8, .nodes = {"/dev/nvidia0"}});
  EXPECT_EQ(listed.kind, Kind::kBroken);
  EXPECT_EQ(listed.why, "NVML shows 8 GPUs, CUDA none: count the GPUs: there is none");
  const GpuPresence node = judge_gpu_presence(fail(Code::kFailedPrecondition, "fabric manager"),
                                              {.nodes = {"/dev/nvidia3"}});
  EXPECT_EQ(node.kind, Kind::kBroken);
  EXPECT_EQ(node.why, "/dev/nvidia3 is there, but CUDA shows no GPU: fabric manager");
}

TEST(GpuPresence, BrokenIsADriverThatFailsForNoReasonThatWaives) {
  const GpuPresence presence = judge_gpu_presence(fail(Code::kInternal, "unknown error"), {});
  EXPECT_EQ(presence.kind, Kind::kBroken);
  EXPECT_THAT(presence.why, HasSubstr("unknown error"));
}

TEST(GpuPresence, GpusThatAreAllPartitionedWithoutASliceAreAbsent) {
  const GpuEvidence all{.listed = 2, .partitioned = 2, .nodes = {"/dev/nvidia0"}};
  EXPECT_EQ(judge_gpu_presence(none(), all).kind, Kind::kAbsent);
  EXPECT_EQ(judge_gpu_presence(fail(Code::kInternal, "unknown"), all).kind, Kind::kBroken);
  EXPECT_EQ(judge_gpu_presence(none(), {.listed = 2, .partitioned = 1, .nodes = {}}).kind,
            Kind::kBroken);
}

class OnFakeParts : public gpu::OnFakes {};

TEST_F(OnFakeParts, NvmlTellsHowManyAndWhichArePartitioned) {
  fake::nvml_control().gpus = 2;
  const GpuEvidence whole = find_gpu_evidence("/nonexistent");
  EXPECT_EQ(whole.listed, 2U);
  EXPECT_EQ(whole.partitioned, 0U);
  EXPECT_TRUE(whole.nodes.empty());
  fake::nvml_control().mig = 1;
  EXPECT_EQ(find_gpu_evidence("/nonexistent").partitioned, 2U);
}

TEST_F(OnFakeParts, DeviceNodesAreTheGpusOwn) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("gpu_presence_nodes_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  for (const char* name : {"nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia", "null"})
    std::ofstream(folder / name).put('x');
  EXPECT_THAT(find_gpu_evidence(folder.string()).nodes,
              ElementsAre((folder / "nvidia0").string(), (folder / "nvidia1").string()));
  std::filesystem::remove_all(folder);
}

TEST_F(OnFakeParts, ASliceIsKnownByItsName) {
  EXPECT_EQ(gpu_presence().kind, Kind::kUsable);
  EXPECT_FALSE(is_gpu_slice(0));
  fake::cuda_control().mig = 1;
  EXPECT_TRUE(is_gpu_slice(0));
  EXPECT_FALSE(is_gpu_slice(1000));
}

}  // namespace
}  // namespace railgauge
