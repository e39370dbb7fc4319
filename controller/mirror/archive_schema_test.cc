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

// Each write to a site's row says how its session commits.
TEST_F(ArchiveSchemaTest, TheMirrorsCommitsWaitForTheDiskWhateverTheServersSetting) {
  for (const auto& [of_server, of_session] :
       {std::pair("off", "on"), {"remote_write", "on"}, {"remote_apply", "remote_apply"}}) {
    ask(
        fmt::format("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit={}', "
                    "current_database()); END $$",
                    of_server));
    ASSERT_EQ(ask("SHOW synchronous_commit"), of_server);
    mirror_ = make();
    measure(fmt::format("after {}", of_server), 1);
    expect_same();
    if (of_server == std::string_view("off")) {
      ask("CREATE TABLE public.commits AS SELECT ''::text AS setting");
      ask("CREATE FUNCTION public.note_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
          "UPDATE "
          "public.commits SET setting=current_setting('synchronous_commit'); RETURN NEW; END $$");
      ask("CREATE TRIGGER note_commit BEFORE UPDATE ON railgauge.site FOR EACH ROW EXECUTE "
          "FUNCTION public.note_commit()");
      measure("once more", 1);
      expect_same();
    }
    EXPECT_EQ(ask("SELECT setting FROM public.commits"), of_session) << of_server;
  }
}

// Nobody may take a modelled site's rows for measured ones, whichever view shows them.
TEST_F(ArchiveSchemaTest, EachViewMarksSyntheticData) {
  measure("r1", 1);
  expect_same();
  EXPECT_EQ(ask("SELECT coalesce(string_agg(table_name, ' '), '') FROM information_schema.views v "
                "WHERE table_schema='railgauge' AND NOT EXISTS (SELECT 1 FROM "
                "information_schema.columns c WHERE c.table_schema='railgauge' AND "
                "c.table_name=v.table_name AND c.column_name='synthetic')"),
            "");
  EXPECT_NE(ask("SELECT count(*) FROM information_schema.views WHERE table_schema='railgauge'"),
            "0");
  // A change of views alone copies nothing anew.
  ask("UPDATE railgauge.schema_version SET version=2 WHERE version>2");
  ask("UPDATE railgauge.site SET schema_version=2");
  mirror_ = make();
  mirror_->step(1.7e9);
  EXPECT_EQ(mirror_->figures().tables_left, 0);
  expect_same();
}

}  // namespace
}  // namespace railgauge::mirror
