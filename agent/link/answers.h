// The ends and refusals of tasks, repeated on every new stream because the share of a lost stream's
// data that arrived is unknown. An end is kept until its final record, which has the same content,
// is acknowledged. The refusal of a task that never ran has no record, so it is kept until newer
// answers push it out. A second delivery changes nothing. Bounded. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

class Answers {
 public:
  static constexpr std::size_t kMaxAnswers = 256;

  // Keeps an answer; drops the oldest at kMaxAnswers. `final_id`: the spool id of the final record
  // or a larger id; 0 when the task has no record.
  void add(api::AgentMessage answer, std::uint64_t final_id) {
    if (answers_.size() == kMaxAnswers) answers_.pop_front();
    answers_.emplace_back(std::move(answer), final_id);
  }
  void acknowledged(std::uint64_t through) {
    std::erase_if(answers_, [through](const auto& answer) {
      return answer.second != 0 && answer.second <= through;
    });
  }
  [[nodiscard]] std::vector<api::AgentMessage> all() const {
    std::vector<api::AgentMessage> messages;
    for (const auto& [answer, _] : answers_) messages.push_back(answer);
    return messages;
  }

 private:
  std::deque<std::pair<api::AgentMessage, std::uint64_t>> answers_;
};

}  // namespace railgauge::agent
