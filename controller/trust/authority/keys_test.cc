#include "controller/trust/authority/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::trust {
namespace {

const std::string kOne(64, 'a');
const std::string kOther(64, 'b');

TEST(CertificateKeysText, ReadsAsItWasWritten) {
  const CertificateKeys keys{{"01", kOne}, {"02", kOne}, {"03", kOther}};
  EXPECT_EQ(parse_keys(keys_text(keys)).keys, keys);
  EXPECT_TRUE(parse_keys("").keys.empty());
}

TEST(CertificateKeysText, LinesMayEndInCrLf) {
  const ReadKeys read = parse_keys("01 " + kOne + "\r\n02 " + kOther + "\r\n");
  EXPECT_EQ(read.keys, (CertificateKeys{{"01", kOne}, {"02", kOther}}));
  EXPECT_TRUE(read.damaged.empty());
}

TEST(CertificateKeysText, ADamagedLineIsNamedAndTheOthersAreRead) {
  for (const std::string& wrong : {std::string("02"), "02 " + kOne + "x", "0x " + kOne, " " + kOne,
                                   "02  " + kOne, std::string()}) {
    const ReadKeys read = parse_keys("01 " + kOne + "\n" + wrong + "\n03 " + kOne + "\n");
    ASSERT_EQ(read.damaged.size(), 1U) << wrong;
    EXPECT_THAT(read.damaged[0], testing::HasSubstr("line 2"));
    EXPECT_EQ(read.keys, (CertificateKeys{{"01", kOne}, {"03", kOne}})) << wrong;
  }
}

TEST(CertificateKeysText, ForgetsWhatEndedLongAgoButNoKeyThatIsRevokedOrUsed) {
  constexpr double kDay = 24 * 3600;
  constexpr double kNow = 2e9;
  const double long_ago = kNow - kKeptSeconds - kDay;
  const std::string third(64, 'c');
  CertificateKeys keys{{"01", kOne}, {"02", kOne}, {"03", kOther}, {"04", kOther}, {"05", third}};
  const std::vector<IndexEntry> index{
      {.serial = "01", .until_unix = long_ago},
      {.serial = "02", .until_unix = kNow - kKeptSeconds + kDay},
      {.serial = "03", .until_unix = long_ago, .revoked_unix = long_ago},
      {.serial = "05", .until_unix = long_ago}};
  drop_ended(keys, index, kNow);
  EXPECT_EQ(keys, (CertificateKeys{{"01", kOne}, {"02", kOne}, {"03", kOther}, {"04", kOther}}))
      << "02 is the renewal of 01; 04 is not in the index";
  drop_ended(keys, index, kNow + 2 * kDay);
  EXPECT_EQ(keys, (CertificateKeys{{"03", kOther}, {"04", kOther}})) << "nor 02 is kept any more";
}

TEST(HaveOneKey, IsForKnownCertificatesAlone) {
  const CertificateKeys keys{{"01", kOne}, {"02", kOne}, {"03", kOther}};
  EXPECT_TRUE(have_one_key(keys, "01", "02"));
  EXPECT_FALSE(have_one_key(keys, "01", "03"));
  EXPECT_FALSE(have_one_key(keys, "04", "04"));
}

}  // namespace
}  // namespace railgauge::trust
