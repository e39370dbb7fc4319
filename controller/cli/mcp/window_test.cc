#include "controller/cli/mcp/window.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli::mcp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Message>
Document document_of(const Message& message, const std::string& rows) {
  return {.message = std::make_unique<Message>(message), .rows = rows, .command = "railgauge x"};
}

api::RunList runs(int count, int nodes = 0) {
  api::RunList list;
  for (int i = 0; i < count; ++i) {
    api::RunSummary& run = *list.add_runs();
    run.set_run_id(fmt::format("r{}", i));
    for (int node = 0; node < nodes; ++node) run.add_nodes(fmt::format("gpu{:04}", node));
  }
  return list;
}

std::vector<std::string> ids_of(const Document& document) {
  std::vector<std::string> ids;
  for (const auto& run : static_cast<const api::RunList&>(*document.message).runs())
    ids.push_back(run.run_id());
  return ids;
}

TEST(McpWindow, OfAListThatFitsSaysNothing) {
  Document document = document_of(runs(3), "runs");
  EXPECT_THAT(*cut(document, {}), IsEmpty());
  EXPECT_THAT(ids_of(document), ElementsAre("r0", "r1", "r2"));
}

TEST(McpWindow, NamesTheOffsetThatShowsTheRest) {
  Document document = document_of(runs(5), "runs");
  EXPECT_THAT(*cut(document, {.offset = 1, .limit = 2}),
              ElementsAre("runs: 2 to 3 are shown, more follow: offset 3 shows them"));
  EXPECT_THAT(ids_of(document), ElementsAre("r1", "r2"));
  Document rest = document_of(runs(5), "runs");
  EXPECT_THAT(*cut(rest, {.offset = 3, .limit = 2}),
              ElementsAre("runs: 4 to 5 are shown; no more follow"));
  EXPECT_THAT(ids_of(rest), ElementsAre("r3", "r4"));
}

TEST(McpWindow, BeyondTheLastRowSaysThatThereIsNone) {
  Document document = document_of(runs(2), "runs");
  EXPECT_THAT(*cut(document, {.offset = 7}),
              ElementsAre("runs: there is none from offset 7 on; no more follow"));
  EXPECT_THAT(ids_of(document), IsEmpty());
}

TEST(McpWindow, OfAHistoryCountsFromItsNewestPoint) {
  api::History history;
  for (int i = 0; i < 5; ++i) history.add_points()->set_run_id(fmt::format("r{}", i));
  Document document = document_of(history, "points");
  document.is_newest_last = true;
  EXPECT_THAT(*cut(document, {.offset = 1, .limit = 2}),
              ElementsAre("points: 2 to 3 are shown, more follow: offset 3 shows them"));
  const auto& left = static_cast<const api::History&>(*document.message);
  ASSERT_EQ(left.points_size(), 2);
  EXPECT_EQ(left.points(0).run_id(), "r2");
  EXPECT_EQ(left.points(1).run_id(), "r3");
}

TEST(McpWindow, CutsListsInsideRowsBeforeRows) {
  Document document = document_of(runs(3, 2'000), "runs");
  EXPECT_THAT(*cut(document, {}),
              ElementsAre("runs.nodes: at most 20 of up to 2000 entries are shown; railgauge x -o "
                          "json has all"));
  EXPECT_EQ(ids_of(document).size(), 3U);
  EXPECT_LE(to_json(*document.message, JsonLayout::kCompact).size(), kMostBytes);
}

TEST(McpWindow, KeepsAsManyRowsAsThereIsRoomFor) {
  Document document = document_of(runs(1'000), "runs");
  const auto notes = *cut(document, {.limit = 1'000}, 20'000);
  const std::size_t shown = ids_of(document).size();
  EXPECT_GT(shown, 10U);
  EXPECT_THAT(notes, ElementsAre(fmt::format("runs: 1 to {0} are shown, as many as an answer has "
                                             "room for, more follow: offset {0} shows them",
                                             shown)));
  EXPECT_LE(to_json(*document.message, JsonLayout::kCompact).size(), 20'000U);
}

TEST(McpWindow, CutsTextsLastAndRefusesWhatNeverFits) {
  api::RunList list;
  list.add_runs()->set_reason(std::string(100'000, 'x'));
  Document document = document_of(list, "runs");
  EXPECT_THAT(*cut(document, {}),
              ElementsAre("texts of more than 2000 bytes are cut; railgauge x -o json has all of "
                          "them"));
  const auto refused = cut(document, {}, 100);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("100 is the most"),
                                             HasSubstr("railgauge x -o json prints it whole")));
}

TEST(McpWindow, SyntheticIsFoundInAnyPart) {
  api::History history;
  history.add_points();
  EXPECT_FALSE(is_synthetic(history));
  history.add_points()->set_synthetic(true);
  EXPECT_TRUE(is_synthetic(history));
  api::SuspectList suspects;
  suspects.set_synthetic(true);
  EXPECT_TRUE(is_synthetic(suspects));
}

}  // namespace
}  // namespace railgauge::cli::mcp
