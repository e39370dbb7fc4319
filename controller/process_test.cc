// The program itself: signals, exit codes, what it leaves behind and finds, its memory.
#include <grpcpp/generic/generic_stub.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/log/testing/manager_socket.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/agent_process.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using Process = testing_agent::ControllerProcess;
using testing_agent::welcome;
using Kind = api::ControllerMessage::BodyCase;

// The program on the bench's socket, answering.
class ProcessTest : public testing::Test {
 protected:
  std::unique_ptr<api::Control::Stub> connect(const Process& controller) {
    return api::Control::NewStub(open_channel(controller));
  }
  std::shared_ptr<grpc::Channel> open_channel(const Process& controller) {
    EXPECT_TRUE(controller.wait_until_serving()) << controller.error_text();
    return grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials());
  }
  static api::RunSummary start_run(api::Control::Stub& stub) {
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    api::RunSummary run;
    const grpc::Status status = stub.StartRun(&context, request, &run);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return run;
  }
  static api::RunDetail detail(api::Control::Stub& stub, const std::string& run_id) {
    grpc::ClientContext context;
    api::RunRef ref;
    ref.set_run_id(run_id);
    api::RunDetail detail;
    EXPECT_TRUE(stub.GetRun(&context, ref, &detail).ok());
    return detail;
  }
  ServerBench bench_;
};

TEST_F(ProcessTest, TermCancelsTheRunAndExitsWith143AndTheSocketIsGone) {
  std::string run_id;
  {
    Process controller(bench_, {});
    const auto stub = connect(controller);
    ScriptedAgent n1(bench_.agent("n1", Script::kHang));
    ScriptedAgent n2(bench_.agent("n2", Script::kHang));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    run_id = start_run(*stub).run_id();
    ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
    controller.signal(SIGTERM);
    EXPECT_EQ(controller.wait(), 143) << controller.error_text();
    EXPECT_FALSE(std::filesystem::exists(bench_.config_.socket));
  }
  Process controller(bench_, {});
  EXPECT_EQ(detail(*connect(controller), run_id).run().outcome(), "cancelled");
}

// logrotate renames the file and sends SIGHUP.
TEST_F(ProcessTest, HupOpensTheAuditLogAnewAndEndsNothing) {
  const std::filesystem::path folder = std::filesystem::path(bench_.config_.database).parent_path();
  Process controller(bench_, {"--audit-log", (folder / "audit.jsonl").string()});
  const auto stub = connect(controller);
  std::filesystem::rename(folder / "audit.jsonl", folder / "audit.jsonl.1");
  controller.signal(SIGHUP);
  for (int wait = 0; wait < 200 && !std::filesystem::exists(folder / "audit.jsonl"); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(std::filesystem::exists(folder / "audit.jsonl")) << controller.error_text();
  grpc::ClientContext context;
  api::VersionInfo version;
  EXPECT_TRUE(stub->GetVersion(&context, {}, &version).ok()) << controller.error_text();
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait(), 143) << controller.error_text();
}

TEST_F(ProcessTest, HupAppliesTheSettingsThatNeedNoRestartAndNamesTheOthers) {
  const std::string file = bench_.path("controller.conf");
  const auto write = [&](const std::string& lines) { std::ofstream(file) << lines; };
  write("keep_points = 100\nlog_level = info\n");
  Process controller(bench_, {"--config", file});
  const auto stub = connect(controller);
  const auto troubles = [&] {
    grpc::ClientContext context;
    api::Installation told;
    EXPECT_TRUE(stub->GetInstallation(&context, {}, &told).ok());
    return fmt::format("{}", fmt::join(told.troubles(), "\n"));
  };
  const auto wait_for = [&](const std::string& text) {
    for (int wait = 0; wait < 200; ++wait) {
      if (controller.error_text().find(text) != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << text << " is not in " << controller.error_text();
  };
  const auto hup_with = [&](const std::string& lines) {
    write(lines);
    controller.signal(SIGHUP);
  };
  hup_with("keep_points = 30\nlog_level = debug\nsocket_group = daemon\n");
  wait_for("settings applied: keep-points \"100\" -> \"30\", log-level \"info\" -> \"debug\"");
  wait_for("wait for a restart: socket-group");
  EXPECT_THAT(troubles(), HasSubstr("wait for a restart: socket-group"));
  hup_with("keep_points = many\n");
  wait_for("the settings before stay in force");
  EXPECT_THAT(troubles(), HasSubstr("--keep-points"));
  hup_with("keep_points = 40\nupgrade_window = never\n");
  wait_for("--upgrade-window");
  hup_with("keep_points = 31\n");
  wait_for("keep-points \"30\" -> \"31\", log-level \"debug\" -> \"info\"");
  EXPECT_EQ(troubles(), "");
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait(), 143) << controller.error_text();
}

// 192.0.2.1 is no address of any host.
TEST_F(ProcessTest, AFaultOfTheStartHasTheFormOfTheLog) {
  Process json(bench_, {"--log-format=json", "--metrics-listen=192.0.2.1:9"});
  EXPECT_EQ(json.wait(), 4);
  EXPECT_THAT(json.error_text(),
              testing::MatchesRegex("(.*\n)?\\{\"time\":\"[^\n]*\"level\":\"error\",\"program\":"
                                    "\"controller\",[^\n]*192.0.2.1:9[^\n]*\\}\n"));
  Process text(bench_, {"--metrics-listen=192.0.2.1:9"});
  EXPECT_EQ(text.wait(), 4);
  EXPECT_THAT(text.error_text(), HasSubstr("railgauge-controller: "));
}

// Whether the signal or the end of the copy is first: the file is whole, or not there.
TEST_F(ProcessTest, TermDuringABackupLeavesNoHalfOfIt) {
  {
    auto store = store::open_store(bench_.config_.database);
    auto filler =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kCreate, 5);
    ASSERT_TRUE(filler);
    ASSERT_TRUE(filler->script(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i<10000) INSERT "
        "INTO event (at, kind, node_id, run_id, text) SELECT i, 'x', '', '', hex(randomblob(2000)) "
        "FROM n"));
  }
  Process controller(bench_, {});
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  const auto archive = api::Archive::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  const std::string target = bench_.path("backups/copy.db");
  grpc::Status told;
  std::atomic<bool> answered = false;
  std::thread caller([&] {
    grpc::ClientContext context;
    api::BackUpRequest request;
    request.set_path(target);
    api::BackUpReport report;
    told = archive->BackUp(&context, request, &report);
    answered = true;
  });
  while (!std::filesystem::exists(target + ".part") && !std::filesystem::exists(target) &&
         !answered)
    std::this_thread::yield();
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait(), 143) << controller.error_text();
  caller.join();
  EXPECT_FALSE(std::filesystem::exists(target + ".part"));
  if (std::filesystem::exists(target)) {
    EXPECT_THAT(*store::open_store(target)->check(), testing::IsEmpty());
  } else {
    EXPECT_FALSE(told.ok());
  }
  EXPECT_THAT(*store::open_store(bench_.config_.database)->check(), testing::IsEmpty());
}

TEST_F(ProcessTest, AKilledControllersRunEndsAsCrashedAndItsSocketIsReplaced) {
  std::string run_id;
  {
    Process controller(bench_, {});
    const auto stub = connect(controller);
    ScriptedAgent n1(bench_.agent("n1", Script::kHang));
    ScriptedAgent n2(bench_.agent("n2", Script::kHang));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    run_id = start_run(*stub).run_id();
    ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
    controller.signal(SIGKILL);
    EXPECT_EQ(controller.wait(), -SIGKILL);
  }
  EXPECT_TRUE(std::filesystem::exists(bench_.config_.socket));
  Process controller(bench_, {});
  const api::RunDetail after = detail(*connect(controller), run_id);
  EXPECT_EQ(after.run().state(), "ended");
  EXPECT_EQ(after.run().outcome(), "crashed");
  EXPECT_THAT(after.run().reason(), HasSubstr("controller restarted"));
}

// d hangs in the first round of three, so the other rounds have no rows.
TEST_F(ProcessTest, KilledAmongItsRoundsItsRunIsResumedWithEachTaskOnce) {
  std::uint64_t spool = 1;
  const auto attach = [&](const char* name, Script script) {
    testing_agent::AgentOptions options = bench_.agent(name, script);
    options.first_spool_id = spool += 1'000;
    auto agent = std::make_unique<ScriptedAgent>(options);
    EXPECT_TRUE(welcome(*agent)) << name;
    return agent;
  };
  const auto passed_of = [](const api::RunDetail& run) {
    std::set<std::string> ids;
    for (const api::TaskDetail& task : run.tasks())
      if (task.outcome() == "passed") ids.insert(task.task_id());
    return ids;
  };
  std::string run_id;
  {
    Process controller(bench_, {});
    const auto stub = connect(controller);
    std::vector<std::unique_ptr<ScriptedAgent>> agents;
    for (const char* name : {"a", "b", "c", "d"})
      agents.push_back(attach(name, *name == 'd' ? Script::kHang : Script::kPass));
    run_id = start_run(*stub).run_id();
    ASSERT_TRUE(testing_agent::until([&] { return passed_of(detail(*stub, run_id)).size() == 1; }));
    controller.signal(SIGKILL);
    EXPECT_EQ(controller.wait(), -SIGKILL);
  }
  Process controller(bench_, {});
  const auto stub = connect(controller);
  const api::RunDetail stopped = detail(*stub, run_id);
  EXPECT_EQ(stopped.tasks_size(), 2) << "those of its first round";
  EXPECT_EQ(stopped.run().tasks_total(), 6U);
  EXPECT_EQ(stopped.run().tasks_ended(), 6U);
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (const char* name : {"a", "b", "c", "d"}) agents.push_back(attach(name, Script::kPass));
  api::RunRequest request;
  request.set_resume_run_id(run_id);
  api::RunSummary started;
  grpc::ClientContext context;
  const grpc::Status status = stub->StartRun(&context, request, &started);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(started.tasks_total(), 5U);
  ASSERT_TRUE(testing_agent::until(
      [&] { return detail(*stub, started.run_id()).run().state() == "ended"; }));
  const api::RunDetail rest = detail(*stub, started.run_id());
  EXPECT_EQ(rest.run().outcome(), "passed") << rest.run().reason();
  std::set<std::string> measured = passed_of(rest);
  EXPECT_EQ(measured.size(), 5U);
  measured.merge(passed_of(stopped));
  EXPECT_THAT(measured, testing::ElementsAre("t0001", "t0002", "t0003", "t0004", "t0005", "t0006"));
}

#ifdef RAILGAUGE_FAILPOINTS
TEST_F(ProcessTest, KilledBetweenCommitAndAcknowledgementItStoresARecordOnce) {
  Record record;
  record.mutable_key()->set_task_id("t0001");
  record.mutable_key()->set_attempt(1);
  record.mutable_point()->set_metric("latency_ns");
  record.mutable_point()->set_meaning("half_rtt");
  record.mutable_point()->set_unit("ns");
  record.mutable_point()->set_median(7);
  {
    Process controller(bench_, {});
    const auto stub = connect(controller);
    ScriptedAgent n1(bench_.agent("n1", Script::kKeepSilent));
    ScriptedAgent n2(bench_.agent("n2", Script::kKeepSilent));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    record.mutable_key()->set_run_id(start_run(*stub).run_id());
    Record started;
    *started.mutable_key() = record.key();
    started.mutable_started()->set_kernel("fake.lat");
    started.mutable_started()->set_revision(1);
    started.mutable_started()->set_size(2);
    started.mutable_started()->set_endpoint("rxe0:1");
    n1.deliver(started);
    ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.acknowledged() == 1; }));
    record.mutable_key()->set_sequence(1);
  }
  {
    Process controller(bench_, {}, "fleet.records_committed");
    ASSERT_TRUE(controller.wait_until_serving());
    ScriptedAgent n1(bench_.agent("n1", Script::kKeepSilent));
    n1.deliver(record);
    EXPECT_EQ(controller.wait(), -SIGKILL);
    EXPECT_EQ(n1.acknowledged(), 0U);
  }
  Process controller(bench_, {});
  const auto stub = connect(controller);
  ScriptedAgent n1(bench_.agent("n1", Script::kKeepSilent));
  n1.deliver(record);
  Record final_record;
  *final_record.mutable_key() = record.key();
  final_record.mutable_key()->set_sequence(2);
  final_record.mutable_final()->set_outcome("passed");
  n1.deliver(final_record);
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.acknowledged() == 2; }));
  grpc::ClientContext context;
  api::ResultsRequest request;
  request.set_run_id(record.key().run_id());
  api::ResultList results;
  ASSERT_TRUE(stub->QueryResults(&context, request, &results).ok());
  ASSERT_EQ(results.points_size(), 1);
  EXPECT_EQ(results.points(0).point().median(), 7);
}
#endif

TEST_F(ProcessTest, ASecondControllerOnTheSocketIsRefusedAndTheFirstGoesOn) {
  Process first(bench_, {});
  const auto stub = connect(first);
  bench_.config_.database = bench_.path("other.db");
  Process second(bench_, {});
  EXPECT_EQ(second.wait(), 4);
  EXPECT_THAT(second.error_text(), HasSubstr("another controller answers there"));
  grpc::ClientContext context;
  api::VersionInfo version;
  EXPECT_TRUE(stub->GetVersion(&context, {}, &version).ok());
}

TEST_F(ProcessTest, ASecondControllerOnTheDatabaseLeavesTheFirstOnesRunAlone) {
  Process first(bench_, {});
  const auto stub = connect(first);
  ScriptedAgent n1(bench_.agent("n1", Script::kHang));
  ScriptedAgent n2(bench_.agent("n2", Script::kHang));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  const api::RunSummary run = start_run(*stub);
  const std::string socket = bench_.config_.socket;
  bench_.config_.socket = bench_.path("other.sock");
  Process second(bench_, {});
  EXPECT_EQ(second.wait(), 4);
  EXPECT_THAT(second.error_text(), HasSubstr("stop railgauge-controller first"));
  Process restoring(bench_, {"--restore=" + bench_.config_.database});
  EXPECT_EQ(restoring.wait(), 4);
  bench_.config_.socket = socket;
  EXPECT_EQ(detail(*stub, run.run_id()).run().outcome(), "") << "it goes on";
}

TEST_F(ProcessTest, WrongUseIsOneLineAndExitCode2) {
  Process unknown(bench_, {"--sokcet=x"});
  EXPECT_EQ(unknown.wait(), 2);
  Process open_port(bench_, {"--listen=127.0.0.1:0"});
  EXPECT_EQ(open_port.wait(), 2);
  EXPECT_THAT(open_port.error_text(), HasSubstr("or --insecure"));
  Process no_config(bench_, {"--config=/nonexistent/c.conf"});
  EXPECT_EQ(no_config.wait(), 2);
}

// The services that the program did not define have no stubs here: their messages are written out.
std::string generic_call(grpc::Channel& channel, const std::string& method,
                         const std::string& request) {
  grpc::GenericStub stub(std::shared_ptr<grpc::Channel>(&channel, [](grpc::Channel*) {}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, method, &queue);
  void* tag = nullptr;
  bool ok = false;
  const auto wait = [&] { return queue.Next(&tag, &ok) && ok; };
  call->StartCall(nullptr);
  EXPECT_TRUE(wait());
  const grpc::Slice slice(request);
  call->Write(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions().set_last_message(), nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  EXPECT_TRUE(wait()) << method;
  grpc::Status status;
  context.TryCancel();
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  grpc::Slice whole;
  answer.DumpToSingleSlice(&whole);
  return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
}

TEST_F(ProcessTest, ReflectionAndHealthAnswer) {
  Process controller(bench_, {});
  const auto channel = open_channel(controller);
  const std::string services = generic_call(
      *channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*");
  for (const char* name :
       {"railgauge.api.Control", "railgauge.api.AgentLink", "grpc.health.v1.Health"})
    EXPECT_THAT(services, HasSubstr(name));
  const std::string serving("\x08\x01");
  EXPECT_EQ(generic_call(*channel, "/grpc.health.v1.Health/Check", ""), serving);
  EXPECT_EQ(generic_call(*channel, "/grpc.health.v1.Health/Check", "\x0a\x15railgauge.api.Control"),
            serving);
}

TEST_F(ProcessTest, WithThreeNodesAndARunItStaysBelow44MegabytesResident) {
  Process controller(bench_, {});
  const auto stub = connect(controller);
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (const char* name : {"n1", "n2", "n3"}) {
    agents.push_back(std::make_unique<ScriptedAgent>(bench_.agent(name)));
    ASSERT_TRUE(welcome(*agents.back()));
  }
  for (int i = 0; i < 3; ++i) {
    api::RunRef ref;
    ref.set_run_id(start_run(*stub).run_id());
    grpc::ClientContext context;
    auto stream = stub->WatchRun(&context, ref);
    api::RunEvent event;
    while (stream->Read(&event)) {
    }
    EXPECT_EQ(event.run().outcome(), "passed");
  }
  const double resident = controller.resident_bytes();
  RecordProperty("resident_bytes", fmt::format("{}", resident));
  EXPECT_GT(resident, 1e6);
  EXPECT_LT(resident, 44e6);  // -O0 at the edges: 40.3 were seen
}

TEST_F(ProcessTest, TheServiceManagerHearsOfStartStateLifeAndStop) {
  const ManagerSocket systemd;
  ::setenv("NOTIFY_SOCKET", systemd.path().c_str(), 1);
  ::setenv("WATCHDOG_USEC", "120000000", 1);
  Process controller(bench_, {});
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  std::string said;
  for (int i = 0; i < 2'000 && said.find("WATCHDOG=1") == std::string::npos; ++i) {
    said += systemd.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_THAT(said, testing::StartsWith("READY=1\nSTATUS=attached nodes: 0; no run\n"));
  EXPECT_THAT(said, HasSubstr("WATCHDOG=1\n"));
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait(), 143);
  for (std::string more = systemd.next(); !more.empty(); more = systemd.next()) said += more;
  EXPECT_THAT(said, HasSubstr("STOPPING=1\nSTATUS=stopping"));
}

}  // namespace
}  // namespace railgauge
