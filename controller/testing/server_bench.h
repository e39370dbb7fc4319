// A whole controller in a folder of its own, for tests: unix socket, database, one suite.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "controller/api/control.grpc.pb.h"
#include "controller/server.h"
#include "controller/testing/scripted_agent.h"

namespace railgauge::testing_agent {

class ServerBench {
 public:
  ServerBench() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_ctl_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write("group.yaml",
          "version: 1\nmetadata: {name: group}\nstages:\n  - kernel: fake.group\n    placement: "
          "{group: all}\n");
    write("pairs.yaml",
          "version: 1\nmetadata: {name: pairs}\nstages:\n  - kernel: fake.lat\n    placement: "
          "{pairs: all}\n");
    config_.database = path("railgauge.db");
    config_.socket = path("controller.sock");
    config_.suites = folder_.string();
    config_.metrics_listen = "127.0.0.1:0";
    fleet_options_.roster.grace_seconds = 0.2;
  }
  ~ServerBench() {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  ServerBench(const ServerBench&) = delete;
  ServerBench& operator=(const ServerBench&) = delete;

  void start() {
    auto server = Server::start(config_, fleet_options_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    stub_ =
        api::Control::NewStub(grpc::CreateChannel(target(), grpc::InsecureChannelCredentials()));
  }
  void stop() { server_.reset(); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string target() const { return "unix:" + config_.socket; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] AgentOptions agent(const std::string& name, Script script = Script::kPass) const {
    AgentOptions options;
    options.target = target();
    options.name = name;
    options.node_id = "id-" + name;
    options.script = script;
    return options;
  }

  // The controller's view of a run after its end.
  api::RunDetail end_of(const std::string& run_id) const {
    api::RunRef ref;
    ref.set_run_id(run_id);
    grpc::ClientContext watching;
    watching.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub_->WatchRun(&watching, ref);
    for (api::RunEvent event; stream->Read(&event);) {
    }
    grpc::ClientContext asking;
    api::RunDetail detail;
    EXPECT_TRUE(stub_->GetRun(&asking, ref, &detail).ok());
    EXPECT_EQ(detail.run().state(), "ended");
    return detail;
  }

  // Acts as the agent's report; an empty reason means idle. Whether the controller has seen it.
  bool tells_busy(ScriptedAgent& agent, const std::string& name, const std::string& with) const {
    api::AgentMessage message;
    api::BusyState& busy = *message.mutable_heartbeat()->mutable_busy();
    if (!with.empty()) {
      busy.add_reasons()->set_source("slurm");
      busy.mutable_reasons(0)->set_text(with);
    }
    agent.send(message);
    api::ListNodesRequest request;
    request.set_node_set(name);
    for (int i = 0; i < 3000; ++i) {
      grpc::ClientContext context;
      api::NodeList nodes;
      if (!stub_->ListNodes(&context, request, &nodes).ok()) return false;
      if (nodes.nodes_size() == 1 && nodes.nodes(0).busy() == !with.empty()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  Config config_;
  fleet::FleetOptions fleet_options_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<api::Control::Stub> stub_;

 private:
  std::filesystem::path folder_;
};

inline bool welcome(ScriptedAgent& agent) {
  bool welcomed = false;
  agent.wait_until([&welcomed](const ScriptedAgent& a) {
    welcomed = a.welcomed();
    return a.welcomed() || a.ended();
  });
  return welcomed;
}

}  // namespace railgauge::testing_agent
