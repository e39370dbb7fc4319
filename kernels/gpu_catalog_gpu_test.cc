// Every GPU kernel of the catalog on the GPUs of this machine: it passes with verified data and
// real figures, or it waives with a reason. What the fakes cannot show, machine code, PTX, events
// and the BAR's backends, runs here. Without a GPU the program waives.
#include <gmock/gmock.h>

#include <cstdio>

#include "kernels/catalog.h"
#include "kernels/core/outcome.h"
#include "kernels/fakes/solo.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/pattern.h"

namespace railgauge::gpu {
extern const DeviceCode kPatternCode;
}  // namespace railgauge::gpu

namespace railgauge {
namespace {

struct Way {
  std::string kernel;
  std::map<std::string, std::string> parameters;
};

// Below the L2 of any GPU and above it: the first rotates through memory, the second does not.
constexpr const char* kSizes = "64KiB,256MiB";

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    const bool on_gpu = info.name().starts_with("cuda.") || info.name().starts_with("bar.");
    if (!on_gpu) continue;
    const auto with = [&](std::map<std::string, std::string> wanted) {
      wanted.insert({{"time_cap", "200ms"}, {"min_samples", "5"}, {"busy", "measure"}});
      if (info.name().starts_with("cuda.") && info.name().ends_with("_bw"))
        wanted["sizes"] = kSizes;
      auto declared = fake::declared_among(info, wanted);
      const bool known = std::ranges::none_of(all, [&](const Way& way) {
        return way.kernel == info.name() && way.parameters == declared;
      });
      if (known) all.push_back({info.name(), std::move(declared)});
    };
    for (const char* engine : {"ce", "sm"})
      for (const char* both : {"false", "true"})
        for (const char* direction : {"h2d", "d2h", "read", "write"}) {
          std::map<std::string, std::string> wanted{{"engine", engine}, {"bidirectional", both}};
          for (const ParameterInfo& parameter : info.parameters())
            if (parameter.name() == "direction" &&
                std::ranges::find(parameter.choices(), direction) != parameter.choices().end())
              wanted["direction"] = direction;
          with(std::move(wanted));
        }
  }
  return all;
}

class OnAGpu : public ::testing::TestWithParam<Way> {};

TEST_P(OnAGpu, MeasuresVerifiedFiguresOrWaivesWithAReason) {
  if (const auto count = gpu::Gpu::count(); !count) GTEST_SKIP() << count.error().message;
  const Way& way = GetParam();
  const bool several = find_kernel(way.kernel)->info().endpoint_kind() == "none";
  const fake::RankResult result = fake::run_solo(
      *find_kernel(way.kernel),
      {.parameters = way.parameters, .endpoint = several ? "" : "gpu0", .deadline_seconds = 60});
  if (!result.status) {
    const Error& error = result.status.error();
    ASSERT_EQ(outcome_of(error.code), kWaived) << error.message;
    GTEST_SKIP() << error.message;
  }
  ASSERT_FALSE(result.points.empty());
  for (const Point& point : result.points) {
    EXPECT_FALSE(point.synthetic());
    EXPECT_GT(point.median(), 0) << point.metric();
    // Mapping moves no data, and a crossover is made of verified points.
    const bool no_data = way.kernel == "bar.map_cost" || point.metric() == "crossover_bytes";
    EXPECT_TRUE(point.verified() || no_data) << point.metric();
    std::printf("%s %s %s %.0f B: %.6g (n %.0f)\n", way.kernel.c_str(), point.pair().c_str(),
                point.metric().c_str(), point.message_bytes(), point.median(),
                point.sample_count());
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, OnAGpu, ::testing::ValuesIn(ways()), [](const auto& param) {
  std::string name = param.param.kernel;
  for (const auto& [parameter, value] : param.param.parameters)
    if (parameter == "engine" || parameter == "bidirectional" || parameter == "direction")
      name += "_" + value;
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
});

TEST(DeviceCodeOnAGpu, TheDriverCompilesThePtxAndItDoesTheSame) {
  auto opened = gpu::Gpu::open("gpu0");
  if (!opened) GTEST_SKIP() << opened.error().message;
  gpu::DeviceCode code = gpu::kPatternCode;
  code.cubins = {};  // as on a driver older than the compiler
  const auto loaded = gpu::LoadedCode::load(*opened, code);
  if (!loaded) GTEST_SKIP() << loaded.error().message;
  EXPECT_THAT(loaded->image(), ::testing::HasSubstr("compiled by the driver"));
  EXPECT_TRUE(loaded->function("railgauge_fill"));
}

TEST(PatternOnAGpu, FindsTheOneByteThatIsWrong) {
  auto opened = gpu::Gpu::open("gpu0");
  if (!opened) GTEST_SKIP() << opened.error().message;
  auto pattern = gpu::Pattern::create(*opened);
  ASSERT_TRUE(pattern) << pattern.error().message;
  constexpr std::uint64_t kBytes = (64U << 20U) + 5;  // whole words and a tail
  const auto memory = GpuBuffer::allocate("gpu0", kBytes);
  ASSERT_TRUE(memory) << memory.error().message;
  ASSERT_TRUE(pattern->fill(memory->data(), kBytes, 7));
  EXPECT_TRUE(pattern->verify(memory->data(), kBytes, 7, "gpu0"));
  for (const std::uint64_t at : {std::uint64_t{0}, kBytes / 2, kBytes - 1}) {
    ASSERT_TRUE(pattern->fill(memory->data(), kBytes, 7));
    std::uint8_t byte = 0;
    const Cuda& cuda = loaded_cuda();
    ASSERT_EQ(cuda.memcpy_dtoh(&byte, memory->data() + at, 1), cu::kSuccess);
    byte ^= 1U;
    ASSERT_EQ(cuda.memcpy_htod(memory->data() + at, &byte, 1), cu::kSuccess);
    const auto found = pattern->find_mismatch(memory->data(), kBytes, 7);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_TRUE(found->has_value()) << at;
    EXPECT_EQ(**found, at / 8 * 8);
  }
}

}  // namespace
}  // namespace railgauge
