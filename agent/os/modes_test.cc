#include "agent/os/modes.h"

#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ModeToKeep, IsThePresentOneUnlessItHarms) {
  EXPECT_EQ(mode_to_keep(false, 0600, 0600), 0600u);
  EXPECT_EQ(mode_to_keep(false, 0600, 0400), 0400u);
  EXPECT_EQ(mode_to_keep(false, 0640, 0640), 0640u);
  EXPECT_EQ(mode_to_keep(false, 0640, 0600), 0600u);
  EXPECT_EQ(mode_to_keep(true, 0755, 0755), 0755u);
  EXPECT_EQ(mode_to_keep(true, 0755, 0700), 0700u);
}

TEST(ModeToKeep, IsClosedAndUsableAfterAChangeThatHarms) {
  for (const mode_t now : {0604, 0640, 0602, 0200, 0000, 04600})
    EXPECT_EQ(mode_to_keep(false, 0400, now), 0600u) << std::oct << now;
  for (const mode_t now : {0701, 0750, 0777, 0500, 0600, 0000, 01700})
    EXPECT_EQ(mode_to_keep(true, 0755, now), 0700u) << std::oct << now;
}

class ModesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("state/spool.db", "records");
    folder_.write("key", "secret");
    set("state", 0700);
    set("state/spool.db", 0644);
    set("key", 0600);
  }
  void set(const std::string& name, mode_t mode) {
    ASSERT_EQ(::chmod((folder_ / name).c_str(), mode), 0);
  }
  mode_t mode(const std::string& name) {
    struct stat facts {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &facts), 0);
    return facts.st_mode & 07777;
  }
  TempDir folder_;
};

TEST_F(ModesTest, AreRestoredAndNamed) {
  Modes modes({folder_ / "state", folder_ / "key", folder_ / "missing"});
  EXPECT_THAT(modes.restore(), IsEmpty());
  set("key", 0666);
  set("state/spool.db", 0);
  set("state", 0777);
  EXPECT_THAT(modes.restore(), ElementsAre(HasSubstr("state: mode 0777 is 0700 again"),
                                           HasSubstr("spool.db: mode 0000 is 0600 again"),
                                           HasSubstr("key: mode 0666 is 0600 again")));
  EXPECT_EQ(mode("key"), 0600u);
  EXPECT_EQ(mode("state"), 0700u);
  EXPECT_EQ(mode("state/spool.db"), 0600u);
  EXPECT_THAT(modes.restore(), IsEmpty());
}

TEST_F(ModesTest, OfARenewedFileAreTheNewOnes) {
  Modes modes({folder_ / "key"});
  folder_.write("next", "new secret");
  set("next", 0640);
  std::filesystem::rename(folder_ / "next", folder_ / "key");
  EXPECT_THAT(modes.restore(), IsEmpty());
  EXPECT_EQ(mode("key"), 0640u);
}

TEST_F(ModesTest, OfALockedFolderAreRestored) {
  Modes modes({folder_ / "state"});
  set("state", 0);
  EXPECT_THAT(modes.restore(), ElementsAre(HasSubstr("mode 0000 is 0700 again")));
  EXPECT_EQ(mode("state"), 0700u);
}

}  // namespace
}  // namespace railgauge::agent
