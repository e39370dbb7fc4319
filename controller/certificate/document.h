// A certificate as a document: one line of canonical JSON with the content's keys, "digest" and
// "signature". The digest is that of the canonical text of the content alone, and the signature is
// made of the same bytes, so that a signed document has the digest of the unsigned one. Whoever
// reads a document trusts nothing but its bytes and, where there is one, a key of his own. Pure;
// thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "controller/certificate/certificate.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::certificate {

inline constexpr std::size_t kMostDocumentBytes = 64U << 20U;

struct Document {
  std::string text{};    // ends in a newline
  std::string digest{};  // "sha256:" and 64 digits
};

// `key_pem`: the private key that signs; "": the document is not signed. Errors: trust::sign()'s.
Result<Document> seal(const Certificate& content, std::string_view key_pem);

// The digest of the content's document.
std::string digest_of(const Certificate& content);

// A document whose bytes fit each other.
struct Opened {
  Certificate content{};
  std::string digest{};
  bool is_signed = false;
  std::string key_sha256{};  // of the signer's public key; "" of a document without a signature
};

// Reads a document and checks all of it: the one form, the digest, and the signature by the key
// that the document names. `key`: the public key that must have signed (trust::public_key_of());
// "": any, also none. kInvalidArgument: no certificate, or one that was changed. kPermissionDenied:
// the document is sound, but this key did not sign it.
Result<Opened> open(std::string_view text, std::string_view key);

}  // namespace railgauge::certificate
