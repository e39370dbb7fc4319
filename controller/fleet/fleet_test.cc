// Attaching, over real gRPC: versions, names, silence, records. The whole controller is behind
// it.
#include "controller/fleet/fleet.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/store.h"
#include "controller/testing/server_bench.h"

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

bool refused(ScriptedAgent& agent) {
  return agent.wait_until([](const ScriptedAgent& a) { return a.ended(); }) && !agent.welcomed();
}

TEST(Fleet, AnAgentAMinorVersionApartIsWelcomeAndAFurtherOneRefusedNamingBoth) {
  ServerBench bench;
  bench.start();
  auto options = bench.agent("n1");
  options.contract.minor = api::kContract.minor + 1;
  ScriptedAgent near(options);
  EXPECT_TRUE(welcome(near));
  options = bench.agent("n2");
  options.contract.major = api::kContract.major + 1;
  ScriptedAgent far(options);
  ASSERT_TRUE(refused(far));
  EXPECT_TRUE(far.refused().permanent());
  EXPECT_THAT(far.refused().reason(),
              HasSubstr("the agent speaks contract 2.4, the controller 1.4"));
}

TEST(Fleet, TheSameAgentReplacesItsOldStreamWhichIsToldSo) {
  ServerBench bench;
  bench.start();
  ScriptedAgent old(bench.agent("n1"));
  ASSERT_TRUE(welcome(old));
  ScriptedAgent again(bench.agent("n1"));
  ASSERT_TRUE(welcome(again));
  ASSERT_TRUE(old.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_THAT(old.refused().reason(), HasSubstr("attached with another stream"));
  EXPECT_FALSE(again.ended());
}

TEST(Fleet, AnotherAgentUnderATakenNameIsRefusedForGoodAndTheFirstStays) {
  ServerBench bench;
  bench.start();
  ScriptedAgent first(bench.agent("n1"));
  ASSERT_TRUE(welcome(first));
  auto options = bench.agent("n1");
  options.node_id = "another";
  ScriptedAgent second(options);
  ASSERT_TRUE(refused(second));
  EXPECT_TRUE(second.refused().permanent());
  EXPECT_EQ(second.status().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(second.refused().reason(), HasSubstr("n1 is held by node id id-n1, so id another"));
  EXPECT_FALSE(first.ended());
}

TEST(Fleet, ANameIsHeldForItsNodeThroughARestart) {
  ServerBench bench;
  bench.start();
  {
    ScriptedAgent first(bench.agent("n1"));
    ASSERT_TRUE(welcome(first));
  }
  bench.stop();
  bench.start();
  auto options = bench.agent("n1");
  options.node_id = "another";
  ScriptedAgent second(options);
  ASSERT_TRUE(refused(second));
  EXPECT_THAT(second.refused().reason(), HasSubstr("n1 is held by node id id-n1, so id another"));
  ScriptedAgent again(bench.agent("n1"));
  EXPECT_TRUE(welcome(again));
}

TEST(Fleet, ANameThatIsNoneOrAFirstMessageThatIsNoHelloEndsTheStream) {
  ServerBench bench;
  bench.start();
  ScriptedAgent odd(bench.agent("n1/rxe0:1"));
  ASSERT_TRUE(refused(odd));
  EXPECT_THAT(odd.refused().reason(), HasSubstr("a node's name"));
  auto stub = api::AgentLink::NewStub(
      grpc::CreateChannel(bench.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);
  api::AgentMessage message;
  message.mutable_heartbeat();
  stream->Write(message);
  api::ControllerMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(Fleet, ASilentAgentIsClosedAndThenLost) {
  ServerBench bench;
  bench.fleet_options_.roster.silence_seconds = 0.3;
  bench.start();
  ScriptedAgent agent(bench.agent("n1", Script::kKeepSilent));
  ASSERT_TRUE(welcome(agent));
  ASSERT_TRUE(agent.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_THAT(agent.status().error_message(), HasSubstr("silent"));
}

TEST(Fleet, RecordsAreAcknowledgedOnceTheyAreCommittedAndRepeatsAreStoredOnce) {
  ServerBench bench;
  bench.start();
  std::string run_id;
  Record point;
  {
    ScriptedAgent n1(bench.agent("n1"));
    ScriptedAgent n2(bench.agent("n2"));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    api::RunSummary run;
    ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
    run_id = run.run_id();
    // Started, point and final of rank 0.
    ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.acknowledged() == 3; }));
  }
  auto options = bench.agent("n1");
  options.incarnation = "second";
  ScriptedAgent again(options);
  ASSERT_TRUE(welcome(again));
  point.mutable_key()->set_run_id(run_id);
  point.mutable_key()->set_task_id("t0001");
  point.mutable_key()->set_attempt(1);
  point.mutable_key()->set_sequence(1);
  point.mutable_point()->set_metric("latency_ns");
  again.deliver(point);
  ASSERT_TRUE(again.wait_until([](const ScriptedAgent& a) { return a.acknowledged() == 1; }));
  grpc::ClientContext context;
  api::ResultsRequest request;
  request.set_run_id(run_id);
  api::ResultList results;
  ASSERT_TRUE(bench.stub_->QueryResults(&context, request, &results).ok());
  ASSERT_EQ(results.points_size(), 1);
  EXPECT_EQ(results.points(0).point().median(), 1'500);  // the first delivery's
}

// The mark in the Welcome: the stored part of this agent's spool; absent without a mark.
std::optional<std::uint64_t> stored_through(ScriptedAgent& agent) {
  EXPECT_TRUE(welcome(agent));
  for (const api::ControllerMessage& message : agent.received())
    if (message.has_welcome() && message.welcome().has_stored_through_spool_id())
      return message.welcome().stored_through_spool_id();
  return std::nullopt;
}

// A run of both agents, whose spools begin there; until n1's three records are acknowledged.
void run_pairs(ServerBench& bench, std::uint64_t first_spool_id) {
  auto options = bench.agent("n1");
  options.first_spool_id = first_spool_id;
  options.incarnation = fmt::format("from-{}", first_spool_id);
  ScriptedAgent n1(options);
  options = bench.agent("n2");
  options.first_spool_id = first_spool_id;
  options.incarnation = fmt::format("from-{}", first_spool_id);
  ScriptedAgent n2(options);
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
  ASSERT_TRUE(n1.wait_until(
      [&](const ScriptedAgent& a) { return a.acknowledged() == first_spool_id + 2; }));
}

TEST(Fleet, AControllerRestoredFromABackupSaysWhatItLacks) {
  ServerBench bench;
  bench.start();
  run_pairs(bench, 1);
  bench.stop();
  std::filesystem::copy_file(bench.config_.database, bench.path("backup.db"));
  bench.start();
  run_pairs(bench, 4);
  {
    auto options = bench.agent("n1");
    options.incarnation = "after";
    ScriptedAgent n1(options);
    EXPECT_EQ(stored_through(n1), 6U);
  }
  bench.stop();
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(bench.config_.database + suffix);
  std::filesystem::copy_file(bench.path("backup.db"), bench.config_.database);
  bench.start();
  ScriptedAgent n1(bench.agent("n1"));
  EXPECT_EQ(stored_through(n1), 3U) << "records 4 to 6 are gone and asked for";
  ScriptedAgent n3(bench.agent("n3"));
  EXPECT_EQ(stored_through(n3), 0U)
      << "of a node that the backup does not know it has nothing, and asks for all";
}

// A port that fails a thousand times a minute fills no store, and hides no other node's events.
TEST(Fleet, OfANodeSixtyEventsAMinuteAreStoredAndOfAnotherOneItsOwn) {
  constexpr int kTold = 100;
  constexpr std::size_t kStored = 60;
  ServerBench bench;
  bench.start();
  for (const char* name : {"n1", "n2"}) {
    ScriptedAgent agent(bench.agent(name));
    ASSERT_TRUE(welcome(agent));
    api::AgentMessage message;
    for (int i = 0; i < kTold; ++i) {
      api::NodeEvent& event = *message.mutable_heartbeat()->add_events();
      event.set_kind(i == 0 ? "made up by somebody" : "counter");
      event.set_severity(i == 1 ? "fail" : "warning");
      event.set_text(fmt::format("{} link_downed {}", name, i));
    }
    agent.send(message);
    Record record;  // its answer comes behind what the heartbeat did
    record.mutable_key()->set_run_id("nowhere");
    record.mutable_point()->set_median(1);
    agent.deliver(record);
    ASSERT_TRUE(agent.wait_until([](const ScriptedAgent& a) { return a.acknowledged() == 1; }));
  }
  bench.stop();
  auto store = store::Store::open({.path = bench.config_.database});
  ASSERT_TRUE(store) << store.error().message;
  const auto events = (*store)->list_events(1'000);
  ASSERT_TRUE(events);
  for (const char* name : {"n1", "n2"}) {
    std::size_t counted = 0;
    for (const store::EventRow& event : *events)
      if (event.kind.starts_with("watch_") && event.node_id == fmt::format("id-{}", name))
        ++counted;
    EXPECT_EQ(counted, kStored) << name;
  }
  EXPECT_TRUE(std::ranges::any_of(*events, [](const store::EventRow& event) {
    return event.kind == "watch_other";
  })) << "an agent's words are not trusted to be few";
  EXPECT_TRUE(std::ranges::any_of(*events, [](const store::EventRow& event) {
    return event.text == "critical: n1 link_downed 1";
  })) << "an earlier agent's severity is stored as the word in use";
}

// --- who is who ----------------------------------------------------------------------------------

std::vector<store::EventRow> events_of(ServerBench& bench) {
  bench.stop();
  auto store = store::Store::open({.path = bench.config_.database});
  EXPECT_TRUE(store) << store.error().message;
  return (*store)->list_events(10'000).value();
}

std::size_t count_of(const std::vector<store::EventRow>& events, std::string_view kind) {
  return static_cast<std::size_t>(std::ranges::count(events, kind, &store::EventRow::kind));
}

TEST(Fleet, ACopiedStateFolderIsRefusedWithTheCureAndItsOwnerStays) {
  ServerBench bench;
  bench.start();
  ScriptedAgent owner(bench.agent("n1"));
  ASSERT_TRUE(welcome(owner));
  auto options = bench.agent("n2");
  options.node_id = "id-n1";
  ScriptedAgent clone(options);
  ASSERT_TRUE(refused(clone));
  EXPECT_EQ(clone.status().error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(clone.refused().permanent());
  EXPECT_THAT(clone.refused().reason(), HasSubstr("its state folder was copied"));
  EXPECT_THAT(clone.refused().reason(), HasSubstr("railgauge nodes rename n1 n2"));
  EXPECT_FALSE(owner.ended());
  grpc::ClientContext context;
  api::NodeList nodes;
  ASSERT_TRUE(bench.stub_->ListNodes(&context, {}, &nodes).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).name(), "n1");
}

TEST(Fleet, TwoMachinesWithOneFolderAndNameDoNotTakeTurns) {
  ServerBench bench;
  bench.start();
  auto original = bench.agent("n1");
  auto clone = bench.agent("n1");
  clone.incarnation = "clone";
  ScriptedAgent first(original);
  ASSERT_TRUE(welcome(first));
  ScriptedAgent second(clone);
  ASSERT_TRUE(welcome(second));
  ScriptedAgent back(original);
  ASSERT_TRUE(refused(back));
  EXPECT_THAT(back.refused().reason(), HasSubstr("two agents take turns as node n1"));
  EXPECT_FALSE(second.ended());
}

TEST(Fleet, ARenamedHostKeepsItsHistoryAfterNodesRename) {
  ServerBench bench;
  bench.start();
  std::string run_id;
  const auto rename = [&](const std::string& from, const std::string& to) {
    grpc::ClientContext context;
    api::RenameNodeRequest request;
    request.set_name(from);
    request.set_new_name(to);
    api::NodeList answer;
    return bench.stub_->RenameNode(&context, request, &answer);
  };
  {
    ScriptedAgent n1(bench.agent("n1"));
    ScriptedAgent n2(bench.agent("n2"));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    api::RunSummary run;
    ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
    run_id = run.run_id();
    EXPECT_EQ(rename("n1", "m1").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    bench.end_of(run_id);
    EXPECT_EQ(rename("n1", "m1").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(rename("n1", "m1").error_message(), HasSubstr("it is attached under this name"));
  }
  auto renamed = bench.agent("m1");
  renamed.node_id = "id-n1";
  {
    ScriptedAgent too_early(renamed);
    ASSERT_TRUE(refused(too_early));
  }
  EXPECT_EQ(rename("n1", "n2").error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(rename("n1", "m 1").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(rename("n9", "m9").error_code(), grpc::StatusCode::NOT_FOUND);
  const grpc::Status done = rename("n1", "m1");
  ASSERT_TRUE(done.ok()) << done.error_message();
  {
    ScriptedAgent agent(renamed);
    ASSERT_TRUE(welcome(agent));
    auto old = bench.agent("n1");
    ScriptedAgent old_name(old);
    EXPECT_TRUE(refused(old_name)) << "its id is m1's now";
    grpc::ClientContext context;
    api::NodeList nodes;
    ASSERT_TRUE(bench.stub_->ListNodes(&context, {}, &nodes).ok());
    ASSERT_EQ(nodes.nodes_size(), 2);
    EXPECT_EQ(nodes.nodes(0).name(), "m1");
    EXPECT_EQ(nodes.nodes(0).node_id(), "id-n1");
  }
  bench.stop();
  bench.start();  // from the database
  ScriptedAgent agent(renamed);
  ASSERT_TRUE(welcome(agent));
  grpc::ClientContext context;
  api::ResultsRequest request;
  request.set_run_id(run_id);
  request.set_node_set("m1");
  api::ResultList results;
  ASSERT_TRUE(bench.stub_->QueryResults(&context, request, &results).ok());
  EXPECT_EQ(results.points_size(), 1) << "its past follows the id";
  EXPECT_EQ(count_of(events_of(bench), "node_renamed"), 1U);
}

// --- what a peer may fill ------------------------------------------------------------------------

TEST(Fleet, AHelloBeyondItsBoundsLeavesNothingInTheDatabase) {
  ServerBench bench;
  bench.start();
  const std::vector<std::function<void(api::Hello&)>> changes{
      [](api::Hello& hello) { hello.set_name(std::string(7'000'000, 'x')); },
      [](api::Hello& hello) { hello.set_version("1\x1b[2J\n" + std::string(5'000, 'v')); },
      [](api::Hello& hello) {
        for (int i = 0; i < 60'000; ++i) hello.add_nics();
      },
      [](api::Hello& hello) {
        for (int i = 0; i < 100'000; ++i) hello.add_kernels();
      },
      [](api::Hello& hello) { hello.set_name("n1\n2026-01-01 forged \x1b[31m"); },
      [](api::Hello& hello) { hello.set_version("1\x1b[2J"); },
      [](api::Hello& hello) { (*hello.mutable_facts())["a"] = std::string("x\0y", 3); },
      [](api::Hello& hello) { *hello.add_nics() = hello.nics(0); }};
  for (int round = 0; round < 8; ++round)
    for (const auto& change : changes) {
      auto options = bench.agent("n1");
      options.change_hello = change;
      ScriptedAgent large(options);
      ASSERT_TRUE(refused(large));
      ASSERT_LT(large.refused().reason().size(), 500U);
    }
  ScriptedAgent sound(bench.agent("n1"));
  EXPECT_TRUE(welcome(sound)) << "a refusal bars nobody";
  const std::vector<store::EventRow> events = events_of(bench);
  EXPECT_EQ(count_of(events, "node_refused"), 6U) << "a minute";
  for (const store::EventRow& event : events) {
    EXPECT_LE(event.text.size(), 1'000U);
    for (const char c : event.text) EXPECT_GE(static_cast<unsigned char>(c), 0x20U);
  }
  EXPECT_LT(std::filesystem::file_size(bench.config_.database), 1'000'000U);
  auto database =
      store::Connection::open(bench.config_.database, store::Connection::Mode::kReadOnly, 5);
  ASSERT_TRUE(database);
  const auto asked = [&](const char* what) {
    return database->integer(fmt::format("SELECT {} FROM audit WHERE rpc='AgentLink.Attach'", what))
        ->value_or(-1);
  };
  EXPECT_EQ(asked("count(*)"), 7) << "six, and a count of the others";
  EXPECT_EQ(asked("sum(count)"), 8 * static_cast<std::int64_t>(changes.size()));
  EXPECT_EQ(asked("min(refused)"), 1);
  EXPECT_EQ(asked("max(length(reason)) + max(length(subject)) < 600"), 1);
  EXPECT_EQ(asked("sum(subject='n1' AND outcome='invalid_argument') > 0"), 1);
}

TEST(Fleet, ANodeThatAttachesAgainAndAgainStoresNoMoreFactsThanAMinuteAllows) {
  ServerBench bench;
  bench.start();
  ScriptedAgent other(bench.agent("n2"));
  ASSERT_TRUE(welcome(other));
  int welcomed = 0;
  constexpr int kAttempts = 70;
  for (int i = 0; i < kAttempts; ++i) {
    auto options = bench.agent("n1");
    options.change_hello = [&](api::Hello& hello) {
      (*hello.mutable_facts())["random"] = fmt::format("{}", i);
    };
    ScriptedAgent again(options);
    if (welcome(again)) {
      ++welcomed;
      continue;
    }
    EXPECT_FALSE(again.refused().permanent()) << "it is over with the minute";
    EXPECT_EQ(again.status().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(again.refused().reason(), HasSubstr("node n1 has attached 60 times"));
  }
  EXPECT_LE(welcomed, 61);
  EXPECT_FALSE(other.ended());
  ScriptedAgent again(bench.agent("n2"));
  EXPECT_TRUE(welcome(again)) << "the others have their own";
}

TEST(Fleet, AStreamWithoutHelloEnds) {
  ServerBench bench;
  bench.fleet_options_.hello_seconds = 0.3;
  bench.start();
  auto stub = api::AgentLink::NewStub(
      grpc::CreateChannel(bench.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);
  api::ControllerMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

// --- what an agent reports -----------------------------------------------------------------------

// The points of the run as a reader sees them.
std::string points_of(ServerBench& bench, const std::string& run_id) {
  grpc::ClientContext context;
  api::ResultsRequest request;
  request.set_run_id(run_id);
  api::ResultList results;
  EXPECT_TRUE(bench.stub_->QueryResults(&context, request, &results).ok());
  return results.SerializeAsString();
}

TEST(Fleet, ForgedRecordsChangeNoResultOfAnEndedRun) {
  ServerBench bench;
  bench.start();
  ScriptedAgent n1(bench.agent("n1"));
  ScriptedAgent n2(bench.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
  const api::RunDetail ended = bench.end_of(run.run_id());
  EXPECT_EQ(ended.run().outcome(), "passed");
  const std::string before = points_of(bench, run.run_id());
  std::uint64_t delivered = n1.acknowledged();
  const auto forge = [&](std::uint32_t attempt, std::uint32_t rank, std::uint32_t sequence,
                         const std::string& metric) {
    Record record;
    record.mutable_key()->set_run_id(run.run_id());
    record.mutable_key()->set_task_id("t0001");
    record.mutable_key()->set_attempt(attempt);
    record.mutable_key()->set_rank(rank);
    record.mutable_key()->set_sequence(sequence);
    record.set_unix_time_seconds(unix_seconds());
    record.mutable_point()->set_metric(metric);
    record.mutable_point()->set_median(1);
    n1.deliver(record);
    ++delivered;
  };
  forge(5, 0, 1, "latency_ns");
  forge(1, 0, 1, "latency_ns");
  forge(1, 0, 9, "latency_ns");
  forge(1, 0, 10, "made_up_ns");
  forge(1, 1, 1, "latency_ns");
  ASSERT_TRUE(n1.wait_until([&](const ScriptedAgent& a) { return a.acknowledged() == delivered; }))
      << "all are acknowledged";
  EXPECT_EQ(points_of(bench, run.run_id()), before);
}

// A record of the first task of a run.
Record record_in(const std::string& run_id, std::uint32_t rank, std::uint32_t sequence) {
  Record record;
  RecordKey& key = *record.mutable_key();
  key.set_run_id(run_id);
  key.set_task_id("t0001");
  key.set_attempt(1);
  key.set_rank(rank);
  key.set_sequence(sequence);
  record.set_unix_time_seconds(unix_seconds());
  return record;
}

// Repeats are acknowledged, and the run takes nothing from them: no figure, no end.
TEST(Fleet, ARepeatWithAnotherBodyDecidesNothingAboutTheRunUnderWay) {
  ServerBench bench;
  bench.write("limited.yaml",
              "version: 1\nmetadata: {name: limited}\nstages:\n  - kernel: fake.lat\n    "
              "placement: {pairs: all}\n    limits: [{metric: latency_ns, ceiling: 2us}]\n");
  bench.start();
  auto options = bench.agent("n1", Script::kHang);
  ScriptedAgent n1(options);
  ScriptedAgent n2(bench.agent("n2", Script::kHang));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("limited");
  api::RunSummary run;
  ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
  for (ScriptedAgent* agent : {&n1, &n2})
    ASSERT_TRUE(agent->wait_until([](const ScriptedAgent& a) {
      return a.count(api::ControllerMessage::kGo) == 1 && a.acknowledged() == 1;
    }));
  const auto deliver = [](ScriptedAgent& agent, const std::vector<Record>& records) {
    std::uint64_t last = agent.acknowledged();
    for (const Record& record : records) agent.deliver(record);
    last += records.size();
    ASSERT_TRUE(agent.wait_until([last](const ScriptedAgent& a) {
      return a.acknowledged() == last;
    })) << "a repeat is acknowledged too";
  };
  Record sound = record_in(run.run_id(), 0, 1);
  sound.mutable_point()->set_metric("latency_ns");
  sound.mutable_point()->set_median(1'500);
  Record beyond = sound;
  beyond.mutable_point()->set_median(9'000'000);
  Record passed = record_in(run.run_id(), 0, 2);
  passed.mutable_final()->set_outcome("passed");
  Record failed = passed;
  failed.mutable_final()->set_outcome("failed");
  deliver(n1, {sound, beyond, passed, failed});
  options.first_spool_id = 6;
  // Its next stream lists no runner, so that the first final record is the end of its rank.
  ScriptedAgent back(options);
  ASSERT_TRUE(welcome(back));
  Record end = record_in(run.run_id(), 1, 1);
  end.mutable_final()->set_outcome("passed");
  deliver(n2, {end});
  api::AgentMessage message;
  api::TaskRef& task = *message.mutable_ended()->mutable_task();
  task.set_run_id(run.run_id());
  task.set_task_id("t0001");
  task.set_attempt(1);
  task.set_rank(1);
  message.mutable_ended()->set_outcome("passed");
  n2.send(message);
  const api::RunDetail detail = bench.end_of(run.run_id());
  ASSERT_EQ(detail.tasks_size(), 1);
  EXPECT_EQ(detail.tasks(0).outcome(), "passed") << detail.tasks(0).reason();
}

TEST(Fleet, AnUndeclaredFigureDoesNotMakeATaskPass) {
  ServerBench bench;
  bench.start();
  auto options = bench.agent("n1");
  options.metric = "made_up_ns";
  ScriptedAgent n1(options);
  ScriptedAgent n2(bench.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
  const api::RunDetail ended = bench.end_of(run.run_id());
  EXPECT_EQ(ended.tasks(0).outcome(), "crashed");
  EXPECT_THAT(ended.tasks(0).reason(), HasSubstr("no rank reported a value"));
}

TEST(Fleet, AClockThatIsOffIsToldOnceAndItsTimesAreThoseOfArrival) {
  ServerBench bench;
  bench.start();
  constexpr double kDay = 86'400;
  auto options = bench.agent("n1");
  options.change_hello = [&](api::Hello& hello) {
    hello.set_unix_time_seconds(unix_seconds() + 400 * kDay);
  };
  options.clock_ahead_seconds = 400 * kDay;
  ScriptedAgent n1(options);
  ScriptedAgent n2(bench.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  const auto beat = [](ScriptedAgent& agent, double ahead) {
    api::AgentMessage message;
    message.mutable_heartbeat()->set_unix_time_seconds(unix_seconds() + ahead);
    agent.send(message);
  };
  for (int i = 0; i < 5; ++i) beat(n1, 400 * kDay);
  beat(n2, -20);  // as a message that waited
  beat(n2, 0.5);
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(bench.stub_->StartRun(&context, request, &run).ok());
  EXPECT_EQ(bench.end_of(run.run_id()).run().outcome(), "passed");
  beat(n1, 0);
  Record record;  // its answer comes behind the heartbeat
  record.mutable_key()->set_run_id("nowhere");
  n1.deliver(record);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.acknowledged() == 4; }));
  const double now = unix_seconds();
  const std::vector<store::EventRow> events = events_of(bench);
  EXPECT_EQ(count_of(events, "node_clock_off"), 1U) << "once a change";
  EXPECT_EQ(count_of(events, "node_clock_right"), 1U);
  auto store = store::Store::open({.path = bench.config_.database});
  ASSERT_TRUE(store);
  const auto rows = (*store)->results({.run_id = run.run_id()});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_NEAR(rows->at(0).measured_at, now, 60);
  EXPECT_EQ(rows->at(0).point.facts().at("clock"), store::kClockOff);
}

}  // namespace
}  // namespace railgauge::fleet
