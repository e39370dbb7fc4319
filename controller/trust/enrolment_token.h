// The text of an enrolment token: "rgt_ID_SECRET_FINGERPRINT", of hexadecimal digits. The
// fingerprint is that of the authority's certificate, so that a node knows whom it may trust; the
// secret is what the controller knows by a salted hash alone. Thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::trust {

struct EnrolmentToken {
  std::string id{};           // 8 digits; names the token for people, no secret
  std::string secret{};       // 32 digits, 128 random bits
  std::string fingerprint{};  // 64 digits, fingerprint_of() the authority
  friend bool operator==(const EnrolmentToken&, const EnrolmentToken&) = default;
};

// A new one, of random numbers.
EnrolmentToken make_enrolment_token(const std::string& fingerprint);
// So many random bytes as hexadecimal digits.
std::string random_hex(std::size_t bytes);

std::string text_of(const EnrolmentToken& token);
// Takes blanks at the ends, as files and terminals add them. kInvalidArgument: not of the form
// above. The error does not show the text, which may be a secret.
Result<EnrolmentToken> parse_enrolment_token(std::string_view text);

// The only form in which a secret is stored.
std::string secret_hash(std::string_view salt, std::string_view secret);

}  // namespace railgauge::trust
