// Agents of other versions at today's controller: recorded streams of the last release and of this
// one, and this one's with the words of the next version in it. Figures are synthetic.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/server_bench.h"
#include "controller/testing/streams/replayed_agent.h"

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_agent::RecordedStream;
using testing_agent::ReplayedAgent;
using testing_agent::ServerBench;
using testing_agent::StreamChange;

constexpr const char* kFolder = "controller/fleet/testdata/streams";

// As deploy/packages/record_streams.sh has it.
constexpr const char* kRecordedSuite =
    "version: 1\nmetadata: {name: recorded}\nstages:\n  - kernel: test.latency\n    parameters: "
    "{sizes: \"8,64KiB\"}\n    placement: {pairs: all}\n";

RecordedStream recorded(const std::string& version, const std::string& node) {
  auto stream = testing_agent::read_stream(fmt::format("{}/{}-{}.stream", kFolder, version, node));
  EXPECT_TRUE(stream) << (stream ? "" : stream.error().message);
  return stream.value_or(RecordedStream{});
}

std::size_t points_in(const RecordedStream& stream) {
  std::size_t points = 0;
  for (const api::AgentMessage& message : stream.messages)
    for (const api::SpooledRecord& spooled : message.records().records())
      points += spooled.record().has_point() ? 1 : 0;
  return points;
}

// One run of both nodes with their recorded streams, changed.
class VersionsTest : public testing::Test {
 protected:
  void SetUp() override {
    bench_.write("recorded.yaml", kRecordedSuite);
    bench_.start();
  }

  api::RunDetail run_of(const std::string& version, const StreamChange& change) {
    const RecordedStream a = recorded(version, "a");
    const RecordedStream b = recorded(version, "b");
    points_ = points_in(a) + points_in(b);
    EXPECT_GT(points_, 0U);
    ReplayedAgent first(bench_.target(), a, change);
    ReplayedAgent second(bench_.target(), b, change);
    EXPECT_TRUE(first.is_welcome() && second.is_welcome()) << first.end() << second.end();
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name("recorded");
    api::RunSummary run;
    const grpc::Status status = bench_.stub_->StartRun(&context, request, &run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) return {};
    EXPECT_TRUE(first.has_said_all() && second.has_said_all()) << first.end() << second.end();
    api::RunDetail detail = bench_.end_of(run.run_id());
    EXPECT_THAT(first.end(), IsEmpty());
    EXPECT_THAT(second.end(), IsEmpty());
    return detail;
  }

  std::int64_t stored_points() {
    auto connection =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kReadOnly, 5);
    EXPECT_TRUE(connection);
    return connection->integer("SELECT count(*) FROM point").value().value_or(-1);
  }

  ServerBench bench_;
  std::size_t points_ = 0;  // in the recorded streams
};

TEST_F(VersionsTest, TheStreamOfThisVersionIsMeasuredAndStoredWhole) {
  const api::RunDetail detail = run_of("current", {});
  EXPECT_EQ(detail.run().outcome(), "passed") << detail.run().reason();
  EXPECT_EQ(stored_points(), static_cast<std::int64_t>(points_));
}

TEST_F(VersionsTest, TheStreamOfTheLastReleaseIsMeasuredAndStoredWhole) {
  const api::RunDetail detail = run_of("previous", {});
  EXPECT_EQ(detail.run().outcome(), "passed") << detail.run().reason();
  EXPECT_EQ(stored_points(), static_cast<std::int64_t>(points_));
}

TEST_F(VersionsTest, AnAgentOfTheContractBeforeLacksWordsAndIsMeasured) {
  const api::RunDetail detail = run_of("previous", testing_agent::as_last_version());
  EXPECT_EQ(detail.run().outcome(), "passed") << detail.run().reason();
  EXPECT_EQ(stored_points(), static_cast<std::int64_t>(points_));
}

TEST_F(VersionsTest, FieldsWordsAndKindsOfTheNextVersionEndNoStreamAndCostNoFigure) {
  const api::RunDetail detail = run_of("current", testing_agent::as_next_version());
  EXPECT_EQ(detail.run().outcome(), "passed") << detail.run().reason();
  EXPECT_EQ(stored_points(), static_cast<std::int64_t>(points_));
}

// An outcome that this controller does not know is no pass.
TEST_F(VersionsTest, AnOutcomeOfTheNextVersionIsNoPass) {
  const api::RunDetail detail = run_of("current", [](api::AgentMessage message) {
    if (message.has_ended()) message.mutable_ended()->set_outcome("transcended");
    for (int i = 0; i < message.records().records_size(); ++i) {
      Record& record = *message.mutable_records()->mutable_records(i)->mutable_record();
      if (record.has_final()) record.mutable_final()->set_outcome("transcended");
    }
    return std::vector<api::AgentMessage>{std::move(message)};
  });
  EXPECT_EQ(detail.run().outcome(), "crashed") << detail.run().reason();
}

TEST_F(VersionsTest, TwoMinorVersionsApartIsRefusedNamingBothAndTheSideToUpgrade) {
  const auto far = [](api::AgentMessage message) {
    if (message.has_hello())
      message.mutable_hello()->mutable_contract()->set_minor(api::kContract.minor + 2);
    return std::vector<api::AgentMessage>{std::move(message)};
  };
  ReplayedAgent agent(bench_.target(), recorded("current", "a"), far);
  EXPECT_FALSE(agent.is_welcome());
  EXPECT_THAT(agent.end(), HasSubstr(fmt::format("contract {}.{}, the controller {}.{}",
                                                 api::kContract.major, api::kContract.minor + 2,
                                                 api::kContract.major, api::kContract.minor)));
  EXPECT_THAT(agent.end(), HasSubstr("upgrade the controller"));
}

}  // namespace
}  // namespace railgauge::fleet
