#include "agent/os/atomic_file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AtomicFile, TheNewTextTakesTheOldOnesPlaceAndLeavesNothingElse) {
  const TempDir folder;
  folder.write("name", "a longer text than the new one");
  folder.write("name.tmp", "of a writer who was killed");
  ASSERT_TRUE(write_atomically(folder.path(), "name", "new"));
  EXPECT_EQ(text_of(folder / "name"), "new");
  EXPECT_FALSE(fs::exists(folder / "name.tmp"));
}

TEST(AtomicFile, AWriteThatFailsLeavesTheOldTextAndNoDraft) {
  const TempDir folder;
  folder.write("name", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{.rlim_cur = 100, .rlim_max = before.rlim_max};  // as a full disk
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const Status written = write_atomically(folder.path(), "name", std::string(1'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(written);
  EXPECT_EQ(text_of(folder / "name"), "old");
  EXPECT_FALSE(fs::exists(folder / "name.tmp"));
}

TEST(AtomicFile, ARewrittenFileKeepsItsModeAndOwner) {
  const TempDir folder;
  struct stat about {};
  ASSERT_TRUE(rewrite_atomically(folder.path(), "name", "first", 0644));
  ASSERT_EQ(::stat((folder / "name").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0644U);
  ASSERT_EQ(::chmod((folder / "name").c_str(), 0640), 0);
  constexpr uid_t kNobody = 65'534;
  if (::geteuid() == 0) ASSERT_EQ(::chown((folder / "name").c_str(), kNobody, kNobody), 0);
  ASSERT_TRUE(rewrite_atomically(folder.path(), "name", "second", 0644));
  ASSERT_EQ(::stat((folder / "name").c_str(), &about), 0);
  EXPECT_EQ(text_of(folder / "name"), "second");
  EXPECT_EQ(about.st_mode & 07777, 0640U);
  if (::geteuid() == 0) EXPECT_EQ(about.st_uid, kNobody);
  if (::geteuid() == 0) EXPECT_EQ(about.st_gid, kNobody);
}

TEST(AtomicFile, TheDraftOfAKilledWriterIsRemovedAlone) {
  const TempDir folder;
  folder.write("name", "old");
  folder.write("name.tmp", "half");
  remove_draft(folder.path(), "name");
  remove_draft(folder.path(), "name");
  EXPECT_EQ(text_of(folder / "name"), "old");
  EXPECT_FALSE(fs::exists(folder / "name.tmp"));
}

// The folder's owner may be another user than the writer, and may place any file there.
TEST(AtomicFile, ALinkInTheDraftsPlaceIsNotWrittenThrough) {
  const TempDir folder;
  folder.write("victim", "stays");
  fs::create_symlink("victim", folder / "name.tmp");
  ASSERT_TRUE(write_atomically(folder.path(), "name", "new"));
  EXPECT_EQ(text_of(folder / "victim"), "stays");
  EXPECT_FALSE(fs::is_symlink(folder / "name"));
}

TEST(AtomicFile, WhatStandsInTheDraftsPlaceAndStaysIsAnErrorAndTheOldTextRemains) {
  const TempDir folder;
  folder.write("name", "old");
  folder.write("name.tmp/file", "");
  const Status status = write_atomically(folder.path(), "name", "new");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kPermissionDenied);
  EXPECT_THAT(status.error().message, HasSubstr("name.tmp: remove:"));
  EXPECT_EQ(text_of(folder / "name"), "old");
}

TEST(AtomicFile, RootsFileBelongsToTheFoldersOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr uid_t kOther = 4711;
  const TempDir folder;
  ASSERT_EQ(::chown(folder.path().c_str(), kOther, kOther), 0);
  ASSERT_TRUE(write_atomically(folder.path(), "name", "new"));
  struct stat about {};
  ASSERT_EQ(::stat((folder / "name").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, kOther);
  EXPECT_EQ(about.st_gid, kOther);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace railgauge::agent
