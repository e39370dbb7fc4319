#include "agent/watch/counters.h"

#include <sys/stat.h>

#include <filesystem>
#include <random>

#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

class Counters : public testing::Test {
 protected:
  void nic() {
    const std::string pci = "sys/devices/pci0000:00/0000:00:01.0/0000:3b:00.0/";
    for (const char* bridge : {"sys/devices/pci0000:00/0000:00:01.0/", pci.c_str()})
      folder_.write(std::string(bridge) + "aer_dev_correctable",
                    "RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n");
    folder_.write(pci + "aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0\n");
    fs::create_directories(folder_ / "sys/bus/pci/devices");
    fs::create_directory_symlink(folder_ / pci, folder_ / "sys/bus/pci/devices/0000:3b:00.0");
    fs::create_directory_symlink(folder_ / "sys/devices/pci0000:00/0000:00:01.0",
                                 folder_ / "sys/bus/pci/devices/0000:00:01.0");
    const std::string device = "sys/class/infiniband/mlx5_0/";
    folder_.write(device + "ports/1/counters/symbol_error", "12\n");
    folder_.write(device + "ports/1/counters/link_downed", "1\n");
    folder_.write(device + "ports/1/hw_counters/np_cnp_sent", "18446744073709551615\n");
    folder_.write(device + "ports/1/gid_attrs/ndevs/0", "ens1\n");
    folder_.write("sys/class/net/ens1/carrier_changes", "4\n");
    fs::create_directory_symlink(folder_ / pci, folder_ / (device + "device"));
  }
  std::vector<Reading> read() { return read_counters(folder_ / "sys"); }
  TempDir folder_;
};

TEST_F(Counters, APortItsNetdevAndItsPathAreRead) {
  nic();
  const auto readings = read();
  for (const Reading& expected :
       {Reading{"mlx5_0:1", "symbol_error", 12}, Reading{"mlx5_0:1", "link_downed", 1},
        Reading{"mlx5_0:1", "np_cnp_sent", ~0ULL}, Reading{"ens1", "carrier_changes", 4},
        Reading{"0000:3b:00.0", "aer_dev_correctable", 3},
        Reading{"0000:00:01.0", "aer_dev_correctable", 3},
        Reading{"0000:3b:00.0", "aer_dev_fatal", 0}})
    EXPECT_THAT(readings, Contains(expected)) << expected.device << ' ' << expected.counter;
  EXPECT_EQ(readings.size(), 7U);
}

TEST_F(Counters, AGpusSlotIsWatchedToo) {
  const std::string gpu = "sys/bus/pci/devices/0000:17:00.0/";
  folder_.write(gpu + "vendor", "0x10de\n");
  folder_.write(gpu + "class", "0x030200\n");
  folder_.write(gpu + "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 5\n");
  EXPECT_THAT(read(), Contains(Reading{"0000:17:00.0", "aer_dev_nonfatal", 5}));
}

TEST_F(Counters, BadContentLeavesOutThatFactOnly) {
  nic();
  const std::string counters = "sys/class/infiniband/mlx5_0/ports/1/counters/";
  folder_.write(counters + "symbol_error", std::string("\xff\xfe\x00 12", 6));
  folder_.write(counters + "port_rcv_errors", std::string(1 << 20, '9'));
  ASSERT_EQ(::mkfifo((folder_ / (counters + "port_xmit_discards")).c_str(), 0600), 0);
  fs::create_symlink("link_error_recovery", folder_ / (counters + "link_error_recovery"));
  const auto readings = read();
  for (const Reading& reading : readings)
    EXPECT_THAT(reading.counter, testing::AnyOf("link_downed", "np_cnp_sent", "carrier_changes",
                                                "aer_dev_correctable", "aer_dev_fatal"));
  EXPECT_EQ(readings.size(), 6U);
}

TEST_F(Counters, ALoopOfLinksInPlaceOfADeviceIsNoPath) {
  fs::create_directories(folder_ / "sys/class/infiniband/mlx5_0");
  fs::create_symlink("device", folder_ / "sys/class/infiniband/mlx5_0/device");
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(Counters, ANodeWithNothingHasNothing) { EXPECT_THAT(read(), IsEmpty()); }

TEST(CounterText, IsANumberOrNothing) {
  EXPECT_EQ(parse_counter("42\n"), 42U);
  for (const char* bad : {"", "\n", "-1\n", "0x10\n", "1 2\n", "18446744073709551616\n", "4 2"})
    EXPECT_FALSE(parse_counter(bad)) << bad;
}

TEST(AerText, TheTotalCountsElseTheSum) {
  EXPECT_EQ(parse_aer_total("RxErr 1\nTOTAL_ERR_COR 7\n"), 7U);
  EXPECT_EQ(parse_aer_total("RxErr 1\nBadTLP 2\n"), 3U);
  EXPECT_EQ(parse_aer_total("A 18446744073709551615\nB 2\n"), ~0ULL) << "it does not wrap";
  EXPECT_FALSE(parse_aer_total(""));
  EXPECT_FALSE(parse_aer_total("nonsense\n\n\n"));
}

TEST(CounterFuzz, AnyBytesGiveANumberOrNothing) {
  std::mt19937 random(5);
  const std::string good = "RxErr 1\nBadTLP 22\nTOTAL_ERR_COR 23\n";
  for (int i = 0; i < 50'000; ++i) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    for (int flips = static_cast<int>(random() % 5); flips > 0 && !text.empty(); --flips)
      text[random() % text.size()] = static_cast<char>(random());
    const auto total = parse_aer_total(text);
    const auto number = parse_counter(text);
    EXPECT_TRUE(!number || text.find_first_not_of("0123456789 \n") == std::string::npos) << text;
    static_cast<void>(total);
  }
}

}  // namespace
}  // namespace railgauge::agent
