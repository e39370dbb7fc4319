#include "agent/link/generation.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace railgauge::agent {
namespace {

using testing::HasSubstr;

class GenerationTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "generation_test";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/generation";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::string path_;
};

TEST_F(GenerationTest, IsKeptAndNeverFalls) {
  {
    const auto book = GenerationBook::open(path_);
    ASSERT_TRUE(book);
    EXPECT_TRUE((*book)->take(0, "a"));
    EXPECT_TRUE((*book)->take(4, "a"));
    EXPECT_TRUE((*book)->take(4, "b"));
  }
  const auto book = GenerationBook::open(path_);
  ASSERT_TRUE(book);
  EXPECT_EQ((*book)->seen(), 4u);
  const Status lower = (*book)->take(3, "a:7443");
  ASSERT_FALSE(lower);
  EXPECT_THAT(lower.error().message,
              HasSubstr("a:7443: it has generation 3, this agent has seen 4"));
  const Status none = (*book)->take(0, "a:7443");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("remove " + path_));
}

TEST_F(GenerationTest, AFileWithoutANumberIsRefused) {
  std::ofstream(path_) << "four";
  const auto book = GenerationBook::open(path_);
  ASSERT_FALSE(book);
  EXPECT_EQ(book.error().code, Code::kDataLoss);
}

// A generation that cannot be kept is not obeyed: after a restart the agent would obey the lower
// one.
TEST_F(GenerationTest, IsNotTakenWhereItCannotBeStored) {
  const auto book = GenerationBook::open(folder_ + "/absent/generation");
  ASSERT_TRUE(book);
  EXPECT_FALSE((*book)->take(2, "a"));
  EXPECT_EQ((*book)->seen(), 0u);
}

}  // namespace
}  // namespace railgauge::agent
