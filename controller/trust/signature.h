// Signatures of documents by the keys that `railgauge pki` makes (ECDSA on P-256 with SHA-256), or
// by Ed25519 keys. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::trust {

// All texts of bytes are hexadecimal digits in lower case.
struct Signature {
  std::string algorithm{};   // "ecdsa-p256-sha256", "ed25519"
  std::string public_key{};  // of the signer: a SubjectPublicKeyInfo in DER
  std::string value{};       // RFC 3279's sequence in DER, or the 64 bytes of RFC 8032
};

// Signs the text. kInvalidArgument: no private key without a passphrase, or one of another kind.
Result<Signature> sign(std::string_view text, std::string_view key_pem);

// Whether the signature is that of the text by the key that it names. kInvalidArgument names the
// fault: an unknown algorithm, bytes that are no key or no signature, or another text.
Status check_signature(std::string_view text, const Signature& signature);

// The key of a PEM text, a public key or a certificate, as in Signature. Who issued a certificate
// and when it ends does not count. kInvalidArgument: neither, or a key of another kind.
Result<std::string> public_key_of(std::string_view pem);

// SHA-256 of the key's DER, as `openssl pkey -pubin -outform DER | sha256sum` prints it. "": the
// text is no such bytes.
std::string fingerprint_of_key(std::string_view public_key);

}  // namespace railgauge::trust
