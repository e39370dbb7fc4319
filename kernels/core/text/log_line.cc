#include "kernels/core/text/log_line.h"

#include <fmt/format.h>

#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {

LogSubject subject_of(std::string_view message) {
  LogSubject subject;
  while (true) {
    const std::size_t blank = message.find(' ');
    if (blank == std::string_view::npos) return subject;
    const std::string_view word = message.substr(0, blank);
    std::string_view* const value = word == "run"       ? &subject.run
                                    : word == "task"    ? &subject.task
                                    : word == "attempt" ? &subject.attempt
                                    : word == "rank"    ? &subject.rank
                                    : word == "node"    ? &subject.node
                                                        : nullptr;
    if (value == nullptr || !value->empty()) return subject;
    message.remove_prefix(blank + 1);
    const std::size_t end = message.find(' ');
    *value = message.substr(0, end);
    if (value->ends_with(':')) {
      value->remove_suffix(1);
      return subject;
    }
    if (end == std::string_view::npos) return subject;
    message.remove_prefix(end + 1);
  }
}

std::string log_members(std::string_view program, std::string_view node, std::string_view message) {
  const LogSubject subject = subject_of(message);
  std::string members = fmt::format("\"program\":{}", json_string(program));
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) members += fmt::format(",\"{}\":{}", name, json_string(value));
  };
  add("run", subject.run);
  add("task", subject.task);
  add("attempt", subject.attempt);
  add("rank", subject.rank);
  add("node", subject.node.empty() ? node : subject.node);
  return members + fmt::format(",\"message\":{}", json_string(message));
}

std::string log_line(std::string_view program, std::string_view level, std::string_view message,
                     double at, bool is_json) {
  const std::string text = printable(message);
  if (!is_json) return fmt::format("{} {} {}\n", rfc3339(at), level, text);
  return fmt::format("{{\"time\":{},\"level\":{},{}}}\n", json_string(rfc3339(at)),
                     json_string(level), log_members(program, "", text));
}

}  // namespace railgauge
