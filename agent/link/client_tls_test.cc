// The agent's TLS files, replaced while the agent runs.
#include "agent/link/client_tls.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/testing/authority_folder.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using trust::AuthorityFolder;
using trust::unix_now;

class ClientTlsTest : public testing::Test {
 protected:
  void SetUp() override { folder_.issue("agent", "n1"); }
  [[nodiscard]] trust::PemFiles files() const {
    return {folder_.path("n1.crt"), folder_.path("n1.key"), folder_.path("ca.crt")};
  }
  void renew(bool new_key) const {
    ASSERT_TRUE(trust::renew(folder_.path(), {.names = {"n1"}, .new_key = new_key}, unix_now()));
  }
  const AuthorityFolder folder_;
};

TEST_F(ClientTlsTest, TheNextConnectionTakesARenewedCertificate) {
  ClientTls tls(files());
  const auto before = tls.newest();
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_TRUE(tls.look(false).is_usable);
  renew(true);
  const ClientTls::State state = tls.look(false);
  EXPECT_FALSE(state.is_fault);
  EXPECT_THAT(state.news, HasSubstr(folder_.certificate("n1").id.serial));
  const auto after = tls.newest();
  ASSERT_TRUE(after);
  EXPECT_NE(after->key, before->key);
  EXPECT_EQ(after->certificate, folder_.read("n1.crt"));
  EXPECT_EQ(tls.look(false).news, "");
}

TEST_F(ClientTlsTest, FilesThatDoNotFitKeepTheOldOnesWithOneLine) {
  ClientTls tls(files());
  ASSERT_TRUE(tls.newest());
  tls.look(false);
  const std::string certificate = folder_.read("n1.crt");
  std::ofstream(folder_.path("n1.crt")) << certificate.substr(0, certificate.size() / 2);
  const ClientTls::State broken = tls.look(false);
  EXPECT_TRUE(broken.is_fault);
  EXPECT_THAT(broken.news, HasSubstr("the old one stays in use"));
  EXPECT_EQ(broken.failures, 1U);
  EXPECT_EQ(tls.look(true).news, "");  // said once
  const auto held = tls.newest();
  ASSERT_TRUE(held);
  EXPECT_EQ(held->certificate, certificate);
  std::ofstream(folder_.path("n1.crt")) << certificate;
  EXPECT_FALSE(tls.look(false).is_fault);
  std::filesystem::remove(folder_.path("n1.key"));
  const ClientTls::State missing = tls.look(false);
  EXPECT_EQ(missing.failures, 2U);
  EXPECT_TRUE(missing.is_usable);
}

TEST_F(ClientTlsTest, AKeyThatOthersCanReadIsNotUsed) {
  std::filesystem::permissions(folder_.path("n1.key"), std::filesystem::perms(0644));
  ClientTls tls(files());
  const auto refused = tls.newest();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("chmod 600"));
  EXPECT_FALSE(tls.look(false).is_usable);
}

TEST_F(ClientTlsTest, WarnsOnceADayBeforeTheEnd) {
  ClientTls tls(files());
  ASSERT_TRUE(tls.newest());
  constexpr double kDay = 86'400;
  const double end = folder_.certificate("n1").until_unix;
  EXPECT_EQ(tls.warning(end - 15 * kDay), "");
  EXPECT_THAT(tls.warning(end - 13 * kDay), HasSubstr("railgauge pki renew"));
  EXPECT_EQ(tls.warning(end - 12.5 * kDay), "");
  EXPECT_THAT(tls.warning(end + kDay), HasSubstr("ended"));
}

TEST(ClientTls, WithoutFilesThereIsNothingToSay) {
  ClientTls tls({});
  const ClientTls::State state = tls.look(true);
  EXPECT_FALSE(state.is_usable);
  EXPECT_EQ(state.news, "");
  EXPECT_EQ(tls.warning(unix_now()), "");
}

}  // namespace
}  // namespace railgauge::agent
