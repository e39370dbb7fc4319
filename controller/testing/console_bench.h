// A whole controller with the web console's port, for tests: visitors, and what they send.
#pragma once

#include <grpcpp/grpcpp.h>
#include <httplib.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/api/console.grpc.pb.h"
#include "controller/testing/certificates.h"
#include "controller/testing/server_bench.h"

namespace railgauge::testing_agent {

class ConsoleServer : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(bench_.path("pages/assets"));
    bench_.write("pages/index.html",
                 R"(<!doctype html><title>console</title><script src="./assets/a.js"></script>)");
    bench_.write("pages/assets/a.js", "export {};");
    bench_.write("pages/secret.key", "no page");
    bench_.config_.console_listen = "127.0.0.1:0";
    bench_.config_.console_folder = bench_.path("pages");
  }
  void start() {
    bench_.start();
    ASSERT_NE(bench_.server_, nullptr);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", bench_.server_->console_port());
  }
  grpc::Status open(api::ConsoleTicket& ticket) {
    return open(ticket, grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  }
  static grpc::Status open(api::ConsoleTicket& ticket,
                           const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    return api::Console::NewStub(channel)->OpenConsole(&context, {}, &ticket);
  }
  // The path of a ticket's URL.
  std::string login() {
    api::ConsoleTicket ticket;
    const grpc::Status status = open(ticket);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return path_of(ticket);
  }
  static std::string path_of(const api::ConsoleTicket& ticket) {
    const std::size_t at = ticket.url().find("/login");
    return at == std::string::npos ? "" : ticket.url().substr(at);
  }
  httplib::Headers sign_in() { return sign_in_at(login()); }
  httplib::Headers sign_in_at(const std::string& path) {
    const auto answer = client_->Get(path);
    EXPECT_TRUE(answer);
    if (!answer) return {};
    EXPECT_EQ(answer->status, 200);
    return {{"X-Railgauge-Session", secret_in(answer->body)}};
  }
  // The path of the script that a page names.
  static std::string script_of(const std::string& page) {
    constexpr std::string_view kBefore = "src=\"";
    const std::size_t at = page.find(kBefore);
    if (at == std::string::npos) return "";
    std::string path = page.substr(at + kBefore.size());
    path.resize(path.find('"'));
    return path.starts_with('.') ? path.substr(1) : path;
  }
  // The session's secret, of the page that a ticket's URL answers.
  static std::string secret_in(const std::string& page) {
    constexpr std::string_view kBefore = "content=\"";
    const std::size_t at = page.find(kBefore);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + kBefore.size();
    return page.substr(begin, page.find('"', begin) - begin);
  }

  // --- actions ---------------------------------------------------------------------------------
  // A TCP port with certificates, by which people of a role sign in.
  void serve_certificates() {
    std::filesystem::create_directories(bench_.path("pki"));
    certificates_ = std::make_unique<Certificates>(bench_.path("pki"));
    bench_.config_.tcp = certificates_->tcp();
  }
  httplib::Headers sign_in_with(const std::string& name, const std::string& role) {
    certificates_->sign(name, fmt::format("/CN={}/OU={}", name, role));
    api::ConsoleTicket ticket;
    const grpc::Status status =
        open(ticket, connection(fmt::format("127.0.0.1:{}", bench_.server_->tcp_port()),
                                certificates_->of(name)));
    EXPECT_TRUE(status.ok()) << status.error_message();
    return sign_in_at(path_of(ticket));
  }
  [[nodiscard]] std::string origin() const {
    return fmt::format("http://127.0.0.1:{}", bench_.server_->console_port());
  }
  std::string token_of(const httplib::Headers& session) {
    const auto answer = client_->Get("/api/v1/actions", session);
    EXPECT_TRUE(answer);
    constexpr std::string_view kBefore = R"("token":")";
    const std::size_t at = answer ? answer->body.find(kBefore) : std::string::npos;
    if (at == std::string::npos) return "";
    const std::size_t begin = at + kBefore.size();
    return answer->body.substr(begin, answer->body.find('"', begin) - begin);
  }
  // The headers that the console's own pages send with an action.
  httplib::Headers acting(const httplib::Headers& session) {
    httplib::Headers headers = session;
    headers.emplace("Origin", origin());
    headers.emplace("X-Railgauge-Token", token_of(session));
    return headers;
  }
  httplib::Result post(const std::string& path, const httplib::Headers& headers,
                       const std::string& body = "{}") {
    return client_->Post(path, headers, body, "application/json");
  }
  // The newest row of the trail that is about `rpc`, by a caller of `role` ("": any), once there is
  // one.
  api::AuditEntry newest_of(const std::string& rpc, std::string_view role = "") {
    for (int i = 0; i < 2'000; ++i) {
      grpc::ClientContext context;
      api::AuditList list;
      const auto stub = api::Archive::NewStub(
          grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
      EXPECT_TRUE(stub->ListAudit(&context, {}, &list).ok());
      for (const api::AuditEntry& entry : list.entries())
        if (entry.rpc() == rpc && entry.outcome() != "begun" &&
            (role.empty() || entry.role() == role))
          return entry;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "no row of " << rpc;
    return {};
  }

  ServerBench bench_;
  std::unique_ptr<httplib::Client> client_;
  std::unique_ptr<Certificates> certificates_;
};

}  // namespace railgauge::testing_agent
