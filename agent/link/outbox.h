// Messages that wait for the stream in progress; lost with it, because nobody knows how much of the
// written data arrived: the owner repeats the ones that still matter. Bounded. Pure; the link holds
// the lock.
#pragma once

#include <cstddef>
#include <deque>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

class Outbox {
 public:
  static constexpr std::size_t kMaxMessages = 1024;
  static constexpr std::size_t kMaxBytes = 16U << 20U;

  // False when it is full: the message is not taken.
  bool push(api::AgentMessage message);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  // The oldest message; it stays until written() says that the stream has it.
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
