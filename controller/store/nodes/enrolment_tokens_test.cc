#include "controller/store/nodes/enrolment_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

class EnrolmentTokensTest : public StoreTest {
 protected:
  static TokenRow token_row(const std::string& id, std::int64_t uses) {
    return {.token_id = id,
            .salt = "s",
            .hash = "h",
            .nodes = "n[1-4]",
            .most_uses = uses,
            .replaces = true,
            .created_at = 100,
            .created_by = "root",
            .expires_at = 200};
  }
  Status use(const std::string& id, const std::string& name, const std::string& key, double at) {
    return store_->write(write_token_use, TokenUse{.token_id = id,
                                                   .name = name,
                                                   .key_sha256 = key,
                                                   .address = "ipv4:192.0.2.1",
                                                   .at = at});
  }
};

TEST_F(EnrolmentTokensTest, ARowReadsAsItWasWritten) {
  ASSERT_TRUE(store_->write(write_token, token_row("a", 2)));
  const auto row = store_->read(read_token, "a").value();
  ASSERT_TRUE(row);
  EXPECT_EQ(row->nodes, "n[1-4]");
  EXPECT_TRUE(row->replaces);
  EXPECT_EQ(row->most_uses, 2);
  EXPECT_EQ(row->uses, 0);
  EXPECT_FALSE(row->revoked_at);
  EXPECT_FALSE(store_->read(read_token, "b").value());
  EXPECT_EQ(store_->write(write_token, token_row("a", 2)).error().code, Code::kAlreadyExists);
}

TEST_F(EnrolmentTokensTest, AUseIsCountedOnceForANodeAndItsKeyAndNeverBeyondTheBound) {
  ASSERT_TRUE(store_->write(write_token, token_row("a", 2)));
  EXPECT_TRUE(use("a", "n1", "k1", 150));
  EXPECT_TRUE(use("a", "n1", "k1", 160));
  EXPECT_EQ(store_->read(read_token, "a").value()->uses, 1);
  EXPECT_EQ(
      store_->read(read_token_use, TokenUse{.token_id = "a", .name = "n1", .key_sha256 = "k1"})
          .value()
          .value_or(0),
      150);
  EXPECT_TRUE(use("a", "n1", "k2", 150));
  const Status third = use("a", "n2", "k3", 150);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kPermissionDenied);
  EXPECT_THAT(third.error().message, HasSubstr("took its last use"));
}

TEST_F(EnrolmentTokensTest, NoUseOfOneThatIsOverOrUnknown) {
  ASSERT_TRUE(store_->write(write_token, token_row("a", 2)));
  ASSERT_TRUE(store_->write(write_token, token_row("b", 2)));
  EXPECT_FALSE(use("a", "n1", "k", 200));
  ASSERT_TRUE(store_->write(write_token_revoked, "b", "ann", 120));
  EXPECT_FALSE(use("b", "n1", "k", 150));
  EXPECT_FALSE(use("c", "n1", "k", 150));
}

TEST_F(EnrolmentTokensTest, ViewersSqlDoesNotReadTokensAndTheirUses) {
  ASSERT_TRUE(store_->write(write_token, token_row("a", 2)));
  EXPECT_FALSE(store_->sql("SELECT hash FROM enrolment_token", 10, 5));
  EXPECT_FALSE(store_->sql("SELECT count(*) FROM Enrolment_Token", 10, 5));
  EXPECT_FALSE(store_->sql("SELECT key_sha256 FROM enrolment", 10, 5));
}

}  // namespace
}  // namespace railgauge::store
