// Backups that are made while the store writes, and put back.
#include "controller/store/upkeep/backup.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class BackupTest : public StoreTest {
 protected:
  // A run with one point, in a backup named "copy".
  void make_copy() {
    plan_run(*store_, "r1", 1);
    append_passed(*store_, {});
    ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  }
};

TEST_F(BackupTest, ABackupIsWholeWhileTheStoreGoesOnWriting) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({})}));
  std::atomic<bool> stop = false;
  std::atomic<std::uint32_t> written = 0;
  std::thread writing([&] {
    for (std::uint32_t i = 1; !stop && i < 20'000; ++i)
      if (append(*store_, "id-1", {point_record({}, i)})) written = i;
  });
  while (written < 50) std::this_thread::yield();
  const std::uint32_t before = written;
  const Status copied = store_->back_up(folder_.file("copy"));
  stop = true;
  writing.join();
  ASSERT_TRUE(copied) << copied.error().message;
  auto copy = open_store(folder_.file("copy"));
  EXPECT_THAT(*copy->check(), IsEmpty());
  const auto rows = copy->results({.run_id = "all", .all_attempts = true, .limit = kMaxResultRows});
  ASSERT_TRUE(rows);
  EXPECT_GE(rows->size(), before) << "what was acknowledged before it began";
}

TEST_F(BackupTest, ABackupNeverOverwrites) {
  std::ofstream(folder_.file("copy")) << "precious";
  const Status refused = store_->back_up(folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
}

TEST_F(BackupTest, RestoringPutsTheBackupInPlaceAndKeepsWhatWasThere) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  store_.reset();
  std::ofstream(folder_.file("db"), std::ios::binary) << "damaged beyond all help";
  const auto kept = restore(folder_.file("copy"), folder_.file("db"));
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(*kept, HasSubstr("db.replaced-"));
  EXPECT_TRUE(std::filesystem::exists(*kept));
  reopen();
  EXPECT_EQ(all().size(), 1u);
}

// The controller's user owns the folder, and root restores.
TEST_F(BackupTest, RootFollowsNoLinkThatTheFoldersOwnerPlanted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may take the rights of another user";
  constexpr uid_t kNobody = 65'534;
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  ::chmod(folder_.file("copy").c_str(), 0600);
  const std::string home = folder_.file("home");
  const std::string database = home + "/db";
  std::filesystem::create_directories(home + "/dbX");
  std::filesystem::copy_file(folder_.file("copy"), database);
  std::ofstream(folder_.file("victim")) << "untouched";
  std::ofstream(database + ".restoring") << home << "/dbX/../../victim2\n";
  for (const std::string& path : {home, home + "/dbX", database, database + ".restoring"})
    ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
  ::chmod(folder_.file("victim").c_str(), 0600);
  ::chmod(std::filesystem::path(home).parent_path().c_str(), 0755);
  std::filesystem::create_symlink(folder_.file("victim"), database + ".restored");
  const auto refused = restore(folder_.file("copy"), database);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("Permission denied"));
  std::filesystem::remove(database + ".restored");
  const auto kept = restore(folder_.file("copy"), database);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(std::filesystem::path(*kept).parent_path(), home);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("victim2")));
  struct stat victim {};
  ASSERT_EQ(::stat(folder_.file("victim").c_str(), &victim), 0);
  EXPECT_EQ(victim.st_uid, 0U);
  EXPECT_EQ(victim.st_size, 9);
  struct stat restored {};
  ASSERT_EQ(::stat(database.c_str(), &restored), 0);
  EXPECT_EQ(restored.st_uid, kNobody);
  EXPECT_EQ(::geteuid(), 0U) << "the rights of root are back";
}

TEST_F(BackupTest, RestoringIsRefusedWhileTheDatabaseIsOpen) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  // A lock of this process would not show: another one holds it.
  const std::string path = folder_.file("db");
  store_.reset();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = Store::open({.path = path});
    const char word = store ? 'y' : 'n';
    if (::write(ends[1], &word, 1) != 1) ::_exit(1);
    ::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(ends[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  const auto refused = restore(folder_.file("copy"), path);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("stop railgauge-controller"));
}

TEST_F(BackupTest, ADamagedBackupIsNotRestored) {
  plan_run(*store_, "r1", 1);
  for (int i = 0; i < 20; ++i)
    append_passed(*store_, {.attempt = static_cast<std::uint32_t>(i + 1)});
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  store_.reset();
  std::filesystem::resize_file(folder_.file("copy"),
                               std::filesystem::file_size(folder_.file("copy")) / 2);
  const auto refused = restore(folder_.file("copy"), folder_.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss) << refused.error().message;
  reopen();
  EXPECT_EQ(all().size(), 20u) << "the database stays as it was";
}

TEST_F(BackupTest, TwoToOneNameAtOnceGiveOneBackup) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 4; ++i)
      callers.emplace_back([&] {
        const Status status = store_->back_up(folder_.file("copy"));
        if (status) ++made;
        if (!status && status.error().code == Code::kAlreadyExists) ++refused;
      });
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(refused, 3);
  EXPECT_THAT(*open_store(folder_.file("copy"))->check(), IsEmpty());
}

TEST_F(BackupTest, TheLogBesideAPlainCopyIsRestoredToo) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  for (const char* suffix : {"", "-wal"})
    std::filesystem::copy_file(folder_.file("db") + suffix, folder_.file("copy") + suffix);
  store_.reset();
  std::filesystem::remove(folder_.file("db"));
  const auto kept = restore(folder_.file("copy"), folder_.file("db"));
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(*kept, "");
  reopen();
  EXPECT_EQ(all().size(), 1u) << "it was in the log alone";
}

TEST_F(BackupTest, TheRestoredFileHasTheOldOnesMode) {
  make_copy();
  store_.reset();
  ASSERT_EQ(::chmod(folder_.file("db").c_str(), 0600), 0);
  ASSERT_TRUE(restore(folder_.file("copy"), folder_.file("db")));
  struct stat seen {};
  ASSERT_EQ(::stat(folder_.file("db").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777u, 0600u);
}

TEST_F(BackupTest, TheDatabaseIsNoBackupOfItself) {
  make_copy();
  store_.reset();
  const auto refused = restore(folder_.file("db"), folder_.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

TEST_F(BackupTest, AnInterruptedRestoreKeepsTheStoreShutUntilItIsRunAgain) {
  make_copy();
  store_.reset();
  // As a power cut leaves it: the old log is moved, the old file not yet.
  const std::string kept = folder_.file("db") + ".replaced-20261121-120000";
  std::ofstream(folder_.file("db") + ".restoring") << kept << '\n';
  std::ofstream(kept + "-wal") << "the old log";
  const auto shut = Store::open({.path = folder_.file("db")});
  ASSERT_FALSE(shut);
  EXPECT_THAT(shut.error().message, HasSubstr("--restore BACKUP again"));
  const auto finished = restore(folder_.file("copy"), folder_.file("db"));
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(*finished, kept) << "file and log stay together";
  reopen();
  EXPECT_EQ(all().size(), 1u);
}

}  // namespace
}  // namespace railgauge::store
