#include "controller/trust/signing_request.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <array>

#include <fmt/format.h>

#include "controller/trust/digest.h"
#include "controller/trust/identity_uri.h"
#include "controller/trust/openssl.h"
#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

// NIST SP 800-57: 3,072 bits are as strong as P-256. Larger keys than the upper bound make a
// handshake slow for both sides.
constexpr int kLeastRsaBits = 3'072;
constexpr int kMostRsaBits = 8'192;

// The first request of the text; an error of the text is left in OpenSSL's queue.
RequestObject next_request(std::string_view pem) {
  return RequestObject(PEM_read_bio_X509_REQ(reader_of(pem).get(), nullptr, nullptr, nullptr));
}

// The key without its private half; "" where OpenSSL has no memory.
std::string public_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  return PEM_write_bio_PUBKEY(bio.get(), key) == 1 ? text_of(bio) : "";
}

// SHA-256 of the key's SubjectPublicKeyInfo, by which a node that asks again is known.
std::string key_digest(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return "";
  const std::string digest = sha256_hex(
      std::string_view(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)));
  OPENSSL_free(der);
  return digest;
}

// Curves by name alone: parameters that a peer chose are not looked at.
bool is_good_curve(EVP_PKEY* key) {
  std::array<char, 64> name{};
  if (EVP_PKEY_get_group_name(key, name.data(), name.size(), nullptr) != 1) return false;
  const int curve = OBJ_txt2nid(name.data());
  return curve == NID_X9_62_prime256v1 || curve == NID_secp384r1;
}

// Refuses what a guesser of today could break, and kinds of keys that TLS 1.2 has no use for.
Status check_public_key(EVP_PKEY* key) {
  // Kinds by OpenSSL's own number; a restricted kind such as RSA-PSS is another one.
  const int kind = EVP_PKEY_get_base_id(key);
  if (kind == EVP_PKEY_EC && is_good_curve(key)) return {};
  const int bits = EVP_PKEY_get_bits(key);
  if (kind == EVP_PKEY_RSA && bits >= kLeastRsaBits && bits <= kMostRsaBits) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("the key is refused: EC P-256, EC P-384 or RSA of {} to {} bits is needed",
                  kLeastRsaBits, kMostRsaBits));
}

// The subject's only CN; "" without one, or with several.
std::string common_name(const X509_NAME* subject) {
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) return "";
  unsigned char* bytes = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return name;
}

}  // namespace

Result<std::string> make_key() {
  const Key key(EVP_EC_gen("P-256"));
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!key ||
      PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return fail(Code::kInternal, fmt::format("key: {}", last_error()));
  return text_of(bio);
}

// O and OU are for people who read the request; an authority takes the CN alone.
Result<std::string> make_request(const std::string& name, const std::string& key_pem) {
  const Key key = private_key_of(key_pem);
  const RequestObject request(X509_REQ_new());
  if (!key || !request)
    return fail(Code::kInvalidArgument, fmt::format("signing request: no key: {}", last_error()));
  const auto add = [&](const char* part, const std::string& value) {
    return X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request.get()), part, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                                      0) == 1;
  };
  const Bio bio(BIO_new(BIO_s_mem()));
  const bool made = add("O", "railgauge") && add("OU", "agent") && add("CN", name) &&
                    X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                    X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0 &&
                    PEM_write_bio_X509_REQ(bio.get(), request.get()) == 1;
  if (made) return text_of(bio);
  return fail(Code::kInvalidArgument,
              fmt::format("signing request for {}: {}", in_quotes(name), last_error()));
}

Result<SigningRequest> read_request(std::string_view pem) {
  if (pem.size() > kMaxRequestBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("the signing request has more than {} bytes", kMaxRequestBytes));
  const RequestObject request = next_request(pem);
  EVP_PKEY* key = request ? X509_REQ_get0_pubkey(request.get()) : nullptr;
  if (key == nullptr)
    return fail(Code::kInvalidArgument, fmt::format("no signing request: {}", last_error()));
  RG_TRY_OK(check_public_key(key));  // before its signature, which a huge key makes slow
  if (X509_REQ_verify(request.get(), key) != 1) {
    ERR_clear_error();
    return fail(Code::kInvalidArgument, "the signing request is not signed by its own key");
  }
  SigningRequest read{.name = common_name(X509_REQ_get_subject_name(request.get())),
                      .public_key = public_pem(key),
                      .key_sha256 = key_digest(key)};
  ERR_clear_error();
  if (!is_good_name(read.name))
    return fail(Code::kInvalidArgument,
                fmt::format("the signing request's name {}: one CN is needed, of letters, digits, "
                            "'.', '_' and '-'",
                            in_quotes(read.name)));
  return read;
}

Result<std::string> key_of_certificate(std::string_view pem) {
  const X509Object certificate = next_certificate(reader_of(pem));
  EVP_PKEY* key = certificate ? X509_get0_pubkey(certificate.get()) : nullptr;
  if (key == nullptr)
    return fail(Code::kInvalidArgument, fmt::format("no PEM certificate: {}", last_error()));
  RG_TRY_OK(check_public_key(key));
  return public_pem(key);
}

Result<std::string> key_digest_of(std::string_view public_key) {
  const Key key = verifying_key_of(public_key);
  if (key) return key_digest(key.get());
  return fail(Code::kInvalidArgument, fmt::format("no PEM public key: {}", last_error()));
}

Result<std::string> fingerprint_of(std::string_view pem) {
  const X509Object certificate = next_certificate(reader_of(pem));
  unsigned char* der = nullptr;
  const int size = certificate ? i2d_X509(certificate.get(), &der) : -1;
  if (size <= 0)
    return fail(Code::kInvalidArgument, fmt::format("no PEM certificate: {}", last_error()));
  std::string digest = sha256_hex(
      std::string_view(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)));
  OPENSSL_free(der);
  return digest;
}

}  // namespace railgauge::trust
