#include "controller/mirror/merge_sql.h"

#include <gmock/gmock.h>

#include <array>

#include "controller/store/outbox/mirror_tables.h"

namespace railgauge::mirror {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MergeSql, CarriesDeletesOverOnlyWhereRetentionDoesNotDelete) {
  const std::array<std::int64_t, 2> keys{3, 4};
  EXPECT_THAT(merge_sql(store::mirror_table_number("upgrade_run"), 2, keys),
              HasSubstr("=ANY('{3,4}'::bigint[])"));
  EXPECT_THAT(merge_sql(store::mirror_table_number("task"), 2, keys), Not(HasSubstr("DELETE")));
  EXPECT_EQ(delete_range_sql(store::mirror_table_number("part_levels"), 2, 1, 9), "");
  EXPECT_THAT(delete_range_sql(store::mirror_table_number("upgrade_run"), 2, 1, 9),
              HasSubstr("\"upgrade\">1 AND \"upgrade\"<=9"));
}

TEST(MergeSql, NeverChangesAPoint) {
  EXPECT_THAT(merge_sql(store::mirror_table_number("point"), 1, {}),
              HasSubstr("ON CONFLICT DO NOTHING"));
}

TEST(MergeSql, FindsTheMonthOfATime) {
  EXPECT_EQ(month_name(month_of(0)), "point_y1970m01");
  EXPECT_EQ(month_name(month_of(1'735'689'599)), "point_y2024m12");
  EXPECT_EQ(month_name(month_of(1'735'689'600)), "point_y2025m01");
  EXPECT_EQ(month_begin(2024 * 12 + 11), "2024-12-01 00:00+00");
  EXPECT_THAT(month_sql(2024 * 12 + 11), HasSubstr("('2024-12-01 00:00+00') TO ('2025-01-01"));
}

}  // namespace
}  // namespace railgauge::mirror
