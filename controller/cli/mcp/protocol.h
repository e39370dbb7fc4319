// The Model Context Protocol as far as tools need it: what one line of the input is answered.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "controller/cli/mcp/json_rpc.h"
#include "controller/cli/mcp/reads.h"

namespace railgauge::cli::mcp {

// The most bytes of a line.
inline constexpr std::size_t kMostLine = 1U << 20U;
// The most messages in one batch, a JSON array.
inline constexpr int kMostBatch = 50;

// One connection, which is that of stdin and stdout. It keeps no state: a call before `initialize`
// is answered too, since nothing here depends on what was agreed. Not thread safe.
class Protocol {
 public:
  // `log` gets a line for a person about each call that was refused.
  Protocol(Reads& reads, std::function<void(const std::string& line)> log)
      : reads_(reads), log_(std::move(log)) {}

  // The answer to a line, without its end; nothing for notifications, which are all taken and have
  // no effect, since a call has ended before the next line is read.
  std::optional<std::string> answer(std::string_view line);
  // The answer to a line that was longer than kMostLine.
  static std::string answer_to_long_line();

 private:
  std::optional<std::string> answer_one(const Json& message);
  tl::expected<std::string, Refusal> result_of(const Request& request);

  Reads& reads_;
  const std::function<void(const std::string& line)> log_;
};

}  // namespace railgauge::cli::mcp
