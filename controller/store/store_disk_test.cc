// The store on file systems of the kernel's own that are full or read-only. Needs leave to mount;
// without it the program ends with 77, so that ctest counts it as skipped. store_fault_test.cc has
// the tests that need no disk of their own.
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/store.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

std::vector<Record> some_records(std::uint32_t points) {
  std::vector<Record> records{started_record({})};
  for (std::uint32_t i = 1; i <= points; ++i) records.push_back(point_record({}, i));
  return records;
}

std::size_t points_in(Store& store) {
  const auto rows = store.results({.run_id = "all", .all_attempts = true, .limit = kMaxResultRows});
  EXPECT_TRUE(rows) << rows.error().message;
  return rows ? rows->size() : 0;
}

// A file system of its own, of so many bytes, that only this process sees.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path, const std::string& options) : path_(path) {
    std::filesystem::create_directory(path);
    // Not shared with the rest of the machine. Needs to be root, with leave to mount.
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", path.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool remount(unsigned long flags) const {
    return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | flags, nullptr) == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST(StoreDisk, AFullFileSystemLosesNothingAcknowledgedAndGoesOnWithRoom) {
  const TempFolder folder;
  const SmallDisk disk(folder.file("disk"), "size=2m");
  ASSERT_TRUE(disk.mounted()) << std::strerror(errno);
  std::ofstream(disk.file("filler")) << std::string(700'000, 'x');
  auto store = open_store(disk.file("db"), {.min_free_bytes = 0});
  plan_run(*store, "r1", 1);
  ASSERT_TRUE(append(*store, "id-1", {started_record({})}));
  Status told;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;
  while (told && sequence < 20'000) {
    told = append(*store, "id-1", {point_record({}, ++sequence)});
    if (told) acknowledged = sequence;
  }
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kResourceExhausted) << told.error().message;
  EXPECT_EQ(points_in(*store), acknowledged) << "reading goes on";
  std::filesystem::remove(disk.file("filler"));
  EXPECT_TRUE(append(*store, "id-1", some_records(acknowledged + 1)));
  store.reset();
  store = open_store(disk.file("db"));
  EXPECT_EQ(points_in(*store), acknowledged + 1);
  EXPECT_THAT(*store->check(), testing::IsEmpty());
}

TEST(StoreDisk, ARunThatWouldNotFitIsRefusedBeforeItBegins) {
  const TempFolder folder;
  const SmallDisk disk(folder.file("disk"), "size=8m");
  ASSERT_TRUE(disk.mounted()) << std::strerror(errno);
  auto store = open_store(disk.file("db"), {.min_free_bytes = 0});
  plan_run(*store, "r1", 10);
  const Status refused = store->create_run(run_row("r2"), pair_tasks(4'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("16 are wanted; free space"));
}

TEST(StoreDisk, AReadOnlyFolderIsToldInOneLine) {
  const TempFolder folder;
  const SmallDisk disk(folder.file("disk"), "size=8m");
  ASSERT_TRUE(disk.mounted()) << std::strerror(errno);
  {
    auto store = open_store(disk.file("db"), {.min_free_bytes = 0});
    plan_run(*store, "r1", 1);
  }
  ASSERT_TRUE(disk.remount(MS_RDONLY));
  for (const std::string& name : {disk.file("db"), disk.file("new")}) {
    const auto refused = Store::open({.path = name});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
    EXPECT_THAT(refused.error().message, HasSubstr(name));
    EXPECT_THAT(refused.error().message, HasSubstr("writable"));
  }
}

// Takes every byte that is free.
void fill_up(const SmallDisk& disk) {
  std::ofstream filler(disk.file("filler"), std::ios::app);
  for (const std::size_t part : {65'536, 4'096, 1})
    while (filler << std::string(part, 'x') << std::flush) continue;
}

// Old runs with points, so that pruning has something to take.
void store_old_runs(Store& store, int runs, std::uint32_t points) {
  for (int run = 0; run < runs; ++run) {
    const At at{.run_id = fmt::format("old{}", run)};
    RunRow row = run_row(at.run_id);
    row.created_at = 1e9;
    for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store.put_node(node_row(node)));
    ASSERT_TRUE(store.create_run(row, pair_tasks(1)));
    std::vector<Record> records{started_record(at)};
    for (std::uint32_t i = 1; i <= points; ++i) records.push_back(point_record(at, i));
    Record end = final_record(at, points + 1, "passed");
    end.set_unix_time_seconds(1e9);
    records.push_back(end);
    ASSERT_TRUE(append(store, "id-1", std::move(records)));
    ASSERT_TRUE(
        store.update_run({.run_id = at.run_id, .state = RunState::kEnded, .outcome = "passed"}));
  }
  ASSERT_TRUE(store.flush());
}

constexpr double kReserveBytes = 4e6;

TEST(StoreDisk, AFullDiskIsReadAndPrunedAndWrittenAgainByItself) {
  const TempFolder folder;
  const SmallDisk disk(folder.file("disk"), "size=64m");
  ASSERT_TRUE(disk.mounted()) << std::strerror(errno);
  const StoreOptions options{.min_free_bytes = 0, .reserve_bytes = kReserveBytes};
  auto store = open_store(disk.file("db"), options);
  store_old_runs(*store, 20, 400);
  plan_run(*store, "r1", 1);
  ASSERT_TRUE(append(*store, "id-1", {started_record({})}));
  const std::size_t stored = points_in(*store);
  ASSERT_TRUE(std::filesystem::exists(disk.file("db.reserve")));
  fill_up(disk);
  std::uint32_t sequence = 0;
  Status told;
  while (told && sequence < 20'000) told = append(*store, "id-1", {point_record({}, ++sequence)});
  ASSERT_FALSE(told);
  const std::size_t acknowledged = stored + sequence - 1;
  fill_up(disk);
  // From here on nothing but reads and pruning is served, in one sentence.
  for (const Status& refused :
       {append(*store, "id-1", {point_record({}, sequence)}),
        store->create_run(run_row("r2"), pair_tasks(1)), store->remove_schedule("none")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_THAT(refused.error().message, HasSubstr("only reads and railgauge db prune are served"));
  }
  EXPECT_THAT(store->trouble(), HasSubstr("its file system is full"));
  EXPECT_EQ(points_in(*store), acknowledged);
  EXPECT_THAT(*store->check(), testing::IsEmpty());
  const auto pruned = store->prune({.point_days = 30}, 1.9e9);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_GT(pruned->points, 0);
  // The disk is still full, but for what was pruned; then somebody makes room.
  std::filesystem::remove(disk.file("filler"));
  ASSERT_TRUE(store->check_writable());
  EXPECT_EQ(store->trouble(), "");
  EXPECT_TRUE(std::filesystem::exists(disk.file("db.reserve"))) << "for the next time";
  EXPECT_TRUE(append(*store, "id-1", {point_record({}, sequence)}));
  EXPECT_THAT(*store->check(), testing::IsEmpty());
}

TEST(StoreDisk, AControllerStartsOnAFullDiskAndEndsItsRuns) {
  const TempFolder folder;
  const SmallDisk disk(folder.file("disk"), "size=64m");
  ASSERT_TRUE(disk.mounted()) << std::strerror(errno);
  const StoreOptions options{.min_free_bytes = 0, .reserve_bytes = kReserveBytes};
  auto store = open_store(disk.file("db"), options);
  store_old_runs(*store, 20, 400);
  plan_run(*store, "r1", 1);
  store.reset();
  fill_up(disk);
  ASSERT_EQ(std::filesystem::space(disk.file("")).available, 0U);
  StoreOptions again = options;
  again.path = disk.file("db");
  auto opened = Store::open(again);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto ended = (*opened)->end_interrupted_runs();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_THAT(*ended, testing::ElementsAre("r1"));
  EXPECT_THAT((*opened)->trouble(), HasSubstr("its file system is full"));
  const auto pruned = (*opened)->prune({.point_days = 30}, 1.9e9);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_GT(pruned->points, 0);
  EXPECT_GT(pruned->freed_bytes, 0);
  EXPECT_THAT(*(*opened)->check(), testing::IsEmpty());
}

// 0, or why not.
int error_of_mounting() {
  const TempFolder folder;
  errno = 0;
  const SmallDisk disk(folder.file("disk"), "size=1m");
  return disk.mounted() ? 0 : errno;
}

}  // namespace
}  // namespace railgauge::store

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr int kWaived = 77;
  if (const int error = railgauge::store::error_of_mounting(); error != 0) {
    std::printf("waived: no leave to mount a file system: %s\n", std::strerror(error));
    return kWaived;
  }
  return RUN_ALL_TESTS();
}
