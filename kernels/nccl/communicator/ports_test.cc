#include "kernels/nccl/communicator/ports.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace railgauge::nccl {
namespace {

class Ports : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string form = (std::filesystem::temp_directory_path() / "railgauge-ports-XXXXXX").string();
    ASSERT_NE(mkdtemp(form.data()), nullptr);
    root_ = form;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void count(const std::string& port, int sent, int received) const {
    const std::string folder = "class/infiniband/" + port + "/ports/1/counters/";
    write(folder + "port_xmit_data", std::to_string(sent));
    write(folder + "port_rcv_data", std::to_string(received));
    write("class/infiniband/" + port + "/ports/1/state", "4: ACTIVE\n");
  }
  static Told told(const std::string& host, const std::vector<PortBytes>& ports) {
    Told made;
    made.set_host(host);
    for (const PortBytes& port : ports) *made.add_ports() = port;
    return made;
  }

  std::filesystem::path root_;
};

PortBytes port(const char* name, bool is_rdma, double sent) {
  PortBytes made;
  made.set_name(name);
  made.set_is_rdma(is_rdma);
  made.set_sent(sent);
  made.set_received(2 * sent);
  made.set_is_active(true);
  return made;
}

TEST_F(Ports, CountWordsOfInfiniBandAndBytesOfOthers) {
  count("mlx5_0", 10, 20);
  write("class/infiniband/rdmap0/ports/1/hw_counters/tx_bytes", "77");
  write("class/infiniband/rdmap0/ports/1/hw_counters/rx_bytes", "78");
  write("class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", "5");
  write("class/net/eth0/statistics/tx_bytes", "9");
  write("class/net/eth0/statistics/rx_bytes", "9");
  std::filesystem::create_directories(root_ / "class/net/eth0/device");
  write("class/net/lo/statistics/tx_bytes", "1000");
  const auto all = PortReader(root_.string()).read();
  ASSERT_EQ(all.size(), 3U) << "software RDMA and loopback are no ports";
  EXPECT_EQ(all[0].name(), "mlx5_0:1");
  EXPECT_EQ(all[0].sent(), 40);
  EXPECT_EQ(all[0].received(), 80);
  EXPECT_EQ(all[1].name(), "rdmap0:1");
  EXPECT_EQ(all[1].sent(), 77);
  EXPECT_EQ(all[2].name(), "eth0");
  EXPECT_EQ(all[2].sent(), 9);
  EXPECT_FALSE(all[2].is_rdma());
}

TEST_F(Ports, GrowBetweenTwoReadings) {
  count("mlx5_0", 10, 20);
  count("mlx5_1", 10, 20);
  const PortReader reader(root_.string());
  const auto before = reader.read();
  count("mlx5_0", 110, 25);
  count("mlx5_1", 5, 20);
  const auto grown = grown_ports(before, reader.read());
  EXPECT_EQ(grown.at(0).sent(), 400);
  EXPECT_EQ(grown.at(0).received(), 20);
  EXPECT_EQ(grown.at(1).sent(), 0) << "a counter that was cleared";
}

TEST_F(Ports, ThatCarryAllOrTheSameAreToldApart) {
  const auto even =
      port_use({told("a", {port("mlx5_0:1", true, 100), port("mlx5_1:1", true, 100)})});
  EXPECT_EQ(even.busiest_share, 1);
  const auto one = port_use({told("a", {port("mlx5_0:1", true, 100), port("mlx5_1:1", true, 100)}),
                             told("a", {port("mlx5_0:1", true, 900), port("mlx5_1:1", true, 0)}),
                             told("b", {port("mlx5_0:1", true, 200), port("mlx5_1:1", true, 0),
                                        port("eth0", false, 50)})});
  EXPECT_NE(one.rank, even.rank);
  EXPECT_EQ(one.busiest_share, 2) << "of b; ranks of one host see the same ports";
  EXPECT_EQ(one.words,
            "rank 2's host: mlx5_0:1 sent 200 received 400, mlx5_1:1 sent 0 received 0; "
            "rank 0's host: mlx5_0:1 sent 100 received 200, mlx5_1:1 sent 100 received 200");
}

// One of N ports failed: one other carries its traffic, or all others do.
TEST_F(Ports, OfWhichOneFailedHaveAQuietOne) {
  for (const int ports : {2, 4, 8})
    for (const bool is_spread : {false, true}) {
      SCOPED_TRACE(::testing::Message() << ports << (is_spread ? " spread" : " partner"));
      std::vector<PortBytes> all{port("mlx5_0:1", true, 0)};
      for (int i = 1; i < ports; ++i)
        all.push_back(port("other", true, is_spread ? 840 + 840.0 / (ports - 1) : 840));
      if (!is_spread) all.back() = port("other", true, 2 * 840);
      const auto use = port_use({told("a", all)});
      EXPECT_DOUBLE_EQ(use.busiest_share, is_spread ? ports / (ports - 1.0) : 2);
      EXPECT_EQ(use.quietest_share, 0);
      EXPECT_EQ(use.ports, ports);
    }
}

TEST_F(Ports, OfAHostWithAQuietOneAreMoreUnequalThanOthers) {
  std::vector<PortBytes> spread{port("mlx5_0:1", true, 0)};
  for (int i = 1; i < 8; ++i) spread.push_back(port("other", true, 80));
  const std::vector<PortBytes> uneven{port("mlx5_0:1", true, 200), port("mlx5_1:1", true, 100)};
  const auto use = port_use({told("a", uneven), told("b", spread)});
  EXPECT_EQ(use.rank, 1U);
  EXPECT_DOUBLE_EQ(use.busiest_share, 8 / 7.0);
  const auto even = port_use({told("a", uneven)});
  EXPECT_DOUBLE_EQ(even.quietest_share, 2 / 3.0);
}

TEST_F(Ports, ThatCannotBeReadOrAreDownDoNotCount) {
  count("mlx5_0", 10, 20);
  count("mlx5_1", 10, 20);
  write("class/infiniband/mlx5_1/ports/1/state", "1: DOWN");
  const PortReader reader(root_.string());
  const auto before = reader.read();
  EXPECT_FALSE(before.at(1).is_active());
  std::filesystem::remove(root_ / "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data");
  const auto grown = grown_ports(before, reader.read());
  ASSERT_EQ(grown.size(), 1U);
  EXPECT_EQ(grown[0].name(), "mlx5_1:1");
}

TEST_F(Ports, ThatNcclUsesAreTheOnesThatCount) {
  PortBytes idle = port("mlx5_2:1", true, 0);
  PortBytes down = port("mlx5_1:1", true, 0);
  down.set_is_active(false);
  const std::vector<Told> all{told("a", {port("mlx5_0:1", true, 100), down, idle})};
  EXPECT_EQ(port_use(all).busiest_share, 2) << "not known: those whose link is up";
  EXPECT_EQ(port_use(all, {{"a", {"mlx5_0:1"}}}).busiest_share, 1);
  EXPECT_EQ(port_use(all, {{"a", {"mlx5_0:1", "mlx5_1:1"}}}).busiest_share, 2)
      << "one that NCCL uses and that went down";
}

TEST_F(Ports, OfSocketsAreTheInterfaces) {
  const auto use = port_use({told(
      "a", {port("mlx5_0:1", true, 10), port("eth0", false, 300), port("eth1", false, 100)})});
  EXPECT_EQ(use.busiest_share, 1.5);
  EXPECT_EQ(port_use({told("a", {port("mlx5_0:1", true, 0)}), told("b", {})}).busiest_share, 0);
  EXPECT_EQ(port_use({}).words, "");
}

TEST_F(Ports, HaveTheRateOfTheirHardwareWhereItIsABound) {
  // The name of a device, its file `rate` and link layer, what else it has, and the bound.
  struct Device {
    const char* name;
    const char* rate;
    const char* layer;
    const char* netdev_speed;  // Mb/s; nullptr: no netdev is seen
    double bound;
  };
  constexpr Device kDevices[]{
      {"mlx5_0", "400 Gb/sec (4X NDR)", "InfiniBand", nullptr, 50e9},
      {"mlx5_1", "10 Gb/sec (4X SDR)", "InfiniBand", nullptr, 0},  // the kernel knows no name
      {"mlx5_2", "200 Gb/sec (4X HDR)", "Ethernet", "200000", 25e9},
      {"mlx5_3", "40 Gb/sec (4X QDR)", "Ethernet", "400000", 50e9},  // the netdev knows more
      {"mlx5_4", "40 Gb/sec (4X QDR)", "Ethernet", "-1", 0},
      {"mlx5_5", "100 Gb/sec (4X EDR)", "Ethernet", nullptr, 0},  // in another namespace
      {"mlx5_bond_0", "100 Gb/sec (4X EDR)", "Ethernet", "100000", 0},
      {"mlx5_vf", "100 Gb/sec (4X EDR)", "Ethernet", "100000", 0},
      {"rdmap0", "100 Gb/sec (4X EDR)", "InfiniBand", nullptr, 0}};
  for (const Device& device : kDevices) {
    count(device.name, 1, 1);
    const std::string folder = std::string("class/infiniband/") + device.name;
    write(folder + "/ports/1/rate", device.rate);
    write(folder + "/ports/1/link_layer", device.layer);
    std::filesystem::create_directories(root_ / folder / "device");
    if (device.netdev_speed != nullptr)
      write(folder + "/device/net/eth0/speed", device.netdev_speed);
  }
  std::filesystem::create_directories(root_ / "class/infiniband/mlx5_vf/device/physfn");
  std::filesystem::create_directory_symlink("../../bus/pci/drivers/efa",
                                            root_ / "class/infiniband/rdmap0/device/driver");
  std::map<std::string, double> rates;
  for (const PortBytes& one : PortReader(root_.string()).read()) rates[one.name()] = one.rate();
  for (const Device& device : kDevices)
    EXPECT_EQ(rates.at(std::string(device.name) + ":1"), device.bound) << device.name;
}

PortBytes rated(PortBytes made, double rate) {
  made.set_rate(rate);
  return made;
}

TEST_F(Ports, OfAHostAddUpWhereTheyCarriedAndAllRatesAreKnown) {
  const std::vector<PortBytes> rails{
      rated(port("mlx5_0:1", true, 900), 50e9), rated(port("mlx5_1:1", true, 900), 50e9),
      rated(port("mlx5_2:1", true, 0), 50e9), rated(port("eth0", false, 5), 3e9)};
  const std::vector<PortBytes> unknown{rated(port("mlx5_0:1", true, 900), 50e9),
                                       port("mlx5_1:1", true, 900)};
  const auto hosts = host_rates({told("a", rails), told("b", unknown), told("a", rails)});
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_THAT(hosts[0].ranks, ::testing::ElementsAre(0, 2));
  EXPECT_EQ(hosts[0].ports, 2);
  EXPECT_EQ(hosts[0].bytes_per_second, 100e9);
  EXPECT_EQ(hosts[0].moved_bytes, 2 * 3 * 900);
  EXPECT_EQ(hosts[1].ports, 2);
  EXPECT_EQ(hosts[1].bytes_per_second, 0);
}

TEST_F(Ports, ConnectHostsAloneWithoutNvlinkBetweenThemOrContainersOfOneMachine) {
  const auto on = [](const std::string& host, const std::string& machine) {
    Told made;
    made.set_host(host);
    made.set_machine(machine);
    return made;
  };
  const std::vector<Told> machines{on("a", "1"), on("b", "2"), on("b", "2")};
  EXPECT_TRUE(hosts_meet_at_ports({"NET/IB/0", "P2P/CUMEM"}, machines));
  EXPECT_FALSE(hosts_meet_at_ports({"P2P/CUMEM", "SHM/direct"}, machines));
  EXPECT_FALSE(hosts_meet_at_ports({"NET/IB/0", "P2P/MNNVL"}, machines));
  EXPECT_FALSE(hosts_meet_at_ports({"NET/IB/0"}, {on("pod-1", "1"), on("pod-2", "1")}));
}

}  // namespace
}  // namespace railgauge::nccl
