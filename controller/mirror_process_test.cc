// The controller itself with a mirror: runs of agents over gRPC, killed in between.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>

#include "controller/log/testing/manager_socket.h"
#include "controller/mirror/testing/archive_testing.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/scripted_agent.h"
#include "controller/testing/server_bench.h"

namespace railgauge::mirror {
namespace {

// The long form of the check; deploy/check.sh says 0 for the short one.
bool is_full_check() {
  const char* const wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

using ::testing::HasSubstr;
using testing_agent::ControllerProcess;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class MirrorProcessTest : public ArchiveTest {
 protected:
  [[nodiscard]] std::vector<std::string> flags() const {
    return {"--mirror=" + url_, "--site=east", "--audit-log=none"};
  }
  std::unique_ptr<api::Control::Stub> connect(const ControllerProcess& controller) {
    EXPECT_TRUE(controller.wait_until_serving()) << controller.error_text();
    return api::Control::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  }
  static std::string start_run(api::Control::Stub& stub) {
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    grpc::ClientContext context;
    api::RunSummary summary;
    const auto started = stub.StartRun(&context, request, &summary);
    EXPECT_TRUE(started.ok()) << started.error_message();
    return summary.run_id();
  }
  // Waits for an answer of the archive.
  bool shows(const std::string& sql, const std::string& wanted) {
    for (int wait = 0; wait < 300; ++wait) {
      if (ask(sql) == wanted) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ADD_FAILURE() << sql << ": " << ask(sql) << " instead of " << wanted;
    return false;
  }
  // After the controller's end: what it did not send yet is sent, and both sides are the same.
  void expect_same_after_the_end() {
    auto store = open_armed(bench_.config_.database);
    Mirror mirror(options("east"), *store, note_, [] { return false; });
    ASSERT_TRUE(drain(mirror, *store));
    EXPECT_EQ(differences(*store), "");
  }

  // A controller with these flags below a service manager that wants a sign of life every 0.2 s.
  std::unique_ptr<ControllerProcess> start_watched(const std::vector<std::string>& more,
                                                   const std::string& failpoint = "") {
    std::vector<std::string> words = flags();
    words.insert(words.end(), more.begin(), more.end());
    ::setenv("NOTIFY_SOCKET", systemd_.path().c_str(), 1);
    ::setenv("WATCHDOG_USEC", "400000", 1);
    auto controller = std::make_unique<ControllerProcess>(bench_, words, failpoint);
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    return controller;
  }
  // Waits until the manager has heard `text` since the last call; what it heard until then.
  std::string hear(const std::string& text) {
    std::string said;
    for (int look = 0; look < 3'000 && said.find(text) == said.npos; ++look) {
      said += systemd_.next();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_THAT(said, HasSubstr(text));
    return said;
  }

  ServerBench bench_;
  ManagerSocket systemd_;
};

TEST_F(MirrorProcessTest, EverythingOfARunReachesTheArchive) {
  {
    ControllerProcess controller(bench_, flags());
    const auto stub = connect(controller);
    ScriptedAgent n1(bench_.agent("n1"));
    ScriptedAgent n2(bench_.agent("n2"));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    const std::string run = start_run(*stub);
    EXPECT_TRUE(shows("SELECT outcome FROM railgauge.run WHERE run_id='" + run + "'", "passed"));
    EXPECT_TRUE(
        shows("SELECT count(*) > 0 FROM railgauge.audit WHERE rpc='Control.StartRun'", "t"));
    EXPECT_TRUE(
        shows("SELECT document::jsonb IS NOT NULL AND digest LIKE 'sha256:%' FROM "
              "railgauge.certificates WHERE subject='" +
                  run + "'",
              "t"));
    controller.signal(SIGTERM);
    EXPECT_EQ(controller.wait(), 143) << controller.error_text();
    EXPECT_THAT(controller.error_text(), HasSubstr("writes to the archive as site east"));
  }
  expect_same_after_the_end();
}

TEST_F(MirrorProcessTest, AControllerThatIsKilledLosesAndDoublesNothing) {
  const int kills = !is_full_check() ? 4 : 200;
  for (int kill = 0; kill < kills; ++kill) {
    ControllerProcess controller(bench_, flags());
    const auto stub = connect(controller);
    ScriptedAgent n1(bench_.agent("n1"));
    ScriptedAgent n2(bench_.agent("n2"));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    start_run(*stub);
    ::usleep(static_cast<useconds_t>(30'000 * (kill % 9)));
    controller.signal(SIGKILL);
    controller.wait();
  }
  expect_same_after_the_end();
}

TEST_F(MirrorProcessTest, AnArchiveThatIsAwayDelaysNoStartAndNoStop) {
  std::vector<std::string> away = flags();
  away[0] = "--mirror=postgres://railgauge@/absent?host=/nowhere";
  ControllerProcess controller(bench_, away);
  const auto stub = connect(controller);
  ScriptedAgent n1(bench_.agent("n1"));
  ScriptedAgent n2(bench_.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  const std::string run = start_run(*stub);
  EXPECT_FALSE(run.empty());
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait_for(20).value_or(-1), 143) << controller.error_text();
  EXPECT_THAT(controller.error_text(), HasSubstr("the outbox keeps what is new"));
}

// Under systemd: a standby that sends nothing is killed, and people read its state.
TEST_F(MirrorProcessTest, ADeposedControllerReportsToItsManagerAsAStandby) {
  const auto controller =
      start_watched({"--standby", "--advertise=" + bench_.target(), "--lease-seconds=5"});
  hear("STATUS=attached nodes: 0; no run\n");
  EXPECT_EQ(ask("UPDATE railgauge.lease SET holder='another', generation=generation+1, "
                "expires_at=now() + interval '1 h' RETURNING generation"),
            "2");
  EXPECT_THAT(hear("READY=1\nSTATUS=a standby of site east\n"), HasSubstr("WATCHDOG=1\n"));
  hear("WATCHDOG=1\n");
  EXPECT_FALSE(controller->has_ended()) << controller->error_text();
}

// Its database may be migrated for longer than a watchdog waits.
TEST_F(MirrorProcessTest, AStandbyIsReadyOnceItsDatabaseIsOpenAndAliveBefore) {
  const auto controller =
      start_watched({"--standby", "--advertise=" + bench_.target()}, "hang:standby.opening");
  std::string said = hear("STATUS=a standby of site east, which opens its database\n");
  for (int sign = 0; sign < 4; ++sign) said += hear("WATCHDOG=1\n");
  EXPECT_THAT(said, ::testing::Not(HasSubstr("READY=1")));
}

TEST_F(MirrorProcessTest, AnAddressWithAPasswordIsWrongUse) {
  ControllerProcess controller(bench_, {"--mirror=postgres://a:secret@db/x", "--site=east"});
  EXPECT_EQ(controller.wait(), 2);
  EXPECT_THAT(controller.error_text(), HasSubstr("passfile=FILE"));
  EXPECT_THAT(controller.error_text(), ::testing::Not(HasSubstr("secret")));
  ControllerProcess nameless(bench_, {"--mirror=postgres://db/x"});
  EXPECT_EQ(nameless.wait(), 2);
  EXPECT_THAT(nameless.error_text(), HasSubstr("--mirror needs --site"));
}

}  // namespace
}  // namespace railgauge::mirror
