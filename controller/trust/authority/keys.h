// Which certificates of an authority are for one key, as a renewal and what it renewed are: the
// file keys.txt of the folder, a line "SERIAL SHA256" a certificate. The index has six fields,
// which `openssl ca` reads, and none for it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::trust {

// SHA-256 of the public key (key_digest_of()) by serial number.
using CertificateKeys = std::map<std::string, std::string, std::less<>>;

// kDataLoss, with the line: a line that is none of the file.
Result<CertificateKeys> parse_keys(std::string_view text);
std::string keys_text(const CertificateKeys& keys);

// Whether both certificates are known to be for one key.
bool have_one_key(const CertificateKeys& keys, std::string_view serial, std::string_view other);

}  // namespace railgauge::trust
