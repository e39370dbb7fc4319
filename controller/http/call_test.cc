// A port with TLS and bodies, and our client of it.
#include "controller/http/call.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "controller/http/http_server.h"
#include "controller/trust/testing/authority_folder.h"
#include "kernels/core/base/fd.h"

namespace railgauge::http {
namespace {

using testing::HasSubstr;

class CallTest : public testing::Test {
 protected:
  CallTest() {
    authority_.issue("controller", "controller", {"localhost"});
    authority_.issue("agent", "n1");
    auto started = Server::start("127.0.0.1", 0,
                                 {.metrics = {},
                                  .healthy = [] { return true; },
                                  .other = [](const Request& request) { return echo(request); },
                                  .most_body_bytes = 4'096},
                                 TlsFiles{.certificate = authority_.path("controller.crt"),
                                          .key = authority_.path("controller.key"),
                                          .client_ca = authority_.path("ca.crt")});
    EXPECT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  static Answer echo(const Request& request) {
    if (request.path == "/long") return {.body = std::string(kMostReplyBytes + 1, 'x')};
    return {.status = 201,
            .body = fmt::format("{} {} {}{}", request.method, request.path, request.body,
                                request.certificate.empty() ? "" : " certified"),
            .headers = {{"Railgauge-Port", "7"}}};
  }
  [[nodiscard]] std::string url() const {
    return fmt::format("https://localhost:{}", server_->port());
  }
  [[nodiscard]] CallRequest post(std::string body) const {
    return {.method = "POST",
            .path = "/x",
            .body = std::move(body),
            .content_type = "text/plain",
            .ca_file = authority_.path("ca.crt")};
  }

  trust::AuthorityFolder authority_;
  std::unique_ptr<Server> server_;
};

TEST_F(CallTest, ABodyGoesThereAndAnAnswerBack) {
  const auto reply = call(url(), post("hello"));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, "POST /x hello");
  EXPECT_EQ(reply->headers.at("railgauge-port"), "7");
  EXPECT_EQ(call(url(), post(""))->body, "POST /x ");
  EXPECT_EQ(call(url(), post(std::string(4'096, 'y')))->body.size(), 4'096U + 8);
}

TEST_F(CallTest, ALongerBodyIsRefused) {
  EXPECT_EQ(call(url(), post(std::string(4'097, 'y')))->status, 413);
}

TEST_F(CallTest, AClientsCertificateIsSeenIfItHasOne) {
  CallRequest request = post("");
  request.certificate_file = authority_.path("n1.crt");
  request.key_file = authority_.path("n1.key");
  EXPECT_THAT(call(url(), request)->body, HasSubstr(" certified"));
  const trust::AuthorityFolder other;
  other.issue("agent", "n1");
  request.certificate_file = other.path("n1.crt");
  request.key_file = other.path("n1.key");
  EXPECT_FALSE(call(url(), request)) << "of another authority";
}

TEST_F(CallTest, TheServersCertificateIsCheckedUnlessItIsProvedOtherwise) {
  const trust::AuthorityFolder other;
  CallRequest request = post("");
  request.ca_file = other.path("ca.crt");
  const auto refused = call(url(), request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("its certificate is not of an authority"));
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  request.ca_file.clear();
  request.checks_server = false;
  EXPECT_TRUE(call(url(), request));
  request = post("");
  EXPECT_FALSE(call(fmt::format("https://127.0.0.1:{}", server_->port()), request))
      << "the certificate is for localhost";
}

TEST_F(CallTest, AnEndlessAnswerIsCut) {
  const auto reply = call(url(), {.path = "/long", .ca_file = authority_.path("ca.crt")});
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("more than 65536 bytes"));
}

// Each byte comes in time, and all of them do not.
class DrippingServer {
 public:
  static constexpr int kDrips = 60;  // 3 s of 50 ms
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  DrippingServer(const std::string& certificate, const std::string& key)
      : server_(certificate.c_str(), key.c_str()) {
    server_.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_chunked_content_provider("text/plain",
                                            [this](std::size_t, httplib::DataSink& sink) {
                                              pause();
                                              if (++drips_ > kDrips)
                                                sink.done();
                                              else
                                                sink.write("x", 1);
                                              return true;
                                            });
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~DrippingServer() {
    server_.stop();
    thread_.join();
  }
  [[nodiscard]] std::string url() const { return fmt::format("https://localhost:{}", port_); }
  [[nodiscard]] int drips() const { return drips_; }

 private:
  std::atomic<int> drips_ = 0;
  httplib::SSLServer server_;
  int port_ = 0;
  std::thread thread_;
};

TEST_F(CallTest, AServerThatDripsItsAnswerIsCutWhenTheWholeTimeIsOver) {
  ::signal(SIGPIPE, SIG_IGN);
  const DrippingServer server(authority_.path("controller.crt"), authority_.path("controller.key"));
  const auto reply =
      call(server.url(), {.path = "/", .ca_file = authority_.path("ca.crt"), .seconds = 1});
  EXPECT_LT(server.drips(), DrippingServer::kDrips) << "its end was not waited for";
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("no whole answer within 1 s"));
}

// A TLS record of 16 KiB that never ends, and no TLS at all after the drips.
TEST_F(CallTest, AServerThatDripsItsHandshakeIsCutToo) {
  ::signal(SIGPIPE, SIG_IGN);
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::atomic<int> drips = 0;
  std::thread server([&] {
    const Fd peer(::accept(listener.get(), nullptr, nullptr));
    const std::string record("\x16\x03\x03\x3f\xff", 5);
    for (; drips < DrippingServer::kDrips; ++drips) {
      const char byte = drips < 5 ? record[static_cast<std::size_t>(drips)] : '\0';
      if (::send(peer.get(), &byte, 1, MSG_NOSIGNAL) != 1) return;
      DrippingServer::pause();
    }
  });
  const auto reply = call(fmt::format("https://127.0.0.1:{}", ntohs(address.sin_port)),
                          {.checks_server = false, .seconds = 1});
  EXPECT_LT(drips, DrippingServer::kDrips) << "its end was not waited for";
  server.join();
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("no whole answer within 1 s"));
}

TEST_F(CallTest, ACertificateThatThisClockMakesInvalidIsAnErrorOfItsOwn) {
  const double now = trust::unix_now();
  const auto issue_at = [&](const std::string& name, double at) {
    ASSERT_TRUE(trust::issue(
        authority_.path(),
        {.role = "controller", .names = {name}, .hosts = {"localhost"}, .days = 1}, at));
  };
  issue_at("early", now + 2 * 3'600);  // valid from an hour on
  issue_at("over", now - 25 * 3'600);
  const auto message_of = [&](const std::string& name) {
    const DrippingServer server(authority_.path(name + ".crt"), authority_.path(name + ".key"));
    const auto reply = call(server.url(), {.ca_file = authority_.path("ca.crt")});
    EXPECT_EQ(reply ? Code{} : reply.error().code, Code::kFailedPrecondition);
    return reply ? "" : reply.error().message;
  };
  EXPECT_THAT(message_of("early"), HasSubstr("is not valid yet by this machine's clock"));
  EXPECT_THAT(message_of("over"), HasSubstr("has ended by this machine's clock"));
}

TEST_F(CallTest, NobodyThereIsSaid) {
  const auto reply = call("https://127.0.0.1:1", {.checks_server = false});
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("no connection"));
}

}  // namespace
}  // namespace railgauge::http
