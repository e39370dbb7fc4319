// A controller for tests of the agent: a real gRPC server on a unix socket that stores received
// messages and sends those of the test. Answers a rendezvous step as for a task with one rank.
// Serves any number of streams, one after the other.
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

  explicit FakeController(
      const std::string& target,
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials());
  ~FakeController() override;

  void set_answer(Answer answer);
  // Whether every batch of records is acknowledged at once.
  void set_acknowledge(bool acknowledge);
  // Whether a step of a rendezvous is answered.
  void set_answers_steps(bool answers);
  // Sets the last stored record that the next Welcome reports.
  void set_stored_through(std::uint64_t spool_id);
  // Sets the generation of the next Welcome, and of each task that is sent from now on.
  void set_generation(std::uint64_t generation);
  // Breaks the stream like a failing network.
  void drop();
  // Breaks the stream once, right after a message for which `met` is true, without an answer to it.
  void drop_after(bool (api::AgentMessage::*met)() const);
  // Sends to the attached agent. False: none is attached.
  bool send(const api::ControllerMessage& message);
  bool prepare(const std::string& task_id, const std::string& script, double deadline_seconds = 20,
               const std::string& kernel = "test.scripted");
  bool go(const std::string& task_id);
  bool acknowledge(std::uint64_t through);
  static api::TaskRef ref(const std::string& task_id);

  // Waits until `met` is true for the messages received so far. False: patience ended first.
  using Heard = std::vector<api::AgentMessage>;
  bool until(const std::function<bool(const Heard&)>& met);
  Heard heard();
  [[nodiscard]] int port() const { return port_; }

  // Queries over received messages.
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
  bool answers_steps_ = true;
  std::optional<std::uint64_t> stored_through_;
  std::uint64_t generation_ = 0;
  bool (api::AgentMessage::*drop_after_)() const = nullptr;
  grpc::ServerContext* context_ = nullptr;
  Stream* stream_ = nullptr;
  Heard heard_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace railgauge::agent
