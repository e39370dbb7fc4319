#include "controller/trust/authority/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::trust {
namespace {

constexpr double k2026 = 1'795'000'000;

TEST(Index, IsReadAsItWasWritten) {
  const std::vector<IndexEntry> entries{
      {"AB12", "n1.crt", "/O=railgauge/OU=agent/CN=n1", k2026 + 10, 0},
      {"0C", "unknown", "/O=railgauge/OU=operator/CN=ann", 5e9, k2026 - 10}};
  const std::string text = index_text(entries, k2026);
  const auto again = parse_index(text);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->size(), 2U);
  EXPECT_EQ((*again)[0].name(), "n1");
  EXPECT_EQ((*again)[0].role(), "agent");
  EXPECT_EQ((*again)[0].until_unix, k2026 + 10);
  EXPECT_EQ((*again)[1].name(), "ann");
  EXPECT_EQ((*again)[1].until_unix, 5e9);
  EXPECT_EQ((*again)[1].revoked_unix, k2026 - 10);
  EXPECT_EQ(index_text(*again, k2026), text);
  EXPECT_TRUE(text.starts_with("V\t"));
  EXPECT_TRUE(index_text(entries, k2026 + 20).starts_with("E\t"));
}

TEST(Index, DamagedIsRefusedWithTheLine) {
  const std::string good = "V\t361126120000Z\t\tAB\tn1.crt\t/CN=n1\n";
  EXPECT_TRUE(parse_index(good));
  EXPECT_TRUE(parse_index(""));
  for (const std::string bad :
       {"V\t361126120000Z\t\tAB\tn1.crt\n", "V\tnever\t\tAB\tn1.crt\t/CN=n1\n",
        "R\t361126120000Z\t\tAB\tn1.crt\t/CN=n1\n",
        "V\t361126120000Z\t261126120000Z\tAB\tx\t/CN=x\n",
        "V\t361126120000Z\t\txyz\tn1.crt\t/CN=n1\n", "\n", "half"}) {
    const auto parsed = parse_index(good + bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_THAT(parsed.error().message, testing::HasSubstr("line 2"));
  }
}

}  // namespace
}  // namespace railgauge::trust
