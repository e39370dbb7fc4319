// The TCP kernels, both ranks in this process, over the loopback interface.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/fakes/pair.h"
#include "kernels/net/netdev.h"
#include "kernels/net/sockets.h"
#include "kernels/net/tcp_link.h"

namespace railgauge {
namespace {

using fake::PairOptions;
using fake::RankResult;
using fake::run_pair;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

auto run(std::string_view kernel, Parameters parameters, Parameters target = {}) {
  parameters.emplace("netdev", "lo");
  parameters.emplace("stall_timeout", "30s");
  parameters.emplace("proof_time", "0s");
  return run_pair(*find_kernel(kernel), {.parameters = std::move(parameters),
                                         .endpoints = {"", ""},
                                         .target_parameters = std::move(target)});
}

void expect_passed(const std::array<RankResult, 2>& results, const std::string& what) {
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << what << ": " << result.status.error().message;
}

// A kernel without the way waives, with the release that has it.
TEST(Tcp, BandwidthIsTheSameBytesWhicheverWayTheyAreSent) {
  for (const char* way : {"copy", "zerocopy", "io_uring", "io_uring_zerocopy"})
    for (const char* direction : {"one_way", "both"}) {
      const auto results = run("net.tcp_bw", {{"sizes", "1KiB,64KiB,1MiB"},
                                              {"iterations", "4"},
                                              {"streams", "2"},
                                              {"direction", direction},
                                              {"send", way}});
      if (!results[0].status && outcome_of(results[0].status.error().code) == kWaived) {
        EXPECT_THAT(results[0].status.error().message, HasSubstr("later ha"));
        continue;
      }
      expect_passed(results, way);
      for (const Point& point : results[0].points) {
        EXPECT_TRUE(point.verified());
        EXPECT_GT(std::stoull(point.facts().at("proved_messages")), 0U);
        const bool is_zero_copy = std::string_view(way).ends_with("zerocopy");
        EXPECT_EQ(point.facts().contains("sends_without_copy"), is_zero_copy) << way;
      }
    }
}

// Counts who reads TCP's counts of a stream: the thread that sends on it, or another one, which
// waits for the socket's lock as long as the sender is busy.
struct Reads {
  std::mutex mutex;
  std::map<int, std::thread::id> senders;
  int own = 0;
  int others = 0;
};
Reads g_reads;
ssize_t noted_send(int fd, const void* bytes, std::size_t count, int flags) {
  {
    const std::scoped_lock lock(g_reads.mutex);
    g_reads.senders[fd] = std::this_thread::get_id();
  }
  return ::send(fd, bytes, count, flags);
}
int noted_getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  if (level == IPPROTO_TCP && name == TCP_INFO) {
    const std::scoped_lock lock(g_reads.mutex);
    const auto sender = g_reads.senders.find(fd);
    if (sender != g_reads.senders.end())
      ++(sender->second == std::this_thread::get_id() ? g_reads.own : g_reads.others);
  }
  return ::getsockopt(fd, level, name, value, length);
}

// Beside busy streams of 16 cores the sampler's own reads made 200 windows of four zero-copy
// streams last more than 20 s.
TEST(Tcp, CountsOfAStreamAreReadByItsOwnThread) {
  net::Sockets noted = net::kSystemSockets;
  noted.send = noted_send;
  noted.getsockopt = noted_getsockopt;
  net::set_sockets(noted);
  for (const char* streams : {"1", "2", "4", "8"})
    for (const auto& [verify, proof_time] :
         {std::pair{"true", "50ms"}, {"true", "0s"}, {"false", "50ms"}, {"false", "0s"}}) {
      SCOPED_TRACE(::testing::Message() << streams << ' ' << verify << ' ' << proof_time);
      g_reads.senders.clear();
      g_reads.own = g_reads.others = 0;
      const auto results = run("net.tcp_bw", {{"sizes", "128KiB"},
                                              {"iterations", "20"},
                                              {"streams", streams},
                                              {"send", "zerocopy"},
                                              {"verify", verify},
                                              {"proof_time", proof_time}});
      expect_passed(results, "zerocopy");
      EXPECT_EQ(results[0].points.at(0).sample_count(), 20);
      EXPECT_GT(g_reads.own, g_reads.others);
    }
  net::set_sockets(net::kSystemSockets);
}

TEST(Tcp, GpuMemoryIsWaivedWithWhatItNeeds) {
  for (const RankResult& result : run("net.tcp_bw", {{"memory", "gpu"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
    EXPECT_THAT(result.status.error().message, HasSubstr("devmem TCP (Linux 6.12"));
  }
}

TEST(Tcp, LatencyMeasuresEachSizeAndVerifiesIt) {
  for (const char* wait : {"sleep", "spin"}) {
    const auto results =
        run("net.tcp_lat", {{"sizes", "1,4KiB,1MiB"}, {"iterations", "150"}, {"wait", wait}});
    expect_passed(results, wait);
    ASSERT_EQ(results[0].points.size(), 3U);
    EXPECT_TRUE(results[1].points.empty());
    for (const Point& point : results[0].points) {
      EXPECT_EQ(point.metric(), "latency_ns");
      EXPECT_EQ(point.meaning(), "half_rtt");
      EXPECT_EQ(point.sample_count(), 150);
      EXPECT_TRUE(point.verified());
      EXPECT_FALSE(point.synthetic());
      EXPECT_GT(point.min(), 0);
      EXPECT_GT(std::stod(point.facts().at("cpu_ns_per_message")), 0);
      EXPECT_GT(std::stod(point.facts().at("peer_cpu_ns_per_message")), 0);
      EXPECT_TRUE(point.facts().contains("tcp_retransmits"));
      EXPECT_TRUE(point.facts().contains("peer_tcp_retransmits"));
      if (std::filesystem::exists("/sys/class/net/lo/statistics/rx_bytes")) {
        EXPECT_THAT(point.facts().at("netdev_traffic"), ::testing::HasSubstr("rx_bytes="));
        EXPECT_THAT(point.facts().at("peer_netdev_traffic"), ::testing::HasSubstr("rx_bytes="));
      }
    }
  }
}

TEST(Tcp, LatencySamplesUntilItsStopRuleSaysSo) {
  const auto results = run("net.tcp_lat", {{"sizes", "8"}, {"max_samples", "3000"}});
  expect_passed(results, "adaptive");
  EXPECT_GT(results[0].points[0].warmup_count(), 0);
}

TEST(LineRate, IsTheSmallerOfBothEndsThatIsKnown) {
  const auto end = [](const char* host, const char* address, double rate_bits_per_second) {
    net::NetAddress made;
    made.set_host(host);
    made.set_address(address);
    made.set_netdev("eth0");
    made.set_line_rate_bits_per_second(rate_bits_per_second);
    return made;
  };
  struct Case {
    double here;
    double there;
    double bound;
    const char* words;
  };
  constexpr const char* kMine = "192.0.2.1 (eth0)";
  constexpr const char* kPeers = "192.0.2.2 (eth0) at the other end";
  for (const Case& one :
       {Case{25e9, 100e9, 25e9, kMine}, Case{25e9, 25e9, 25e9, kMine}, Case{25e9, 0, 25e9, kMine},
        Case{100e9, 25e9, 25e9, kPeers}, Case{0, 25e9, 25e9, kPeers}}) {
    const net::LineRate rate = net::line_rate_between(
        end("a", "192.0.2.1", one.here), end("b", "192.0.2.2", one.there), "mlx5_core");
    EXPECT_EQ(rate.waiver, "");
    EXPECT_EQ(rate.bits_per_second, one.bound);
    EXPECT_EQ(rate.end, one.words);
  }
  EXPECT_EQ(net::line_rate_between(end("a", "x", 0), end("b", "y", 0), "veth").waiver,
            "the rate of eth0 (driver veth) is unknown or only a name");
  EXPECT_EQ(net::line_rate_between(end("a", "x", 1e9), end("a", "y", 1e9), "e1000").waiver,
            "both ends are in one host");
}

TEST(Tcp, MoreThanTheWireCarriesFails) {
  const net::LineRate rate{.bits_per_second = 10e9, .end = "192.0.2.1 (eth0)"};
  EXPECT_TRUE(net::check_line_rate(rate, 1.26e9));
  const Status above = net::check_line_rate(rate, 1.3e9);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().code, Code::kDataLoss);
  EXPECT_EQ(above.error().message,
            "192.0.2.1 (eth0): measured 10.4 Gb/s, above the line rate of 10.0 Gb/s, so the figure "
            "cannot be right");
  EXPECT_TRUE(net::check_line_rate({.waiver = "both ends are in one host"}, 1e15));
}

TEST(Tcp, LatencySaysWhetherItWasHeldToTheLineRate) {
  const auto results = run("net.tcp_lat", {{"iterations", "10"}});
  expect_passed(results, "latency");
  for (const Point& point : results[0].points)
    EXPECT_EQ(point.facts().at("line_rate_check"), "waived: both ends are in one host");
}

TEST(Tcp, BandwidthMeasuresEachSizeOverAllStreamsInEitherManner) {
  for (const char* streams : {"1", "3"})
    for (const char* direction : {"one_way", "both"}) {
      const std::string what = std::string(streams) + " " + direction;
      const auto results = run("net.tcp_bw", {{"sizes", "777,64KiB"},
                                              {"iterations", "6"},
                                              {"streams", streams},
                                              {"direction", direction}});
      expect_passed(results, what);
      ASSERT_EQ(results[0].points.size(), 2U) << what;
      for (const Point& point : results[0].points) {
        EXPECT_EQ(point.metric(), "bandwidth_bytes_per_second");
        EXPECT_EQ(point.meaning(),
                  std::string_view(direction) == "both" ? "bidirectional_sum" : "unidirectional");
        EXPECT_EQ(point.sample_count(), 6);
        EXPECT_TRUE(point.verified());
        EXPECT_GT(point.mean(), 0) << what;
        EXPECT_GT(std::stod(point.facts().at("cpu_seconds_per_gigabyte")), 0);
        EXPECT_GT(std::stod(point.facts().at("peer_cpu_seconds_per_gigabyte")), 0);
        EXPECT_EQ(point.facts().at("line_rate_check"), "waived: both ends are in one host");
      }
    }
}

TEST(Tcp, FactsSayWhatTheSystemChose) {
  const auto results = run("net.tcp_bw", {{"iterations", "2"}});
  expect_passed(results, "facts");
  for (const RankResult& result : results) {
    EXPECT_EQ(result.facts.at("netdev"), "lo");
    EXPECT_EQ(result.facts.at("address"), "127.0.0.1");
    EXPECT_EQ(result.facts.at("peer"), "127.0.0.1");
    EXPECT_EQ(result.facts.at("path"), "tcp inside one host");
    EXPECT_EQ(result.facts.at("memory"), "host");
    EXPECT_EQ(result.facts.at("driver"), "none");
    EXPECT_FALSE(result.facts.at("congestion_control").empty());
    EXPECT_GT(std::stoul(result.facts.at("mtu_bytes")), 0U);
    EXPECT_GT(std::stoul(result.facts.at("segment_bytes")), 0U);
  }
}

TEST(Tcp, RanksMustTakeTheSameParametersButTheirOwnInterfaces) {
  const auto results = run("net.tcp_lat", {{"sizes", "8"}, {"iterations", "5"}}, {{"sizes", "16"}});
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.status.error().message, HasSubstr("parameter sizes is \""));
  }
  expect_passed(
      run("net.tcp_lat", {{"sizes", "8"}, {"iterations", "5"}}, {{"address", "127.0.0.1"}}),
      "own choice");
}

TEST(Tcp, AnUnknownCongestionControlSaysWhichThereAre) {
  const auto results = run("net.tcp_lat", {{"congestion_control", "absent"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("parameter congestion_control: absent: "));
  EXPECT_THAT(results[0].status.error().message, HasSubstr("; available here: "));
}

TEST(Tcp, WithoutAnRdmaPortItSaysWhatToName) {
  net::set_sysfs_folder("/absent");
  const auto results = run_pair(*find_kernel("net.tcp_bw"), {.endpoints = {"", "mlx5_0:1"}});
  net::set_sysfs_folder("/sys");
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kNotFound);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("no RDMA port here"));
  EXPECT_THAT(results[1].status.error().message, HasSubstr("mlx5_0:1: there is no such RDMA port"));
}

}  // namespace
}  // namespace railgauge
