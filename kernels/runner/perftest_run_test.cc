// perftest's names between two terminals, on the fake libibverbs.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/group/tcp.h"
#include "kernels/runner/testing/process.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

Words with_fake() {
  return {std::string("RAILGAUGE_LIBIBVERBS=") + std::getenv("RAILGAUGE_BUILD_DIR") +
          "/lib/libibverbs-fake.so"};
}

// A port that was free a moment ago: the alias has no way to say "any".
std::string free_port() {
  const auto listening = tcp_listen({"127.0.0.1", 0});
  return std::to_string(local_address(*listening).port);
}

struct Both {
  Ended server;
  Ended client;
};
Both measure(const std::string& name, const Words& server_words, const Words& client_words) {
  const std::string port = free_port();
  Words one{program("railgauge-runner"), name, "-d", "fake1", "-p", port};
  one.insert(one.end(), server_words.begin(), server_words.end());
  Process server(one, false, with_fake());
  EXPECT_TRUE(server.wait_for_stderr("listening on"));
  Words other{program("railgauge-runner"), name, "-d", "fake0", "-p", port};
  other.insert(other.end(), client_words.begin(), client_words.end());
  other.emplace_back("127.0.0.1");
  const Ended client = Process(other, false, with_fake()).wait();
  return {.server = server.wait(), .client = client};
}

class PerftestRun : public testing::TestWithParam<const char*> {};

TEST_P(PerftestRun, MeetsAServerThatWasToldNothing) {
  const Both both = measure(GetParam(), {}, {"-n", "200"});
  EXPECT_EQ(both.client.exit_code, kExitPassed) << both.client.err;
  EXPECT_EQ(both.server.exit_code, kExitPassed) << both.server.err;
  EXPECT_NE(both.client.out.find("SYNTHETIC"), std::string::npos) << both.client.out;
  const bool latency = std::string_view(GetParam()).ends_with("_lat");
  EXPECT_NE(both.client.out.find(latency ? "t_typical[usec]" : "BW average[MiB/sec]"),
            std::string::npos)
      << both.client.out;
}
INSTANTIATE_TEST_SUITE_P(Programs, PerftestRun,
                         testing::Values("ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat",
                                         "ib_send_bw", "ib_send_lat", "ib_atomic_bw",
                                         "ib_atomic_lat"),
                         [](const auto& name) { return std::string(name.param); });

TEST(PerftestRunDocument, IsRailgaugesWithTheProfilesParameters) {
  const Both both = measure("ib_write_bw", {}, {"-D", "1", "-q", "2", "--format", "json"});
  EXPECT_EQ(both.client.exit_code, kExitPassed) << both.client.err;
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(both.client.out, &report).ok())
      << both.client.out;
  const auto& parameters = report.started().parameters();
  EXPECT_EQ(parameters.at("duration"), "1s");
  EXPECT_EQ(parameters.at("qps"), "2");
  EXPECT_EQ(parameters.at("signal_every"), "1");  // of 64 KiB, each completes
  EXPECT_EQ(report.started().endpoint(), "fake0:1");
}

TEST(PerftestRunFloor, FailsARunThatPassedBelowIt) {
  const Both both = measure("ib_write_bw", {}, {"-n", "200", "-w", "1e9"});
  EXPECT_EQ(both.client.exit_code, kExitFailed) << both.client.err;
  EXPECT_NE(both.client.err.find("ib_write_bw: 65536 bytes: "), std::string::npos)
      << both.client.err;
  EXPECT_NE(both.client.err.find("MiB/s is below 1000000000.00"), std::string::npos);
  EXPECT_EQ(measure("ib_write_bw", {}, {"-n", "200", "-w", "0.001"}).client.exit_code, kExitPassed);
}

TEST(PerftestRunOutput, IsOneNumberWhereAskedForAndCountersFollow) {
  const Both both = measure("ib_read_lat", {},
                            {"-n", "200", "--output=latency", "-o", "2", "-W", "counters/nothing"});
  ASSERT_EQ(both.client.exit_code, kExitPassed) << both.client.err;
  EXPECT_EQ(both.client.out.find("t_typical"), std::string::npos) << both.client.out;
  EXPECT_GT(std::atof(both.client.out.c_str()), 0) << both.client.out;
  EXPECT_NE(both.client.out.find("\n\tcounters/nothing=0\n"), std::string::npos) << both.client.out;
}

TEST(PerftestRunSides, AreToldWhereTheyDiffer) {
  const Both both = measure("ib_write_lat", {"-s", "64"}, {"-s", "8", "-n", "10"});
  EXPECT_EQ(both.client.exit_code, kExitUsage);
  EXPECT_NE(both.client.err.find("parameter sizes: the listener was given 64"), std::string::npos)
      << both.client.err;
}

TEST(PerftestRunName, MayBeThatOfALink) {
  const auto link =
      std::filesystem::temp_directory_path() / ("ib_write_bw." + std::to_string(::getpid()));
  std::filesystem::create_directory(link);
  std::filesystem::create_symlink(program("railgauge-runner"), link / "ib_write_bw");
  const Ended ended = Process({(link / "ib_write_bw").string(), "--run_infinitely"}).wait();
  std::filesystem::remove_all(link);
  EXPECT_EQ(ended.exit_code, kExitUsage);
  EXPECT_EQ(ended.err,
            "railgauge-runner: --run_infinitely: a run has an end; repeat it, or let a schedule do "
            "so\n");
}

}  // namespace
}  // namespace railgauge
