#include "controller/trust/authority/issue.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <cmath>
#include <ctime>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/trust/identity_uri.h"
#include "controller/trust/openssl.h"
#include "kernels/core/text/text.h"

namespace railgauge::trust {
namespace {

using Number = Handle<ReleasedBy<BIGNUM*, BN_free>>;
using Integer = Handle<ReleasedBy<ASN1_INTEGER*, ASN1_INTEGER_free>>;
using Time = Handle<ReleasedBy<ASN1_TIME*, ASN1_TIME_free>>;
using Extension = Handle<ReleasedBy<X509_EXTENSION*, X509_EXTENSION_free>>;

constexpr int kSerialBits = 128;
constexpr std::size_t kMaxCommonName = 64;  // RFC 5280, ub-common-name

tl::unexpected<Error> refused(std::string_view act) {
  return fail(Code::kInternal, fmt::format("{}: {}", act, last_error()));
}

Time time_of(double unix_seconds) {
  return Time(ASN1_TIME_set(nullptr, static_cast<std::time_t>(std::floor(unix_seconds))));
}

bool set_serial(X509* certificate) {
  const Number number(BN_new());
  return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_part(X509_NAME* name, const char* part, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, part, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                                    0) == 1;
}

bool set_subject(X509* certificate, const CertificateRequest& request) {
  X509_NAME* name = X509_get_subject_name(certificate);
  if (!add_part(name, "O", "railgauge")) return false;
  if (request.role != "authority" && !add_part(name, "OU", request.role)) return false;
  return request.name.size() > kMaxCommonName || add_part(name, "CN", request.name);
}

// Adds an extension in the words of openssl's x509v3_config.
bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool add_extensions(X509* certificate, X509* issuer, const CertificateRequest& request) {
  const auto add = [&](int kind, const std::string& value) {
    return add_extension(certificate, issuer, kind, value);
  };
  if (!add(NID_subject_key_identifier, "hash")) return false;
  if (request.role == "authority")
    return add(NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add(NID_key_usage, "critical,keyCertSign,cRLSign");
  const bool serves = request.role == "controller";
  std::vector<std::string> names = request.hosts;
  if (!serves) names.insert(names.begin(), "URI:" + uri_of(request.role, request.name));
  return add(NID_authority_key_identifier, "keyid") &&
         add(NID_basic_constraints, "critical,CA:FALSE") &&
         add(NID_key_usage, "critical,digitalSignature") &&
         // A controller calls the others of its site.
         add(NID_ext_key_usage, serves ? "serverAuth,clientAuth" : "clientAuth") &&
         add(NID_subject_alt_name, fmt::format("{}", fmt::join(names, ",")));
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return text_of(bio);
}

bool add_entry(X509_CRL* list, const RevokedEntry& entry) {
  BIGNUM* digits = nullptr;
  const bool read = BN_hex2bn(&digits, entry.serial.c_str()) > 0;
  const Number number(digits);
  if (!read) return false;
  const Integer serial(BN_to_ASN1_INTEGER(number.get(), nullptr));
  X509_REVOKED* revoked = X509_REVOKED_new();
  return X509_REVOKED_set_serialNumber(revoked, serial.get()) == 1 &&
         X509_REVOKED_set_revocationDate(revoked, time_of(entry.at_unix).get()) == 1 &&
         X509_CRL_add0_revoked(list, revoked) == 1;
}

bool add_crl_extensions(X509_CRL* list, X509* issuer, double now_unix) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, nullptr, nullptr, list, 0);
  const Extension key(
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid"));
  const Integer number(ASN1_INTEGER_new());
  return key && X509_CRL_add_ext(list, key.get(), -1) == 1 &&
         ASN1_INTEGER_set_uint64(number.get(), static_cast<std::uint64_t>(now_unix * 1000)) == 1 &&
         X509_CRL_add1_ext_i2d(list, NID_crl_number, number.get(), 0, 0) == 1;
}

}  // namespace

Result<std::string> make_certificate(const CertificateRequest& request, const std::string& key_pem,
                                     const Signer& signer) {
  const X509Object certificate(X509_new());
  Key key = private_key_of(key_pem);
  if (!key) key = verifying_key_of(key_pem);
  ERR_clear_error();
  const Key signing_key = private_key_of(signer.key);
  const bool signs_itself = signer.certificate.empty();
  const X509Object authority =
      signs_itself ? X509Object() : next_certificate(reader_of(signer.certificate));
  if (!certificate || !key || !signing_key || (!signs_itself && !authority))
    return refused("key or authority");
  X509* issuer = signs_itself ? certificate.get() : authority.get();
  constexpr long kVersion3 = 2;
  const bool made = X509_set_version(certificate.get(), kVersion3) == 1 &&
                    set_serial(certificate.get()) && set_subject(certificate.get(), request) &&
                    X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) == 1 &&
                    X509_set1_notBefore(certificate.get(), time_of(request.from_unix).get()) == 1 &&
                    X509_set1_notAfter(certificate.get(), time_of(request.until_unix).get()) == 1 &&
                    X509_set_pubkey(certificate.get(), key.get()) == 1 &&
                    add_extensions(certificate.get(), issuer, request) &&
                    X509_sign(certificate.get(), signing_key.get(), EVP_sha256()) > 0;
  if (!made) return refused(fmt::format("certificate of {}", request.name));
  return pem_of(certificate.get());
}

Result<std::string> make_crl(const std::vector<RevokedEntry>& revoked, double now_unix,
                             double from_unix, double until_unix, const Signer& signer) {
  const X509Object authority = next_certificate(reader_of(signer.certificate));
  const Key key = private_key_of(signer.key);
  const CrlObject list(X509_CRL_new());
  if (!authority || !key || !list) return refused("authority");
  bool made = X509_CRL_set_version(list.get(), 1) == 1 &&
              X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(authority.get())) == 1 &&
              X509_CRL_set1_lastUpdate(list.get(), time_of(from_unix).get()) == 1 &&
              X509_CRL_set1_nextUpdate(list.get(), time_of(until_unix).get()) == 1;
  for (const RevokedEntry& entry : revoked) made = made && add_entry(list.get(), entry);
  made = made && X509_CRL_sort(list.get()) == 1 &&
         add_crl_extensions(list.get(), authority.get(), now_unix) &&
         X509_CRL_sign(list.get(), key.get(), EVP_sha256()) > 0;
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!made || PEM_write_bio_X509_CRL(bio.get(), list.get()) != 1)
    return refused("revocation list");
  return text_of(bio);
}

Result<std::string> alternative_name(std::string_view host) {
  std::string text(host);
  bool may_be_name = true;
  bool may_be_address = true;
  for (const std::string_view prefix : {"DNS:", "IP:"})
    if (text.starts_with(prefix)) {
      text.erase(0, prefix.size());
      (prefix == "DNS:" ? may_be_address : may_be_name) = false;
      break;
    }
  std::array<unsigned char, sizeof(in6_addr)> address{};
  if (may_be_address && (::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
                         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1))
    return "IP:" + text;
  constexpr std::size_t kMaxHostBytes = 253;
  const bool is_name = may_be_name && !text.empty() && text.size() <= kMaxHostBytes &&
                       made_of(text, ".-*") && made_of(text.substr(0, 1), "*");
  // Digits and points alone are a mistyped address.
  if (is_name && text.find_first_not_of("0123456789.") != std::string::npos) return "DNS:" + text;
  return fail(Code::kInvalidArgument,
              fmt::format("host {}: neither a host name nor an address", in_quotes(host)));
}

Status check_issued(const std::string& certificate_pem, const std::string& authority_pem) {
  const X509Object certificate = next_certificate(reader_of(certificate_pem));
  const X509Object authority = next_certificate(reader_of(authority_pem));
  if (!certificate || !authority)
    return fail(Code::kInvalidArgument, fmt::format("no PEM certificate: {}", last_error()));
  const bool issued = X509_check_issued(authority.get(), certificate.get()) == X509_V_OK &&
                      X509_verify(certificate.get(), X509_get0_pubkey(authority.get())) == 1;
  ERR_clear_error();
  if (issued) return {};
  return fail(Code::kFailedPrecondition, "the certificate is not of this authority");
}

bool is_pair(const std::string& certificate_pem, const std::string& key_pem) {
  const X509Object certificate = next_certificate(reader_of(certificate_pem));
  const Key key = private_key_of(key_pem);
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

}  // namespace railgauge::trust
