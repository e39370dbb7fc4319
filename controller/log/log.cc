#include "controller/log/log.h"

#include <memory>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "kernels/core/text/log_line.h"
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
    const std::string members = log_members(options_.program, options_.node, text);
    out.append(members.data(), members.data() + members.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMembers>(options_);
  }

 private:
  LogOptions options_;
};

}  // namespace

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

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

}  // namespace railgauge
