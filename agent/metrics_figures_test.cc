// The figures of tasks that an agent shows as its node's, and their lifetime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/figures.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;
using testing::Not;

std::string bandwidth_lines(const Metrics& metrics) {
  return lines_with(metrics, {"railgauge_link_bandwidth_bytes_per_second"});
}

// A port has a figure for each kind of memory; another kind never replaces it.
TEST(Metrics, HostGpuAndStagedFiguresOfAPortStandApart) {
  Metrics metrics;
  const std::string port = "mlx5_0:1";
  result(metrics, "verbs.write_bw", port, bandwidth(65536, 49e9), 1, {{"memory", "host"}});
  result(metrics, "verbs.write_bw", port, bandwidth(65536, 40e9), 2,
         {{"memory", "host"}, {"peer_memory", "cuda"}, {"path", "peermem"}});
  Point staged = bandwidth(65536, 4e9);  // the twin, in one task with the figure before
  staged.set_pair("staged");
  (*staged.mutable_facts())["path"] = "staged";
  result(metrics, "verbs.write_bw", port, staged, 2, {{"memory", "cuda"}, {"path", "dma-buf"}});
  const std::string begin =
      "railgauge_link_bandwidth_bytes_per_second device=mlx5_0 kernel=unknown memory=";
  EXPECT_EQ(bandwidth_lines(metrics), begin + "gpu port=1 size=medium 40000000000\n" + begin +
                                          "host port=1 size=medium 49000000000\n" + begin +
                                          "staged port=1 size=medium 4000000000\n");
}

TEST(Metrics, ALinksBandwidthIsAllBytesOverAllTimeWithItsPausesBeside) {
  Metrics metrics;
  Point point = bandwidth(65536, 49e9);
  point.set_rate(38e9);
  point.set_pause_share(0.23);
  result(metrics, "verbs.write_bw", "mlx5_0:1", point, 1);
  EXPECT_EQ(lines_with(metrics,
                       {"railgauge_link_bandwidth_bytes_per_second", "railgauge_link_pause_ratio"}),
            "railgauge_link_bandwidth_bytes_per_second device=mlx5_0 kernel=unknown memory=host "
            "port=1 size=medium 38000000000\n"
            "railgauge_link_pause_ratio device=mlx5_0 kernel=unknown port=1 0.23\n");
}

TEST(Metrics, WhatIsNotOnePortsOneDirectionIsNoFigureOfTheLink) {
  Metrics metrics;
  Point both = bandwidth(65536, 98e9);
  both.set_meaning("bidirectional_sum");
  Point rails = bandwidth(65536, 390e9);
  rails.set_pair("rails0-7>rails0-7");
  Point loopback = bandwidth(65536, 20e9);
  (*loopback.mutable_facts())["line_rate_check"] = "waived: both ends are one port";
  for (const Point& point : {both, rails, loopback})
    result(metrics, "verbs.write_bw", "mlx5_0:1", point, 1.7e9);
  EXPECT_EQ(bandwidth_lines(metrics), "");
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_result_timestamp_seconds{device=\"mlx5_0\","))
      << "it was measured all the same";
}

std::string epoch_of(Metrics& metrics, const api::Hello& hello) {
  metrics.set_node(hello);
  std::string epochs;
  for (const metric::Sample& sample : metric::read_exposition(metrics.text()))
    if (sample.name == "railgauge_epoch_info")
      epochs += sample.labels.at("versions") + " " + sample.labels.at("settings");
  return epochs;
}

TEST(Metrics, AnEpochsFingerprintChangesWithWhatIsKnownOfTheStackAlone) {
  Metrics metrics;
  api::Hello hello;
  (*hello.mutable_stack_versions())["gpu_driver"] = "550";
  (*hello.mutable_stack_settings())["acs"] = "off";
  const std::string first = epoch_of(metrics, hello);
  EXPECT_EQ(first.size(), 33U);
  (*hello.mutable_stack_settings())["mtu"] = "unknown";
  EXPECT_EQ(epoch_of(metrics, hello), first) << "what cannot be read is no setting";
  (*hello.mutable_stack_settings())["acs"] = "on";
  const std::string second = epoch_of(metrics, hello);
  EXPECT_EQ(second.substr(0, 17), first.substr(0, 17)) << "the versions are the same";
  EXPECT_NE(second, first);
  hello.clear_stack_settings();
  hello.set_stack_incomplete(true);
  EXPECT_EQ(epoch_of(metrics, hello), second) << "a source was late";
}

void measure_and_check(Metrics& metrics) {
  Point slow = latency(8, 1500);
  slow.set_p99(2500);
  result(metrics, "verbs.write_lat", "mlx5_0:1", slow, 1.7e9);
  Point paused = bandwidth(65536, 45e9);
  paused.set_pause_share(0.2);
  result(metrics, "verbs.write_bw", "mlx5_0:1", paused, 1.7e9);
  result(metrics, "cuda.host_copy_bw", "gpu0", bandwidth(1 << 20, 50e9), 1.7e9);
  api::PreflightReport report;
  report.add_checks()->set_id("acs");
  report.mutable_checks(0)->set_state("fail");
  metrics.set_preflight(report, 1.7e9);
}

// A restart of the agent must not end an alert that only the next night's run can resolve.
TEST(Metrics, WhatWasMeasuredAndCheckedLastIsShownAgainAfterARestart) {
  constexpr double kNow = 1.7e9 + 3600;
  const std::vector<std::string> names{
      "railgauge_link_bandwidth_bytes_per_second", "railgauge_link_latency_seconds",
      "railgauge_link_pause_ratio", "railgauge_gpu_bandwidth_bytes_per_second",
      "railgauge_preflight_results"};
  Metrics before;
  measure_and_check(before);
  const std::string kept = before.kept();
  EXPECT_THAT(kept, Not(HasSubstr("railgauge_link_up"))) << "the inventory tells it anew";
  Metrics after;
  after.restore(kept, kNow);
  EXPECT_EQ(lines_with(after, names), lines_with(before, names));
  EXPECT_THAT(lines_with(after, names), HasSubstr("railgauge_link_pause_ratio"));
  EXPECT_EQ(after.kept(), kept);
  Metrics later;
  later.restore(kept, kNow + Metrics::kKeptSeconds);
  EXPECT_EQ(lines_with(later, names), "") << "nobody has measured for a fortnight";
  Metrics spoilt;
  spoilt.restore(kept.substr(0, kept.size() / 2) + "railgauge_made_up 1\n", kNow);
  spoilt.restore("no exposition at all", kNow);
  EXPECT_EQ(lines_with(spoilt, names), "");
  EXPECT_THAT(spoilt.text(), HasSubstr("railgauge_series_refused_total 0\n"));
}

}  // namespace
}  // namespace railgauge::agent
