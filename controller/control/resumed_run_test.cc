// Going on with a stopped run, and hung pairs against other partners: through the whole controller
// with scripted agents over real gRPC (synthetic).
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/control/resumed_run.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override { bench_.start(); }

  void attach(const std::string& name, Script script = Script::kPass,
              const std::string& incarnation = "first") {
    testing_agent::AgentOptions options = bench_.agent(name, script);
    options.incarnation = incarnation;
    options.first_spool_id = next_spool_id_ += 1'000;  // no spool's numbers come twice
    agents_[name] = std::make_unique<ScriptedAgent>(options);
    ASSERT_TRUE(welcome(*agents_[name]));
  }
  static api::RunRequest pairs() {
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    return request;
  }
  static api::RunRequest rest_of(const std::string& run_id) {
    api::RunRequest request;
    request.set_resume_run_id(run_id);
    return request;
  }
  grpc::Status start(const api::RunRequest& request, api::RunSummary& run) {
    grpc::ClientContext context;
    return bench_.stub_->StartRun(&context, request, &run);
  }
  std::string run_id(const api::RunRequest& request) {
    api::RunSummary run;
    const grpc::Status status = start(request, run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return run.run_id();
  }
  void cancel(const std::string& run_id) {
    api::RunRef ref;
    ref.set_run_id(run_id);
    grpc::ClientContext context;
    api::RunSummary run;
    EXPECT_TRUE(bench_.stub_->CancelRun(&context, ref, &run).ok());
  }
  // Cancelled, and ended.
  api::RunDetail stop(const std::string& run_id) {
    cancel(run_id);
    return bench_.end_of(run_id);
  }
  // The end of the resumed run when agent `name`, which hung, is back and passes.
  api::RunDetail rest_once_back(const std::string& name, const std::string& run_id_of_stopped) {
    agents_.erase(name);
    attach(name, Script::kPass, "second");
    return bench_.end_of(run_id(rest_of(run_id_of_stopped)));
  }
  // Waits until that node received Go.
  bool has_begun(const std::string& name) {
    return agents_[name]->wait_until(
        [](const ScriptedAgent& agent) { return agent.count(api::ControllerMessage::kGo) > 0; });
  }

  std::uint64_t next_spool_id_ = 0;
  ServerBench bench_;
  std::map<std::string, std::unique_ptr<ScriptedAgent>> agents_;
};

std::set<std::string> tasks_that(const api::RunDetail& run, const std::string& outcome) {
  std::set<std::string> ids;
  for (const api::TaskDetail& task : run.tasks())
    if (outcome.empty() || task.outcome() == outcome) ids.insert(task.task_id());
  return ids;
}

// The tasks that were not passed: those that had begun have their ids and ends, and those of rounds
// that did not begin are new.
void expect_rest(const api::RunDetail& rest, const api::RunDetail& stopped) {
  std::map<std::string, std::string> begun;
  for (const api::TaskDetail& task : stopped.tasks())
    begun[task.task_id()] = task.endpoints(0) + " " + task.endpoints(1);
  const std::set<std::string> passed = tasks_that(stopped, "passed");
  std::size_t again = 0;
  for (const api::TaskDetail& task : rest.tasks()) {
    EXPECT_FALSE(passed.contains(task.task_id())) << task.task_id();
    const auto was = begun.find(task.task_id());
    if (was == begun.end()) continue;
    ++again;
    EXPECT_EQ(task.endpoints(0) + " " + task.endpoints(1), was->second) << task.task_id();
  }
  EXPECT_EQ(again, begun.size() - passed.size());
  EXPECT_EQ(rest.tasks_size() + passed.size(), stopped.run().tasks_total());
  EXPECT_EQ(rest.run().tasks_total(), static_cast<std::uint32_t>(rest.tasks_size()));
  EXPECT_GT(rest.tasks_size(), 0);
}

TEST_F(ResumeTest, TheRestOfACancelledRunHasTheTasksThatItLeftWithTheirIds) {
  attach("a");
  attach("b");
  attach("c", Script::kHang);
  const std::string first = run_id(pairs());
  ASSERT_TRUE(has_begun("c"));
  api::RunSummary refused;
  const grpc::Status early = start(rest_of(first), refused);
  EXPECT_EQ(early.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(early.error_message(), HasSubstr("still under way"));
  const api::RunDetail stopped = stop(first);
  EXPECT_EQ(stopped.run().outcome(), "cancelled");
  const api::RunDetail rest = rest_once_back("c", first);
  EXPECT_EQ(rest.run().outcome(), "passed");
  EXPECT_EQ(rest.run().reason(), "the rest of run " + first);
  EXPECT_EQ(rest.run().suite(), "pairs");
  expect_rest(rest, stopped);
}

// Each rest is stopped again, until nothing is left.
TEST_F(ResumeTest, TheRestOfARestHasWhatNeitherRunMeasured) {
  attach("a");
  attach("b");
  attach("c", Script::kHang);
  const std::string first = run_id(pairs());
  ASSERT_TRUE(has_begun("c"));
  stop(first);
  const std::string second = run_id(rest_of(first));
  api::RunSummary refused;
  EXPECT_THAT(start(rest_of(first), refused).error_message(),
              HasSubstr("run " + second + " resumes it now"));
  ASSERT_TRUE(agents_["c"]->wait_until(
      [](const ScriptedAgent& agent) { return agent.count(api::ControllerMessage::kGo) > 1; }));
  const api::RunDetail stopped = stop(second);
  EXPECT_THAT(stopped.run().reason(), StartsWith("the rest of run " + first));
  const api::RunDetail rest = rest_once_back("c", second);
  EXPECT_EQ(rest.run().outcome(), "passed");
  EXPECT_EQ(rest.run().reason(), "the rest of run " + second);
  expect_rest(rest, stopped);
  api::RunSummary run;
  EXPECT_THAT(start(rest_of(rest.run().run_id()), run).error_message(),
              HasSubstr("nothing is left of it"));
}

// The slice is in the suite's text, which is stored with the run.
TEST_F(ResumeTest, TheRestOfASliceIsWhatThatSliceLeft) {
  for (const char* name : {"a", "b", "c", "d"})
    attach(name, *name == 'd' ? Script::kHang : Script::kPass);
  api::RunRequest slice = pairs();
  slice.mutable_suite()->set_name("pairs:2/3");
  const std::string first = run_id(slice);
  ASSERT_TRUE(has_begun("d"));
  const api::RunDetail stopped = stop(first);
  EXPECT_EQ(tasks_that(stopped, "").size(), 2u) << "one of three rounds";
  const api::RunDetail rest = rest_once_back("d", first);
  EXPECT_EQ(rest.run().outcome(), "passed") << rest.run().reason();
  expect_rest(rest, stopped);
}

// As an earlier Railgauge stored it: the night's number was its day.
TEST_F(ResumeTest, TheRestOfANightThatWasStoredWithItsDayIsOfThatSlice) {
  for (const char* name : {"a", "b", "c", "d"})
    attach(name, *name == 'd' ? Script::kHang : Script::kPass);
  api::RunRequest night;
  night.mutable_suite()->set_text(
      "version: 1\nmetadata: {name: sliced}\nstages:\n  - kernel: fake.lat\n    placement: {pairs: "
      "all, slice: 3}\nnight: {day: 20781, nodes: \"a,b,c,d\"}\n");
  const std::string first = run_id(night);
  ASSERT_TRUE(has_begun("d"));
  const api::RunDetail stopped = stop(first);
  EXPECT_EQ(tasks_that(stopped, "").size(), 2u) << "one of three rounds";
  expect_rest(rest_once_back("d", first), stopped);
}

// Also after the controller began anew, which then knows the missing node from the store alone.
TEST_F(ResumeTest, WhatAMissingNodeShouldHaveMeasuredIsWaivedWithTheReasonAndTheRestIsRun) {
  for (const bool anew : {false, true}) {
    for (const char* name : {"a", "b", "c", "d"}) attach(name, Script::kHang);
    const std::string first = run_id(pairs());
    ASSERT_TRUE(has_begun("d"));
    EXPECT_EQ(tasks_that(stop(first), "passed").size(), 0u);
    agents_.clear();
    bench_.stop();
    bench_.start();
    if (!anew) {
      attach("d");
      agents_.clear();
    }
    for (const char* name : {"a", "b", "c"}) attach(name);
    const api::RunDetail rest = bench_.end_of(run_id(rest_of(first)));
    EXPECT_EQ(rest.run().outcome(), "passed") << rest.run().reason();
    ASSERT_EQ(rest.tasks_size(), 6);
    for (const api::TaskDetail& task : rest.tasks()) {
      const bool has_d = std::string(task.endpoints(0)).starts_with("d/") ||
                         std::string(task.endpoints(1)).starts_with("d/");
      EXPECT_EQ(task.outcome(), has_d ? "waived" : "passed") << task.task_id();
      EXPECT_EQ(task.reason(), has_d ? "node d is not attached" : "") << task.task_id();
    }
    api::RunSummary run;
    EXPECT_THAT(start(rest_of(rest.run().run_id()), run).error_message(),
                HasSubstr("each of the 3 tasks that are left of it wants a node that cannot be "
                          "used now: node d is not attached"));
    attach("d");  // what was waived is measured once it is back
    const api::RunDetail last = bench_.end_of(run_id(rest_of(rest.run().run_id())));
    EXPECT_EQ(last.run().outcome(), "passed");
    EXPECT_EQ(tasks_that(last, "passed").size(), 3u);
    agents_.clear();
  }
}

TEST_F(ResumeTest, WhatABusyNodeShouldHaveMeasuredIsWaivedAndTheRestIsRun) {
  for (const char* name : {"a", "b", "c"}) attach(name, Script::kHang);
  const std::string first = run_id(pairs());
  ASSERT_TRUE(has_begun("c"));
  stop(first);
  agents_.clear();
  for (const char* name : {"a", "b", "c"}) attach(name, Script::kPass, "second");
  ASSERT_TRUE(bench_.tells_busy(*agents_["c"], "c", "job 4711 here"));
  const api::RunDetail rest = bench_.end_of(run_id(rest_of(first)));
  EXPECT_EQ(rest.run().outcome(), "passed") << rest.run().reason();
  ASSERT_EQ(rest.tasks_size(), 3);
  for (const api::TaskDetail& task : rest.tasks()) {
    const bool has_c = std::string(task.endpoints(0)).starts_with("c/") ||
                       std::string(task.endpoints(1)).starts_with("c/");
    EXPECT_EQ(task.outcome(), has_c ? "waived" : "passed") << task.task_id();
    EXPECT_EQ(task.reason(), has_c ? "node c is busy: slurm: job 4711 here" : "");
  }
}

TEST_F(ResumeTest, OfARunThatMeasuredAllNothingIsLeftAndOfOtherNodesNoPlanFits) {
  attach("a");
  attach("b");
  const std::string whole = run_id(pairs());
  bench_.end_of(whole);
  api::RunSummary run;
  const grpc::Status nothing = start(rest_of(whole), run);
  EXPECT_EQ(nothing.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(nothing.error_message(), HasSubstr("nothing is left of it: all of its 1 tasks"));
  api::RunRequest both = rest_of(whole);
  both.set_node_set("a");
  EXPECT_THAT(start(both, run).error_message(), HasSubstr("give none"));
  EXPECT_THAT(start(rest_of("nowhere"), run).error_message(), HasSubstr("nowhere"));
}

// The agent fails with every partner: each end is measured once more, against others.
TEST_F(ResumeTest, AFailedPairsEndsAreMeasuredAgainstOtherPartnersAfterTheLastRound) {
  for (const char* name : {"a", "b", "c"}) attach(name);
  attach("d", Script::kFail);
  const api::RunDetail run = bench_.end_of(run_id(pairs()));
  EXPECT_EQ(run.run().outcome(), "failed");
  std::set<std::string> added;
  for (const api::TaskDetail& task : run.tasks())
    if (task.task_id().find('e') != std::string::npos) {
      added.insert(task.task_id());
      const bool has_d = std::string(task.endpoints(0)).starts_with("d/") ||
                         std::string(task.endpoints(1)).starts_with("d/");
      EXPECT_EQ(task.outcome(), has_d ? "failed" : "passed") << task.task_id();
    }
  EXPECT_EQ(added.size(), 4u) << "each of the four ends once";
  EXPECT_EQ(run.run().tasks_total(), 10u);
}

}  // namespace
}  // namespace railgauge
