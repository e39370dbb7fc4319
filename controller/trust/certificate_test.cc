#include "controller/trust/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(Certificate, IsReadWithSubjectSerialHostsAndEnd) {
  const AuthorityFolder folder;
  folder.issue("controller", "controller", {"ctl.example", "10.0.2.2", "::1"});
  const Certificate certificate = folder.certificate("controller");
  EXPECT_EQ(certificate.subject, "CN=controller,OU=controller,O=railgauge");
  EXPECT_THAT(certificate.hosts,
              ElementsAre("DNS:ctl.example", "IP:10.0.2.2", "IP:0:0:0:0:0:0:0:1"));
  EXPECT_TRUE(certificate.uris.empty());
  EXPECT_EQ(certificate.id.serial.size(), 32U);
  EXPECT_NEAR(certificate.until_unix - unix_now(), kCertificateDays * 86'400, 60);
  EXPECT_EQ(certificate.id.issuer, folder.certificate("ca").id.issuer);
}

TEST(Certificate, KeepsEveryByteOfAUri) {
  const AuthorityFolder folder;
  // DER of the extension: a URI with a NUL inside, which a C string would cut.
  ASSERT_TRUE(folder.shell(
      "printf '2.5.29.17=DER:30188616 7261696c67617567653a2f2f6167656e742f6e310065' | tr -d ' ' "
      "> ext; openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x "
      "-keyout x.key -out x.req && openssl x509 -req -in x.req -CA ca.crt -CAkey ca.key -days 2 "
      "-extfile ext -out x.crt"))
      << folder.read("log");
  const Certificate certificate = folder.certificate("x");
  using std::string_literals::operator""s;
  EXPECT_THAT(certificate.uris, ElementsAre("railgauge://agent/n1\0e"s));
}

TEST(Certificate, IsNotReadFromOtherText) {
  EXPECT_FALSE(parse_certificate(""));
  EXPECT_FALSE(parse_certificate("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"));
}

}  // namespace
}  // namespace railgauge::trust
