#include "kernels/peers/tools.h"

#include <gmock/gmock.h>

#include <set>

namespace railgauge {
namespace {

using ::testing::HasSubstr;
using Parameters = std::map<std::string, std::string>;

std::string command(std::string_view tool, std::string_view kernel, const Parameters& parameters,
                    std::string_view endpoint = "gpu0") {
  const auto made = peer_command(tool, kernel, parameters, endpoint);
  return made ? *made : "error: " + made.error().message;
}

TEST(PeerTools, HaveEveryTestOfNvbandwidthOnceAndInItsOrder) {
  const auto names = peer_test_names("nvbandwidth");
  EXPECT_EQ(names.size(), 41U);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 41U);
  EXPECT_EQ(names.front(), "host_to_device_memcpy_ce");
  EXPECT_EQ(names[15], "one_to_all_read_ce");
  EXPECT_EQ(names.back(), "device_local_copy_tma");
  for (const std::string& name : names)
    EXPECT_EQ(find_peer_tests("nvbandwidth", name).size(), 1U) << name;
}

// The numbers are those that nvbandwidth 0.10 lists.
TEST(PeerTools, NumberTestsAsTheToolDoesAndSayWhyOneIsLeftOut) {
  const auto numbered = peer_tests_by_number("nvbandwidth");
  ASSERT_EQ(numbered.size(), 44U);
  EXPECT_EQ(numbered[33], "device_to_device_latency_sm");
  EXPECT_EQ(numbered[34], "device_to_device_memcpy_read_tma");
  EXPECT_EQ(numbered[39], "device_local_copy_sm");
  EXPECT_EQ(numbered[42], "device_to_device_latency_tma");
  EXPECT_EQ(numbered[43], "device_local_copy_tma");
  for (const std::string& name : numbered)
    EXPECT_EQ(find_peer_tests("nvbandwidth", name).empty(), !why_left_out(name).empty()) << name;
  EXPECT_THAT(why_left_out("device_local_read_sm"), HasSubstr("device_local_copy_sm does both"));
  EXPECT_EQ(peer_tests_by_number("gdrcopy"), peer_test_names("gdrcopy"));
}

TEST(PeerTools, HaveBothFiguresOfACopyTestOfGdrcopy) {
  EXPECT_THAT(peer_test_names("gdrcopy"),
              ::testing::ElementsAre("copybw", "copylat", "apiperf", "pplat", "sanity"));
  const auto rows = find_peer_tests("gdrcopy", "copybw");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]->kernel, "bar.write_bw");
  EXPECT_EQ(rows[0]->parameters, (Parameters{{"sizes", "128KiB"}, {"iterations", "10000"}}));
  EXPECT_EQ(rows[1]->kernel, "bar.read_bw");
  EXPECT_EQ(rows[1]->parameters.at("iterations"), "100");
  EXPECT_DOUBLE_EQ(rows[0]->factor * 1048576e3, 1000);  // MiB/s
}

TEST(PeerTools, TakeAllStepsOfAMappingFromOneRun) {
  const auto rows = find_peer_tests("gdrcopy", "apiperf");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0]->metrics,
              ::testing::ElementsAre("pin_ns", "map_ns", "get_info_ns", "unmap_ns", "unpin_ns"));
  EXPECT_EQ(rows[0]->cell, PeerCell::kMetric);
}

TEST(PeerTools, KnowNoOtherTest) {
  EXPECT_TRUE(find_peer_tests("nvbandwidth", "copybw").empty());
  EXPECT_TRUE(find_peer_tests("perftest", "ib_write_bw").empty());
  EXPECT_TRUE(peer_test_names("perftest").empty());
}

TEST(PeerTools, MapReadTestsOfManyGpusByWhereTheDataGoes) {
  const auto all_to_one_read = find_peer_tests("nvbandwidth", "all_to_one_read_ce");
  ASSERT_EQ(all_to_one_read.size(), 1U);
  EXPECT_EQ(all_to_one_read[0]->parameters.at("pattern"), "one_to_all");
  EXPECT_EQ(all_to_one_read[0]->parameters.at("direction"), "read");
  EXPECT_EQ(command("nvbandwidth", "cuda.fan_copy_bw",
                    {{"pattern", "all_to_one"}, {"direction", "read"}, {"sizes", "512MiB"}}),
            "nvbandwidth -t one_to_all_read_ce -b 512");
}

// Every command leads back to an equivalent test; if the tool has two names for one test, to the
// first.
TEST(PeerTools, LeadFromEachTestToACommandAndBackToTheSameMeasurement) {
  for (const PeerTest& row : peer_tests()) {
    SCOPED_TRACE(std::string(row.test));
    const auto made = peer_command(row.tool, row.kernel, row.parameters, "gpu0");
    ASSERT_TRUE(made) << made.error().message;
    if (row.tool == "gdrcopy") {
      EXPECT_THAT(*made, HasSubstr("gdrcopy_" + std::string(row.test)));
      continue;
    }
    const std::string name = made->substr(15, made->find(' ', 15) - 15);
    const auto back = find_peer_tests("nvbandwidth", name);
    ASSERT_EQ(back.size(), 1U) << *made;
    EXPECT_EQ(back[0]->kernel, row.kernel);
    EXPECT_EQ(back[0]->parameters, row.parameters);
  }
}

TEST(PeerTools, TakeTheKernelsDefaultsForWhatIsNotGiven) {
  EXPECT_EQ(command("nvbandwidth", "cuda.host_copy_bw", {}),
            "nvbandwidth -t host_to_device_memcpy_ce -b 64");
  EXPECT_EQ(command("nvbandwidth", "cuda.peer_copy_bw", {}),
            "nvbandwidth -t device_to_device_memcpy_read_ce -b 64");
  EXPECT_EQ(command("nvbandwidth", "cuda.local_copy_bw", {{"sizes", "1GiB"}}),
            "nvbandwidth -t device_local_copy -b 1024");
  EXPECT_EQ(command("nvbandwidth", "cuda.local_copy_bw", {{"sizes", "1MiB,2MiB"}}),
            "nvbandwidth -t device_local_copy -b 1\nnvbandwidth -t device_local_copy -b 2")
      << "the tool measures one size in a run";
}

TEST(PeerTools, RefuseALineThatWouldMeasureSomethingElse) {
  const auto refused = [](std::string_view tool, std::string_view kernel, const auto& parameters) {
    const auto made = peer_command(tool, kernel, parameters, "gpu0");
    return made ? "made: " + *made : made.error().message;
  };
  using Given = std::map<std::string, std::string>;
  EXPECT_THAT(
      refused("nvbandwidth", "cuda.host_latency", Given{{"order", "stride"}, {"buffer", "1GiB"}}),
      HasSubstr("fixed buffer, which is not 1GiB"));
  EXPECT_THAT(refused("nvbandwidth", "cuda.host_latency",
                      Given{{"order", "stride"}, {"host_memory", "write_combined"}}),
              HasSubstr("fixed host_memory"));
  EXPECT_THAT(refused("gdrcopy", "bar.write_bw", Given{{"sizes", "64KiB"}, {"numa", "far"}}),
              HasSubstr("far NUMA node"));
  EXPECT_THAT(refused("gdrcopy", "bar.write_bw", Given{{"sizes", "64KiB"}, {"repeat", "7"}}),
              HasSubstr("repeat is 7"));
}

TEST(PeerTools, PassOnCountsBindingAndVerification) {
  EXPECT_EQ(
      command("nvbandwidth", "cuda.host_copy_bw",
              {{"direction", "d2h"},
               {"engine", "sm"},
               {"bidirectional", "true"},
               {"sizes", "512MiB"},
               {"iterations", "5"},
               {"copies", "16"},
               {"verify", "false"},
               {"numa", "any"}}),
      "nvbandwidth -t device_to_host_bidirectional_memcpy_sm -b 512 -i 5 --loopCount 16 -s -d");
  // A launch of ours moves an eighth of the buffer sixteen times, two copies' bytes.
  EXPECT_EQ(command("nvbandwidth", "cuda.host_copy_bw",
                    {{"engine", "sm_again"},
                     {"bidirectional", "true"},
                     {"sizes", "512MiB"},
                     {"copies", "8"}}),
            "nvbandwidth -t host_to_device_bidirectional_memcpy_sm -b 512 --loopCount 16");
  EXPECT_EQ(
      command("gdrcopy", "bar.write_bw", {{"sizes", "128KiB"}, {"iterations", "10000"}}, "gpu1"),
      "gdrcopy_copybw -d 1 -s 131072 -c 131072 -w 10000");
  EXPECT_EQ(command("gdrcopy", "bar.read_lat", {{"sizes", "1:64KiB"}, {"iterations", "0"}}),
            "gdrcopy_copylat -d 0 -s 65536 -r 100");
  EXPECT_EQ(command("gdrcopy", "bar.ping_pong", {{"iterations", "500"}}),
            "gdrcopy_pplat -d 0 -t 500 -B 1 -T 1");
}

TEST(PeerTools, SayWhatTheToolLacks) {
  const std::pair<Parameters, const char*> kLacking[] = {
      // NOLINT(modernize-avoid-c-arrays)
      {{{"host_memory", "write_combined"}, {"sizes", "512MiB"}}, "no test with these parameters"},
      {{{"sizes", "64KiB"}}, "whole MiB"},
      {{{"numa", "far"}}, "far NUMA node"},
  };
  for (const auto& [parameters, reason] : kLacking) {
    const auto made = peer_command("nvbandwidth", "cuda.host_copy_bw", parameters, "gpu0");
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::kUnimplemented);
    EXPECT_THAT(made.error().message, HasSubstr(reason));
  }
  EXPECT_THAT(command("nvbandwidth", "cuda.copy_latency", {}), HasSubstr("no test of this kind"));
  EXPECT_THAT(command("nvbandwidth", "cuda.peer_copy_bw", {{"gpus", "0,1"}}),
              HasSubstr("gpus is not all"));
  EXPECT_THAT(command("gdrcopy", "bar.write_bw", {{"backend", "vulkan"}}),
              HasSubstr("not through vulkan"));
  EXPECT_THAT(command("gdrcopy", "bar.write_bw", {{"routine", "avx2"}}),
              HasSubstr("copy routine by itself"));
}

TEST(PeerTools, RefuseAToolOrAnEndpointThatIsNone) {
  EXPECT_EQ(peer_command("iperf", "cuda.host_copy_bw", {}, "").error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(peer_command("gdrcopy", "bar.write_bw", {{"sizes", "128KiB"}}, "mlx5_0:1").error().code,
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge
