#include "controller/trust/openssl.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <memory>

namespace railgauge::trust {
namespace {

// A passphrase is never asked for: a server has nobody to ask.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

std::string printed(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  return text_of(bio);
}

}  // namespace

Bio reader_of(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_of(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

X509Object next_certificate(const Bio& bio) {
  return X509Object(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
}

CrlObject next_crl(const Bio& bio) {
  return CrlObject(PEM_read_bio_X509_CRL(bio.get(), nullptr, no_passphrase, nullptr));
}

Key private_key_of(std::string_view pem) {
  return Key(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, no_passphrase, nullptr));
}

Key verifying_key_of(std::string_view pem) {
  return Key(PEM_read_bio_PUBKEY(reader_of(pem).get(), nullptr, no_passphrase, nullptr));
}

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  if (reason != nullptr) return reason;
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

double unix_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return static_cast<double>(::timegm(&parts));
}

std::string hex_of(const ASN1_INTEGER* number) {
  const Handle<ReleasedBy<BIGNUM*, BN_free>> value(ASN1_INTEGER_to_BN(number, nullptr));
  if (!value) return "";
  char* digits = BN_bn2hex(value.get());
  if (digits == nullptr) return "";
  std::string text(digits);
  OPENSSL_free(digits);
  return text;
}

std::string text_of(const X509_NAME* name) { return printed(name); }

std::string comparable(const X509_NAME* name) {
  std::string text;
  for (const char c : printed(name)) {
    const bool blank = c == ' ' && (text.empty() || text.back() == ' ');
    if (!blank) text.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  return text;
}

}  // namespace railgauge::trust
