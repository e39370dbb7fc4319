// Several NICs of a node at once, on the fake's two devices.
#include "kernels/verbs/rails/rails.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/catalog.h"
#include "kernels/dl/rdmacm.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/testing/contract.h"
#include "kernels/verbs/memory/near_node.h"
#include "kernels/verbs/rails/report.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;
using Pairs = std::vector<verbs::RailPair>;

TEST(RailPairs, SameCrossAndAll) {
  EXPECT_EQ(verbs::rail_pairs("same", 2), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(verbs::rail_pairs("cross", 3), (Pairs{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_EQ(verbs::rail_pairs("all", 2), (Pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(verbs::rail_pairs("cross", 1), (Pairs{{0, 0}}));
}

TEST(RailPairs, DevicesAreNamedOnceEach) {
  EXPECT_EQ(*verbs::parse_devices("a:1,b:1"), (std::vector<std::string>{"a:1", "b:1"}));
  EXPECT_FALSE(verbs::parse_devices("a:1,,b:1"));
  EXPECT_FALSE(verbs::parse_devices("a:1,"));
  EXPECT_FALSE(verbs::parse_devices("a:1,a:1"));
}

TEST(RailPairs, AValueIsForAllDevicesOrAListForEach) {
  EXPECT_EQ(*verbs::one_for_each("gpu", "3", 2), (std::vector<std::string>{"3", "3"}));
  EXPECT_EQ(*verbs::one_for_each("gpu", "3,1", 2), (std::vector<std::string>{"3", "1"}));
  EXPECT_EQ(*verbs::one_for_each("cm_address", "", 2), (std::vector<std::string>{"", ""}));
  const auto wrong = verbs::one_for_each("gpu", "3,1", 3);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "parameter gpu: \"3,1\" names 2 for 3 devices; name one for all, or one for each as "
            "they are named");
}

// Rank `port_of`'s port with 100 Gb/s, which is 12.5e9 bytes a second in each direction.
verbs::PortLoad load(std::uint32_t port_of, const char* endpoint, double bytes_per_second,
                     std::uint32_t from = 0) {
  return {port_of, from, endpoint, 100e9, bytes_per_second};
}

TEST(PortLoads, TheLinksOfOnePortTogetherAreHeldAgainstItsRateInEachDirection) {
  const std::vector<verbs::PortLoad> fits{load(0, "a:1", 6e9), load(0, "a:1", 6e9),
                                          load(0, "a:1", 12e9, 1), load(1, "a:1", 12e9),
                                          load(0, "b:1", 12e9)};
  const auto held = verbs::check_port_loads(fits);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(*held, 3U) << "a:1 of either rank, and b:1";
  std::vector<verbs::PortLoad> above = fits;
  above.push_back(load(1, "a:1", 1e9));
  const auto failed = verbs::check_port_loads(above);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kDataLoss);
  EXPECT_THAT(failed.error().message,
              HasSubstr("rank 1's a:1: all its links: measured 104.0 Gb/s, above the line rate"));
  above.back().rate_bits_per_second = 0;  // of an unknown rate
  EXPECT_EQ(*verbs::check_port_loads(above), 3U);
  EXPECT_EQ(*verbs::check_port_loads({}), 0U);
}

// A machine of two NUMA nodes with a CPU each: `near`'s is one that this process may use.
class NearNode : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) / ("near-" + std::to_string(getpid()));
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) own_ = cpu;
    put("online", "0-1");
    put("node0/cpulist", "8000");
    put("node0/distance", "10 20");
    put("node1/cpulist", std::to_string(own_));
    put("node1/distance", "20 10");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& file, const std::string& line) const {
    const auto path = root_ / "devices/system/node" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << line << '\n';
  }
  std::filesystem::path root_;
  int own_ = 0;
};

int allowed_cpus() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

TEST_F(NearNode, AThreadIsPinnedNextToItsAdapterUntilThatEnds) {
  const int before = allowed_cpus();
  {
    const verbs::Pinned pinned = verbs::pin_near(1, "fake0", root_.string());
    EXPECT_THAT(pinned.words, ::testing::StartsWith("node 1"));
    EXPECT_EQ(allowed_cpus(), 1);
    EXPECT_EQ(sched_getcpu(), own_);
  }
  EXPECT_EQ(allowed_cpus(), before);
}

TEST_F(NearNode, WhatForbidsItIsSaid) {
  const int before = allowed_cpus();
  const verbs::Pinned forbidden = verbs::pin_near(0, "fake0", root_.string());
  EXPECT_THAT(forbidden.words,
              ::testing::AllOf(::testing::StartsWith("not pinned: NUMA node 0: "),
                               HasSubstr("none of them is allowed to this process")));
  EXPECT_EQ(verbs::pin_near(-1, "fake0", root_.string()).words,
            "not pinned: the machine does not say on which node fake0 is");
  EXPECT_THAT(verbs::pin_near(7, "fake0", root_.string()).words,
              ::testing::StartsWith("not pinned: NUMA node 7: it is not online"));
  EXPECT_EQ(verbs::pin_near(0, "fake0", "/absent").words, "single node");
  EXPECT_EQ(allowed_cpus(), before);
}

class Rails : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kRdmacmLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
  }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, Parameters parameters, Parameters target = {}) {
    parameters.emplace("stall_timeout", "30s");
    parameters.emplace("devices", "fake0:1,fake1:1");
    parameters.emplace("duration", "50ms");
    return run_pair(*find_kernel(kernel),
                    {.parameters = std::move(parameters), .target_parameters = std::move(target)});
  }
};

TEST_F(Rails, EachPairHasItsFigureAndTheSumIsTheirsInTheSameTime) {
  for (const char* kernel : {"verbs.write_bw", "verbs.read_bw", "verbs.send_bw",
                             "verbs.write_imm_bw", "verbs.atomic_bw"})
    for (const char* direction : {"one_way", "both"}) {
      const auto results = run(kernel, {{"direction", direction}});
      for (const RankResult& result : results)
        ASSERT_TRUE(result.status) << kernel << ": " << result.status.error().message;
      const auto& points = results[0].points;
      ASSERT_EQ(points.size(), 6U) << kernel;  // bandwidth and rate, of two pairs and the sum
      EXPECT_EQ(points[0].pair(), "rail0>rail0");
      EXPECT_EQ(points[0].facts().at("link"), "fake0:1>fake0:1");
      EXPECT_EQ(points[2].pair(), "rail1>rail1");
      EXPECT_EQ(points[4].pair(), "rails0-1>rails0-1");
      EXPECT_NEAR(points[4].mean(), points[0].mean() + points[2].mean(), points[4].mean() * 1e-9);
      EXPECT_EQ(points[4].facts().at("links"), "2");
      EXPECT_TRUE(points[4].verified());
      EXPECT_GT(std::stod(points[4].facts().at("cpu_seconds_per_gigabyte")), 0);
      EXPECT_EQ(results[1].facts.at("peers"), "fake0:1,fake1:1");
    }
}

TEST_F(Rails, CrossAndAllNameTheirPairs) {
  const auto cross = run("verbs.write_bw", {{"rails", "cross"}});
  ASSERT_TRUE(cross[0].status) << cross[0].status.error().message;
  EXPECT_EQ(cross[0].points[0].pair(), "rail0>rail1");
  EXPECT_EQ(cross[0].points[2].pair(), "rail1>rail0");
  EXPECT_EQ(cross[0].points[4].pair(), "rails0-1>rails1+0");
  const auto all = run("verbs.write_bw", {{"rails", "all"}, {"sizes", "64,4KiB"}});
  ASSERT_TRUE(all[0].status) << all[0].status.error().message;
  EXPECT_EQ(all[0].points.size(), 2U * 2 * 5);
}

TEST_F(Rails, AWrongByteOnOneLinkFailsAll) {
  verbs_control().flip_byte = 1;
  for (const RankResult& result : run("verbs.write_bw", {})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    EXPECT_TRUE(result.points.empty());
  }
}

TEST_F(Rails, APeerThatVanishesEndsBothRanks) {
  verbs_control().lose_after = 200;  // less than both links post at once, however slow the machine
  for (const char* kernel : {"verbs.write_bw", "verbs.send_bw"}) {
    const auto results = run(kernel, {{"stall_timeout", "200ms"}});
    ASSERT_FALSE(results[0].status) << kernel;
    EXPECT_FALSE(results[1].status) << kernel;
    EXPECT_EQ(results[0].status.error().code, Code::kUnavailable)
        << results[0].status.error().message;
    EXPECT_THAT(
        results[0].status.error().message,
        ::testing::AnyOf(HasSubstr("link fake0:1>fake0:1: "), HasSubstr("link fake1:1>fake1:1: ")));
    verbs_control().writes = 0;
  }
}

TEST_F(Rails, WrongUseNamesTheParameter) {
  const auto counts = run("verbs.write_bw", {}, {{"devices", "fake1:1"}});
  for (const RankResult& result : counts) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.status.error().message,
                HasSubstr("parameter devices: 2 at rank 0 and 1 at rank 1"));
  }
  const auto fixed = run("verbs.write_bw", {{"iterations", "5"}, {"duration", "0s"}});
  EXPECT_THAT(fixed[0].status.error().message,
              HasSubstr("parameter iterations: is not for several"));
  const auto absent = run("verbs.write_bw", {{"devices", "fake0:1,mlx5_7:1"}});
  EXPECT_EQ(absent[0].status.error().code, Code::kNotFound);
}

TEST_F(Rails, UnreliableTransportsAreRefusedWithTheReason) {
  const auto results = run("verbs.send_bw", {{"transport", "UD"}, {"sizes", "64"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kUnimplemented);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("what UC and UD lose would count as bandwidth"));
}

TEST_F(Rails, EachPortHasItsOwnAddressOfTheConnectionManager) {
  const auto results =
      run("verbs.write_bw", {{"connection", "rdma_cm"}, {"cm_address", "192.0.2.1,192.0.2.2"}});
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(results[0].facts.at("cm_address"), "192.0.2.1");
  EXPECT_EQ(results[0].points[2].facts().at("cm_address"), "192.0.2.2");
  const auto one = run("verbs.write_bw", {{"connection", "rdma_cm"}, {"cm_address", "192.0.2.1"}});
  ASSERT_FALSE(one[0].status) << "fake1's traffic would leave through fake0";
  EXPECT_THAT(one[0].status.error().message,
              HasSubstr("link fake1:1>fake1:1: fake1:1: rdma_cm: 192.0.2.1 leads through fake0"));
  const auto three = run("verbs.write_bw", {{"connection", "rdma_cm"}, {"cm_address", "a,b,c"}});
  ASSERT_FALSE(three[0].status);
  EXPECT_THAT(three[0].status.error().message,
              HasSubstr("parameter cm_address: \"a,b,c\" names 3"));
}

TEST_F(Rails, ASingleLinkSaysWhereItsThreadRanToo) {
  for (const char* kernel : {"verbs.write_bw", "verbs.write_lat", "verbs.read_lat"}) {
    const int before = allowed_cpus();
    const auto results = run_pair(*find_kernel(kernel), {.parameters = {{"iterations", "100"}}});
    for (const RankResult& result : results) {
      ASSERT_TRUE(result.status) << kernel << ": " << result.status.error().message;
      EXPECT_THAT(result.facts.at("numa"),
                  ::testing::AnyOf("single node", ::testing::StartsWith("not pinned: ")));
    }
    EXPECT_EQ(allowed_cpus(), before);
  }
}

TEST_F(Rails, EachLinkSaysWhereItsThreadRan) {
  const auto results = run("verbs.write_bw", {});
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  const std::string words = results[0].points[0].facts().at("numa");
  EXPECT_THAT(words, ::testing::AnyOf("single node", ::testing::StartsWith("not pinned: ")))
      << "the fake's adapters are in no slot";
  EXPECT_EQ(results[0].facts.at("numa"),
            "fake0:1 " + words + ", fake1:1 " + results[0].points[2].facts().at("numa"));
}

bool is_identity(const char* name) {
  const KernelInfo info = find_kernel("verbs.write_bw")->info();
  const auto declared = std::ranges::find(info.parameters(), name, &ParameterInfo::name);
  return declared != info.parameters().end() && declared->identity();
}

TEST_F(Rails, ASeriesIsToldByRailsAndByNoNameOfADevice) {
  EXPECT_TRUE(is_identity("rails"));
  EXPECT_FALSE(is_identity("devices"));
  const auto one = run("verbs.write_bw", {{"devices", "fake1:1"}});
  ASSERT_TRUE(one[0].status) << one[0].status.error().message;
  EXPECT_EQ(one[0].points[0].pair(), "rail1>rail1");
  EXPECT_EQ(one[0].points[2].pair(), "rails1>rails1") << "all of one are not that one's series";
}

TEST_F(Rails, AnEntryThatIsForcedIsPartOfTheSeriesAndACountIsNot) {
  for (const char* name : {"gid_index", "pkey_index", "gid_rule", "pkey"})
    EXPECT_TRUE(is_identity(name)) << name;
  EXPECT_FALSE(is_identity("iterations"));
}

// fake1 is in the lower slot: what it was called before does not matter.
TEST_F(Rails, ARailIsItsDevicesPositionByPciAddress) {
  const auto root =
      std::filesystem::path(::testing::TempDir()) / ("rails-" + std::to_string(getpid()));
  for (const auto& [device, slot] :
       {std::pair{"fake0", "0000:5e:00.0"}, std::pair{"fake1", "0000:3b:00.0"}}) {
    std::filesystem::create_directories(root / device);
    std::filesystem::create_symlink(root / slot, root / device / "device");
  }
  fake::set_sysfs_folder(root.string());
  const auto results = run("verbs.write_bw", {});
  fake::set_sysfs_folder("");
  std::filesystem::remove_all(root);
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  EXPECT_EQ(results[0].points[0].pair(), "rail1>rail1");
  EXPECT_EQ(results[0].points[0].facts().at("link"), "fake0:1>fake0:1");
  EXPECT_EQ(results[0].points[4].pair(), "rails1+0>rails1+0");
}

verbs::RailPort rail_port(std::uint32_t number, std::uint32_t port = 1) {
  verbs::RailPort made;
  made.set_number(number);
  made.set_port(port);
  return made;
}

TEST(RailNames, CountByAddressAndThoseInNoSlotComeLast) {
  const std::vector<verbs::DevicePlace> places{{"rxe0", ""},
                                               {"mlx5_9", "0000:1a:00.0"},
                                               {"mlx5_0", "0001:00:00.0"},
                                               {"mlx5_1", "0000:1a:00.1"}};
  EXPECT_EQ(verbs::rail_number(places, "mlx5_9"), 0U);
  EXPECT_EQ(verbs::rail_number(places, "mlx5_1"), 1U);
  EXPECT_EQ(verbs::rail_number(places, "mlx5_0"), 2U);
  EXPECT_EQ(verbs::rail_number(places, "rxe0"), 3U);
  EXPECT_EQ(verbs::rail_number(places, "gone").error().code, Code::kNotFound);
}

TEST(RailNames, AreShortHoweverManyThereAre) {
  EXPECT_EQ(verbs::rail_word(rail_port(3)), "rail3");
  EXPECT_EQ(verbs::rail_word(rail_port(3, 2)), "rail3:2");
  const std::vector<verbs::RailPort> some{rail_port(0), rail_port(1),    rail_port(1),
                                          rail_port(4), rail_port(5, 2), rail_port(6, 2)};
  EXPECT_EQ(verbs::rails_words(some), "rails0-1+4+5-6:2");
  std::vector<verbs::RailPort> many;  // no two of them make a run
  for (std::uint32_t i = 0; i < 32; ++i) many.push_back(rail_port(2 * i));
  EXPECT_LT(2 * verbs::rails_words(many).size(), 256U) << "what the store takes as a word";
}

// Only the first posts and polls fail by number: their count is up to the scheduler.
TEST_F(Rails, AFailureOfEachCallIsClearAndLeaksNothing) {
  constexpr std::uint64_t kMostCalls = 1000;
  std::uint64_t call = 1;
  for (; call < kMostCalls; ++call) {
    verbs_control().reset();
    verbs_control().transfers_that_count = 24;
    verbs_control().fail_call = call;
    const auto results = run("verbs.send_bw", {{"sizes", "16"},
                                               {"receive_depth", "4"},
                                               {"depth", "4"},
                                               {"signal_every", "1"},
                                               {"duration", "10ms"},
                                               {"stall_timeout", "100ms"}});
    ASSERT_EQ(verbs_control().live_handles, 0) << "call " << call;
    if (verbs_control().calls < call) {
      for (const RankResult& result : results)
        EXPECT_TRUE(result.status) << result.status.error().message;
      break;
    }
    EXPECT_TRUE(!results[0].status || !results[1].status) << "call " << call;
    for (const RankResult& result : results) expect_clear(result.status, call);
  }
  EXPECT_GT(call, 100U);
  EXPECT_LT(call, kMostCalls);
}

}  // namespace
}  // namespace railgauge
