// The program's TCP port under attack: few descriptors, many agents, a broken socket, wrong sizes.
#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <regex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/listen/descriptors.h"
#include "controller/testing/certificates.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"
#include "controller/testing/tcp_client.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/group/framing.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_agent::Certificates;
using testing_agent::connection;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;
using testing_listen::client_hello;
using testing_listen::connect_from;
using testing_listen::send_text;
using Process = testing_agent::ControllerProcess;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

template <class Condition>
bool comes(double seconds, Condition condition) {
  const auto from = Clock::now();
  while (!condition()) {
    if (seconds_since(from) > seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

class PortTest : public testing::Test {
 protected:
  PortTest() {
    certificates_.sign("ann", "/CN=ann/OU=operator");
    for (const char* node : {"n1", "n2"})
      certificates_.sign(node, fmt::format("/CN={}/OU=agent", node));
  }
  [[nodiscard]] std::vector<std::string> tls() const {
    const TcpOptions files = certificates_.tcp();
    return {"--listen=127.0.0.1:0", "--tls-cert=" + files.tls_cert, "--tls-key=" + files.tls_key,
            "--tls-ca=" + files.tls_ca, "--metrics-listen=127.0.0.1:0"};
  }
  // The port that the program chose, by the words of its log before the number.
  static int port_of(const Process& controller, const std::string& words = "port ") {
    EXPECT_TRUE(controller.wait_until_serving()) << controller.error_text();
    std::smatch found;
    const std::string text = controller.error_text();
    if (!std::regex_search(text, found, std::regex(words + "([0-9]+)"))) return 0;
    return std::stoi(found[1]);
  }
  static grpc::Status ask(const std::string& target,
                          const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                              grpc::InsecureChannelCredentials()) {
    return ask(connection(target, credentials));
  }
  static grpc::Status ask(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    api::VersionInfo version;
    return api::Control::NewStub(channel)->GetVersion(&context, {}, &version);
  }
  // grpc.health's answer about the whole server, by the unix socket.
  [[nodiscard]] std::string health() const {
    grpc::GenericStub stub(connection(bench_.target()));
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const grpc::Slice nothing("");
    const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                            grpc::ByteBuffer(&nothing, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    grpc::Slice whole;
    if (!status.ok() || !answer.DumpToSingleSlice(&whole).ok()) return status.error_message();
    return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
  }
  // The status line and the body of one page, "" without an answer.
  static std::string page(int port, const std::string& path) {
    const Fd socket = connect_from(port);
    send_text(socket, fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path));
    std::string text;
    std::string some(4'096, '\0');
    while (true) {
      pollfd wait{socket.get(), POLLIN, 0};
      if (::poll(&wait, 1, testing_listen::kPatienceMilliseconds) <= 0) return text;
      const ssize_t size = ::recv(socket.get(), some.data(), some.size(), 0);
      if (size <= 0) return text;
      text.append(some, 0, static_cast<std::size_t>(size));
    }
  }
  [[nodiscard]] testing_agent::AgentOptions agent(int port, const std::string& name,
                                                  const std::string& incarnation) const {
    auto options = bench_.agent(name);
    options.target = fmt::format("localhost:{}", port);
    options.credentials = certificates_.of(name);
    options.incarnation = incarnation;
    return options;
  }
  void hold_unfinished_handshakes(const Process& controller, int count) const;

  ServerBench bench_;
  Certificates certificates_{bench_.path("")};
};

// A peer without a certificate can do each of these: say nothing, half of a hello, a whole one.
void PortTest::hold_unfinished_handshakes(const Process& controller, int count) const {
  const int port = port_of(controller);
  const std::string hello = client_hello();
  for (const std::string& text : {std::string(), hello.substr(0, 50), hello}) {
    std::vector<Fd> peers;
    for (int i = 0; i < count; ++i) {
      peers.push_back(connect_from(port));
      if (!text.empty()) send_text(peers.back(), text);
      if (i % 40 != 0) continue;
      const grpc::Status local = ask(bench_.target());
      EXPECT_TRUE(local.ok()) << i << " with " << text.size()
                              << " bytes: " << local.error_message();
    }
    peers.clear();
    const grpc::Status remote =
        ask(fmt::format("localhost:{}", port), certificates_.of("ann"));  // within 2 s
    EXPECT_TRUE(remote.ok()) << text.size() << " bytes: " << remote.error_message();
    EXPECT_THAT(page(port_of(controller, "metrics on port "), "/healthz"), HasSubstr("200 OK"));
  }
  EXPECT_LE(count_of(controller.error_text(), "since the last line"), 4U)  // a line a kind a minute
      << controller.error_text();
}

TEST_F(PortTest, With160UnfinishedHandshakesAt128DescriptorsBothPortsAnswer) {
  const Process controller(bench_, tls(), "", rlimit{.rlim_cur = 128, .rlim_max = 128});
  hold_unfinished_handshakes(controller, 160);
}

TEST_F(PortTest, With80UnfinishedHandshakesUnderASoftLimitOf64BothPortsAnswer) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = 64;
  const Process controller(bench_, tls(), "", files);
  hold_unfinished_handshakes(controller, 80);
}

// Half a hello each, as fast as loopback takes them, from 16 sources; some stay open.
// The ticks of the loop begin before the port is there: certificates that end are looked for then.
TEST_F(PortTest, AStartThatIsSlowAtItsPortLivesThroughTheTicksBefore) {
  Process controller(bench_, tls(), "hang:controller.port");
  std::this_thread::sleep_for(std::chrono::seconds(4));
  controller.signal(SIGKILL);
  EXPECT_EQ(controller.wait(), -SIGKILL) << controller.error_text();
}

TEST_F(PortTest, AgentsAttachAgainInTheMiddleOfAFloodOfOpenings) {
  const Process controller(bench_, tls());
  const int port = port_of(controller);
  auto first = std::make_unique<ScriptedAgent>(agent(port, "n1", "first"));
  ASSERT_TRUE(welcome(*first));
  std::atomic<bool> enough = false;
  std::atomic<int> opened = 0;
  std::thread flood([&] {
    constexpr std::size_t kKept = 300;
    std::vector<Fd> kept(kKept);
    while (!enough) {
      const int i = opened++;
      Fd& place = kept[static_cast<std::size_t>(i) % kKept];
      place = connect_from(port, fmt::format("127.0.1.{}", 1 + i % 16).c_str());
      const linger at_once{.l_onoff = 1, .l_linger = 0};  // the end leaves no port behind
      ::setsockopt(place.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
      ::send(place.get(), client_hello().data(), 50, MSG_NOSIGNAL);
    }
  });
  EXPECT_TRUE(comes(10, [&] { return opened > 2'000; }));
  first.reset();
  const auto from = Clock::now();
  ScriptedAgent second(agent(port, "n1", "second"));
  EXPECT_TRUE(welcome(second));
  EXPECT_LT(seconds_since(from), 15);
  EXPECT_TRUE(comes(10, [&] { return opened > 6'000; }));
  EXPECT_FALSE(second.ended());
  enough = true;
  flood.join();
  EXPECT_TRUE(ask(fmt::format("localhost:{}", port), certificates_.of("ann")).ok());
  EXPECT_LE(count_of(controller.error_text(), "such events since the last line"), 2U);
}

// 40 connections with 128 streams each. Nobody reads the answers.
TEST_F(PortTest, StreamsOfOneCertificateLeaveTimeAndMemoryForAnotherAgent) {
  constexpr int kConnections = 40;
  constexpr int kStreams = 128;
  constexpr double kMostBytes = 50e6;
  struct Stream {
    grpc::ClientContext context{};
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call{};
  };
  const Process controller(bench_, tls());
  const int port = port_of(controller);
  ScriptedAgent warm(agent(port, "n2", "warm"));
  ASSERT_TRUE(welcome(warm));
  const double before = controller.resident_bytes();
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kConnections; ++i) {
    stubs.push_back(std::make_unique<grpc::GenericStub>(
        connection(fmt::format("localhost:{}", port), certificates_.of("n1"))));
    for (int j = 0; j < kStreams; ++j) {
      streams.push_back(std::make_unique<Stream>());
      Stream& stream = *streams.back();
      stream.call =
          stubs.back()->PrepareCall(&stream.context, "/railgauge.api.AgentLink/Attach", &queue);
      stream.call->StartCall(&stream);
    }
  }
  const auto from = Clock::now();
  ScriptedAgent other(agent(port, "n2", "second"));
  EXPECT_TRUE(welcome(other));
  EXPECT_LT(seconds_since(from), 2);
  double most = 0;
  static_cast<void>(comes(2, [&] {
    most = std::max(most, controller.resident_bytes());
    return false;
  }));
  EXPECT_LE(most - before, kMostBytes);
  for (const auto& stream : streams) stream->context.TryCancel();
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

TEST_F(PortTest, UnderASoftLimitOf1024Descriptors1500AgentsAttach) {
  constexpr std::size_t kAgents = 1'500;
  ASSERT_TRUE(raise_descriptor_limit());
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 2 * kAgents) GTEST_SKIP() << "the hard limit is " << files.rlim_max;
  files.rlim_cur = 1'024;
  const Process controller(
      bench_, {"--insecure", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"}, "", files);
  const int port = port_of(controller);
  std::vector<std::unique_ptr<ScriptedAgent>> agents;
  // The first ones must not fall silent before a busy machine has welcomed the last.
  const auto beat_up_to = [&](std::size_t count) {
    api::AgentMessage beat;
    beat.mutable_heartbeat();
    for (std::size_t i = 0; count % 100 == 0 && i < count; ++i) agents[i]->send(beat);
  };
  for (std::size_t i = 0; i < kAgents; ++i) {
    auto options = bench_.agent(fmt::format("n{}", i));
    options.target = fmt::format("127.0.0.1:{}", port);
    agents.push_back(std::make_unique<ScriptedAgent>(options));
    beat_up_to(i);
  }
  for (std::size_t i = 0; i < kAgents; ++i) {
    ASSERT_TRUE(welcome(*agents[i]));
    beat_up_to(i);
  }
  const auto stub = api::Control::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  api::NodeList nodes;
  ASSERT_TRUE(stub->ListNodes(&context, {}, &nodes).ok());
  std::size_t attached = 0;
  for (const api::NodeInfo& node : nodes.nodes()) attached += node.state() == "attached" ? 1 : 0;
  EXPECT_EQ(attached, kAgents);
  EXPECT_THAT(page(port_of(controller, "metrics on port "), "/healthz"), HasSubstr("200 OK"));
}

TEST_F(PortTest, ATakenPortKeepsItFromStarting) {
  const Process first(bench_, {"--insecure", "--listen=127.0.0.1:0"});
  const int port = port_of(first);
  bench_.config_.socket = bench_.path("other.sock");
  bench_.config_.database = bench_.path("other.db");
  Process second(bench_, {"--insecure", fmt::format("--listen=127.0.0.1:{}", port)});
  EXPECT_EQ(second.wait(), 4);
  EXPECT_THAT(second.error_text(), HasSubstr("the port is taken"));
}

TEST_F(PortTest, AnOversizedMessageIsRefusedAndTheControllerServesOn) {
  const Process controller(bench_, {"--insecure", "--listen=127.0.0.1:0"});
  const std::string target = fmt::format("127.0.0.1:{}", port_of(controller));
  const auto stub =
      api::Control::NewStub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  api::SuiteSource suite;
  suite.set_text(std::string(kMaxFrameBytes + 1, 'x'));
  api::SuiteCheck check;
  const grpc::Status status = stub->CheckSuite(&context, suite, &check);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_TRUE(ask(target).ok());
}

TEST_F(PortTest, MetadataOfExcessiveSizeIsRefusedAndTheControllerServesOn) {
  const Process controller(bench_, tls());
  const std::string target = fmt::format("localhost:{}", port_of(controller));
  const auto stub = api::Control::NewStub(connection(target, certificates_.of("ann")));
  for (const std::size_t bytes :
       {std::size_t{4'096}, std::size_t{65'536}, std::size_t{4'194'304}}) {
    grpc::ClientContext context;
    context.AddMetadata("x-much", std::string(bytes, 'x'));
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    api::VersionInfo version;
    const grpc::Status status = stub->GetVersion(&context, {}, &version);
    EXPECT_EQ(status.ok(), bytes < std::size_t{8'192}) << bytes << ": " << status.error_message();
  }
  EXPECT_TRUE(ask(target, certificates_.of("ann")).ok());
}

// Connections with calls, which are never closed for others, take all that TCP may have.
TEST_F(PortTest, HealthzGrpcHealthAndAMetricReportThatEveryConnectionIsRefused) {
  const Process controller(bench_,
                           {"--insecure", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"},
                           "", rlimit{.rlim_cur = 128, .rlim_max = 128});
  const std::string target = fmt::format("127.0.0.1:{}", port_of(controller));
  const int http = port_of(controller, "metrics on port ");
  EXPECT_THAT(page(http, "/healthz"), HasSubstr("ok"));
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  // The controller's other descriptors come and go, so a place may become free again.
  const auto refused = [&] {
    channels.push_back(connection(target));
    if (!ask(channels.back()).ok()) channels.pop_back();
    return page(http, "/healthz").find("every connection is refused") != std::string::npos;
  };
  EXPECT_TRUE(comes(30, refused)) << page(http, "/healthz");
  EXPECT_THAT(page(http, "/healthz"), HasSubstr("503"));
  EXPECT_TRUE(comes(5, [&] {
    return page(http, "/metrics").find("railgauge_port_accepts 0") != std::string::npos;
  }));
  EXPECT_EQ(health(), "\x08\x02");  // NOT_SERVING
  EXPECT_TRUE(ask(bench_.target()).ok());
  channels.clear();
  EXPECT_TRUE(comes(5, [&] { return ask(target).ok(); }));
  EXPECT_TRUE(comes(5, [&] { return health() == "\x08\x01"; }));  // SERVING
  EXPECT_THAT(page(http, "/healthz"), HasSubstr("200 OK"));
  EXPECT_EQ(count_of(controller.error_text(), "accepts connections again"), 1U);
}

// Whether ::1 can be bound; a host without IPv6 cannot show the test below.
bool has_ipv6() {
  const Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in6 loopback{.sin6_family = AF_INET6,
                              .sin6_port = 0,
                              .sin6_flowinfo = 0,
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                              .sin6_scope_id = 0};
  return socket &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof(loopback)) == 0;
}

TEST_F(PortTest, ListensOnIpv6AndOnEveryAddress) {
  if (!has_ipv6()) GTEST_SKIP() << "this host has no IPv6";
  for (const char* host : {"[::1]", ""}) {
    bench_.config_.socket = bench_.path(fmt::format("s{}", std::string(host).size()));
    bench_.config_.database = bench_.path(fmt::format("d{}", std::string(host).size()));
    Process controller(bench_, {"--insecure", fmt::format("--listen={}:0", host)});
    ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
    const int port = port_of(controller);
    EXPECT_TRUE(ask(fmt::format("[::1]:{}", port)).ok()) << host;
    EXPECT_EQ(ask(fmt::format("127.0.0.1:{}", port)).ok(), *host == '\0');
  }
}

TEST_F(PortTest, TermEndsItWhileHandshakesAreUnfinishedAndAnAgentIsAttached) {
  Process controller(bench_, tls());
  const int port = port_of(controller);
  ScriptedAgent attached(agent(port, "n1", "first"));
  ASSERT_TRUE(welcome(attached));
  std::vector<Fd> peers;
  for (int i = 0; i < 60; ++i) {
    peers.push_back(connect_from(port));
    if (i % 2 == 0) send_text(peers.back(), client_hello());
  }
  const auto from = Clock::now();
  controller.signal(SIGTERM);
  EXPECT_EQ(controller.wait(), 143) << controller.error_text();
  EXPECT_LT(seconds_since(from), 10);
  EXPECT_TRUE(attached.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  for (const Fd& peer : peers) EXPECT_TRUE(testing_listen::is_closed_soon(peer));
}

}  // namespace
}  // namespace railgauge
