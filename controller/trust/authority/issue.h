// Makes keys, certificates and revocation lists. No file, no clock: times are passed in. Thread
// safe. Times are unix seconds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/trust/signing_request.h"
#include "kernels/core/base/result.h"

namespace railgauge::trust {

// The contents of a certificate to be made.
struct CertificateRequest {
  std::string role{};  // "authority", "controller", "agent", "operator", "viewer"
  std::string name{};  // good, see is_good_name()
  // "DNS:ctl.example", "IP:10.0.0.1": all names of a controller, beside the URI of others.
  std::vector<std::string> hosts{};
  double from_unix = 0;
  double until_unix = 0;
};

// A key that signs, and the certificate that names it; PEM.
struct Signer {
  std::string certificate{};
  std::string key{};
};

struct RevokedEntry {
  std::string serial{};
  double at_unix = 0;
};

// A certificate for a private or public key: SHA-256, a random serial of 128 bits. The subject is
// O=railgauge, OU=ROLE, CN=NAME; a name longer than a CN's 64 bytes is in the URI only. Agents,
// operators and viewers have railgauge://ROLE/NAME, a controller its hosts. An authority signs
// itself: pass its own key and no certificate as `signer`.
Result<std::string> make_certificate(const CertificateRequest& request, const std::string& key_pem,
                                     const Signer& signer);

// A list of all that is revoked, numbered by the time of its making so that it grows.
Result<std::string> make_crl(const std::vector<RevokedEntry>& revoked, double now_unix,
                             double from_unix, double until_unix, const Signer& signer);

// "DNS:gpu01" or "IP:10.0.0.1" of a host name or address, with or without that prefix.
// kInvalidArgument: it is neither.
Result<std::string> alternative_name(std::string_view host);

// kFailedPrecondition: the certificate was not signed by this authority. kInvalidArgument: no
// certificate.
Status check_issued(const std::string& certificate_pem, const std::string& authority_pem);
// Whether the key belongs to the certificate.
bool is_pair(const std::string& certificate_pem, const std::string& key_pem);

}  // namespace railgauge::trust
