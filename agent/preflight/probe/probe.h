// Registrations of GPU memory with NICs, tried by railgauge-runner, so that the agent never makes a
// CUDA context.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include <google/protobuf/util/json_util.h>

#include "agent/inventory/facts/inventory.h"
#include "agent/os/subprocess.h"
#include "agent/preflight/rules/check.h"

namespace railgauge::agent {

inline constexpr double kProbeSeconds = 9;  // for all pairs of a node, at most

// Tries each GPU with its nearest NICs. When the runner dies or hangs, pairs without an answer are
// kError.
std::vector<ProbeAnswer> probe_registrations(const Inventory& node, const std::string& runner,
                                             double seconds = kProbeSeconds,
                                             const Confinement* confinement = nullptr);

// Calls `each` with the message of each line that parses as JSON of that kind. Skips other lines,
// and fields that a newer runner added.
template <class Message, class Each>
void for_each_message_line(const std::string& text, Each each) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (Message message; google::protobuf::util::JsonStringToMessage(line, &message, options).ok())
      each(message);
}

// Returns the reason why the runner printed no line for a question.
std::string why_silent(const Result<CommandOutput>& output);

// Parses the runner's lines as answers; skips lines that are no answer. Pure.
std::vector<ProbeAnswer> parse_probe_lines(const std::string& text, double unix_seconds);

}  // namespace railgauge::agent
