#include "controller/findings/finding_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FindingPlace place(double from, double until, std::set<std::string> marks) {
  return {.from = from, .until = until, .marks = std::move(marks)};
}

TEST(FindingEvents, TimeAndPlaceTogetherMakeOne) {
  const std::vector<FindingPlace> findings{
      place(10, 20, {"node n1", "leaf a"}), place(15, 30, {"node n2", "leaf a"}),
      place(15, 30, {"node n9"}),            // elsewhere
      place(40, 50, {"node n1", "leaf a"}),  // later
  };
  EXPECT_THAT(events_of_findings(findings), ElementsAre(0, 0, 2, 3));
  EXPECT_THAT(events_of_findings({}), IsEmpty());
}

// The last one meets both of two that do not meet each other.
TEST(FindingEvents, TheyMeetByWayOfOthers) {
  const std::vector<FindingPlace> findings{
      place(10, 20, {"node n1"}),
      place(10, 20, {"node n5"}),
      place(90, 95, {"node n5"}),
      place(12, 13, {"node n1", "change gpu_driver 1 -> 2"}),
      place(11, 19, {"node n5", "change gpu_driver 1 -> 2"}),
  };
  EXPECT_THAT(events_of_findings(findings), ElementsAre(0, 0, 2, 0, 0));
}

TEST(FindingEvents, TimesThatTouchOverlap) {
  const std::vector<FindingPlace> findings{place(10, 20, {"rail 1"}), place(20, 25, {"rail 1"}),
                                           place(26, 27, {"rail 1"})};
  EXPECT_THAT(events_of_findings(findings), ElementsAre(0, 0, 2));
}

}  // namespace
}  // namespace railgauge
