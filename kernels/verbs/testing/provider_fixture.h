// For tests of transports of one provider each, on the fake's libmlx5 and libefa: DC and SRD.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/catalog.h"
#include "kernels/dl/efa.h"
#include "kernels/dl/mlx5.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/recorder.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge {

class Providers : public ::testing::Test {
 protected:
  using Parameters = std::map<std::string, std::string>;
  using RankResult = fake::RankResult;
  static fake::VerbsControl& verbs_control() { return fake::verbs_control(); }

  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kMlx5LibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kEfaLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
  }
  static void TearDownTestSuite() {
    unsetenv(kMlx5LibraryVariable);
    unsetenv(kEfaLibraryVariable);
  }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, Parameters parameters) {
    parameters.emplace("stall_timeout", "30s");
    return fake::run_pair(*find_kernel(kernel), {.parameters = std::move(parameters)});
  }
  // Sizes and numbers that a kernel of this name declares.
  static Parameters way_of(std::string_view kernel, const char* transport) {
    Parameters way{{"transport", transport}, {"iterations", "400"}};
    if (kernel.find("atomic") == std::string_view::npos) way["sizes"] = "8,100,4KiB";
    if (kernel.ends_with("bw")) way["qps"] = "3";
    return way;
  }
  static void expect_measured(std::string_view kernel, const Parameters& way) {
    const auto results = run(kernel, way);
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << kernel << ": " << result.status.error().message;
    EXPECT_EQ(results[0].facts.at("transport"), way.at("transport"));
    EXPECT_THAT(results[0].facts.at("transport_library"), ::testing::HasSubstr("ibverbs-fake"));
    ASSERT_FALSE(results[0].points.empty());
    for (const Point& point : results[0].points) {
      EXPECT_TRUE(point.verified()) << kernel;
      EXPECT_TRUE(point.facts().contains("proved_messages")) << kernel;
    }
  }
  static Error error_of(std::string_view kernel, Parameters parameters) {
    const auto results = run(kernel, std::move(parameters));
    EXPECT_FALSE(results[0].status) << kernel;
    return results[0].status ? Error{} : results[0].status.error();
  }

  static void expect_other_manners(const char* transport) {
    for (const auto& more : {Parameters{{"direction", "both"}}, Parameters{{"threads", "2"}},
                             Parameters{{"buffer", "cold"}}}) {
      Parameters way{{"transport", transport}, {"duration", "20ms"}, {"sizes", "1KiB"}};
      way.insert(more.begin(), more.end());
      const auto results = run("verbs.send_bw", way);
      for (const RankResult& result : results)
        ASSERT_TRUE(result.status) << transport << ": " << result.status.error().message;
      EXPECT_TRUE(results[0].points[0].verified());
    }
  }
  // One message of 300 goes wrong: in the proof, since the timed part has fewer.
  static void expect_each_fault_found(const char* transport, std::uint64_t overtakes) {
    using fake::WireFault;
    for (const char* kernel : {"verbs.send_bw", "verbs.write_bw"})
      for (const auto& [fault, words] :
           {std::pair{WireFault::kCorrupt, "corrupt"}, std::pair{WireFault::kDrop, "dropped"},
            std::pair{WireFault::kRepeat, "repeated"}}) {
        const std::string what = fmt::format("{} {} {}", transport, kernel, words);
        verbs_control().reset();
        verbs_control().srd_overtakes = overtakes;
        verbs_control().fault = static_cast<std::uint64_t>(fault);
        verbs_control().fault_every = 300;
        const auto results = run(kernel, {{"transport", transport},
                                          {"sizes", "64"},
                                          {"iterations", "100"},
                                          {"proof_time", "20s"},
                                          {"stall_timeout", "5s"}});
        for (const RankResult& result : results) {
          ASSERT_FALSE(result.status) << what;
          const std::string& message = result.status.error().message;
          EXPECT_EQ(result.status.error().code, Code::kDataLoss) << what << ": " << message;
          // A write that overtakes another one has a later neighbour.
          if (overtakes == 0 || std::string_view(kernel) == "verbs.send_bw")
            EXPECT_THAT(message, ::testing::EndsWith(words)) << what;
          EXPECT_TRUE(result.points.empty()) << what;
        }
      }
  }
  static void expect_wrong_byte_found(const char* transport) {
    for (const char* kernel : {"verbs.send_bw", "verbs.write_imm_lat", "verbs.read_bw"}) {
      verbs_control().reset();
      verbs_control().flip_byte = 1;
      const Error error =
          error_of(kernel, {{"transport", transport}, {"sizes", "1KiB"}, {"iterations", "100"}});
      EXPECT_EQ(error.code, Code::kDataLoss) << kernel << ": " << error.message;
    }
  }
  // Each call in turn fails, and nothing is left.
  static void expect_nothing_left(std::string_view kernel, Parameters parameters) {
    parameters.insert({{"sizes", "16"}, {"iterations", "2"}, {"stall_timeout", "100ms"}});
    std::uint64_t call = 1;
    for (; call < 1000; ++call) {
      verbs_control().reset();
      verbs_control().fail_call = call;
      run(kernel, parameters);
      ASSERT_EQ(verbs_control().live_handles, 0) << kernel << ", call " << call;
      if (verbs_control().calls < call) break;
    }
    EXPECT_GT(call, 20U) << kernel;
    EXPECT_LT(call, 1000U) << kernel;
  }
  static void expect_lack(std::string_view kernel, const char* transport, Code code,
                          const char* words) {
    const Error error = error_of(kernel, {{"transport", transport}});
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_THAT(error.message, ::testing::HasSubstr(words));
  }
};

}  // namespace railgauge
