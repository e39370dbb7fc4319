// Plays the recorded stream of an agent with one task to a controller. Each message follows when
// the controller's orders allow it, and bears the run, task and attempt that were ordered.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/api/agent.grpc.pb.h"
#include "controller/testing/streams/stream_file.h"

namespace railgauge::testing_agent {

// Returns the messages that are sent in the place of one; may run on another thread.
using StreamChange = std::function<std::vector<api::AgentMessage>(api::AgentMessage message)>;

class ReplayedAgent {
 public:
  ReplayedAgent(const std::string& target, RecordedStream stream, StreamChange change = {});
  ~ReplayedAgent();  // cuts the stream
  ReplayedAgent(const ReplayedAgent&) = delete;
  ReplayedAgent& operator=(const ReplayedAgent&) = delete;

  // Waits until the controller has welcomed the agent, or every message was sent; false: the stream
  // ended before, or kPatienceSeconds are over.
  bool is_welcome();
  bool has_said_all();
  // The controller's last words, "" while the stream is open.
  std::string end();

 private:
  static constexpr int kPatienceSeconds = 20;

  void read_loop();
  void play();
  // Waits until the message may be sent; false: the stream has ended.
  bool may_send(const api::AgentMessage& message);
  // Puts the ordered task and the present time in the place of the recorded ones.
  void adapt(api::AgentMessage& message);
  bool wait_for(const std::function<bool()>& met);

  const RecordedStream recorded_;
  const StreamChange change_;
  std::unique_ptr<api::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<api::AgentMessage, api::ControllerMessage>> stream_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool welcomed_ = false;
  bool ended_ = false;
  bool said_all_ = false;
  bool gone_ = false;            // "go" came
  std::size_t steps_said_ = 0;   // of the rendezvous
  std::size_t steps_heard_ = 0;  // answers to them
  api::TaskRef task_{};          // as ordered; empty before
  std::string last_words_{};     // of the controller
  std::thread reader_;
  std::thread player_;
};

// The stream as an agent of the next version might send it: another version, fields, words and
// kinds of messages and records that this controller does not know.
StreamChange as_next_version();
// As an agent of the version before: without what the last minor version of the contract added.
StreamChange as_last_version();

}  // namespace railgauge::testing_agent
