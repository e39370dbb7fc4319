// Upgrades that nobody gates: the controller proposes or gates them by its policy.
#include "controller/gate/upgrade_watch.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "controller/api/judge.grpc.pb.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/upgrade_gate.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_agent::UpgradeGate;

class UpgradePolicy : public UpgradeGate {
 protected:
  void SetUp() override {
    bench_.config_.upgrade_policy = policy_;
    bench_.config_.upgrade_window = window_;
    UpgradeGate::SetUp();
  }
  static double in_a_while() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
               .count() +
           kStableSeconds + 60;
  }
  // Begins a gate as the CLI does, which is then killed.
  void begin_and_die(api::GateRequest request = {}) {
    const auto judge = api::Judge::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    request.set_node_set("n1,n2");
    api::GateStep step;
    for (int tries = 0; step.state() != "measuring" && tries < 300; ++tries) {
      grpc::ClientContext context;
      const grpc::Status status = judge->GateUpgrade(&context, request, &step);
      ASSERT_TRUE(status.ok()) << status.error_message();
      if (step.state() != "measuring") std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_EQ(step.state(), "measuring") << step.reason();
  }
  // Until the newest run has ended.
  void wait_for_newest() {
    ASSERT_EQ(cli("runs -o json --limit 1"), 0) << said_;
    const std::string key = "\"run_id\": \"";
    const std::size_t at = said_.find(key) + key.size();
    ASSERT_EQ(cli("runs wait " + said_.substr(at, said_.find('"', at) - at)), 0) << said_;
  }
  // Until the newest run, which did not pass, has ended; it is shown.
  void wait_for_end() {
    for (int tries = 0; tries < 300; ++tries) {
      ASSERT_EQ(cli("runs -o json --limit 1"), 0) << said_;
      if (said_.find("\"state\": \"ended\"") != std::string::npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  // Behind the controller's back.
  void edit(const char* sql) const {
    auto connection =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kCreate, 5);
    ASSERT_TRUE(connection) << connection.error().message;
    const Status edited =
        connection->script(fmt::format("PRAGMA foreign_keys=OFF; {}", sql).c_str());
    ASSERT_TRUE(edited) << edited.error().message;
  }
  // How often it was said.
  [[nodiscard]] std::size_t count(const std::string& word) const {
    std::size_t times = 0;
    for (std::size_t at = said_.find(word); at != std::string::npos; at = said_.find(word, at + 1))
      ++times;
    return times;
  }
  std::string policy_ = "propose";
  std::string window_;
};

TEST_F(UpgradePolicy, ProposesOnceWhatChangedTogetherAndStayedSo) {
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  bench_.server_->watch_upgrades(in_a_while() - kStableSeconds);
  const std::string events = "sql \"SELECT text FROM event WHERE kind='upgrade_proposed'\" -o csv";
  ASSERT_EQ(cli(events), 0) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("gate"))) << "it may still go on";
  for (int look = 0; look < 2; ++look) bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli(events), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("linux_kernel -> 6.5.0"),
                           HasSubstr("railgauge upgrades gate --nodes n[1-2] says")));
  EXPECT_EQ(said_.find("gate"), said_.rfind("gate")) << "once";
  bench_.stop();
  edit("UPDATE event SET text=replace(text, '15 minutes', '9 minutes')");
  bench_.start();
  for (const char* name : {"n1", "n2"}) boot(name, "6.5.0");
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli(events), 0) << said_;
  EXPECT_EQ(said_.find("gate"), said_.rfind("gate")) << "once for the cohort, whatever the text";
}

// Where people, pipelines and Prometheus look.
TEST_F(UpgradePolicy, AProposalIsListedAndCountedUntilItsNodesAreMeasured) {
  prepare();
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  const auto metric = [this] {
    httplib::Client client("127.0.0.1", bench_.server_->metrics_port());
    const auto page = client.Get("/metrics");
    const std::string key = "\nrailgauge_upgrades_proposed ";
    return page ? page->body.substr(page->body.find(key) + key.size(), 1) : "";
  };
  EXPECT_EQ(metric(), "0");
  bench_.server_->watch_upgrades(in_a_while());
  EXPECT_EQ(metric(), "1");
  ASSERT_EQ(cli("upgrades"), 0) << said_;
  EXPECT_LT(said_.find("proposed"), said_.find("prepared")) << "it waits for somebody";
  EXPECT_THAT(said_, HasSubstr("changed linux_kernel -> 6.5.0; railgauge upgrades gate --nodes "
                               "n[1-2]"));
  ASSERT_EQ(cli("upgrades -o json"), 0) << said_;
  EXPECT_LT(said_.find("\"prepared\""), said_.find("\"proposed\"")) << "the first is an upgrade";
  edit("UPDATE event SET at=at-3600");  // now, where the look was in a while
  ASSERT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  bench_.server_->watch_upgrades(in_a_while());
  EXPECT_EQ(metric(), "0");
  ASSERT_EQ(cli("upgrades -o csv"), 0) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("proposed")));
}

class UpgradeOffPolicy : public UpgradePolicy {
 protected:
  UpgradeOffPolicy() { policy_ = "off"; }
};

TEST_F(UpgradeOffPolicy, AGateWhoseCallerIsGoneIsJudgedAndNoOtherIsProposed) {
  prepare();
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  api::GateRequest terms;
  terms.set_min_coverage(0.95);
  begin_and_die(terms);
  wait_for_newest();
  ASSERT_EQ(cli("upgrades -o json"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("\"state\": \"measuring\"")) << said_;
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("upgrades -o csv"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("regressed,performance"));
  ASSERT_EQ(cli("upgrades show"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("95 % of the changed pairs")) << "the terms outlive the caller";
  ASSERT_EQ(cli("findings"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("-performance"));
  boot("n3", "6.6.0");
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("sql \"SELECT text FROM event WHERE kind='upgrade_proposed'\" -o csv"), 0);
  EXPECT_THAT(said_, testing::Not(HasSubstr("gate")));
}

TEST_F(UpgradeOffPolicy, AGateThatIsAskedForAgainContinuesWithItsRun) {
  prepare();
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  begin_and_die();
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --expect linux_kernel=6.6"), 4) << said_;
  EXPECT_THAT(said_, HasSubstr("expected 6.6"));
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --on-inconclusive fail"), 1) << said_;
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  EXPECT_EQ(std::ranges::count(said_, '\n'), 3) << "a run a side: " << said_;
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --on-inconclusive fail"), 1) << said_;
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  EXPECT_EQ(std::ranges::count(said_, '\n'), 4) << "judged, so it is measured anew: " << said_;
}

// The nodes answer no task, so that the run would last until the deadlines of its tasks.
TEST_F(UpgradeOffPolicy, TheTimeLimitOfAGateWhoseCallerIsGoneEndsItsRunAndItIsJudged) {
  prepare();
  boot("n1", "6.5.0", 1'500, testing_agent::Script::kHang);
  boot("n2", "6.5.0", 1'500, testing_agent::Script::kHang);
  api::GateRequest terms;
  terms.set_time_limit_seconds(600);
  begin_and_die(terms);
  bench_.server_->watch_upgrades(in_a_while() - kStableSeconds - 60);
  ASSERT_EQ(cli("upgrades -o json"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("\"state\": \"measuring\"")) << "the limit is not over";
  bench_.server_->watch_upgrades(in_a_while());
  wait_for_end();
  EXPECT_THAT(said_, HasSubstr("cancelled by the time limit of its gate"));
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("upgrades show --exit-code"), 4) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("invalid"), HasSubstr("time limit"))) << "nothing measured";
}

class UpgradeRunPolicy : public UpgradePolicy {
 protected:
  UpgradeRunPolicy() { policy_ = "run"; }
};

TEST_F(UpgradeRunPolicy, GatesWhatWasPreparedAndKeepsTheFinding) {
  prepare();
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("policy"));
  ASSERT_EQ(cli("upgrades show -o json"), 0) << said_;
  const std::string key = "\"after_runs\": [";
  const std::size_t at = said_.find('"', said_.find(key) + key.size());
  const std::string run = said_.substr(at + 1, said_.find('"', at + 1) - at - 1);
  ASSERT_EQ(cli("runs wait " + run), 0) << said_;
  bench_.server_->watch_upgrades(in_a_while());
  EXPECT_EQ(cli("findings"), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("-performance"), testing::Not(HasSubstr("confirmed"))));
  wait_for_newest();
  bench_.server_->watch_upgrades(in_a_while());
  EXPECT_EQ(cli("findings"), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("-performance"), HasSubstr("confirmed")))
      << "measured once more before anybody is paged";
  bench_.server_->watch_upgrades(in_a_while());
  EXPECT_EQ(cli("upgrades -o csv"), 0);
  EXPECT_EQ(std::ranges::count(said_, '\n'), 2) << "it is handled: " << said_;
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  EXPECT_EQ(count("policy"), 2U) << "confirmed once: " << said_;
}

TEST_F(UpgradeRunPolicy, ACohortThatCannotBeMeasuredSaysWhyAndKeepsNoOtherWaiting) {
  ASSERT_EQ(cli("upgrades prepare --nodes n3 --controls n4"), 0) << said_;
  boot("n1", "6.5.0");  // comes first, and was never measured
  boot("n3", "6.6.0");
  for (int look = 0; look < 2; ++look) bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("policy"));
  ASSERT_EQ(cli("sql \"SELECT text FROM event WHERE kind='upgrade_proposed'\" -o csv"), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("n1 changed linux_kernel -> 6.5.0"),
                           HasSubstr("not measured by policy: no before side")));
  EXPECT_EQ(said_.find("by policy"), said_.rfind("by policy")) << "once: " << said_;
}

TEST_F(UpgradeRunPolicy, AnUpgradeThatCannotBeJudgedKeepsNoOtherWaiting) {
  ASSERT_EQ(cli("upgrades prepare --nodes n1 --controls n2"), 0) << said_;
  ASSERT_EQ(cli("upgrades prepare --nodes n3 --controls n4"), 0) << said_;
  boot("n1", "6.5.0");
  bench_.server_->watch_upgrades(in_a_while());
  wait_for_newest();
  edit("UPDATE upgrade_node SET stack_before=9999 WHERE upgrade=1");
  boot("n3", "6.6.0");
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  EXPECT_EQ(count("policy"), 2U) << said_;
}

// Judged when its window was over, or nodes were busy.
TEST_F(UpgradeRunPolicy, WhatStayedInconclusiveIsMeasuredOnceMoreAtALaterLook) {
  prepare();
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  bench_.server_->watch_upgrades(in_a_while());
  wait_for_newest();
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  ASSERT_EQ(count("policy"), 1U) << "a pass: " << said_;
  edit(
      "UPDATE upgrade SET verdict='inconclusive', report='{\"verdict\": \"inconclusive\", "
      "\"metrics\": [{\"verdict\": \"inconclusive\", \"more_runs\": 3}]}'");
  bench_.server_->watch_upgrades(in_a_while() + 8 * 86'400.0);
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  EXPECT_EQ(count("policy"), 1U) << "too old: " << said_;
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv"), 0) << said_;
  EXPECT_EQ(count("policy"), 2U) << said_;
  ASSERT_EQ(cli("upgrades -o csv"), 0) << said_;
  EXPECT_EQ(std::ranges::count(said_, '\n'), 2) << "of the same upgrade: " << said_;
}

// A window that begins in four hours and lasts two.
class UpgradeWindow : public UpgradeRunPolicy {
 protected:
  UpgradeWindow() {
    const auto hour = static_cast<std::int64_t>(in_a_while() / 3600) % 24;
    window_ = fmt::format("{:02}:00-{:02}:00", (hour + 4) % 24, (hour + 6) % 24);
  }
};

TEST_F(UpgradeWindow, OutsideOfItIsProposedAndInsideItIsMeasured) {
  prepare();
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  bench_.server_->watch_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("policy")));
  ASSERT_EQ(cli("sql \"SELECT text FROM event WHERE kind='upgrade_proposed'\" -o csv"), 0);
  EXPECT_THAT(said_, HasSubstr("railgauge upgrades gate --nodes n[1-2]"));
  bench_.server_->watch_upgrades(in_a_while() + 5 * 3600);
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("policy"));
}

}  // namespace
}  // namespace railgauge
