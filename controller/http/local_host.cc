#include "controller/http/local_host.h"

#include <arpa/inet.h>

namespace railgauge::http {

bool is_loopback(const std::string& name) {
  constexpr unsigned kLoopbackNet = 127;
  in_addr address{};
  if (name == "localhost" || name == "::1") return true;
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 &&
         ntohl(address.s_addr) >> 24U == kLoopbackNet;
}

}  // namespace railgauge::http
