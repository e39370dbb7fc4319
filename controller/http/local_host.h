// Names of the own host.
#pragma once

#include <string>

namespace railgauge::http {

// Whether only programs of this host reach the host `name`: "localhost", "::1" or an IPv4 address
// of 127.0.0.0/8. Any other name, whatever it begins with, is another host's. Pure.
bool is_loopback(const std::string& name);

}  // namespace railgauge::http
