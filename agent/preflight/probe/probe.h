// Registrations of GPU memory with NICs, tried by railgauge-runner: the agent itself never makes a
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

// Each GPU with its nearest NICs. A runner that dies or hangs makes the pairs that it had not
// answered errors.
std::vector<ProbeAnswer> probe_registrations(const Inventory& node, const std::string& runner,
                                             double seconds = kProbeSeconds);

// `each` line that is a message of that kind; a newer runner's fields are skipped.
template <class Message, class Each>
void for_each_message_line(const std::string& text, Each each) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (Message message; google::protobuf::util::JsonStringToMessage(line, &message, options).ok())
      each(message);
}

// Why what the runner was asked for has no line.
std::string why_silent(const Result<CommandOutput>& output);

// The runner's lines as answers; what is no answer is left out. Pure.
std::vector<ProbeAnswer> parse_probe_lines(const std::string& text, double unix_seconds);

}  // namespace railgauge::agent
