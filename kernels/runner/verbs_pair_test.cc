// The product's runner with the real verbs kernels on the fake libibverbs: as two children of
// agents whose steps the test relays, and between two terminals.
#include <cstdlib>

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/rank.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;

const std::vector<std::string>& fake_verbs() {
  static const std::vector<std::string> kEnvironment{std::string("RAILGAUGE_LIBIBVERBS=") +
                                                     std::getenv("RAILGAUGE_BUILD_DIR") +
                                                     "/lib/libibverbs-fake.so"};
  return kEnvironment;
}

using Rank = testing_process::RankProcess;

TaskRequest request_of(std::uint32_t rank, const std::string& kernel) {
  TaskRequest task;
  task.mutable_key()->set_rank(rank);
  task.set_kernel(kernel);
  (*task.mutable_parameters())["iterations"] = "200";
  task.set_size(2);
  task.set_endpoint("fake" + std::to_string(rank) + ":1");
  task.set_deadline_seconds(testing_process::kPatienceSeconds);
  return task;
}

// The controller's part: prepared on both, then go, then step by step to the end.
void relay(Rank& zero, Rank& one) {
  for (Rank* rank : {&zero, &one}) {
    const auto prepared = rank->hear();
    ASSERT_TRUE(prepared && prepared->has_prepared());
  }
  ToRunner go;
  go.mutable_go();
  zero.process.tell(go);
  one.process.tell(go);
  for (;;) {
    const auto first = zero.hear();
    const auto second = one.hear();
    if (!first || !second) return;
    ASSERT_EQ(first->step().step(), second->step().step());
    ToRunner all;
    all.mutable_step()->set_step(first->step().step());
    all.mutable_step()->add_payloads(first->step().payloads(0));
    all.mutable_step()->add_payloads(second->step().payloads(0));
    zero.process.tell(all);
    one.process.tell(all);
  }
}

class VerbsPair : public testing::TestWithParam<const char*> {};

TEST_P(VerbsPair, IsMeasuredThroughTwoAgentsPipes) {
  Rank zero(fake_verbs());
  Rank one(fake_verbs());
  zero.start(request_of(0, GetParam()));
  one.start(request_of(1, GetParam()));
  relay(zero, one);
  ASSERT_FALSE(zero.records.empty() || one.records.empty());
  EXPECT_EQ(zero.final().outcome(), kPassed) << zero.final().reason();
  EXPECT_EQ(one.final().outcome(), kPassed) << one.final().reason();
  EXPECT_EQ(zero.records.front().started().endpoint(), "fake0:1");
  bool points = false;
  for (const Record& record : zero.records) {
    if (!record.has_point()) continue;
    points = true;
    EXPECT_TRUE(record.point().synthetic());
    EXPECT_TRUE(record.point().verified());
    EXPECT_GT(record.point().median(), 0);
  }
  EXPECT_TRUE(points);
  const Phases& phases = zero.final().phases();
  RecordProperty("start_ns", std::to_string(phases.start_ns()));
  RecordProperty("open_ns", std::to_string(phases.open_ns()));
  RecordProperty("wait_ns", std::to_string(phases.wait_ns()));
  RecordProperty("exchange_ns", std::to_string(phases.exchange_ns()));
  RecordProperty("measure_ns", std::to_string(phases.measure_ns()));
  RecordProperty("stop_ns", std::to_string(phases.stop_ns()));
  EXPECT_EQ(zero.process.wait().exit_code, kExitPassed);
  EXPECT_EQ(one.process.wait().exit_code, kExitPassed);
}

INSTANTIATE_TEST_SUITE_P(Kernels, VerbsPair, testing::Values("verbs.write_bw", "verbs.write_lat"),
                         [](const auto& kernel) { return std::string(kernel.param).substr(6); });

TEST(VerbsTwoTerminals, PrintADocumentWithThePathAndTheSyntheticMark) {
  Process listener(
      {program("railgauge-runner"), "verbs.write_lat", "--listen", "127.0.0.1:0", "-d", "fake1:1"},
      false, fake_verbs());
  const std::string address = listener.listening_address();
  const Ended ended = Process({program("railgauge-runner"), "verbs.write_lat", "--connect", address,
                               "--iterations", "100", "--format", "json"},
                              false, fake_verbs())
                          .wait();
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_EQ(listener.wait().exit_code, kExitPassed);
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok()) << ended.out;
  ASSERT_GT(report.points_size(), 0);
  EXPECT_TRUE(report.points(0).synthetic());
  EXPECT_EQ(report.started().facts().at("path"), "host");
}

TEST(VerbsTwoTerminals, EachSideTakesTheGidIndexThatItWasGiven) {
  Process listener({program("railgauge-runner"), "verbs.write_lat", "--listen", "127.0.0.1:0", "-d",
                    "fake1:1", "--gid-index", "1"},
                   false, fake_verbs());
  const std::string address = listener.listening_address();
  const Ended ended = Process({program("railgauge-runner"), "verbs.write_lat", "--connect", address,
                               "--iterations", "100", "--gid-index", "3", "--format", "json"},
                              false, fake_verbs())
                          .wait();
  EXPECT_EQ(ended.exit_code, kExitPassed) << ended.err;
  EXPECT_EQ(listener.wait().exit_code, kExitPassed);
  RunnerReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok()) << ended.out;
  EXPECT_EQ(report.started().facts().at("gid_index"), "3");
}

TEST(VerbsTwoTerminals, ADeviceThatDoesNotExistIsWaivedOnBothSides) {
  Process listener(
      {program("railgauge-runner"), "verbs.write_lat", "--listen", "127.0.0.1:0", "-d", "none0:1"},
      false, fake_verbs());
  const std::string address = listener.listening_address();
  const Ended ended =
      Process({program("railgauge-runner"), "verbs.write_lat", "--connect", address}, false,
              fake_verbs())
          .wait();
  EXPECT_EQ(ended.exit_code, kExitWaived) << ended.err;
  EXPECT_NE(ended.err.find("rank 1: "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("none0"), std::string::npos) << ended.err;
  EXPECT_EQ(listener.wait().exit_code, kExitWaived);
}

}  // namespace
}  // namespace railgauge
