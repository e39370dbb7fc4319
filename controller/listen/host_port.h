// Parser of "HOST:PORT" flags.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

// An address to listen on; an empty host means every address.
struct HostPort {
  std::string host;
  int port = 0;
};

// Parses "127.0.0.1:7470", "[::1]:7470" or ":7443" (every address). kInvalidArgument, with the
// flag's name: any other text. Pure.
Result<HostPort> parse_host_port(std::string_view flag, std::string_view text);

}  // namespace railgauge
