// A controller for tests of the agent: a real gRPC server on a unix socket that keeps what it
// receives and sends what a test gives it. A rendezvous step comes back as that of a task with one
// rank. Serves any number of streams, one after the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "controller/api/agent.grpc.pb.h"

namespace railgauge::agent {

class FakeController final : public api::AgentLink::Service {
 public:
  enum class Answer { kWelcome, kSilence, kRefuse, kRefuseForGood, kOldContract };

  explicit FakeController(std::string target, std::shared_ptr<grpc::ServerCredentials> credentials =
                                                  grpc::InsecureServerCredentials());
  ~FakeController() override;

  void set_answer(Answer answer);
  // Acknowledges every batch of records by itself, or not.
  void set_acknowledge(bool acknowledge);
  // Reports to the next agent that attaches up to which record everything is stored.
  void set_stored_through(std::uint64_t spool_id);
  // Breaks the stream, as a network would.
  void drop();
  // Does so once, right after a message of which `met` is true; nothing is answered to it.
  void drop_after(bool (api::AgentMessage::*met)() const);
  // To the agent that is attached; false when there is none.
  bool send(const api::ControllerMessage& message);
  bool prepare(const std::string& task_id, const std::string& script, double deadline_seconds = 20,
               const std::string& kernel = "test.scripted");
  bool go(const std::string& task_id);
  bool acknowledge(std::uint64_t through);
  static api::TaskRef ref(const std::string& task_id);

  // Waits until `met` is true of what was heard; false when patience ends first.
  using Heard = std::vector<api::AgentMessage>;
  bool until(const std::function<bool(const Heard&)>& met);
  Heard heard();
  [[nodiscard]] int port() const { return port_; }

  // Questions about what was heard.
  static int hellos(const Heard& heard);
  static std::vector<api::SpooledRecord> records(const Heard& heard);
  static bool has_final(const Heard& heard, const std::string& task_id, const std::string& outcome);

 private:
  using Stream = grpc::ServerReaderWriter<api::ControllerMessage, api::AgentMessage>;
  grpc::Status Attach(grpc::ServerContext* context, Stream* stream) override;
  bool answer(Stream& stream);
  void hear(api::AgentMessage message, Stream& stream);

  std::mutex mutex_;
  std::condition_variable changed_;
  Answer answer_ = Answer::kWelcome;
  bool acknowledge_ = true;
  std::optional<std::uint64_t> stored_through_;
  bool (api::AgentMessage::*drop_after_)() const = nullptr;
  grpc::ServerContext* context_ = nullptr;
  Stream* stream_ = nullptr;
  Heard heard_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace railgauge::agent
