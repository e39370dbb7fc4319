#include "controller/mirror/archive_gate.h"

#include <gtest/gtest.h>

namespace railgauge::mirror {
namespace {

TEST(ArchiveGate, ReleasesWhatTheArchiveHas) {
  ArchiveGate gate;
  int released = 0;
  gate.hold([&] { ++released; }, 0);
  const std::uint64_t before = gate.held();
  gate.hold([&] { ++released; }, 0);
  gate.note(before, 5);  // the second one was held after the look
  gate.passed(4);
  EXPECT_EQ(released, 0);
  gate.passed(5);
  EXPECT_EQ(released, 1);
  gate.note(gate.held(), 9);
  gate.tick(1e9);
  EXPECT_EQ(released, 1) << "an acknowledgement waits for as long as it takes";
  gate.passed(9);
  EXPECT_EQ(released, 2);
  EXPECT_EQ(gate.held(), 0u);
}

TEST(ArchiveGate, ForgetsNumbersOfAnEarlierOutbox) {
  ArchiveGate gate;
  int released = 0;
  gate.hold([&] { ++released; }, 0);
  gate.note(gate.held(), 5);
  gate.forget();
  gate.passed(7);
  EXPECT_EQ(released, 0);
  gate.note(gate.held(), 1);
  gate.passed(1);
  EXPECT_EQ(released, 1);
}

// A start waits for a while. From then on none waits, until the archive has everything again.
TEST(ArchiveGate, HoldsNothingUpWhileTheArchiveIsLate) {
  ArchiveGate gate(2);
  int released = 0;
  const auto act = [&] { ++released; };
  gate.hold(act, 10);
  gate.hold(act, 11);
  gate.note(gate.held(), 5);
  gate.tick(11.9);
  EXPECT_EQ(released, 0);
  gate.tick(12);
  EXPECT_EQ(released, 2);
  gate.hold(act, 12);
  EXPECT_EQ(released, 3);
  gate.passed(5);
  gate.hold(act, 12);
  EXPECT_EQ(released, 4) << "more rows may wait";
  gate.caught_up();
  gate.hold(act, 13);
  EXPECT_EQ(released, 4);
  gate.note(gate.held(), 8);
  gate.passed(8);
  EXPECT_EQ(released, 5);
}

// The end of a controller leaves no caller without an answer.
TEST(ArchiveGate, ReleasesAllAtItsEndAndHoldsNothingAfterwards) {
  ArchiveGate gate(5);
  int late = 0;
  const auto act = [&] { late += gate.is_late() ? 1 : 0; };
  gate.hold(act, 10);
  gate.note(gate.held(), 5);
  gate.passed(5);
  EXPECT_EQ(late, 0);
  gate.hold(act, 11);
  gate.release_all();
  gate.hold(act, 11);
  EXPECT_EQ(late, 2);
}

}  // namespace
}  // namespace railgauge::mirror
