#include "controller/cli/report/placement_costs.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/cli/render/results_table.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Points = google::protobuf::RepeatedPtrField<ResultPoint>;

ResultPoint point(const std::string& port, const std::string& gpu, const std::string& distance,
                  double median, const std::string& unit = "ns") {
  ResultPoint made;
  made.set_run_id("r1");
  made.set_kernel(unit == "ns" ? "verbs.write_imm_lat" : "verbs.write_bw");
  made.set_revision(1);
  made.add_endpoints("n1/" + port);
  made.add_endpoints("n1/" + port);
  made.set_outcome("passed");
  (*made.mutable_parameters())["memory"] = "cuda";
  (*made.mutable_parameters())["target_memory"] = "same";
  (*made.mutable_parameters())["gpu"] = gpu;
  (*made.mutable_facts())["loopback"] = "true";
  (*made.mutable_facts())["gpu_nic_distance"] = distance;
  Point& value = *made.mutable_point();
  value.set_metric(unit == "ns" ? "latency_ns" : "bandwidth_bytes_per_second");
  value.set_unit(unit);
  value.set_meaning(unit == "ns" ? "half_rtt" : "unidirectional");
  value.set_message_bytes(unit == "ns" ? 8 : 65536);
  value.set_median(median);
  return made;
}

Points points(const std::vector<ResultPoint>& all) { return {all.begin(), all.end()}; }

std::vector<std::string> told(const std::vector<DistanceCost>& costs) {
  std::vector<std::string> out;
  for (const DistanceCost& cost : costs)
    out.push_back(fmt::format(
        "{} {} {} of {}: {}, {}", cost.gpu(), cost.distance(), cost.pairs(),
        cost.has_nearest() ? cost.nearest() : "none",
        cost.has_latency_added_ns() ? fmt::format("{:+}", cost.latency_added_ns()) : "-",
        cost.has_bandwidth_kept() ? fmt::format("{}", cost.bandwidth_kept()) : "-"));
  return out;
}

TEST(DistanceCosts, HoldEachGpusDistancesAgainstItsOwnNearest) {
  const auto costs = distance_costs(
      points({point("mlx5_1:1", "0", "SYS", 2900), point("mlx5_0:1", "0", "PIX", 2000),
              point("mlx5_2:1", "0", "SYS", 3100), point("mlx5_0:1", "1", "SYS", 5000),
              point("mlx5_1:1", "1", "NODE", 4000)}));
  EXPECT_THAT(told(costs),
              ElementsAre("gpu0 PIX 1 of PIX: +0, -", "gpu0 SYS 2 of PIX: +1000, -",
                          "gpu1 NODE 1 of NODE: +0, -", "gpu1 SYS 1 of NODE: +1000, -"));
  EXPECT_EQ(costs[1].median(), 3000);
  EXPECT_EQ(costs[1].node(), "n1");
  EXPECT_EQ(costs[1].parameters().count("gpu"), 0U);
}

TEST(DistanceCosts, OfABandwidthAreTheShareThatIsKept) {
  const auto costs =
      distance_costs(points({point("mlx5_0:1", "0", "PXB", 40e9, "bytes_per_second"),
                             point("mlx5_1:1", "0", "SYS", 10e9, "bytes_per_second")}));
  EXPECT_THAT(told(costs), ElementsAre("gpu0 PXB 1 of PXB: -, 1", "gpu0 SYS 1 of PXB: -, 0.25"));
}

TEST(DistanceCosts, SeveralTasksOfOnePortAreOnePair) {
  const auto costs = distance_costs(
      points({point("mlx5_0:1", "0", "PIX", 10), point("mlx5_0:1", "0", "PIX", 90),
              point("mlx5_0:1", "0", "PIX", 20), point("mlx5_1:1", "0", "PIX", 40)}));
  EXPECT_THAT(told(costs), ElementsAre("gpu0 PIX 2 of PIX: +0, -"));
  EXPECT_EQ(costs[0].median(), 30) << "of 20 and 40";
}

TEST(DistanceCosts, AnUnknownDistanceIsToldAndHeldAgainstNothing) {
  EXPECT_THAT(told(distance_costs(points(
                  {point("mlx5_0:1", "0", "unknown", 10), point("mlx5_1:1", "0", "NODE", 20)}))),
              ElementsAre("gpu0 NODE 1 of NODE: +0, -", "gpu0 unknown 1 of NODE: -, -"));
  EXPECT_THAT(told(distance_costs(points({point("mlx5_0:1", "0", "unknown", 10)}))),
              ElementsAre("gpu0 unknown 1 of none: -, -"));
}

TEST(DistanceCosts, HoldNothingAgainstAnotherFigure) {
  const auto changed = [](const auto& change) {
    ResultPoint far = point("mlx5_1:1", "0", "SYS", 3000);
    change(far);
    const auto costs = distance_costs(points({point("mlx5_0:1", "0", "PIX", 2000), far}));
    return std::ranges::any_of(
        costs, [](const DistanceCost& c) { return c.distance() == "SYS" && c.nearest() == "PIX"; });
  };
  EXPECT_TRUE(changed([](ResultPoint&) {}));
  EXPECT_TRUE(changed([](ResultPoint& p) { (*p.mutable_parameters())["time_cap"] = "1s"; }));
  EXPECT_FALSE(changed([](ResultPoint& p) { p.set_run_id("r2"); }));
  EXPECT_FALSE(changed([](ResultPoint& p) { p.set_kernel("verbs.send_lat"); }));
  EXPECT_FALSE(changed([](ResultPoint& p) { p.set_revision(2); }));
  EXPECT_FALSE(changed([](ResultPoint& p) { p.mutable_point()->set_meaning("rtt"); }));
  EXPECT_FALSE(changed([](ResultPoint& p) { p.mutable_point()->set_pair("staged"); }));
  EXPECT_FALSE(changed([](ResultPoint& p) { p.mutable_point()->set_message_bytes(4); }));
  EXPECT_FALSE(changed([](ResultPoint& p) { (*p.mutable_parameters())["mtu"] = "256"; }));
  EXPECT_FALSE(changed([](ResultPoint& p) {
    for (std::string& endpoint : *p.mutable_endpoints()) endpoint = "n2/mlx5_1:1";
  }));
}

TEST(DistanceCosts, LeaveOutWhatIsNoLoopbackOfAGpu) {
  const auto left_out = [](const auto& change) {
    ResultPoint one = point("mlx5_0:1", "0", "PIX", 2000);
    change(one);
    return distance_costs(points({one})).empty();
  };
  EXPECT_FALSE(left_out([](ResultPoint&) {}));
  EXPECT_TRUE(left_out([](ResultPoint& p) { p.set_outcome("failed"); }));
  EXPECT_TRUE(left_out([](ResultPoint& p) { p.mutable_facts()->erase("gpu_nic_distance"); }));
  EXPECT_TRUE(left_out([](ResultPoint& p) { (*p.mutable_parameters())["memory"] = "host"; }));
  EXPECT_FALSE(left_out([](ResultPoint& p) {
    (*p.mutable_parameters())["memory"] = "host";
    (*p.mutable_parameters())["target_memory"] = "cuda";
  }));
  EXPECT_TRUE(left_out([](ResultPoint& p) { p.mutable_point()->set_unit("per_second"); }));
  EXPECT_TRUE(left_out([](ResultPoint& p) {
    p.set_endpoints(1, "n2/mlx5_0:1");
    p.mutable_facts()->erase("loopback");
  })) << "between two nodes";
}

TEST(DistanceCosts, AreATableThatSaysThatItIsNotTheFabric) {
  const auto costs = distance_costs(
      points({point("mlx5_0:1", "0", "PIX", 2000), point("mlx5_1:1", "0", "SYS", 2900),
              point("mlx5_0:1", "0", "PIX", 48e9, "bytes_per_second"),
              point("mlx5_1:1", "0", "SYS", 24e9, "bytes_per_second")}));
  const google::protobuf::RepeatedPtrField<DistanceCost> list(costs.begin(), costs.end());
  EXPECT_EQ(distance_table(list, false), R"(
GPU and NIC by distance, over loopback: says nothing about the fabric
GPU      KERNEL               METRIC                      MEANING           SIZE  DISTANCE  NICS      MEDIAN  AGAINST  LATENCY ADDED  BANDWIDTH KEPT
n1/gpu0  verbs.write_imm_lat  latency_ns                  half_rtt           8 B  PIX          1    2.000 us  PIX           0.000 us
n1/gpu0  verbs.write_imm_lat  latency_ns                  half_rtt           8 B  SYS          1    2.900 us  PIX          0.9000 us
n1/gpu0  verbs.write_bw       bandwidth_bytes_per_second  unidirectional  64 KiB  PIX          1  48.00 GB/s  PIX                              1.000
n1/gpu0  verbs.write_bw       bandwidth_bytes_per_second  unidirectional  64 KiB  SYS          1  24.00 GB/s  PIX                              0.500
)");
  EXPECT_EQ(distance_table({}, false), "");
}

TEST(DistanceCosts, PrintAsJsonWithNullForWhatIsNotHeldAgainstAnything) {
  const auto costs = distance_costs(
      points({point("mlx5_0:1", "3", "PIX", 2000), point("mlx5_1:1", "3", "SYS", 2900)}));
  ASSERT_EQ(costs.size(), 2U);
  EXPECT_EQ(to_json(costs[1]), R"({
  "run_id": "r1",
  "node": "n1",
  "gpu": "gpu3",
  "kernel": "verbs.write_imm_lat",
  "metric": "latency_ns",
  "meaning": "half_rtt",
  "pair": "",
  "message_bytes": 8,
  "parameters": {
    "memory": "cuda",
    "target_memory": "same"
  },
  "distance": "SYS",
  "pairs": 1,
  "unit": "ns",
  "median": 2900,
  "nearest": "PIX",
  "latency_added_ns": 900,
  "bandwidth_kept": null
})");
}

TEST(LoopbackResults, StandInTablesOfTheirOwnWithoutFromAndToOrALineRate) {
  ResultPoint loop = point("mlx5_0:1", "0", "PIX", 24e9, "bytes_per_second");
  (*loop.mutable_facts())["port_rate_bits_per_second"] = "400000000000";
  ResultPoint pair = loop;
  pair.set_endpoints(1, "n2/mlx5_0:1");
  pair.mutable_facts()->erase("loopback");
  const std::string text = results_tables(points({pair, loop}), Units::kBits, false);
  const std::size_t second = text.find("\n\n");
  ASSERT_NE(second, std::string::npos) << text;
  const std::string pairs = text.substr(0, second);
  const std::string loopback = text.substr(second);
  EXPECT_THAT(pairs, HasSubstr("FROM"));
  EXPECT_THAT(pairs, HasSubstr("48.0 %"));
  EXPECT_THAT(pairs, Not(HasSubstr("loopback")));
  EXPECT_THAT(loopback, HasSubstr("verbs.write_bw revision 1, loopback"));
  EXPECT_THAT(loopback, Not(HasSubstr("FROM")));
  EXPECT_THAT(loopback, Not(HasSubstr("%\n")));
  EXPECT_THAT(loopback, Not(HasSubstr("48.0 %")));
}

TEST(LoopbackResults, TwoNodesOrTwoPortsAreNone) {
  ResultPoint one = point("mlx5_0:1", "0", "PIX", 1);
  EXPECT_TRUE(is_loopback(one));
  one.mutable_facts()->erase("loopback");
  EXPECT_TRUE(is_loopback(one)) << "its endpoints say so: an older agent tells no facts";
  one.set_endpoints(1, "n1/mlx5_1:1");
  EXPECT_FALSE(is_loopback(one)) << "that goes over a cable";
  one.set_endpoints(1, "n2/mlx5_0:1");
  EXPECT_FALSE(is_loopback(one));
  one.mutable_endpoints()->RemoveLast();
  EXPECT_FALSE(is_loopback(one)) << "one rank alone";
  EXPECT_THAT(distance_costs({}), IsEmpty());
}

}  // namespace
}  // namespace railgauge::cli
