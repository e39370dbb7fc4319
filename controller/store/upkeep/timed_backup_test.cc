// Backups by schedule: names and choice without a file, the rest with a real store.
#include "controller/store/upkeep/timed_backup.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/backup_folder.h"

namespace railgauge::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr double kDay = 86'400;
constexpr double kNow = 1'795'807'320;  // 2026-11-27T19:22:00Z

TEST(TimedBackupName, SaysItsTime) {
  EXPECT_EQ(timed_backup_name(kNow), "railgauge-20261127T192200Z.db");
  EXPECT_EQ(timed_backup_at("railgauge-20261127T192200Z.db"), kNow);
  std::mt19937_64 random(7);
  for (int i = 0; i < 1'000; ++i) {
    const auto at = static_cast<double>(random() % 4'000'000'000U);
    EXPECT_EQ(timed_backup_at(timed_backup_name(at)), at);
  }
}

TEST(TimedBackupName, OfAPersonIsNone) {
  for (const char* name :
       {"", "railgauge.db", "railgauge-20261127T192200Z.db.part", "railgauge-2026112 T192200Z.db",
        "railgauge-20261327T192200Z.db", "railgauge-20261127 192200Z.db",
        "before-20261127T192200Z.db", "railgauge-20261127T192200Z.DB"})
    EXPECT_FALSE(timed_backup_at(name)) << name;
}

TEST(TimedBackup, IsDueWithoutAYoungOne) {
  const BackupPlan daily{.every_seconds = kDay};
  const auto due = [&](std::vector<std::string> names) {
    return is_backup_due(names, daily, kNow);
  };
  EXPECT_TRUE(due({}));
  EXPECT_TRUE(due({timed_backup_name(kNow - kDay)}));
  EXPECT_FALSE(due({timed_backup_name(kNow - kDay + 1)}));
  EXPECT_TRUE(due({"by-hand.db"}));
  EXPECT_TRUE(due({timed_backup_name(kNow + 30 * kDay)})) << "made by a clock that was wrong";
  EXPECT_FALSE(is_backup_due({}, {.every_seconds = 0}, kNow));
}

TEST(TimedBackup, OnlyOlderTimedOnesAreSurplus) {
  std::vector<std::string> names{"by-hand.db", "railgauge.db"};
  for (int day = 0; day < 9; ++day) names.push_back(timed_backup_name(kNow - day * kDay));
  std::shuffle(names.begin(), names.end(), std::mt19937_64(3));
  EXPECT_THAT(surplus_backups(names, 7, kNow),
              ElementsAre(timed_backup_name(kNow - 8 * kDay), timed_backup_name(kNow - 7 * kDay)));
  EXPECT_THAT(surplus_backups(names, 9, kNow), IsEmpty());
  EXPECT_EQ(surplus_backups(names, 0, kNow).size(), 8U) << "the newest stays";
  const double corrected = kNow - 3 * kDay;
  EXPECT_THAT(surplus_backups(names, 7, corrected),
              ElementsAre(timed_backup_name(kNow - 2 * kDay), timed_backup_name(kNow - kDay)))
      << "those of a clock that was ahead";
}

class TimedBackups : public StoreTest {
 protected:
  Result<std::string> make(double now, const BackupPlan& plan) {
    return make_due_backup(backups_, plan, now,
                           [this](const std::string& path) { return store_->back_up(path); });
  }
  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto& one : std::filesystem::directory_iterator(backups_))
      names.push_back(one.path().filename().string());
    return names;
  }
  std::string backups_ = folder_.file("backups");
};

TEST_F(TimedBackups, AreMadeProvedAndKeptInNumber) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const BackupPlan plan{.every_seconds = kDay, .keep = 2};
  for (int day = 0; day < 4; ++day) {
    const auto made = make(kNow + day * kDay, plan);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(*made, backups_ + "/" + timed_backup_name(kNow + day * kDay));
    EXPECT_EQ(*make(kNow + day * kDay + 60, plan), "") << "none is due";
  }
  EXPECT_THAT(files(), UnorderedElementsAre(timed_backup_name(kNow + 2 * kDay),
                                            timed_backup_name(kNow + 3 * kDay)));
  auto copy = open_store(backups_ + "/" + timed_backup_name(kNow + 3 * kDay));
  ASSERT_TRUE(copy);
  const auto rows = copy->results({.run_id = "all"});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 1U);
}

TEST_F(TimedBackups, ThatDoNotRestoreAreRemovedAndTold) {
  const auto made = make_due_backup(
      backups_, {.every_seconds = kDay}, kNow, [](const std::string& path) -> Status {
        std::ofstream(path) << "not a database, but long enough to be looked at";
        return {};
      });
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("restore it as a proof"));
  EXPECT_THAT(files(), IsEmpty());
}

// A controller that stops does not wait for the proof of a large backup.
TEST_F(TimedBackups, GiveWayWhenTheControllerStops) {
  plan_run(*store_, "r1", 2'000);
  const auto made = make_due_backup(
      backups_, {.every_seconds = kDay}, kNow,
      [this](const std::string& path) { return store_->back_up(path); }, [] { return true; });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kCancelled) << made.error().message;
  EXPECT_THAT(made.error().message, HasSubstr("the controller is stopping"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TimedBackups, OfAClockThatWasAheadDoNotCostTheTrueOnes) {
  const BackupPlan plan{.every_seconds = kDay, .keep = 1};
  ASSERT_TRUE(make(kNow + 90 * kDay, plan));
  ASSERT_TRUE(make(kNow, plan));
  EXPECT_THAT(files(), ElementsAre(timed_backup_name(kNow)));
  EXPECT_EQ(*make(kNow + 60, plan), "");
}

TEST_F(TimedBackups, RemainsOfAKilledProgramAreSweptAndAreNoBackup) {
  std::filesystem::create_directories(backups_ + "/.restored-abc123");
  std::ofstream(backups_ + "/.restored-abc123/railgauge.db") << "half";
  std::ofstream(backups_ + "/" + timed_backup_name(kNow - 60) + ".part") << "half";
  std::filesystem::permissions(backups_, std::filesystem::perms::owner_all);
  EXPECT_FALSE(newest_backup(backups_));
  ASSERT_TRUE(make(kNow, {.every_seconds = kDay}));
  EXPECT_THAT(files(), ElementsAre(timed_backup_name(kNow)));
}

TEST_F(TimedBackups, AFailureKeepsTheOldOnes) {
  const BackupPlan plan{.every_seconds = kDay, .keep = 1};
  ASSERT_TRUE(make(kNow, plan));
  const auto failed = make_due_backup(
      backups_, plan, kNow + kDay,
      [](const std::string&) -> Status { return fail(Code::kResourceExhausted, "no room"); });
  ASSERT_FALSE(failed);
  EXPECT_THAT(files(), ElementsAre(timed_backup_name(kNow)));
}

}  // namespace
}  // namespace railgauge::store
