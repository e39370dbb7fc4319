// The program is killed at random instants while two agents deliver as fast as it takes their
// records: nothing that it acknowledged is missing, nothing is there twice.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/upkeep/maintenance.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing_agent::ControllerProcess;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

// Spool id n + 1 holds the record of sequence n: Started, then points whose median is their
// sequence.
constexpr std::uint64_t kBatch = 64;
constexpr std::uint64_t kWindow = 512;  // of an agent
constexpr int kRoundsOfADatabase = 10;

Record record_of(const std::string& run_id, std::uint32_t rank, std::uint32_t sequence) {
  Record record;
  record.mutable_key()->set_run_id(run_id);
  record.mutable_key()->set_task_id("t0001");
  record.mutable_key()->set_attempt(1);
  record.mutable_key()->set_rank(rank);
  record.mutable_key()->set_sequence(sequence);
  record.set_unix_time_seconds(1.76e9 + sequence);
  if (sequence == 0) {
    record.mutable_started()->set_kernel("fake.lat");
    record.mutable_started()->set_revision(1);
    record.mutable_started()->set_size(2);
    record.mutable_started()->set_endpoint("rxe0:1");
    return record;
  }
  Point& point = *record.mutable_point();
  point.set_metric("latency_ns");
  point.set_meaning("half_rtt");
  point.set_unit("ns");
  point.set_message_bytes(8);
  point.set_sample_count(1'000);
  point.set_median(sequence);
  point.set_synthetic(true);
  return record;
}

// An agent's spool for one rank: all records there are, from the first unacknowledged one on.
class Feeder {
 public:
  Feeder(const testing_agent::AgentOptions& options, std::string run_id, std::uint32_t rank)
      : agent_(options),
        run_id_(std::move(run_id)),
        rank_(rank),
        next_(options.first_spool_id),
        thread_([this] { feed(); }) {}
  ~Feeder() { thread_.join(); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // When the controller is gone: the last spool id that it acknowledged, at least `before`.
  std::uint64_t acknowledged(std::uint64_t before) {
    agent_.wait_until([](const ScriptedAgent& agent) { return agent.ended(); });
    return std::max(before, agent_.acknowledged());
  }

 private:
  void feed() {
    if (!welcome(agent_)) return;
    for (bool over = false; !over;) {
      api::AgentMessage message;
      for (std::uint64_t i = 0; i < kBatch; ++i, ++next_) {
        api::SpooledRecord& spooled = *message.mutable_records()->add_records();
        spooled.set_spool_id(next_);
        *spooled.mutable_record() =
            record_of(run_id_, rank_, static_cast<std::uint32_t>(next_ - 1));
      }
      agent_.send(message);
      agent_.wait_until([&](const ScriptedAgent& agent) {
        over = agent.ended();
        return over || next_ <= std::max(agent.acknowledged(), first_ - 1) + kWindow;
      });
    }
  }

  ScriptedAgent agent_;
  const std::string run_id_;
  const std::uint32_t rank_;
  std::uint64_t next_;
  const std::uint64_t first_ = next_;
  std::thread thread_;
};

class ProcessKillTest : public testing::Test {
 protected:
  // A new database with one task on n1 and n2, of which the agents say nothing but its records.
  void plan() {
    for (const char* suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(bench_.config_.database + suffix);
    std::ranges::fill(acknowledged_, 0);
    ControllerProcess controller(bench_, {});
    ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
    const auto stub = api::Control::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    ScriptedAgent n1(bench_.agent("n1", Script::kKeepSilent));
    ScriptedAgent n2(bench_.agent("n2", Script::kKeepSilent));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    api::RunSummary run;
    const grpc::Status status = stub->StartRun(&context, request, &run);
    ASSERT_TRUE(status.ok()) << status.error_message();
    run_id_ = run.run_id();
    // An agent hears of the attempt when the database knows it.
    for (ScriptedAgent* agent : {&n1, &n2})
      ASSERT_TRUE(agent->wait_until(
          [](const ScriptedAgent& a) { return a.count(api::ControllerMessage::kPrepare) == 1; }));
  }

  // Killed so long after its start; the agents deliver if it got to serve.
  void live_and_die(std::chrono::milliseconds life, bool wait_for_agents) {
    ControllerProcess controller(bench_, {});
    std::vector<std::unique_ptr<Feeder>> feeders;
    if (wait_for_agents) {
      ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        auto options = bench_.agent(rank == 0 ? "n1" : "n2", Script::kKeepSilent);
        options.first_spool_id = acknowledged_[rank] + 1;
        feeders.push_back(std::make_unique<Feeder>(options, run_id_, rank));
      }
    }
    std::this_thread::sleep_for(life);
    controller.signal(SIGKILL);
    EXPECT_EQ(controller.wait(), -SIGKILL) << controller.error_text();
    for (std::size_t rank = 0; rank < feeders.size(); ++rank)
      acknowledged_[rank] = feeders[rank]->acknowledged(acknowledged_[rank]);
  }

  void expect_all_that_was_acknowledged() {
    auto connection =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kReadOnly, 5);
    ASSERT_TRUE(connection) << connection.error().message;
    const auto count = [&](std::string_view sql) {
      const auto value = connection->integer(sql);
      EXPECT_TRUE(value) << value.error().message;
      return value && *value ? **value : -1;
    };
    const auto problems = store::find_problems(*connection);
    ASSERT_TRUE(problems) << problems.error().message;
    EXPECT_THAT(*problems, testing::IsEmpty());
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const std::string points =
          fmt::format("FROM point JOIN rank ON rank.id=point.rank WHERE rank.rank={}", rank);
      const std::int64_t stored = count("SELECT count(*) " + points);
      EXPECT_GE(stored + 1, static_cast<std::int64_t>(acknowledged_[rank])) << "rank " << rank;
      // A spool is delivered in order, so what is there has no gap and nothing twice.
      EXPECT_EQ(count("SELECT coalesce(max(median), 0) " + points), stored) << "rank " << rank;
      EXPECT_EQ(count("SELECT count(DISTINCT median) " + points), stored) << "rank " << rank;
    }
    EXPECT_LE(count("SELECT count(*) FROM rank"), 2);
    EXPECT_EQ(count("SELECT count(*) FROM run WHERE state<>'ended'"), 0);
    EXPECT_EQ(count("SELECT count(*) FROM orphan_record"), 0);
  }

  ServerBench bench_;
  std::string run_id_;
  std::uint64_t acknowledged_[2] = {0, 0};
};

TEST_F(ProcessKillTest, KilledWhileAgentsDeliverItHasEveryAcknowledgedRecordOnce) {
  const char* wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  const bool full = wanted != nullptr && std::string_view(wanted) == "1";
  const int wanted_kills = full ? 200 : 10;  // while records are being acknowledged
  std::mt19937 random(20'27);
  std::uniform_int_distribution<int> life_ms(0, 300);
  int delivering = 0;
  for (int round = 0; delivering < wanted_kills; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    ASSERT_LT(round, 10 * wanted_kills) << "only " << delivering << " kills fell into a delivery";
    // Anew before the checks of all that is stored take longer than the rounds.
    if (round % kRoundsOfADatabase == 0) {
      ASSERT_NO_FATAL_FAILURE(plan());
    }
    const std::uint64_t before = acknowledged_[0] + acknowledged_[1];
    // Now and then while it starts: it then opens, migrates and ends the runs left open.
    live_and_die(std::chrono::milliseconds(life_ms(random)), round % 5 != 4);
    delivering += acknowledged_[0] + acknowledged_[1] > before ? 1 : 0;
    expect_all_that_was_acknowledged();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace railgauge
