#include "agent/metrics.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fd.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;
using testing::Not;

Point latency(double bytes, double median_ns) {
  Point point;
  point.set_metric("latency_ns");
  point.set_message_bytes(bytes);
  point.set_median(median_ns);
  return point;
}

KernelList one_kernel(const std::string& name) {
  KernelList list;
  list.add_kernels()->set_name(name);
  return list;
}

TEST(Metrics, ShowsLatencyInSecondsPerPort) {
  Metrics metrics;
  metrics.set_kernels(one_kernel("verbs.write_lat"));
  Point point = latency(8, 1500);
  point.set_p99(2500);
  metrics.result("verbs.write_lat", "mlx5_0:1", point, 1.7e9);
  EXPECT_THAT(
      metrics.text(),
      HasSubstr("railgauge_link_latency_seconds{device=\"mlx5_0\",kernel=\"verbs.write_lat\","
                "port=\"1\",size=\"small\",stat=\"p50\"} 1.5e-06"));
  EXPECT_THAT(metrics.text(), HasSubstr("stat=\"p99\"} 2.5"));
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_result_timestamp_seconds{device=\"mlx5_0\","));
}

TEST(Metrics, AnAbsentPercentileIsNotShown) {
  Metrics metrics;
  metrics.result("k", "rxe0:1", latency(8, 1500), 1.7e9);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("p99")));
}

TEST(Metrics, AKernelThatIsNotOnTheListMakesNoNewLabel) {
  Metrics metrics;
  metrics.task_ended("made.up_by_somebody", "passed");
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_agent_tasks_total{kernel=\"unknown\",outcome=\"passed\"} 1"));
}

TEST(Metrics, BandwidthKeepsItsUnitAndSizeClass) {
  Metrics metrics;
  Point point;
  point.set_metric("bandwidth_bytes_per_second");
  point.set_message_bytes(65536);
  point.set_median(12.5e9);
  metrics.result("k", "rxe0:1+gpu0", point, 1.7e9);
  EXPECT_THAT(metrics.text(), HasSubstr("port=\"1\",size=\"medium\"} 12500000000"));
}

TEST(Metrics, AnEndpointThatIsNeitherPortNorGpuIsNotShown) {
  Metrics metrics;
  metrics.result("k", "host", latency(8, 1500), 1.7e9);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("latency_seconds{")));
}

TEST(Metrics, AGpuIsNoLinkAndShowsThePair) {
  Metrics metrics;
  Point point = latency(8, 1500);
  point.set_pair("gpu0>gpu1");
  metrics.result("k", "gpu0", point, 1.7e9);
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_gpu_latency_seconds{gpu=\"gpu0\",kernel=\"unknown\","
                        "pair=\"gpu0>gpu1\",size=\"small\",stat=\"p50\"} 1.5e-06"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("railgauge_link_latency_seconds{")));
}

TEST(Metrics, TellsItsOwnCost) {
  Metrics metrics;
  metrics.sample_process();
  EXPECT_THAT(metrics.text(), Not(HasSubstr("process_resident_memory_bytes 0\n")));
  EXPECT_THAT(metrics.text(), HasSubstr("process_cpu_seconds_total"));
}

TEST(Metrics, APreflightIsShownByCheckAndStateAndReplacedByTheNext) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_preflight_timestamp_seconds 0"));
  api::PreflightReport report;
  const auto add = [&report](const char* id, const char* state) {
    report.add_checks()->set_id(id);
    report.mutable_checks(report.checks_size() - 1)->set_state(state);
  };
  add("acs", "fail");
  add("acs", "fail");
  add("acs", "pass");
  add("mtu", "unknown");
  metrics.set_preflight(report, 1.7e9);
  for (const char* line : {"railgauge_preflight_results{check=\"acs\",state=\"fail\"} 2",
                           "railgauge_preflight_results{check=\"acs\",state=\"pass\"} 1",
                           "railgauge_preflight_results{check=\"mtu\",state=\"unknown\"} 1",
                           "railgauge_preflight_timestamp_seconds 1700000000"})
    EXPECT_THAT(metrics.text(), HasSubstr(line));
  report.Clear();
  add("acs", "pass");
  metrics.set_preflight(report, 1.7e9 + 60);
  EXPECT_THAT(metrics.text(), HasSubstr("{check=\"acs\",state=\"pass\"} 1"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("state=\"fail\""))) << "it was mended";
  EXPECT_THAT(metrics.text(), Not(HasSubstr("check=\"mtu\"")));
}

TEST(Metrics, EventsOfTheWatchAreCountedByKindAndSeverity) {
  Metrics metrics;
  metrics.node_event("xid", "fail");
  metrics.node_event("xid", "fail");
  metrics.node_event("counter", "warn");
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_node_events_total{kind=\"xid\",severity=\"fail\"} 2"));
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_node_events_total{kind=\"counter\",severity=\"warn\"} 1"));
}

TEST(Metrics, APortInUseIsAnError) {
  Fd taken(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  Metrics metrics;
  const auto status = metrics.listen("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("--metrics-listen"));
}

}  // namespace
}  // namespace railgauge::agent
