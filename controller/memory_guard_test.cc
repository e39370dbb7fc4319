#include "controller/memory_guard.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::HasSubstr;

// A tree of files in place of /.
class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuardTest() {
    std::string name = (std::filesystem::temp_directory_path() / "memory_guard_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~MemoryGuardTest() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(MemoryGuardTest, NoLimitRefusesNothing) {
  EXPECT_EQ(read_memory_use(root_), std::nullopt);
  write("/proc/self/cgroup", "0::/system.slice/railgauge.service\n");
  const std::string group = "/sys/fs/cgroup/system.slice/railgauge.service";
  write(group + "/memory.max", "max\n");
  write(group + "/memory.high", "max\n");
  write(group + "/memory.current", "1000000\n");
  EXPECT_EQ(read_memory_use(root_), std::nullopt);
  EXPECT_TRUE(MemoryGuard(root_).check(1e15));
}

TEST_F(MemoryGuardTest, AClaimCountsUntilItGoes) {
  write("/proc/self/cgroup", "0::/a\n");
  write("/sys/fs/cgroup/a/memory.max", "1000000000\n");
  write("/sys/fs/cgroup/a/memory.current", "100000000\n");
  MemoryGuard guard(root_);
  auto first = guard.claim(400e6);
  ASSERT_TRUE(first);
  EXPECT_THAT(guard.claim(400e6).error().message,
              HasSubstr("500 of the 1000 MB that its cgroup allows are taken and this wants 400"));
  first->reset();
  EXPECT_TRUE(guard.claim(400e6));
}

TEST_F(MemoryGuardTest, CachedFilesDoNotCountAndTheTightestGroupDoes) {
  write("/proc/self/cgroup", "0::/system.slice/railgauge.service\n");
  const std::string slice = "/sys/fs/cgroup/system.slice";
  const std::string group = slice + "/railgauge.service";
  write(group + "/memory.max", "1000000000\n");
  write(group + "/memory.high", "500000000\n");
  write(group + "/memory.current", "600000000\n");
  write(group + "/memory.stat", "anon 1\ninactive_file 200000000\nactive_file 100000000\n");
  auto use = read_memory_use(root_);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used, 300e6);
  EXPECT_EQ(use->limit, 500e6);
  EXPECT_TRUE(MemoryGuard(root_).check());
  EXPECT_THAT(MemoryGuard(root_).check(256e6).error().message,
              HasSubstr("300 of the 500 MB that its cgroup allows are taken and this wants 256"));
  write(slice + "/memory.max", "320000000\n");
  write(slice + "/memory.current", "310000000\n");
  use = read_memory_use(root_);
  ASSERT_TRUE(use);
  EXPECT_EQ(use->limit, 320e6);
  const Status refused = MemoryGuard(root_).check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST_F(MemoryGuardTest, ReadsTheFirstVersionAndAContainersMount) {
  write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "100000000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "90000000\n");
  write("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 0\n");
  EXPECT_THAT(MemoryGuard(root_).check().error().message, HasSubstr("90 of the 100 MB"));
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_TRUE(MemoryGuard(root_).check());
}

}  // namespace
}  // namespace railgauge
