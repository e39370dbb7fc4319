#include "controller/trust/signature.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "controller/trust/digest.h"
#include "controller/trust/openssl.h"

namespace railgauge::trust {
namespace {

using DigestContext = Handle<ReleasedBy<EVP_MD_CTX*, EVP_MD_CTX_free>>;
using ByteList = std::vector<unsigned char>;

// The two kinds of keys, in the words of documents.
constexpr std::string_view kEcdsa = "ecdsa-p256-sha256";
constexpr std::string_view kEd25519 = "ed25519";
constexpr std::size_t kMostHexDigits = 1'024;

// Two digits a byte, in lower case.
std::string hex_text(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Empty: the text is no such bytes. Upper case is none: one value has one text.
ByteList bytes_of_hex(std::string_view text) {
  if (text.size() % 2 != 0 || text.size() > kMostHexDigits) return {};
  ByteList bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes.push_back(static_cast<unsigned char>(16 * high + low));
  }
  return bytes;
}

// "" for a key of another kind.
std::string_view algorithm_of(EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519) return kEd25519;
  std::array<char, 64> group{};
  std::size_t size = 0;
  const bool is_p256 = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
                       EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1 &&
                       std::string_view(group.data(), size) == SN_X9_62_prime256v1;
  return is_p256 ? kEcdsa : std::string_view();
}

// Ed25519 hashes by itself.
const EVP_MD* digest_of(std::string_view algorithm) {
  return algorithm == kEd25519 ? nullptr : EVP_sha256();
}

// The public half of a key in one encoding: OpenSSL keeps the form of a point that it read, of
// which there are three.
Result<std::string> spki_of(EVP_PKEY* key) {
  if (algorithm_of(key).empty())
    return fail(Code::kInvalidArgument,
                "a key of another kind; P-256 and Ed25519 sign (railgauge pki makes P-256 keys)");
  const bool is_ec = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC;
  const bool has_one_form = !is_ec || EVP_PKEY_set_utf8_string_param(
                                          key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                          OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_UNCOMPRESSED) == 1;
  unsigned char* data = nullptr;
  const int size = has_one_form ? i2d_PUBKEY(key, &data) : 0;
  if (size <= 0) return fail(Code::kInternal, fmt::format("public key: {}", last_error()));
  std::string text = hex_text({data, static_cast<std::size_t>(size)});
  OPENSSL_free(data);
  return text;
}

const unsigned char* data_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

// OpenSSL is asked twice: first for the largest size of a signature, then for the signature.
Result<Signature> sign(std::string_view text, std::string_view key_pem) {
  const Key key = private_key_of(key_pem);
  if (!key)
    return fail(Code::kInvalidArgument,
                fmt::format("no private key without a passphrase: {}", last_error()));
  Signature signature{.public_key = RG_TRY(spki_of(key.get()))};
  signature.algorithm = algorithm_of(key.get());
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  const bool is_begun =
      context &&
      EVP_DigestSignInit(context.get(), nullptr, digest_of(signature.algorithm), nullptr,
                         key.get()) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, data_of(text), text.size()) == 1;
  ByteList value(size);
  if (!is_begun ||
      EVP_DigestSign(context.get(), value.data(), &size, data_of(text), text.size()) != 1)
    return fail(Code::kInternal, fmt::format("sign: {}", last_error()));
  value.resize(size);
  signature.value = hex_text(value);
  return signature;
}

// No part of the signature is trusted: the key is read, written again and compared.
Status check_signature(std::string_view text, const Signature& signature) {
  const ByteList spki = bytes_of_hex(signature.public_key);
  const ByteList value = bytes_of_hex(signature.value);
  const unsigned char* at = spki.data();
  const Key key(spki.empty() ? nullptr : d2i_PUBKEY(nullptr, &at, static_cast<long>(spki.size())));
  // A key has other encodings too; only the one that this program writes counts.
  const auto own = key ? spki_of(key.get()) : Result<std::string>();
  if (!key || !own || *own != signature.public_key) {
    ERR_clear_error();
    return fail(Code::kInvalidArgument, "the signer's public key cannot be read");
  }
  if (algorithm_of(key.get()) != signature.algorithm)
    return fail(Code::kInvalidArgument,
                fmt::format("the signer's key is of {}, the signature of another algorithm",
                            algorithm_of(key.get())));
  const DigestContext context(EVP_MD_CTX_new());
  const bool fits =
      !value.empty() && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, digest_of(signature.algorithm), nullptr,
                           key.get()) == 1 &&
      EVP_DigestVerify(context.get(), value.data(), value.size(), data_of(text), text.size()) == 1;
  ERR_clear_error();
  if (!fits) return fail(Code::kInvalidArgument, "the signature is not that of this text");
  return {};
}

Result<std::string> public_key_of(std::string_view pem) {
  if (const X509Object certificate = next_certificate(reader_of(pem)))
    return spki_of(X509_get0_pubkey(certificate.get()));
  const Key key(PEM_read_bio_PUBKEY(reader_of(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!key) return fail(Code::kInvalidArgument, "neither a public key nor a certificate");
  return spki_of(key.get());
}

std::string fingerprint_of_key(std::string_view public_key) {
  const ByteList bytes = bytes_of_hex(public_key);
  if (bytes.empty()) return "";
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace railgauge::trust
