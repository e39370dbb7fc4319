// An enrolment port with a real authority and TLS, for tests of the node's side. It has none of the
// controller's rules: any token is good.
#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "agent/enrol/enroll_command.h"
#include "controller/http/http_server.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/signing_request.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::agent {

class FakeEnrolmentPort {
 public:
  FakeEnrolmentPort() {
    ::signal(SIGPIPE, SIG_IGN);
    authority.issue("controller", "controller", {"localhost"});
    serve("controller");
  }
  // Answers with the certificate NAME.crt of the authority.
  void serve(const std::string& name) {
    serve(authority.path(name + ".crt"), authority.path(name + ".key"));
  }
  void serve(const std::string& certificate, const std::string& key) {
    server_.reset();
    auto started = http::Server::start(
        "127.0.0.1", 0,
        {.metrics = {},
         .healthy = [] { return true; },
         .other = [this](const http::Request& request) { return answer(request); },
         .most_body_bytes = trust::kMaxRequestBytes},
        http::TlsFiles{
            .certificate = certificate, .key = key, .client_ca = authority.path("ca.crt")});
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    if (started) server_ = std::move(*started);
  }
  [[nodiscard]] std::string address() const { return fmt::format("localhost:{}", server_->port()); }
  [[nodiscard]] trust::EnrolmentToken token() const {
    return trust::make_enrolment_token(trust::fingerprint_of(authority.read("ca.crt")).value());
  }

  trust::AuthorityFolder authority;
  // Headers of each answer.
  std::string agent_port = "7443";
  std::string time{};  // "": that of this machine
  std::atomic<int> uses = 0;
  std::atomic<int> renewals = 0;

 private:
  http::Answer answer(const http::Request& request) {
    http::Answer reply{.body = authority.read("ca.crt")};
    if (request.path == "/v1/enrol") reply = made(enrolled(request.body), uses);
    if (request.path == "/v1/renew")
      reply =
          made(trust::renew_enrolled(authority.path(), request.certificate, 30, trust::unix_now()),
               renewals);
    reply.headers.emplace_back("Railgauge-Port", agent_port);
    reply.headers.emplace_back("Railgauge-Time",
                               time.empty() ? fmt::format("{:.0f}", trust::unix_now()) : time);
    return reply;
  }
  static http::Answer made(const Result<trust::Enrolled>& certificate, std::atomic<int>& count) {
    ++count;
    if (certificate) return {.status = 201, .body = certificate->certificate};
    return {.status = 403, .body = certificate.error().message + "\n"};
  }
  [[nodiscard]] Result<trust::Enrolled> enrolled(const std::string& body) const {
    const trust::SigningRequest asked = RG_TRY(trust::read_request(body));
    return trust::enrol(authority.path(),
                        {.name = asked.name,
                         .public_key = asked.public_key,
                         .hosts = {"DNS:" + asked.name},
                         .days = 30,
                         .replaces = true},
                        trust::unix_now());
  }

  std::unique_ptr<http::Server> server_;
};

// A folder for a node's state and settings.
class NodeFolderTest : public testing::Test {
 protected:
  NodeFolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_enrol_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~NodeFolderTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(path(name)).rdbuf();
    return all.str();
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(path(name));
  }
  [[nodiscard]] mode_t mode_of(const std::string& name) const {
    struct stat about {};
    EXPECT_EQ(::stat(path(name).c_str(), &about), 0) << name;
    return about.st_mode & 0777;
  }
  [[nodiscard]] EnrollCommand command(const FakeEnrolmentPort& port,
                                      const trust::EnrolmentToken& token,
                                      const std::string& name = "n1") const {
    return {.controller = port.address(),
            .token = text_of(token),
            .name = name,
            .state_dir = path("state"),
            .config = path("agent.conf")};
  }

  std::filesystem::path folder_;
};

}  // namespace railgauge::agent
