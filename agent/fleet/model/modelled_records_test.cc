// Records of a modelled task: complete, in order, and marked synthetic.
#include "agent/fleet/model/modelled_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

ModelledFabric fabric(const std::string& lines) {
  auto read = read_scenario(
      "version: 1\nmetadata: {name: t}\nfabric: {nodes: 4, leaves: 2}\n" + lines, "t.yaml");
  RG_CHECK(read.has_value());
  return ModelledFabric(*std::move(read));
}

const ModelledTask kPair{.kernel = "verbs.write_bw",
                         .parameters = {{"sizes", "8,64KiB"}},
                         .ranks = {{.node = 0, .nic = 0}, {.node = 1, .nic = 0}}};

std::vector<Record> records(const ModelledFabric& modelled, std::uint32_t rank) {
  RankForm form{.unix_time_seconds = 1'000, .revision = 4, .endpoint = "mlx5_0:1"};
  form.key.set_run_id("r");
  form.key.set_task_id("t");
  form.key.set_attempt(2);
  form.key.set_rank(rank);
  return records_of(kPair, modelled.run(kPair), form);
}

TEST(ModelledRecords, AreNumberedWithoutGapsAndEndWithFinal) {
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto made = records(fabric(""), rank);
    double last = 1'000;
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(made[i].key().sequence(), i);
      EXPECT_EQ(made[i].key().attempt(), 2U);
      EXPECT_EQ(made[i].key().rank(), rank);
      EXPECT_GE(made[i].unix_time_seconds(), last);
      last = made[i].unix_time_seconds();
    }
    ASSERT_TRUE(made.front().has_started());
    EXPECT_EQ(made.front().started().facts().at("synthetic"), "true");
    EXPECT_EQ(made.front().started().revision(), 4U);
    EXPECT_EQ(made.back().final().outcome(), "passed");
  }
}

// Two metrics of two sizes.
TEST(ModelledRecords, Rank0AloneReportsPoints) {
  EXPECT_EQ(records(fabric(""), 0).size(), 6U);
  EXPECT_EQ(records(fabric(""), 1).size(), 2U);
  for (const Record& record : records(fabric(""), 0))
    EXPECT_EQ(record.has_point(), record.point().synthetic());
}

TEST(ModelledRecords, GrownCountersAreANoteOfTheirRank) {
  const ModelledFabric lossy = fabric("faults:\n  - {kind: rail, rail: 0, loss: 0.01}\n");
  const auto made = records(lossy, 1);
  ASSERT_TRUE(made.at(1).has_note());
  EXPECT_THAT(made.at(1).note().text(), testing::HasSubstr("mlx5_0:1: port counters grew"));
}

TEST(ModelledRecords, AWaivedTaskHasItsFinalAlone) {
  const auto made = records(fabric("losses:\n  - {reason: no verbs}\n"), 0);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].final().outcome(), "waived");
  EXPECT_EQ(made[0].final().reason(), "no verbs");
}

}  // namespace
}  // namespace railgauge::fleet
