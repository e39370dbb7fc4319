#include "controller/mirror/copy_rows.h"

#include <gmock/gmock.h>

namespace railgauge::mirror {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

store::MirrorRows note_with(const std::string& text) {
  return {.table = store::mirror_table_number("note"),
          .keys = {1},
          .cells = {std::int64_t{1}, std::int64_t{0}, std::string("info"), text}};
}

TEST(CopyRows, ReplacesBytesThatPostgresRefuses) {
  std::vector<BlobRef> blobs;
  const std::string copy = copy_of(note_with(std::string("a\0b\xff", 4)), blobs);
  EXPECT_THAT(copy, HasSubstr("a?b?"));
  EXPECT_TRUE(blobs.empty());
}

TEST(CopyRows, HasTheDigestInThePlaceOfABlob) {
  store::MirrorRows rows{.table = store::mirror_table_number("part_levels"), .keys = {1}};
  rows.cells.resize(7);
  rows.cells.emplace_back(std::string("content"));
  std::vector<BlobRef> blobs;
  const std::string copy = copy_of(rows, blobs);
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(blobs[0].bytes, "content");
  EXPECT_EQ(blobs[0].digest.size(), 32u);
  EXPECT_THAT(copy, HasSubstr(blobs[0].digest));
  EXPECT_THAT(copy, Not(HasSubstr("content")));
}

TEST(CopyRows, NamesAPointsTimeAsATime) {
  const auto& point = store::mirror_tables()[store::mirror_table_number("point")];
  EXPECT_EQ(column_name(point.columns[2]), "measured_at");
  EXPECT_EQ(column_type(point, point.columns[2]), "timestamptz");
  EXPECT_EQ(column_type(point, point.columns[0]), "bigint");
  EXPECT_EQ(column_type(point, point.columns[1]), "integer");
}

}  // namespace
}  // namespace railgauge::mirror
