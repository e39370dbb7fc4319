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
