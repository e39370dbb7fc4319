// Every method of every service, found by reflection, called by every identity over real
// connections, compared with the table below. The table is written apart from the product's.
#include "controller/rpc/rights.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/certificates.h"
#include "controller/testing/server_bench.h"

namespace railgauge::rpc {
namespace {

using testing::ElementsAreArray;
using testing_agent::Certificates;
using testing_agent::connection;
using testing_agent::ServerBench;

// Who may make a call: a bit for each identity.
using Who = unsigned;
constexpr Who kAnn = 1;        // a certificate with OU=operator
constexpr Who kBob = 2;        // OU=viewer
constexpr Who kN1 = 4;         // OU=agent
constexpr Who kJanitor = 8;    // an OU that is no role
constexpr Who kBoth = 16;      // OU=agent and OU=operator
constexpr Who kSocket = 32;    // a user at the unix socket
constexpr Who kInsecure = 64;  // anybody, where the server was started with --insecure

constexpr Who kAnybody = 127;
constexpr Who kNodes = kN1 | kSocket | kInsecure;
constexpr Who kChangers = kAnn | kSocket | kInsecure;
constexpr Who kReaders = kChangers | kBob;
constexpr Who kAdmins = kSocket | kInsecure;

const std::map<std::string, Who>& expectations() {
  static const std::map<std::string, Who> table{
      {"/grpc.health.v1.Health/Check", kAnybody},
      {"/grpc.health.v1.Health/Watch", kAnybody},
      {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kAnybody},
      {"/railgauge.api.AgentLink/Attach", kNodes},
      {"/railgauge.api.Archive/BackUp", kChangers},
      {"/railgauge.api.Archive/CheckDatabase", kChangers},
      {"/railgauge.api.Archive/CompareRuns", kReaders},
      {"/railgauge.api.Archive/ExportPoints", kReaders},
      {"/railgauge.api.Archive/FindPoints", kReaders},
      {"/railgauge.api.Archive/GetBundlePart", kReaders},
      {"/railgauge.api.Archive/GetHistory", kReaders},
      {"/railgauge.api.Archive/GetMatrix", kReaders},
      {"/railgauge.api.Archive/GetMatrixOverview", kReaders},
      {"/railgauge.api.Archive/GetMatrixBlock", kReaders},
      {"/railgauge.api.Archive/GetSpace", kReaders},
      {"/railgauge.api.Archive/GetSuspects", kReaders},
      {"/railgauge.api.Archive/GetTaskGroups", kReaders},
      {"/railgauge.api.Archive/GetTasks", kReaders},
      {"/railgauge.api.Archive/ListAudit", kChangers},
      {"/railgauge.api.Archive/ListEvents", kReaders},
      {"/railgauge.api.Archive/ListSeries", kReaders},
      {"/railgauge.api.Archive/Prune", kChangers},
      {"/railgauge.api.Archive/RunSql", kReaders},
      {"/railgauge.api.Console/OpenConsole", kReaders},
      {"/railgauge.api.Control/AddSchedule", kChangers},
      {"/railgauge.api.Control/CancelRun", kChangers},
      {"/railgauge.api.Control/CheckSuite", kReaders},
      {"/railgauge.api.Control/GetInstallation", kReaders},
      {"/railgauge.api.Control/GetRun", kReaders},
      {"/railgauge.api.Control/GetVersion", kReaders},
      {"/railgauge.api.Control/ListKernels", kReaders},
      {"/railgauge.api.Control/ListNodeHeads", kReaders},
      {"/railgauge.api.Control/ListNodes", kReaders},
      {"/railgauge.api.Control/ListRuns", kReaders},
      {"/railgauge.api.Control/ListSchedules", kReaders},
      {"/railgauge.api.Control/ListSuites", kReaders},
      {"/railgauge.api.Control/PauseNodes", kChangers},
      {"/railgauge.api.Control/PauseSchedule", kChangers},
      {"/railgauge.api.Control/PlanRun", kReaders},
      {"/railgauge.api.Control/QueryResults", kReaders},
      {"/railgauge.api.Control/RemoveSchedule", kChangers},
      {"/railgauge.api.Control/RenameNode", kChangers},
      {"/railgauge.api.Control/ResumeNodes", kChangers},
      {"/railgauge.api.Control/ResumeSchedule", kChangers},
      {"/railgauge.api.Control/RunPreflight", kChangers},
      {"/railgauge.api.Control/RunSchedule", kChangers},
      {"/railgauge.api.Control/StartRun", kChangers},
      {"/railgauge.api.Control/WatchRun", kReaders},
      {"/railgauge.api.Enrolment/CreateToken", kAdmins},
      {"/railgauge.api.Enrolment/ListTokens", kAdmins},
      {"/railgauge.api.Enrolment/RevokeToken", kAdmins},
      {"/railgauge.api.Judge/GateUpgrade", kChangers},
      {"/railgauge.api.Judge/GetCertificate", kReaders},
      {"/railgauge.api.Judge/GetFinding", kReaders},
      {"/railgauge.api.Judge/GetUpgrade", kReaders},
      {"/railgauge.api.Judge/JudgeUpgrade", kChangers},
      {"/railgauge.api.Judge/ListBaselines", kReaders},
      {"/railgauge.api.Judge/ListFindings", kReaders},
      {"/railgauge.api.Judge/ListUpgrades", kReaders},
      {"/railgauge.api.Judge/MeasureFinding", kChangers},
      {"/railgauge.api.Judge/PinBaselines", kChangers},
      {"/railgauge.api.Judge/PrepareUpgrade", kChangers},
      {"/railgauge.api.Judge/StepFinding", kChangers},
      {"/railgauge.api.Standby/GetRole", kAnybody},
      {"/railgauge.api.Standby/Promise", kAdmins},
  };
  return table;
}

// Methods of all services whose descriptors are in this program, which is the whole controller. The
// health service of gRPC has none: it is added by hand.
std::set<std::string> found_methods() {
  using google::protobuf::DescriptorPool;
  std::vector<std::string> files;
  DescriptorPool::internal_generated_database()->FindAllFileNames(&files);
  std::set<std::string> methods{"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"};
  for (const std::string& name : files) {
    const auto* file = DescriptorPool::generated_pool()->FindFileByName(name);
    for (int i = 0; i < file->service_count(); ++i)
      for (int j = 0; j < file->service(i)->method_count(); ++j)
        methods.insert(fmt::format("/{}/{}", file->service(i)->full_name(),
                                   file->service(i)->method(j)->name()));
  }
  return methods;
}

// Calls a method of any kind with an empty request, and leaves at the first answer.
grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, method, &queue);
  // Waits for the one operation under way.
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool done = false;
    EXPECT_TRUE(queue.Next(&tag, &done));
    return done;
  };
  stream->StartCall(nullptr);
  if (wait()) {
    const grpc::Slice nothing("", 0);
    stream->WriteLast(grpc::ByteBuffer(&nothing, 1), grpc::WriteOptions(), nullptr);
    static_cast<void>(wait());
    grpc::ByteBuffer answer;
    stream->Read(&answer, nullptr);
    if (wait()) {
      context.TryCancel();  // of a stream that has no end
      grpc::Status ignored;
      stream->Finish(&ignored, nullptr);
      static_cast<void>(wait());
      return grpc::Status::OK;
    }
  }
  grpc::Status status;
  stream->Finish(&status, nullptr);
  static_cast<void>(wait());
  return status;
}

class Rights : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    secure_ = std::make_unique<ServerBench>();
    std::filesystem::create_directory(secure_->path("pki"));
    const Certificates certificates(secure_->path("pki"));
    certificates.sign("ann", "/O=x/OU=operator/CN=ann");
    certificates.sign("bob", "/O=x/OU=viewer/CN=bob");
    certificates.sign("n1", "/O=x/OU=agent/CN=n1");
    certificates.sign("janitor", "/O=x/OU=janitor/CN=janitor");
    certificates.sign("both", "/O=x/OU=agent/OU=operator/CN=both");
    secure_->config_.tcp = certificates.tcp();
    secure_->start();
    insecure_ = std::make_unique<ServerBench>();
    insecure_->config_.tcp.listen = "127.0.0.1:0";
    insecure_->config_.tcp.insecure = true;
    insecure_->start();
    const auto port_of = [](const ServerBench& bench) {
      return fmt::format("127.0.0.1:{}", bench.server_->tcp_port());
    };
    for (const auto& [who, name] : {std::pair{kAnn, "ann"},
                                    {kBob, "bob"},
                                    {kN1, "n1"},
                                    {kJanitor, "janitor"},
                                    {kBoth, "both"}})
      channels_[who] = connection(port_of(*secure_), certificates.of(name));
    channels_[kSocket] = connection(secure_->target());
    channels_[kInsecure] = connection(port_of(*insecure_));
  }
  static void TearDownTestSuite() {
    channels_.clear();
    secure_.reset();
    insecure_.reset();
  }

  static std::unique_ptr<ServerBench> secure_;
  static std::unique_ptr<ServerBench> insecure_;
  static std::map<Who, std::shared_ptr<grpc::Channel>> channels_;
};
std::unique_ptr<ServerBench> Rights::secure_;
std::unique_ptr<ServerBench> Rights::insecure_;
std::map<Who, std::shared_ptr<grpc::Channel>> Rights::channels_;

TEST_F(Rights, EveryMethodThatReflectionFindsIsInBothTables) {
  std::vector<std::string> listed;
  for (const Right& right : kRights)
    listed.push_back(fmt::format("/{}/{}", right.service, right.method));
  std::vector<std::string> expected;
  for (const auto& [method, who] : expectations()) expected.push_back(method);
  const std::set<std::string> found = found_methods();
  EXPECT_THAT(expected, ElementsAreArray(found));
  EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), found);
  EXPECT_EQ(listed.size(), found.size()) << "a method is listed twice";
}

class RightsOf : public Rights, public testing::WithParamInterface<std::pair<Who, const char*>> {};

TEST_P(RightsOf, EachMethodIsOpenToThoseWhoMayAndToNobodyElse) {
  const auto [who, name] = GetParam();
  const auto channel = channels_.at(who);
  const auto is_connected = [&] { return call(channel, "/grpc.health.v1.Health/Check").ok(); };
  ASSERT_TRUE(is_connected());
  for (const std::string& method : found_methods()) {
    const auto expected = expectations().find(method);
    ASSERT_NE(expected, expectations().end()) << method << " is not in the table of this test";
    const grpc::Status status = call(channel, method);
    const bool is_refused = status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                            status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
    EXPECT_EQ(!is_refused, (expected->second & who) != 0)
        << name << " calls " << method << ": " << status.error_code() << " "
        << status.error_message();
    for (const grpc::StatusCode code :
         {grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::DEADLINE_EXCEEDED,
          grpc::StatusCode::RESOURCE_EXHAUSTED})
      EXPECT_NE(status.error_code(), code) << method << ": " << status.error_message();
  }
  EXPECT_TRUE(is_connected()) << "an answer UNAVAILABLE was the controller's own";
}

INSTANTIATE_TEST_SUITE_P(Identities, RightsOf,
                         testing::Values(std::pair{kAnn, "operator"}, std::pair{kBob, "viewer"},
                                         std::pair{kN1, "agent"}, std::pair{kJanitor, "no_role"},
                                         std::pair{kBoth, "two_roles"},
                                         std::pair{kSocket, "unix_socket"},
                                         std::pair{kInsecure, "insecure"}),
                         [](const auto& each) { return each.param.second; });

}  // namespace
}  // namespace railgauge::rpc
