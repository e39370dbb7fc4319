// Every verbs kernel on a wire that treats one message of 100,000 wrongly and completes all of them
// with success: the task fails and names the message and what happened to it.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "kernels/core/proof/proof_plan.h"
#include "kernels/testing/contract.h"
#include "kernels/testing/corruption.h"
#include "kernels/verbs/testing/memory_fixture.h"

namespace railgauge {
namespace {

using fake::WireFault;

constexpr std::uint64_t kEvery = 100'000;

// A kernel, and what selects one of its ways.
struct ProofCase {
  const char* kernel;
  const char* name;
  Parameters wanted{};
  // A staged chunk, or a message that the fake GPU sends, costs calls of its driver: too slow for
  // 100,000 of them.
  bool is_slow = false;
};

const std::vector<ProofCase>& proof_cases() {
  static const std::vector<ProofCase> kCases{
      {"verbs.write_bw", ""},
      {"verbs.write_bw", "cold", {{"buffer", "cold"}}},
      {"verbs.write_bw", "two queue pairs", {{"qps", "2"}}},
      {"verbs.write_bw", "both directions", {{"direction", "both"}, {"duration", "20ms"}}},
      {"verbs.write_bw", "two devices", {{"devices", "fake0:1,fake1:1"}, {"duration", "20ms"}}},
      {"verbs.write_bw", "staged", {{"memory", "staged"}}, true},
      {"verbs.write_bw", "GPU", {{"memory", "cuda"}}, true},
      {"verbs.write_bw", "XRC", {{"transport", "XRC"}}},
      {"verbs.write_bw", "extended", {{"post", "extended"}}},
      {"verbs.write_bw", "two threads", {{"threads", "2"}, {"duration", "20ms"}}},
      {"verbs.write_imm_bw", ""},
      {"verbs.read_bw", ""},
      {"verbs.read_bw", "cold", {{"buffer", "cold"}}},
      {"verbs.send_bw", ""},
      {"verbs.send_bw", "cold", {{"buffer", "cold"}}},
      {"verbs.send_bw", "shared receives", {{"qps", "2"}, {"srq", "true"}}},
      {"verbs.send_bw", "staged", {{"memory", "staged"}}, true},
      {"verbs.send_bw", "XRC", {{"transport", "XRC"}}},
      {"verbs.send_bw", "extended", {{"post", "extended"}}},
      {"verbs.atomic_bw", ""},
      {"verbs.atomic_bw", "compare_swap", {{"operation", "compare_swap"}, {"qps", "2"}}},
      {"verbs.write_lat", ""},
      {"verbs.write_lat", "cold", {{"buffer", "cold"}}},
      {"verbs.write_lat", "staged", {{"memory", "staged"}}, true},
      {"verbs.write_imm_lat", ""},
      {"verbs.send_lat", ""},
      {"verbs.read_lat", ""},
      {"verbs.read_lat", "cold", {{"buffer", "cold"}}},
      {"verbs.atomic_lat", ""},
      {"verbs.write_visible_lat", ""}};
  return kCases;
}

std::string label_of(const ProofCase& one) {
  return *one.name == '\0' ? one.kernel : fmt::format("{}, {}", one.kernel, one.name);
}
void PrintTo(const ProofCase& one, std::ostream* out) { *out << label_of(one); }

std::string fault_name(WireFault fault) {
  switch (fault) {
    case WireFault::kNone:
      return "none";
    case WireFault::kCorrupt:
      return "corrupt";
    case WireFault::kDrop:
      return "dropped";
    case WireFault::kRepeat:
      return "repeated";
    case WireFault::kSwap:
      break;
  }
  return "out of order";
}

std::uint64_t proved_by(const RankResult& result) {
  std::uint64_t proved = 0;
  for (const Point& point : result.points)
    // Not both metrics of a size, and not each link beside the sum of all.
    if (point.facts().contains("proved_messages") && point.metric() != "message_rate_per_second" &&
        !point.facts().contains("link"))
      proved += std::stoull(point.facts().at("proved_messages"));
  return proved;
}

class VerbsProof : public Memories,
                   public ::testing::WithParamInterface<std::tuple<ProofCase, WireFault>> {
 protected:
  static auto run_with(const ProofCase& one, WireFault fault, std::uint64_t every,
                       Parameters wanted) {
    reset();
    verbs_control().fault = static_cast<std::uint64_t>(fault);
    verbs_control().fault_every = every;
    wanted.insert(one.wanted.begin(), one.wanted.end());
    if (!wanted.contains("duration")) wanted.emplace("iterations", "100");
    wanted.emplace("sizes", "64");
    wanted.emplace("stall_timeout", "5s");
    const KernelRow& row = *find_kernel(one.kernel);
    return run_pair(
        row, {.parameters = fake::declared_among(row.info(), wanted), .deadline_seconds = 200});
  }
};

// One of each manner: writes, sends, reads and atomics in streams, a ping-pong.
bool is_in_short_check(std::string_view kernel) {
  constexpr std::array kShort{"verbs.write_bw", "verbs.send_bw", "verbs.read_bw", "verbs.atomic_bw",
                              "verbs.write_lat"};
  return std::ranges::find(kShort, kernel) != kShort.end();
}

TEST_P(VerbsProof, OneMessageInAHundredThousandFailsBothRanksAndIsNamed) {
  const auto& [one, fault] = GetParam();
  const bool is_long = fault == WireFault::kNone && *one.name != '\0';
  if (!full_check() && (is_long || !is_in_short_check(one.kernel)))
    GTEST_SKIP() << "in the full check";
  const std::uint64_t every = fault == WireFault::kNone ? 0 : one.is_slow ? 1'000 : kEvery;
  const std::string proof_time = one.is_slow && every == 0 ? "2s" : "100s";
  const auto results = run_with(one, fault, every, {{"proof_time", proof_time}});
  const std::uint64_t proved = proved_by(results[0]);
  print_corruption(label_of(one), fault_name(fault), every, outcome_word(results[0].status),
                   std::to_string(proved));
  if (fault == WireFault::kNone) {
    expect_passed(results, label_of(one));
    EXPECT_GE(proved, one.is_slow ? 1'000U : kProofMessages);
    return;
  }
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    const std::string& message = result.status.error().message;
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << message;
    EXPECT_THAT(message, ::testing::ContainsRegex("verify .*: message [0-9]+ of "));
    EXPECT_THAT(message, HasSubstr(", expected "));
    // The first of a round, and the only one of it, has its neighbour in the round before.
    if (fault == WireFault::kSwap)
      EXPECT_THAT(message, ::testing::ContainsRegex(": (out of order|repeated)$"));
    // A slot of the staging has an old chunk where the new one did not come.
    else if (fault == WireFault::kDrop && std::string_view(one.name) == "staged")
      EXPECT_THAT(message, ::testing::ContainsRegex("(dropped|corrupt)$"));
    else
      EXPECT_THAT(message, ::testing::EndsWith(fault_name(fault)));
    EXPECT_TRUE(result.points.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, VerbsProof,
    ::testing::Combine(::testing::ValuesIn(proof_cases()),
                       ::testing::Values(WireFault::kNone, WireFault::kCorrupt, WireFault::kDrop,
                                         WireFault::kRepeat, WireFault::kSwap)),
    [](const ::testing::TestParamInfo<std::tuple<ProofCase, WireFault>>& chosen) {
      std::string name =
          label_of(std::get<0>(chosen.param)) + "_" + fault_name(std::get<1>(chosen.param));
      std::ranges::replace_if(
          name, [](unsigned char one) { return std::isalnum(one) == 0; }, '_');
      return name;
    });

using UnreliableProof = VerbsProof;

// Also messages too short to be recognised, and ones of several packets.
TEST_F(UnreliableProof, ALossIsNoErrorAndIsNotCountedAndWrongBytesAreOne) {
  for (const auto& [kernel, transport] :
       {std::pair{"verbs.send_bw", "UD"}, std::pair{"verbs.send_bw", "UC"},
        std::pair{"verbs.write_bw", "UC"}, std::pair{"verbs.write_imm_bw", "UC"},
        std::pair{"verbs.send_lat", "UD"}, std::pair{"verbs.write_lat", "UC"}})
    for (const char* size : {"64", "4KiB"}) {
      const bool is_first = std::string_view(kernel) == "verbs.send_bw";
      if (!full_check() && is_first != (std::string_view(size) == "64")) continue;
      const std::string what = fmt::format("{} on {}, {}", kernel, transport, size);
      const ProofCase one{kernel, transport, {{"transport", transport}, {"sizes", size}}};
      const auto lost = run_with(one, WireFault::kDrop, 1'009, {{"proof_time", "200ms"}});
      expect_passed(lost, what);
      const auto& facts = lost[0].points.at(0).facts();
      if (facts.contains("proof_delivered_share"))
        EXPECT_LT(std::stod(facts.at("proof_delivered_share")), 1.0) << what;
      else
        EXPECT_LT(std::stoull(facts.at("proved_messages")), 1'009U) << what;
      for (const WireFault fault : {WireFault::kCorrupt, WireFault::kRepeat, WireFault::kSwap}) {
        const auto wrong = run_with(one, fault, 1'009, {{"proof_time", "10s"}});
        ASSERT_FALSE(wrong[0].status) << what << ", " << fault_name(fault);
        EXPECT_EQ(wrong[0].status.error().code, Code::kDataLoss) << wrong[0].status.error().message;
      }
    }
}

using ProofForms = VerbsProof;

TEST_F(ProofForms, EachSizeHasAtLeastOneRingAndNoneWithoutVerification) {
  const ProofCase one{"verbs.write_bw", ""};
  const auto results =
      run_with(one, WireFault::kNone, 0, {{"sizes", "1,64,64KiB"}, {"proof_time", "0s"}});
  expect_passed(results, "one ring");
  std::vector<std::uint64_t> proved;
  for (const Point& point : results[0].points)
    if (point.metric() != "message_rate_per_second")
      proved.push_back(std::stoull(point.facts().at("proved_messages")));
  EXPECT_THAT(proved, ::testing::ElementsAre(512, 512, 1));
  const auto without = run_with(one, WireFault::kNone, 0, {{"verify", "false"}});
  expect_passed(without, "without");
  EXPECT_EQ(proved_by(without[0]), 0U);
}

// The first 80 messages of the warm-up fill each slot with right bytes, and nothing comes
// afterwards.
TEST_F(ProofForms, WhatWasSentInTheWarmUpDoesNotPassForTheKeptSamples) {
  const Parameters windows{{"time_cap", "500ms"},
                           {"max_samples", "200000"},
                           {"least_time", "200ms"},
                           {"precision", "0.0001"}};
  const ProofCase cases[] = {
      {"verbs.write_bw", "windows", windows},
      {"verbs.write_bw", "two queue pairs", {{"qps", "2"}, {"duration", "200ms"}}},
      {"verbs.write_bw", "chains", {{"post_list", "4"}, {"duration", "200ms"}}},
      {"verbs.write_bw", "both", {{"direction", "both"}, {"duration", "200ms"}}},
      {"verbs.write_bw", "devices", {{"devices", "fake0:1,fake1:1"}, {"duration", "200ms"}}},
      {"verbs.write_bw", "GPU", {{"memory", "cuda"}, {"duration", "200ms"}}},
      {"verbs.write_bw", "staged", {{"memory", "staged"}, {"time_cap", "300ms"}}},
      {"verbs.write_lat", "staged", {{"memory", "staged"}, {"time_cap", "300ms"}}},
      {"verbs.read_bw", "windows", windows},
      {"verbs.read_bw", "slots", {{"duration", "200ms"}}},
      {"verbs.read_lat", "", windows}};
  for (const ProofCase& one : cases) {
    reset();
    std::atomic<std::uint64_t> done{0};
    verbs_control().on_data_write = [&](std::uint64_t number) {
      done = number;
      if (number != 80) return;
      verbs_control().fault = static_cast<std::uint64_t>(WireFault::kDrop);
      verbs_control().fault_every = 1;
    };
    const KernelRow& row = *find_kernel(one.kernel);
    Parameters wanted{{"sizes", "64"}, {"stall_timeout", "5s"}};
    wanted.insert(one.wanted.begin(), one.wanted.end());
    const auto results = run_pair(row, {.parameters = fake::declared_among(row.info(), wanted)});
    verbs_control().on_data_write = {};
    ASSERT_GE(done, 80U) << label_of(one);
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << label_of(one);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_THAT(result.status.error().message, HasSubstr("verify a 64 ")) << "not by the proof";
    }
  }
}

// The ring that the wrong message was in is long overwritten when the timed part is verified.
TEST_F(ProofForms, WithoutItsTimeOneWrongMessageOfManyEscapes) {
  const ProofCase one{"verbs.write_bw", ""};
  for (const WireFault fault :
       {WireFault::kCorrupt, WireFault::kDrop, WireFault::kRepeat, WireFault::kSwap}) {
    const Parameters timed{{"iterations", "150000"}, {"proof_time", "0s"}};
    expect_passed(run_with(one, fault, kEvery, timed), fault_name(fault));
    EXPECT_GE(verbs_control().data_writes, 150'000U) << "the wrong one was among the timed ones";
  }
}

}  // namespace
}  // namespace railgauge
