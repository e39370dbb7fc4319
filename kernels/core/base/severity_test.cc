#include "kernels/core/base/severity.h"

#include <gtest/gtest.h>

namespace railgauge::severity {
namespace {

TEST(Severity, WordsOfEarlierProgramsAreReadAsThoseInUse) {
  EXPECT_EQ(present("warn"), "warning");
  EXPECT_EQ(present("fail"), "critical");
  for (const std::string_view word : {"info", "warning", "critical", "begin", ""})
    EXPECT_EQ(present(word), word);
}

TEST(Severity, ATextKeepsWhatFollowsItsWord) {
  EXPECT_EQ(with_present("fail: gpu0: fail: 3"), "critical: gpu0: fail: 3");
  EXPECT_EQ(with_present("warn: mlx5_0:1"), "warning: mlx5_0:1");
  for (const char* text : {"info: x", "critical: x", "failure: x", "warn", ""})
    EXPECT_EQ(with_present(text), text);
}

}  // namespace
}  // namespace railgauge::severity
