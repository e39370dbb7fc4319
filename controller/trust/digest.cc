#include "controller/trust/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <span>

#include <fmt/format.h>

#include "kernels/core/base/result.h"

namespace railgauge::trust {
namespace {

using Bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  Bytes digest{};
  unsigned size = 0;
  RG_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  return hex(std::span(digest).first(size));
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  Bytes digest{};
  unsigned size = 0;
  RG_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
                digest.data(), &size) != nullptr);
  return hex(std::span(digest).first(size));
}

bool is_equal_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace railgauge::trust
