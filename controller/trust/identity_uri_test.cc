#include "controller/trust/identity_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::trust {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

TEST(IdentityUri, GivesRoleAndNameInItsOneForm) {
  for (const std::string role : {"agent", "operator", "viewer"}) {
    const std::vector<std::string> uris{uri_of(role, "gpu001.rack-2_a")};
    const auto found = identity_in(uris);
    ASSERT_TRUE(found && *found) << role;
    EXPECT_EQ((*found)->role, role);
    EXPECT_EQ((*found)->name, "gpu001.rack-2_a");
  }
}

TEST(IdentityUri, CarriesNamesThatACommonNameCannot) {
  const std::string name(kMaxNameBytes, 'n');
  const std::vector<std::string> uris{uri_of("agent", name)};
  const auto found = identity_in(uris);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->name, name);
  const std::vector<std::string> longer{uri_of("agent", name + "n")};
  EXPECT_FALSE(identity_in(longer));
}

TEST(IdentityUri, OfOtherSchemesCountsForNothing) {
  const std::vector<std::string> uris{"spiffe://cluster/agent/n1", "https://railgauge/agent/n1",
                                      "xrailgauge://agent/n1", ""};
  const auto found = identity_in(uris);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST(IdentityUri, InAnyOtherFormIsRefusedAndNotIgnored) {
  for (const std::string& uri : {"railgauge://agent/"s,
                                 "railgauge://agent"s,
                                 "railgauge:///n1"s,
                                 "railgauge:agent/n1"s,
                                 "railgauge://agent/n%31"s,
                                 "railgauge://agent/%6e1"s,
                                 "railgauge://agent/n1%00"s,
                                 "RAILGAUGE://agent/n1"s,
                                 "RailGauge://agent/n1"s,
                                 "railgauge://Agent/n1"s,
                                 "railgauge://agent/n1/"s,
                                 "railgauge://agent//n1"s,
                                 "railgauge://agent/../operator/eve"s,
                                 "railgauge://agent/.."s,
                                 "railgauge://agent/.n1"s,
                                 "railgauge://agent/-n1"s,
                                 "railgauge://agent/n1?x"s,
                                 "railgauge://agent/n1#x"s,
                                 "railgauge://agent/n1 "s,
                                 "railgauge://agent/n1\n"s,
                                 "railgauge://agent/n1\0"s,
                                 "railgauge://agent/n1\0.evil"s,
                                 "railgauge://agent\0/n1"s,
                                 "railgauge://agent:7443/n1"s,
                                 "railgauge://eve@agent/n1"s,
                                 "railgauge://root/n1"s,
                                 "railgauge://controller/c1"s,
                                 "railgauge://agent/n\xc3\xa9"s,
                                 "railgauge://agent/n\xff"s,
                                 "railgauge:"s,
                                 "railgauge://"s}) {
    const std::vector<std::string> uris{"spiffe://cluster/x", uri};
    const auto found = identity_in(uris);
    ASSERT_FALSE(found) << uri;
    EXPECT_EQ(found.error().code, Code::kPermissionDenied) << uri;
    EXPECT_EQ(found.error().message.find('\n'), std::string::npos) << uri;
  }
}

TEST(IdentityUri, SeveralAreRefusedEvenWhenTheyAgree) {
  const std::vector<std::string> same{uri_of("agent", "n1"), uri_of("agent", "n1")};
  ASSERT_FALSE(identity_in(same));
  EXPECT_THAT(identity_in(same).error().message, HasSubstr("several"));
  const std::vector<std::string> mixed{uri_of("agent", "n1"), uri_of("operator", "ann")};
  EXPECT_FALSE(identity_in(mixed));
}

}  // namespace
}  // namespace railgauge::trust
