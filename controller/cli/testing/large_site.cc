#include "controller/cli/testing/large_site.h"

#include <fmt/format.h>

#include "controller/cli/testing/samples.h"
#include "controller/report/testing/morning.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr int kNodes = 512;
constexpr int kRails = 8;
constexpr int kRuns = 120;

std::string node_name(int number) { return fmt::format("gpu{:03}", number); }
std::string nic_name(int rail) { return fmt::format("mlx5_{}", rail); }

// One lost, six busy, five of them by their marker; two ports are down, and eight nodes have other
// GPUs.
NodeList large_nodes() {
  NodeList list;
  list.set_schema_version(1);
  for (int i = 1; i <= kNodes; ++i) {
    NodeInfo& node = *list.add_nodes();
    node.set_name(node_name(i));
    node.set_node_id(fmt::format("id-{}", i));
    node.set_state(i == 77 ? "lost" : "attached");
    node.set_version(i > 500 ? "0.1.9" : "0.2.0");
    node.set_last_seen_at(i == 77 ? "2026-11-26T04:11:00.000Z" : "2026-11-26T08:00:00.000Z");
    node.set_busy(i == 41 || (i >= 301 && i <= 305));
    if (node.busy()) node.add_busy_reasons(i == 41 ? "slurm: job 4711 here" : "marker: rack work");
    for (int rail = 0; rail < kRails; ++rail) {
      Nic& nic = *node.add_nics();
      nic.set_device(nic_name(rail));
      nic.set_port(1);
      nic.set_state(rail == 3 && (i == 17 || i == 18) ? "down" : "active");
      Gpu& gpu = *node.add_gpus();
      gpu.set_name(fmt::format("gpu{}", rail));
      gpu.set_model(i > 504 ? "NVIDIA H100 80GB HBM3" : "NVIDIA H200");
      gpu.set_state("active");
    }
  }
  return list;
}

void add_check(PreflightReport& report, int node, int rail, const char* id, const char* state,
               const std::string& observed, const std::string& remedy) {
  PreflightCheck& check = *report.add_checks();
  check.set_node(node_name(node));
  check.set_id(id);
  check.set_title(id);
  check.set_subject(fmt::format("gpu{}+{}", rail, nic_name(rail)));
  check.set_state(state);
  check.set_observed(observed);
  check.set_source("/sys/bus/pci/devices");
  check.set_why("peer-to-peer traffic goes through the root complex");
  if (!remedy.empty()) check.add_remedy(remedy);
}

// ACS is on everywhere; four nodes have a slow link; twelve checks are unknown on a whole rack.
PreflightReport large_preflight() {
  PreflightReport report;
  report.set_schema_version(1);
  for (int i = 1; i <= kNodes; ++i) {
    PreflightNode& node = *report.add_nodes();
    node.set_node(node_name(i));
    node.set_state("fail");
    node.set_seconds(0.2 + 0.001 * i);
    if (i == 77) {
      node.set_state("unknown");
      node.set_error(node_name(i) + ": it is not attached");
      continue;
    }
    for (int rail = 0; rail < kRails; ++rail) {
      add_check(report, i, rail, "acs", "fail", fmt::format("0000:{:02x}:00.0 has ReqRedir+", rail),
                fmt::format("setpci -s 0000:{:02x}:00.0 ECAP_ACS+6.w=0000", rail));
      add_check(report, i, rail, "relaxed_ordering", "pass", "on", "");
      if (i <= 4)
        add_check(report, i, rail, "pcie_link", "warn",
                  fmt::format("x8 of x16 at {:.1f} GT/s", 16.0 + rail), "reseat the card");
      if (i > 480)
        for (int n = 0; n < 12; ++n)
          add_check(report, i, rail, fmt::format("check_{:02}", n).c_str(), "unknown",
                    fmt::format("it stands in no file of node {}", i), "");
      GpuDirectPair& pair = *report.add_pairs();
      pair.set_node(node_name(i));
      pair.set_gpu(fmt::format("gpu{}", rail));
      pair.set_nic(nic_name(rail) + ":1");
      pair.set_distance("PIX");
      pair.set_answer(i % 100 == 0 ? "no" : "yes");
      if (i % 100 == 0)
        pair.set_because("nvidia-peermem is not loaded");
      else
        pair.set_path("dma-buf");
    }
  }
  return report;
}

TaskGroups large_groups() {
  TaskGroups groups = report::morning().runs.front();
  for (int i = 0; i < 90; ++i) {
    TaskGroup& group = *groups.add_groups();
    group.set_stage(2);
    group.set_kernel("verbs.write_lat");
    group.set_state("ended");
    group.set_outcome("failed");
    std::string words;
    for (int n = 0; n <= i % 7; ++n) words += fmt::format(" word{}", static_cast<char>('a' + n));
    group.set_reason("a reason of its own:" + words +
                     std::string(1, static_cast<char>('A' + i % 26)));
    group.set_tasks(i + 1);
    group.set_endpoints(fmt::format("gpu[001-{:03}]/mlx5_[0-7]:1", i + 2));
    group.set_first_task_id(fmt::format("t{:06}", i));
  }
  return groups;
}

FindingList large_findings() {
  FindingList list;
  list.set_schema_version(1);
  for (int i = 0; i < 100; ++i) {
    Finding& finding = *list.add_findings();
    finding.set_schema_version(1);
    finding.set_finding_id(fmt::format("step-{}-verbs.write_bw", node_name(i + 1)));
    finding.set_kind(i % 9 == 0 ? "drift" : "step");
    finding.set_state("new");
    finding.set_severity("warning");
    finding.set_suspect(fmt::format("{}/{}:1", node_name(i + 1), nic_name(i % kRails)));
    finding.set_worse_percent(3 + 0.1 * i);
    finding.set_opened_at("2026-11-26T02:15:00.000Z");
    finding.set_summary(fmt::format("verbs.write_bw 64 KiB {} receives {:.1f} % less than before",
                                    node_name(i + 1), 3 + 0.1 * i));
    if (i < 60) finding.set_event_id(list.findings(0).finding_id());
  }
  list.set_measured_twice(1'204);
  list.set_measured_twice_apart(12);
  return list;
}

SuspectList large_suspects() {
  SuspectList list = report::morning().suspects.front();
  list.set_metric("bandwidth_bytes_per_second");
  list.set_unit("bytes_per_second");
  list.clear_unmeasured_nodes();
  for (int i = 301; i <= 512; ++i) list.add_unmeasured_nodes(node_name(i));
  const Suspect first = list.suspects(0);
  for (int i = 1; i < 40; ++i) {
    Suspect& suspect = *list.add_suspects();
    suspect = first;
    suspect.set_place(static_cast<std::uint32_t>(i + 1));
    for (int pair = 0; pair < 30; ++pair) {
      SuspectEvidence& evidence = *suspect.add_evidence();
      evidence.set_from(node_name(pair + 1));
      evidence.set_to(node_name(17));
      evidence.set_memory("host");
      evidence.set_expected(48.6e9);
      evidence.set_seen(36.5e9);
    }
  }
  return list;
}

RunList large_runs() {
  RunList list;
  list.set_schema_version(1);
  for (int i = 0; i < kRuns; ++i) {
    RunSummary& run = *list.add_runs();
    run = sample_run();
    run.set_run_id(fmt::format("20261126-{:06}-5f3a1c", i));
    run.clear_nodes();
    for (int n = 1; n <= kNodes; ++n) run.add_nodes(node_name(n));
  }
  return list;
}

EventList large_events() {
  EventList list;
  list.set_schema_version(1);
  const auto add = [&](int id, const char* kind, int node, const std::string& text) {
    Event& event = *list.add_events();
    event.set_event_id(id);
    event.set_at("2026-11-26T02:15:00.000Z");
    event.set_kind(kind);
    event.set_node(node_name(node));
    event.set_text(text);
  };
  int id = 5'000;
  for (int i = 1; i <= kNodes; ++i)
    add(id--, "stack_changed", i, node_name(i) + ": gpu_driver 575.51 -> 580.95");
  for (int i = 1; i <= kNodes; ++i)
    for (int rail = 0; rail < 2; ++rail)
      add(id--, "watch_counter", i,
          fmt::format("warning: {}:1 link_downed grew by {}", nic_name(rail), 1 + i % 5));
  for (int i = 0; i < 80; ++i)
    add(id--, fmt::format("kind{}", static_cast<char>('a' + i % 26)).c_str(), i + 1,
        std::string(static_cast<std::size_t>(i / 26 + 1), 'x') + " happened");
  return list;
}

}  // namespace

void fill_large_site(FakeControl& control, FakeArchive& archive, FakeJudge& judge) {
  control.nodes = large_nodes();
  control.preflight = large_preflight();
  control.runs = large_runs();
  archive.groups = large_groups();
  archive.suspects = large_suspects();
  archive.events = large_events();
  judge.findings = large_findings();
  const ResultPoint point = archive.results.points(0);
  for (int i = 0; i < 500; ++i) *archive.results.add_points() = point;
  const api::Series series = archive.series.series(0);
  for (int i = 0; i < 500; ++i) *archive.series.add_series() = series;
  const HistoryPoint old = archive.history.points(0);
  for (int i = 0; i < 500; ++i) *archive.history.add_points() = old;
  for (int i = 0; i < 200; ++i) *judge.baselines.add_baselines() = judge.baselines.baselines(0);
  for (int i = 0; i < 200; ++i) *control.suites.add_suites() = control.suites.suites(0);
  for (int i = 0; i < 100; ++i) *control.schedules.add_schedules() = control.schedules.schedules(0);
}

}  // namespace railgauge::cli
