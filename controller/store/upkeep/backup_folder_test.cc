// Names of backups against a real folder: none leaves it.
#include "controller/store/upkeep/backup_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

class BackupFolder : public testing::Test {
 protected:
  Result<std::string> target(const std::string& name) { return backup_target(backups_, name); }
  void expect_refused(const std::string& name, Code code, const std::string& text) {
    const auto refused = target(name);
    ASSERT_FALSE(refused) << name << " is " << *refused;
    EXPECT_EQ(refused.error().code, code) << name;
    EXPECT_THAT(refused.error().message, HasSubstr(text)) << name;
    EXPECT_EQ(refused.error().message.find_first_of("\n\x1b"), std::string::npos);
  }

  TempFolder folder_;
  std::string backups_ = folder_.file("backups");
};

TEST_F(BackupFolder, IsMadeForItsOwnerAndGroup) {
  const auto made = target("one.db");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(*made, backups_ + "/one.db");
  struct stat found {};
  ASSERT_EQ(::stat(backups_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0027U, 0U);
}

TEST_F(BackupFolder, TakesNamesBelowItRelativeAndAbsolute) {
  std::filesystem::create_directories(backups_ + "/daily");
  EXPECT_EQ(target("daily/one.db").value_or(""), backups_ + "/daily/one.db");
  EXPECT_EQ(target(backups_ + "/one.db").value_or(""), backups_ + "/one.db");
  EXPECT_EQ(target(backups_ + "/daily/two.db").value_or(""), backups_ + "/daily/two.db");
  EXPECT_EQ(target("..one.db").value_or(""), backups_ + "/..one.db");
}

TEST_F(BackupFolder, RefusesNamesThatLeaveIt) {
  std::filesystem::create_directories(backups_ + "/daily");
  std::filesystem::create_directories(folder_.file("backups-of-others"));
  for (const std::string& name :
       {std::string("/etc/cron.d/x"), folder_.file("one.db"), folder_.file("backups-of-others/x"),
        std::string("/"), backups_, backups_ + "x"})
    expect_refused(name, Code::kInvalidArgument, "--backup-folder");
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../one.db"),
        std::string("daily/../../one.db"), std::string("daily/../one.db"), std::string("./one.db"),
        std::string("daily/"), std::string("daily//one.db"), std::string("one\0.db", 7),
        backups_ + "/../one.db", backups_ + "/", backups_ + "//etc/x"})
    expect_refused(name, Code::kInvalidArgument, "--backup-folder");
  expect_refused("\x1b[31m/../x", Code::kInvalidArgument, "\"\\x1b[31m/../x\"");
}

TEST_F(BackupFolder, RefusesLinksInIt) {
  std::filesystem::create_directories(backups_);
  std::filesystem::create_directories(folder_.file("elsewhere"));
  std::filesystem::create_directory_symlink(folder_.file("elsewhere"), backups_ + "/link");
  std::filesystem::create_symlink(folder_.file("elsewhere/victim"), backups_ + "/one.db");
  expect_refused("link/one.db", Code::kInvalidArgument, "link is a link, or no folder");
  expect_refused(backups_ + "/link/one.db", Code::kInvalidArgument, "link is a link");
  expect_refused("one.db", Code::kInvalidArgument, "it is a link");
}

TEST_F(BackupFolder, RefusesAMissingFolderAndAFileInItsPlace) {
  std::filesystem::create_directories(backups_);
  std::ofstream(backups_ + "/file") << "x";
  expect_refused("none/one.db", Code::kNotFound, "folder none is missing; make it first");
  expect_refused("file/one.db", Code::kInvalidArgument, "file is a link, or no folder");
}

// The folder itself may be a link of the administrator's, to another disk.
TEST_F(BackupFolder, MayBeALinkItself) {
  std::filesystem::create_directories(folder_.file("disk/store"));
  std::filesystem::create_directory_symlink(folder_.file("disk/store"), backups_);
  EXPECT_EQ(target("one.db").value_or(""), folder_.file("disk/store/one.db"));
  EXPECT_EQ(target(backups_ + "/one.db").value_or(""), folder_.file("disk/store/one.db"));
  EXPECT_EQ(target(folder_.file("disk/store/one.db")).value_or(""),
            folder_.file("disk/store/one.db"));
}

TEST_F(BackupFolder, IsRefusedWhileEverybodyMayWriteToIt) {
  std::filesystem::create_directories(backups_);
  ASSERT_EQ(::chmod(backups_.c_str(), 0777), 0);
  expect_refused("one.db", Code::kPermissionDenied, "everybody may write to it; chmod o-w");
}

TEST_F(BackupFolder, FindsTheNewestFileInItAndBelow) {
  EXPECT_FALSE(newest_backup(backups_)) << "there is no folder";
  std::filesystem::create_directories(backups_ + "/daily");
  EXPECT_FALSE(newest_backup(backups_)) << "folders are no backups";
  std::ofstream(backups_ + "/daily/new.db") << "12345";
  std::ofstream(backups_ + "/old.db") << "1";
  std::filesystem::create_symlink("daily/new.db", backups_ + "/link.db");
  const timespec times[2] = {{1'700'000'000, 0}, {1'700'000'000, 500'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (backups_ + "/old.db").c_str(), times, 0), 0);
  const auto newest = newest_backup(backups_);
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->path, backups_ + "/daily/new.db");
  EXPECT_EQ(newest->bytes, 5);
  std::filesystem::remove(backups_ + "/daily/new.db");
  EXPECT_DOUBLE_EQ(newest_backup(backups_)->written_at, 1'700'000'000.5);
}

}  // namespace
}  // namespace railgauge::store
