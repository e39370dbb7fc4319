#include "controller/trust/signing_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/trust/digest.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

TEST(SigningRequestTest, SaysItsNameAndKey) {
  const std::string key = make_key().value();
  const auto request = make_request("gpu017", key);
  ASSERT_TRUE(request) << request.error().message;
  const auto read = read_request(*request);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "gpu017");
  EXPECT_EQ(read->key_sha256.size(), 64U);
  EXPECT_EQ(read_request(make_request("other", key).value())->key_sha256, read->key_sha256);
  EXPECT_NE(read_request(make_request("gpu017", make_key().value()).value())->key_sha256,
            read->key_sha256);
}

TEST(SigningRequestTest, ANameBeyondACnIsRefused) {
  const std::string key = make_key().value();
  EXPECT_TRUE(make_request(std::string(64, 'n'), key));
  EXPECT_FALSE(make_request(std::string(65, 'n'), key));
  EXPECT_FALSE(make_request("n1", "no key"));
}

// Each byte of a request changed: none reads as another name or key that the old one signed.
TEST(SigningRequestTest, AChangedRequestIsRefusedOrTheSame) {
  const std::string good = make_request("gpu017", make_key().value()).value();
  const SigningRequest before = read_request(good).value();
  const std::string_view head = "-----BEGIN CERTIFICATE REQUEST-----\n";
  for (std::size_t at = head.size(); at < good.find("-----END"); ++at) {
    if (good[at] == '\n') continue;
    std::string changed = good;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    const auto read = read_request(changed);
    if (read) EXPECT_EQ(read->name + read->key_sha256, before.name + before.key_sha256) << at;
  }
}

TEST(FingerprintOf, IsOpensslsWithoutColons) {
  const AuthorityFolder authority;
  ASSERT_TRUE(authority.shell(
      "openssl x509 -in ca.crt -noout -fingerprint -sha256 | sed 's/.*=//' | tr -d ':\\n' | tr A-F "
      "a-f >print"));
  EXPECT_EQ(fingerprint_of(authority.read("ca.crt")).value_or(""), authority.read("print"));
  EXPECT_FALSE(fingerprint_of("no certificate"));
}

TEST(IsEqualSecret, ComparesWholeTexts) {
  EXPECT_TRUE(is_equal_secret("abc", "abc"));
  EXPECT_TRUE(is_equal_secret("", ""));
  for (const char* other : {"abd", "ab", "abcd", ""}) EXPECT_FALSE(is_equal_secret("abc", other));
}

}  // namespace
}  // namespace railgauge::trust
