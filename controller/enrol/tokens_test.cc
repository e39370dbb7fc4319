#include "controller/enrol/tokens.h"

#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/nodes/enrolment_tokens.h"
#include "controller/store/testing/store_testing.h"
#include "controller/trust/enrolment_token.h"
#include "controller/trust/signing_request.h"
#include "controller/trust/testing/authority_folder.h"

namespace railgauge::enrol {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kTokensNow = 1'795'000'000;

class TokensTest : public testing::Test {
 protected:
  TokensTest() { tokens_.serve(authority_.read("ca.crt"), "0.0.0.0:7444"); }
  Result<api::NewToken> create(const std::string& nodes, std::optional<std::uint32_t> uses = {},
                               std::optional<double> seconds = {}, bool replaces = false) {
    api::CreateTokenRequest request;
    request.set_node_set(nodes);
    if (uses) request.set_uses(*uses);
    if (seconds) request.set_for_seconds(*seconds);
    request.set_replaces(replaces);
    return tokens_.create(request, "root");
  }

  double now_ = kTokensNow;
  trust::AuthorityFolder authority_;
  store::TempFolder folder_;
  std::unique_ptr<store::Store> store_ = store::open_store(folder_.file("db"));
  Tokens tokens_{*store_, [this] { return now_; }};
};

TEST_F(TokensTest, ATokenNamesTheAuthorityAndItsSecretIsNotStored) {
  const auto made = create("");
  ASSERT_TRUE(made) << made.error().message;
  const auto token = trust::parse_enrolment_token(made->token());
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->fingerprint, trust::fingerprint_of(authority_.read("ca.crt")).value());
  EXPECT_EQ(made->info().token_id(), token->id);
  EXPECT_EQ(made->info().most_uses(), 1U);
  EXPECT_EQ(made->info().expires_at(), "2026-11-18T12:06:40.000Z") << "an hour";
  EXPECT_TRUE(store_->flush());
  for (const char* file : {"db", "db-wal"}) {
    std::ifstream bytes(folder_.file(file), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(bytes)), {});
    EXPECT_THAT(text, Not(HasSubstr(token->secret))) << file;
  }
  EXPECT_NE(create("")->token(), create("")->token());
}

TEST_F(TokensTest, ASetOfNodesHasAUseForEach) {
  EXPECT_EQ(create("gpu[001-512]")->info().most_uses(), 512U);
  EXPECT_EQ(create("gpu[001-512]", 3)->info().most_uses(), 3U);
}

TEST_F(TokensTest, WhatIsOutOfBoundsIsRefused) {
  EXPECT_THAT(create("", 0).error().message, HasSubstr("--uses 0: 1 to"));
  EXPECT_FALSE(create("", 20'000));
  EXPECT_THAT(create("", 1, 31 * 86'400.0).error().message, HasSubstr("--expires"));
  EXPECT_FALSE(create("", 1, 0));
  EXPECT_THAT(create("", 1, 60, true).error().message, HasSubstr("--replace: it needs --nodes"));
  EXPECT_FALSE(create("@rack7"));
}

TEST_F(TokensTest, ListsThemNewestFirstWithTheirState) {
  const std::string first = create("", 1, 60)->info().token_id();
  const std::string second = create("n1")->info().token_id();
  const std::string third = create("n2")->info().token_id();
  ASSERT_TRUE(tokens_.revoke(third, "ann"));
  now_ += 61;
  const auto list = tokens_.list();
  ASSERT_TRUE(list);
  std::vector<std::string> seen;
  for (const api::TokenInfo& token : list->tokens())
    seen.push_back(token.token_id() + " " + token.state() + " " + token.revoked_by());
  EXPECT_THAT(
      seen, testing::ElementsAre(third + " revoked ann", second + " valid ", first + " expired "));
}

TEST_F(TokensTest, ARevokedTokenKeepsItsTimeAndAnUnknownOneIsAnError) {
  const std::string id = create("")->info().token_id();
  const auto revoked = tokens_.revoke(id, "ann");
  now_ += 10;
  EXPECT_EQ(tokens_.revoke(id, "bob")->revoked_at(), revoked->revoked_at());
  EXPECT_EQ(tokens_.revoke(id, "bob")->revoked_by(), "ann");
  EXPECT_EQ(tokens_.revoke("00000000", "ann").error().code, Code::kNotFound);
}

TEST_F(TokensTest, WithoutAPortThereAreNone) {
  Tokens off(*store_, [] { return kTokensNow; });
  EXPECT_THAT(off.create({}, "root").error().message, HasSubstr("--enroll-listen"));
}

TEST_F(TokensTest, OldOnesMakeRoomAndGoodOnesDoNot) {
  for (std::int64_t i = 0; i < store::kMostTokens; ++i) ASSERT_TRUE(create("n1", 1, 60)) << i;
  EXPECT_EQ(create("n1").error().code, Code::kResourceExhausted);
  now_ += 61;
  EXPECT_TRUE(create("n1"));
  EXPECT_EQ(tokens_.list()->tokens_size(), store::kMostTokens);
}

}  // namespace
}  // namespace railgauge::enrol
