// The names that scripts rely on stand in the docs, all of them: a new column that does not, or one
// that was renamed, fails here.
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"
#include "controller/cli/render/csv.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

// The line of the table that begins so.
std::string line_of(const std::string& docs, const std::string& begin) {
  const std::size_t at = docs.find("\n| " + begin);
  EXPECT_NE(at, std::string::npos) << begin;
  return at == std::string::npos ? "" : docs.substr(at, docs.find('\n', at + 1) - at);
}

void expect_all(const google::protobuf::Descriptor& rows, const std::string& text) {
  std::stringstream header(csv_header(rows));
  int columns = 0;
  for (std::string column; std::getline(header, column, ','); ++columns)
    EXPECT_THAT(text, HasSubstr("`" + column + "`"));
  EXPECT_GT(columns, 4);
}

TEST(Columns, AllStandInTheDocs) {
  std::ifstream file("deploy/docs/reference/store.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string docs = text.str();
  const std::size_t begin = docs.find("## Columns of `export` and `results`");
  const std::size_t end = docs.find("## Columns of the other commands");
  ASSERT_TRUE(begin < end && end != std::string::npos);
  expect_all(*api::ResultPoint::descriptor(), docs.substr(begin, end - begin));
  expect_all(*api::Series::descriptor(), line_of(docs, "`history` (`series`)"));
  expect_all(*api::HistoryPoint::descriptor(), line_of(docs, "`history SERIES` (`points`)"));
  expect_all(*api::HistoryDay::descriptor(), line_of(docs, "`history SERIES` (`days`"));
  expect_all(*api::RunSummary::descriptor(), line_of(docs, "`runs` (`runs`)"));
  expect_all(*api::ComparedSeries::descriptor(), line_of(docs, "`runs compare A B`"));
  expect_all(*api::SpacePart::descriptor(), line_of(docs, "`db stats`"));
  expect_all(*api::AuditEntry::descriptor(), line_of(docs, "`audit` (`entries`)"));
}

}  // namespace
}  // namespace railgauge::cli
