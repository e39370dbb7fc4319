#include "agent/metrics.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/figures.h"
#include "controller/metric/exposition.h"
#include "kernels/core/base/fd.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
  result(metrics, "verbs.write_lat", "mlx5_0:1", point, 1.7e9);
  EXPECT_THAT(
      metrics.text(),
      HasSubstr("railgauge_link_latency_seconds{device=\"mlx5_0\",kernel=\"verbs.write_lat\","
                "memory=\"host\",port=\"1\",size=\"small\",stat=\"p50\"} 1.5e-06"));
  EXPECT_THAT(metrics.text(), HasSubstr("stat=\"p99\"} 2.5"));
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_result_timestamp_seconds{device=\"mlx5_0\","));
}

TEST(Metrics, AnAbsentPercentileIsNotShown) {
  Metrics metrics;
  result(metrics, "k", "rxe0:1", latency(8, 1500), 1.7e9);
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
  result(metrics, "k", "rxe0:1+gpu0", point, 1.7e9);
  EXPECT_THAT(metrics.text(), HasSubstr("memory=\"host\",port=\"1\",size=\"medium\"} 12500000000"));
}

TEST(Metrics, AnEndpointThatIsNeitherPortNorGpuIsNotShown) {
  Metrics metrics;
  result(metrics, "k", "host", latency(8, 1500), 1.7e9);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("latency_seconds{")));
}

TEST(Metrics, AGpuIsNoLinkAndShowsThePair) {
  Metrics metrics;
  Point point = latency(8, 1500);
  point.set_pair("gpu0>gpu1");
  result(metrics, "k", "gpu0", point, 1.7e9);
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_gpu_latency_seconds{gpu=\"gpu0\",kernel=\"unknown\","
                        "pair=\"gpu0>gpu1\",size=\"small\",stat=\"p50\"} 1.5e-06"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("railgauge_link_latency_seconds{")));
}

void fill_results(Metrics& metrics, int number) {
  const std::string port = "mlx5_" + std::to_string(number) + ":1";
  const std::string gpu = "gpu" + std::to_string(number);
  for (const double bytes : {8.0, 65536.0, 1048576.0}) {
    Point slow = latency(bytes, 1500);
    slow.set_p99(2500);
    result(metrics, "verbs.write_lat", port, slow, 1.7e9);
    result(metrics, "verbs.write_bw", fmt::format("{}+{}", port, gpu), bandwidth(bytes, 45e9),
           1.7e9);
    result(metrics, "cuda.host_copy_bw", gpu, bandwidth(bytes, 50e9), 1.7e9);
  }
}

// A node of 8 NICs and 8 GPUs after a nightly run, a preflight and a look at its counters.
void fill(Metrics& metrics) {
  KernelList kernels;
  for (const char* name : {"verbs.write_lat", "verbs.write_bw", "cuda.host_copy_bw"})
    kernels.add_kernels()->set_name(name);
  metrics.set_kernels(kernels);
  api::Hello hello;
  std::vector<Tracker::Total> totals;
  for (int i = 0; i < 8; ++i) {
    api::Nic& nic = *hello.add_nics();
    nic.set_device("mlx5_" + std::to_string(i));
    nic.set_port(1);
    nic.set_pci_address("0000:0" + std::to_string(i) + ":00.0");
    nic.set_state(i == 3 ? "down" : "active");
    nic.set_rate_bits_per_second(400e9);
    api::Gpu& gpu = *hello.add_gpus();
    gpu.set_name("gpu" + std::to_string(i));
    gpu.set_uuid("GPU-" + std::to_string(i));
    gpu.set_pci_address("0000:1" + std::to_string(i) + ":00.0");
    fill_results(metrics, i);
    for (const char* counter : {"link_downed", "symbol_error", "port_rcv_errors"})
      totals.push_back({nic.device() + ":1", counter, 0});
    totals.push_back({gpu.pci_address(), "row_remap_failed", 0});
    totals.push_back({"ens" + std::to_string(i), "carrier_changes", 2});
  }
  (*hello.mutable_stack_versions())["gpu_driver"] = "550.54.15";
  (*hello.mutable_stack_settings())["acs"] = "off";
  metrics.set_node(hello);
  metrics.set_watch(totals, true);
  metrics.set_spool(3, 4096, 1 << 20);
  metrics.task_ended("verbs.write_lat", "passed");
  metrics.set_busy({{"slurm", "job 4711 runs here"}});
  metrics.node_event("xid", "critical");
  api::PreflightReport report;
  for (int i = 0; i < 36; ++i) {
    api::PreflightCheck& check = *report.add_checks();
    check.set_id("check" + std::to_string(i));
    check.set_state(i == 0 ? "fail" : "pass");
  }
  metrics.set_preflight(report, 1.7e9);
}

TEST(Metrics, AFilledNodeShowsNothingOutsideTheCatalogAndKeepsItsBudget) {
  Metrics metrics;
  fill(metrics);
  const std::string text = metrics.text();
  EXPECT_THAT(metric::outside_catalog(text, metric::Owner::kAgent), IsEmpty());
  EXPECT_THAT(text, HasSubstr("railgauge_series_refused_total 0\n"));
  EXPECT_LE(static_cast<double>(metric::read_exposition(text).size()),
            metric::budget(1).agent_typical);
}

TEST(Metrics, APortOfWhichNothingIsKnownIsNotSaidToBeDown) {
  Metrics metrics;
  api::Hello hello;
  for (const char* state : {"unknown", "down"}) {
    api::Nic& nic = *hello.add_nics();
    nic.set_device(std::string("nic_") + state);
    nic.set_port(1);
    nic.set_state(state);
  }
  metrics.set_node(hello);
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_link_up{device=\"nic_down\",port=\"1\"} 0\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("railgauge_link_up{device=\"nic_unknown\"")));
}

TEST(Metrics, DevicesAreNamedAsTheOtherExportersNameThem) {
  Metrics metrics;
  fill(metrics);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("railgauge_link_up{device=\"mlx5_3\",port=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("railgauge_link_expected_bytes_per_second{device=\"mlx5_0\",port="
                              "\"1\"} 50000000000\n"));
  EXPECT_THAT(text, HasSubstr("UUID=\"GPU-2\",driver=\"\",gpu=\"gpu2\",model=\"\",pci_bus_id="
                              "\"00000000:12:00.0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("device_trouble_total{counter=\"symbol_error\",device=\"mlx5_1\","
                              "port=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("{counter=\"carrier_changes\",device=\"ens1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("device=\"0000:11:00.0\"} 0\n"));
  EXPECT_EQ(dcgm_bus_id("0000:af:00.0"), "00000000:AF:00.0");
}

TEST(Metrics, ASoftwareDevicePromisesNoBandwidth) {
  Metrics metrics;
  api::Hello hello;
  api::Nic& nic = *hello.add_nics();
  nic.set_device("rxe0");
  nic.set_port(1);
  nic.set_rate_bits_per_second(10e9);
  metrics.set_node(hello);
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_link_up{"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("railgauge_link_expected_bytes_per_second{")));
}

TEST(Metrics, WhatTheNewInventoryLacksIsShownNoMore) {
  Metrics metrics;
  fill(metrics);
  metrics.set_node(api::Hello());
  EXPECT_THAT(metrics.text(), Not(HasSubstr("railgauge_link_up{")));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("railgauge_gpu_info{")));
}

TEST(Metrics, WhatKeepsANodeBusyIsToldBySourceFromTheStart) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_node_busy{source=\"marker\"} 0\n"));
  metrics.set_busy({{"marker", "upgrade"}});
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_node_busy{source=\"marker\"} 1\n"));
  metrics.set_busy({});
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_node_busy{source=\"marker\"} 0\n"));
}

// GET /metrics, as Prometheus does.
std::string scrape(int port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return "";
  const std::string request =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::send(socket.get(), request.data(), request.size(), 0) < 0) return "";
  std::string answer;
  std::array<char, 4096> chunk{};
  for (ssize_t count = 0; (count = ::recv(socket.get(), chunk.data(), chunk.size(), 0)) > 0;)
    answer.append(chunk.data(), static_cast<std::size_t>(count));
  const std::size_t body = answer.find("\r\n\r\n");
  return body == std::string::npos ? "" : answer.substr(body + 4);
}

TEST(Metrics, AScrapeShowsWhatTheCatalogHasAndNothingElse) {
  Metrics metrics;
  fill(metrics);
  EXPECT_EQ(metrics.port_fact(), "none");
  const auto port = metrics.listen("127.0.0.1:0");
  ASSERT_TRUE(port) << port.error().message;
  EXPECT_EQ(metrics.port_fact(), std::to_string(*port));
  const std::string page = scrape(*port);
  EXPECT_THAT(page, HasSubstr("railgauge_link_up{"));
  EXPECT_THAT(metric::outside_catalog(page, metric::Owner::kAgent), IsEmpty());
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
  metrics.node_event("xid", "critical");
  metrics.node_event("xid", "critical");
  metrics.node_event("counter", "warning");
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_node_events_total{kind=\"xid\",severity=\"critical\"} 2"));
  EXPECT_THAT(metrics.text(),
              HasSubstr("railgauge_node_events_total{kind=\"counter\",severity=\"warning\"} 1"));
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
