// An agent's stream in a file: a line of text that says which agent spoke and when, then its
// messages, each after its length as four bytes, the highest first.
#pragma once

#include <string>
#include <vector>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::testing_agent {

struct RecordedStream {
  std::string title;  // "railgauge agent 0.2.0, contract 1.3, recorded 2026-11-28"
  std::vector<api::AgentMessage> messages{};
};

// kNotFound: the file cannot be read. kInvalidArgument: it ends within a message, or holds
// something else.
Result<RecordedStream> read_stream(const std::string& path);

// The line for the stream of this Hello, recorded today (UTC).
std::string title_of(const api::Hello& hello);
// The message as the file has it.
std::string frame_of(const api::AgentMessage& message);

}  // namespace railgauge::testing_agent
