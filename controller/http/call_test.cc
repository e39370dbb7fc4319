// A port with TLS and bodies, and our client of it.
#include "controller/http/call.h"

#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/http/http_server.h"
#include "controller/trust/testing/authority_folder.h"

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

TEST_F(CallTest, NobodyThereIsSaid) {
  const auto reply = call("https://127.0.0.1:1", {.checks_server = false});
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("no connection"));
}

}  // namespace
}  // namespace railgauge::http
