#include "controller/trust/certificate.h"

#include <openssl/err.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "controller/trust/openssl.h"

namespace railgauge::trust {
namespace {

using Names = Handle<ReleasedBy<GENERAL_NAMES*, GENERAL_NAMES_free>>;

std::string bytes_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// "10.0.0.1", "fe80:0:0:0:0:0:0:1"; "" for other lengths.
std::string address_text(const std::string& bytes) {
  std::string text;
  const auto byte = [&bytes](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(bytes[at]));
  };
  constexpr std::size_t kVersion4 = 4;
  constexpr std::size_t kVersion6 = 16;
  if (bytes.size() == kVersion4)
    text = fmt::format("{}.{}.{}.{}", byte(0), byte(1), byte(2), byte(3));
  if (bytes.size() == kVersion6)
    for (std::size_t at = 0; at < kVersion6; at += 2)
      text += fmt::format("{}{:x}", at == 0 ? "" : ":", byte(at) * 256 + byte(at + 1));
  return text;
}

Certificate certificate_of(const X509Object& object) {
  Certificate certificate{.id = {.issuer = comparable(X509_get_issuer_name(object.get())),
                                 .serial = hex_of(X509_get0_serialNumber(object.get()))},
                          .subject = text_of(X509_get_subject_name(object.get())),
                          .from_unix = unix_of(X509_get0_notBefore(object.get())),
                          .until_unix = unix_of(X509_get0_notAfter(object.get()))};
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(object.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
    if (type != GEN_URI && type != GEN_DNS && type != GEN_IPADD) continue;
    const std::string text = bytes_of(static_cast<const ASN1_STRING*>(value));
    if (type == GEN_URI) certificate.uris.push_back(text);
    if (type == GEN_DNS) certificate.hosts.push_back("DNS:" + text);
    if (type == GEN_IPADD) certificate.hosts.push_back("IP:" + address_text(text));
  }
  ERR_clear_error();
  return certificate;
}

// Tries certificate, chain and key in the way in which a TLS endpoint loads them, so that a pair
// that the library would refuse later is refused now.
Status try_pair(const X509Object& own, const Key& key) {
  const SslContext context(SSL_CTX_new(TLS_method()));
  if (!context || SSL_CTX_use_certificate(context.get(), own.get()) != 1)
    return fail(Code::kInvalidArgument, fmt::format("--tls-cert: {}", last_error()));
  if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    ERR_clear_error();
    return fail(Code::kInvalidArgument,
                "--tls-cert and --tls-key: the key is not the certificate's; both are replaced "
                "together");
  }
  return {};
}

// When the authority that issued `own` ends; of a foreign one, the first to end.
Result<double> authority_end(const X509Object& own, const std::string& pem) {
  const Bio bio = reader_of(pem);
  double earliest = 0;
  double issuer = 0;
  while (const X509Object authority = next_certificate(bio)) {
    const double until = unix_of(X509_get0_notAfter(authority.get()));
    earliest = earliest == 0 ? until : std::min(earliest, until);
    const bool issued = X509_check_issued(authority.get(), own.get()) == X509_V_OK &&
                        X509_verify(own.get(), X509_get0_pubkey(authority.get())) == 1;
    if (issued) issuer = std::max(issuer, until);
  }
  ERR_clear_error();
  if (earliest == 0)
    return fail(Code::kInvalidArgument, "--tls-ca: the file has no PEM certificate");
  return issuer == 0 ? earliest : issuer;
}

}  // namespace

Result<Certificate> parse_certificate(std::string_view pem) {
  const X509Object object = next_certificate(reader_of(pem));
  if (!object)
    return fail(Code::kInvalidArgument, fmt::format("no PEM certificate: {}", last_error()));
  return certificate_of(object);
}

Result<Material> check_material(std::string certificate, std::string key, std::string authority) {
  const X509Object own = next_certificate(reader_of(certificate));
  if (!own)
    return fail(Code::kInvalidArgument,
                fmt::format("--tls-cert: the file has no PEM certificate: {}", last_error()));
  const Key private_key = private_key_of(key);
  if (!private_key) {
    ERR_clear_error();
    return fail(Code::kInvalidArgument,
                "--tls-key: the file has no PEM key that is readable without a passphrase");
  }
  RG_TRY_OK(try_pair(own, private_key));
  const double authority_until = RG_TRY(authority_end(own, authority));
  return Material{.certificate = std::move(certificate),
                  .key = std::move(key),
                  .authority = std::move(authority),
                  .own = certificate_of(own),
                  .authority_until_unix = authority_until};
}

}  // namespace railgauge::trust
