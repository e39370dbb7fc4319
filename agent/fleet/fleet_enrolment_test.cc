#include "agent/fleet/fleet_enrolment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace railgauge::fleet {
namespace {

TEST(EnrolFleet, WithoutAControllerNothingIsMade) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / "rg_fleet_enrolment").string();
  const auto times = enrol_fleet({.server = {.host = "127.0.0.1", .port = 1},
                                  .token = trust::make_enrolment_token(std::string(64, 'a')),
                                  .names = {"n1"},
                                  .folder = folder},
                                 0);
  ASSERT_FALSE(times);
  EXPECT_THAT(times.error().message, testing::HasSubstr("https://127.0.0.1:1: no connection"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace railgauge::fleet
