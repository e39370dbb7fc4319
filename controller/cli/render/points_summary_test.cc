#include "controller/cli/render/points_summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

void add_rate(api::ResultList& list, const std::string& from, const std::string& to, double rate,
              const char* memory = "gpu") {
  api::ResultPoint& point = *list.add_points();
  point.set_kernel("verbs.write_bw");
  point.set_outcome("passed");
  point.add_endpoints(from);
  point.add_endpoints(to);
  (*point.mutable_facts())["memory"] = memory;
  (*point.mutable_facts())["path"] = "dma-buf";
  point.mutable_point()->set_metric("bandwidth_bytes_per_second");
  point.mutable_point()->set_unit("bytes_per_second");
  point.mutable_point()->set_larger_is_better(true);
  point.mutable_point()->set_message_bytes(65'536);
  point.mutable_point()->set_rate(rate);
}

TEST(PointsSummary, ThePlaceThatBadPointsShareIsNamed) {
  api::ResultList list;
  for (int from = 1; from <= 6; ++from)
    for (int to = 1; to <= 6; ++to)
      if (from != to)
        add_rate(list, fmt::format("n{}/mlx5_0:1", from), fmt::format("n{}/mlx5_0:1", to),
                 to == 3 ? 36e9 : 48e9);
  EXPECT_EQ(points_summary(list.points(), Units::kBoth, false),
            "KERNEL            SIZE  POINTS  MEDIAN  WORST   BEST  UNIT  OF\n"
            "verbs.write_bw  64 KiB      30   384.0  288.0  384.0  Gb/s  bandwidth, memory gpu, "
            "path dma-buf\n"
            "\n"
            "more than 5 % worse than the median of their kind\n"
            "AT           POINTS       WORST  OF MEDIAN  KERNEL            SIZE  WITH\n"
            "n3/mlx5_0:1       5  288.0 Gb/s     75.0 %  verbs.write_bw  64 KiB  "
            "n[1-2,4-6]/mlx5_0:1\n");
}

TEST(PointsSummary, FiguresOfTwoMemoriesAreNotOneKind) {
  api::ResultList list;
  for (int i = 0; i < 4; ++i) {
    add_rate(list, "n1/mlx5_0:1", "n2/mlx5_0:1", 48e9);
    add_rate(list, "n1/mlx5_0:1", "n2/mlx5_0:1", 12e9, "host");
  }
  const std::string text = points_summary(list.points(), Units::kBytes, false);
  EXPECT_THAT(text, HasSubstr("48.00"));
  EXPECT_THAT(text, HasSubstr("12.00"));
  EXPECT_THAT(text, Not(HasSubstr("worse than the median")));
}

TEST(PointsSummary, WhatDidNotPassIsCounted) {
  api::ResultList list;
  for (int i = 0; i < 3; ++i) add_rate(list, "n1/mlx5_0:1", "n2/mlx5_0:1", 48e9);
  list.mutable_points(1)->set_outcome("failed");
  EXPECT_THAT(points_summary(list.points(), Units::kBoth, false), HasSubstr("1 failed"));
  EXPECT_EQ(points_summary({}, Units::kBoth, false), "");
}

}  // namespace
}  // namespace railgauge::cli
