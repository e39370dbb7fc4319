#include "controller/log/log.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// The message as printable() writes it.
class SafeMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = printable({line.payload.data(), line.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<SafeMessage>();
  }
};

// The members of a line of json after its time and level.
class JsonMembers final : public spdlog::custom_flag_formatter {
 public:
  explicit JsonMembers(LogOptions options) : options_(std::move(options)) {}
  void format(const spdlog::details::log_msg& line, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = printable({line.payload.data(), line.payload.size()});
    const LogSubject subject = subject_of(text);
    std::string members = fmt::format("\"program\":{}", json_string(options_.program));
    const auto add = [&](std::string_view name, std::string_view value) {
      if (!value.empty()) members += fmt::format(",\"{}\":{}", name, json_string(value));
    };
    add("run", subject.run);
    add("task", subject.task);
    add("attempt", subject.attempt);
    add("rank", subject.rank);
    add("node", subject.node.empty() ? std::string_view(options_.node) : subject.node);
    members += fmt::format(",\"message\":{}", json_string(text));
    out.append(members.data(), members.data() + members.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMembers>(options_);
  }

 private:
  LogOptions options_;
};

}  // namespace

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

void set_up_log(const LogOptions& options) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<SafeMessage>('*').add_flag<JsonMembers>('+', options);
  formatter->set_pattern(options.format == "json"
                             ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%+})"
                             : "%Y-%m-%dT%H:%M:%S.%eZ %l %*");
  auto logger = spdlog::stderr_logger_mt(options.program);
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(options.level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace railgauge
