#include "controller/cli/input/interrupts.h"

#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

TEST(LastAct, IsDoneWhileItLivesAlone) {
  Interrupts interrupts;
  interrupts.act_last();
  int done = 0;
  {
    const Interrupts::LastAct act(interrupts, [&done] { ++done; });
    interrupts.act_last();
  }
  interrupts.act_last();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace railgauge::cli
