#include "kernels/core/perftest_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
                                                      {"signal_every", "100"},
                                                      {"inline_bytes", "0"},
                                                      {"relaxed_ordering", "true"}}));
  EXPECT_EQ(merged("verbs.read_lat", {}), (Parameters{{"sizes", "2"}, {"iterations", "1000"}}));
  EXPECT_THAT(merged("verbs.write_imm_lat", {}), Contains(Pair("inline_bytes", "220")));
}

TEST(PerftestProfile, WhatIsGivenRules) {
  EXPECT_THAT(merged("verbs.write_bw", {{"iterations", "10"}, {"sizes", "8"}}),
              testing::AllOf(Contains(Pair("iterations", "10")), Contains(Pair("sizes", "8"))));
}

TEST(PerftestProfile, SomeSettingsFollowFromOthers) {
  EXPECT_THAT(merged("verbs.write_bw", {{"depth", "16"}}), Contains(Pair("signal_every", "16")));
  EXPECT_THAT(merged("verbs.write_bw", {{"depth", "512"}}), Contains(Pair("signal_every", "100")));
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

TEST(PerftestProfile, SaysNothingAboutOtherKernelsAndProfiles) {
  EXPECT_THAT(with_profile("perftest", "cuda.host_copy_bw", {}).error().message,
              HasSubstr("measures nothing like cuda.host_copy_bw"));
  EXPECT_THAT(with_profile("osu", "verbs.write_bw", {}).error().message,
              HasSubstr("\"osu\" is not known; perftest is"));
  EXPECT_EQ(perftest_program_of(""), nullptr);
}

}  // namespace
}  // namespace railgauge
