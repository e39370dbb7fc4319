#include "controller/cli/render/space_parts.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

// The tables that the migrations leave behind, by their own statements.
std::set<std::string> tables_of_the_migrations() {
  std::set<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator("controller/store/migrations"))
    files.insert(file.path());
  std::set<std::string> tables;
  const std::regex change(R"((CREATE TABLE|DROP TABLE|ALTER TABLE) (\w+)(?:\s+RENAME TO (\w+))?)");
  for (const auto& file : files) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string sql = text.str();
    for (std::sregex_iterator at(sql.begin(), sql.end(), change), end; at != end; ++at) {
      const std::smatch& found = *at;
      if (found[1] == "CREATE TABLE") tables.insert(found[2]);
      if (found[1] == "DROP TABLE" || found[3].matched) tables.erase(found[2]);
      if (found[3].matched) tables.insert(found[3]);
    }
  }
  return tables;
}

TEST(SpaceParts, EveryTableOfTheSchemaIsForSomething) {
  const std::set<std::string> tables = tables_of_the_migrations();
  EXPECT_GT(tables.size(), 30U);
  for (const std::string& table : tables) EXPECT_NE(purpose_of(table).holds, "others") << table;
  EXPECT_EQ(purpose_of("made_up").holds, "others");
}

TEST(SpaceParts, TablesAndIndexesAreSummedUpTheLargestFirst) {
  api::Space space;
  const auto add = [&space](const char* name, const char* table, double bytes) {
    api::SpacePart& part = *space.add_parts();
    part.set_name(name);
    part.set_table(table);
    part.set_bytes(bytes);
  };
  add("run", "run", 10);
  add("point", "point", 60);
  add("point_by_series", "point", 25);
  add("rank", "rank", 5);
  const auto sums = sums_by_purpose(space);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].purpose.holds, "points");
  EXPECT_EQ(sums[0].bytes, 85);
  EXPECT_EQ(sums[0].purpose.kept_by, "keep_points");
  EXPECT_EQ(sums[1].bytes, 15);
}

TEST(SpaceParts, SizesAreInUnitsThatPeopleRead) {
  EXPECT_EQ(size_text(41'000), "41.0 kB");
  EXPECT_EQ(size_text(603e6), "603.0 MB");
  EXPECT_EQ(size_text(200e9), "200.0 GB");
}

}  // namespace
}  // namespace railgauge::cli
