// The spool in memory: ids without gaps, and what stays for how long.
#include "agent/fleet/agents/memory_spool.h"

#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

std::vector<Record> numbered(std::uint32_t first, std::uint32_t count) {
  std::vector<Record> out(count);
  for (std::uint32_t i = 0; i < count; ++i) out[i].mutable_key()->set_sequence(first + i);
  return out;
}

TEST(MemorySpool, KeepsWhatIsNotAcknowledgedInOrder) {
  MemorySpool spool;
  spool.append(numbered(0, 5));
  spool.acknowledge(2);
  EXPECT_EQ(spool.waiting(), 3U);
  const auto read = spool.read(2, 2);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].spool_id(), 3U);
  EXPECT_EQ(read[1].record().key().sequence(), 3U);
}

TEST(MemorySpool, AnAcknowledgementNeverFallsAndNeverPassesTheLastRecord) {
  MemorySpool spool;
  spool.append(numbered(0, 5));
  spool.acknowledge(99);
  spool.acknowledge(2);
  EXPECT_EQ(spool.acknowledged(), 5U);
  spool.append(numbered(5, 1));
  EXPECT_EQ(spool.last_id(), 6U);
  EXPECT_EQ(spool.waiting(), 1U);
}

// A drill compares them with the archive at the moment of a kill.
TEST(MemorySpool, NamesThePointsThatAnAcknowledgementIsTheFirstFor) {
  MemorySpool spool;
  std::vector<Record> records = numbered(0, 5);
  for (const std::uint32_t point : {1U, 2U, 4U}) records[point].mutable_point();
  spool.append(std::move(records));
  spool.acknowledge(2);  // sequences 0 and 1
  const std::vector<RecordKey> named = spool.points_through(99);
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].sequence(), 2U);
  EXPECT_EQ(named[1].sequence(), 4U);
  EXPECT_EQ(spool.points_through(4).size(), 1U);
  EXPECT_TRUE(spool.points_through(2).empty());
}

TEST(MemorySpool, AcknowledgedRecordsStayAWhileForARestoredController) {
  MemorySpool spool;
  spool.append(numbered(0, 600));
  spool.acknowledge(600);
  EXPECT_EQ(spool.read(0, 1'000).size(), MemorySpool::kMaxKept);
  EXPECT_EQ(spool.read(0, 1'000).back().spool_id(), 600U);
}

}  // namespace
}  // namespace railgauge::fleet
