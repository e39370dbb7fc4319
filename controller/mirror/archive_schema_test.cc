#include "controller/mirror/archive_schema.h"

#include <gmock/gmock.h>

#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

class ArchiveSchemaTest : public MirrorTest {};

// A column that an update brings is filled for the rows that are there.
TEST_F(ArchiveSchemaTest, ANewerSchemaIsRefusedAndAnOlderOneRaised) {
  measure("r1", 1);
  expect_same();
  ask("ALTER TABLE railgauge.run DROP COLUMN suite_text");
  ask("DROP VIEW railgauge.runs CASCADE");
  ask("UPDATE railgauge.schema_version SET version=0");
  ask("UPDATE railgauge.site SET schema_version=0");
  mirror_ = make();
  expect_same();
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.runs"), "1");
  ask("INSERT INTO railgauge.schema_version (version) VALUES (1000)");
  mirror_ = make();
  mirror_->step(1.7e9);
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, ::testing::HasSubstr("a newer Railgauge made it"));
}

}  // namespace
}  // namespace railgauge::mirror
