// The whole controller against scripted agents over real gRPC: runs, rendezvous, cancel, loss,
// restart.
#include "controller/server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "controller/store/testing/store_testing.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;
using Kind = api::ControllerMessage::BodyCase;

class ServerTest : public testing::Test {
 protected:
  void SetUp() override { bench_.start(); }

  ScriptedAgent& add(const std::string& name, Script script = Script::kPass) {
    agents_.push_back(std::make_unique<ScriptedAgent>(bench_.agent(name, script)));
    EXPECT_TRUE(welcome(*agents_.back()));
    return *agents_.back();
  }
  static void set_deadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }
  Result<api::RunSummary> start_run(const std::string& suite, const std::string& nodes = "") {
    api::RunRequest request;
    request.mutable_suite()->set_name(suite);
    request.set_node_set(nodes);
    grpc::ClientContext context;
    set_deadline(context);
    api::RunSummary summary;
    const grpc::Status status = bench_.stub_->StartRun(&context, request, &summary);
    if (!status.ok()) return fail(static_cast<Code>(status.error_code()), status.error_message());
    return summary;
  }
  // All events of the run until its end.
  std::vector<api::RunEvent> watch(const std::string& run_id) {
    grpc::ClientContext context;
    set_deadline(context);
    api::RunRef ref;
    ref.set_run_id(run_id);
    auto stream = bench_.stub_->WatchRun(&context, ref);
    std::vector<api::RunEvent> events;
    api::RunEvent event;
    while (stream->Read(&event)) events.push_back(event);
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (events.empty()) events.emplace_back();
    return events;
  }
  api::RunDetail detail(const std::string& run_id) {
    grpc::ClientContext context;
    set_deadline(context);
    api::RunRef ref;
    ref.set_run_id(run_id);
    api::RunDetail detail;
    const grpc::Status status = bench_.stub_->GetRun(&context, ref, &detail);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return detail;
  }
  api::RunSummary cancel(const std::string& run_id) {
    grpc::ClientContext context;
    set_deadline(context);
    api::RunRef ref;
    ref.set_run_id(run_id);
    api::RunSummary summary;
    EXPECT_TRUE(bench_.stub_->CancelRun(&context, ref, &summary).ok());
    return summary;
  }

  // A line for each listed node, without the time at which it was last seen.
  std::vector<std::string> nodes(bool with_facts) {
    grpc::ClientContext context;
    set_deadline(context);
    api::ListNodesRequest request;
    request.set_with_facts(with_facts);
    api::NodeList list;
    const grpc::Status status = bench_.stub_->ListNodes(&context, request, &list);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> lines;
    for (api::NodeInfo& node : *list.mutable_nodes()) {
      EXPECT_TRUE(with_facts || node.stack_versions().empty());
      node.clear_last_seen_at();
      node.clear_facts();
      node.clear_stack_versions();
      node.clear_stack_settings();
      lines.push_back(node.ShortDebugString());
    }
    return lines;
  }

  // The page that a scrape gets now.
  std::string page(const char* path) const {
    httplib::Client client("127.0.0.1", bench_.server_->metrics_port());
    const auto page = client.Get(path);
    return page ? page->body : "";
  }
  std::string metrics() const { return page("/metrics"); }
  // The page of /sd once it begins so; else the last one that came within the deadline.
  std::string targets_from(const std::string& begin) const {
    std::string list;
    for (int i = 0; i < 600 && !list.starts_with(begin); ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      list = page("/sd");
    }
    return list;
  }

  ServerBench bench_;
  std::vector<std::unique_ptr<ScriptedAgent>> agents_;
};

// Prometheus reads whom to scrape from the controller, nodes that are gone included.
TEST_F(ServerTest, ItsListOfTargetsKeepsNodesThatAreGoneOverARestart) {
  testing_agent::AgentOptions options = bench_.agent("n1");
  options.change_hello = [](api::Hello& hello) {
    (*hello.mutable_facts())[api::kMetricsPortFact] = "9471";
  };
  agents_.push_back(std::make_unique<ScriptedAgent>(options));
  ASSERT_TRUE(welcome(*agents_.back()));
  options = bench_.agent("n2");
  options.change_hello = [](api::Hello& hello) {
    (*hello.mutable_facts())[api::kMetricsPortFact] = api::kNoMetrics;
  };
  agents_.push_back(std::make_unique<ScriptedAgent>(options));
  ASSERT_TRUE(welcome(*agents_.back()));
  const std::string wanted = "[\n{\"targets\":[\"n1:9471\"],\"labels\":{";
  EXPECT_THAT(targets_from(wanted), AllOf(StartsWith(wanted), Not(HasSubstr("n2"))));
  agents_.clear();
  bench_.stop();
  bench_.start();
  EXPECT_THAT(targets_from(wanted), AllOf(StartsWith(wanted), Not(HasSubstr("n2"))));
}

TEST_F(ServerTest, TheSiteProfileTravelsWithEachTaskThatTakesIt) {
  bench_.stop();
  bench_.write("site",
               "version: 1\nmetadata: {name: a}\ndefaults: {traffic_class: 106, mtu: 4096}\n");
  bench_.config_.site_profile = bench_.path("site");
  bench_.start();
  for (const char* name : {"n1", "n2"}) add(name);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(watch(run->run_id()).back().run().outcome(), "passed");
  for (auto& agent : agents_) {
    ASSERT_TRUE(
        agent->wait_until([](const ScriptedAgent& a) { return a.count(Kind::kPrepare) == 1; }));
    for (const api::ControllerMessage& message : agent->received())
      if (message.has_prepare()) {
        EXPECT_EQ(message.prepare().parameters().at("traffic_class"), "106");
        EXPECT_THAT(message.prepare().site_defaults(), ElementsAre("traffic_class"));
      }
  }
}

TEST_F(ServerTest, ASiteProfileWithAnUnknownKeyKeepsTheControllerFromStarting) {
  bench_.stop();
  bench_.write("site", "version: 1\nmetadata: {name: a}\ndefaults: {hops: 3}\n");
  bench_.config_.site_profile = bench_.path("site");
  const auto server = Server::start(bench_.config_, bench_.fleet_options_);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kInvalidArgument);
  EXPECT_THAT(server.error().message, HasSubstr("defaults.hops: unknown key"));
  EXPECT_EQ(server.error().message.find('\n'), std::string::npos);
}

TEST_F(ServerTest, ATaskOfThreeRanksIsPreparedRelayedStoredAndPasses) {
  for (const char* name : {"n1", "n2", "n3"}) add(name);
  const auto run = start_run("group");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_FALSE(run->has_outcome() || run->has_reason() || run->has_ended_at());
  const auto events = watch(run->run_id());
  EXPECT_EQ(events.back().run().outcome(), "passed");
  EXPECT_FALSE(events.back().run().has_reason()) << "nothing went wrong";
  EXPECT_EQ(events.back().run().state(), "ended");
  EXPECT_EQ(events.back().run().tasks_ended(), 1U);
  for (auto& agent : agents_) {
    ASSERT_TRUE(
        agent->wait_until([](const ScriptedAgent& a) { return a.count(Kind::kStep) == 2; }));
    for (const api::ControllerMessage& message : agent->received())
      if (message.has_step() && message.step().step().step() == 1) {
        EXPECT_THAT(message.step().step().payloads(),
                    ElementsAre("1 from n1", "1 from n2", "1 from n3"));
      }
  }
  const api::RunDetail stored = detail(run->run_id());
  ASSERT_THAT(stored.tasks(), SizeIs(1));
  EXPECT_EQ(stored.tasks(0).outcome(), "passed");
  EXPECT_FALSE(stored.tasks(0).has_reason() || stored.run().has_reason());
  EXPECT_TRUE(stored.run().has_started_at() && stored.run().has_ended_at());
  EXPECT_THAT(stored.tasks(0).endpoints(), ElementsAre("n1/rxe0:1", "n2/rxe0:1", "n3/rxe0:1"));
  ASSERT_THAT(stored.tasks(0).ranks(), SizeIs(3));
  EXPECT_FALSE(stored.run().requested_by().empty());
  const std::string series = metrics();
  EXPECT_THAT(series,
              HasSubstr("railgauge_tasks_total{kernel=\"fake.group\",outcome=\"passed\"} 1\n"));
  EXPECT_THAT(series, HasSubstr("railgauge_runs_total{outcome=\"passed\",trigger=\"cli\"} 1\n"));
  EXPECT_THAT(series, HasSubstr("railgauge_series_refused_total 0\n"));
  grpc::ClientContext context;
  api::ResultsRequest request;
  api::ResultList results;
  ASSERT_TRUE(bench_.stub_->QueryResults(&context, request, &results).ok());
  ASSERT_THAT(results.points(), SizeIs(1));
  EXPECT_EQ(results.points(0).point().median(), 1'500);
  EXPECT_EQ(results.points(0).facts().at("path"), "synthetic");
}

TEST_F(ServerTest, AllPairsOfThreeNodesRunInRoundsAndTheRunsFollowEachOther) {
  for (const char* name : {"n1", "n2", "n3"}) add(name);
  const auto first = start_run("pairs");
  const auto second = start_run("pairs", "n1,n3");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(watch(second->run_id()).back().run().tasks_total(), 1U);
  const auto events = watch(first->run_id());  // ended before: the final state alone
  EXPECT_THAT(events, SizeIs(1));
  EXPECT_EQ(events.back().run().outcomes().at("passed"), 3U);
}

TEST_F(ServerTest, OnlyTheFirstEventAndTheLastOneNameTheNodesOfARun) {
  ScriptedAgent& n1 = add("n1", Script::kHang);
  add("n2", Script::kHang);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  grpc::ClientContext context;
  set_deadline(context);
  api::RunRef ref;
  ref.set_run_id(run->run_id());
  const auto stream = bench_.stub_->WatchRun(&context, ref);
  std::vector<api::RunEvent> events(1);
  ASSERT_TRUE(stream->Read(&events.front()));
  cancel(run->run_id());
  for (api::RunEvent event; stream->Read(&event);) events.push_back(event);
  ASSERT_GT(events.size(), 2U);
  EXPECT_THAT(events.front().run().nodes(), ElementsAre("n1", "n2"));
  EXPECT_THAT(events.back().run().nodes(), ElementsAre("n1", "n2"));
  EXPECT_EQ(events.back().run().outcome(), "cancelled");
  for (std::size_t i = 1; i + 1 < events.size(); ++i)
    EXPECT_THAT(events[i].run().nodes(), IsEmpty()) << events[i].text();
}

// Without facts the store is asked for heads and stacks alone, unless only it knows a node.
TEST_F(ServerTest, NodesAreListedAlikeWithAndWithoutTheirFacts) {
  const auto attach = [&](const std::string& name) {
    auto options = bench_.agent(name);
    options.change_hello = [](api::Hello& hello) {
      (*hello.mutable_stack_versions())["linux_kernel"] = "6.8.0";
    };
    agents_.push_back(std::make_unique<ScriptedAgent>(options));
    ASSERT_TRUE(welcome(*agents_.back()));
  };
  const auto has_stacks = [this] {
    const std::vector<std::string> lines = nodes(true);
    return std::ranges::all_of(
        lines, [](const std::string& line) { return line.find("stack_hash") != line.npos; });
  };
  attach("n1");
  attach("n2");
  for (int i = 0; i < 250 && !has_stacks(); ++i)  // until both are stored
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(has_stacks());
  EXPECT_THAT(nodes(false), SizeIs(2));
  EXPECT_EQ(nodes(false), nodes(true));
  agents_.clear();
  bench_.stop();
  bench_.start();
  attach("n1");
  const std::vector<std::string> lines = nodes(false);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[1], HasSubstr("lost"));
  EXPECT_EQ(lines, nodes(true));
}

TEST_F(ServerTest, ARankThatIsWaivedWaivesTheTaskAndFreesTheOthers) {
  add("n1");
  add("n2", Script::kWaive);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  const auto end = watch(run->run_id()).back().run();
  EXPECT_EQ(end.outcome(), "waived");
  EXPECT_THAT(end.reason(), HasSubstr("rank 1 on n2: no such device"));
  EXPECT_TRUE(
      agents_[0]->wait_until([](const ScriptedAgent& a) { return a.count(Kind::kCancel) == 1; }));
  EXPECT_EQ(agents_[0]->count(Kind::kGo), 0U);
}

TEST_F(ServerTest, ACancelEndsTheRunnersAndThenTheRun) {
  ScriptedAgent& n1 = add("n1", Script::kHang);
  add("n2", Script::kHang);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  EXPECT_EQ(cancel(run->run_id()).state(), "cancelling");
  const auto end = watch(run->run_id()).back().run();
  EXPECT_EQ(end.outcome(), "cancelled");
  EXPECT_THAT(end.reason(), HasSubstr("cancelled by "));
  EXPECT_EQ(cancel(run->run_id()).outcome(), "cancelled");  // again: nothing changes
}

TEST_F(ServerTest, ANodeLostMidTaskIsNamedAndItsReturnIsANewAttempt) {
  ScriptedAgent& n1 = add("n1", Script::kHang);
  add("n2", Script::kHang);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  agents_[1]->cut();
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kCancel) == 1; }));
  for (const api::ControllerMessage& message : n1.received())
    if (message.has_cancel()) {
      EXPECT_EQ(message.cancel().reason(), "node n2 lost");
    }
  auto options = bench_.agent("n2");
  options.incarnation = "second";
  agents_.push_back(std::make_unique<ScriptedAgent>(options));
  ASSERT_TRUE(welcome(*agents_.back()));
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 2; }));
  cancel(run->run_id());  // n1 still hangs; what counts is that attempt 2 went
  EXPECT_EQ(watch(run->run_id()).back().run().outcome(), "cancelled");
  EXPECT_EQ(detail(run->run_id()).tasks(0).attempts(), 2U);
}

TEST_F(ServerTest, AReconnectOfTheSameAgentKeepsTheTask) {
  bench_.stop();
  bench_.fleet_options_.roster.grace_seconds = 30;
  bench_.start();
  ScriptedAgent& n1 = add("n1", Script::kHang);
  ScriptedAgent& n2 = add("n2", Script::kHang);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n2.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  auto options = bench_.agent("n2", Script::kHang);
  options.first_spool_id = 100;
  for (const api::ControllerMessage& message : n2.received())
    if (message.has_go()) options.running = {message.go().task()};
  n2.cut();
  ScriptedAgent again(options);
  ASSERT_TRUE(again.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  EXPECT_EQ(n1.count(Kind::kCancel), 0U);
  cancel(run->run_id());
  EXPECT_EQ(watch(run->run_id()).back().run().outcome(), "cancelled");
  EXPECT_EQ(detail(run->run_id()).tasks(0).attempts(), 1U);
}

TEST_F(ServerTest, ARunOfARestartedControllerEndedHonestlyAndItsRunnersAreStopped) {
  ScriptedAgent& n1 = add("n1", Script::kKeepSilent);
  add("n2", Script::kKeepSilent);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kPrepare) == 1; }));
  bench_.stop();  // without begin_stop(): as a crash leaves it
  bench_.start();
  const auto end = watch(run->run_id()).back().run();
  EXPECT_EQ(end.outcome(), "crashed");
  EXPECT_THAT(end.reason(), HasSubstr("controller restarted"));
  auto options = bench_.agent("n1", Script::kHang);
  for (const api::ControllerMessage& message : n1.received())
    if (message.has_prepare()) options.running = {message.prepare().task()};
  ScriptedAgent again(options);
  EXPECT_TRUE(again.wait_until([](const ScriptedAgent& a) {
    return a.count(Kind::kCancel) == 1 && a.acknowledged() == 1;  // its final record was stored
  }));
}

TEST_F(ServerTest, AStopCancelsTheRunAndSaysNotServing) {
  ScriptedAgent& n1 = add("n1", Script::kHang);
  add("n2", Script::kHang);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  bench_.server_->begin_stop();
  const auto end = watch(run->run_id()).back().run();
  EXPECT_EQ(end.outcome(), "cancelled");
  EXPECT_EQ(end.reason(), "the controller is stopping");
  const auto refused = start_run("pairs");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
}

// Keeps one worker thread waiting: it reads a suite from a pipe that nobody writes.
class BusyWorker {
 public:
  BusyWorker(ServerBench& bench, const std::string& name) {
    RG_CHECK(mkfifo(bench.path(name + ".yaml").c_str(), 0600) == 0);
    caller_ = std::thread([&bench, name] {
      grpc::ClientContext context;
      api::RunRequest request;
      request.mutable_suite()->set_name(name);
      api::RunSummary run;
      EXPECT_FALSE(bench.stub_->StartRun(&context, request, &run).ok()) << "an empty suite";
    });
    pipe_ = open(bench.path(name + ".yaml").c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
    RG_CHECK(pipe_ >= 0);
  }
  ~BusyWorker() {
    close(pipe_);
    caller_.join();
  }
  BusyWorker(const BusyWorker&) = delete;
  BusyWorker& operator=(const BusyWorker&) = delete;

 private:
  std::thread caller_;
  int pipe_ = -1;
};

TEST_F(ServerTest, AWatcherThatLeavesBeforeItsTurnHoldsNoPlace) {
  ScriptedAgent& n1 = add("n1", Script::kHang);
  add("n2", Script::kHang);
  const auto run = start_run("pairs");
  ASSERT_TRUE(run);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  api::RunRef ref;
  ref.set_run_id(run->run_id());
  {
    std::list<BusyWorker> busy;
    for (std::size_t i = 0; i < Server::kWorkers; ++i)
      busy.emplace_back(bench_, "pipe" + std::to_string(i));
    for (std::size_t i = 0; i < run::RunDriver::kMaxWatchers; ++i) {
      grpc::ClientContext context;
      set_deadline(context);
      auto stream = bench_.stub_->WatchRun(&context, ref);
      stream->WaitForInitialMetadata();  // the controller has the call
      context.TryCancel();
      EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
    }
    grpc::ClientContext context;
    api::NodeList nodes;
    EXPECT_EQ(bench_.stub_->ListNodes(&context, {}, &nodes).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED)
        << "the watchers wait for a worker";
  }
  api::RunEvent event;
  bool watched = false;
  for (int i = 0; i < 50 && !watched; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    grpc::ClientContext context;
    set_deadline(context);
    watched = bench_.stub_->WatchRun(&context, ref)->Read(&event);
  }
  EXPECT_TRUE(watched);
  cancel(run->run_id());
}

// Whoever may read may have suites read and planned. It must not take the workers of operators.
TEST_F(ServerTest, SuitesThatAreReadForSomebodyDelayNoOtherCall) {
  const std::string pipe = bench_.path("pipe.yaml");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i <= Server::kWorkers; ++i)
    readers.emplace_back([this] {
      grpc::ClientContext context;
      api::SuiteSource source;
      source.set_name("pipe");
      api::SuiteCheck check;
      EXPECT_TRUE(bench_.stub_->CheckSuite(&context, source, &check).ok());
    });
  const int writer = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the first one
  ASSERT_GE(writer, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others are on their way
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  api::NodeList nodes;
  EXPECT_TRUE(bench_.stub_->ListNodes(&context, {}, &nodes).ok());
  close(writer);
  // Those that open the pipe after its end need another one.
  std::atomic<bool> done = false;
  std::thread closer([&] {
    while (!done) {
      const int again = open(pipe.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
      if (again >= 0) close(again);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  for (std::thread& reader : readers) reader.join();
  done = true;
  closer.join();
}

TEST_F(ServerTest, WrongRequestsAreOneLineEach) {
  const auto nobody = start_run("pairs");
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().message, HasSubstr("no node is attached"));
  add("n1");
  add("n2");
  const auto unknown_suite = start_run("piars");
  ASSERT_FALSE(unknown_suite);
  EXPECT_EQ(unknown_suite.error().code, Code::kInvalidArgument);
  EXPECT_THAT(unknown_suite.error().message, HasSubstr("did you mean \"pairs\"?"));
  const auto unknown_node = start_run("pairs", "n1,n7");
  ASSERT_FALSE(unknown_node);
  EXPECT_EQ(unknown_node.error().code, Code::kInvalidArgument);
  EXPECT_THAT(unknown_node.error().message, HasSubstr("n7"));
  api::RunRef ref;
  ref.set_run_id("no-such-run");
  grpc::ClientContext context;
  api::RunDetail detail;
  const grpc::Status status = bench_.stub_->GetRun(&context, ref, &detail);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, NodesKernelsSuitesAndVersionAreListed) {
  add("n1");
  agents_.push_back(std::make_unique<ScriptedAgent>(bench_.agent("n2")));
  ASSERT_TRUE(welcome(*agents_.back()));
  bench_.write("broken.yaml", "version: 1\nstages: []\n");
  grpc::ClientContext nodes_context;
  api::NodeList nodes;
  ASSERT_TRUE(bench_.stub_->ListNodes(&nodes_context, {}, &nodes).ok());
  ASSERT_THAT(nodes.nodes(), SizeIs(2));
  EXPECT_EQ(nodes.nodes(0).state(), "attached");
  EXPECT_EQ(nodes.nodes(0).nics(0).device(), "rxe0");
  EXPECT_FALSE(nodes.nodes(0).nics(0).has_active_mtu_bytes()) << "the agent did not tell";
  grpc::ClientContext kernels_context;
  KernelList kernels;
  ASSERT_TRUE(bench_.stub_->ListKernels(&kernels_context, {}, &kernels).ok());
  EXPECT_THAT(kernels.kernels(), SizeIs(4));
  grpc::ClientContext suites_context;
  api::SuiteList suites;
  ASSERT_TRUE(bench_.stub_->ListSuites(&suites_context, {}, &suites).ok());
  ASSERT_THAT(suites.suites(), SizeIs(3));
  EXPECT_NE(suites.suites(0).error(), "");
  EXPECT_EQ(suites.suites(1).error(), "");
  bench_.write("broken.yaml", "version: [\n");
  grpc::ClientContext again_context;
  api::SuiteList again;
  ASSERT_TRUE(bench_.stub_->ListSuites(&again_context, {}, &again).ok());
  EXPECT_NE(again.suites(0).error(), suites.suites(0).error()) << "another text is checked anew";
  EXPECT_NE(again.suites(0).error(), "");
  grpc::ClientContext version_context;
  api::VersionInfo version;
  ASSERT_TRUE(bench_.stub_->GetVersion(&version_context, {}, &version).ok());
  EXPECT_EQ(version.contract().major(), api::kContract.major);
  EXPECT_GE(version.database_version(), 1U);
  grpc::ClientContext plan_context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunPlan plan;
  ASSERT_TRUE(bench_.stub_->PlanRun(&plan_context, request, &plan).ok());
  EXPECT_THAT(plan.tasks(), SizeIs(1));
}

TEST_F(ServerTest, TellsOfItsInstallationAndThatItStarted) {
  add("n1");
  std::filesystem::create_directories(bench_.path("backups"));
  bench_.write("backups/one.db", "1234567");
  api::Installation told;
  grpc::ClientContext context;
  set_deadline(context);
  ASSERT_TRUE(bench_.stub_->GetInstallation(&context, {}, &told).ok());
  EXPECT_EQ(told.socket(), bench_.config_.socket);
  EXPECT_EQ(told.database(), bench_.config_.database);
  EXPECT_EQ(told.backup_folder(), bench_.path("backups"));
  EXPECT_EQ(told.newest_backup_bytes(), 7);
  EXPECT_LE(told.started_at(), told.now_at());
  EXPECT_THAT(told.metrics(), HasSubstr("\nrailgauge_store_read_only 0"));
  EXPECT_THAT(told.troubles(), SizeIs(0));
  ASSERT_EQ(told.nodes_size(), 1);
  EXPECT_EQ(told.nodes(0).state(), "attached");
  EXPECT_FALSE(told.nodes(0).has_certificate_ends_at()) << "it came by the unix socket";
  bench_.stop();
  const auto store = store::open_store(bench_.config_.database);
  const auto events = store->list_events(100);
  EXPECT_EQ(std::ranges::count(*events, "controller_started", &store::EventRow::kind), 1);
}

}  // namespace
}  // namespace railgauge
