#include "controller/enrol/token_rules.h"

#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/enrolment_token.h"

namespace railgauge::enrol {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNow = 1'795'000'000;
constexpr const char* kSecret = "00112233445566778899aabbccddeeff";

store::TokenRow row_for(const std::string& nodes = "") {
  return {.token_id = "1a2b3c4d",
          .salt = "salt",
          .hash = trust::secret_hash("salt", kSecret),
          .nodes = nodes,
          .created_at = kNow - 10,
          .created_by = "root",
          .expires_at = kNow + 100};
}

std::string refusal(const store::TokenRow& token, const std::string& name,
                    std::optional<double> first_use = {}) {
  const Status used = check_use(token, name, first_use, kNow);
  return used ? "" : used.error().message;
}

TEST(TokenRules, AnUnknownTokenAndAWrongSecretHaveTheSameRefusal) {
  EXPECT_TRUE(check_secret(row_for(), kSecret));
  const Status wrong = check_secret(row_for(), "ff112233445566778899aabbccddeeff");
  const Status unknown = check_secret(std::nullopt, kSecret);
  ASSERT_FALSE(wrong);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(wrong.error().message, unknown.error().message);
  EXPECT_EQ(unknown.error().code, Code::kUnauthenticated);
  // The hash that an unknown one is compared with is no way in.
  EXPECT_FALSE(check_secret(std::nullopt, "nobody's"));
}

TEST(TokenRules, ARefusalSaysWhyAndWhatHelps) {
  EXPECT_EQ(refusal(row_for(), "n1"), "");
  store::TokenRow token = row_for();
  token.uses = 1;
  EXPECT_THAT(refusal(token, "n1"), HasSubstr("all its uses are taken (1 of 1); railgauge tokens"));
  token = row_for();
  token.expires_at = kNow;
  EXPECT_THAT(refusal(token, "n1"), HasSubstr("it expired at 2026-"));
  token = row_for();
  token.revoked_at = kNow - 1;
  EXPECT_THAT(refusal(token, "n1"), HasSubstr("it was revoked at 2026-"));
  EXPECT_THAT(refusal(row_for("gpu[001-064]"), "gpu065"),
              HasSubstr("it is for gpu[001-064], not for node gpu065"));
  EXPECT_EQ(refusal(row_for("gpu[001-064]"), "gpu064"), "");
}

TEST(TokenRules, ALostAnswerMayBeAskedForAgainForAWhileByTheSameKey) {
  store::TokenRow token = row_for();
  token.uses = 1;
  EXPECT_EQ(refusal(token, "n1", kNow - 1), "");
  EXPECT_EQ(refusal(token, "n1", kNow - kRepeatSeconds), "");
  EXPECT_THAT(refusal(token, "n1", kNow - kRepeatSeconds - 1), HasSubstr("node n1 used it at"));
  token.expires_at = kNow - 1;
  EXPECT_THAT(refusal(token, "n1", kNow - 1), HasSubstr("it expired"));
}

TEST(TokenRules, NodeSetsAreGoodNamesAlone) {
  EXPECT_THAT(names_of("n[1-2],b").value(), ElementsAre("n1", "n2", "b"));
  EXPECT_THAT(names_of("").value(), IsEmpty());
  for (const char* wrong : {"!n1", "n[1-3],!n2", "@rack7", "rack=r1", "n[1-", "n/1", "-n"})
    EXPECT_FALSE(names_of(wrong)) << wrong;
}

// Each rule alone, against rows at random: the answer is yes only if none of them says no.
TEST(TokenRules, AUseIsTakenOnlyIfNoRuleForbidsIt) {
  std::mt19937 random(28);
  const auto coin = [&](int of) { return static_cast<int>(random() % static_cast<unsigned>(of)); };
  int taken = 0;
  for (int round = 0; round < 20'000; ++round) {
    store::TokenRow token = row_for(coin(2) == 0 ? "" : "n[1-4]");
    token.most_uses = 1 + coin(3);
    token.uses = coin(4);
    token.expires_at = kNow + coin(5) - 2;
    if (coin(3) == 0) token.revoked_at = kNow - coin(3);
    const std::string name = fmt::format("n{}", 1 + coin(8));
    std::optional<double> first_use;
    if (coin(3) == 0) first_use = kNow - coin(2) * (kRepeatSeconds + coin(3) - 1);
    const bool is_alive = !token.revoked_at && token.expires_at > kNow;
    const bool is_named = token.nodes.empty() || name <= "n4";
    const bool has_use =
        first_use ? kNow - *first_use <= kRepeatSeconds : token.uses < token.most_uses;
    const bool may = refusal(token, name, first_use).empty();
    ASSERT_EQ(may, is_alive && is_named && has_use)
        << round << ": " << refusal(token, name, first_use);
    ASSERT_EQ(state_of(token, kNow) == "valid", is_alive && token.uses < token.most_uses);
    taken += may ? 1 : 0;
  }
  EXPECT_GT(taken, 1'000);
}

}  // namespace
}  // namespace railgauge::enrol
