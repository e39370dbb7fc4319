// Messages that wait for the current stream. They are dropped with the stream, because the share of
// the written data that arrived is unknown; the owner repeats the messages that still matter.
// Bounded. Pure; the link holds the lock.
#pragma once

#include <cstddef>
#include <deque>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

class Outbox {
 public:
  static constexpr std::size_t kMaxMessages = 1024;
  static constexpr std::size_t kMaxBytes = 16U << 20U;

  // Queues a message. False: the outbox is full, and the message is dropped.
  bool push(api::AgentMessage message);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  // Returns the oldest message, which stays until written() removes it.
  [[nodiscard]] const api::AgentMessage& front() const { return messages_.front().message; }
  void written();
  void clear();

 private:
  struct Waiting {
    api::AgentMessage message;
    std::size_t bytes;
  };
  std::deque<Waiting> messages_;
  std::size_t bytes_ = 0;
};

}  // namespace railgauge::agent
