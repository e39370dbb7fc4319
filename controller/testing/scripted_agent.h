// An agent for tests of the controller: a real gRPC stream, a script instead of runners. Synthetic:
// its points measure nothing.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/api/agent.grpc.pb.h"
#include "controller/api/contract.h"

namespace railgauge::testing_agent {

// The agent's reaction to a task.
enum class Script {
  kPass,       // prepares, exchanges two steps, reports a point (rank 0), passes
  kHang,       // prepares, goes, and then waits for a cancel
  kWaive,      // refuses as waived
  kFail,       // refuses as failed
  kKeepSilent  // answers nothing at all
};

struct AgentOptions {
  std::string target;
  std::string name;
  std::string node_id;
  std::string incarnation = "first";
  Script script = Script::kPass;
  api::Contract contract = api::kContract;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  std::vector<api::TaskRef> running{};
  std::uint64_t first_spool_id = 1;
  std::vector<api::Gpu> gpus{};
  std::map<std::string, std::string> stack{};        // versions
  double median = 1'500;                             // of the point that it reports
  std::map<std::string, double> median_with_gpu{};   // by the parameter gpu
  std::map<std::string, double> median_with_node{};  // by a node that is in the task too
  bool has_nic = true;
  std::string metric = "latency_ns";                // of the point
  double clock_ahead_seconds = 0;                   // of the records' times
  std::function<void(api::Hello&)> change_hello{};  // before it is sent
  std::function<void(api::PreflightAnswer&)> change_answer{};
};

class ScriptedAgent {
 public:
  explicit ScriptedAgent(AgentOptions options);
  ~ScriptedAgent();  // cuts the stream

  // False after kPatienceSeconds. The condition is asked with the lock held; the accessors below
  // are for it, and for when nothing can change any more.
  bool wait_until(const std::function<bool(const ScriptedAgent&)>& condition);
  [[nodiscard]] bool welcomed() const { return welcomed_; }
  [[nodiscard]] const api::Refused& refused() const { return refused_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const grpc::Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] const std::vector<api::ControllerMessage>& received() const { return received_; }
  [[nodiscard]] std::chrono::steady_clock::time_point last_prepare_at() const {
    return last_prepare_at_;
  }
  [[nodiscard]] std::size_t count(api::ControllerMessage::BodyCase kind) const;

  void send(const api::AgentMessage& message);
  // One record as its own batch.
  void deliver(const Record& record);
  void cut();  // the connection is gone, without a word

 private:
  static constexpr int kPatienceSeconds = 20;

  void read_loop();
  void play(const api::ControllerMessage& message);
  double median_of(const api::TaskStep& step);
  void on_step(const api::TaskStep& step);
  void send_step(const api::TaskRef& task, std::uint32_t step);
  void finish_task(const api::TaskRef& task, const std::string& outcome, const std::string& reason);

  const AgentOptions options_;
  std::unique_ptr<api::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<api::AgentMessage, api::ControllerMessage>> stream_;
  std::mutex write_mutex_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool welcomed_ = false;
  bool ended_ = false;
  api::Refused refused_;
  grpc::Status status_;
  std::uint64_t acknowledged_ = 0;
  std::vector<api::ControllerMessage> received_;
  std::chrono::steady_clock::time_point last_prepare_at_{};
  std::uint64_t next_spool_id_;
  std::thread reader_;
};

// The kernels that scripted agents declare: fake.lat for pairs, fake.group for any number of ranks,
// fake.memory for pairs that may use a GPU's memory, fake.collective for any number of GPUs.
std::vector<KernelInfo> scripted_kernels();

}  // namespace railgauge::testing_agent
