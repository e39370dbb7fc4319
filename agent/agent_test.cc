// The whole agent: a real gRPC server as its controller, real runner processes, a real spool.
#include "agent/agent.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "agent/testing/agent_fixture.h"
#include "kernels/core/base/landlock.h"

namespace railgauge::agent {
namespace {
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1U << 20U;
constexpr int kTries = 500;

TEST_F(AgentTest, RunsATaskFromHelloToTheLastAcknowledgement) {
  folder_.write("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
  folder_.write("proc/driver/nvidia/gpus/0000:17:00.0/information", "GPU UUID: \t GPU-0011\n");
  start(options());
  run_to_end("t1", "");
  const auto records = FakeController::records(controller_->heard());
  ASSERT_THAT(records, SizeIs(5));
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].spool_id(), i + 1);
    EXPECT_EQ(records[i].record().key().sequence(), i);
  }
  EXPECT_EQ(records[4].record().final().outcome(), "passed");
  const Heard heard = controller_->heard();
  const api::Hello& hello = heard[0].hello();
  EXPECT_EQ(hello.name(), "node-a");
  EXPECT_THAT(hello.node_id(), SizeIs(32));
  ASSERT_EQ(hello.nics_size(), 1);
  EXPECT_EQ(hello.nics(0).device(), "rxe0");
  ASSERT_EQ(hello.gpus_size(), 1);
  EXPECT_EQ(hello.gpus(0).uuid(), "GPU-0011");
  EXPECT_EQ(hello.facts().at("metrics_port"), "none");
  ASSERT_EQ(hello.kernels_size(), 1);
  KernelInfo kernel;
  ASSERT_TRUE(kernel.ParseFromString(hello.kernels(0)));
  EXPECT_EQ(kernel.name(), "test.scripted");
  stop();
  EXPECT_THAT(metrics_.text(), HasSubstr("railgauge_agent_tasks_total{kernel=\"test.scripted\","
                                         "outcome=\"passed\"} 1"));
  EXPECT_THAT(metrics_.text(), HasSubstr("railgauge_link_latency_seconds{device=\"rxe0\""));
  auto spool = Spool::open({.path = folder_ / "state/agent-spool.db"});
  ASSERT_TRUE(spool);
  EXPECT_EQ(spool->waiting_records(), 0u);
}

TEST_F(AgentTest, ATaskThatDidNotPassShowsNoFigure) {
  start(options());
  run_to_end("t1", "crash");
  stop();
  EXPECT_THAT(metrics_.text(), HasSubstr("outcome=\"crashed\"} 1"));
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("railgauge_link_latency_seconds{")));
}

TEST_F(AgentTest, BeatsAndNamesTheTaskThatRuns) {
  start(options());
  prepare("t1", "hang");
  EXPECT_TRUE(until([](const Heard& heard) {
    return std::ranges::any_of(heard, [](const api::AgentMessage& message) {
      return message.heartbeat().busy_task_id() == "t1";
    });
  }));
}

TEST_F(AgentTest, TheModeThatARunnerGivesTheStateFolderIsUndone) {
  start(options());
  run_to_end("t1", "open_mode " + folder_ / "state");
  EXPECT_EQ(fs::status(folder_ / "state").permissions(), fs::perms::owner_all);
}

TEST_F(AgentTest, ARefusalCarriesTheRunnersOwnReasonAndIsRecordedToo) {
  start(options());
  prepare("t1", "refuse");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_refusal); }));
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "waived"); }));
  for (const auto& message : controller_->heard())
    if (message.has_refusal()) {
      EXPECT_EQ(message.refusal().outcome(), "waived");
      EXPECT_EQ(message.refusal().reason(), "no such device: rxe7");
    }
}

TEST_F(AgentTest, TheRealRunnerUnderstandsIt) {
  AgentOptions real = options();
  real.supervisor.task.runner = REAL_RUNNER;
  start(real);
  send_once_attached([&] { return controller_->prepare("t1", "", 20, "test.local"); });
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->go("t1");
  ASSERT_TRUE(until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_ended); }));
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
  const Final final = FakeController::records(controller_->heard()).back().record().final();
  EXPECT_GT(final.phases().start_ns(), 0);
  EXPECT_GT(final.phases().stop_ns(), 0);
  EXPECT_GT(final.cpu_seconds(), 0);
}

TEST_F(AgentTest, AnAttemptThatRanHereIsRefusedTheSecondTime) {
  start(options());
  run_to_end("t1", "");
  ASSERT_TRUE(controller_->prepare("t1", ""));
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_refusal); }));
  EXPECT_THAT(controller_->heard().back().refusal().reason(), HasSubstr("has run here before"));
}

TEST_F(AgentTest, AMissingRunnerRefusesTasksButKeepsTheAgentUp) {
  AgentOptions without = options();
  without.supervisor.task.runner = folder_ / "no-runner";
  start(without);
  prepare("t1", "");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_refusal); }));
  for (const auto& message : controller_->heard())
    if (message.has_refusal()) {
      EXPECT_EQ(message.refusal().outcome(), "waived");
      EXPECT_THAT(message.refusal().reason(), HasSubstr("no-runner: start: No such file"));
    }
}

TEST_F(AgentTest, ATaskOutlivesALostStreamAndItsRecordsComeAgain) {
  start(options());
  controller_->set_acknowledge(false);
  prepare("t1", "wait_after_points");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->go("t1");
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::records(heard).size() == 4; }));
  controller_->drop();
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::records(heard).size() == 8; }));
  Heard heard = controller_->heard();
  ASSERT_EQ(FakeController::hellos(heard), 2);
  std::vector<api::Hello> hellos;
  for (const auto& message : heard)
    if (message.has_hello()) hellos.push_back(message.hello());
  EXPECT_EQ(hellos[0].incarnation(), hellos[1].incarnation());
  ASSERT_EQ(hellos[1].running_size(), 1);
  EXPECT_EQ(hellos[1].running(0).task_id(), "t1");
  controller_->set_acknowledge(true);
  ASSERT_TRUE(controller_->go("t1"));  // lets it end
  ASSERT_TRUE(
      until([](const Heard& all) { return FakeController::has_final(all, "t1", "passed"); }));
  std::set<std::uint32_t> sequences;
  for (const auto& record : FakeController::records(controller_->heard()))
    sequences.insert(record.record().key().sequence());
  EXPECT_THAT(sequences, SizeIs(5));
  stop();
  EXPECT_THAT(metrics_.text(), HasSubstr("railgauge_agent_reconnects_total 1"));
}

TEST_F(AgentTest, BytesOnStderrThatAreNoTextReachTheControllerAsText) {
  start(options());
  prepare("t1", "stderr_without_text");
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "crashed"); }));
  EXPECT_EQ(FakeController::records(controller_->heard()).back().record().final().stderr_tail(),
            "bytes ?? of a library\n");
}

TEST_F(AgentTest, AControllerThatComesBackGetsWhatHappenedMeanwhile) {
  start(options());
  prepare("t1", "wait_after_points");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->set_acknowledge(false);
  controller_->go("t1");
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::records(heard).size() == 4; }));
  controller_ = nullptr;
  controller_ = std::make_unique<FakeController>(target_);
  send_once_attached([&] { return controller_->go("t1"); });
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
}

TEST_F(AgentTest, AStopCancelsWhatRunsAndSpoolsIt) {
  start(options());
  prepare("t1", "");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  stop();
  EXPECT_TRUE(FakeController::has_final(controller_->heard(), "t1", "cancelled"));
}

TEST_F(AgentTest, AFullSpoolEndsTheTaskRefusesTheNextAndGoesOnWhenThereIsRoom) {
  AgentOptions small = options();
  small.spool_bytes = 128U << 10U;
  start(small);
  controller_->set_acknowledge(false);
  prepare("t1", "many_points");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->go("t1");
  for (int i = 0; i < kTries && !refused_for("takes no records"); ++i) {
    controller_->prepare("probe" + std::to_string(i), "refuse");
    ::usleep(20'000);
  }
  ASSERT_TRUE(refused_for("takes no records"));
  EXPECT_TRUE(refused_for("is full")) << "the controller hears why";
  // Acknowledgements make room; then all kept records arrive without a gap.
  for (int i = 0; i < kTries && !FakeController::has_final(controller_->heard(), "t1", "crashed");
       ++i) {
    controller_->acknowledge(FakeController::records(controller_->heard()).back().spool_id());
    ::usleep(20'000);
  }
  std::uint32_t next_sequence = 0;
  std::string reason;
  for (const auto& spooled : FakeController::records(controller_->heard())) {
    const Record& record = spooled.record();
    if (record.key().task_id() != "t1") continue;
    EXPECT_EQ(record.key().sequence(), next_sequence++);
    reason = record.final().reason();
  }
  EXPECT_THAT(reason, HasSubstr("full"));
  EXPECT_GT(next_sequence, 10u);
}

// A hostile controller sends sizes around the frame of a runner (8 MiB) and the limit of the
// stream (16 MiB).
class HostileController : public AgentTest {
 protected:
  static std::string bytes(std::size_t mib) { return std::string(mib * kMiB, 'x'); }
  // The agent still attaches, takes a task and ends it.
  void expect_a_whole_task() {
    send_once_attached([&] { return controller_->prepare("after", ""); });
    ASSERT_TRUE(until([](const Heard& heard) {
      return std::ranges::any_of(heard, [](const api::AgentMessage& message) {
        return message.prepared().task().task_id() == "after";
      });
    }));
    controller_->go("after");
    EXPECT_TRUE(until(
        [](const Heard& heard) { return FakeController::has_final(heard, "after", "passed"); }));
  }
};

TEST_F(HostileController, AStepLargerThanARunnersFrameEndsTheTaskWithTheReason) {
  controller_->set_answers_steps(false);
  start(options());
  prepare("t1", "hang_after_step");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->go("t1");
  ASSERT_TRUE(until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_step); }));
  api::ControllerMessage message;
  *message.mutable_step()->mutable_task() = FakeController::ref("t1");
  message.mutable_step()->mutable_step()->set_step(0);
  message.mutable_step()->mutable_step()->add_payloads(bytes(9));
  ASSERT_TRUE(controller_->send(message));
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "crashed"); }));
  ASSERT_TRUE(until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_ended); }));
  EXPECT_THAT(reason_of("t1"), HasSubstr("a runner takes at most 8388608"));
  expect_a_whole_task();
}

TEST_F(HostileController, ALargeOrderIsRefusedWithTheReason) {
  start(options());
  api::ControllerMessage message;
  api::PrepareTask& order = *message.mutable_prepare();
  *order.mutable_task() = FakeController::ref("t1");
  order.set_kernel("test.scripted");
  order.set_deadline_seconds(20);
  (*order.mutable_facts())["large"] = bytes(10);
  send_once_attached([&] { return controller_->send(message); });
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_refusal); }));
  EXPECT_TRUE(refused_for("this agent takes at most 2097152"));
  expect_a_whole_task();
}

TEST_F(HostileController, AnOrderWithALargeNameIsNotRepeatedToAnybody) {
  start(options());
  api::ControllerMessage message;
  message.mutable_prepare()->mutable_task()->set_run_id(bytes(9));
  message.mutable_prepare()->set_deadline_seconds(20);
  send_once_attached([&] { return controller_->send(message); });
  message.Clear();
  *message.mutable_cancel()->mutable_task() = FakeController::ref("t1");
  message.mutable_cancel()->set_reason(bytes(9));
  ASSERT_TRUE(controller_->send(message));
  expect_a_whole_task();
  EXPECT_FALSE(any(controller_->heard(), &api::AgentMessage::has_refusal));
}

TEST_F(HostileController, AMessageAboveTheStreamsLimitCostsTheStreamOnly) {
  start(options());
  api::ControllerMessage message;
  message.mutable_refused()->set_reason(bytes(17));
  send_once_attached([&] { return controller_->send(message); });
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::hellos(heard) >= 2; }));
  expect_a_whole_task();
}

// The agent as a program of its own, so that it can be killed.
class AgentProgramTest : public AgentTest {
 protected:
  Subprocess spawn_agent(const std::vector<std::string>& more = {},
                         const std::map<std::string, std::string>& environment = {}) {
    folder_.write("none.conf", "");  // the machine's own does not count
    std::vector<std::string> words{AGENT_PROGRAM,
                                   "--controller",
                                   target_,
                                   "--name",
                                   "node-a",
                                   "--state-dir",
                                   folder_ / "state",
                                   "--runner",
                                   SCRIPTED_RUNNER,
                                   "--metrics-listen",
                                   "none",
                                   "--config",
                                   folder_ / "none.conf"};
    words.insert(words.end(), more.begin(), more.end());
    auto agent = Subprocess::spawn(
        {.argv = words, .child_reads = {}, .child_writes = {2}, .environment = environment});
    EXPECT_TRUE(agent);
    return std::move(*agent);
  }
  // The arguments of an agent with a key; the controller's socket needs none.
  std::vector<std::string> with_key() {
    folder_.write("tls/node.key", "secret");
    fs::permissions(folder_ / "tls/node.key", fs::perms::owner_read | fs::perms::owner_write);
    return {"--tls-key", folder_ / "tls/node.key", "--tls-cert", folder_ / "tls/node.crt",
            "--tls-ca",  folder_ / "tls/ca.crt"};
  }
  // Runs the script with go; returns the reason of its end.
  std::string reason_of(const std::string& task, const std::string& script) {
    run_to_end(task, script);
    return AgentTest::reason_of(task);
  }
  static std::optional<Exit> wait_for(Subprocess& process) {
    for (int i = 0; i < 2000; ++i) {
      if (auto exit = process.reap()) return exit;
      ::usleep(10'000);
    }
    return std::nullopt;
  }
};

TEST_F(AgentProgramTest, ASettingsFileThatIsNamedMustBeThere) {
  auto agent = Subprocess::spawn(
      {.argv = {AGENT_PROGRAM, "--controller", target_, "--config", folder_ / "gone.conf"},
       .child_reads = {},
       .child_writes = {2}});
  ASSERT_TRUE(agent);
  const auto exit = wait_for(*agent);
  ASSERT_TRUE(exit);
  ASSERT_TRUE(WIFEXITED(exit->wait_status));
  EXPECT_EQ(WEXITSTATUS(exit->wait_status), 2);
}

// It ends at once with a line, and the agent that is started next answers for the task.
TEST_F(AgentProgramTest, WithoutMemoryItEndsAtOnceWithOneLine) {
#if defined(RAILGAUGE_ADDRESS_SANITIZER) || defined(RAILGAUGE_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer's allocator has limits of its own";
#endif
  Subprocess agent = spawn_agent();
  prepare("t1", "cancel_unheard");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  const rlimit nothing{.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(::prlimit(agent.pid(), RLIMIT_DATA, &nothing, nullptr), 0);
  api::ControllerMessage message;
  message.mutable_refused()->set_reason(std::string(3'000'000, 'r'));
  std::optional<Exit> exit;
  for (int i = 0; i < kTries && !exit; ++i) {
    static_cast<void>(controller_->send(message));
    exit = agent.reap();
    ::usleep(10'000);
  }
  ASSERT_TRUE(exit);
  ASSERT_TRUE(WIFSIGNALED(exit->wait_status)) << exit->wait_status;
  std::array<char, 4096> text{};
  const ssize_t size = ::read(agent.from_child_fd(0), text.data(), text.size());
  ASSERT_GT(size, 0);
  EXPECT_THAT(
      std::string(text.data(), static_cast<std::size_t>(size)),
      AnyOf(HasSubstr("railgauge-agent: memory: "), HasSubstr("railgauge-agent: threads: ")));
  Subprocess second = spawn_agent();
  EXPECT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "crashed"); }));
}

TEST_F(AgentProgramTest, KilledDuringATaskItAnswersForItAfterItsRestart) {
  Subprocess first = spawn_agent();
  prepare("t1", "cancel_unheard");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  int runner = 0;
  {
    auto spool = Spool::open({.path = folder_ / "state/agent-spool.db"});
    ASSERT_TRUE(spool);
    ASSERT_THAT(*spool->open_tasks(), SizeIs(1));
    runner = spool->open_tasks()->front().pid;
  }
  ::kill(first.pid(), SIGKILL);  // the agent alone: its runner is in another group
  ASSERT_TRUE(wait_for(first));
  Subprocess second = spawn_agent();
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "crashed"); }));
  EXPECT_FALSE(process_start_ticks(runner).has_value());
  std::set<std::string> incarnations;
  std::set<std::string> nodes;
  for (const auto& message : controller_->heard())
    if (message.has_hello()) {
      incarnations.insert(message.hello().incarnation());
      nodes.insert(message.hello().node_id());
    }
  EXPECT_THAT(incarnations, SizeIs(2));
  EXPECT_THAT(nodes, SizeIs(1));
  for (const auto& record : FakeController::records(controller_->heard()))
    if (record.record().has_final()) {
      EXPECT_EQ(record.record().final().reason(), "the agent was restarted while the task ran");
      EXPECT_EQ(record.record().key().sequence(), 1u);
    }
}

TEST_F(AgentProgramTest, KilledItTakesItsRunnersDaemonsAlong) {
  Subprocess agent = spawn_agent();
  prepare("t1", "daemon_and_hang");
  pid_t daemon = 0;
  ASSERT_TRUE(until([&](const Heard& heard) {
    for (const api::SpooledRecord& record : FakeController::records(heard))
      if (record.record().point().metric() == "pid")
        daemon = static_cast<pid_t>(record.record().point().message_bytes());
    return daemon > 0;
  }));
  ASSERT_TRUE(process_start_ticks(daemon));
  ::kill(agent.pid(), SIGKILL);
  ASSERT_TRUE(wait_for(agent));
  for (int i = 0; i < kTries && process_start_ticks(daemon); ++i) ::usleep(10'000);
  EXPECT_FALSE(process_start_ticks(daemon));
}

TEST_F(AgentProgramTest, ItsRunnerReachesNeitherItsKeyNorItsSpoolNorItself) {
  if (landlock_version() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  Subprocess agent = spawn_agent(with_key());
  const std::string told = reason_of(
      "t1", "attack " + folder_ / "tls/node.key" + " " + folder_ / "state/agent-spool.db");
  EXPECT_THAT(told, StartsWith("key: Permission denied; spool: Permission denied; "
                               "memory: Permission denied; environment: Permission denied; "
                               "trace: Operation not permitted; "));
  if (landlock_version() < kLandlockOfSignals) GTEST_SKIP() << "this kernel has no scopes";
  EXPECT_THAT(told, EndsWith("signal: Operation not permitted; keeper: Operation not permitted"));
}

TEST_F(AgentProgramTest, ItsRunnerReadsNeitherItsWebConfigNorTheKeyOfIt) {
  if (landlock_version() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  folder_.write("web/web.yml", "tls_server_config:\n  cert_file: web.crt\n  key_file: web.key\n");
  const std::string make =
      "cd " + folder_ / "web" +
      " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout web.key "
      "-out web.crt -subj /CN=localhost -days 1 2>log && chmod 0600 web.key";
  ASSERT_EQ(std::system(make.c_str()), 0);
  Subprocess agent = spawn_agent({"--web-config-file", folder_ / "web/web.yml"});
  EXPECT_THAT(reason_of("t1", "attack " + folder_ / "web/web.yml" + " " + folder_ / "web/web.key"),
              StartsWith("key: Permission denied; spool: Permission denied; "));
}

TEST_F(AgentProgramTest, ItEndsWhatARunnerLeavesThatKillsItsKeeper) {
  Subprocess agent = spawn_agent({"--runner-landlock", "false"});
  prepare("t1", "daemon_and_kill_keeper");
  pid_t daemon = 0;
  ASSERT_TRUE(until([&](const Heard& heard) {
    for (const api::SpooledRecord& record : FakeController::records(heard))
      if (record.record().point().metric() == "pid")
        daemon = static_cast<pid_t>(record.record().point().message_bytes());
    return daemon > 0;
  }));
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "crashed"); }));
  for (int i = 0; i < 300 && process_start_ticks(daemon); ++i) ::usleep(10'000);
  EXPECT_FALSE(process_start_ticks(daemon)) << "the daemon lives 3 s after its task";
}

TEST_F(AgentProgramTest, ARealRunnerThatLoadsTheKeyAsALibraryIsDenied) {
  if (landlock_version() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  auto words = with_key();
  words.insert(words.end(), {"--runner", PRODUCT_RUNNER});
  Subprocess agent = spawn_agent(words, {{"RAILGAUGE_LIBIBVERBS", folder_ / "tls/node.key"}});
  api::ControllerMessage message;
  api::PrepareTask& order = *message.mutable_prepare();
  *order.mutable_task() = FakeController::ref("t1");
  order.set_kernel("verbs.write_lat");
  order.set_size(2);
  order.set_deadline_seconds(20);
  send_once_attached([&] { return controller_->send(message); });
  ASSERT_TRUE(until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_ended); }));
  EXPECT_THAT(AgentTest::reason_of("t1"), HasSubstr("Permission denied"));
}

TEST_F(AgentProgramTest, ItsRunnersEnvironmentIsTheList) {
  auto words = with_key();
  words.insert(words.end(), {"--runner-environment", "SITE_LICENCE"});
  Subprocess agent = spawn_agent(words, {{"RAILGAUGE_LOG_LEVEL", "debug"},
                                         {"AWS_SECRET_ACCESS_KEY", "x"},
                                         {"NCCL_AUTH_TOKEN", "x"},
                                         {"LD_PRELOAD", "/nowhere.so"},
                                         {"NCCL_DEBUG", "INFO"},
                                         {"SITE_LICENCE", "x"},
                                         {"OTHER", "x"}});
  const std::string names = reason_of("t1", "environment");
  for (const char* name : {"NCCL_DEBUG ", "SITE_LICENCE ", "PATH ", "TMPDIR ",
                           "RAILGAUGE_LOG_FORMAT ", "RAILGAUGE_LOG_SUBJECT "})
    EXPECT_THAT(names, HasSubstr(name));
  for (const char* name : {"OTHER", "SECRET", "TOKEN", "LD_PRELOAD", "RAILGAUGE_LOG_LEVEL", "TLS"})
    EXPECT_THAT(names, Not(HasSubstr(name)));
}

TEST_F(AgentProgramTest, TermEndsItWith143AndTheLastRecordIsSent) {
  Subprocess agent = spawn_agent();
  prepare("t1", "");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  agent.signal_group(SIGTERM);
  const auto exit = wait_for(agent);
  ASSERT_TRUE(exit);
  ASSERT_TRUE(WIFEXITED(exit->wait_status));
  EXPECT_EQ(WEXITSTATUS(exit->wait_status), 143);
  EXPECT_TRUE(FakeController::has_final(controller_->heard(), "t1", "cancelled"));
}

TEST_F(AgentProgramTest, ASecondAgentOnTheSameFolderLeavesWithAReason) {
  Subprocess first = spawn_agent();
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::hellos(heard) == 1; }));
  Subprocess second = spawn_agent();
  const auto exit = wait_for(second);
  ASSERT_TRUE(exit);
  EXPECT_EQ(WEXITSTATUS(exit->wait_status), 4);
  std::string words;
  read_available(second.from_child_fd(0), kMiB, words);
  EXPECT_THAT(words, HasSubstr("another agent uses this state folder"));
}

}  // namespace
}  // namespace railgauge::agent
