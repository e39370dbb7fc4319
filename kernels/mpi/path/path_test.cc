// Verdicts on transports and on the path of GPU memory.
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "kernels/core/base/result.h"
#include "kernels/mpi/path/gpu_path.h"
#include "kernels/mpi/path/nearest_port.h"
#include "kernels/mpi/path/traffic.h"

namespace railgauge::mpi {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A sysfs with files of numbers; removed at its end.
class Sysfs {
 public:
  Sysfs() {
    std::string name = (fs::temp_directory_path() / "traffic_XXXXXX").string();
    RG_CHECK(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~Sysfs() { fs::remove_all(root_); }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void netdev(const std::string& name, int bytes, int packets, bool has_device = true) const {
    const std::string folder = "class/net/" + name;
    write(folder + "/statistics/tx_bytes", std::to_string(bytes));
    write(folder + "/statistics/tx_packets", std::to_string(packets));
    if (has_device) fs::create_directories(root_ / folder / "device");
  }
  [[nodiscard]] std::string root() const { return root_; }

 private:
  fs::path root_;
};

TEST(TrafficReader, CountsWordsOfPortsAndLeavesOutWhatIsBeneathSoftRdma) {
  const Sysfs sysfs;
  sysfs.write("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000");
  sysfs.write("class/infiniband/mlx5_0/ports/1/counters/port_xmit_packets", "10");
  sysfs.write("class/infiniband/efa_0/ports/1/hw_counters/tx_bytes", "500");
  sysfs.write("class/infiniband/efa_0/ports/1/hw_counters/tx_pkts", "5");
  sysfs.write("class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", "77");
  sysfs.write("class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth1");
  sysfs.netdev("lo", 90, 9, false);
  sysfs.netdev("eth0", 300, 3);
  sysfs.netdev("eth1", 7000, 70);
  sysfs.netdev("br0", 300, 3, false);
  const Traffic now = TrafficReader(sysfs.root()).read();
  EXPECT_EQ(now.rdma.bytes, 4 * 1000 + 500);
  EXPECT_EQ(now.rdma.packets, 15);
  EXPECT_EQ(now.soft_rdma_packets, 77);
  EXPECT_EQ(now.netdev.bytes, 300) << "the bridge repeats what the interface sends";
  EXPECT_EQ(now.under_soft_rdma.bytes, 7000);
  EXPECT_EQ(now.loopback.packets, 9);
  EXPECT_EQ(now.rdma_ports, 3);
}

TEST(TrafficReader, TakesTheBusiestInterfaceWhereNoneHasADevice) {
  const Sysfs sysfs;
  sysfs.netdev("eth0", 300, 3, false);
  sysfs.netdev("tun0", 200, 2, false);
  EXPECT_EQ(TrafficReader(sysfs.root()).read().netdev.bytes, 300);
  EXPECT_EQ(TrafficReader("/absent").read().netdev.bytes, 0);
}

TEST(TrafficReader, NamesThePortsThatSentAndTheRatesOfThose) {
  const Sysfs sysfs;
  const auto port = [&](const std::string& device, const std::string& packets,
                        const std::string& rate) {
    const std::string folder = "class/infiniband/" + device;
    sysfs.write(folder + "/ports/1/counters/port_xmit_data", "1");
    sysfs.write(folder + "/ports/1/counters/port_xmit_packets", packets);
    sysfs.write(folder + "/ports/1/rate", rate);
    sysfs.write(folder + "/device/vendor", "0x15b3");
  };
  port("mlx5_0", "0", "200 Gb/sec (4X HDR)");
  port("mlx5_1", "0", "200 Gb/sec (4X HDR)");
  port("mlx5_2", "0", "200 Gb/sec (4X HDR)");
  port("mlx5_bond_0", "0", "100 Gb/sec (4X EDR)");
  sysfs.write("class/infiniband/mlx5_bond_0/device/net/eth2/master/bonding/mode", "802.3ad 4");
  sysfs.netdev("eth0", 0, 0);
  sysfs.write("class/net/eth0/speed", "25000");
  sysfs.netdev("lo", 0, 0, false);
  const TrafficReader reader(sysfs.root());
  const auto before = reader.counts();
  port("mlx5_0", "5000", "200 Gb/sec (4X HDR)");
  port("mlx5_1", "5000", "200 Gb/sec (4X HDR)");
  port("mlx5_2", "3", "200 Gb/sec (4X HDR)");  // of another's traffic
  sysfs.netdev("eth0", 7000, 70);
  sysfs.netdev("lo", 7000, 70, false);
  const Wires used = reader.used(before, reader.counts());
  EXPECT_EQ(used.rdma.ports, 2);
  EXPECT_EQ(used.rdma.without_rate, 0);
  EXPECT_DOUBLE_EQ(used.rdma.bytes_per_second, 2 * 25e9);
  EXPECT_EQ(used.netdev.ports, 1);
  EXPECT_DOUBLE_EQ(used.netdev.bytes_per_second, 25e9 / 8);
  port("mlx5_bond_0", "9000", "100 Gb/sec (4X EDR)");
  EXPECT_EQ(reader.used(before, reader.counts()).rdma.without_rate, 1);
}

TEST(TrafficReader, SoftRdmaHasTheRateOfTheInterfaceBeneath) {
  const Sysfs sysfs;
  const auto sent = [&](const std::string& packets) {
    sysfs.write("class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", packets);
    sysfs.netdev("eth1", 1, std::stoi(packets));
  };
  sysfs.write("class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth1");
  sysfs.write("class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)");
  sysfs.write("class/net/eth1/speed", "10000");
  sent("0");
  const TrafficReader reader(sysfs.root());
  const auto before = reader.counts();
  sent("100");
  const Wires used = reader.used(before, reader.counts());
  EXPECT_EQ(used.rdma.ports, 1);
  EXPECT_DOUBLE_EQ(used.rdma.bytes_per_second, 10e9 / 8);
  // A virtual interface alone, as a container has one, declares no rate that binds.
  const Sysfs container;
  container.netdev("eth0", 1, 1, false);
  container.write("class/net/eth0/speed", "10000");
  const TrafficReader own(container.root());
  const auto none = own.counts();
  container.netdev("eth0", 100, 100, false);
  EXPECT_EQ(own.used(none, own.counts()).netdev.without_rate, 1);
}

TEST(TrafficGrowth, IsNoneWhereACounterShrank) {
  const Traffic before{.rdma = {100, 10}, .soft_rdma_packets = 8, .loopback = {5, 5}};
  const Traffic after{
      .rdma = {150, 4}, .soft_rdma_packets = 9, .loopback = {6, 7}, .rdma_ports = 2};
  const Traffic growth = grown(before, after);
  EXPECT_EQ(growth.rdma.bytes, 50);
  EXPECT_EQ(growth.rdma.packets, 0);
  EXPECT_EQ(growth.soft_rdma_packets, 1);
  EXPECT_EQ(growth.loopback.packets, 2);
  EXPECT_EQ(growth.rdma_ports, 2);
}

// Two ranks that receive 1 MB in 100 calls, on one host or on two.
std::vector<RankTraffic> two_ranks(const Traffic& first, const Traffic& second, bool one_host) {
  return {{.sent = first, .machine = 1, .network = 1, .received_bytes = 1e6},
          {.sent = one_host ? first : second,
           .machine = one_host ? 1U : 2U,
           .network = one_host ? 1U : 2U,
           .received_bytes = 1e6}};
}
std::string observed(const Traffic& first, const Traffic& second, bool one_host) {
  return transport_of(two_ranks(first, second, one_host), 100).observed;
}

TEST(Transport, IsWhatSentTheMessagesBytes) {
  const Traffic nothing{.netdev = {2000, 20}};
  const Traffic by_rdma{.rdma = {1.1e6, 1000}, .netdev = {2000, 20}, .rdma_ports = 1};
  const Traffic by_tcp{.netdev = {1.1e6, 1000}, .rdma_ports = 1};
  const Traffic by_loopback{.loopback = {2.2e6, 300}};
  EXPECT_EQ(observed(by_rdma, by_rdma, false), "rdma");
  EXPECT_EQ(observed(by_tcp, by_tcp, false), "netdev") << "whatever the MPI was told";
  EXPECT_EQ(observed(by_loopback, by_loopback, true), "loopback");
  EXPECT_EQ(observed(nothing, nothing, true), "memory");
  const Traffic both{.rdma = {9e5, 900}, .netdev = {9e5, 900}};
  EXPECT_EQ(observed(both, both, false), "rdma+netdev");
}

TEST(Transport, OfSoftRdmaIsNotTheInterfaceBeneath) {
  const Traffic soft{.soft_rdma_packets = 400, .under_soft_rdma = {1.2e6, 400}, .rdma_ports = 1};
  const Traffic tcp{.soft_rdma_packets = 2, .under_soft_rdma = {1.2e6, 400}, .rdma_ports = 1};
  EXPECT_EQ(observed(soft, soft, false), "rdma");
  EXPECT_EQ(observed(tcp, tcp, false), "netdev");
}

TEST(Transport, IsUnknownRatherThanGuessed) {
  const Traffic nothing{};
  const Traffic idle_nic{.rdma_ports = 1};
  EXPECT_EQ(observed(nothing, nothing, false), "unknown") << "two hosts, and nothing counted";
  EXPECT_EQ(observed(idle_nic, idle_nic, true), "unknown") << "a NIC may return packets uncounted";
  // Other traffic: many bytes in few packets, or many packets of few bytes.
  const Traffic few{.netdev = {3e6, 20}};
  const Traffic small{.netdev = {5e4, 900}};
  EXPECT_EQ(observed(few, few, false), "unknown");
  EXPECT_EQ(observed(small, small, false), "unknown");
  EXPECT_EQ(transport_of({}, 100).observed, "unknown");
  EXPECT_EQ(transport_of(two_ranks(few, few, false), 0).observed, "unknown");
}

TEST(Transport, CountsAnInterfaceOnceForItsRanks) {
  std::vector<RankTraffic> ranks = two_ranks({.netdev = {3e5, 60}}, {}, true);
  // Summed over the ranks these would pass for the messages.
  EXPECT_EQ(transport_of(ranks, 100).observed, "memory");
  EXPECT_THAT(
      transport_of(ranks, 100).evidence,
      HasSubstr("netdev 300000 B in 60 packets, loopback 0 B in 0 packets; the messages are "
                "1000000 B in 100 calls"));
}

TEST(OwnPlace, IsEqualForProcessesOfThisHost) {
  EXPECT_EQ(own_place().machine, own_place().machine);
  EXPECT_NE(own_place().machine, own_place().network);
}

// Two switches: a GPU and a NIC below each; the second NIC's port may be down.
TEST(NearestPort, SharesMostBridgesWithTheGpuAmongActivePorts) {
  const Sysfs sysfs;
  const fs::path root = sysfs.root();
  const auto device = [&](const std::string& place, const std::string& link) {
    sysfs.write("devices/pci0000:00/" + place + "/numa_node", "0");
    fs::create_directories((root / link).parent_path());
    fs::create_directory_symlink(root / "devices/pci0000:00" / place, root / link);
  };
  device("0000:00:01.0/0000:10:00.0", "bus/pci/devices/0000:10:00.0");
  device("0000:00:02.0/0000:20:00.0", "bus/pci/devices/0000:20:00.0");
  device("0000:00:01.0/0000:11:00.0", "class/infiniband/mlx5_0/device");
  device("0000:00:02.0/0000:21:00.0", "class/infiniband/mlx5_1/device");
  sysfs.write("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  sysfs.write("class/infiniband/mlx5_1/ports/1/state", "1: DOWN");
  sysfs.write("class/infiniband/mlx5_1/ports/2/state", "4: ACTIVE");
  EXPECT_EQ(nearest_port("0000:10:00.0", sysfs.root()), "mlx5_0:1");
  EXPECT_EQ(nearest_port("0000:20:00.0", sysfs.root()), "mlx5_1:2");
  EXPECT_EQ(nearest_port("0000:99:00.0", sysfs.root()), "mlx5_0:1") << "a GPU that is not there";
  sysfs.write("class/infiniband/mlx5_1/ports/2/state", "1: DOWN");
  EXPECT_EQ(nearest_port("0000:20:00.0", sysfs.root()), "mlx5_0:1") << "a port that is down";
  EXPECT_EQ(nearest_port("0000:20:00.0", "/absent"), "");
}

TEST(GpuPath, IsDirectOnlyBelowTheCopysOwnTime) {
  const auto path = [](std::uint64_t bytes, double direct, double staged, double copy) {
    return gpu_path_of({bytes, direct, staged, copy}).observed;
  };
  constexpr std::uint64_t kLarge = 4U << 20U;
  EXPECT_EQ(path(kLarge, 80e3, 800e3, 160e3), "direct");
  EXPECT_EQ(path(kLarge, 200e3, 800e3, 160e3), "unknown") << "a pipeline of copies can be as fast";
  EXPECT_EQ(path(kLarge, 760e3, 800e3, 160e3), "looks staged");
  EXPECT_EQ(path(8, 2e3, 20e3, 8e3), "unknown") << "the CPU may have copied 8 B through the BAR";
  EXPECT_EQ(path(kLarge, 80e3, 800e3, 0), "unknown");
  EXPECT_EQ(path(kLarge, 80e3, 0, 160e3), "unknown");
  EXPECT_THAT(gpu_path_of({kLarge, 80e3, 800e3, 160e3}).evidence,
              HasSubstr("takes 80.00 us, its staged twin 800.00 us, a copy to the host 160.00 us"));
}

}  // namespace
}  // namespace railgauge::mpi
