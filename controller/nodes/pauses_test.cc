#include "controller/nodes/pauses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/nodes/known_nodes.h"
#include "controller/nodes/pause_times.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PausesTest : public store::StoreTest {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 3; ++i) {
      store::NodeRow row = store::node_row(i);
      row.labels = {{"rack", i < 3 ? "r1" : "r2"}};
      ASSERT_TRUE(store_->put_node(row));
    }
    ASSERT_TRUE(store_->flush());
    pauses_.on_change([this](const Pauses::Held& held) {
      changes_.emplace_back();
      for (const auto& [node, pause] : held) changes_.back().push_back(node);
    });
  }
  static api::PauseNodesRequest request(double seconds, const std::string& reason = "DIMM") {
    api::PauseNodesRequest request;
    request.set_for_seconds(seconds);
    request.set_reason(reason);
    return request;
  }
  std::string refusal(const api::PauseNodesRequest& request) {
    const Status paused = pauses_.pause({"n1"}, request, "ann", 1'000);
    if (paused) return "paused";
    EXPECT_EQ(paused.error().code, Code::kInvalidArgument);
    return paused.error().message;
  }

  Pauses pauses_{*store_};
  std::vector<std::vector<std::string>> changes_{};
};

TEST_F(PausesTest, HoldUntilTheirTimeAndEveryChangeIsTold) {
  ASSERT_TRUE(pauses_.pause({"n1", "n2"}, request(60), "ann", 1'000));
  ASSERT_TRUE(pauses_.pause({"n3"}, request(600), "ann", 1'000));
  EXPECT_EQ(pauses_.next_end(), 1'060);
  EXPECT_EQ(pause_text(pauses_.held().at("n1")),
            "paused until 1970-01-01T00:17:40.000Z by ann: DIMM");
  pauses_.tick(1'059);
  EXPECT_EQ(pauses_.held().size(), 3U);
  pauses_.tick(1'060);
  EXPECT_EQ(pauses_.next_end(), 1'600);
  const auto resumed = pauses_.resume({"n1", "n3"}, "bob", 1'100);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_THAT(*resumed, ElementsAre("n3"));
  EXPECT_EQ(pauses_.next_end(), std::nullopt);
  EXPECT_THAT(changes_, ElementsAre(ElementsAre("n1", "n2"), ElementsAre("n1", "n2", "n3"),
                                    ElementsAre("n3"), IsEmpty()));
}

TEST_F(PausesTest, AreReadBackAfterARestart) {
  ASSERT_TRUE(pauses_.pause({"n2"}, request(60, "two\nlines"), "ann", 1'000));
  Pauses again(*store_);
  ASSERT_TRUE(again.load());
  ASSERT_TRUE(again.held().contains("n2"));
  EXPECT_EQ(again.held().at("n2").reason, "two\\nlines");
}

TEST_F(PausesTest, WantAReasonAndAnEndThatIsToCome) {
  EXPECT_THAT(refusal(request(60, " ")), HasSubstr("--reason TEXT is needed"));
  EXPECT_THAT(refusal(request(60, std::string(501, 'x'))), HasSubstr("at most 500"));
  EXPECT_THAT(refusal(request(0)), HasSubstr("has to come after now, 1970-01-01T00:16:40.000Z"));
  EXPECT_THAT(refusal(request(400.0 * 86'400)), HasSubstr("at most 366 days"));
  api::PauseNodesRequest both = request(60);
  both.set_until_unix_seconds(2'000);
  EXPECT_THAT(refusal(both), HasSubstr("--until TIME or --for DURATION"));
  both.clear_for_seconds();
  EXPECT_EQ(refusal(both), "paused");
}

TEST_F(PausesTest, TimesCoverRunsThatTheyMeet) {
  PauseTimes times;
  times.add("n1", 100, 200);
  times.add("n1", 400, 500);
  EXPECT_TRUE(times.covers("n1", 150, 160));
  EXPECT_TRUE(times.covers("n1", 50, 101));
  EXPECT_TRUE(times.covers("n1", 199, 300));
  EXPECT_FALSE(times.covers("n1", 200, 400));
  EXPECT_FALSE(times.covers("n2", 0, 1'000));
  EXPECT_THAT(times.nodes_during(450, 460), ElementsAre("n1"));
  ASSERT_TRUE(pauses_.pause({"n3"}, request(60), "ann", 1'000));
  const auto stored = PauseTimes::of(*store_, 0);
  ASSERT_TRUE(stored);
  EXPECT_TRUE(stored->covers("n3", 5'000, 6'000)) << "nobody has ended it yet";
  EXPECT_FALSE(stored->covers("n3", 900, 1'000));
}

TEST_F(PausesTest, LabelsOfTheStoreChooseNodes) {
  EXPECT_THAT(*choose_nodes(*store_, "&rack=r1"), ElementsAre("n1", "n2"));
  EXPECT_THAT(*choose_nodes(*store_, "@r2"), ElementsAre("n3"));
  EXPECT_THAT(*choose_nodes(*store_, "n[1-3],!@r1"), ElementsAre("n3"));
  const auto refused = choose_nodes(*store_, "&rack=r3");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no node has this value of \"rack\""));
}

}  // namespace
}  // namespace railgauge
