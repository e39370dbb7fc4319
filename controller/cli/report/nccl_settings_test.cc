#include "controller/cli/report/nccl_settings.h"

#include <gmock/gmock.h>

#include "controller/cli/render/results_table.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ResultPoint;
using railgauge::api::TaskDetail;
using ::testing::ElementsAre;
using Points = google::protobuf::RepeatedPtrField<ResultPoint>;
using Tasks = google::protobuf::RepeatedPtrField<TaskDetail>;

// Bus bandwidth in GB/s at 16 MiB, with an interval of 1 GB/s to either side.
ResultPoint point(const std::string& algo, double gigabytes) {
  ResultPoint made;
  made.set_run_id("r1");
  made.set_kernel("nccl.all_reduce");
  made.set_revision(1);
  made.add_endpoints("n1/gpu0");
  made.add_endpoints("n2/gpu0");
  made.set_outcome("passed");
  auto& parameters = *made.mutable_parameters();
  parameters["environment"] = "site";
  parameters["algo"] = algo;
  parameters["ib_disable"] = "site";
  parameters["datatype"] = "float32";
  Point& value = *made.mutable_point();
  value.set_metric("busbw_bytes_per_second");
  value.set_unit("bytes_per_second");
  value.set_meaning("completion");
  value.set_larger_is_better(true);
  value.set_message_bytes(16 << 20);
  value.set_median(gigabytes * 1e9);
  value.set_median_low((gigabytes - 1) * 1e9);
  value.set_median_high((gigabytes + 1) * 1e9);
  return made;
}

// "RANK SETTINGS" in the order of the report.
std::vector<std::string> ranked(const std::vector<ResultPoint>& points,
                                const std::vector<TaskDetail>& tasks = {}) {
  std::vector<std::string> out;
  for (const NcclSettingRank& rank :
       nccl_setting_ranks(Points(points.begin(), points.end()), Tasks(tasks.begin(), tasks.end())))
    out.push_back((rank.has_rank() ? std::to_string(rank.rank()) : "-") + " " + rank.settings() +
                  (rank.has_not_measured() ? ", " + rank.not_measured() : ""));
  return out;
}

// The task of such a point; a task has all parameters, a point those that are not at their default.
TaskDetail task(const std::string& id, const std::string& algo, const std::string& outcome,
                const std::string& reason = "") {
  TaskDetail made;
  made.set_task_id(id);
  made.set_kernel("nccl.all_reduce");
  made.add_endpoints("n1/gpu0");
  made.add_endpoints("n2/gpu0");
  made.set_state("ended");
  made.set_outcome(outcome);
  made.set_reason(reason);
  auto& parameters = *made.mutable_parameters();
  parameters["sizes"] = "8,16MiB";
  parameters["environment"] = "site";
  parameters["algo"] = algo;
  parameters["datatype"] = "float32";
  parameters["time_cap"] = "1s";
  return made;
}

TEST(NcclSettings, AreRankedBestFirstAndWhatIntervalsDoNotTellApartSharesARank) {
  EXPECT_THAT(ranked({point("Tree", 50), point("", 90), point("Ring", 91)}),
              ElementsAre("1 NCCL_ALGO=Ring", "1 as the site has it", "3 NCCL_ALGO=Tree"));
}

TEST(NcclSettings, AreNamedAsNcclKnowsThem) {
  ResultPoint both = point("^Tree", 10);
  (*both.mutable_parameters())["ib_disable"] = "true";
  ResultPoint clean = point("", 90);
  (*clean.mutable_parameters())["environment"] = "clean";
  EXPECT_THAT(ranked({both, clean}), ElementsAre("1 clean", "2 NCCL_IB_DISABLE=1 NCCL_ALGO=^Tree"));
}

TEST(NcclSettings, LatencyIsRankedUpToOneMebibyteAndTheLowestIsBest) {
  const auto latency = [](const std::string& algo, double us) {
    ResultPoint made = point(algo, us);
    made.mutable_point()->set_metric("latency_ns");
    made.mutable_point()->set_larger_is_better(false);
    made.mutable_point()->set_message_bytes(8);
    return made;
  };
  EXPECT_THAT(ranked({latency("Ring", 20), latency("Tree", 10)}),
              ElementsAre("1 NCCL_ALGO=Tree", "2 NCCL_ALGO=Ring"));
  ResultPoint large = latency("Ring", 20);
  large.mutable_point()->set_message_bytes(16 << 20);
  EXPECT_THAT(ranked({large, latency("Tree", 10)}), ElementsAre());
}

TEST(NcclSettings, HoldNothingAgainstAnotherFigure) {
  const auto changed = [](const auto& change) {
    ResultPoint other = point("Ring", 40);
    change(other);
    return ranked({point("", 50), other}).size();
  };
  EXPECT_EQ(changed([](ResultPoint&) {}), 2U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_run_id("r2"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_kernel("nccl.broadcast"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_endpoints(0, "n3/gpu0"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_parameters())["datatype"] = "int8"; }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_message_bytes(32 << 20); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.mutable_point()->set_meaning("aggregate_wall"); }), 0U);
  EXPECT_EQ(changed([](ResultPoint& p) { p.set_outcome("failed"); }), 0U) << "no figure counts";
  EXPECT_EQ(changed([](ResultPoint& p) { (*p.mutable_parameters())["algo"] = ""; }), 0U)
      << "one setting is no contest";
}

TEST(NcclSettings, SeveralTasksOfOneSettingCountTogetherWithTheirWidestInterval) {
  const std::vector<ResultPoint> points{point("Ring", 90), point("Ring", 96), point("Tree", 94.5)};
  const auto ranks = nccl_setting_ranks(Points(points.begin(), points.end()), {});
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[1].settings(), "NCCL_ALGO=Ring");
  EXPECT_EQ(ranks[1].median(), 93e9);
  EXPECT_EQ(ranks[1].median_low(), 89e9);
  EXPECT_EQ(ranks[1].median_high(), 97e9);
  EXPECT_EQ(ranks[1].rank(), 1U);
}

// The rate is the figure, and the median's interval is none of it.
TEST(NcclSettings, AreRankedByTheIntervalOfTheRate) {
  const auto with_rate = [](const std::string& algo, double gigabytes) {
    ResultPoint made = point(algo, 50);  // the same median, with a narrow interval
    made.mutable_point()->set_rate(gigabytes * 1e9);
    return made;
  };
  ResultPoint ring = with_rate("Ring", 90);
  ResultPoint tree = with_rate("Tree", 80);
  EXPECT_THAT(ranked({ring, tree}), ElementsAre("1 NCCL_ALGO=Ring", "1 NCCL_ALGO=Tree"))
      << "no interval of the rates";
  for (ResultPoint* one : {&ring, &tree}) {
    one->mutable_point()->set_rate_low(one->point().rate() - 1e9);
    one->mutable_point()->set_rate_high(one->point().rate() + 1e9);
  }
  EXPECT_THAT(ranked({ring, tree}), ElementsAre("1 NCCL_ALGO=Ring", "2 NCCL_ALGO=Tree"));
  const std::vector<ResultPoint> points{ring, tree};
  const auto ranks = nccl_setting_ranks(Points(points.begin(), points.end()), {});
  EXPECT_EQ(ranks[0].median_low(), 89e9);
  EXPECT_EQ(ranks[0].median_high(), 91e9);
}

// A setting that NCCL lacks, or that failed, must not look as if nobody had asked for it.
TEST(NcclSettings, ThatWereNotMeasuredComeLastWithTheReason) {
  ResultPoint ring = point("Ring", 90);
  ring.set_task_id("t1");
  ring.mutable_parameters()->erase("datatype");
  const std::vector<TaskDetail> tasks{
      task("t0", "NVLS", "waived", "no multicast"), task("t1", "Ring", "passed"),
      task("t2", "Tree", "failed", "element 3 is 1, expected 2"), task("t3", "Tree", "passed")};
  EXPECT_THAT(ranked({ring}, tasks),
              ElementsAre("1 NCCL_ALGO=Ring", "- NCCL_ALGO=NVLS, waived: no multicast",
                          "- NCCL_ALGO=Tree, failed: element 3 is 1, expected 2"));
  TaskDetail waits = task("t2", "Tree", "");
  waits.set_state("waiting");
  EXPECT_THAT(ranked({ring}, {tasks[1], waits}),
              ElementsAre("1 NCCL_ALGO=Ring", "- NCCL_ALGO=Tree, waiting"));
}

TEST(NcclSettings, OfOtherTasksAreNotMissed) {
  ResultPoint ring = point("Ring", 90);
  ring.set_task_id("t1");
  const auto missed = [&](const auto& change) {
    TaskDetail other = task("t2", "Tree", "crashed");
    change(other);
    return ranked({ring}, {task("t1", "Ring", "passed"), other}).size();
  };
  EXPECT_EQ(missed([](TaskDetail&) {}), 2U);
  EXPECT_EQ(missed([](TaskDetail& t) { t.set_kernel("nccl.broadcast"); }), 0U);
  EXPECT_EQ(missed([](TaskDetail& t) { t.set_endpoints(1, "n3/gpu0"); }), 0U);
  EXPECT_EQ(missed([](TaskDetail& t) { (*t.mutable_parameters())["datatype"] = "int8"; }), 0U);
  EXPECT_EQ(missed([](TaskDetail& t) { (*t.mutable_parameters())["sizes"] = "8"; }), 0U);
  EXPECT_EQ(missed([](TaskDetail& t) { (*t.mutable_parameters())["algo"] = "Ring"; }), 0U)
      << "it was measured by another task";
}

TEST(NcclSettings, AreATableWithIntervalsAndWhatNcclChose) {
  ResultPoint ring = point("Ring", 80);
  (*ring.mutable_point()->mutable_facts())["algorithm"] = "Ring";
  (*ring.mutable_point()->mutable_facts())["protocol"] = "Simple";
  ResultPoint bare = point("", 40);
  bare.mutable_point()->clear_median_low();
  ring.set_task_id("t1");
  const std::vector<ResultPoint> points{ring, bare};
  const std::vector<TaskDetail> tasks{task("t1", "Ring", "passed"),
                                      task("t2", "Tree", "waived", "no")};
  const auto ranks =
      nccl_setting_ranks(Points(points.begin(), points.end()), Tasks(tasks.begin(), tasks.end()));
  const google::protobuf::RepeatedPtrField<NcclSettingRank> list(ranks.begin(), ranks.end());
  EXPECT_EQ(
      nccl_settings_table(list, false),
      "\nNCCL settings by size; settings whose intervals overlap share a rank\n"
      "ENDPOINTS        KERNEL             SIZE  RANK  SETTINGS                  FIGURE         "
      "  95 % INTERVAL  OF BEST  NCCL CHOSE   WHY NOT\n"
      "n1/gpu0 n2/gpu0  nccl.all_reduce  16 MiB     1  NCCL_ALGO=Ring        80.00 GB/s  79.00 "
      "GB/s..81.00 GB/s    1.000  Ring Simple\n"
      "n1/gpu0 n2/gpu0  nccl.all_reduce  16 MiB     1  as the site has it    40.00 GB/s         "
      "              -    0.500\n"
      "n1/gpu0 n2/gpu0  nccl.all_reduce  16 MiB     -  NCCL_ALGO=Tree      not measured         "
      "              -        -               waived: no\n");
  EXPECT_EQ(nccl_settings_table({}, false), "");
}

TEST(NcclResults, ACollectiveOfTwoRanksGoesFromNeitherToTheOther) {
  const std::vector<ResultPoint> points{point("Ring", 90)};
  const std::string text =
      results_tables(Points(points.begin(), points.end()), Units::kBytes, false);
  EXPECT_THAT(text, ::testing::HasSubstr("ENDPOINTS "));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("FROM")));
}

}  // namespace
}  // namespace railgauge::cli
