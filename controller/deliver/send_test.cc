// Attempts against real receivers: a server of HTTP on loopback, and scripts in the place of
// sendmail.
#include "controller/deliver/send.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "controller/deliver/testing/receiver.h"
#include "controller/http/post.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::deliver {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using Kind = Sent::Kind;

bool never() { return false; }

Sent post_to(const std::string& url, const std::string& secret, const std::string& ca_file = "") {
  const auto parsed = http::parse_url(url);
  EXPECT_TRUE(parsed) << url;
  const Target target{.name = "webhook", .url = *parsed, .secret = secret, .ca_file = ca_file};
  return sender_of(target, "")({.delivery_id = "run-1", .body = "{\"a\":1}"}, never);
}

TEST(SendHttp, ASignedMessageIsTakenAndARepeatIsKnown) {
  Receiver receiver("s3cret");
  EXPECT_EQ(post_to(receiver.url(), "s3cret").kind, Kind::kTaken);
  EXPECT_EQ(post_to(receiver.url(), "s3cret").kind, Kind::kTaken);
  ASSERT_THAT(receiver.posts(2), SizeIs(2));
  EXPECT_EQ(receiver.posts(2)[0].body, "{\"a\":1}");
  EXPECT_EQ(receiver.posts(2)[0].id, "run-1");
  EXPECT_EQ(receiver.kept(), 1u) << "id and digest are the same";
}

TEST(SendHttp, AReceiverFindsOutAboutAnotherSecret) {
  Receiver receiver("s3cret");
  const Sent sent = post_to(receiver.url(), "guess");
  EXPECT_EQ(sent.kind, Kind::kRefused);
  EXPECT_EQ(sent.cause, "HTTP status 401");
  EXPECT_EQ(post_to(receiver.url(), "").kind, Kind::kRefused);
  EXPECT_EQ(receiver.kept(), 0u);
}

TEST(SendHttp, FaultsOfServersMayPassAndRefusalsDoNot) {
  Receiver receiver("");
  receiver.answer_next({500, 429, 404, 302, 204});
  EXPECT_EQ(post_to(receiver.url(), "").kind, Kind::kLater);
  EXPECT_EQ(post_to(receiver.url(), "").kind, Kind::kLater);
  EXPECT_EQ(post_to(receiver.url(), "").kind, Kind::kRefused);
  EXPECT_EQ(post_to(receiver.url(), "").kind, Kind::kRefused);
  EXPECT_EQ(post_to(receiver.url(), "").kind, Kind::kTaken);
  receiver.stop();
  const Sent away = post_to(receiver.url(), "");
  EXPECT_EQ(away.kind, Kind::kLater);
  EXPECT_THAT(away.cause, AllOf(HasSubstr("127.0.0.1"), HasSubstr("no connection")));
}

TEST(SendHttp, ALongAnswerEndsTheAttempt) {
  httplib::Server server;
  server.Post("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::string(8U << 20U, 'a'), "text/plain");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread serving([&] { server.listen_after_bind(); });
  const Sent sent = post_to(fmt::format("http://127.0.0.1:{}/", port), "");
  server.stop();
  serving.join();
  EXPECT_EQ(sent.kind, Kind::kLater);
  EXPECT_THAT(sent.cause, HasSubstr("its answer is longer than 64 KiB"));
}

// HTTPS with an authority that only the settings name.
TEST(SendHttp, ChecksTheCertificateOfTheReceiver) {
  const store::TempFolder folder;
  const std::string make = fmt::format(
      "cd {} && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
      "/CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem "
      "2>/dev/null",
      folder.file(""));
  ASSERT_EQ(std::system(make.c_str()), 0);
  Receiver receiver("", 0, folder.file("cert.pem"), folder.file("key.pem"));
  const std::string url = fmt::format("https://localhost:{}/hook", receiver.port());
  EXPECT_EQ(post_to(url, "", folder.file("cert.pem")).kind, Kind::kTaken);
  const Sent unknown = post_to(url, "");
  EXPECT_EQ(unknown.kind, Kind::kLater);
  EXPECT_THAT(unknown.cause, HasSubstr("certificate"));
  EXPECT_EQ(receiver.posts(1).size(), 1u);
}

TEST(ParseUrl, TakesHttpAndHttpsWithoutSecretsInTheHost) {
  EXPECT_EQ(http::parse_url("https://h.example:8443/a/b?c=1")->server, "https://h.example:8443");
  EXPECT_EQ(http::parse_url("https://h.example:8443/a/b?c=1")->path, "/a/b?c=1");
  EXPECT_EQ(http::parse_url("http://h")->path, "/");
  for (const char* wrong : {"", "ftp://x", "h.example/a", "https://", "https:///a",
                            "https://user:word@h/", "https://h/a b", "https://h/a\nb"})
    EXPECT_FALSE(http::parse_url(wrong)) << wrong;
}

class SendMail : public testing::Test {
 protected:
  // A program with this body in the place of sendmail.
  Sent mail_by(const std::string& body, const std::function<bool()>& is_ending = never) {
    const std::string path = folder_.file(fmt::format("sendmail{}", ++count_));
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const Target target{.name = "mail", .format = Format::kMail, .program = path};
    return sender_of(target, "")({.delivery_id = "run-1", .body = "To: ops\n\nhello\n"}, is_ending);
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(folder_.file(name)).rdbuf();
    return all.str();
  }
  store::TempFolder folder_;
  int count_ = 0;
};

TEST_F(SendMail, TheProgramGetsTheMessageOnStdin) {
  EXPECT_EQ(
      mail_by("echo \"$@\" >" + folder_.file("words") + "; cat >" + folder_.file("mail")).kind,
      Kind::kTaken);
  EXPECT_EQ(text("words"), "-i -t\n");
  EXPECT_EQ(text("mail"), "To: ops\n\nhello\n");
}

TEST_F(SendMail, AFailureSaysWhatTheProgramSaid) {
  const Sent failed = mail_by("cat >/dev/null; echo 'queue is\tfull' >&2; exit 75");
  EXPECT_EQ(failed.kind, Kind::kLater);
  EXPECT_EQ(failed.cause, "exit code 75: queue is\\tfull");
  EXPECT_EQ(mail_by("kill -9 $$").cause, "signal 9");
}

TEST_F(SendMail, AProgramThatHangsEndsWithTheController) {
  const auto begin = std::chrono::steady_clock::now();
  const Sent sent = mail_by("sleep 60", [begin] {
    return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(100);
  });
  EXPECT_EQ(sent.kind, Kind::kLater);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

}  // namespace
}  // namespace railgauge::deliver
