// The parser of NCCL's debug output. All lines are synthetic, in the words of several releases.
#include "kernels/nccl/communicator/log.h"

#include <gmock/gmock.h>

#include "kernels/fakes/recorder.h"

namespace railgauge::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Log, TellsVersionNetworkAndDevices) {
  const LogFacts seen = parse_log(
      "NCCL version 2.28.9+cuda13.0\n"
      "n1:7:7 [0] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v10)\n"
      "n1:7:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB "
      "eth0:10.1.2.3<0>\n"
      "n1:7:9 [0] NCCL INFO Using network IB\n");
  EXPECT_EQ(seen.version, "2.28.9+cuda13.0");
  EXPECT_EQ(seen.plugin, "Libfabric");
  EXPECT_EQ(seen.network, "IB");
  EXPECT_EQ(seen.devices, "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]");
}

TEST(Log, KnowsTheNetworkByItsNewerWordsToo) {
  EXPECT_EQ(parse_log("n1:7:9 [0] NCCL INFO Assigned NET plugin Socket to comm\n").network,
            "Socket");
}

// As with EFA's plugin, with that of HPC-X, and in releases that name the communicator behind it.
TEST(Log, KeepsNamesThatHaveBlanks) {
  const LogFacts efa = parse_log(
      "n1:7:7 [0] NCCL INFO NET/Plugin: Loaded net plugin AWS Libfabric (v9)\n"
      "n1:7:9 [0] NCCL INFO Using network AWS Libfabric\n"
      "n1:7:9 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/AWS Libfabric/0/GDRDMA\n"
      "n1:7:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/1/GDRDMA comm "
      "0x55d1c8 nRanks 16\n");
  EXPECT_EQ(efa.plugin, "AWS Libfabric");
  EXPECT_EQ(efa.network, "AWS Libfabric");
  EXPECT_THAT(efa.connections, ElementsAre(Pair("NET/AWS Libfabric/0/GDRDMA", 1),
                                           Pair("NET/AWS Libfabric/1/GDRDMA", 1)));
  fake::RankResult result;
  fake::Recorder recorder(result);
  report(efa, recorder);
  EXPECT_EQ(result.facts.at("nccl_gdr"), "used by 2 of 2 connections");
  const LogFacts sharp = parse_log(
      "n1:7:7 [0] NCCL INFO NET/Plugin: Loaded net plugin NCCL RDMA Plugin v9 (v9)\n"
      "n1:7:9 [0] NCCL INFO Assigned NET plugin NCCL RDMA Plugin v9 to comm\n"
      "n1:7:9 [0] NCCL INFO Channel 00/0 : 1[1] -> 9[1] [send] via NET/NCCL RDMA Plugin "
      "v9/3/GDRDMA\n"
      "n1:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n");
  EXPECT_EQ(sharp.plugin, "NCCL RDMA Plugin v9");
  EXPECT_EQ(sharp.network, "NCCL RDMA Plugin v9");
  EXPECT_THAT(sharp.connections, ElementsAre(Pair("NET/NCCL RDMA Plugin v9/3/GDRDMA", 1),
                                             Pair("P2P/direct pointer", 1)));
}

TEST(Log, CountsConnectionsByTransport) {
  const LogFacts seen = parse_log(
      "n1:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "n1:7:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "n1:7:9 [0] NCCL INFO Channel 02 : 0[1b000] -> 1[1c000] via SHM/direct/direct\n"
      "n1:7:9 [0] NCCL INFO Channel 00/0 : 3[3] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
      "n1:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"
      "n1:7:9 [0] NCCL INFO Channel 00/02 :    0   1\n");
  EXPECT_THAT(seen.connections, ElementsAre(Pair("NET/IB/0/GDRDMA", 1), Pair("NET/Socket/0", 1),
                                            Pair("P2P/CUMEM", 2), Pair("SHM/direct/direct", 1)));
}

TEST(Log, TellsGdrOfEachHcaAndDmaBuf) {
  const LogFacts seen = parse_log(
      "n1:7:9 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n"
      "n1:7:9 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'\n"
      "n1:7:9 [0] NCCL INFO DMA-BUF is available on GPU device 0\n");
  EXPECT_THAT(seen.gdr, ElementsAre(Pair("mlx5_0", true), Pair("mlx5_1", false)));
  EXPECT_EQ(seen.dma_buf, true);
}

TEST(Log, TellsChannelsAndMulticast) {
  const LogFacts seen = parse_log(
      "n1:7:9 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)\n"
      "n1:7:9 [1] NCCL INFO NVLS multicast support is not available on dev 1\n"
      "n1:7:9 [0] NCCL INFO 16 coll channels, 16 collnet channels, 0 nvls channels, 32 p2p "
      "channels, "
      "32 p2p channels per peer\n");
  EXPECT_EQ(seen.channels, "16 coll, 16 collnet, 0 nvls, 32 p2p, 32 p2p per peer");
  EXPECT_EQ(seen.nvls, false) << "what one lacks, none has";
}

TEST(Log, TellsWhatWasChosenInNewAndOldWords) {
  const LogFacts seen = parse_log(
      "n1:7:9 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo Ring proto LL channel{Lo..Hi}={0..3}\n"
      "n1:7:9 [0] NCCL INFO AllGather: 64 Bytes -> Algo 1 proto 2 time 12.5\n"
      "n1:7:9 [0] NCCL INFO 8388608 Bytes -> Algo 4 proto 2 time 50.25\n");
  ASSERT_EQ(seen.choices.size(), 3U);
  EXPECT_EQ(seen.choices[0].operation, "AllReduce");
  EXPECT_EQ(seen.choices[0].bytes, 4096U);
  EXPECT_EQ(seen.choices[0].algorithm, "RING");
  EXPECT_EQ(seen.choices[0].protocol, "LL");
  EXPECT_EQ(seen.choices[0].channels, "0..3");
  EXPECT_EQ(seen.choices[1].operation, "AllGather");
  EXPECT_EQ(seen.choices[1].algorithm, "RING");
  EXPECT_EQ(seen.choices[1].protocol, "SIMPLE");
  EXPECT_EQ(seen.choices[2].operation, "");
  EXPECT_EQ(seen.choices[2].bytes, 8388608U);
  EXPECT_EQ(seen.choices[2].algorithm, "NVLS");
}

TEST(Log, LeavesAnUnfinishedLineAndOddOnesOut) {
  EXPECT_EQ(parse_log("NCCL version 2.28.9").version, "");
  const LogFacts seen = parse_log(
      "x Bytes -> Algo \n Bytes -> Algo RING\nChannel via\nGPU Direct RDMA Enabled 'mlx\n\n");
  EXPECT_TRUE(seen.choices.empty());
  EXPECT_TRUE(seen.connections.empty());
  EXPECT_TRUE(seen.gdr.empty());
}

TEST(Log, BecomesFactsOnlyWhereSomethingWasSaid) {
  fake::RankResult result;
  fake::Recorder recorder(result);
  report(parse_log(""), recorder);
  EXPECT_TRUE(result.facts.empty());
  report(parse_log("Channel 0 : 0[0] -> 1[1] [send] via NET/IB/0\n"), recorder);
  EXPECT_EQ(result.facts.at("nccl_transports"), "NET/IB/0 (1)");
  EXPECT_EQ(result.facts.at("nccl_gdr"), "not used");
}

TEST(Log, TellsOfEachRailWhetherItUsesGdr) {
  const auto rails = [](const std::string& text) {
    fake::RankResult result;
    fake::Recorder recorder(result);
    report(parse_log(text), recorder);
    return result.facts.contains("nccl_gdr_rails") ? result.facts.at("nccl_gdr_rails") : "absent";
  };
  EXPECT_EQ(rails("NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0\n"
                  "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
                  "Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/1\n"),
            "mlx5_0:1/RoCE on, mlx5_1:1/RoCE off");
  EXPECT_EQ(rails("Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/2(4)/GDRDMA\n"
                  "Channel 01/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/2\n"),
            "device 2 on for 1 of 2 connections");
  EXPECT_EQ(rails("Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"), "absent");
}

TEST(Log, TellsWhichPartOfTheConnectionsUsesGdr) {
  fake::RankResult result;
  fake::Recorder recorder(result);
  report(parse_log("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
                   "Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
                   "Channel 02/0 : 0[0] -> 8[0] [send] via NET/IB/1\n"
                   "Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM\n"),
         recorder);
  EXPECT_EQ(result.facts.at("nccl_gdr"), "used by 2 of 3 connections; not by NET/IB/1");
}

TEST(Log, GivesThePathWithoutCounts) {
  const LogFacts seen = parse_log(
      "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
      "Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
      "Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  EXPECT_THAT(kinds_of(seen), ElementsAre("NET/IB/0/GDRDMA", "P2P/CUMEM"));
  EXPECT_EQ(path_of({"P2P/CUMEM", "NET/IB/0/GDRDMA", "NET/IB/1/GDRDMA"}),
            "NET/IB/0/GDRDMA, NET/IB/1/GDRDMA, P2P/CUMEM");
  EXPECT_EQ(path_of({}), "");
}

TEST(GdrLevel, OfOldNumbersIsWhatNcclMakesOfThem) {
  const std::vector<std::string> expected{"LOC", "PIX", "PXB", "PHB", "SYS", "SYS"};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(gdr_level_in_words(std::to_string(i)), expected[i]);
  EXPECT_EQ(gdr_level_in_words("PXB"), "PXB");
  EXPECT_EQ(gdr_level_in_words("C2C"), "C2C");
  EXPECT_EQ(gdr_level_in_words("6"), "SYS");
  EXPECT_EQ(gdr_level_in_words("3x"), "PHB");
  EXPECT_EQ(gdr_level_in_words("0x2"), "PXB");
  for (const char* ignored : {"-1", "NODES", "", "pxb", " 3"})
    EXPECT_EQ(gdr_level_in_words(ignored), "");
}

TEST(Log, SaysWhenAKernelOverSymmetricMemoryOrACopyEngineWorked) {
  const LogFacts seen = parse_log(
      "host:1:1 [0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R "
      "nchannels 8 nthreads 512 nWorks 1\n"
      "host:1:1 [0] NCCL INFO AllGather [Copy Engine]: 1048576 Bytes -> cudaMemcpyBatch\n");
  ASSERT_EQ(seen.choices.size(), 2U);
  EXPECT_EQ(seen.choices[0].operation, "AllReduce");
  EXPECT_EQ(seen.choices[0].bytes, 4096U);
  EXPECT_EQ(seen.choices[0].algorithm, "symmetric");
  EXPECT_EQ(seen.choices[0].protocol, "AllReduce_AGxLL_R");
  EXPECT_EQ(seen.choices[1].algorithm, "copy engine");
}

TEST(Log, NamesThePortsOfItsConnections) {
  LogFacts seen;
  seen.devices = "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [2]mlx5_2:1/RoCE";
  seen.connections = {{"NET/IB/0/GDRDMA", 4}, {"NET/IB/2", 4}, {"P2P/CUMEM", 8}};
  EXPECT_EQ(ports_of(seen), (std::vector<std::string>{"mlx5_0:1", "mlx5_2:1"}));
  seen.devices = "[0]eth0:192.0.2.1<0>";
  seen.connections = {{"NET/Socket/0", 4}};
  EXPECT_EQ(ports_of(seen), std::vector<std::string>{"eth0"});
}

}  // namespace
}  // namespace railgauge::nccl
