// Digests of texts. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

namespace railgauge::trust {

// Both return 64 hexadecimal digits in lower case.
std::string sha256_hex(std::string_view text);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

}  // namespace railgauge::trust
