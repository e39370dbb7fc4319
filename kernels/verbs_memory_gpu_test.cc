// Verbs kernels on real GPU memory, over the fake wire, which copies by cuMemcpy: polling kernels,
// flushes, staged pipelines, patterns and the driver's exports are real, only the wire is not. Each
// point is thus synthetic and does not describe a fabric. Waives without a GPU.
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/solo.h"
#include "kernels/testing/gpu_presence.h"

namespace railgauge {
namespace {

struct Way {
  const char* kernel;
  const char* memory;
  const char* target_memory;
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.kernel << " " << way.memory << " " << way.target_memory;
}

// The wire copies on the CPU's word, one message after another: few large ones on their way.
constexpr const char* kSizes = "8,64KiB,1MiB";

std::vector<Way> ways() {
  return {{"verbs.write_bw", "cuda", "same"},      {"verbs.write_bw", "cuda", "host"},
          {"verbs.write_bw", "host", "cuda"},      {"verbs.write_bw", "staged", "same"},
          {"verbs.write_bw", "staged", "cuda"},    {"verbs.write_bw", "host", "staged"},
          {"verbs.send_bw", "cuda", "same"},       {"verbs.send_bw", "staged", "same"},
          {"verbs.write_imm_bw", "cuda", "same"},  {"verbs.write_imm_bw", "staged", "same"},
          {"verbs.read_bw", "cuda", "same"},       {"verbs.read_lat", "cuda", "same"},
          {"verbs.send_lat", "cuda", "same"},      {"verbs.send_lat", "staged", "same"},
          {"verbs.write_imm_lat", "cuda", "same"}, {"verbs.write_lat", "staged", "same"},
          {"verbs.atomic_lat", "cuda", "same"},    {"verbs.atomic_bw", "cuda", "same"},
          {"verbs.write_visible_lat", "", ""}};
}

class VerbsOnAGpu : public ::testing::TestWithParam<Way> {
 protected:
  // The fake wire is in lib beside the folder of the programs, in the build as in the bundle.
  static void SetUpTestSuite() {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    const auto fake = program.parent_path().parent_path() / "lib" / "libibverbs-fake.so";
    setenv(kVerbsLibraryVariable, fake.c_str(), 1);
  }
  void SetUp() override { need_whole_gpus(); }
  static auto run(const Way& way, std::map<std::string, std::string> wanted) {
    const KernelRow& row = *find_kernel(way.kernel);
    wanted.insert({{"memory", way.memory},
                   {"target_memory", way.target_memory},
                   {"sizes", kSizes},
                   {"time_cap", "1s"},
                   {"depth", "16"},
                   {"busy", "measure"},
                   {"min_samples", "5"},
                   {"stall_timeout", "5s"}});
    const auto is_staged = [](std::string_view memory) { return memory == "staged"; };
    const bool stages = is_staged(way.memory) || is_staged(way.target_memory);
    if (stages)
      wanted["signal_every"] = "1";  // as each chunk completes
    else
      wanted.insert({{"signal_every", "4"}, {"receive_depth", "32"}});
    return fake::run_pair(
        row, {.parameters = fake::declared_among(row.info(), wanted), .deadline_seconds = 60});
  }
};

TEST_P(VerbsOnAGpu, MeasuresVerifiedFiguresThatAreMarkedSynthetic) {
  const Way& way = GetParam();
  const auto results = run(way, {});
  for (const fake::RankResult& result : results)
    ASSERT_TRUE(result.status) << result.status.error().message;
  const auto& facts = results[0].facts;
  std::printf(
      "%s: %s by %s to %s by %s%s\n", way.kernel, facts.at("memory").c_str(),
      facts.at("path").c_str(), facts.at("peer_memory").c_str(), facts.at("peer_path").c_str(),
      facts.contains("path_refused") ? (", refused: " + facts.at("path_refused")).c_str() : "");
  ASSERT_FALSE(results[0].points.empty());
  for (const Point& point : results[0].points) {
    EXPECT_TRUE(point.synthetic());
    EXPECT_TRUE(point.verified());
    EXPECT_GT(point.median(), 0);
    std::printf("  %s %s %.0f B: %.6g (n %.0f)\n", point.metric().c_str(), point.meaning().c_str(),
                point.message_bytes(), point.median(), point.sample_count());
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, VerbsOnAGpu, ::testing::ValuesIn(ways()), [](const auto& param) {
  std::string name = std::string(param.param.kernel).substr(6);
  for (const char* part : {param.param.memory, param.param.target_memory})
    if (*part != '\0') name += std::string("_") + part;
  return name;
});

TEST_F(VerbsOnAGpu, AnExportThatIsForcedIsTheDriversOwn) {
  const auto results =
      run({"verbs.write_bw", "cuda", "same"}, {{"registration", "dma-buf"}, {"iterations", "10"}});
  if (!results[0].status) {
    ASSERT_EQ(outcome_of(results[0].status.error().code), kWaived)
        << results[0].status.error().message;
    GTEST_SKIP() << results[0].status.error().message;
  }
  EXPECT_EQ(results[0].facts.at("path"), "dma-buf");
}

}  // namespace
}  // namespace railgauge
