// Keys and signing requests (PKCS #10) of nodes that ask for a certificate: what a node makes, and
// what an authority takes from it, the name and the key alone. Pure but for the random numbers of
// a new key; thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::trust {

// A larger request is refused; one of an RSA key of 4,096 bits has 1.6 KB.
inline constexpr std::size_t kMaxRequestBytes = 4'096;

// A new EC P-256 key, PEM (PKCS #8), without a passphrase.
Result<std::string> make_key();

// A request of the key for the name, PEM. kInvalidArgument: the name is too long for a CN (64
// bytes), or there is no key.
Result<std::string> make_request(const std::string& name, const std::string& key_pem);

// A request that its own key signed.
struct SigningRequest {
  std::string name{};        // the only CN of the subject, a good name
  std::string public_key{};  // PEM
  std::string key_sha256{};  // of the key's DER, hexadecimal
};
// Attributes may ask for other names, rights or an authority's powers; whoever signs what a request
// asks for gives them away.
// Reads the first request of a PEM text; other names and all extensions are left aside.
// kInvalidArgument: larger than kMaxRequestBytes, no request, not signed by its key, no name or
// not a good one, or a weak key (check_public_key()).
Result<SigningRequest> read_request(std::string_view pem);

// The public key of a certificate, PEM. kInvalidArgument: there is no certificate, or the key is
// neither EC P-256 or P-384 nor RSA of 3,072 to 8,192 bits.
Result<std::string> key_of_certificate(std::string_view pem);

// The key_sha256 of a public key, PEM. kInvalidArgument: there is none.
Result<std::string> key_digest_of(std::string_view public_key);

// SHA-256 of the certificate's DER, 64 hexadecimal digits in lower case, as `openssl x509
// -fingerprint -sha256` has it without colons. kInvalidArgument: no certificate.
Result<std::string> fingerprint_of(std::string_view pem);

}  // namespace railgauge::trust
