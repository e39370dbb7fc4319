// Runs that nobody judged at their end, judged by the next controller.
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/judge.grpc.pb.h"
#include "controller/server.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class LateJudgementTest : public testing::Test {
 protected:
  void SetUp() override { bench_.start(); }
  ServerBench bench_;
};

// Nights of two pairs over the store alone, as controllers of the past left them. Synthetic.
class Nights {
 public:
  explicit Nights(const std::string& database) : store_(store::open_store(database)) {
    for (int node = 1; node <= 4; ++node) EXPECT_TRUE(store_->put_node(store::node_row(node)));
  }
  // A run of the pairs: "a" is n1 with n2, "b" is n3 with n4. Without `is_last_known` the last
  // rank of the last pair has not delivered its final record.
  void add(const std::string& pairs, double median, bool is_ended, bool is_last_known = true) {
    store::RunRow run = store::run_row(fmt::format("night{:02}{}", ++count_, pairs));
    run.created_at = 1.7e9 + 86'400 * count_;
    run.trigger = "schedule";
    std::vector<store::TaskRow> tasks;
    for (const char pair : pairs) {
      store::TaskRow& task = tasks.emplace_back(store::pair_tasks(1).front());
      task.task_id = pair;
      if (pair == 'a') continue;
      task.ranks[0] = {.node_id = "id-3", .node = "n3", .endpoint = "rxe0:1"};
      task.ranks[1] = {.node_id = "id-4", .node = "n4", .endpoint = "rxe0:1"};
    }
    EXPECT_TRUE(store_->create_run(run, tasks));
    for (const store::TaskRow& task : tasks) {
      EXPECT_TRUE(store_->update_task({.run_id = run.run_id,
                                       .task_id = task.task_id,
                                       .state = store::TaskState::kRunning,
                                       .attempts = 1}));
      store::At at{.run_id = run.run_id, .task_id = task.task_id};
      Record point = store::point_record(at, 1, median * (1 + noise_(random_)));
      point.set_unix_time_seconds(run.created_at);
      EXPECT_TRUE(store::append(
          *store_, task.ranks[0].node_id,
          {store::started_record(at), std::move(point), store::final_record(at, 2, "passed")}));
      at.rank = 1;
      std::vector<Record> others{store::started_record(at)};
      if (is_last_known || &task != &tasks.back())
        others.push_back(store::final_record(at, 1, "passed"));
      EXPECT_TRUE(store::append(*store_, task.ranks[1].node_id, std::move(others)));
    }
    const store::RunUpdate end{.run_id = run.run_id,
                               .state = store::RunState::kEnded,
                               .outcome = "passed",
                               .ended_at = run.created_at + 1};
    EXPECT_TRUE(!is_ended || store_->update_run(end));
    EXPECT_TRUE(store_->flush());
  }

 private:
  std::unique_ptr<store::Store> store_;
  std::mt19937 random_{7};
  std::normal_distribution<double> noise_{0, 0.003};
  int count_ = 0;
};

// The last controller stopped, or was killed, between the end of a night and its judgement.
TEST_F(LateJudgementTest, ANightThatNobodyJudgedIsJudgedByTheNextController) {
  bench_.stop();
  constexpr int kNights = 26;
  {
    Nights nights(bench_.path("nights.db"));
    for (int i = 1; i <= kNights; ++i) nights.add("ab", i <= 20 ? 1500 : 1650, true);
  }
  bench_.config_.database = bench_.path("nights.db");
  bench_.start();
  bench_.server_->judge_unjudged(1.7e9 + 86'400 * (kNights + 1));
  const auto judge =
      api::Judge::NewStub(grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  api::FindingList found;
  for (int i = 0; i < 2'000 && found.findings_size() < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    grpc::ClientContext context;
    ASSERT_TRUE(judge->ListFindings(&context, {}, &found).ok());
  }
  EXPECT_EQ(found.findings_size(), 2);
}

// Runs of the judge's queue are judged in their order, so the first one would be found first.
TEST_F(LateJudgementTest, ARunThatARestartEndedIsJudgedIfNoRecordOfItIsToCome) {
  bench_.stop();
  {
    Nights nights(bench_.path("nights.db"));
    for (int i = 0; i < 20; ++i) nights.add("ab", 1500, true);
    for (int i = 0; i < 5; ++i) nights.add("ab", 1650, true);
    nights.add("ab", 1650, false, false);
    nights.add("b", 1650, false);
  }
  bench_.config_.database = bench_.path("nights.db");
  bench_.start();
  bench_.server_->judge_left_open();
  const auto judge =
      api::Judge::NewStub(grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  api::FindingList found;
  const auto wait_for = [&](int count) {
    for (int i = 0; i < 2'000 && found.findings_size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      grpc::ClientContext context;
      ASSERT_TRUE(judge->ListFindings(&context, {}, &found).ok());
    }
    ASSERT_THAT(found.findings(), SizeIs(count));
  };
  wait_for(1);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(found.findings(0).run_id(), "night27b");
  EXPECT_THAT(found.findings(0).suspect(), HasSubstr("n3"));
  // The record that was to come has the other run judged.
  auto options = bench_.agent("n4");
  options.node_id = "id-4";
  ScriptedAgent n4(options);
  ASSERT_TRUE(welcome(n4));
  n4.deliver(
      store::final_record({.run_id = "night26ab", .task_id = "b", .rank = 1}, 1, "cancelled"));
  wait_for(2);
  std::set<std::string> runs;
  for (const api::Finding& finding : found.findings()) runs.insert(finding.run_id());
  EXPECT_THAT(runs, ElementsAre("night26ab", "night27b"));
}

}  // namespace
}  // namespace railgauge
