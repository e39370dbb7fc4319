#include "controller/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, EveryFamilyIsThereWithItsLabelsAndZerosAreToldToo) {
  Metrics metrics;
  metrics.run_ended("quick", "cli", "passed", 1'000);
  metrics.run_ended("nightly", "schedule", "failed", 2'000);
  metrics.task_ended("verbs.write_lat", "passed");
  metrics.set_nodes(3, 1, 2);
  metrics.set_records_stored(12);
  metrics.set_records_stored(15);
  metrics.set_store(4, 8'192);
  metrics.set_run_active(true);
  const std::string text = metrics.text();
  for (const char* line :
       {"railgauge_runs_total{outcome=\"passed\",trigger=\"cli\"} 1",
        "railgauge_runs_total{outcome=\"failed\",trigger=\"schedule\"} 1",
        "railgauge_tasks_total{kernel=\"verbs.write_lat\",outcome=\"passed\"} 1",
        "railgauge_nodes{state=\"attached\"} 3", "railgauge_nodes{state=\"detached\"} 1",
        "railgauge_nodes{state=\"lost\"} 2", "railgauge_records_stored_total 15",
        "railgauge_store_queue_depth 4", "railgauge_db_size_bytes 8192", "railgauge_run_active 1",
        "railgauge_run_last_success_timestamp_seconds{suite=\"quick\"} 1000",
        "railgauge_controller_info{version=", "process_cpu_seconds_total ",
        "process_start_time_seconds ", "process_open_fds ", "process_max_fds "})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("suite=\"nightly\"")));  // it has not passed yet
  EXPECT_THAT(Metrics().text(), HasSubstr("railgauge_run_active 0"));
}

}  // namespace
}  // namespace railgauge
