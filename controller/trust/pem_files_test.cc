#include "controller/trust/pem_files.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/trust/testing/authority_folder.h"

namespace railgauge::trust {
namespace {

using testing::HasSubstr;

constexpr uid_t kUser = 500;
constexpr gid_t kGroup = 70;

struct stat file_of(uid_t uid, gid_t gid, mode_t mode) {
  struct stat file {};
  file.st_uid = uid;
  file.st_gid = gid;
  file.st_mode = S_IFREG | mode;
  return file;
}

bool is_safe(uid_t uid, gid_t gid, mode_t mode) {
  const ProcessUser user{.uid = kUser, .groups = {500, kGroup}};
  return check_key_mode("/etc/key", file_of(uid, gid, mode), user).has_value();
}

TEST(KeyMode, OnlyItsUserAndRootMayReadAKey) {
  EXPECT_TRUE(is_safe(kUser, 1, 0600));
  EXPECT_TRUE(is_safe(kUser, 1, 0400));
  EXPECT_TRUE(is_safe(0, 0, 0600));
  for (const mode_t open : {0604U, 0640U, 0660U, 0602U, 0601U, 0620U, 0610U, 0644U, 0777U})
    EXPECT_FALSE(is_safe(kUser, 1, open)) << std::oct << open;
  EXPECT_FALSE(is_safe(501, 1, 0600));  // a stranger could replace it
}

TEST(KeyMode, TheProcesssOwnGroupMayReadAKeyOfRoot) {
  EXPECT_TRUE(is_safe(0, kGroup, 0640));
  EXPECT_TRUE(is_safe(0, kGroup, 0440));
  EXPECT_FALSE(is_safe(0, 71, 0640));
  EXPECT_FALSE(is_safe(kUser, kGroup, 0640));
  for (const mode_t open : {0660U, 0650U, 0644U, 0641U, 0642U})
    EXPECT_FALSE(is_safe(0, kGroup, open)) << std::oct << open;
}

TEST(KeyMode, ARefusalSaysWhichCommandHelps) {
  const auto user = ProcessUser{.uid = kUser, .groups = {500}};
  const Status open = check_key_mode("/etc/my key", file_of(kUser, 1, 0644), user);
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("mode 0644"));
  EXPECT_THAT(open.error().message, HasSubstr("chmod 600 '/etc/my key'"));
  const Status foreign = check_key_mode("/etc/key", file_of(501, 1, 0600), user);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("chown 500 /etc/key"));
}

TEST(ReadKey, TheModeOfALinksTargetCounts) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  std::filesystem::create_symlink(folder.path("n1.key"), folder.path("link"));
  EXPECT_TRUE(read_key("tls-key", folder.path("link")));
  std::filesystem::permissions(folder.path("n1.key"), std::filesystem::perms(0644));
  const auto refused = read_key("tls-key", folder.path("link"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
}

TEST(ReadPem, RefusesFoldersPipesStrangeAndEndlessFiles) {
  const AuthorityFolder folder;
  EXPECT_FALSE(read_pem("tls-ca", folder.path("")));
  EXPECT_FALSE(read_pem("tls-ca", folder.path("absent")));
  EXPECT_FALSE(read_pem("tls-ca", "/dev/zero"));
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_pem("tls-ca", folder.path("pipe")));
  std::ofstream(folder.path("text")) << "no certificate\n";
  EXPECT_FALSE(read_pem("tls-ca", folder.path("text")));
  std::ofstream(folder.path("large")) << "-----BEGIN CERTIFICATE-----\n"
                                      << std::string(kMaxPemBytes, 'A');
  EXPECT_FALSE(read_pem("tls-ca", folder.path("large")));
}

TEST(LoadMaterial, IsWholeOrNothing) {
  const AuthorityFolder folder;
  folder.issue("agent", "n1");
  folder.issue("agent", "n2");
  const PemFiles files{folder.path("n1.crt"), folder.path("n1.key"), folder.path("ca.crt")};
  const auto whole = load_material(files);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_GT(whole->authority_until_unix, whole->own.until_unix);
  const auto mixed = load_material({files.certificate, folder.path("n2.key"), files.authority});
  ASSERT_FALSE(mixed);
  EXPECT_THAT(mixed.error().message, HasSubstr("the key is not the certificate's"));
  const std::string text = folder.read("n1.crt");
  std::ofstream(folder.path("half")) << text.substr(0, text.size() / 2);
  EXPECT_FALSE(load_material({folder.path("half"), files.key, files.authority}));
  EXPECT_FALSE(load_material({files.certificate, files.key, folder.path("n1.key")}));
}

TEST(Stamp, DiffersAfterEachKindOfReplacement) {
  const AuthorityFolder folder;
  const std::vector<std::string> paths{folder.path("a")};
  const std::string missing = stamp_of(paths);
  std::ofstream(folder.path("a")) << "one";
  const std::string first = stamp_of(paths);
  EXPECT_NE(first, missing);
  EXPECT_EQ(first, stamp_of(paths));
  std::ofstream(folder.path("b")) << "two";
  std::filesystem::rename(folder.path("b"), folder.path("a"));
  const std::string renamed = stamp_of(paths);
  EXPECT_NE(renamed, first);
  // As Kubernetes replaces a secret: the link's target changes.
  std::filesystem::create_directory(folder.path("v2"));
  std::ofstream(folder.path("v2/a")) << "two";
  std::filesystem::remove(folder.path("a"));
  std::filesystem::create_symlink("v2/a", folder.path("a"));
  EXPECT_NE(stamp_of(paths), renamed);
}

}  // namespace
}  // namespace railgauge::trust
