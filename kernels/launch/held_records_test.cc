// Records that wait for the launcher's output.
#include "kernels/launch/held_records.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

using namespace std::chrono_literals;

Record numbered(std::uint32_t sequence) {
  Record record;
  record.mutable_key()->set_sequence(sequence);
  return record;
}

TEST(HeldRecords, WaitForWhatIsNotKnownYet) {
  HeldRecords held(3600e9);
  EXPECT_TRUE(held.empty());
  held.add(numbered(1));
  EXPECT_TRUE(held.due(false).empty());
  EXPECT_FALSE(held.empty());
}

TEST(HeldRecords, GoInTheirOrderAndOnceWhenItIsKnown) {
  HeldRecords held(3600e9);
  held.add(numbered(1));
  held.add(numbered(2));
  const std::vector<Record> told = held.due(true);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].key().sequence(), 1u);
  EXPECT_EQ(told[1].key().sequence(), 2u);
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(held.due(true).empty());
}

// A launcher that never reports its transports must not hold the records back.
TEST(HeldRecords, WaitNoLongerThanAskedFromTheFirstOnAndThenNotAgain) {
  HeldRecords held(1e6);
  held.add(numbered(1));
  std::this_thread::sleep_for(2ms);
  held.add(numbered(2));
  EXPECT_EQ(held.due(false).size(), 2u);
  held.add(numbered(3));
  EXPECT_EQ(held.due(false).size(), 1u);
}

}  // namespace
}  // namespace railgauge
