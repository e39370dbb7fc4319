// The gate of a whole controller over real connections: bounds of calls, and the audit trail.
#include "controller/rpc/gate.h"

#include <grpcpp/generic/generic_stub.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <list>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/api/judge.grpc.pb.h"
#include "controller/api/synthetic_mark.h"
#include "controller/http/http_testing.h"
#include "controller/rpc/subject.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/testing/certificates.h"
#include "controller/testing/server_bench.h"

namespace railgauge::rpc {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Property;
using testing::SizeIs;
using testing_agent::Certificates;
using testing_agent::connection;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;
using Entry = api::AuditEntry;

void set_deadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
}

api::ScheduleSpec weekly() {
  api::ScheduleSpec spec;
  spec.set_name("weekly");
  spec.set_suite("pairs");
  spec.set_cron("0 1 * * 0");
  return spec;
}

// A stream of one of gRPC's own services, which never ends by itself: one request, then answers.
class HealthWatch {
 public:
  explicit HealthWatch(const std::shared_ptr<grpc::Channel>& channel)
      : HealthWatch(channel, "/grpc.health.v1.Health/Watch", "", true) {}
  HealthWatch(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
              const std::string& request, bool is_last)
      : stub_(channel) {
    set_deadline(context_);
    stream_ = stub_.PrepareCall(&context_, path, &queue_);
    stream_->StartCall(nullptr);
    wait();
    const grpc::Slice bytes(request);
    grpc::WriteOptions options;
    if (is_last) options.set_last_message();
    stream_->Write(grpc::ByteBuffer(&bytes, 1), options, nullptr);
    wait();
    grpc::ByteBuffer answer;
    stream_->Read(&answer, nullptr);
    is_open_ = wait();
  }
  ~HealthWatch() { end(); }
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;
  [[nodiscard]] bool is_open() const { return is_open_; }
  grpc::Status end() {
    if (ended_) return status_;
    ended_ = true;
    if (is_open_) context_.TryCancel();
    stream_->Finish(&status_, nullptr);
    wait();
    return status_;
  }

 private:
  bool wait() {
    void* tag = nullptr;
    bool done = false;
    EXPECT_TRUE(queue_.Next(&tag, &done));
    return done;
  }
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool is_open_ = false;
  bool ended_ = false;
  grpc::Status status_;
};

grpc::Status list_nodes(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  set_deadline(context);
  api::NodeList nodes;
  return api::Control::NewStub(channel)->ListNodes(&context, {}, &nodes);
}

class GateTest : public testing::Test {
 protected:
  void start_insecure() {
    bench_.config_.tcp.listen = "127.0.0.1:0";
    bench_.config_.tcp.insecure = true;
    bench_.start();
    port_ = fmt::format("127.0.0.1:{}", bench_.server_->tcp_port());
  }
  void start_secure() {
    std::filesystem::create_directory(bench_.path("pki"));
    certificates_ = std::make_unique<Certificates>(bench_.path("pki"));
    certificates_->sign("ann", "/O=x/OU=operator/CN=ann");
    certificates_->sign("bob", "/O=x/OU=viewer/CN=bob");
    certificates_->sign("n1", "/O=x/OU=agent/CN=n1");
    bench_.config_.tcp = certificates_->tcp();
    bench_.start();
    port_ = fmt::format("127.0.0.1:{}", bench_.server_->tcp_port());
  }
  std::shared_ptr<grpc::Channel> as(const std::string& name) {
    return connection(port_, certificates_->of(name));
  }
  // As the user at the unix socket sees it, newest first.
  std::vector<Entry> trail(const api::AuditRequest& request = {}) {
    grpc::ClientContext context;
    set_deadline(context);
    api::AuditList list;
    const grpc::Status status =
        api::Archive::NewStub(connection(bench_.target()))->ListAudit(&context, request, &list);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {list.entries().begin(), list.entries().end()};
  }
  // The trail's refusals, once there are `count` of them; rows of refusals wait for nobody.
  std::vector<Entry> refusals(std::size_t count) {
    api::AuditRequest request;
    request.set_refused(true);
    std::vector<Entry> entries = trail(request);
    for (int i = 0; i < 2'000 && entries.size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      entries = trail(request);
    }
    return entries;
  }
  // Until a call is admitted again: a place is freed when the server has seen the end.
  static grpc::Status list_nodes_in_time(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::Status status;
    for (int i = 0; i < 2'000; ++i) {
      status = list_nodes(channel);
      if (status.ok()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return status;
  }
  // Streams that the client has opened reach the server later, so the first calls may pass.
  static grpc::Status refusal_in_time(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::Status status;
    for (int i = 0; i < 2'000; ++i) {
      status = list_nodes(channel);
      if (!status.ok()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return status;
  }
  std::string start_hanging_run() {
    for (const char* name : {"n1", "n2"}) {
      agents_.push_back(std::make_unique<ScriptedAgent>(bench_.agent(name, Script::kHang)));
      EXPECT_TRUE(welcome(*agents_.back()));
    }
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_name("pairs");
    api::RunSummary run;
    EXPECT_TRUE(bench_.stub_->StartRun(&context, request, &run).ok());
    return run.run_id();
  }

  ServerBench bench_;
  std::string port_;
  std::unique_ptr<Certificates> certificates_;
  std::list<std::unique_ptr<ScriptedAgent>> agents_;
};

// A follower of a run.
struct Follower {
  Follower(const std::shared_ptr<grpc::Channel>& channel, const std::string& run_id)
      : stub(api::Control::NewStub(channel)) {
    set_deadline(context);
    api::RunRef ref;
    ref.set_run_id(run_id);
    stream = stub->WatchRun(&context, ref);
    api::RunEvent event;
    is_open = stream->Read(&event);
  }
  std::unique_ptr<api::Control::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<api::RunEvent>> stream;
  bool is_open = false;
};

TEST_F(GateTest, TheNinthCallOfAConnectionIsRefusedWhateverTheEightAre) {
  start_insecure();
  const std::string run_id = start_hanging_run();
  const auto channel = connection(port_);
  std::list<HealthWatch> probes;
  std::list<Follower> followers;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(probes.emplace_back(channel).is_open());
    EXPECT_TRUE(followers.emplace_back(channel, run_id).is_open);
  }
  const grpc::Status ninth = list_nodes(channel);
  EXPECT_EQ(ninth.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ninth.error_message(),
            "Control.ListNodes: this connection has 8 calls under way, its limit; wait for one to "
            "end, or use another connection");
  HealthWatch probe(channel);
  EXPECT_FALSE(probe.is_open());
  EXPECT_EQ(probe.end().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(probe.end().error_message(), HasSubstr("8 calls under way"));
  Follower follower(channel, run_id);
  EXPECT_FALSE(follower.is_open);
  EXPECT_EQ(follower.stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(list_nodes(connection(port_)).ok()) << "another connection of the same host";
  followers.pop_back();
  EXPECT_TRUE(list_nodes_in_time(channel).ok()) << "one has ended";
  api::AuditRequest refused;
  refused.set_refused(true);
  EXPECT_THAT(trail(refused), Contains(AllOf(Property(&Entry::outcome, "resource_exhausted"),
                                             Property(&Entry::rpc, "Health.Watch"))));
}

// A stream of reflection has a thread while it is open. Too many threads would end the controller.
TEST_F(GateTest, ManyStreamsOfReflectionTakeFewThreads) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  start_insecure();
  const std::string list_services("\x3a\x00", 2);  // field 7, an empty text
  const auto before = threads();
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::list<HealthWatch> streams;
  std::size_t refused = 0;
  for (int i = 0; i < 200; ++i) {
    if (i % 8 == 0) channels.push_back(connection(port_));
    const HealthWatch& stream = streams.emplace_back(
        channels.back(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        list_services, false);
    refused += stream.is_open() ? 0 : 1;
  }
  EXPECT_GT(refused, 100U);
  EXPECT_LT(refused, 200U);
  EXPECT_LT(threads(), before + 100);
  EXPECT_TRUE(list_nodes(connection(port_)).ok());
  streams.clear();
  EXPECT_TRUE(list_nodes_in_time(channels.front()).ok());
}

TEST_F(GateTest, AnswersOfASyntheticDatabaseAreMarkedAndOthersAreNot) {
  const auto marks = [&] {
    const auto channel = connection(bench_.target(), grpc::InsecureChannelCredentials());
    std::string found;
    const auto note = [&](const char* what, const grpc::ClientContext& context) {
      const auto& metadata = context.GetServerInitialMetadata();
      const auto mark = metadata.find(api::kDataKindHeader);
      if (mark != metadata.end())
        found += fmt::format("{}={} ", what, std::string(mark->second.data(), mark->second.size()));
    };
    grpc::ClientContext nodes;
    api::NodeList list;
    EXPECT_TRUE(api::Control::NewStub(channel)->ListNodes(&nodes, {}, &list).ok());
    note("nodes", nodes);
    grpc::ClientContext points;
    api::PointsRequest request;
    request.set_run_id("all");
    const auto stream = api::Archive::NewStub(channel)->ExportPoints(&points, request);
    for (api::ResultList page; stream->Read(&page);) {
    }
    EXPECT_TRUE(stream->Finish().ok());
    note("points", points);
    return found;
  };
  bench_.start();
  EXPECT_EQ(marks(), "");
  bench_.stop();
  bench_.config_.synthetic = true;
  bench_.start();
  EXPECT_EQ(marks(), "nodes=synthetic points=synthetic ");
}

TEST_F(GateTest, TheUnixSocketHasNoBound) {
  start_insecure();
  const auto channel = connection(bench_.target());
  std::list<HealthWatch> probes;  // HTTP/2 itself has 32 streams
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(probes.emplace_back(channel).is_open());
  EXPECT_TRUE(list_nodes(channel).ok());
}

TEST_F(GateTest, AgentsStreamsCount) {
  start_insecure();
  const auto channel = connection(port_);
  const auto stub = api::AgentLink::NewStub(channel);
  std::list<grpc::ClientContext> contexts;
  std::list<std::unique_ptr<grpc::ClientReaderWriter<api::AgentMessage, api::ControllerMessage>>>
      streams;
  for (int i = 0; i < 8; ++i) streams.push_back(stub->Attach(&contexts.emplace_back()));
  ASSERT_EQ(refusal_in_time(channel).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  streams.push_back(stub->Attach(&contexts.emplace_back()));
  api::ControllerMessage message;
  EXPECT_FALSE(streams.back()->Read(&message));
  EXPECT_EQ(streams.back()->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_FALSE(list_nodes(channel).ok());
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  EXPECT_TRUE(list_nodes_in_time(channel).ok());
}

// Each kind of call is cancelled in each of its phases: before it began, while it works, while it
// sends. Then all eight places are free again.
TEST_F(GateTest, AViewerFollowsRunsEightTimesAndAnOperatorAsEver) {
  start_secure();
  const std::string run_id = start_hanging_run();
  std::list<std::shared_ptr<grpc::Channel>> channels;
  std::list<Follower> followers;
  for (int i = 0; i < 8; ++i) {
    if (i % 4 == 0) channels.push_back(as("bob"));
    EXPECT_TRUE(followers.emplace_back(channels.back(), run_id).is_open);
  }
  Follower ninth(as("bob"), run_id);
  EXPECT_FALSE(ninth.is_open);
  const grpc::Status refused = ninth.stream->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("follows 8 runs, its limit"));
  Follower operators(as("ann"), run_id);
  EXPECT_TRUE(operators.is_open);
}

TEST_F(GateTest, CancelledCallsLeaveNoPlaceTaken) {
  start_insecure();
  const std::string run_id = start_hanging_run();
  const auto channel = connection(port_);
  const auto control = api::Control::NewStub(channel);
  const auto archive = api::Archive::NewStub(channel);
  const auto link = api::AgentLink::NewStub(channel);
  for (int round = 0; round < 60; ++round) {
    grpc::ClientContext watching;
    grpc::ClientContext exporting;
    grpc::ClientContext attaching;
    grpc::ClientContext asking;
    api::RunRef ref;
    ref.set_run_id(run_id);
    api::PointsRequest points;
    points.set_run_id("all");
    api::SqlRequest sql;
    sql.set_sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n");
    sql.set_max_seconds(60);
    const auto watch = control->WatchRun(&watching, ref);
    const auto exported = archive->ExportPoints(&exporting, points);
    const auto attached = link->Attach(&attaching);
    grpc::CompletionQueue queue;
    const auto asked = archive->AsyncRunSql(&asking, sql, &queue);
    api::SqlTable table;
    grpc::Status status;
    asked->Finish(&table, &status, nullptr);
    if (round % 3 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (round % 3 == 2) {
      api::RunEvent event;
      watch->Read(&event);
    }
    for (grpc::ClientContext* context : {&watching, &exporting, &attaching, &asking})
      context->TryCancel();
    watch->Finish();
    exported->Finish();
    attached->Finish();
    void* tag = nullptr;
    bool done = false;
    queue.Next(&tag, &done);
  }
  ASSERT_TRUE(list_nodes_in_time(channel).ok());
  std::list<HealthWatch> probes;
  for (int i = 0; i < 2'000 && probes.size() < 8; ++i) {
    if (probes.emplace_back(channel).is_open()) continue;
    probes.pop_back();  // the server has not yet seen all ends
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(probes, SizeIs(8));
  EXPECT_FALSE(list_nodes(channel).ok()) << "and no more than eight";
}

TEST_F(GateTest, AWriteIsInTheTrailWithItsCallerAndOutcome) {
  start_secure();
  const auto stub = api::Control::NewStub(as("ann"));
  const api::ScheduleSpec spec = weekly();
  api::ScheduleInfo info;
  grpc::ClientContext adding;
  ASSERT_TRUE(stub->AddSchedule(&adding, spec, &info).ok());
  grpc::ClientContext removing;
  api::ScheduleRef wrong;
  wrong.set_name("none");
  ASSERT_FALSE(stub->RemoveSchedule(&removing, wrong, &info).ok());
  api::AuditRequest of_ann;
  of_ann.set_who("ann");
  const auto entries = trail(of_ann);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].rpc(), "Control.RemoveSchedule");
  EXPECT_EQ(entries[0].subject(), "none");
  EXPECT_EQ(entries[0].outcome(), "invalid_argument");
  EXPECT_THAT(entries[0].reason(), HasSubstr("there is no schedule"));
  EXPECT_FALSE(entries[0].refused());
  EXPECT_EQ(entries[1].rpc(), "Control.AddSchedule");
  EXPECT_EQ(entries[1].subject(), "name=weekly suite=pairs cron=0 1 * * 0");
  EXPECT_EQ(entries[1].outcome(), "ok");
  EXPECT_EQ(entries[1].role(), "operator");
  EXPECT_THAT(entries[1].address(), HasSubstr("ipv4:127.0.0.1:"));
  EXPECT_TRUE(list_nodes(as("ann")).ok());
  EXPECT_THAT(trail(of_ann), SizeIs(2)) << "a read is no row";
}

TEST_F(GateTest, RefusedCallsAreInTheTrailAndAFloodIsCounted) {
  start_secure();
  const auto channel = as("bob");
  const auto stub = api::Control::NewStub(channel);
  for (int i = 0; i < 50; ++i) {
    grpc::ClientContext context;
    api::RunRef ref;
    ref.set_run_id(fmt::format("r{}", i));
    api::RunSummary run;
    EXPECT_EQ(stub->CancelRun(&context, ref, &run).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  grpc::ClientContext reading;
  api::AuditList list;
  EXPECT_EQ(api::Archive::NewStub(channel)->ListAudit(&reading, {}, &list).error_code(),
            grpc::StatusCode::PERMISSION_DENIED)
      << "it names people";
  testing_agent::AgentOptions agent = bench_.agent("n1");
  agent.target = port_;
  agent.credentials = certificates_->of("ann");
  ScriptedAgent attaching(agent);
  ASSERT_TRUE(attaching.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  api::AuditRequest refused;
  refused.set_refused(true);
  const auto entries = trail(refused);
  ASSERT_THAT(entries, SizeIs(7)) << "six of bob, one of ann";
  EXPECT_EQ(entries[0].rpc(), "AgentLink.Attach");
  EXPECT_EQ(entries[0].who(), "ann");
  EXPECT_EQ(entries[6].who(), "bob");
  EXPECT_EQ(entries[6].role(), "viewer");
  EXPECT_EQ(entries[6].rpc(), "Control.CancelRun");
  EXPECT_EQ(entries[6].subject(), "r0");
  EXPECT_EQ(entries[6].outcome(), "permission_denied");
  EXPECT_THAT(entries[6].reason(), HasSubstr("this needs OU=operator"));
  bench_.stop();  // the count is stored
  bench_.start();
  EXPECT_THAT(trail(refused),
              Contains(AllOf(Property(&Entry::who, "bob"), Property(&Entry::count, 45U))));
  const std::string lines = testing_agent::text_of_file(bench_.path("audit.jsonl"));
  EXPECT_THAT(lines, HasSubstr(R"("who":"bob")"));
  EXPECT_THAT(lines, HasSubstr(R"("count":45)"));
}

// Connects as each uid from `first` on, and waits for the end of the connection. Whether all ended.
bool connect_as_others(const std::string& path, uid_t first, int count) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {  // the call itself: the library's function asks all threads, which are gone
      const uid_t uid = first + static_cast<uid_t>(i);
      char byte = 0;
      if (::syscall(SYS_setresgid, uid, uid, uid) != 0 ||
          ::syscall(SYS_setresuid, uid, uid, uid) != 0)
        ::_exit(2);
      const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::connect(socket, raw, sizeof(address)) != 0) ::_exit(3);
      ::_exit(::read(socket, &byte, 1) <= 0 ? 0 : 4);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) return false;
  }
  return true;
}

TEST_F(GateTest, RefusedUsersOfTheUnixSocketAreInTheTrail) {
  constexpr uid_t kNobody = 65'534;
  constexpr uid_t kNameless = 3'000'000;
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  std::filesystem::permissions(bench_.path("."), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  bench_.config_.socket_group = "root";
  bench_.start();
  ASSERT_TRUE(connect_as_others(bench_.config_.socket, kNobody, 1));
  auto entries = refusals(1);
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0].who(), "nobody");
  EXPECT_EQ(entries[0].role(), "no known role");
  EXPECT_EQ(entries[0].address(), "unix socket");
  EXPECT_EQ(entries[0].rpc(), "socket.connect");
  EXPECT_EQ(entries[0].outcome(), "permission_denied");
  EXPECT_THAT(entries[0].reason(), HasSubstr("uid 65534 is neither root"));
  ASSERT_TRUE(connect_as_others(bench_.config_.socket, kNameless, 40));
  EXPECT_TRUE(list_nodes(connection(bench_.target())).ok());
  entries = refusals(7);
  EXPECT_THAT(entries, SizeIs(7)) << "however many uids";
  EXPECT_EQ(entries[0].who(), "unknown");
  bench_.stop();
  bench_.start();
  EXPECT_THAT(refusals(8),
              Contains(AllOf(Property(&Entry::who, "unknown"), Property(&Entry::count, 34U))));
}

TEST_F(GateTest, WrongPasswordsOfHttpAreInTheTrailWithoutTheirText) {
  bench_.write("web.yml",
               fmt::format("basic_auth_users:\n  prom: {}\n", http::hash_of("right", 4)));
  bench_.config_.web_config_file = bench_.path("web.yml");
  bench_.start();
  httplib::Client client("127.0.0.1", bench_.server_->metrics_port());
  const auto status_with = [&](const std::string& header) {
    httplib::Headers headers;
    if (!header.empty()) headers.emplace("Authorization", header);
    const auto answer = client.Get("/metrics?token=abc", headers);
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status_with(""), 401) << "a browser begins so";
  EXPECT_EQ(status_with(http::basic("prom:right")), 200);
  EXPECT_EQ(status_with(http::basic("prom:tr0ub4dor")), 401);
  EXPECT_EQ(status_with(http::basic("tr0ub4dor:prom")), 401);
  const auto entries = refusals(2);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].who(), "unknown") << "it may be a password";
  EXPECT_EQ(entries[1].who(), "prom");
  for (const Entry& entry : entries) {
    EXPECT_EQ(entry.rpc(), "http.get");
    EXPECT_EQ(entry.subject(), "/metrics");
    EXPECT_EQ(entry.outcome(), "unauthenticated");
    EXPECT_THAT(entry.address(), HasSubstr("ipv4:127.0.0.1:"));
  }
  for (int i = 0; i < 500; ++i) EXPECT_EQ(status_with("Bearer " + std::to_string(i)), 401);
  bench_.stop();  // the count is stored
  const std::string lines = testing_agent::text_of_file(bench_.path("audit.jsonl"));
  EXPECT_THAT(lines, HasSubstr(R"("count":495)")) << "five rows more, then the others";
  EXPECT_THAT(lines, Not(HasSubstr("tr0ub4dor")));
}

TEST_F(GateTest, AViewersStatementReadsNothingOfTheTrail) {
  start_secure();
  grpc::ClientContext context;
  api::SqlRequest sql;
  sql.set_sql("SELECT who FROM audit");
  api::SqlTable table;
  const grpc::Status status = api::Archive::NewStub(as("bob"))->RunSql(&context, sql, &table);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// A trigger makes every row fail, as a full disk would, but at once.
TEST_F(GateTest, WithoutItsRowAWriteIsNotCarriedOutButACancelIs) {
  start_secure();
  const std::string run_id = start_hanging_run();
  {
    auto other =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kCreate, 5);
    ASSERT_TRUE(other);
    ASSERT_TRUE(
        other->script("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT "
                      "RAISE(ABORT, 'no room'); END"));
  }
  const auto stub = api::Control::NewStub(as("ann"));
  const api::ScheduleSpec spec = weekly();
  api::ScheduleInfo info;
  grpc::ClientContext adding;
  const grpc::Status added = stub->AddSchedule(&adding, spec, &info);
  EXPECT_EQ(added.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(added.error_message(),
              AllOf(HasSubstr("Control.AddSchedule: not carried out, because its row of the audit "
                              "trail is not stored"),
                    HasSubstr("no room")));
  EXPECT_TRUE(list_nodes(as("bob")).ok()) << "a read needs no row";
  grpc::ClientContext listing;
  api::ScheduleList schedules;
  ASSERT_TRUE(stub->ListSchedules(&listing, {}, &schedules).ok());
  for (const api::ScheduleInfo& schedule : schedules.schedules())
    EXPECT_NE(schedule.name(), "weekly");
  grpc::ClientContext cancelling;
  api::RunRef ref;
  ref.set_run_id(run_id);
  api::RunSummary run;
  const grpc::Status cancelled = stub->CancelRun(&cancelling, ref, &run);
  EXPECT_TRUE(cancelled.ok()) << cancelled.error_message();
  EXPECT_EQ(bench_.end_of(run_id).run().outcome(), "cancelled");
  grpc::ClientContext pruning;
  api::PruneReport report;
  EXPECT_TRUE(api::Archive::NewStub(as("ann"))->Prune(&pruning, {}, &report).ok());
  EXPECT_THAT(testing_agent::text_of_file(bench_.path("audit.jsonl")),
              HasSubstr("Control.CancelRun"));
}

TEST_F(GateTest, WhatTheControllerDoesByItselfIsInTheTrail) {
  bench_.start();
  const std::string run_id = start_hanging_run();
  agents_.clear();
  bench_.stop();
  // As a crash leaves it.
  {
    auto database =
        store::Connection::open(bench_.config_.database, store::Connection::Mode::kCreate, 5);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->script("UPDATE run SET state='running', outcome='', ended_at=NULL"));
  }
  bench_.start();
  EXPECT_THAT(trail(),
              Contains(AllOf(Property(&Entry::who, "controller"), Property(&Entry::rpc, "end_runs"),
                             Property(&Entry::subject, HasSubstr(run_id)))));
}

TEST_F(GateTest, ABackupStaysBelowItsFolder) {
  start_secure();
  const auto stub = api::Archive::NewStub(as("ann"));
  const auto back_up = [&](const std::string& path) {
    grpc::ClientContext context;
    set_deadline(context);
    api::BackUpRequest request;
    request.set_path(path);
    api::BackUpReport report;
    return stub->BackUp(&context, request, &report);
  };
  EXPECT_TRUE(back_up("one.db").ok());
  EXPECT_TRUE(std::filesystem::exists(bench_.path("backups/one.db")));
  EXPECT_EQ(back_up("one.db").error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(back_up(bench_.path("backups/two.db")).ok());
  for (const std::string& path :
       {bench_.path("three.db"), std::string("../three.db"), std::string("/etc/railgauge.db")})
    EXPECT_EQ(back_up(path).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << path;
  EXPECT_FALSE(std::filesystem::exists(bench_.path("three.db")));
  EXPECT_THAT(trail(), Contains(AllOf(Property(&Entry::rpc, "Archive.BackUp"),
                                      Property(&Entry::subject, "../three.db"),
                                      Property(&Entry::outcome, "invalid_argument"))));
}

TEST(ConnectionCallsTest, APlaceIsFreedOnceHoweverItEnds) {
  ConnectionCalls calls;
  {
    std::list<ConnectionCalls::Place> places;
    for (std::uint32_t i = 0; i < ConnectionCalls::kMaxCalls; ++i)
      places.push_back(std::move(*calls.take("a")));
    EXPECT_FALSE(calls.take("a"));
    EXPECT_TRUE(calls.take("b"));
    places.front().release();
    places.front().release();
    auto again = calls.take("a");
    ASSERT_TRUE(again);
    EXPECT_FALSE(calls.take("a"));
    ConnectionCalls::Place moved = std::move(*again);
    again.reset();
    EXPECT_FALSE(calls.take("a")) << "the moved one has it";
  }
  EXPECT_EQ(calls.connections(), 0U) << "nothing is kept of connections that are gone";
}

TEST(Subject, NamesTheSetFieldsAndIsShortForANameAlone) {
  api::RunRef ref;
  ref.set_run_id("r1");
  EXPECT_EQ(subject_of(ref), "r1");
  EXPECT_EQ(subject_of(api::RunRef()), "");
  api::RunRequest run;
  run.mutable_suite()->set_name("quick");
  run.set_node_set("n[1-2]");
  run.set_exclusive(true);
  EXPECT_EQ(subject_of(run), "suite.name=quick node_set=n[1-2] exclusive=true");
  api::PruneRequest prune;
  prune.set_point_days(0.5);
  EXPECT_EQ(subject_of(prune), "point_days=0.5");
  api::GateRequest gate;
  (*gate.mutable_expect())["driver"] = "580.95";
  EXPECT_EQ(subject_of(gate), "expect.key=driver expect.value=580.95");
  run.mutable_suite()->set_text(std::string(8'000'000, 'x'));
  EXPECT_LT(subject_of(run).size(), 1'000U);
}

}  // namespace
}  // namespace railgauge::rpc
