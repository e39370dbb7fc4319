// A figure's report of its cost and of its port, on the fake libibverbs.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/catalog.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/nvml.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/nvml/fake_nvml.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/verbs/transport/account.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

constexpr std::uint64_t kMeddledWrite = 50;  // well within what is measured

class Accounts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
    setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
  }
  void SetUp() override {
    verbs_control().reset();
    fake::cuda_control().reset();
    fake::nvml_control().reset();
    sysfs_ = std::filesystem::path(::testing::TempDir()) /
             ("account-" + std::to_string(getpid()) + "-" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    for (const char* device : {"fake0", "fake1"})
      for (const char* folder : {"counters", "hw_counters"})
        std::filesystem::create_directories(port_of(device) / folder);
    fake::set_sysfs_folder(sysfs_.string());
  }
  void TearDown() override {
    verbs_control().on_data_write = nullptr;
    fake::set_sysfs_folder("");
    std::filesystem::remove_all(sysfs_);
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  [[nodiscard]] std::filesystem::path port_of(const std::string& device) const {
    return sysfs_ / device / "ports/1";
  }
  void set(const std::string& device, const std::string& counter, const std::string& value) const {
    std::ofstream(port_of(device) / counter) << value << '\n';
  }
  static auto run(std::string_view kernel, Parameters parameters) {
    parameters.emplace("stall_timeout", "30s");
    return run_pair(*find_kernel(kernel), {.parameters = std::move(parameters)});
  }

  std::filesystem::path sysfs_;
};

void expect_passed(const std::array<RankResult, 2>& results, std::string_view what) {
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << what << ": " << result.status.error().message;
}

double number(const Point& point, const std::string& fact) {
  const auto found = point.facts().find(fact);
  return found == point.facts().end() ? -1 : std::stod(found->second);
}

TEST_F(Accounts, EachBandwidthSaysWhatItCostBothEnds) {
  for (const auto& [kernel, target_works] :
       std::map<std::string, bool>{{"verbs.write_bw", false},
                                   {"verbs.read_bw", false},
                                   {"verbs.send_bw", true},
                                   {"verbs.write_imm_bw", true}}) {
    const auto results = run(kernel, {{"sizes", "1000"}, {"iterations", "2000"}});
    expect_passed(results, kernel);
    const Point& point = results[0].points[0];
    EXPECT_GT(number(point, "cpu_seconds_per_gigabyte"), 0) << kernel;
    // 10^6 messages of 1000 bytes are 10^9 bytes.
    EXPECT_DOUBLE_EQ(number(point, "cpu_seconds_per_gigabyte"),
                     number(point, "cpu_seconds_per_million_messages"));
    EXPECT_EQ(number(point, "peer_cpu_seconds_per_gigabyte") > 0, target_works) << kernel;
  }
}

TEST_F(Accounts, AStretchOfTimeSaysItToo) {
  for (const char* direction : {"one_way", "both"}) {
    const auto results = run("verbs.write_bw", {{"duration", "50ms"}, {"direction", direction}});
    expect_passed(results, direction);
    const Point& point = results[0].points[0];
    EXPECT_GT(number(point, "cpu_seconds_per_gigabyte"), 0);
    EXPECT_EQ(number(point, "peer_cpu_seconds_per_gigabyte") > 0,
              std::string_view(direction) == "both");
  }
}

TEST_F(Accounts, EachLatencySaysTheCpuTimePerMessage) {
  for (const auto& [kernel, target_works] : std::map<std::string, bool>{
           {"verbs.write_lat", true}, {"verbs.send_lat", true}, {"verbs.read_lat", false}}) {
    const auto results = run(kernel, {{"sizes", "8,64"}, {"iterations", "200"}});
    expect_passed(results, kernel);
    ASSERT_EQ(results[0].points.size(), 2U);
    for (const Point& point : results[0].points) {
      EXPECT_GT(number(point, "cpu_ns_per_message"), 0) << kernel;
      EXPECT_EQ(number(point, "peer_cpu_ns_per_message") > 0, target_works) << kernel;
    }
  }
}

TEST_F(Accounts, ACounterOfEitherPortThatGrewMeanwhileIsAFact) {
  for (const char* kernel : {"verbs.write_bw", "verbs.write_lat", "verbs.read_lat"}) {
    for (const char* device : {"fake0", "fake1"}) set(device, "hw_counters/out_of_sequence", "5");
    set("fake1", "counters/port_rcv_data", "0");
    verbs_control().reset();
    verbs_control().on_data_write = [this](std::uint64_t number) {
      if (number != kMeddledWrite) return;
      set("fake0", "hw_counters/out_of_sequence", "7");
      set("fake1", "hw_counters/out_of_sequence", "4294967300");
      set("fake1", "counters/port_rcv_data", "1000000");
    };
    const auto results = run(kernel, {{"sizes", "64"}, {"iterations", "100"}});
    expect_passed(results, kernel);
    EXPECT_EQ(results[0].facts.at("port_counters"), "1 readable");
    EXPECT_EQ(results[1].facts.at("port_counters"), "2 readable");
    const auto& facts = results[0].points[0].facts();
    ASSERT_TRUE(facts.contains("port_counters_grown")) << kernel;
    EXPECT_EQ(facts.at("port_counters_grown"), "out_of_sequence=2");
    EXPECT_EQ(facts.at("peer_port_counters_grown"), "out_of_sequence=4294967295");
    EXPECT_FALSE(facts.contains("port_traffic")) << "fake0 has no counter of it: no zero";
    EXPECT_EQ(facts.at("peer_port_traffic"), "port_rcv_data_bytes=4000000") << kernel;
  }
}

TEST_F(Accounts, WhatWentOverEitherPortIsAFactOfEachFigure) {
  for (const char* kernel : {"verbs.write_bw", "verbs.send_lat", "verbs.read_lat"}) {
    for (const char* device : {"fake0", "fake1"})
      for (const char* counter : {"counters/port_xmit_data", "counters/port_xmit_packets",
                                  "counters/port_rcv_packets", "hw_counters/rx_write_requests"})
        set(device, counter, "10");
    verbs_control().reset();
    verbs_control().on_data_write = [this](std::uint64_t number) {
      if (number != kMeddledWrite) return;
      set("fake0", "counters/port_xmit_data", "35");
      set("fake0", "counters/port_xmit_packets", "17");
      set("fake1", "counters/port_rcv_packets", "18");
      set("fake1", "hw_counters/rx_write_requests", "14");
    };
    const auto results = run(kernel, {{"sizes", "64"}, {"iterations", "100"}});
    expect_passed(results, kernel);
    const auto& facts = results[0].points[0].facts();
    ASSERT_TRUE(facts.contains("port_traffic")) << kernel;
    EXPECT_EQ(facts.at("port_traffic"), "port_xmit_data_bytes=100, port_xmit_packets=7");
    EXPECT_EQ(facts.at("peer_port_traffic"), "port_rcv_packets=8, rx_write_requests=4");
    EXPECT_FALSE(facts.contains("port_counters_grown")) << "traffic is no trouble";
  }
}

TEST_F(Accounts, StagedAndVisibleFiguresAndThoseOfSeveralLinksSayTheSame) {
  struct Way {
    const char* kernel;
    Parameters parameters;
    const char* pair = "";
  };
  for (const auto& [kernel, parameters, pair] :
       {Way{"verbs.write_bw", {{"memory", "staged"}, {"iterations", "100"}}},
        Way{"verbs.send_bw", {{"memory", "staged"}, {"iterations", "100"}}},
        Way{"verbs.send_lat", {{"memory", "staged"}, {"iterations", "100"}}},
        Way{"verbs.write_visible_lat", {{"iterations", "100"}}},
        Way{"verbs.write_bw", {{"devices", "fake0:1"}, {"duration", "50ms"}}, "rail0>rail0"}}) {
    const bool is_bandwidth = std::string_view(kernel).ends_with("_bw");
    for (const char* device : {"fake0", "fake1"}) set(device, "hw_counters/out_of_sequence", "5");
    verbs_control().reset();
    verbs_control().on_data_write = [this](std::uint64_t number) {
      if (number != kMeddledWrite) return;
      for (const char* device : {"fake0", "fake1"}) set(device, "hw_counters/out_of_sequence", "7");
    };
    Parameters given = parameters;
    given["sizes"] = "64";
    const auto results = run(kernel, given);
    expect_passed(results, kernel);
    ASSERT_FALSE(results[0].points.empty());
    EXPECT_EQ(results[0].facts.at("port_counters"), "1 readable") << kernel;
    const Point& first = results[0].points[0];
    EXPECT_EQ(first.pair(), pair);
    EXPECT_EQ(first.facts().at("port_counters_grown"), "out_of_sequence=2") << kernel;
    EXPECT_EQ(first.facts().at("peer_port_counters_grown"), "out_of_sequence=2") << kernel;
    for (const Point& point : results[0].points) {
      EXPECT_THAT(point.facts().at("line_rate_check"), ::testing::StartsWith("waived: ")) << kernel;
      EXPECT_GT(number(point, is_bandwidth ? "cpu_seconds_per_gigabyte" : "cpu_ns_per_message"), 0);
      const bool is_passive = point.meaning() == "completion" || *pair != '\0';
      EXPECT_EQ(number(point, is_bandwidth ? "peer_cpu_seconds_per_million_messages"
                                           : "peer_cpu_ns_per_message") > 0,
                !is_passive)
          << kernel << " " << point.meaning();
    }
    const Point& last = results[0].points.back();
    if (*pair != '\0') {
      EXPECT_EQ(last.facts().at("port_counters_grown"), "fake0:1: out_of_sequence=2");
    }
  }
}

TEST_F(Accounts, WhatGrewWhileATaskFailedIsNoted) {
  set("fake0", "hw_counters/local_ack_timeout_err", "0");
  verbs_control().on_data_write = [this](std::uint64_t number) {
    if (number == kMeddledWrite) set("fake0", "hw_counters/local_ack_timeout_err", "7");
  };
  verbs_control().lose_after = 6000;
  const auto results =
      run("verbs.write_bw", {{"sizes", "64"}, {"iterations", "20000"}, {"stall_timeout", "500ms"}});
  ASSERT_FALSE(results[0].status);
  ASSERT_FALSE(results[0].notes.empty());
  EXPECT_EQ(results[0].notes[0], "fake0:1: port counters grew meanwhile: local_ack_timeout_err=7");
}

TEST_F(Accounts, WithoutCountersThereIsNoFactAndNoError) {
  const auto results = run("verbs.write_bw", {{"iterations", "100"}});
  expect_passed(results, "none");
  EXPECT_EQ(results[0].facts.at("port_counters"), "0 readable");
  EXPECT_FALSE(results[0].points[0].facts().contains("port_counters_grown"));
  EXPECT_EQ(results[0].points[0].facts().at("line_rate_check"),
            "waived: fake is software, whose rate is only a name");
}

}  // namespace
}  // namespace railgauge
