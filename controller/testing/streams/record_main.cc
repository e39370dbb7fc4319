// railgauge-stream-recorder: is between agents and a controller, passes all messages on, and writes
// each agent's stream into a file. deploy/packages/record_streams.sh uses it. In no package.
//   railgauge-stream-recorder --listen TARGET --to TARGET --out FOLDER
// Facts, stack and labels of the recording host are left out. Ends with SIGTERM or SIGINT.
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "controller/api/agent.grpc.pb.h"
#include "controller/testing/streams/stream_file.h"

namespace railgauge::testing_agent {
namespace {

// The words about the host are no part of the contract.
void leave_out_the_host(api::Hello& hello) {
  hello.clear_labels();
  for (auto* words :
       {hello.mutable_facts(), hello.mutable_stack_versions(), hello.mutable_stack_settings()})
    for (auto& [name, value] : *words) value = "recorded";
  (*hello.mutable_facts())["metrics_port"] = "none";
}

class Recorder final : public api::AgentLink::Service {
 public:
  Recorder(const std::string& to, std::string folder)
      : stub_(api::AgentLink::NewStub(grpc::CreateChannel(to, grpc::InsecureChannelCredentials()))),
        folder_(std::move(folder)) {}

 private:
  using Stream = grpc::ServerReaderWriter<api::ControllerMessage, api::AgentMessage>;

  grpc::Status Attach(grpc::ServerContext* context, Stream* agent) override {
    grpc::ClientContext onward;
    const auto controller = stub_->Attach(&onward);
    std::thread down([&] {
      for (api::ControllerMessage message; controller->Read(&message);)
        if (!agent->Write(message)) break;
      context->TryCancel();
    });
    std::ofstream file;
    for (api::AgentMessage message; agent->Read(&message);) {
      if (message.has_hello()) {
        leave_out_the_host(*message.mutable_hello());
        file.open(fmt::format("{}/{}.stream", folder_, message.hello().name()),
                  std::ios::binary | std::ios::trunc);
        file << title_of(message.hello());
      }
      file << frame_of(message) << std::flush;
      if (!controller->Write(message)) break;
    }
    controller->WritesDone();
    onward.TryCancel();
    down.join();
    return controller->Finish();
  }

  const std::unique_ptr<api::AgentLink::Stub> stub_;
  const std::string folder_;
};

int main_of(int argc, char** argv) {
  std::map<std::string, std::string, std::less<>> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  if (flags.size() != 3 || !flags.contains("--listen") || !flags.contains("--to") ||
      !flags.contains("--out")) {
    std::fputs("usage: railgauge-stream-recorder --listen TARGET --to TARGET --out FOLDER\n",
               stderr);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: all inherit it
  Recorder recorder(flags["--to"], flags["--out"]);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(flags["--listen"], grpc::InsecureServerCredentials());
  builder.RegisterService(&recorder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "railgauge-stream-recorder: listen on %s: refused\n",
                 flags["--listen"].c_str());
    return 4;
  }
  int signal = 0;
  ::sigwait(&signals, &signal);
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}

}  // namespace
}  // namespace railgauge::testing_agent

int main(int argc, char** argv) { return railgauge::testing_agent::main_of(argc, argv); }
