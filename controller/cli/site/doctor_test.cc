#include "controller/cli/site/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

// An installation in which every check passes.
DoctorFacts sound() {
  DoctorFacts facts{.version = "0.1.0", .address = "unix:/run/railgauge/controller.sock"};
  facts.installation = sample_installation();
  facts.installation->set_newest_backup_at("2026-11-20T03:00:00Z");
  facts.now = *parse_calendar(facts.installation->now_at());
  for (const char* name : {"n1", "n2", "n3"}) {
    api::NodeInfo& one = *facts.nodes.add_nodes();
    one.set_name(name);
    one.set_state("attached");
  }
  api::ScheduleInfo& nightly = *facts.schedules.add_schedules();
  nightly.set_name("nightly");
  nightly.set_state("active");
  nightly.set_next_at("2026-11-21T01:30:00Z");
  facts.metrics = Asked{.has_answer = true, .text = "127.0.0.1:7470 answers: HTTP/1.1 200 OK"};
  return facts;
}

// The checks of one id that do not pass, as "state: observed".
std::vector<std::string> complaints(const DoctorFacts& facts) {
  std::vector<std::string> lines;
  const api::DoctorReport report = examine(facts);
  for (const api::DoctorCheck& check : report.checks()) {
    if (check.state() == "pass") continue;
    lines.push_back(check.id() + " " + check.state() + ": " + check.observed());
    EXPECT_FALSE(check.remedy().empty()) << check.id() << " has no remedy";
  }
  return lines;
}

void expect_complaint(const DoctorFacts& facts, const std::string& complaint) {
  EXPECT_THAT(complaints(facts), testing::Contains(HasSubstr(complaint)));
}

TEST(Doctor, FindsNothingInASoundInstallation) {
  EXPECT_THAT(complaints(sound()), testing::IsEmpty());
  EXPECT_EQ(examine(sound()).state(), "pass");
  EXPECT_EQ(exit_code_of(examine(sound()), sound()), kExitPassed);
}

TEST(Doctor, WithoutAnAnswerOnlyTheControllerFails) {
  DoctorFacts facts = sound();
  facts.installation.reset();
  facts.trouble = "controller unix:/x: not reached: no such file";
  const api::DoctorReport report = examine(facts);
  EXPECT_EQ(report.checks(0).state(), "fail");
  for (int i = 1; i < report.checks_size(); ++i) EXPECT_EQ(report.checks(i).state(), "unknown");
  EXPECT_EQ(exit_code_of(report, facts), kExitInvalid);
}

TEST(Doctor, ABrokenCertificateOfTheUserIsAFailedCheckWithItsRemedy) {
  DoctorFacts facts = sound();
  facts.installation.reset();
  facts.trouble = "--tls-cert /x: bad end line";
  facts.has_no_channel = true;
  facts.user_certificate_fault = facts.trouble;
  const api::DoctorReport report = examine(facts);
  EXPECT_EQ(report.checks(0).observed(), facts.trouble);
  EXPECT_THAT(report.checks(0).remedy(), HasSubstr("railgauge pki renew FOLDER NAME"));
  EXPECT_EQ(report.checks(2).id(), "certificates");
  EXPECT_EQ(report.checks(2).state(), "fail");
  EXPECT_EQ(report.checks(3).state(), "unknown");
}

TEST(Doctor, WarnsOfCertificatesBeforeTheirEndAndFailsAfterIt) {
  DoctorFacts facts = sound();
  facts.user_certificate_ends = facts.now + 20.0 * 24 * 3600;
  expect_complaint(facts, "certificates warn: this user's certificate ends 2026-12-10");
  facts.user_certificate_ends = facts.now - 1;
  expect_complaint(facts, "certificates fail: this user's certificate ended 2026-11-20");
  EXPECT_EQ(exit_code_of(examine(facts), facts), kExitFailed);
  facts = sound();
  facts.installation->mutable_nodes(1)->set_certificate_ends_at("2026-11-25T00:00:00Z");
  expect_complaint(facts, "certificates warn: 1 agents' certificates end within 30 days: n2");
  facts = sound();
  facts.user_certificate_fault = "tls-cert: /x: no such file";
  expect_complaint(facts, "certificates fail: tls-cert");
}

TEST(Doctor, ComparesClocksOfNodesAndOfThisHost) {
  DoctorFacts facts = sound();
  facts.installation->mutable_nodes(2)->set_clock_skew_seconds(-90);
  expect_complaint(facts, "clock fail: 1 clocks are off by up to 90.0 s: n3");
  facts = sound();
  facts.now -= 60;
  expect_complaint(facts, "clock warn: this host's clock is 60.0 s behind the controller's");
}

TEST(Doctor, LooksAtTheDisk) {
  DoctorFacts facts = sound();
  facts.installation->set_metrics("railgauge_db_free_bytes 4e8\nrailgauge_db_size_bytes 1e9\n");
  expect_complaint(facts, "disk fail: ");
  facts.installation->set_metrics("railgauge_db_free_bytes 6e9\nrailgauge_db_size_bytes 9e9\n");
  expect_complaint(facts, "disk warn: ");
  facts.installation->set_metrics("railgauge_db_free_bytes 6e11\nrailgauge_store_read_only 1\n");
  expect_complaint(facts, "disk fail: the database is read-only");
  facts.installation->set_metrics("");
  expect_complaint(facts, "disk unknown: ");
}

TEST(Doctor, ARevocationListHasItsOwnLimitAndRemedy) {
  DoctorFacts facts = sound();
  const auto told_days = [&](double days) {
    facts.installation->set_metrics(
        fmt::format("railgauge_certificate_expiry_timestamp_seconds{{certificate=\"crl\"}} {:.0f}\n"
                    "railgauge_db_free_bytes 2e+11\n",
                    facts.now + days * 24 * 3600));
    return complaints(facts);
  };
  EXPECT_THAT(told_days(29), testing::IsEmpty()) << "pki init makes lists of 30 days";
  EXPECT_THAT(told_days(2), testing::ElementsAre(HasSubstr("controller's revocation list ends")));
  const api::DoctorReport report = examine(facts);
  for (const api::DoctorCheck& check : report.checks())
    if (check.state() == "warn") EXPECT_THAT(check.remedy(), HasSubstr("pki crl FOLDER"));
}

TEST(Doctor, WarnsWhileTheLastReportOfATargetWasLost) {
  DoctorFacts facts = sound();
  facts.installation->set_metrics(facts.installation->metrics() +
                                  "railgauge_deliveries_waiting{target=\"chat\"} 0\n");
  const auto add = [&](const char* kind, const char* text) {
    api::Event& event = *facts.deliveries.add_events();
    event.set_kind(kind);
    event.set_text(text);
  };
  add("delivery_failed", "mail (ops@x): run-3 is not delivered: no");
  add("delivery_failed", "chat (http://h): run-2 is not delivered: HTTP status 404");
  EXPECT_THAT(complaints(facts), testing::ElementsAre("deliveries warn: chat (http://h): run-2 is "
                                                      "not delivered: HTTP status 404"));
  facts.deliveries.Clear();
  add("delivery_works", "chat (http://h): reports are delivered again");
  add("delivery_failed", "chat (http://h): run-2 is not delivered: HTTP status 404");
  EXPECT_THAT(complaints(facts), testing::IsEmpty());
}

TEST(Doctor, BackupsAreLateWhenTheAlertSaysSo) {
  DoctorFacts facts = sound();  // the newest is 9 hours old
  const std::string metrics = facts.installation->metrics();
  facts.installation->set_metrics(metrics +
                                  "railgauge_backup_interval_seconds 3600\n"
                                  "railgauge_backups_total{outcome=\"failed\"} 3\n");
  expect_complaint(facts, "backups warn: the newest is 0.4 days old");
  expect_complaint(facts, "3 failed since the controller's start");
  const api::DoctorReport report = examine(facts);
  for (const api::DoctorCheck& check : report.checks())
    if (check.state() == "warn") EXPECT_THAT(check.remedy(), HasSubstr("events --kind backup"));
  facts.installation->set_metrics(metrics + "railgauge_backup_interval_seconds 86400\n");
  EXPECT_THAT(complaints(facts), testing::IsEmpty());
}

TEST(Doctor, NamesTheScheduleThatIsThere) {
  const auto remedy = [](const DoctorFacts& facts) {
    const api::DoctorReport report = examine(facts);
    for (const api::DoctorCheck& check : report.checks())
      if (check.id() == "schedules") return check.remedy();
    return std::string();
  };
  DoctorFacts facts = sound();
  facts.schedules.mutable_schedules(0)->set_state("paused");
  EXPECT_EQ(remedy(facts), "railgauge schedules set nightly active");
  facts.schedules.Clear();
  EXPECT_THAT(remedy(facts), HasSubstr("schedules add nightly nightly --cron"));
}

TEST(Doctor, NamesTargetsForWhichReportsWait) {
  DoctorFacts facts = sound();
  const std::string metrics = facts.installation->metrics();
  facts.installation->set_metrics(metrics +
                                  "railgauge_deliveries_waiting{target=\"chat\"} 0\n"
                                  "railgauge_deliveries_waiting{target=\"mail\"} 2\n");
  expect_complaint(facts, "deliveries warn: 2 reports wait for mail");
}

TEST(Doctor, NamesOtherVersions) {
  DoctorFacts facts = sound();
  facts.installation->mutable_nodes(0)->set_version("0.0.9");
  facts.installation->mutable_nodes(1)->set_version("0.0.9");
  expect_complaint(facts,
                   "versions warn: 2 agents run 0.0.9 beside the controller's 0.1.0: n[1-2]");
  facts = sound();
  facts.version = "0.2.0";
  expect_complaint(facts, "versions warn: this program is 0.2.0, the controller 0.1.0");
}

TEST(Doctor, AsksForSchedulesBackupsMetricsAndAgents) {
  DoctorFacts facts = sound();
  facts.schedules.mutable_schedules(0)->set_state("paused");
  expect_complaint(facts, "schedules warn: no schedule is active");
  facts.schedules.mutable_schedules(0)->set_state("active");
  facts.schedules.mutable_schedules(0)->set_missed(3);
  expect_complaint(facts, "schedules warn: nightly missed 3");
  facts.schedules.mutable_schedules(0)->set_state("broken");
  expect_complaint(facts, "schedules fail: nightly is broken");
  facts = sound();
  facts.installation->clear_newest_backup_at();
  expect_complaint(facts, "backups warn: there is no backup in /var/lib/railgauge/backups");
  facts.installation->set_newest_backup_at("2026-11-10T03:00:00Z");
  expect_complaint(facts, "backups warn: the newest is 10.4 days old");
  facts = sound();
  facts.metrics = Asked{.text = "127.0.0.1:7470: connect: Connection refused (errno 111)"};
  expect_complaint(facts, "metrics fail: 127.0.0.1:7470");
  facts.metrics.reset();
  expect_complaint(facts, "metrics unknown: ");
  facts.installation->set_metrics_listen("");
  expect_complaint(facts, "metrics warn: ");
  facts = sound();
  facts.nodes.mutable_nodes(1)->set_state("lost");
  expect_complaint(facts, "agents warn: 1 nodes are lost: n2");
  for (api::NodeInfo& node : *facts.nodes.mutable_nodes()) node.set_state("lost");
  expect_complaint(facts, "agents fail: 3 nodes are lost");
  facts.nodes.Clear();
  expect_complaint(facts, "agents warn: no agent has ever attached");
}

TEST(Doctor, ReportsSocketsMemoryAndTroubles) {
  DoctorFacts facts = sound();
  facts.installation->set_insecure(true);
  expect_complaint(facts, "sockets warn: ");
  facts.installation->set_metrics("railgauge_port_accepts 0\nrailgauge_memory_short 1\n");
  expect_complaint(facts, "sockets fail: ");
  expect_complaint(facts, "memory fail: ");
  facts.installation->add_troubles("the disk is full");
  expect_complaint(facts, "controller fail: the disk is full");
  // A controller without a TCP port has none that could take connections.
  facts = sound();
  facts.installation->clear_listen();
  facts.installation->set_metrics("railgauge_port_accepts 0\n");
  EXPECT_THAT(complaints(facts), testing::Not(testing::Contains(HasSubstr("sockets"))));
}

class DoctorVerb : public Commands {};

TEST_F(DoctorVerb, PrintsChecksAndWhatToDo) {
  control_.installation.set_metrics_listen("10.255.255.1:0");  // nobody is asked there
  EXPECT_EQ(run({"doctor"}), kExitPassed) << err_;
  EXPECT_THAT(out_, HasSubstr("CHECK"));
  EXPECT_THAT(out_, HasSubstr("backups"));
  EXPECT_THAT(out_, HasSubstr("TO DO"));
  EXPECT_EQ(run({"doctor"}, Format::kJson), kExitPassed);
  EXPECT_THAT(out_, HasSubstr("\"id\": \"metrics\""));
}

}  // namespace
}  // namespace railgauge::cli
