#include "controller/listen/host_port.h"

#include <charconv>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {

Result<HostPort> parse_host_port(std::string_view flag, std::string_view text) {
  constexpr int kMaxPort = 65'535;
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("--{} {}: HOST:PORT is needed, with a port from 0 to {}", flag,
                            in_quotes(text), kMaxPort));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  const std::string_view digits = text.substr(colon + 1);
  HostPort parsed{std::string(text.substr(0, colon)), 0};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
  if (error != std::errc() || end != digits.data() + digits.size() || parsed.port < 0 ||
      parsed.port > kMaxPort)
    return wrong();
  if (parsed.host.size() > 2 && parsed.host.front() == '[' && parsed.host.back() == ']')
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  else if (parsed.host.find(':') != std::string::npos)
    return wrong();
  if (parsed.host.empty()) parsed.host = "0.0.0.0";
  return parsed;
}

}  // namespace railgauge
