// Views that the pages read beside the messages of the services, on a whole controller over real
// HTTP.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/console_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_agent::ConsoleServer;
using testing_agent::ScriptedAgent;
using testing_agent::welcome;

class ConsoleReads : public ConsoleServer {
 protected:
  std::string get(const std::string& path) {
    const auto answer = client_->Get("/api/v1/" + path, session_);
    EXPECT_TRUE(answer) << path;
    return answer ? fmt::format("{} {}", answer->status, answer->body) : "";
  }
  void enter() { session_ = sign_in(); }

  httplib::Headers session_{};
};

TEST_F(ConsoleReads, NodesComeInPagesWithTheCountsOfAll) {
  start();
  enter();
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  for (int i = 1; i <= 5; ++i)
    agents.push_back(std::make_unique<ScriptedAgent>(bench_.agent(fmt::format("n{}", i))));
  for (const auto& agent : agents) ASSERT_TRUE(welcome(*agent));
  agents.erase(agents.begin());  // n1 is away
  std::string first;
  for (int i = 0; i < 500 && first.find(R"("attached":4)") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first = get("node_heads?limit=2");
  }
  EXPECT_THAT(first, HasSubstr(R"("name":"n1")"));
  EXPECT_THAT(first, HasSubstr(R"("name":"n2")"));
  EXPECT_THAT(first, Not(HasSubstr(R"("name":"n3")")));
  EXPECT_THAT(first, HasSubstr(R"("next_after":"n2","total":5,"attached":4)"));
  const std::string last = get("node_heads?limit=2&after=n4");
  EXPECT_THAT(last, HasSubstr(R"("name":"n5")"));
  EXPECT_THAT(last, HasSubstr(R"("next_after":null)"));
  EXPECT_THAT(get("node_heads?state=lost"), HasSubstr(R"("matching":1)"));
  EXPECT_THAT(get("node_heads?text=5"), HasSubstr(R"("matching":1)"));
  EXPECT_THAT(get("node_heads?state=asleep"), HasSubstr("attached or lost"));
  EXPECT_THAT(get("node_heads?limit=1001"), HasSubstr("1000 nodes at most"));
}

// Its facts come from the store, whether or not its agent is there.
TEST_F(ConsoleReads, ANodeThatOnlyTheStoreKnowsHasItsFacts) {
  start();
  enter();
  {
    ScriptedAgent agent(bench_.agent("n1"));
    ASSERT_TRUE(welcome(agent));
  }
  bench_.stop();
  start();
  enter();
  ScriptedAgent other(bench_.agent("n2"));
  ASSERT_TRUE(welcome(other));
  const std::string node = get("nodes/n1?with_facts=true");
  EXPECT_THAT(node, HasSubstr(R"("name":"n1")"));
  EXPECT_THAT(node, HasSubstr(R"("state":"lost")"));
  EXPECT_THAT(node, Not(HasSubstr(R"("nics":[])"))) << node;
  EXPECT_THAT(get("nodes/n1?with_facts=true&may_be_old=true"), HasSubstr(R"("state":"lost")"));
  EXPECT_THAT(get("node_heads"), HasSubstr(R"("total":2,"attached":1)"));
}

TEST_F(ConsoleReads, TheReportIsOfTheTimeThatIsAskedFor) {
  start();
  enter();
  const std::string report = get("report?hours=72");
  EXPECT_THAT(report, HasSubstr("200 "));
  EXPECT_THAT(report, HasSubstr(R"("verdict":"invalid")")) << "nothing was measured";
  EXPECT_THAT(report, HasSubstr(R"("markdown":")"));
  EXPECT_THAT(get("report?hours=9999"), HasSubstr("400 "));
  EXPECT_THAT(get("report?hours=24&run_id=r1"), HasSubstr("one of run_id, upgrade_id and hours"));
  EXPECT_THAT(get("report?run_id=no-such-run"), HasSubstr("no-such-run"));
  EXPECT_THAT(get("certificates/no-such-run"), HasSubstr("no-such-run"));
}

TEST_F(ConsoleReads, AMatrixOfAnUnknownRunIsSaidInALine) {
  start();
  enter();
  EXPECT_THAT(get("matrix?run_id=no-such-run"), HasSubstr("no-such-run"));
  EXPECT_THAT(get("matrix/tile?run_id=no-such-run&rows=10000000"), HasSubstr("no-such-run"));
}

TEST_F(ConsoleReads, PointsOfAPairNeedBothNodesAndTheirRun) {
  start();
  enter();
  EXPECT_THAT(get("points/pair?run_id=r1&from=n1"), HasSubstr("run_id, from and to: all three"));
  EXPECT_THAT(get("points/pair?run_id=r1&from=n1&to=n2"), HasSubstr("n1: unknown node"));
  EXPECT_THAT(get("points/pair?run_id=r1&from=n1&to=n2&colour=red"), HasSubstr("400 "));
}

// It names people, so that whoever may only read is refused it here as at the command line.
TEST_F(ConsoleReads, TheAuditTrailIsForThoseWhoMayReadItElsewhere) {
  serve_certificates();
  start();
  session_ = sign_in_with("ann", "operator");
  EXPECT_EQ(post("/api/v1/nodes/n7/resume", acting(session_))->status, 400);
  newest_of("Control.ResumeNodes");
  const std::string trail = get("audit?rpc=Control.ResumeNodes&limit=5");
  EXPECT_THAT(trail, HasSubstr("200 "));
  EXPECT_THAT(trail, HasSubstr(R"("who":"ann","role":"operator")"));
  EXPECT_THAT(trail, HasSubstr("console session 1"));
  EXPECT_THAT(get("audit?who=nobody"), HasSubstr(R"("entries":[])"));
  EXPECT_THAT(get("audit?colour=red"), HasSubstr("400 "));
  session_ = sign_in_with("vic", "viewer");
  EXPECT_THAT(get("audit"), HasSubstr("403 "));
  EXPECT_EQ(newest_of("Archive.ListAudit", "viewer").who(), "vic");
  session_ = {};
  EXPECT_THAT(get("audit"), HasSubstr("401 "));
}

// Root alone is believed: sudo runs as root.
TEST_F(ConsoleReads, ASessionOfSudoNamesWhoRanIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, whose word for another user counts";
  start();
  api::OpenConsoleRequest request;
  request.set_sudo_user("ann\x1b");
  grpc::ClientContext context;
  api::ConsoleTicket ticket;
  const auto stub = api::Console::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  ASSERT_TRUE(stub->OpenConsole(&context, request, &ticket).ok());
  session_ = sign_in_at(path_of(ticket));
  EXPECT_EQ(post("/api/v1/nodes/n7/resume", acting(session_))->status, 400);
  const std::string address = newest_of("Control.ResumeNodes").address();
  EXPECT_THAT(address, testing::EndsWith("console session 1 by sudo of ann\\x1b"));
}

TEST_F(ConsoleReads, ThePreflightOfANodeIsAnActionWithItsReport) {
  start();
  ScriptedAgent agent(bench_.agent("n1"));
  ASSERT_TRUE(welcome(agent));
  enter();
  const httplib::Headers headers = acting(session_);
  const auto unknown = post("/api/v1/nodes/n7/preflight", headers);
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->status, 400) << unknown->body;
  const api::AuditEntry row = newest_of("Control.RunPreflight");
  EXPECT_THAT(row.address(), testing::EndsWith("console session 1"));
  session_ = sign_in();
  post("/api/v1/nodes/n8/preflight", acting(session_));
  std::string address;
  for (int i = 0; i < 500 && !address.ends_with("console session 2"); ++i) {
    address = newest_of("Control.RunPreflight").address();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(address, testing::EndsWith("console session 2")) << "one person, two sessions";
}

}  // namespace
}  // namespace railgauge
