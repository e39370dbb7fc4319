#include "kernels/peers/perftest/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace railgauge {
namespace {

using Parameters = std::map<std::string, std::string>;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

Parameters merged(std::string_view kernel, const Parameters& given) {
  const auto out = with_profile(kPerftestProfile, kernel, given);
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(Parameters{});
}

TEST(PerftestProfile, HasTheToolsSettingsWhereNothingIsGiven) {
  EXPECT_EQ(merged("verbs.write_bw", {}), (Parameters{{"sizes", "64KiB"},
                                                      {"iterations", "5000"},
                                                      {"depth", "128"},
                                                      {"signal_every", "1"},
                                                      {"inline_bytes", "0"},
                                                      {"relaxed_ordering", "on"}}));
  EXPECT_EQ(merged("verbs.read_lat", {}),
            (Parameters{{"sizes", "2"}, {"iterations", "1000"}, {"relaxed_ordering", "on"}}));
  EXPECT_THAT(merged("verbs.send_lat", {}), Contains(Pair("relaxed_ordering", "on")));
  for (const char* strict : {"verbs.write_lat", "verbs.write_imm_lat", "verbs.atomic_lat"})
    EXPECT_THAT(merged(strict, {}), Not(Contains(Key("relaxed_ordering")))) << strict;
  EXPECT_THAT(merged("verbs.write_imm_lat", {}), Contains(Pair("inline_bytes", "220")));
}

TEST(PerftestProfile, WhatIsGivenRules) {
  EXPECT_THAT(merged("verbs.write_bw", {{"iterations", "10"}, {"sizes", "8"}}),
              testing::AllOf(Contains(Pair("iterations", "10")), Contains(Pair("sizes", "8"))));
}

TEST(PerftestProfile, SomeSettingsFollowFromOthers) {
  const auto small = [](Parameters given) {
    given["sizes"] = "8";
    return merged("verbs.write_bw", given);
  };
  EXPECT_THAT(small({}), Contains(Pair("signal_every", "100")));
  EXPECT_THAT(small({{"depth", "16"}}), Contains(Pair("signal_every", "16")));
  EXPECT_THAT(small({{"depth", "512"}}), Contains(Pair("signal_every", "100")));
  EXPECT_THAT(merged("verbs.write_bw", {{"post_list", "8"}}), Contains(Pair("signal_every", "8")));
  EXPECT_THAT(merged("verbs.write_bw", {{"post_list", "8"}, {"signal_every", "32"}}),
              Contains(Pair("signal_every", "32")));
  EXPECT_THAT(merged("verbs.read_bw", {{"qps", "4"}}), Contains(Pair("iterations", "4000")));
  EXPECT_THAT(merged("verbs.write_bw", {{"duration", "10s"}}), Not(Contains(Key("iterations"))));
  EXPECT_THAT(merged("verbs.write_bw", {{"duration", "0s"}}), Contains(Key("iterations")));
  EXPECT_THAT(merged("verbs.read_bw", {{"direction", "both"}}), Not(Contains(Key("iterations"))));
  EXPECT_THAT(merged("verbs.send_lat", {{"transport", "UD"}}),
              Contains(Pair("inline_bytes", "188")));
  EXPECT_THAT(merged("verbs.send_bw", {{"transport", "UD"}}), Contains(Pair("inline_bytes", "0")));
  EXPECT_THAT(merged("verbs.send_lat", {{"memory", "cuda"}}), Contains(Pair("inline_bytes", "0")));
}

TEST(PerftestProfile, LargeMessagesCompleteEachUnlessTheToolKeepsItsInterval) {
  const auto interval = [](const Parameters& given) {
    return merged("verbs.send_bw", given).at("signal_every");
  };
  EXPECT_EQ(interval({{"sizes", "8KiB"}}), "100");
  EXPECT_EQ(interval({{"sizes", "8193"}}), "1");
  EXPECT_EQ(interval({{"sizes", "2:8MiB"}}), "100");
  EXPECT_EQ(interval({{"sizes", "64KiB"}, {"poll", "events"}}), "100");
  EXPECT_EQ(interval({{"transport", "UD"}}), "100");
  EXPECT_EQ(interval({{"sizes", "64KiB"}, {"post_list", "8"}}), "8");
  EXPECT_EQ(merged("verbs.atomic_bw", {}).at("signal_every"), "100");
}

TEST(PerftestProfile, LeavesOutWhatWouldForbidWhatOnlyOursHave) {
  const std::vector<Parameters> kStaged{
      {{"memory", "staged"}},
      {{"target_memory", "staged"}},
      {{"memory", "cuda"}, {"staged_twin", "true"}},
  };
  for (const Parameters& given : kStaged) {
    const Parameters out = merged("verbs.write_bw", given);
    EXPECT_THAT(out, Not(Contains(Key("relaxed_ordering"))));
    EXPECT_THAT(out, Contains(Pair("iterations", "5000")));
    EXPECT_THAT(merged("verbs.send_lat", given), Not(Contains(Key("relaxed_ordering"))));
  }
  EXPECT_THAT(merged("verbs.write_bw", {{"memory", "cuda"}, {"staged_twin", "false"}}),
              Contains(Pair("relaxed_ordering", "on")));
  const Parameters rails = merged("verbs.write_bw", {{"devices", "mlx5_0:1,mlx5_1:1"}});
  EXPECT_THAT(rails, Not(Contains(Key("iterations"))));
  EXPECT_THAT(rails, Contains(Pair("relaxed_ordering", "on")));
  EXPECT_THAT(merged("verbs.write_bw", {{"devices", ""}}), Contains(Key("iterations")));
  // A list of 100 beside an interval of 100 would need a depth of 199.
  EXPECT_THAT(merged("verbs.write_bw", {{"post_list", "100"}}),
              Contains(Pair("signal_every", "29")));
}

TEST(PerftestProfile, SaysNothingAboutOtherKernelsAndProfiles) {
  EXPECT_THAT(with_profile("perftest", "cuda.host_copy_bw", {}).error().message,
              HasSubstr("measures nothing like cuda.host_copy_bw"));
  EXPECT_THAT(with_profile("iperf", "verbs.write_bw", {}).error().message,
              HasSubstr("\"iperf\" is not known; perftest, nccl-tests and osu are"));
  EXPECT_EQ(perftest_program_of(""), nullptr);
}

}  // namespace
}  // namespace railgauge
