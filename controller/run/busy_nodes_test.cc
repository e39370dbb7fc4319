#include "controller/run/busy_nodes.h"

#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

constexpr double kHour = BusyNodes::kLostSeconds;

TEST(BusyNodes, TellsOneAndHowManyMore) {
  BusyNodes nodes;
  EXPECT_EQ(nodes.text(), "");
  EXPECT_TRUE(nodes.busy("n2", "slurm: job 4711 here"));
  EXPECT_FALSE(nodes.busy("n2", "slurm: job 4711 here")) << "no news";
  EXPECT_TRUE(nodes.busy("n3", ""));
  EXPECT_EQ(nodes.text(), "node n2 is busy (slurm: job 4711 here) and 1 more");
  EXPECT_TRUE(nodes.idle("n2"));
  EXPECT_FALSE(nodes.idle("n2"));
  EXPECT_EQ(nodes.text(), "node n3 is busy (busy)");
}

TEST(BusyNodes, OneThatWasLostBusyIsForgottenAfterAnHour) {
  BusyNodes nodes;
  nodes.busy("n2", "slurm: job 4711 here");
  nodes.lost("n1", 0);  // which was idle
  nodes.lost("n2", 10);
  nodes.lost("n2", 500);  // the first time counts
  EXPECT_FALSE(nodes.expire(10 + kHour - 1));
  EXPECT_EQ(nodes.text(), "node n2 is busy (slurm: job 4711 here)") << "its job may go on";
  EXPECT_TRUE(nodes.expire(10 + kHour));
  EXPECT_EQ(nodes.text(), "");
  EXPECT_FALSE(nodes.expire(10 + 2 * kHour));
}

TEST(BusyNodes, OneThatIsHeardOfStaysHoweverLong) {
  BusyNodes nodes;
  nodes.busy("n1", "marker: mine");
  nodes.busy("n2", "marker: mine");
  nodes.lost("n1", 0);
  nodes.lost("n2", 0);
  nodes.back("n1");
  nodes.busy("n2", "marker: mine");
  EXPECT_FALSE(nodes.expire(9 * kHour));
  EXPECT_EQ(nodes.text(), "node n1 is busy (marker: mine) and 1 more");
}

}  // namespace
}  // namespace railgauge::run
