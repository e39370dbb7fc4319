#include "controller/cli/archive/archive_queries.h"

#include <gmock/gmock.h>

namespace railgauge::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

TEST(ArchiveQueries, SendWordsOfPeopleAsValuesAlone) {
  const std::string hostile = "x'; DROP TABLE railgauge.run; --";
  const ArchiveFilter filter{.site = hostile,
                             .run_id = hostile,
                             .kernel = hostile,
                             .metric = hostile,
                             .nodes = {hostile},
                             .state = hostile};
  for (const ArchiveQuery& query :
       {results_query(filter), series_query(filter), history_query(filter), findings_query(filter),
        runs_query(filter), matrices_query(filter), sites_of_series(filter)})
    EXPECT_THAT(query.sql, Not(HasSubstr("DROP"))) << query.sql;
}

TEST(ArchiveQueries, NumberTheirValuesInOrder) {
  const ArchiveQuery query = runs_query({.site = "east", .limit = 5});
  EXPECT_THAT(query.sql, HasSubstr("site=$1"));
  EXPECT_THAT(query.sql, HasSubstr("LIMIT 6"));
  EXPECT_THAT(query.values, ElementsAre(Optional(std::string("east"))));
}

TEST(ArchiveQueries, AskForTheNewestRunWhereNoneIsNamed) {
  EXPECT_THAT(results_query({}).sql, HasSubstr("newest.state='ended'"));
  EXPECT_THAT(results_query({.run_id = "r1"}).sql, HasSubstr("runs.run_id=$1"));
}

TEST(ArchiveQueries, MakeAPersonsStatementASubquery) {
  EXPECT_EQ(person_query("SELECT 1 -- one ;", 9).sql,
            "SELECT * FROM (SELECT 1 -- one\n) AS answer LIMIT 10");
}

}  // namespace
}  // namespace railgauge::cli
