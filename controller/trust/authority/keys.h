// Which certificates of an authority are for one key, as a renewal and what it renewed are: the
// file keys.txt of the folder, a line "SERIAL SHA256" a certificate. The index has six fields,
// which `openssl ca` reads, and none for it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/trust/authority/index.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

// SHA-256 of the public key (key_digest_of()) by serial number.
using CertificateKeys = std::map<std::string, std::string, std::less<>>;

// The keys of a text, whose lines may end in CR LF.
struct ReadKeys {
  CertificateKeys keys{};
  std::vector<std::string> damaged{};  // "line 2: no serial number and key"
};
ReadKeys parse_keys(std::string_view text);
std::string keys_text(const CertificateKeys& keys);

// Forgets certificates that ended more than kKeptSeconds ago, so that the file does not grow for
// ever. Those that were revoked stay: their keys are barred for good. So do those whose key a
// certificate has that is kept, as after renewals: whoever revokes the old one revokes it too.
inline constexpr double kKeptSeconds = 365 * 24 * 3600.0;
void drop_ended(CertificateKeys& keys, const std::vector<IndexEntry>& index, double now_unix);

// Whether both certificates are known to be for one key.
bool have_one_key(const CertificateKeys& keys, std::string_view serial, std::string_view other);

}  // namespace railgauge::trust
