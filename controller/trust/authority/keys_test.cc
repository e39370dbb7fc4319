#include "controller/trust/authority/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::trust {
namespace {

const std::string kOne(64, 'a');
const std::string kOther(64, 'b');

TEST(CertificateKeysText, ReadsAsItWasWritten) {
  const CertificateKeys keys{{"01", kOne}, {"02", kOne}, {"03", kOther}};
  EXPECT_EQ(parse_keys(keys_text(keys)).value(), keys);
  EXPECT_TRUE(parse_keys("")->empty());
}

TEST(CertificateKeysText, ADamagedLineIsNamed) {
  for (const std::string& wrong : {std::string("02"), "02 " + kOne + "x", "0x " + kOne, " " + kOne,
                                   "02  " + kOne, std::string()}) {
    const auto read = parse_keys("01 " + kOne + "\n" + wrong + "\n");
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_THAT(read.error().message, testing::HasSubstr("line 2"));
  }
}

TEST(HaveOneKey, IsForKnownCertificatesAlone) {
  const CertificateKeys keys{{"01", kOne}, {"02", kOne}, {"03", kOther}};
  EXPECT_TRUE(have_one_key(keys, "01", "02"));
  EXPECT_FALSE(have_one_key(keys, "01", "03"));
  EXPECT_FALSE(have_one_key(keys, "04", "04"));
}

}  // namespace
}  // namespace railgauge::trust
