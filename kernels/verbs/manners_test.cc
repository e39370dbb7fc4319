// Transports, addressing, both directions and stretches of time, on the fake libibverbs.
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "kernels/catalog.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/locked_memory.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/recorder.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/verbs/stream/bandwidth_points.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

class Manners : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, Parameters parameters) {
    parameters.emplace("stall_timeout", "30s");
    return run_pair(*find_kernel(kernel), {.parameters = std::move(parameters)});
  }
};

void expect_passed(const std::array<RankResult, 2>& results, const std::string& what) {
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << what << ": " << result.status.error().message;
}

TEST_F(Manners, UnreliableTransportsMeasureAndVerifyWhatTheyCan) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"verbs.write_lat", "UC"}, {"verbs.write_imm_lat", "UC"}, {"verbs.send_lat", "UC"},
      {"verbs.send_lat", "UD"},  {"verbs.write_bw", "UC"},      {"verbs.write_imm_bw", "UC"},
      {"verbs.send_bw", "UC"},   {"verbs.send_bw", "UD"}};
  for (const auto& [kernel, transport] : rows) {
    const std::string what = std::string(kernel) + " " + transport;
    const auto results =
        run(kernel, {{"transport", transport}, {"sizes", "8,100,4KiB"}, {"iterations", "400"}});
    expect_passed(results, what);
    EXPECT_EQ(results[0].facts.at("transport"), transport);
    for (const Point& point : results[0].points) EXPECT_TRUE(point.verified()) << what;
  }
}

// Each verb, in both directions where it has them: a message that took another receive queue than
// the peer's would not arrive.
TEST_F(Manners, XrcMeasuresAndVerifiesEveryVerb) {
  for (const char* kernel :
       {"verbs.write_lat", "verbs.write_imm_lat", "verbs.send_lat", "verbs.read_lat",
        "verbs.atomic_lat", "verbs.write_bw", "verbs.write_imm_bw", "verbs.send_bw",
        "verbs.read_bw", "verbs.atomic_bw"}) {
    Parameters way{{"transport", "XRC"}, {"iterations", "400"}};
    const std::string_view name(kernel);
    if (name.find("atomic") == std::string_view::npos) way["sizes"] = "8,100,4KiB";
    if (name.ends_with("bw")) way["qps"] = "3";
    for (const char* post : {"request", "extended"}) {
      if (name.ends_with("bw")) way["post"] = post;
      const auto results = run(kernel, way);
      expect_passed(results, kernel);
      EXPECT_EQ(results[0].facts.at("transport"), "XRC");
      for (const Point& point : results[0].points) EXPECT_TRUE(point.verified()) << kernel;
      if (!name.ends_with("bw")) break;
    }
  }
}

TEST_F(Manners, XrcFindsAWrongByte) {
  for (const char* kernel : {"verbs.send_bw", "verbs.write_lat", "verbs.read_bw"}) {
    verbs_control().reset();
    verbs_control().flip_byte = 1;
    const auto results =
        run(kernel, {{"transport", "XRC"}, {"sizes", "1KiB"}, {"iterations", "100"}});
    ASSERT_FALSE(results[0].status) << kernel;
    EXPECT_EQ(results[0].status.error().code, Code::kDataLoss) << kernel;
  }
}

TEST_F(Manners, XrcWaivesWhereTheDeviceOrItsProviderHasNone) {
  for (const auto& [which, words] : std::map<std::uint64_t, std::string>{
           {1, "fake0:1: transport XRC: the device of driver"},
           {2, "fake0:1: open an XRC domain: Function not implemented (errno 38); driver"}}) {
    verbs_control().no_xrc = which;
    const auto results = run("verbs.write_bw", {{"transport", "XRC"}});
    ASSERT_FALSE(results[0].status);
    EXPECT_EQ(results[0].status.error().code, Code::kUnimplemented);
    EXPECT_THAT(results[0].status.error().message,
                AllOf(HasSubstr(words), HasSubstr("take transport RC")));
  }
}

// The device says that it has XRC: a refused argument is an error, no lack.
TEST_F(Manners, XrcThatRefusesAnArgumentIsAnError) {
  verbs_control().no_xrc = 3;
  const auto results = run("verbs.write_bw", {{"transport", "XRC"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kInternal);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("fake0:1: open an XRC domain: Invalid argument"));
}

TEST_F(Manners, DatagramsOfSeveralQueuePairsShareReceives) {
  const auto results = run("verbs.send_bw", {{"transport", "UD"},
                                             {"qps", "5"},
                                             {"srq", "true"},
                                             {"sizes", "64,1KiB"},
                                             {"iterations", "300"}});
  expect_passed(results, "UD");
  EXPECT_EQ(results[0].points[0].facts().at("messages_arrived"), "300");
}

TEST_F(Manners, ALostDatagramIsNoBandwidth) {
  verbs_control().lose_datagram = 50;
  const auto results =
      run("verbs.send_bw", {{"transport", "UD"}, {"sizes", "1KiB"}, {"iterations", "100"}});
  expect_passed(results, "UD");
  const auto& facts = results[0].points[0].facts();
  EXPECT_EQ(facts.at("messages_sent"), "100");
  EXPECT_EQ(facts.at("messages_arrived"), "99");
}

// Between two sizes, where messages without bytes use up the receives of the first.
TEST_F(Manners, ALostEmptyMessageBetweenTwoSizesIsSentAgain) {
  for (const char* transport : {"UC", "UD"})
    for (const char* direction : {"one_way", "both"}) {
      const std::string what = std::string(transport) + " " + direction;
      verbs_control().reset();
      verbs_control().lose_empty = 5;
      Parameters way{{"transport", transport},
                     {"sizes", "1KiB,64"},
                     {"qps", "2"},
                     {"receive_depth", "16"},
                     {"direction", direction}};
      if (std::string_view(direction) == "both")
        way["duration"] = "20ms";
      else
        way["iterations"] = "100";
      const auto results = run("verbs.send_bw", way);
      expect_passed(results, what);
      EXPECT_EQ(results[0].points.size(), 4U) << what;
      EXPECT_GT(verbs_control().empties, 32U) << what << ": more than the rings hold";
    }
}

TEST_F(Manners, AnUnreliableWritesFigureSaysThatLostMessagesAreInIt) {
  verbs_control().lose_datagram = 50;
  const auto results =
      run("verbs.write_bw", {{"transport", "UC"}, {"sizes", "1KiB"}, {"iterations", "100"}});
  expect_passed(results, "UC");
  EXPECT_EQ(results[0].points[0].meaning(), "unidirectional_posted");
  EXPECT_EQ(results[0].points[0].facts().at("counted"), "messages posted, lost ones among them");
  EXPECT_THAT(results[0].notes, ::testing::Contains(HasSubstr("what got lost is in the figure")));
  const auto counted =
      run("verbs.write_imm_bw", {{"transport", "UC"}, {"sizes", "1KiB"}, {"iterations", "100"}});
  EXPECT_EQ(counted[0].points[0].meaning(), "unidirectional");
}

TEST_F(Manners, ALostBallOfAPingPongEndsItAtTheStallLimit) {
  verbs_control().lose_datagram = 50;
  const auto results = run(
      "verbs.send_lat",
      {{"transport", "UD"}, {"sizes", "1KiB"}, {"iterations", "100"}, {"stall_timeout", "100ms"}});
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kUnavailable);
    EXPECT_THAT(result.status.error().message, HasSubstr("nothing from the other side for 0.1 s"));
  }
}

TEST_F(Manners, BothDirectionsAreSummedInACommonInterval) {
  for (const char* kernel : {"verbs.write_bw", "verbs.read_bw", "verbs.send_bw",
                             "verbs.write_imm_bw", "verbs.atomic_bw"}) {
    verbs_control().delay_ns = 5'000;
    const auto results = run(kernel, {{"direction", "both"}, {"duration", "50ms"}, {"qps", "2"}});
    expect_passed(results, kernel);
    ASSERT_EQ(results[0].points.size(), 2U) << kernel;
    const Point& point = results[0].points[0];
    EXPECT_EQ(point.meaning(), "bidirectional_sum");
    EXPECT_EQ(point.sample_count(), 5);
    EXPECT_EQ(point.stop_reason(), "duration");
    EXPECT_TRUE(point.verified());
    EXPECT_GT(std::stod(point.facts().at("clock_uncertainty_ns")), 0);
    EXPECT_LE(std::stod(point.facts().at("clock_uncertainty_ns")), 10e6);
    const auto fact = [&](const char* name) { return std::stod(point.facts().at(name)); };
    EXPECT_NEAR(fact("initiator_bytes_per_second") + fact("target_bytes_per_second"), point.mean(),
                2)
        << kernel;
    EXPECT_LE(fact("target_smallest_slot_bytes_per_second"), fact("target_bytes_per_second"));
    // One wire does the work of both directions here, a message each 5 us at most.
    EXPECT_LE(results[0].points[1].mean(), 1.1e9 / 5'000) << kernel;
  }
}

TEST_F(Manners, AStretchOfTimeTellsItsSmallestSlotAndItsLongestStall) {
  verbs_control().delay_ns = 1'000;
  const auto results =
      run("verbs.write_bw", {{"duration", "60ms"}, {"sizes", "4KiB"}, {"precision", "1"}});
  expect_passed(results, "duration");
  const Point& point = results[0].points[0];
  EXPECT_EQ(point.sample_count(), 6);
  EXPECT_DOUBLE_EQ(std::stod(point.facts().at("smallest_slot_bytes_per_second")),
                   std::round(point.min()));
  EXPECT_FALSE(point.facts().contains("p1_slot_bytes_per_second"));
  EXPECT_GE(std::stod(point.facts().at("longest_stall_ns")), 1'000);
  EXPECT_LE(std::stod(point.facts().at("longest_stall_ns")), 60e6);
}

TEST(SlotsOfTime, ADirectionAboveTheLineRateFailsThoughTheOtherIsIdle) {
  TickClock& clock = fake::test_clock();
  const verbs::SlotForm slots{.slot_seconds = 0.01, .message_bytes = 1000, .group = 1};
  const std::vector<std::vector<std::uint32_t>> counts{std::vector<std::uint32_t>(20, 1900),
                                                       std::vector<std::uint32_t>(20, 0)};
  verbs::Measured sum = verbs::measured_by_slots(counts, slots);
  const verbs::Direction one = verbs::add_direction("initiator", counts[0], slots, sum.facts);
  const verbs::Direction other = verbs::add_direction("target", counts[1], slots, sum.facts);
  EXPECT_EQ(sum.facts.at("initiator_bytes_per_second"), "190000000");
  EXPECT_EQ(sum.facts.at("target_smallest_slot_bytes_per_second"), "0");
  RankResult result;
  fake::Recorder recorder(result);
  const auto params = Params::parse(find_kernel("verbs.write_bw")->info(), {});
  ASSERT_TRUE(params);
  const Context context{*params, recorder, clock, "fake0:1", 0, false};
  verbs::PointForm form{.message_bytes = 1000,
                        .meaning = "bidirectional_sum",
                        .directions = 2,
                        .line_rate = {.bits_per_second = 1e9, .endpoint = "fake0:1"}};
  EXPECT_TRUE(verbs::make_points(context, sum, form)) << "0.76 Gb/s a direction on average";
  form.each = {one, other};
  const auto held = verbs::make_points(context, sum, form);
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().message, HasSubstr("measured 1.5 Gb/s, above the line rate of 1.0"));
}

TEST(SlotsOfTime, AreTakenTogetherWhereOneIsTooShortForSomeCompletions) {
  const std::vector<std::vector<std::uint32_t>> fast{std::vector<std::uint32_t>(100, 1000)};
  const auto alone =
      verbs::measured_by_slots(fast, {.slot_seconds = 0.01, .message_bytes = 10, .group = 32});
  EXPECT_EQ(alone.sampled.samples, std::vector<double>(100, 1e6));
  EXPECT_EQ(alone.facts.at("slot_ms"), "10");
  std::vector<std::vector<std::uint32_t>> slow(2, std::vector<std::uint32_t>(100));
  for (std::size_t i = 0; i < 100; i += 2) slow[i / 2 % 2][i] = 4;
  const auto together =
      verbs::measured_by_slots(slow, {.slot_seconds = 0.01, .message_bytes = 10, .group = 1});
  EXPECT_EQ(together.facts.at("slot_ms"), "50");
  EXPECT_EQ(together.writes, 200);
  EXPECT_EQ(together.sampled.samples.size(), 20U);
  EXPECT_NEAR(together.sampled.samples[0], 2400, 1e-6);  // three of the five slots had 4
}

// Six slots have ten completions. Where they do not divide the number of slots, a stall at the very
// end must not fall out.
TEST(SlotsOfTime, NoneAtTheEndIsLeftOut) {
  for (const std::size_t slots : {100U, 101U, 103U, 109U}) {
    std::vector<std::vector<std::uint32_t>> counts{std::vector<std::uint32_t>(slots, 2)};
    for (std::size_t i = slots - 9; i < slots; ++i) counts[0][i] = 0;
    const auto measured =
        verbs::measured_by_slots(counts, {.slot_seconds = 0.01, .message_bytes = 10, .group = 1});
    EXPECT_EQ(measured.facts.at("smallest_slot_bytes_per_second"), "0") << slots;
    double writes = 0;
    double ns = 0;
    for (const Stretch& joined : measured.stretches) {
      writes += joined.amount;
      ns += joined.ns;
      EXPECT_GE(joined.ns, 50e6 - 1) << slots;
    }
    EXPECT_EQ(writes, 2 * static_cast<double>(slots - 9)) << slots;
    EXPECT_NEAR(ns, 10e6 * static_cast<double>(slots), 1) << slots;
    EXPECT_EQ(measured.stretches.size(), measured.sampled.samples.size());
  }
}

// Each stall takes at least the time that it sleeps, so that these bounds hold on any machine.
class Stalls : public Manners {
 protected:
  static constexpr double kStallNs = 5e6;
  static constexpr std::uint64_t kEach = 320;  // data operations
  static constexpr std::uint64_t kWrites = 6'400;
  static constexpr double kStalls = static_cast<double>(kWrites) / kEach;

  void SetUp() override {
    Manners::SetUp();
    verbs_control().on_data_write = [](std::uint64_t number) {
      if (number % kEach == kEach / 2)
        std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(kStallNs)));
    };
  }
  void TearDown() override {
    verbs_control().on_data_write = nullptr;
    Manners::TearDown();
  }
};

TEST_F(Stalls, OfALinkLowerTheRateOfAWindowedStreamByTheTimeTheyTake) {
  const auto results =
      run("verbs.write_bw", {{"sizes", "4KiB"}, {"iterations", std::to_string(kWrites)}});
  expect_passed(results, "stalls");
  const Point& point = results[0].points[0];
  EXPECT_LE(point.rate(), 4096.0 * kWrites / (kStalls * kStallNs / 1e9));
  EXPECT_GE(point.longest_pause_ns(), 0.8 * kStallNs);
  EXPECT_GE(point.pause_share() * 4096 * kWrites / point.rate() * 1e9, 0.8 * kStalls * kStallNs);
  const Point& messages = results[0].points[1];
  EXPECT_NEAR(messages.rate() * 4096 / point.rate(), 1, 1e-9);
  EXPECT_EQ(messages.pause_share(), point.pause_share());
}

TEST_F(Stalls, OfALinkAreInTheSlotsOfAStretchOfTime) {
  const auto results = run("verbs.write_bw", {{"sizes", "4KiB"}, {"duration", "500ms"}});
  expect_passed(results, "stalls");
  const Point& point = results[0].points[0];
  EXPECT_NEAR(point.rate() / point.mean(), 1, 1e-12);
  EXPECT_TRUE(point.has_pause_share());
  EXPECT_LE(point.rate(), 4096.0 * kEach / (kStallNs / 1e9) * 1.2) << "320 messages a stall";
}

TEST_F(Manners, PacketsAreAddressedAsTheParametersSay) {
  const auto results = run("verbs.send_lat", {{"service_level", "3"},
                                              {"traffic_class", "106"},
                                              {"flow_label", "4660"},
                                              {"pkey_index", "1"},
                                              {"iterations", "10"}});
  expect_passed(results, "addressing");
  EXPECT_EQ(verbs_control().last_service_level, 3U);
  EXPECT_EQ(verbs_control().last_traffic_class, 106U);
  EXPECT_EQ(verbs_control().last_flow_label, 4660U);
  EXPECT_EQ(verbs_control().last_pkey_index, 1U);
  EXPECT_EQ(results[0].facts.at("flow_label"), "4660");
  EXPECT_EQ(results[0].facts.at("udp_source_port"), std::to_string(0xC000 | 4660));
}

TEST_F(Manners, InfiniBandCarriesAGlobalRouteOnlyWhereThePortOrTheUserWantsIt) {
  const Parameters ten{{"iterations", "10"}};
  verbs_control().infiniband = 1;
  expect_passed(run("verbs.write_lat", ten), "plain");
  EXPECT_EQ(verbs_control().last_is_global, 0U);
  verbs_control().infiniband = 2;
  expect_passed(run("verbs.write_lat", ten), "wanted by the port");
  EXPECT_EQ(verbs_control().last_is_global, 1U);
  verbs_control().infiniband = 1;
  expect_passed(run("verbs.write_lat", {{"iterations", "10"}, {"gid_index", "0"}}), "by the user");
  EXPECT_EQ(verbs_control().last_is_global, 1U);
  const auto refused = run("verbs.write_lat", {{"traffic_class", "4"}});
  ASSERT_FALSE(refused[0].status);
  EXPECT_THAT(refused[0].status.error().message,
              HasSubstr("parameter traffic_class: packets of this port carry no global route"));
}

TEST_F(Manners, QueuesThatCannotBePinnedSayWhatToSet) {
  const fake::LockedMemoryLimit limit(65536);
  for (const auto& [which, words] : std::map<std::uint64_t, std::string>{
           {1, "make a completion queue of"}, {2, "make a queue pair of depth"}}) {
    verbs_control().no_memory_for_queues = which;
    const auto results = run("verbs.write_bw", {});
    ASSERT_FALSE(results[0].status);
    EXPECT_EQ(results[0].status.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(results[0].status.error().message,
                AllOf(HasSubstr(words), HasSubstr("Cannot allocate memory (errno 12); locked "
                                                  "memory is limited to 65536 bytes")));
  }
}

// The walk of kernel_contract_test over what its shortest tasks do not touch.
TEST_F(Manners, EachWayOfMeasuringSurvivesAFailureOfEachCallWithoutALeak) {
  const std::vector<std::pair<const char*, Parameters>> ways{
      {"verbs.send_lat", {{"transport", "UD"}}},
      {"verbs.send_lat", {{"poll", "events"}}},
      {"verbs.write_imm_lat", {{"transport", "UC"}}},
      {"verbs.read_lat", {{"poll", "events"}}},
      {"verbs.send_bw", {{"transport", "UD"}, {"srq", "true"}, {"receive_depth", "2"}}},
      {"verbs.send_bw", {{"transport", "XRC"}, {"receive_depth", "2"}, {"qps", "2"}}},
      {"verbs.write_lat", {{"transport", "XRC"}}},
      {"verbs.send_bw", {{"sizes", "16,32"}, {"receive_depth", "2"}, {"qps", "2"}}},
      {"verbs.atomic_bw", {{"operation", "compare_swap"}, {"qps", "2"}, {"poll", "events"}}},
  };
  for (const auto& [kernel, way] : ways) {
    Parameters parameters = way;
    if (std::string_view(kernel) != "verbs.atomic_bw") parameters.emplace("sizes", "16");
    parameters.insert({{"iterations", "2"}, {"stall_timeout", "100ms"}});
    std::uint64_t call = 1;
    for (; call < 1000; ++call) {
      verbs_control().reset();
      verbs_control().fail_call = call;
      const auto results = run(kernel, parameters);
      ASSERT_EQ(verbs_control().live_handles, 0) << kernel << ", call " << call;
      if (verbs_control().calls < call) break;
    }
    EXPECT_GT(call, 20U) << kernel;
    EXPECT_LT(call, 1000U) << kernel;
  }
}

// This machine may be busy: then a note of each end says so.
TEST_F(Manners, TheHostsCpuIsAFigureOfEachEndInEachWayOfAStream) {
  const std::pair<const char*, Parameters> ways[] = {
      {"verbs.write_bw", {{"duration", "260ms"}}},
      {"verbs.write_bw", {{"duration", "260ms"}, {"poll", "events"}}},
      {"verbs.write_bw", {{"duration", "260ms"}, {"devices", "fake0:1,fake1:1"}}},
      {"verbs.write_bw", {{"duration", "260ms"}, {"direction", "both"}}},
      {"verbs.write_bw", {{"least_time", "260ms"}, {"time_cap", "300ms"}}},
      {"verbs.read_bw", {{"duration", "260ms"}}},
      {"verbs.send_bw", {{"duration", "260ms"}}}};
  for (auto [kernel, way] : ways) {
    way.emplace("host_cpu", "true");
    way.emplace("proof_time", "0s");
    const auto results = run(kernel, way);
    const std::string what = fmt::format("{} {}", kernel, fmt::join(way, " "));
    expect_passed(results, what);
    std::size_t told = 0;
    for (const Point& point : results[0].points) {
      if (point.metric() != "host_cpu_ns_per_byte") continue;
      ++told;
      EXPECT_TRUE(point.synthetic());
      EXPECT_GE(point.sample_count(), 1);
    }
    for (const std::string& note : results[0].notes)
      if (note.find("no host_cpu_ns_per_byte") != std::string::npos) ++told;
    EXPECT_EQ(told, 2U) << what;
  }
  const auto without = run("verbs.write_bw", {{"iterations", "10"}});
  EXPECT_TRUE(without[0].notes.empty() ||
              without[0].notes[0].find("host_cpu") == std::string::npos);
}

}  // namespace
}  // namespace railgauge
