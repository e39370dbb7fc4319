// Key and certificates of a node: who may read them, who holds the lock, and what a kill leaves.
#include "agent/enrol/enrolled_files.h"

#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/enrol/enrol_testing.h"
#include "agent/enrol/renewer.h"
#include "kernels/core/base/owners_rights.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;

class NodeFilesTest : public NodeFolderTest {
 protected:
  NodeFilesTest() { EXPECT_TRUE(NodeFiles::make_state(path("state"))); }
  [[nodiscard]] Result<NodeFiles> open() const { return NodeFiles::open(path("state")); }
  [[nodiscard]] static std::string in_tls(const std::string& file) { return "state/tls/" + file; }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path(in_tls(file))) << text;
    ::chmod(path(in_tls(file)).c_str(), 0600);
  }
  // A set of an authority, whole and staged as a killed call leaves it.
  void stage(const trust::AuthorityFolder& authority, const std::string& name) const {
    write("ca.crt.next", authority.read("ca.crt"));
    write("agent.key.next", authority.read(name + ".key"));
    write("agent.crt.next", authority.read(name + ".crt"));
  }
};

TEST_F(NodeFilesTest, AKeyIsItsUsersAloneAndStaysForTheNextCall) {
  auto files = open();
  ASSERT_TRUE(files) << files.error().message;
  const std::string key = files->staged_key().value();
  EXPECT_EQ(mode_of("state/tls/agent.key.next"), 0600U);
  EXPECT_EQ(mode_of("state/tls"), 0700U);
  files = fail(Code::kNotFound, "closed");
  EXPECT_EQ(open()->staged_key().value(), key);
  EXPECT_FALSE(open()->held());
}

// As on a node with the package: root enrols, and the service's user has the state folder.
TEST_F(NodeFilesTest, RootWritesAsTheOwnerOfTheStateFolderAndReadsItsKeyAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may take the rights of another user";
  constexpr uid_t kNobody = 65'534;
  ASSERT_EQ(::chown(path("state").c_str(), kNobody, kNobody), 0);
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  {
    const auto rights = OwnersRights::take(path("state"));
    ASSERT_TRUE(rights);
    auto files = open();
    ASSERT_TRUE(files) << files.error().message;
    const auto key = files->staged_key();
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(files->staged_key().value(), *key) << "the same key, not a new one";
  }
  EXPECT_EQ(::geteuid(), 0U);
  struct stat made {};
  for (const char* file : {"agent.key.next", "lock"}) {
    ASSERT_EQ(::stat(path(in_tls(file)).c_str(), &made), 0);
    EXPECT_EQ(made.st_uid, kNobody) << file;
  }
  // A folder of root's that the user put in its place.
  std::filesystem::create_directory(path("roots"));
  std::filesystem::permissions(path("roots"), std::filesystem::perms(0700));
  std::filesystem::remove_all(path("state/tls"));
  std::filesystem::create_symlink(path("roots"), path("state/tls"));
  const auto rights = OwnersRights::take(path("state"));
  ASSERT_TRUE(rights);
  auto planted = open();
  EXPECT_FALSE(planted && planted->staged_key());
}

TEST_F(NodeFilesTest, AKilledCallIsFinishedOnceItsCertificateIsStaged) {
  const trust::AuthorityFolder authority;
  authority.issue("agent", "n1");
  ASSERT_TRUE(open());
  write("ca.crt.next", authority.read("ca.crt"));
  write("agent.key.next", authority.read("n1.key"));
  ASSERT_TRUE(open());
  EXPECT_TRUE(has(in_tls("agent.key.next"))) << "no certificate yet";
  write("agent.crt.next", authority.read("n1.crt"));
  EXPECT_TRUE(NodeFiles::has_cut(path("state/tls")));
  ASSERT_TRUE(open()->held());
  for (const char* file : {"ca.crt", "agent.key", "agent.crt"})
    EXPECT_FALSE(has(in_tls(std::string(file) + ".next"))) << file;
  EXPECT_FALSE(NodeFiles::has_cut(path("state/tls")));
}

TEST_F(NodeFilesTest, ACallKilledBetweenItsMovesIsFinishedToo) {
  const trust::AuthorityFolder before;
  const trust::AuthorityFolder after;
  before.issue("agent", "n1");
  after.issue("agent", "n1");
  ASSERT_TRUE(open());
  stage(before, "n1");
  ASSERT_TRUE(open()->held());
  stage(after, "n1");
  for (const char* moved : {"ca.crt", "agent.key"})
    std::filesystem::rename(path(in_tls(std::string(moved) + ".next")), path(in_tls(moved)));
  EXPECT_EQ(open()->held()->own.id, after.certificate("n1").id);
}

TEST_F(NodeFilesTest, ASetThatDoesNotFitIsUndoneAndTheOldOneStays) {
  const trust::AuthorityFolder authority;
  authority.issue("agent", "n1");
  authority.issue("agent", "n2");
  ASSERT_TRUE(open());
  stage(authority, "n1");
  ASSERT_TRUE(open()->held());
  stage(authority, "n2");
  write("agent.crt.next", authority.read("n2.crt").substr(0, 200));
  const auto files = open();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->held()->own.id, authority.certificate("n1").id);
  EXPECT_FALSE(has(in_tls("agent.crt.next")));
}

TEST_F(NodeFilesTest, OneHoldsTheLockAndAnEndedOneDoesNot) {
  auto first = open();
  ASSERT_TRUE(first);
  const auto second = NodeFiles::open_folder(path("state/tls"), 0);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("an enrolment or a renewal is under way"));
  first = fail(Code::kNotFound, "closed");
  EXPECT_TRUE(NodeFiles::open_folder(path("state/tls"), 0));
}

// The renewer read the old key's certificate, `enroll --force` replaced both, and the renewer wrote
// the old key's new certificate over it.
TEST_F(NodeFilesTest, ARenewalThatIsDueWaitsForTheEndOfAnEnrolment) {
  FakeEnrolmentPort port;
  ASSERT_TRUE(trust::issue(port.authority.path(), {.role = "agent", .names = {"n1"}, .days = 30},
                           trust::unix_now() - 25 * 86'400));
  ASSERT_TRUE(open());
  stage(port.authority, "n1");
  auto files = open();
  ASSERT_TRUE(files);
  const auto servers = parse_enrol_servers(port.address()).value();
  const auto refused = renew_if_due(servers, files->files(), trust::unix_now());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(port.renewals, 0);
  const trust::PemFiles paths = files->files();
  files = fail(Code::kNotFound, "closed");
  const auto renewed = renew_if_due(servers, paths, trust::unix_now());
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_EQ(open()->held()->own.id.serial, *renewed);
}

// After a takeover the port of the first one is closed.
TEST_F(NodeFilesTest, ARenewalIsAskedOfEachControllerInTurn) {
  FakeEnrolmentPort port;
  ASSERT_TRUE(trust::issue(port.authority.path(), {.role = "agent", .names = {"n1"}, .days = 30},
                           trust::unix_now() - 25 * 86'400));
  ASSERT_TRUE(open());
  stage(port.authority, "n1");
  const trust::PemFiles paths = open()->files();
  const auto servers = parse_enrol_servers("localhost:1, " + port.address()).value();
  ASSERT_EQ(servers.size(), 2U);
  const auto renewed = renew_if_due(servers, paths, trust::unix_now());
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_FALSE(renewed->empty());
  EXPECT_EQ(port.renewals, 1);
}

TEST_F(NodeFilesTest, ALookOfTheRenewerFinishesAKilledCall) {
  FakeEnrolmentPort port;
  port.authority.issue("agent", "n1");
  ASSERT_TRUE(open());
  stage(port.authority, "n1");
  std::filesystem::rename(path(in_tls("agent.key.next")), path(in_tls("agent.key")));
  const trust::PemFiles paths{.certificate = path(in_tls("agent.crt")),
                              .key = path(in_tls("agent.key")),
                              .authority = path(in_tls("ca.crt"))};
  const auto looked =
      renew_if_due(parse_enrol_servers(port.address()).value(), paths, trust::unix_now());
  ASSERT_TRUE(looked) << looked.error().message;
  EXPECT_EQ(*looked, "");
  EXPECT_TRUE(trust::load_material(paths));
}

}  // namespace
}  // namespace railgauge::agent
