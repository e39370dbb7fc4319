// The effect of a suite and a site profile on plans and figures, through the whole controller with
// scripted agents.
#include <chrono>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/control/run_preparer.h"
#include "controller/store/queries/remarks.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class PlanRunTest : public testing::Test {
 protected:
  void start(std::size_t nodes) {
    bench_.start();
    for (std::size_t i = 1; i <= nodes; ++i) {
      agents_.push_back(
          std::make_unique<ScriptedAgent>(bench_.agent(fmt::format("n{}", i), Script::kPass)));
      ASSERT_TRUE(welcome(*agents_.back()));
    }
  }
  // A suite of one stage of fake.lat.
  void write_suite(const std::string& placement, const std::string& more = "") {
    bench_.write("one.yaml",
                 fmt::format("version: 1\nmetadata: {{name: one}}\nstages:\n  - kernel: fake.lat\n"
                             "    placement: {{{}}}\n{}",
                             placement, more));
  }
  static api::RunRequest request() {
    api::RunRequest request;
    request.mutable_suite()->set_name("one");
    return request;
  }
  api::RunPlan plan() {
    grpc::ClientContext context;
    api::RunPlan plan;
    const grpc::Status status = bench_.stub_->PlanRun(&context, request(), &plan);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return plan;
  }
  // The run at its end.
  api::RunSummary run() {
    grpc::ClientContext start_context;
    api::RunSummary summary;
    const grpc::Status status = bench_.stub_->StartRun(&start_context, request(), &summary);
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    api::RunRef ref;
    ref.set_run_id(summary.run_id());
    auto stream = bench_.stub_->WatchRun(&context, ref);
    api::RunEvent event;
    while (stream->Read(&event)) summary = event.run();
    return summary;
  }

  ServerBench bench_;
  std::vector<std::unique_ptr<ScriptedAgent>> agents_;
};

// The scripted agents report 1,500 ns.
TEST_F(PlanRunTest, APointBeyondTheSuitesCeilingMakesTheTaskFailedAndNamesIt) {
  write_suite("pairs: all", "    limits: [{metric: latency_ns, size: 8, ceiling: 1us}]\n");
  start(2);
  const api::RunSummary ended = run();
  EXPECT_EQ(ended.outcome(), "failed");
  EXPECT_THAT(ended.reason(),
              HasSubstr("latency_ns at 8 is 1.50 us, above the suite's ceiling of 1.00 us"));
  EXPECT_EQ(ended.outcomes().at("failed"), 1U);
}

TEST_F(PlanRunTest, APointWithinTheSuitesLimitsPasses) {
  write_suite("pairs: all", "    limits: [{metric: latency_ns, floor: 1us, ceiling: 2us}]\n");
  start(2);
  EXPECT_EQ(run().outcome(), "passed");
}

TEST_F(PlanRunTest, TheSitesTopologyOrdersRoundsAndIsTold) {
  bench_.write("topology.conf", "SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\n");
  bench_.write("site", fmt::format("version: 1\nmetadata: {{name: s}}\ndefaults: {{}}\n"
                                   "topology: {{source: slurm, file: {}}}\n",
                                   bench_.path("topology.conf")));
  bench_.config_.site_profile = bench_.path("site");
  write_suite("pairs: all");
  start(4);
  const api::RunPlan planned = plan();
  EXPECT_EQ(planned.topology(), "slurm");
  EXPECT_EQ(planned.rounds(), 3U);
  std::vector<std::string> distances;
  for (const auto& round : planned.planned_rounds()) {
    distances.push_back(round.distance());
    EXPECT_FALSE(round.mixed());
  }
  EXPECT_THAT(distances, ElementsAre("within_leaf", "across_fabric", "across_fabric"));
  ASSERT_EQ(planned.tasks_size(), 6);
  EXPECT_THAT(planned.tasks(0).endpoints(0), HasSubstr("n1/"));
  EXPECT_THAT(planned.tasks(0).endpoints(1), HasSubstr("n3/"));
}

// One kind of label is a leaf's, as the profile names it; the nodes report others too.
TEST_F(PlanRunTest, LeavesComeFromTheNodesOwnLabelsWithoutAFile) {
  bench_.write("site",
               "version: 1\nmetadata: {name: s}\ndefaults: {}\n"
               "topology: {source: labels, leaf: rack}\n");
  bench_.config_.site_profile = bench_.path("site");
  write_suite("pairs: all");
  start(0);
  for (const auto& [name, rack] :
       {std::pair{"n1", "a"}, std::pair{"n2", "b"}, std::pair{"n3", "a"}, std::pair{"n4", "b"}}) {
    testing_agent::AgentOptions options = bench_.agent(name);
    options.change_hello = [rack = std::string(rack)](api::Hello& hello) {
      (*hello.mutable_facts())["rack"] = rack;
      (*hello.mutable_facts())["leaf"] = "of another meaning";
    };
    agents_.push_back(std::make_unique<ScriptedAgent>(options));
    ASSERT_TRUE(welcome(*agents_.back()));
  }
  const api::RunPlan planned = plan();
  EXPECT_EQ(planned.topology(), "labels");
  std::vector<std::string> distances;
  for (const auto& round : planned.planned_rounds()) distances.push_back(round.distance());
  EXPECT_THAT(distances, ElementsAre("within_leaf", "across_fabric", "across_fabric"));
  EXPECT_EQ(run().outcome(), "passed");
}

TEST_F(PlanRunTest, ATopologyFileThatIsGoneIsToldWhenAPlanWantsIt) {
  bench_.write("site",
               "version: 1\nmetadata: {name: s}\ndefaults: {}\n"
               "topology: {source: slurm, file: /nonexistent/topology.conf}\n");
  bench_.config_.site_profile = bench_.path("site");
  write_suite("pairs: all");
  start(2);
  grpc::ClientContext context;
  api::RunPlan planned;
  const grpc::Status status = bench_.stub_->PlanRun(&context, request(), &planned);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("/nonexistent/topology.conf: open"));
}

TEST_F(PlanRunTest, AListOfPairsIsReadBesideTheSuite) {
  bench_.write("mine.pairs", "1 n1 n3\n2 n2 n3\n");
  write_suite("pairs: custom, file: mine.pairs");
  start(3);
  const api::RunPlan planned = plan();
  EXPECT_EQ(planned.rounds(), 2U);
  EXPECT_EQ(planned.tasks_total(), 2);
}

TEST_F(PlanRunTest, TheSliceOfADayIsOneOfThem) {
  write_suite("pairs: all, slice: 3");
  start(4);
  const api::RunPlan planned = plan();
  EXPECT_EQ(planned.rounds(), 1U);
  EXPECT_THAT(planned.notes(0), HasSubstr("of 3: 1 of 3 rounds"));
}

TEST_F(PlanRunTest, ANameWithASliceIsThatSlice) {
  write_suite("pairs: all");
  start(4);
  api::RunRequest third = request();
  third.mutable_suite()->set_name("one:3/3");
  grpc::ClientContext context;
  api::RunPlan planned;
  const grpc::Status status = bench_.stub_->PlanRun(&context, third, &planned);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(planned.rounds(), 1U);
  EXPECT_THAT(planned.notes(0), HasSubstr("slice 3 of 3: 1 of 3 rounds"));
  third.mutable_suite()->set_name("one:4/3");
  grpc::ClientContext wrong;
  EXPECT_THAT(bench_.stub_->PlanRun(&wrong, third, &planned).error_message(),
              HasSubstr("must be K/N"));
}

// The scripted agents have one NIC each and are alike.
class ProofPlanTest : public PlanRunTest {
 protected:
  void SetUp() override {
    write_suite("pairs: partners, directions: both");
    start(12);
  }
  Result<api::RunPlan> proof_of(const std::string& nodes) {
    api::RunRequest request = PlanRunTest::request();
    request.set_trigger("prove");
    request.set_node_set(nodes);
    return bench_.server_->control().plan_run(request);
  }
  // Beside the controller, which would need weeks of nights.
  void open_finding(const std::string& suspect) {
    auto connection =
        store::Connection::open(bench_.path("railgauge.db"), store::Connection::Mode::kCreate, 1);
    ASSERT_TRUE(connection) << connection.error().message;
    const Status written = store::write_finding(*connection, {.finding_id = "f-" + suspect,
                                                              .kind = "part",
                                                              .severity = "warning",
                                                              .suspect = suspect,
                                                              .summary = "slow",
                                                              .opened_at = 1});
    ASSERT_TRUE(written) << written.error().message;
  }
};

TEST_F(ProofPlanTest, AddsSevenPartnersThatMeetTheNodeBothWays) {
  const auto plan = proof_of("n1");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->nodes_size(), 8);
  EXPECT_EQ(plan->nodes(0), "n1");
  std::set<std::string> sends;
  for (const api::PlannedTask& task : plan->tasks())
    if (task.endpoints(0).starts_with("n1/") || task.endpoints(1).starts_with("n1/"))
      EXPECT_TRUE(sends.insert(task.endpoints(0) + " " + task.endpoints(1)).second);
  EXPECT_EQ(sends.size(), 14U) << "seven partners, both ways";
}

TEST_F(ProofPlanTest, TakesNoPartnerThatAFindingNamesOrThatIsPaused) {
  open_finding("n2 rail 0, sending");
  open_finding("n3/nic0:1 n4/nic0:1");
  api::PauseNodesRequest pause;
  pause.set_node_set("n1,n5");
  pause.set_reason("DIMM");
  pause.set_for_seconds(3'600);
  ASSERT_TRUE(bench_.server_->control().pause_nodes(pause, "ann"));
  const auto plan = proof_of("n1");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->nodes(),
              testing::UnorderedElementsAre("n1", "n6", "n7", "n8", "n9", "n10", "n11", "n12"))
      << "the paused node itself is proved";
}

TEST_F(ProofPlanTest, WithoutNodesIsWrongUse) {
  const auto plan = proof_of("");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  EXPECT_THAT(plan.error().message, HasSubstr("which nodes?"));
}

}  // namespace
}  // namespace railgauge
