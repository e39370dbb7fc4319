// Digests of texts. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

namespace railgauge::trust {

// Both return 64 hexadecimal digits in lower case.
std::string sha256_hex(std::string_view text);
std::string hmac_sha256_hex(std::string_view key, std::string_view text);

// Whether both are equal, in a time that depends on their sizes alone: for secrets.
bool is_equal_secret(std::string_view one, std::string_view other);

}  // namespace railgauge::trust
