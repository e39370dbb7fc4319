// Faults of the spool's surroundings: a full disk, a foreign lock, damaged files, a changed clock,
// a newer program's file.
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/link/spool.h"
#include "agent/testing/temp_dir.h"
#include "kernels/fakes/full_disk.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

constexpr std::size_t kAll = 100'000;
constexpr std::size_t kAllBytes = 1U << 30U;
constexpr double kKeepSeconds = 3600;

Record record(std::uint32_t sequence, std::size_t bytes = 100) {
  Record record;
  record.mutable_key()->set_run_id("r1");
  record.mutable_key()->set_task_id("t1");
  record.mutable_key()->set_attempt(1);
  record.mutable_key()->set_sequence(sequence);
  record.mutable_note()->set_text(std::string(bytes, 'x'));
  return record;
}

Status append(Spool& spool, std::uint32_t sequence, std::size_t bytes = 100) {
  const Record one = record(sequence, bytes);
  return spool.append({&one, 1});
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class SpoolFault : public testing::Test {
 protected:
  [[nodiscard]] Result<Spool> open() const {
    return Spool::open({.path = path_, .keep_seconds = kKeepSeconds});
  }
  static std::size_t records_in(Spool& spool) {
    const auto read = spool.read(0, kAll, kAllBytes);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read ? read->size() : 0;
  }
  // Runs SQL on another connection.
  void script(const char* sql) const {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(raw, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
    sqlite3_close(raw);
  }

  TempDir folder_;
  const std::string path_ = folder_ / "spool.db";
};

TEST_F(SpoolFault, ADiskThatFillsUpLosesNothingAndGoesOnWithRoom) {
  constexpr std::size_t kBytes = 4'000;
  std::uint32_t stored = 0;
  {
    auto spool = open();
    ASSERT_TRUE(spool);
    for (; stored < 5; ++stored) ASSERT_TRUE(append(*spool, stored));
    ASSERT_TRUE(spool->acknowledge(3));
    fake::FullDisk disk(300'000);
    Status status;
    while (stored < 1'000 && (status = append(*spool, stored, kBytes))) ++stored;
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kResourceExhausted) << status.error().message;
    EXPECT_THAT(status.error().message, HasSubstr("full"));
    EXPECT_GT(disk.refusals(), 0);
    EXPECT_EQ(records_in(*spool), stored) << "reading goes on";
    EXPECT_FALSE(append(*spool, stored, kBytes)) << "it is still full";
    disk.add_room(4'000'000);
    ASSERT_TRUE(append(*spool, stored++, kBytes));
  }
  auto spool = open();
  ASSERT_TRUE(spool);
  EXPECT_EQ(records_in(*spool), stored);
  EXPECT_EQ(spool->waiting_records(), stored - 3);
}

TEST_F(SpoolFault, AStrangersLockIsWaitedFor) {
  auto spool = open();
  ASSERT_TRUE(spool);
  sqlite3* stranger = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &stranger), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(stranger, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::thread leaves([stranger] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    sqlite3_exec(stranger, "ROLLBACK", nullptr, nullptr, nullptr);
  });
  const Status appended = append(*spool, 0);
  leaves.join();
  sqlite3_close(stranger);
  EXPECT_TRUE(appended) << appended.error().message;
  EXPECT_EQ(records_in(*spool), 1u);
}

// A detected fault is one line with the file and the remedy; an undetected one must not crash.
TEST_F(SpoolFault, ADamagedFileIsToldAndNeverACrash) {
  {
    auto spool = open();
    ASSERT_TRUE(spool);
    for (std::uint32_t i = 0; i < 200; ++i) ASSERT_TRUE(append(*spool, i, 1'000));
  }
  const std::string good = folder_ / "good.db";
  std::filesystem::copy_file(path_, good);
  const auto size = std::filesystem::file_size(good);
  int seen = 0;
  const auto expect_sound_words = [&](const Error& error) {
    ++seen;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_THAT(error.message, HasSubstr(path_));
    if (error.code == Code::kDataLoss) {
      EXPECT_THAT(error.message, HasSubstr("move the file away"));
    }
  };
  for (unsigned step = 0; step < 40; ++step) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    std::filesystem::copy_file(good, path_);
    if (step % 2 == 0) {
      std::filesystem::resize_file(path_, size * (step + 1) / 45);
    } else {
      std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(size * step / 41));
      file << std::string(3'000, '\xa5');
    }
    auto spool = open();
    if (!spool) {
      expect_sound_words(spool.error());
      continue;
    }
    const auto read = spool->read(0, kAll, kAllBytes);
    const Status written = append(*spool, 1'000);
    const Status acknowledged = spool->acknowledge(100);
    if (!read)
      expect_sound_words(read.error());
    else if (!written)
      expect_sound_words(written.error());
    else if (!acknowledged)
      expect_sound_words(acknowledged.error());
  }
  EXPECT_GT(seen, 15) << "most of this damage can be noticed";
}

// The clock was a year ahead when they were acknowledged: they go a day after the next ones.
TEST_F(SpoolFault, AClockThatStepsBackNeitherLosesRecordsNorKeepsThemForEver) {
  {
    auto spool = open();
    ASSERT_TRUE(spool);
    for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(append(*spool, i));
    ASSERT_TRUE(spool->acknowledge(2));
  }
  script(
      "UPDATE acknowledged_at SET unix_seconds = unix_seconds + 31536000, minute = minute + "
      "525600");
  auto spool = open();
  ASSERT_TRUE(spool);
  ASSERT_TRUE(spool->prune(unix_now() + 2 * kKeepSeconds));
  EXPECT_EQ(records_in(*spool), 3u);
  ASSERT_TRUE(spool->acknowledge(3));
  ASSERT_TRUE(spool->prune(unix_now()));
  EXPECT_EQ(records_in(*spool), 3u) << "acknowledged just now";
  ASSERT_TRUE(spool->prune(unix_now() + kKeepSeconds + 60));
  EXPECT_EQ(records_in(*spool), 0u);
}

TEST_F(SpoolFault, ANewerSpoolIsRefusedNamingBothVersions) {
  { ASSERT_TRUE(open()); }
  script("PRAGMA user_version = 99");
  const auto spool = open();
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(spool.error().message,
              testing::AllOf(HasSubstr("has version 99, this agent knows 2"), HasSubstr(path_)));
}

}  // namespace
}  // namespace railgauge::agent
