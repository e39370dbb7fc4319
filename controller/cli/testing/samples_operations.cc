// Sample answers for operators besides runs: schedules and preflight.
#include <fmt/format.h>

#include "controller/cli/testing/samples.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

PreflightCheck sample_check(const char* id, const char* subject, const char* state,
                            const char* observed) {
  PreflightCheck check;
  check.set_node("n1");
  check.set_id(id);
  check.set_title(fmt::format("about {}", id));
  check.set_subject(subject);
  check.set_state(state);
  check.set_observed(observed);
  check.set_source("/sys");
  check.set_why(fmt::format("{} matters", id));
  return check;
}

GpuDirectPair sample_pair(const char* gpu, const char* nic, const char* answer) {
  GpuDirectPair pair;
  pair.set_node("n1");
  pair.set_gpu(gpu);
  pair.set_nic(nic);
  pair.set_distance("PIX");
  pair.set_answer(answer);
  return pair;
}

}  // namespace

ScheduleList sample_schedules() {
  ScheduleList list;
  list.set_schema_version(1);
  ScheduleInfo& nightly = *list.add_schedules();
  nightly.set_schema_version(1);
  nightly.set_name("nightly");
  nightly.set_suite("nightly");
  nightly.set_state("active");
  nightly.set_cron("30 1 * * *");
  nightly.set_zone("Europe/Berlin");
  nightly.set_next_at("2026-11-21T00:34:12Z");
  nightly.set_missed(1);
  nightly.set_jitter_seconds(900);
  nightly.set_windows("mon-fri 22:00-06:00; sat,sun");
  nightly.set_concurrency("skip");
  nightly.set_created_by("uid 1000");
  ScheduleDue& started = *nightly.add_dues();
  started.set_due_at("2026-11-20T00:30:00Z");
  started.set_result("started");
  started.set_run_id(kSampleRun);
  *nightly.mutable_last() = started;
  ScheduleDue& missed = *nightly.add_dues();
  missed.set_due_at("2026-11-19T00:30:00Z");
  missed.set_result("missed");
  missed.set_reason("a due time passed without a start, the newest 3.0 h ago");
  ScheduleInfo& hourly = *list.add_schedules();
  hourly.set_schema_version(1);
  hourly.set_name("hourly-quick");
  hourly.set_suite("quick");
  hourly.set_state("paused");
  hourly.set_cron("15 * * * *");
  hourly.set_zone("UTC");
  hourly.set_node_set("gpu[001-064]");
  hourly.set_concurrency("skip");
  hourly.set_created_by("shipped");
  return list;
}

PreflightReport sample_preflight() {
  PreflightReport report;
  report.set_schema_version(1);
  PreflightNode& node = *report.add_nodes();
  node.set_node("n1");
  node.set_state("fail");
  node.set_checked_at("2026-11-20T12:00:00Z");
  node.set_seconds(0.25);
  PreflightCheck& acs = *report.add_checks();
  acs = sample_check("acs", "gpu0+mlx5_0", "fail", "0000:17:00.0 has ReqRedir+");
  acs.add_remedy("# cost: less isolation");
  acs.add_remedy("setpci -s 0000:17:00.0 ECAP_ACS+6.w=0000");
  *report.add_checks() = sample_check("mtu", "mlx5_0:1", "unknown", "it stands in no file");
  *report.add_checks() = sample_check("versions", "", "pass", "GPU driver 550.54.15");
  GpuDirectPair& yes = *report.add_pairs();
  yes = sample_pair("gpu0", "mlx5_0", "yes");
  yes.set_path("dma-buf");
  GpuDirectPair& no = *report.add_pairs();
  no = sample_pair("gpu1", "mlx5_1", "no");
  no.set_because("nvidia-peermem is not loaded");
  no.add_remedy("modprobe nvidia-peermem");
  return report;
}

Installation sample_installation() {
  Installation told;
  told.set_schema_version(1);
  told.set_now_at("2026-11-20T12:00:00Z");
  told.set_started_at("2026-11-01T00:00:00Z");
  told.set_version("0.1.0");
  told.set_socket("/run/railgauge/controller.sock");
  told.set_listen("0.0.0.0:7443");
  told.set_metrics_listen("127.0.0.1:0");  // so that nobody is asked
  told.set_database("/var/lib/railgauge/railgauge.db");
  told.set_backup_folder("/var/lib/railgauge/backups");
  told.set_newest_backup_at("2026-11-10T03:00:00Z");
  told.set_newest_backup_bytes(1.2e9);
  for (const char* name : {"n1", "n2", "n3"}) {
    InstalledNode& node = *told.add_nodes();
    node.set_node(name);
    node.set_state("attached");
    node.set_version("0.1.0");
    node.set_clock_skew_seconds(0.01);
    node.set_certificate_ends_at("2028-11-20T00:00:00Z");
  }
  told.set_metrics(
      "railgauge_certificate_expiry_timestamp_seconds{certificate=\"own\"} 1826668800\n"
      "railgauge_db_free_bytes 2e+11\n"
      "railgauge_db_size_bytes 1e+09\n"
      "railgauge_store_read_only 0\n"
      "railgauge_memory_short 0\n");
  return told;
}

}  // namespace railgauge::cli
