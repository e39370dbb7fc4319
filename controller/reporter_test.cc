// Reports on their way to people: of scheduled runs by a whole controller and its program, and of
// confirmed findings.
#include "controller/reporter.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/deliver/testing/receiver.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/schedules_bench.h"

namespace railgauge {
namespace {

using deliver::Receiver;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_agent::ControllerProcess;
using testing_agent::SchedulesTest;

class DeliveriesTest : public SchedulesTest {
 protected:
  void SetUp() override {
    bench_.write("secret", "s3cret\n");
    ::chmod(bench_.path("secret").c_str(), 0640);
  }
  void start_with(const std::string& url) {
    bench_.config_.deliver.webhook_url = url;
    bench_.config_.deliver.secret_file = bench_.path("secret");
    SchedulesTest::SetUp();
  }
  // Runs the suite by a schedule and returns the run's id after its end.
  std::string run_by_schedule() {
    EXPECT_TRUE(add(minutely()).ok());
    bench_.server_->start_due(next_minute() + 1);
    for (const api::RunSummary& run : runs())
      if (run.trigger() == "schedule") return bench_.end_of(run.run_id()).run().run_id();
    return "";
  }
  [[nodiscard]] std::vector<store::DeliveryRow> waiting() const {
    auto store = store::Store::open({.path = bench_.config_.database});
    EXPECT_TRUE(store) << store.error().message;
    auto rows = (*store)->read(store::read_waiting_deliveries);
    EXPECT_TRUE(rows);
    return *rows;
  }
};

TEST_F(DeliveriesTest, TheReportOfAScheduledRunIsSentOnceAfterAFault) {
  Receiver receiver("s3cret");
  receiver.answer_next({500});
  start_with(receiver.url());
  const std::string run_id = run_by_schedule();
  ASSERT_FALSE(run_id.empty());
  const auto posts = receiver.posts(2);
  ASSERT_THAT(posts, SizeIs(2));
  EXPECT_EQ(posts[0].status, 500);
  EXPECT_EQ(posts[1].status, 200);
  EXPECT_EQ(posts[1].id, "run-" + run_id);
  EXPECT_EQ(posts[1].digest, posts[0].digest) << "the same bytes again";
  EXPECT_THAT(posts[1].body, AllOf(HasSubstr("\"report_id\":\"run-" + run_id + "\""),
                                   HasSubstr("\"cause\":\"run\""), HasSubstr("\"verdict\":")));
  EXPECT_THAT(stored_event("delivery_late"), HasSubstr("HTTP status 500"));
  EXPECT_THAT(waiting(), IsEmpty());
}

// A finding of another run is open, and a proposal of last week waits.
TEST_F(DeliveriesTest, TheReportOfAScheduledRunIsTheMorning) {
  Receiver receiver("");
  {
    auto store = store::Store::open({.path = bench_.config_.database});
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE((*store)->write(store::write_finding, {.finding_id = "step-old",
                                                       .kind = "step",
                                                       .severity = "warning",
                                                       .suspect = "n9",
                                                       .summary = "slow",
                                                       .evidence = "{}",
                                                       .opened_at = 1e9}));
    const report::Proposal proposal{.nodes = {"n8", "n9"}, .to = "gpu_driver -> 9"};
    ASSERT_TRUE((*store)->add_event({.at = 1e9,
                                     .kind = std::string(report::kProposedKind),
                                     .text = report::proposal_text(proposal, 900)}));
  }
  start_with(receiver.url());
  ASSERT_FALSE(run_by_schedule().empty());
  const auto posts = receiver.posts(1);
  ASSERT_THAT(posts, SizeIs(1));
  EXPECT_THAT(posts[0].body,
              AllOf(HasSubstr("\"finding_id\":\"step-old\""), HasSubstr("\"nodes\":\"n[8-9]\""),
                    HasSubstr("\"schedule\":\"")));
}

TEST_F(DeliveriesTest, ARunOfAPersonIsTheirsToAskFor) {
  Receiver receiver("s3cret");
  start_with(receiver.url());
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(call(&api::Control::Stub::StartRun, request, run).ok());
  bench_.end_of(run.run_id());
  const std::string scheduled = "run-" + run_by_schedule();
  const auto posts = receiver.posts(1);
  ASSERT_THAT(posts, SizeIs(1));
  EXPECT_EQ(posts[0].id, scheduled) << "the other one was judged before";
}

// Nobody listens while the run ends; the program that is started afterwards has what waits.
TEST_F(DeliveriesTest, WhatWaitsIsSentByTheProgramAfterARestart) {
  int port = 0;
  {
    const Receiver gone("");
    port = gone.port();
  }
  start_with(fmt::format("http://127.0.0.1:{}/hook", port));
  const std::string run_id = run_by_schedule();
  ASSERT_FALSE(run_id.empty());
  const std::string late = "railgauge_deliveries_waiting{target=\"webhook\"} 1";
  httplib::Client metrics("127.0.0.1", bench_.server_->metrics_port());
  bool is_late = false;
  for (int look = 0; look < 1'000 && !is_late; ++look) {
    const auto page = metrics.Get("/metrics");
    is_late = page && page->body.find(late) != std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_late);
  EXPECT_THAT(stored_event("delivery_late"), HasSubstr("no connection"));
  ASSERT_THAT(waiting(), SizeIs(1));
  Receiver receiver("s3cret", port);
  ASSERT_EQ(receiver.port(), port) << "another program took the port";
  bench_.write("mail.sh", "#!/bin/sh\ncat >" + bench_.path("mail") + "\n");
  std::filesystem::permissions(bench_.path("mail.sh"), std::filesystem::perms::owner_all);
  ControllerProcess program(
      bench_, {"--webhook-url=" + receiver.url(), "--webhook-secret-file=" + bench_.path("secret"),
               "--sendmail=" + bench_.path("mail.sh"), "--mail-to=ops@h"});
  const auto posts = receiver.posts(1);
  ASSERT_THAT(posts, SizeIs(1)) << program.error_text();
  EXPECT_EQ(posts[0].status, 200);
  EXPECT_EQ(posts[0].id, "run-" + run_id);
  // A program that is stopped between the answer and its row sends again after the next start.
  for (int look = 0; look < 1'000 && program.error_text().find("is delivered") == std::string::npos;
       ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  program.signal(SIGTERM);
  program.wait();
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(DeliveriesTest, TheControllerRefusesSettingsThatItCannotUse) {
  ControllerProcess program(bench_, {"--webhook-url=ftp://h", "--check-config"});
  EXPECT_EQ(program.wait(), 2);
  EXPECT_THAT(program.error_text(), HasSubstr("--webhook-url: the URL is not usable"));
  ControllerProcess other(bench_, {"--webhook-url=http://h", "--webhook-format=xml"});
  EXPECT_EQ(other.wait(), 2);
  EXPECT_THAT(other.error_text(), HasSubstr("--webhook-format \"xml\": json, slack or teams"));
}

// A report's source of one run without tasks.
report::Source source_of_one_run() {
  return {.nodes = [] { return api::NodeList(); },
          .runs = [](std::uint32_t) { return api::RunList(); },
          .groups =
              [](const std::string& run_id) {
                api::TaskGroups groups;
                groups.mutable_run()->set_run_id(run_id);
                groups.mutable_run()->set_created_at("2026-01-01T00:00:00.000Z");
                groups.mutable_run()->set_state("ended");
                return groups;
              },
          .suspects = [](const std::string&) -> Result<api::SuspectList> {
            return fail(Code::kFailedPrecondition, "no pairs");
          },
          .findings = [](const std::string&, std::uint32_t) { return api::FindingList(); },
          .finding = [](const std::string&) { return api::Finding(); },
          .upgrades = [](std::uint32_t) { return api::UpgradeList(); },
          .upgrade =
              [](const std::string& id) {
                api::Upgrade upgrade;
                upgrade.set_upgrade_id(id);
                return upgrade;
              },
          .schedules = [](const std::string&) { return api::ScheduleList(); },
          .events = [](double, std::uint32_t) { return api::EventList(); },
          .proposals = [](std::uint32_t) { return api::EventList(); }};
}

class ConfirmedTest : public testing::Test {
 protected:
  // A run that a person started found something, and `confirmed_by` saw it again.
  void confirm(const std::string& confirmed_by, const std::string& upgrade_id = "") {
    store::plan_run(*store_, "r1", 1);
    ASSERT_TRUE(store_->create_run(store::run_row(confirmed_by), store::pair_tasks(1)));
    store::FindingRow finding{.finding_id = "step-n1",
                              .kind = "step",
                              .severity = "warning",
                              .run_id = "r1",
                              .suspect = "n1",
                              .summary = "slow",
                              .evidence = "{}",
                              .opened_at = 1e9,
                              .upgrade_id = upgrade_id};
    ASSERT_TRUE(store_->write(store::write_finding, finding));
    finding.run_id = confirmed_by;
    ASSERT_TRUE(store_->write(store::write_finding_again, finding,
                              {.at = 4e9, .who = "judge", .action = "confirm"}));
  }
  std::unique_ptr<Reporter> reporter(const std::string& url) {
    auto targets = deliver::read_targets({.webhook_url = url});
    EXPECT_TRUE(targets);
    return std::make_unique<Reporter>(
        *targets, "",
        Reporter::Site{.store = *store_,
                       .series = series_,
                       .note = [](const std::string&, const std::string&) {}},
        source_of_one_run());
  }
  store::TempFolder folder_;
  std::unique_ptr<store::Store> store_ = store::open_store(folder_.file("db"));
  metric::Registry series_{metric::Owner::kController};
};

TEST_F(ConfirmedTest, ARunThatConfirmsAFindingIsReportedWhoeverStartedIt) {
  Receiver receiver("");
  confirm("r2");
  const auto sender = reporter(receiver.url());
  sender->run_judged("r1");  // it confirmed nothing
  sender->run_judged("r2");
  sender->run_judged("r2");
  const auto posts = receiver.posts(1);
  ASSERT_THAT(posts, SizeIs(1));
  EXPECT_EQ(posts[0].id, "run-r2");
  EXPECT_THAT(posts[0].body,
              AllOf(HasSubstr("\"cause\":\"finding\""), HasSubstr("\"confirmed\":[\"step-n1\"]")));
}

TEST_F(ConfirmedTest, AnUpgradeThatConfirmsAFindingIsReportedOnce) {
  Receiver receiver("");
  store::plan_run(*store_, "r0", 1);
  ASSERT_TRUE(store_->write(
      store::write_upgrade,
      {.upgrade_id = "u1", .suite = "quick", .requested_by = "ann", .created_at = 1e9}));
  confirm("r2", "u1");
  const auto sender = reporter(receiver.url());
  sender->run_judged("r2");  // that of the upgrade says more
  sender->look_for_upgrades(0);
  sender->look_for_upgrades(0);
  const auto posts = receiver.posts(1);
  ASSERT_THAT(posts, SizeIs(1));
  EXPECT_EQ(posts[0].id, "upgrade-u1-r2");
  EXPECT_THAT(posts[0].body, HasSubstr("\"scope\":\"upgrade\""));
}

}  // namespace
}  // namespace railgauge
