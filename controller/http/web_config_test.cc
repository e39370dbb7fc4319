// TLS and passwords over a real port, with certificates that openssl makes for the test.
#include "controller/http/web_config.h"

#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/http/http_server.h"
#include "controller/http/http_testing.h"

namespace railgauge::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WebConfigTest : public testing::Test {
 protected:
  WebConfigTest() {
    std::string name = (std::filesystem::temp_directory_path() / "web_config_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~WebConfigTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& text) const { std::ofstream(path("web.yml")) << text; }
  [[nodiscard]] std::string refusal(const std::string& text) const {
    write(text);
    const auto read = read_web_config(path("web.yml"));
    return read ? "accepted" : read.error().message;
  }
  void shell(const std::string& command) const {
    ASSERT_EQ(std::system(fmt::format("cd {} && ({}) >log 2>&1", folder_, command).c_str()), 0)
        << command;
  }
  // An authority, and certificates NAME.crt with NAME.key of it.
  void make_certificates() const {
    shell(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key "
        "-out ca.crt -subj /CN=ca -days 1");
    for (const char* name : {"server", "client"})
      shell(
          fmt::format("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                      "-keyout {0}.key -out {0}.req -subj /CN=localhost && openssl x509 -req -in "
                      "{0}.req -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out {0}.crt",
                      name));
    shell("chmod 0600 *.key");
  }
  [[nodiscard]] std::unique_ptr<Server> serve() const {
    auto server = Server::start(
        "127.0.0.1", 0,
        {.metrics = [] { return std::string("a_metric 1\n"); }, .healthy = [] { return true; }},
        path("web.yml"));
    EXPECT_TRUE(server) << server.error().message;
    return server ? std::move(*server) : nullptr;
  }

  std::string folder_;
};

constexpr const char* kTls =
    "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";

TEST_F(WebConfigTest, NamesItsKey) {
  make_certificates();
  write(kTls);
  const auto read = read_web_config(path("web.yml"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)->key, path("server.key"));
}

TEST_F(WebConfigTest, FaultsNameFileLineAndKey) {
  const std::string file = path("web.yml");
  EXPECT_THAT(refusal(""), HasSubstr(file + ": empty"));
  EXPECT_THAT(refusal("tls_server_config:\n  cert: a\n"),
              HasSubstr(file + ":2: tls_server_config.cert: unknown key"));
  EXPECT_THAT(refusal("basic_auth_user:\n  a: b\n"),
              AllOf(HasSubstr(file + ":1: basic_auth_user: unknown key"),
                    HasSubstr("did you mean \"basic_auth_users\"?")));
  EXPECT_THAT(refusal("tls_server_config:\n  cert_file: a\n"), HasSubstr("lacks key_file"));
  EXPECT_THAT(refusal("basic_auth_users:\n  ann: secret\n"),
              AllOf(HasSubstr(file + ":2: basic_auth_users.ann: a bcrypt hash is needed"),
                    Not(HasSubstr("secret"))));
  EXPECT_THAT(
      refusal("basic_auth_users:\n  ann: " + std::string("$2b$31$") + std::string(53, 'a') + "\n"),
      HasSubstr("its cost 31 is not 4 to 14"));
  EXPECT_THAT(refusal("basic_auth_users: {}\n"), HasSubstr("names nobody"));
  EXPECT_THAT(refusal("basic_auth_users: [a]\n"), HasSubstr("must be a mapping"));
  EXPECT_THAT(refusal("a: {\n"), HasSubstr("no YAML"));
  EXPECT_THAT(refusal("\xff"), HasSubstr("byte 1 is not UTF-8"));
  EXPECT_THAT(read_web_config(path("none")).error().message, HasSubstr("none: read: No such file"));
}

TEST_F(WebConfigTest, KeysAndCertificatesAreCheckedWhenTheFileIsRead) {
  make_certificates();
  EXPECT_EQ(refusal(kTls), "accepted");
  EXPECT_THAT(refusal(std::string(kTls) + "  min_version: TLS10\n"),
              HasSubstr(":4: tls_server_config.min_version: TLS12 or TLS13 is needed"));
  EXPECT_THAT(refusal(std::string(kTls) + "  client_auth_type: RequireAndVerifyClientCert\n"),
              HasSubstr(":4: tls_server_config.client_auth_type: needs client_ca_file"));
  EXPECT_THAT(refusal(std::string(kTls) + "  client_ca_file: ca.crt\n"),
              HasSubstr("has no effect"));
  EXPECT_THAT(refusal("tls_server_config:\n  cert_file: server.crt\n  key_file: client.key\n"),
              HasSubstr(":3: tls_server_config.key_file: "));
  EXPECT_THAT(refusal("tls_server_config:\n  cert_file: log\n  key_file: server.key\n"),
              HasSubstr(":2: tls_server_config.cert_file: "));
  shell("chmod 0640 server.key");
  EXPECT_THAT(refusal(kTls), HasSubstr("its mode 0640 lets others read it; chmod 0600"));
}

TEST_F(WebConfigTest, ServesTlsAndAsksForCertificates) {
  make_certificates();
  write(std::string(kTls) +
        "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n");
  const auto server = serve();
  ASSERT_NE(server, nullptr);
  httplib::SSLClient known("localhost", server->port(), path("client.crt"), path("client.key"));
  known.set_ca_cert_path(path("ca.crt").c_str());
  const auto page = known.Get("/metrics");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body, "a_metric 1\n");
  httplib::SSLClient unknown("localhost", server->port());
  unknown.set_ca_cert_path(path("ca.crt").c_str());
  EXPECT_FALSE(unknown.Get("/metrics"));
  httplib::Client plain("127.0.0.1", server->port());
  EXPECT_FALSE(plain.Get("/metrics"));
}

TEST_F(WebConfigTest, WithoutThePasswordNothingIsSaid) {
  write(fmt::format("basic_auth_users:\n  ann: {}\n", hash_of("right", 4)));
  const auto server = serve();
  ASSERT_NE(server, nullptr);
  httplib::Client client("127.0.0.1", server->port());
  for (const char* path : {"/metrics", "/sd", "/healthz", "/other"}) {
    const auto refused = client.Get(path);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 401) << path;
    EXPECT_EQ(refused->body, "Unauthorized\n");
    EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Basic");
  }
  const auto status = [&](const std::string& header) {
    return client.Get("/metrics", httplib::Headers{{"Authorization", header}})->status;
  };
  EXPECT_EQ(status(basic("ann:right")), 200);
  EXPECT_EQ(status(basic("ann:right")), 200);
  for (const std::string& wrong :
       {basic("ann:wrong"), basic("bob:right"), basic("ann:"), basic("ann"), basic(""),
        basic(std::string("ann:right\0", 10)), std::string("Basic !!!"), std::string("Basic "),
        std::string("Bearer x"), std::string(5'000, 'x'), "Basic" + basic("ann:right").substr(6)})
    EXPECT_EQ(status(wrong), 401) << wrong.substr(0, 40);
}

TEST_F(WebConfigTest, AChangedFileCountsAndAFaultyOneDoesNot) {
  write(fmt::format("basic_auth_users:\n  ann: {}\n", hash_of("first", 4)));
  auto file = WebConfigFile::open(path("web.yml"));
  ASSERT_TRUE(file) << file.error().message;
  const auto answers = [&](const std::string& credentials, BasicAuth::Answer wanted) {
    for (int i = 0; i < 100; ++i) {
      if ((*file)->current()->auth.check(basic(credentials), "1") == wanted) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  };
  EXPECT_TRUE(answers("ann:first", BasicAuth::Answer::kRight));
  write(fmt::format("basic_auth_users:\n  ann: {}\n", hash_of("second", 4)));
  EXPECT_TRUE(answers("ann:second", BasicAuth::Answer::kRight));
  EXPECT_TRUE(answers("ann:first", BasicAuth::Answer::kWrong));
  write("");
  std::this_thread::sleep_for(std::chrono::milliseconds(3'500));  // two looks and more
  EXPECT_TRUE((*file)->current()->auth.has_users()) << "an empty file must not open the port";
  EXPECT_TRUE(answers("ann:second", BasicAuth::Answer::kRight));
}

// As above, for connections of before: one that is kept, and one whose answer lasts.
TEST_F(WebConfigTest, ARemovedPasswordReadsNoMoreOnItsConnection) {
  write(fmt::format("basic_auth_users:\n  ann: {}\n", hash_of("first", 4)));
  std::atomic<bool> is_over = false;
  std::atomic<bool> is_done = false;
  const auto server = Server::start(
      "127.0.0.1", 0,
      {.metrics = {},
       .healthy = [] { return true; },
       .other = [&](const Request& request) -> Answer {
         if (request.path != "/live") return {.body = request.user};
         return {.parts = [&, known = request.is_known]() -> std::optional<std::string> {
           std::this_thread::sleep_for(std::chrono::milliseconds(20));
           if (known() && !is_done) return "event\n";
           if (is_done) return std::nullopt;
           is_over = true;
           return std::nullopt;
         }};
       }},
      path("web.yml"));
  ASSERT_TRUE(server) << server.error().message;
  const httplib::Headers ann{{"Authorization", basic("ann:first")}};
  httplib::Client kept("127.0.0.1", (*server)->port());
  kept.set_keep_alive(true);
  ASSERT_EQ(kept.Get("/page", ann)->body, "ann");
  std::thread follower([&] {
    httplib::Client live("127.0.0.1", (*server)->port());
    live.Get("/live", ann);
  });
  write(fmt::format("basic_auth_users:\n  ann: {}\n", hash_of("second", 4)));
  int status = 200;
  for (int i = 0; i < 100 && (status != 401 || !is_over); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (const auto answer = kept.Get("/page", ann); status != 401 && answer)
      status = answer->status;
  }
  EXPECT_EQ(status, 401);
  EXPECT_TRUE(is_over) << "the answer goes on for a password that was removed";
  is_done = true;
  follower.join();
}

}  // namespace
}  // namespace railgauge::http
