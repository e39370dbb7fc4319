#include "controller/cli/live/on_screen.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/render/table.h"
#include "controller/cli/testing/commands_testing.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

// A terminal of 80 columns.
class OnScreen : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    fold_tables_at(80);
  }
  void TearDown() override {
    fold_tables_at(0);
    Commands::TearDown();
  }
};

TEST_F(OnScreen, AListIsCutAndCounted) {
  run({"metrics", "--describe"});
  EXPECT_EQ(std::ranges::count(out_, '\n'), 60);
  EXPECT_THAT(out_, testing::EndsWith(" more lines; --full shows them\n"));
}

TEST_F(OnScreen, AScriptIsNeverCutAndMachineFormatsHaveAll) {
  run({"completion", "bash"});
  EXPECT_GT(std::ranges::count(out_, '\n'), 100);
  run({"metrics"}, Format::kCsv);
  EXPECT_GT(std::ranges::count(out_, '\n'), 80);
}

TEST_F(OnScreen, AnErrorComesBehindWhatWasPrinted) {
  EXPECT_EQ(run({"nodes", "show", "n9"}), kExitUsage);
  EXPECT_THAT(err_, testing::HasSubstr("n9"));
}

}  // namespace
}  // namespace railgauge::cli
