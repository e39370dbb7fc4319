#include "controller/log/log.h"

#include <memory>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

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

}  // namespace

void set_up_log(const std::string& name, const std::string& level, const std::string& pattern,
                bool utc) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(
      utc ? spdlog::pattern_time_type::utc : spdlog::pattern_time_type::local);
  formatter->add_flag<SafeMessage>('*').set_pattern(pattern);
  auto logger = spdlog::stderr_logger_mt(name);
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace railgauge
