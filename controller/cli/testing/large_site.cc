#include "controller/cli/testing/large_site.h"

#include <fmt/format.h>

#include "controller/cli/testing/large_figures.h"
#include "controller/cli/testing/large_judged.h"
#include "controller/cli/testing/samples.h"
#include "controller/report/testing/morning.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr int kRuns = 120;

std::string nic_name(int rail) { return fmt::format("mlx5_{}", rail); }

// Devices with the facts that pages of a node show.
void add_devices(NodeInfo& node, int number) {
  for (int rail = 0; rail < kLargeRails; ++rail) {
    Nic& nic = *node.add_nics();
    nic.set_device(nic_name(rail));
    nic.set_port(1);
    nic.set_pci_address(fmt::format("0000:{:02x}:00.0", 0x10 + rail));
    nic.set_netdev(fmt::format("ens{}f0", rail));
    nic.set_link_layer("ethernet");
    nic.set_driver("mlx5_core");
    nic.set_firmware("28.43.1014");
    nic.set_guid(fmt::format("0c42:a103:{:04x}:{:04x}", number, rail));
    nic.set_rate_bits_per_second(400e9);
    nic.set_active_mtu_bytes(4096);
    nic.set_numa_node_plus_one(static_cast<std::uint32_t>(1 + rail / 4));
    nic.set_state(rail == 3 && (number == 17 || number == 18) ? "down" : "active");
    Gpu& gpu = *node.add_gpus();
    gpu.set_name(fmt::format("gpu{}", rail));
    gpu.set_model(number > 504 ? "NVIDIA H100 80GB HBM3" : "NVIDIA H200");
    gpu.set_state("active");
    gpu.set_pci_address(fmt::format("0000:{:02x}:00.0", 0x40 + rail));
    gpu.set_uuid(fmt::format("GPU-{:08x}-0000-0000-0000-{:012x}", number, rail));
    gpu.set_driver("nvidia");
    gpu.set_vbios("96.00.bc.00.01");
    gpu.set_numa_node_plus_one(static_cast<std::uint32_t>(1 + rail / 4));
    for (int other = 0; other < kLargeRails; ++other)
      (*gpu.mutable_distances())[nic_name(other)] = other == rail           ? "PIX"
                                                    : other / 4 == rail / 4 ? "NODE"
                                                                            : "SYS";
    auto& facts = *node.mutable_facts();
    std::string distances;
    for (int other = 0; other < kLargeRails; ++other)
      if (other != rail) distances += fmt::format("gpu{}=NV18 ", other);
    facts[gpu.name() + ".distances"] = distances;
    facts[gpu.name() + ".cpus"] = rail < 4 ? "0-55" : "56-111";
  }
}

// One is dead, five are paused, sixteen have the new stack; two ports are down, eight nodes have
// other GPUs, and one runs a job.
NodeList large_nodes() {
  NodeList list;
  list.set_schema_version(1);
  for (int i = 1; i <= kLargeNodes; ++i) {
    NodeInfo& node = *list.add_nodes();
    const bool is_dead = i == kDeadNode;
    node.set_name(large_node(i));
    node.set_node_id(fmt::format("id-{}", i));
    node.set_state(is_dead ? "lost" : "attached");
    node.set_version(is_upgraded_node(i) ? "0.2.1" : "0.2.0");
    node.set_address(fmt::format("10.0.{}.{}", i / 256, i % 256));
    node.set_last_seen_at(is_dead ? "2026-11-26T04:11:00.000Z" : "2026-11-26T08:00:00.000Z");
    node.set_busy(i == 41);
    if (node.busy()) node.add_busy_reasons("slurm: job 4711 here");
    if (is_paused_node(i)) {
      NodePause& pause = *node.mutable_pause();
      pause.set_reason("rack work");
      pause.set_who("ann");
      pause.set_since_at("2026-11-25T18:00:00Z");
      pause.set_until_at("2026-11-27T08:00:00Z");
    }
    add_devices(node, i);
    for (int n = 0; n < 30; ++n)
      (*node.mutable_facts())[fmt::format("fact_{:02}", n)] = fmt::format("value {}", n);
    auto& versions = *node.mutable_stack_versions();
    versions["gpu_driver"] = is_upgraded_node(i) ? "580.95.05" : "575.51.03";
    for (int n = 0; n < 20; ++n) versions[fmt::format("part_{:02}", n)] = fmt::format("1.{}", n);
    (*node.mutable_stack_settings())["nic_max_read_request_bytes"] = "4096";
    node.set_stack_hash(is_upgraded_node(i) ? "b7" : "a6");
  }
  return list;
}

void add_check(PreflightReport& report, int node, int rail, const char* id, const char* state,
               const std::string& observed, const std::string& remedy) {
  PreflightCheck& check = *report.add_checks();
  check.set_node(large_node(node));
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
  for (int i = 1; i <= kLargeNodes; ++i) {
    PreflightNode& node = *report.add_nodes();
    node.set_node(large_node(i));
    node.set_state("fail");
    node.set_seconds(0.2 + 0.001 * i);
    if (i == kDeadNode) {
      node.set_state("unknown");
      node.set_error(large_node(i) + ": it is not attached");
      continue;
    }
    for (int rail = 0; rail < kLargeRails; ++rail) {
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
      pair.set_node(large_node(i));
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

SuspectList large_suspects() {
  SuspectList list = report::morning().suspects.front();
  list.set_metric("bandwidth_bytes_per_second");
  list.set_unit("bytes_per_second");
  list.clear_unmeasured_nodes();
  for (int i = 301; i <= 512; ++i) list.add_unmeasured_nodes(large_node(i));
  const Suspect first = list.suspects(0);
  for (int i = 1; i < 40; ++i) {
    Suspect& suspect = *list.add_suspects();
    suspect = first;
    suspect.set_place(static_cast<std::uint32_t>(i + 1));
    for (int pair = 0; pair < 30; ++pair) {
      SuspectEvidence& evidence = *suspect.add_evidence();
      evidence.set_from(large_node(pair + 1));
      evidence.set_to(large_node(17));
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
    for (int n = 1; n <= kLargeNodes; ++n) run.add_nodes(large_node(n));
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
    event.set_node(large_node(node));
    event.set_text(text);
  };
  int id = 5'000;
  for (int i = 1; i <= kLargeNodes; ++i)
    add(id--, "stack_changed", i, large_node(i) + ": gpu_driver 575.51 -> 580.95");
  for (int i = 1; i <= kLargeNodes; ++i)
    for (int rail = 0; rail < 2; ++rail)
      add(id--, "watch_counter", i,
          fmt::format("warning: {}:1 link_downed grew by {}", nic_name(rail), 1 + i % 5));
  for (int i = 0; i < 80; ++i)
    add(id--, fmt::format("kind{}", static_cast<char>('a' + i % 26)).c_str(), i + 1,
        std::string(static_cast<std::size_t>(i / 26 + 1), 'x') + " happened");
  return list;
}

// A letter each: gpu017 receives little, the upgraded nodes send less, and some are away.
PairMatrix large_matrix() {
  PairMatrix matrix = report::morning_matrix();
  matrix.clear_nodes();
  matrix.clear_leaves();
  matrix.clear_values();
  for (int i = 1; i <= kLargeNodes; ++i) {
    matrix.add_nodes(large_node(i));
    matrix.add_leaves(fmt::format("leaf-{:02}", (i - 1) / 16));
  }
  for (int from = 1; from <= kLargeNodes; ++from)
    for (int to = 1; to <= kLargeNodes; ++to) {
      const bool is_missing = from == to || from == kDeadNode || to == kDeadNode ||
                              is_paused_node(from) || is_paused_node(to);
      matrix.add_values(is_missing               ? 0.0F
                        : to == 17               ? 36.5e9F
                        : is_upgraded_node(from) ? 44.7e9F
                                                 : 48.6e9F);
    }
  return matrix;
}

// Some of them are broken.
SuiteList large_suites() {
  SuiteList list;
  list.set_schema_version(1);
  for (int i = 0; i < 100; ++i) {
    SuiteInfo& suite = *list.add_suites();
    suite.set_name(fmt::format("suite-{:02}", i));
    suite.set_summary(fmt::format("bandwidth and latency of the pairs of island {}", i));
    suite.set_path(fmt::format("/usr/share/railgauge/suites/suite-{:02}.yaml", i));
    suite.set_stages(static_cast<std::uint32_t>(1 + i % 6));
    if (i % 30 == 7) suite.set_error("stages[0].kernel: unknown kernel \"verbs.wite_lat\"");
  }
  return list;
}

// One an island of five nodes, each with the history of 80 nights.
ScheduleList large_schedules() {
  ScheduleList list = sample_schedules();
  const ScheduleInfo first = list.schedules(0);
  list.clear_schedules();
  for (int i = 0; i < 100; ++i) {
    ScheduleInfo& schedule = *list.add_schedules();
    schedule = first;
    schedule.set_name(fmt::format("island-{:02}", i));
    schedule.set_suite(fmt::format("suite-{:02}", i));
    schedule.set_node_set(fmt::format("gpu[{:03}-{:03}]", 5 * i + 1, 5 * i + 5));
    schedule.set_cron(fmt::format("{} 1 * * *", i % 60));
    schedule.set_state(i % 10 == 3 ? "paused" : "active");
    schedule.set_missed(static_cast<std::uint32_t>(i % 4));
    schedule.clear_dues();
    for (int due = 0; due < 80; ++due) {
      ScheduleDue& one = *schedule.add_dues();
      one = first.dues(due % first.dues_size());
      one.set_due_at(fmt::format("2026-{:02}-{:02}T00:30:00Z", 11 - due / 20, 20 - due % 20));
    }
  }
  return list;
}

// A broken suite with a hundred problems.
SuiteCheck large_check() {
  SuiteCheck check = sample_check();
  const SuiteProblem first = check.problems(0);
  for (int i = 0; i < 100; ++i) {
    SuiteProblem& problem = *check.add_problems();
    problem = first;
    problem.set_line(static_cast<std::uint32_t>(10 + i));
    problem.set_key(fmt::format("stages[{}].kernel", i));
  }
  return check;
}

}  // namespace

namespace {

// The answers that take long to make, made once a process.
struct LargeAnswers {
  NodeList nodes = large_nodes();
  PreflightReport preflight = large_preflight();
  ResultList results = large_results();
  RunDetail detail = large_detail();
  PairMatrix matrix = large_matrix();
  Comparison comparison = large_comparison(results);
  RunList runs = large_runs();
  EventList events = large_events();
};

}  // namespace

void fill_large_site(FakeControl& control, FakeArchive& archive, FakeJudge& judge) {
  static const LargeAnswers answers;
  control.nodes = answers.nodes;
  control.preflight = answers.preflight;
  control.runs = answers.runs;
  control.results = answers.results;
  control.detail = answers.detail;
  control.plan = large_plan();
  control.kernels = large_kernels();
  control.suites = large_suites();
  control.check = large_check();
  control.schedules = large_schedules();
  archive.groups = large_groups();
  archive.suspects = large_suspects();
  archive.events = answers.events;
  archive.matrix = answers.matrix;
  archive.results = control.results;
  archive.results.mutable_points()->DeleteSubrange(1'000, archive.results.points_size() - 1'000);
  archive.series = large_series(control.results);
  archive.history = large_history(archive.series.series(0));
  archive.comparison = answers.comparison;
  archive.space = large_space();
  judge.findings = large_findings();
  judge.findings_of_run = judge.findings;
  judge.findings_of_run.set_judged_at("2026-11-26T05:00:00Z");
  judge.baselines = large_baselines();
  judge.prepared = large_upgrade();
  judge.verdicts = {large_upgrade()};
}

}  // namespace railgauge::cli
