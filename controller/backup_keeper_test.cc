// Backups by schedule with a real store and real folders: a fault and its end are one event each.
#include "controller/backup_keeper.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/backup_folder.h"

namespace railgauge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

constexpr double kBackupNow = 1'795'807'320;  // 2026-11-27T19:22:00Z
constexpr double kBackupDay = 86'400;

class BackupKeeperTest : public ::testing::Test {
 protected:
  BackupKeeper keeper() {
    return {folder_,
            {.every_seconds = kBackupDay},
            {*store_, series_,
             [this](auto act, auto what, auto&) { acts_.push_back(act + " " + what); }}};
  }
  void allow_everybody() {
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::all);
  }
  void mend() { fs::permissions(folder_, fs::perms::owner_all); }
  // The events so far, the oldest first: "kind: text".
  std::vector<std::string> events() {
    std::vector<std::string> lines;
    EXPECT_TRUE(store_->flush());
    const auto rows = store_->list_events(100);
    for (const auto& event : rows.value_or(std::vector<store::EventRow>{}))
      lines.insert(lines.begin(), event.kind + ": " + event.text);
    return lines;
  }

  store::TempFolder home_;
  const std::string folder_ = home_.file("backups");
  std::unique_ptr<store::Store> store_ = store::open_store(home_.file("railgauge.db"));
  metric::Registry series_{metric::Owner::kController};
  std::vector<std::string> acts_;
};

TEST_F(BackupKeeperTest, AFaultIsOneEventAndSoIsItsEnd) {
  allow_everybody();
  BackupKeeper backups = keeper();
  backups.look(0, kBackupNow);
  ASSERT_THAT(events(), ElementsAre(AllOf(HasSubstr("backup_failed: "), HasSubstr(folder_),
                                          HasSubstr("everybody may write to it"))));
  EXPECT_THAT(series_.text(), AllOf(HasSubstr("railgauge_backups_total{outcome=\"failed\"} 1"),
                                    HasSubstr("\nrailgauge_backup_timestamp_seconds 0")));

  backups.look(BackupKeeper::kRetrySeconds, kBackupNow + BackupKeeper::kRetrySeconds);
  EXPECT_EQ(events().size(), 1U) << "the second fault of the row";
  EXPECT_THAT(series_.text(), HasSubstr("railgauge_backups_total{outcome=\"failed\"} 2"));

  mend();
  backups.look(2 * BackupKeeper::kRetrySeconds - 1, kBackupNow + 2 * BackupKeeper::kRetrySeconds);
  EXPECT_EQ(events().size(), 1U) << "it is tried again an hour after the last fault";
  const double at = kBackupNow + 3 * BackupKeeper::kRetrySeconds;
  backups.look(2 * BackupKeeper::kRetrySeconds, at);
  const std::string made = folder_ + "/" + store::timed_backup_name(at);
  EXPECT_THAT(events(),
              ElementsAre(HasSubstr("backup_failed"), "backup_works: " + made + " is made"));
  EXPECT_TRUE(fs::exists(made));
  EXPECT_THAT(series_.text(), HasSubstr("railgauge_backups_total{outcome=\"made\"} 1"));
  EXPECT_THAT(acts_, ElementsAre("back_up by schedule", "back_up by schedule",
                                 "back_up " + made + " by schedule"));

  backups.look(2 * BackupKeeper::kRetrySeconds + 60, at + 2 * kBackupDay);
  EXPECT_EQ(events().size(), 2U) << "backups that go on working are no news";
}

TEST_F(BackupKeeperTest, TheEndOfAFaultIsToldAfterARestartToo) {
  std::ofstream(folder_) << "a file where the folder is to be";
  keeper().look(0, kBackupNow);
  ASSERT_THAT(events(), ElementsAre(HasSubstr("backup_failed")));
  fs::remove(folder_);
  keeper().look(0, kBackupNow + 60);
  EXPECT_THAT(events(), ElementsAre(HasSubstr("backup_failed"), HasSubstr("backup_works")));
}

TEST_F(BackupKeeperTest, BackupsThatWorkFromTheStartAreNoEvent) {
  keeper().look(0, kBackupNow);
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_TRUE(store::newest_backup(folder_));
  EXPECT_EQ(acts_.size(), 1U);
}

}  // namespace
}  // namespace railgauge
