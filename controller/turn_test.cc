// The program as a standby.
#include "controller/turn.h"

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "controller/api/standby.grpc.pb.h"
#include "controller/standby/front.h"
#include "controller/standby/role_service.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/certificates.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/tcp_client.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_agent::ControllerProcess;
using testing_agent::ServerBench;

TEST(Turn, NeedsAnArchiveAndAnAddress) {
  const ServerBench bench;
  ControllerProcess lonely(bench, {"--standby"});
  EXPECT_EQ(lonely.wait(), 2);
  EXPECT_THAT(lonely.error_text(), HasSubstr("--standby needs --mirror"));
  ControllerProcess nameless(bench, {"--standby", "--mirror=postgres://db/x", "--site=east"});
  EXPECT_EQ(nameless.wait(), 2);
  EXPECT_THAT(nameless.error_text(), HasSubstr("--standby needs --advertise"));
}

// Without its archive it waits, answers, and ends when it is asked to.
TEST(Turn, WaitsForAnArchiveThatIsAway) {
  const ServerBench bench;
  ControllerProcess waiting(bench, {"--standby", "--mirror=postgres://u@/x?host=/nowhere",
                                    "--site=east", "--advertise=" + bench.target()});
  for (int look = 0; look < 1'000; ++look) {
    if (waiting.error_text().find("standby: ") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto control = api::Control::NewStub(
      grpc::CreateChannel(bench.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  api::RunList runs;
  EXPECT_THAT(control->ListRuns(&context, {}, &runs).error_message(),
              HasSubstr("this controller is a standby of site east: no active one is known"));
  waiting.signal(SIGTERM);
  EXPECT_EQ(waiting.wait_for(10).value_or(-1), 143) << waiting.error_text();
}

// The port of a standby, with certificates of an authority of its own.
class StandbyPortTest : public testing::Test {
 protected:
  void SetUp() override {
    certificates_.sign("peer", "/O=x/OU=controller/CN=b");
    certificates_.sign("n1", "/O=x/OU=agent/CN=n1");
    certificates_.sign("ann", "/O=x/OU=operator/CN=ann");
    std::ofstream(folder_.file("server_only")) << "extendedKeyUsage=serverAuth";
    certificates_.sign("old", "/O=x/OU=controller/CN=c", "-extfile server_only");
    certificates_.revoke("");
    TcpOptions tcp = certificates_.tcp();
    tcp.tls_crl = certificates_.crl();
    const standby::OpenPort open = standby_port(tcp);
    auto front =
        standby::Front::start({.socket = folder_.file("sock"),
                               .open_port =
                                   [&](grpc::ServerBuilder& builder, auth::PeerBook& peers) {
                                     auto port = open(builder, peers);
                                     if (port) port_ = port->get();
                                     return port;
                                   }},
                              {.role = [] { return api::ControllerRole(); },
                               .promise =
                                   [](const api::PromiseRequest& request) {
                                     api::PromiseAnswer answer;
                                     answer.set_promised(request.generation() == 7);
                                     return answer;
                                   }},
                              {.sentence = [] { return std::string("b is active"); }});
    ASSERT_TRUE(front) << front.error().message;
    front_ = std::move(*front);
  }
  // The promise that this certificate's holder gets for generation 7, or the reason why not.
  [[nodiscard]] std::string promise_to(const std::string& name) const {
    const auto promised = standby::ask_promise({.site = "east",
                                                .pem = {.certificate = folder_.file(name + ".crt"),
                                                        .key = folder_.file(name + ".key"),
                                                        .authority = folder_.file("ca.crt")}},
                                               fmt::format("127.0.0.1:{}", port_->port()), 7, 4, 2);
    if (!promised) return promised.error().message;
    return *promised ? "promised" : "refused";
  }

  store::TempFolder folder_;
  testing_agent::Certificates certificates_{folder_.file(".")};
  standby::FrontPort* port_ = nullptr;
  std::unique_ptr<standby::Front> front_;
};

TEST_F(StandbyPortTest, PromisesAreForControllersWhoseCertificateIsGoodForClients) {
  EXPECT_EQ(promise_to("peer"), "promised");
  EXPECT_THAT(promise_to("n1"), HasSubstr("this needs OU=controller"));
  EXPECT_THAT(promise_to("ann"), HasSubstr("this needs OU=controller"));
  EXPECT_THAT(promise_to("old"), HasSubstr("controller 127.0.0.1:")) << "no client's certificate";
  // Whoever is let in may ask for the role, and gets no other answer.
  const auto credentials = certificates_.of("n1");
  const auto channel =
      testing_agent::connection(fmt::format("127.0.0.1:{}", port_->port()), credentials);
  grpc::ClientContext asking;
  api::ControllerRole role;
  EXPECT_TRUE(api::Standby::NewStub(channel)->GetRole(&asking, {}, &role).ok());
  grpc::ClientContext listing;
  api::RunList runs;
  EXPECT_EQ(api::Control::NewStub(channel)->ListRuns(&listing, {}, &runs).error_message(),
            "b is active");
}

TEST_F(StandbyPortTest, ARevokedControllerGetsNoPromise) {
  EXPECT_EQ(promise_to("peer"), "promised");
  certificates_.revoke("peer");
  std::string answer;
  for (int look = 0; look < 100 && answer.find("revoked") == std::string::npos; ++look) {
    answer = promise_to("peer");
    front_->tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(answer, HasSubstr("is revoked"));
}

// One source that holds handshakes up loses the oldest of them, and nobody else waits.
TEST_F(StandbyPortTest, UnfinishedHandshakesAreBounded) {
  constexpr std::size_t kMore = 8;
  std::vector<Fd> held;
  for (std::size_t i = 0; i < TcpListener::kMostWaitingOfASource + kMore; ++i) {
    held.push_back(testing_listen::connect_from(port_->port(), "127.0.0.9"));
    testing_listen::send_text(held.back(), testing_listen::client_hello().substr(0, 20));
  }
  for (std::size_t i = 0; i < kMore; ++i) EXPECT_TRUE(testing_listen::is_closed_soon(held[i])) << i;
  EXPECT_TRUE(testing_listen::is_open(held.back()));
  EXPECT_EQ(promise_to("peer"), "promised");
}

}  // namespace
}  // namespace railgauge
