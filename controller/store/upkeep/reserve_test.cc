// The reserve on a disk with room. store_disk_test.cc has the full ones.
#include "controller/store/upkeep/reserve.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

constexpr double kBytes = 1 << 20;

class ReserveTest : public testing::Test {
 protected:
  // Bytes on the disk; a file with holes has fewer than its size.
  [[nodiscard]] double blocks() const {
    struct stat about {};
    constexpr double kBlock = 512;
    return ::stat(file_.c_str(), &about) == 0 ? kBlock * static_cast<double>(about.st_blocks) : 0;
  }
  TempFolder folder_;
  const std::string database_ = folder_.file("db");
  const std::string file_ = database_ + ".reserve";
};

TEST_F(ReserveTest, HoldsBlocksUntilAPruningOnAFullDiskNeedsThem) {
  Reserve reserve(database_, kBytes);
  EXPECT_EQ(blocks(), 0);
  reserve.fill();
  EXPECT_GE(blocks(), kBytes);
  reserve.give_up();
  EXPECT_GE(blocks(), kBytes) << "the disk is not full";
  reserve.note_full();
  EXPECT_TRUE(reserve.is_full());
  EXPECT_THAT(reserve.trouble(), HasSubstr("only reads and railgauge db prune are served"));
  reserve.give_up();
  EXPECT_EQ(blocks(), 0);
  EXPECT_TRUE(reserve.check()) << "there is room: this disk was never full";
  EXPECT_EQ(reserve.trouble(), "");
  EXPECT_FALSE(reserve.is_full());
  EXPECT_GE(blocks(), kBytes) << "for the next time";
}

TEST_F(ReserveTest, AHeldStoreRefusesWithTheReason) {
  Reserve reserve(database_, 0);
  reserve.fill();
  EXPECT_EQ(blocks(), 0) << "none was asked for";
  reserve.hold("runs are open");
  const Status refused = reserve.check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("read-only: runs are open"));
  reserve.hold("");
  EXPECT_TRUE(reserve.check());
}

// Somebody who may write the folder must not choose the file that the controller overwrites.
TEST_F(ReserveTest, FollowsNoLink) {
  std::ofstream(folder_.file("victim")) << "precious";
  ASSERT_EQ(::symlink(folder_.file("victim").c_str(), file_.c_str()), 0);
  Reserve reserve(database_, kBytes);
  reserve.fill();
  std::string text;
  std::ifstream(folder_.file("victim")) >> text;
  EXPECT_EQ(text, "precious");
}

}  // namespace
}  // namespace railgauge::store
