#include "controller/trust/enrolment_token.h"

#include <openssl/rand.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "controller/trust/digest.h"
#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

constexpr std::string_view kTokenPrefix = "rgt";
constexpr std::size_t kIdDigits = 8;
constexpr std::size_t kSecretDigits = 32;
constexpr std::size_t kFingerprintDigits = 64;

// Lower case alone: a token has one spelling.
bool has_digits(std::string_view text, std::size_t count) {
  return text.size() == count &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

// A system without random numbers ends the program: there is no second source.
std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  RG_CHECK(RAND_bytes(random.data(), static_cast<int>(bytes)) == 1);
  std::string text;
  for (const unsigned char byte : random) text += fmt::format("{:02x}", byte);
  return text;
}

EnrolmentToken make_enrolment_token(const std::string& fingerprint) {
  return {.id = random_hex(kIdDigits / 2),
          .secret = random_hex(kSecretDigits / 2),
          .fingerprint = fingerprint};
}

std::string text_of(const EnrolmentToken& token) {
  return fmt::format("{}_{}_{}_{}", kTokenPrefix, token.id, token.secret, token.fingerprint);
}

Result<EnrolmentToken> parse_enrolment_token(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const std::string whole(
      text.substr(begin, std::max(text.find_last_not_of(kSpace) + 1, begin) - begin));
  const auto parts = split(whole, '_');
  constexpr std::size_t kParts = 4;
  if (parts.size() != kParts || parts[0] != kTokenPrefix || !has_digits(parts[1], kIdDigits) ||
      !has_digits(parts[2], kSecretDigits) || !has_digits(parts[3], kFingerprintDigits))
    return fail(Code::kInvalidArgument,
                "the token is not whole: it is rgt_ and three groups of 8, 32 and 64 hexadecimal "
                "digits, as railgauge tokens create prints it");
  return EnrolmentToken{.id = std::string(parts[1]),
                        .secret = std::string(parts[2]),
                        .fingerprint = std::string(parts[3])};
}

// A secret of 128 random bits needs no slow hash: nobody tries them all.
std::string secret_hash(std::string_view salt, std::string_view secret) {
  return hmac_sha256_hex(salt, secret);
}

}  // namespace railgauge::trust
