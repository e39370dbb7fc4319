#include "kernels/core/counters.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace railgauge {
namespace {

// A folder of counters that is gone after the test.
class CounterFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("counters-" + std::to_string(getpid()) + "-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(root_ / "counters");
    std::filesystem::create_directories(root_ / "hw_counters");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  [[nodiscard]] Counters read() const {
    const std::array folders{(root_ / "counters").string(), (root_ / "hw_counters").string(),
                             (root_ / "absent").string()};
    return read_counters(folders);
  }
  std::filesystem::path root_;
};

TEST_F(CounterFolder, EveryNumberIsReadAndWhatIsNoneIsLeftOut) {
  write("counters/symbol_error", "7\n");
  write("hw_counters/out_of_sequence", "18446744073709551615\n");
  write("hw_counters/not_a_number", "N/A (no PMA)\n");
  write("hw_counters/empty", "");
  std::filesystem::create_directory(root_ / "hw_counters/folder");
  EXPECT_EQ(read(), (Counters{{"symbol_error", 7}, {"out_of_sequence", UINT64_MAX}}));
}

TEST_F(CounterFolder, OfTwoWithOneNameTheFirstFoldersCounts) {
  write("counters/link_downed", "1\n");
  write("hw_counters/link_downed", "2\n");
  EXPECT_EQ(read().at("link_downed"), 1U);
}

TEST(Troubles, AreKnownByTheirNamesOverTheDriversThatWeKnow) {
  for (const char* name : {"port_rcv_errors",
                           "link_downed",
                           "out_of_sequence",
                           "packet_seq_err",
                           "rnr_nak_retry_err",
                           "local_ack_timeout_err",
                           "np_cnp_sent",
                           "rp_cnp_handled",
                           "np_ecn_marked_roce_packets",
                           "roce_adp_retrans",
                           "roce_slow_restart_cnps",
                           "symbol_error",
                           "VL15_dropped",
                           "port_xmit_discards",
                           "port_xmit_wait",
                           "link_error_recovery",
                           "out_of_buffer",
                           "rx_icrc_encapsulated",
                           "duplicate_request",
                           "out_of_seq_request",
                           "completer_retry_err",
                           "seq_err_naks_rcvd",
                           "oos_drop_count",
                           "tcpRetransSegs",
                           "excessive_buffer_overrun_errors"})
    EXPECT_TRUE(tells_of_trouble(name)) << name;
  for (const char* name : {"port_rcv_data", "port_xmit_packets", "unicast_rcv_packets", "lifespan",
                           "multicast_xmit_packets", "rx_write_requests", "rx_read_requests",
                           "rx_atomic_requests", "sent_pkts", "rcvd_pkts", "rdma_sends",
                           "rdma_recvs", "ack_deferred", "rx_dct_connect", "tx_bytes"})
    EXPECT_FALSE(tells_of_trouble(name)) << name;
}

TEST(Troubles, OnlyThoseThatGrewAreTold) {
  const Counters before{{"rx_errors", 4}, {"link_downed", 2}, {"port_rcv_data", 10}};
  const Counters after{
      {"rx_errors", 4}, {"link_downed", 5}, {"port_rcv_data", 999}, {"new_errors", 3}};
  EXPECT_EQ(grown_troubles(before, after), (Counters{{"link_downed", 3}}));
}

TEST(Troubles, ACounterOf32BitsMayPassItsEnd) {
  EXPECT_EQ(grown_troubles({{"errors", 0xfffffffeU}}, {{"errors", 3}}), (Counters{{"errors", 5}}));
}

TEST(Troubles, AClearedCounterCountsFromZero) {
  EXPECT_EQ(grown_troubles({{"errors", 1000}}, {{"errors", 3}}), (Counters{{"errors", 3}}));
  EXPECT_EQ(grown_troubles({{"errors", 1ULL << 40U}}, {{"errors", 3}}), (Counters{{"errors", 3}}));
  EXPECT_EQ(grown_troubles({{"errors", 1000}}, {{"errors", 0}}), Counters{});
}

TEST(Troubles, TheirListIsBounded) {
  Counters many;
  for (int i = 10; i < 30; ++i) many["error" + std::to_string(i)] = 1;
  const std::string words = counter_words(many);
  EXPECT_THAT(words, ::testing::StartsWith("error10=1, error11=1, "));
  EXPECT_THAT(words, ::testing::EndsWith("error25=1 and 4 more"));
  EXPECT_EQ(counter_words({}), "");
  EXPECT_THAT(counter_words(many, 2), ::testing::EndsWith("error11=1 and 18 more"));
}

TEST(Traffic, IsWhatGrewAndTellsOfNoTrouble) {
  const Counters before{{"rx_errors", 4}, {"port_rcv_data", 10}, {"port_rcv_packets", 7}};
  const Counters after{
      {"rx_errors", 5}, {"port_rcv_data", 999}, {"port_rcv_packets", 7}, {"port_xmit_data", 3}};
  EXPECT_EQ(grown_traffic(before, after), (Counters{{"port_rcv_data", 989}}))
      << "one that stood still, or was not there before, is not told as zero";
}

}  // namespace
}  // namespace railgauge
