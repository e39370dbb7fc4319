#include "controller/trust/signature.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/authority/issue.h"
#include "controller/trust/openssl.h"

namespace railgauge::trust {
namespace {

using testing::HasSubstr;

std::string private_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio);
}
std::string public_pem(std::string_view pem) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PUBKEY(bio.get(), private_key_of(pem).get());
  return text_of(bio);
}
std::string ed25519_key() {
  return private_pem(Key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")).get());
}

constexpr std::string_view kText = "{\"a\":1}";

TEST(Signature, FitsItsTextAndNoOther) {
  for (const std::string& key : {make_key().value(), ed25519_key()}) {
    const Signature signature = sign(kText, key).value();
    EXPECT_TRUE(check_signature(kText, signature));
    EXPECT_FALSE(check_signature("{\"a\":2}", signature));
    EXPECT_FALSE(check_signature("", signature));
  }
}

TEST(Signature, NamesItsKindOfKey) {
  EXPECT_EQ(sign(kText, make_key().value())->algorithm, "ecdsa-p256-sha256");
  EXPECT_EQ(sign(kText, ed25519_key())->algorithm, "ed25519");
}

// The second digit of a point's first byte is its form: 04, 06 and 07 may be the same point.
TEST(Signature, EveryChangedDigitIsFound) {
  const Signature good = sign(kText, make_key().value()).value();
  for (std::string Signature::*part : {&Signature::public_key, &Signature::value})
    for (std::size_t i = 0; i < (good.*part).size(); ++i)
      for (const char digit : std::string_view("67")) {
        Signature bad = good;
        if ((bad.*part)[i] == digit) continue;
        (bad.*part)[i] = digit;
        EXPECT_FALSE(check_signature(kText, bad)) << i << " " << digit;
      }
}

TEST(Signature, AnotherFormOfTheSameBytesIsNone) {
  const Signature good = sign(kText, ed25519_key()).value();
  Signature upper = good;
  for (char& c : upper.value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  ASSERT_NE(upper.value, good.value);
  EXPECT_FALSE(check_signature(kText, upper));
  Signature longer = good;
  longer.value += "00";
  EXPECT_FALSE(check_signature(kText, longer));
  Signature renamed = good;
  renamed.algorithm = "ecdsa-p256-sha256";
  EXPECT_FALSE(check_signature(kText, renamed));
  EXPECT_FALSE(check_signature(kText, Signature()));
}

TEST(Signature, ThePublicKeyIsThatOfTheKeyAndOfItsCertificate) {
  const std::string key = make_key().value();
  const std::string certificate =
      make_certificate({.role = "authority", .name = "site", .from_unix = 1, .until_unix = 2e9},
                       key, {.key = key})
          .value();
  const std::string signer = sign(kText, key)->public_key;
  EXPECT_EQ(public_key_of(public_pem(key)), signer);
  EXPECT_EQ(public_key_of(certificate), signer);
  EXPECT_EQ(fingerprint_of_key(signer).size(), 64U);
}

TEST(Signature, OtherKeysAreRefusedByName) {
  const std::string p384 = private_pem(Key(EVP_EC_gen("P-384")).get());
  const auto signed_by = sign(kText, p384);
  ASSERT_FALSE(signed_by);
  EXPECT_THAT(signed_by.error().message, HasSubstr("P-256 and Ed25519 sign"));
  EXPECT_FALSE(public_key_of(public_pem(p384)));
  EXPECT_EQ(sign(kText, "no key").error().code, Code::kInvalidArgument);
  EXPECT_EQ(public_key_of(make_key().value()).error().code, Code::kInvalidArgument)
      << "a private key is not what a reader names";
}

}  // namespace
}  // namespace railgauge::trust
