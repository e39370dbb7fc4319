// The controller itself with a mirror: runs of agents over gRPC, killed in between.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>

#include "controller/api/archive_mark.h"
#include "controller/log/testing/manager_socket.h"
#include "controller/mirror/testing/archive_testing.h"
#include "controller/testing/certificates.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/scripted_agent.h"
#include "controller/testing/server_bench.h"
#include "kernels/core/base/clock.h"

namespace railgauge::mirror {
namespace {

// The long form of the check; deploy/check.sh says 0 for the short one.
bool is_full_check() {
  const char* const wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

using ::testing::AllOf;
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
  [[nodiscard]] std::vector<std::string> with_flags(const std::vector<std::string>& more) const {
    std::vector<std::string> all = flags();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::unique_ptr<api::Control::Stub> connect(const ControllerProcess& controller) {
    EXPECT_TRUE(controller.wait_until_serving()) << controller.error_text();
    return api::Control::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  }
  // Marked: the answer says that the archive may lack the run.
  struct Started {
    std::string run_id{};
    bool is_marked = false;
  };
  static Started start_one(api::Control::Stub& stub) {
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    grpc::ClientContext context;
    api::RunSummary summary;
    const auto started = stub.StartRun(&context, request, &summary);
    EXPECT_TRUE(started.ok()) << started.error_message();
    return {.run_id = summary.run_id(),
            .is_marked = context.GetServerTrailingMetadata().count(api::kArchiveHeader) > 0};
  }
  static std::string start_run(api::Control::Stub& stub) { return start_one(stub).run_id; }
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

// The answer is the last that the controller does.
TEST_F(MirrorProcessTest, ARunWhoseStartIsAnsweredByTheMirrorIsInTheArchive) {
  std::vector<std::string> words = flags();
  words.emplace_back("--acknowledge=mirror");
  const int kills = !is_full_check() ? 4 : 100;
  int unmarked = 0;
  for (int kill = 0; kill < kills; ++kill) {
    ControllerProcess controller(bench_, words);
    const auto stub = connect(controller);
    ASSERT_TRUE(shows("SELECT bool_and(is_done) FROM railgauge.walk", "t"));
    ScriptedAgent n1(bench_.agent("n1"));
    ScriptedAgent n2(bench_.agent("n2"));
    ASSERT_TRUE(welcome(n1) && welcome(n2));
    const Started run = start_one(*stub);
    controller.signal(SIGKILL);
    controller.wait();
    if (run.is_marked) continue;
    ++unmarked;
    EXPECT_EQ(ask("SELECT count(*) FROM railgauge.run WHERE run_id='" + run.run_id + "'"), "1");
  }
  EXPECT_GT(unmarked, kills / 2);
}

TEST_F(MirrorProcessTest, ARunWhoseStartIsAnsweredByTheMirrorIsKnownToTheStandby) {
  ServerBench other;
  const auto words_of = [&](const ServerBench& bench) {
    std::vector<std::string> words = flags();
    for (const char* word : {"--acknowledge=mirror", "--standby", "--lease-seconds=5"})
      words.emplace_back(word);
    words.push_back("--advertise=" + bench.target());
    return words;
  };
  ControllerProcess active(bench_, words_of(bench_));
  const auto stub = connect(active);
  // It cannot sign for nodes, and takes the site over all the same.
  std::filesystem::create_directories(other.path("pki/copy"));
  const testing_agent::Certificates pki(other.path("pki"));
  std::filesystem::copy_file(other.path("pki/ca.crt"), other.path("pki/copy/ca.crt"));
  std::vector<std::string> words = words_of(other);
  for (const char* word : {"--listen=127.0.0.1:0", "--enroll-listen=127.0.0.1:0"})
    words.emplace_back(word);
  words.push_back("--tls-cert=" + pki.tcp().tls_cert);
  words.push_back("--tls-key=" + pki.tcp().tls_key);
  words.push_back("--tls-ca=" + pki.tcp().tls_ca);
  words.push_back("--enroll-pki=" + other.path("pki/copy"));
  ControllerProcess standby(other, words);
  ASSERT_TRUE(
      shows("SELECT count(*) FROM railgauge.controller c JOIN railgauge.lease l USING (site_name) "
            "WHERE c.role='ready' AND c.holder=ANY(l.admitted)",
            "1"));
  ScriptedAgent n1(bench_.agent("n1"));
  ScriptedAgent n2(bench_.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  api::RunRef ref;
  const Started run = start_one(*stub);
  EXPECT_FALSE(run.is_marked);
  ref.set_run_id(run.run_id);
  active.signal(SIGKILL);
  active.wait();
  const auto next = api::Control::NewStub(
      grpc::CreateChannel(other.target(), grpc::InsecureChannelCredentials()));
  grpc::Status found;
  api::RunDetail detail;
  for (int look = 0; look < 600; ++look) {
    grpc::ClientContext context;
    found = next->GetRun(&context, ref, &detail);
    if (found.ok() || found.error_code() == grpc::StatusCode::NOT_FOUND) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(found.ok()) << found.error_message() << standby.error_text();
  EXPECT_THAT(standby.error_text(), AllOf(HasSubstr("pki/copy/ca.key"),
                                          HasSubstr("this host enrols and renews no node")));
}

// The first answer waits for its bound, the next ones for nothing; all of them say so.
TEST_F(MirrorProcessTest, AnAnswerWithoutTheArchiveComesLateAndSaysSo) {
  std::vector<std::string> away = flags();
  away[0] = "--mirror=postgres://railgauge@/absent?host=/nowhere";
  away.emplace_back("--acknowledge=mirror");
  ControllerProcess controller(bench_, away);
  const auto stub = connect(controller);
  const auto seconds_of_write = [&](const std::string& name) {
    api::ScheduleSpec spec;
    spec.set_name(name);
    spec.set_suite("pairs");
    spec.set_cron("0 1 * * 0");
    grpc::ClientContext context;
    api::ScheduleInfo info;
    const double begin = monotonic_now_ns() / 1e9;
    const grpc::Status status = stub->AddSchedule(&context, spec, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(context.GetServerTrailingMetadata().count(api::kArchiveHeader), 1U);
    return monotonic_now_ns() / 1e9 - begin;
  };
  const double first = seconds_of_write("a");
  EXPECT_GE(first, 4.9);
  EXPECT_LT(first, 15);
  EXPECT_LT(seconds_of_write("b"), 4.9);
  grpc::ClientContext context;
  api::ScheduleList list;
  EXPECT_TRUE(stub->ListSchedules(&context, {}, &list).ok());
  EXPECT_EQ(context.GetServerTrailingMetadata().count(api::kArchiveHeader), 0U) << "it only reads";
}

// Nobody waits for an archive at the end of a controller.
TEST_F(MirrorProcessTest, AnAnswerThatWaitsDelaysNoStop) {
  std::vector<std::string> away = flags();
  away[0] = "--mirror=postgres://railgauge@/absent?host=/nowhere";
  away.emplace_back("--acknowledge=mirror");
  ControllerProcess controller(bench_, away);
  const auto stub = connect(controller);
  ScriptedAgent n1(bench_.agent("n1"));
  ScriptedAgent n2(bench_.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  std::thread caller([&] {
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    grpc::ClientContext context;
    api::RunSummary summary;
    static_cast<void>(stub->StartRun(&context, request, &summary));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait_for(20).value_or(-1), 143) << controller.error_text();
  caller.join();
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

// A node of another site, or a forged one: the archive knows who has the lease.
TEST_F(MirrorProcessTest, AnAgentWithAHigherGenerationEndsNoController) {
  ControllerProcess controller(bench_, with_flags({"--standby", "--advertise=" + bench_.target(),
                                                   "--lease-seconds=5", "--mirror-keep-points=9"}));
  const auto stub = connect(controller);
  for (int number = 1; number <= 3; ++number) {
    auto options = bench_.agent("far" + std::to_string(number));
    options.change_hello = [](api::Hello& hello) { hello.set_generation(std::uint64_t{1} << 63); };
    ScriptedAgent far(options);
    EXPECT_FALSE(welcome(far));
    std::this_thread::sleep_for(std::chrono::milliseconds(1'200));
  }
  ScriptedAgent near(bench_.agent("near"));
  EXPECT_TRUE(welcome(near));
  EXPECT_EQ(ask("SELECT generation FROM railgauge.lease"), "1");
  EXPECT_FALSE(controller.has_ended()) << controller.error_text();
  EXPECT_THAT(controller.error_text(), HasSubstr("remove controller-generation"));
  EXPECT_THAT(controller.error_text(), HasSubstr("--mirror-keep-points 9 is less than"));
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
