// Keys, certificates and host names, without a folder.
#include "controller/trust/authority/issue.h"

#include <gtest/gtest.h>

#include "controller/trust/certificate.h"

namespace railgauge::trust {
namespace {

constexpr double k2026 = 1'795'000'000;

TEST(AlternativeName, TellsHostsFromAddresses) {
  EXPECT_EQ(alternative_name("ctl.example").value_or(""), "DNS:ctl.example");
  EXPECT_EQ(alternative_name("*.example").value_or(""), "DNS:*.example");
  EXPECT_EQ(alternative_name("10.0.0.1").value_or(""), "IP:10.0.0.1");
  EXPECT_EQ(alternative_name("IP:::1").value_or(""), "IP:::1");
  for (const char* wrong : {"", "10.0.0", "IP:host", "DNS:", "a b", "a,DNS:b", "a\nb"})
    EXPECT_FALSE(alternative_name(wrong)) << wrong;
}

TEST(MakeCertificate, SaysWhatWasAskedAndFitsItsKeyAlone) {
  const std::string key = make_key().value_or("");
  const std::string other = make_key().value_or("");
  const CertificateRequest authority{
      .role = "authority", .name = "a", .from_unix = k2026, .until_unix = k2026 + 1000};
  const auto ca = make_certificate(authority, key, {.key = key});
  ASSERT_TRUE(ca) << ca.error().message;
  EXPECT_TRUE(is_pair(*ca, key));
  EXPECT_FALSE(is_pair(*ca, other));
  const CertificateRequest agent{
      .role = "agent", .name = "n1", .from_unix = k2026, .until_unix = k2026 + 10};
  const auto leaf = make_certificate(agent, other, {.certificate = *ca, .key = key});
  ASSERT_TRUE(leaf) << leaf.error().message;
  EXPECT_TRUE(check_issued(*leaf, *ca));
  EXPECT_FALSE(check_issued(*leaf, *leaf));
  EXPECT_EQ(parse_certificate(*leaf).value_or(Certificate{}).until_unix, k2026 + 10);
}

}  // namespace
}  // namespace railgauge::trust
