#include "controller/metric/controller_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/metric/exposition.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Metrics, EveryFamilyIsThereWithItsLabelsAndZerosAreToldToo) {
  Metrics metrics;
  metrics.run_ended("quick", "cli", "passed", 1'000);
  metrics.run_ended("nightly", "schedule", "failed", 2'000);
  metrics.series().add("railgauge_tasks_total",
                       {{"kernel", "verbs.write_lat"}, {"outcome", "passed"}});
  metrics.set_nodes(
      {.attached = 3, .detached = 1, .lost = 2, .busy = 1, .paused = 2, .waiting_records = 7});
  metrics.series().set("railgauge_nodes", {{"state", "absent"}}, 5);
  metrics.series().raise_to("railgauge_records_stored_total", {}, 12);
  metrics.series().raise_to("railgauge_records_stored_total", {}, 15);
  metrics.series().set("railgauge_store_queue_depth", {}, 4);
  metrics.series().set("railgauge_db_size_bytes", {}, 8'192);
  metrics.series().set("railgauge_run_active", {}, 1);
  metrics.series().set("railgauge_runs_waiting", {{"priority", "cli"}}, 3);
  const std::string text = metrics.text();
  for (const char* line : {"railgauge_runs_total{outcome=\"passed\",trigger=\"cli\"} 1",
                           "railgauge_runs_total{outcome=\"failed\",trigger=\"schedule\"} 1",
                           "railgauge_tasks_total{kernel=\"verbs.write_lat\",outcome=\"passed\"} 1",
                           "railgauge_nodes{state=\"attached\"} 3",
                           "railgauge_nodes{state=\"detached\"} 1",
                           "railgauge_nodes{state=\"lost\"} 2",
                           "railgauge_nodes{state=\"absent\"} 5",
                           "railgauge_nodes_busy 1",
                           "railgauge_nodes_paused 2",
                           "railgauge_agents_waiting_records 7",
                           "railgauge_run_last_outcome{outcome=\"failed\",suite=\"nightly\"} 1",
                           "railgauge_records_stored_total 15",
                           "railgauge_store_queue_depth 4",
                           "railgauge_db_size_bytes 8192",
                           "railgauge_run_active 1",
                           "railgauge_runs_waiting{priority=\"cli\"} 3",
                           "railgauge_run_last_success_timestamp_seconds{suite=\"quick\"} 1000",
                           "railgauge_controller_info{version=",
                           "process_cpu_seconds_total ",
                           "process_start_time_seconds ",
                           "process_open_fds ",
                           "process_max_fds "})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("last_success_timestamp_seconds{suite=\"nightly\"")));
  EXPECT_THAT(Metrics().text(), HasSubstr("railgauge_run_active 0"));
}

void restore(Metrics& metrics, const SuiteEnd& end) { metrics.restore_runs({&end, 1}); }

TEST(Metrics, ASuiteHasOneLastOutcome) {
  Metrics metrics;
  restore(metrics, {"nightly", "passed", 1'000, 1'000});
  metrics.run_ended("nightly", "schedule", "failed", 2'000);
  restore(metrics, {"nightly", "crashed", 500});  // older than what is known
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("run_last_outcome{outcome=\"failed\",suite=\"nightly\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("run_last_outcome{outcome=\"passed\"")));
  EXPECT_THAT(text, Not(HasSubstr("run_last_outcome{outcome=\"crashed\"")));
  EXPECT_THAT(text, HasSubstr("last_success_timestamp_seconds{suite=\"nightly\"} 1000\n"));
}

// Names of suites are unbounded, what is shown of them is not: and never at the nightly run's cost.
TEST(Metrics, OfManySuitesThoseOfSchedulesStayAndTheOldestGo) {
  Metrics metrics;
  metrics.set_schedules(std::vector<ScheduleState>{{.name = "n", .suite = "nightly"}});
  restore(metrics, {"nightly", "passed", 10, 10});
  std::vector<SuiteEnd> earlier;
  for (int i = 0; i < 300; ++i)
    earlier.push_back({"accept-" + std::to_string(i), "failed", 1'000.0 + i});
  metrics.restore_runs(earlier);
  metrics.run_ended("accept-new", "cli", "passed", 2'000);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("last_success_timestamp_seconds{suite=\"nightly\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("last_outcome{outcome=\"passed\",suite=\"nightly\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("last_end_timestamp_seconds{suite=\"accept-new\"} 2000\n"));
  EXPECT_THAT(text, HasSubstr("last_end_timestamp_seconds{suite=\"accept-299\"} 1299\n"));
  EXPECT_THAT(text, Not(HasSubstr("suite=\"accept-0\"")));
  EXPECT_THAT(text, HasSubstr("railgauge_series_refused_total 0\n"));
  EXPECT_THAT(metric::outside_catalog(text, metric::Owner::kController), IsEmpty());
}

TEST(Metrics, APausedScheduleIsToldApartAndOneWithoutADueTimeHasNoResult) {
  Metrics metrics;
  metrics.set_schedules(std::vector<ScheduleState>{
      {.name = "n", .suite = "nightly", .enabled = true, .result = "missed", .due_unix_seconds = 9},
      {.name = "q", .suite = "quick", .pause_seconds = 900}});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("railgauge_schedule_enabled{schedule=\"n\",suite=\"nightly\"} 1"));
  EXPECT_THAT(text, HasSubstr("railgauge_schedule_enabled{schedule=\"q\",suite=\"quick\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("railgauge_schedule_pause_seconds{schedule=\"q\",suite=\"quick\"} 900"));
  EXPECT_THAT(text, Not(HasSubstr("pause_seconds{schedule=\"n\"")));
  EXPECT_THAT(text,
              HasSubstr("railgauge_schedule_last_result{result=\"missed\",schedule=\"n\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("last_result{result=\"\"")));
}

TEST(Metrics, AFilledControllerShowsNothingOutsideTheCatalog) {
  Metrics metrics;
  std::vector<WorstPair> pairs;
  for (std::uint32_t i = 0; i < metric::kWorstPairs; ++i)
    pairs.push_back({"verbs.write_bw", "n" + std::to_string(i), "n0", 3, "host", 0.5});
  metrics.set_pairs(
      pairs, std::vector<RailFigure>{{"verbs.write_bw", false, 3, "host", "same_leaf", 5e10, 4e10}},
      1'000);
  metrics.series().set("railgauge_findings",
                       {{"kind", "regression"}, {"state", "open"}, {"severity", "fail"}}, 2);
  metrics.series().set("railgauge_regression_active",
                       {{"kernel", "verbs.write_bw"}, {"metric", "latency_ns"}}, 2);
  metrics.set_schedules(std::vector<ScheduleState>{{"n", "nightly", true, "started", 9}});
  metrics.series().replace("railgauge_agents",
                           {{{{"version", "0.1.0"}}, 999}, {{{"version", "0.2.0"}}, 1}});
  metrics.series().set("railgauge_store_queue_limit", {}, 65'536);
  metrics.series().set("railgauge_db_free_bytes", {}, 1e12);
  metrics.run_ended("nightly", "schedule", "failed", 2'000);
  metrics.series().add("railgauge_tasks_total",
                       {{"kernel", "verbs.write_lat"}, {"outcome", "passed"}});
  EXPECT_THAT(metric::outside_catalog(metrics.text(), metric::Owner::kController), IsEmpty());
  EXPECT_THAT(metrics.text(), HasSubstr("railgauge_series_refused_total 0\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("rail=\"3\",stat=\"p01\"} 40000000000\n"));
  metrics.set_pairs(std::vector<WorstPair>{{"verbs.write_bw", "a", "b", -1, "", 0.9}}, {}, 2'000);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("from=\"n1\"")));
}

}  // namespace
}  // namespace railgauge
