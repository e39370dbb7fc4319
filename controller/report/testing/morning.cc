#include "controller/report/testing/morning.h"

#include <utility>

#include <fmt/format.h>

namespace railgauge::report {
namespace {

using namespace railgauge::api;

constexpr int kNodes = 512;
constexpr const char* kRun = "20261126-013000-5f3a1c";
constexpr const char* kEarlierRun = "20261125-013000-0c77d2";  // of the night before, not in it

std::string node_name(int number) { return fmt::format("gpu{:03}", number); }

NodeList morning_nodes() {
  NodeList list;
  list.set_schema_version(1);
  for (int i = 1; i <= kNodes; ++i) {
    NodeInfo& node = *list.add_nodes();
    node.set_name(node_name(i));
    node.set_state(i == 77 ? "lost" : "attached");
    node.set_busy(i == 41);
    if (node.busy()) node.add_busy_reasons("slurm: job 4711 here");
    if (i < 301 || i > 305) continue;
    NodePause& pause = *node.mutable_pause();
    pause.set_reason("rack work");
    pause.set_who("ann");
    pause.set_since_at("2026-11-25T16:00:00.000Z");
    pause.set_until_at("2026-11-26T16:00:00.000Z");
  }
  return list;
}

void add_group(TaskGroups& groups, std::uint32_t stage, const char* kernel, const char* outcome,
               const char* reason, double tasks, const char* endpoints) {
  TaskGroup& group = *groups.add_groups();
  group.set_stage(stage);
  group.set_kernel(kernel);
  group.set_state("ended");
  group.set_outcome(outcome);
  if (*reason != '\0') group.set_reason(reason);
  group.set_tasks(tasks);
  group.set_endpoints(endpoints);
  group.set_first_task_id("t000001");
}

TaskGroups morning_run() {
  TaskGroups groups;
  groups.set_schema_version(1);
  RunSummary& run = *groups.mutable_run();
  run.set_run_id(kRun);
  run.set_suite("night");
  run.set_state("ended");
  run.set_outcome("failed");
  run.set_trigger("schedule");
  run.set_created_at("2026-11-26T01:30:00.000Z");
  run.set_started_at("2026-11-26T01:30:01.000Z");
  run.set_ended_at("2026-11-26T02:14:20.000Z");
  for (int i = 1; i <= kNodes; ++i)
    if (i != 77 && (i < 301 || i > 305) && i != 41) run.add_nodes(node_name(i));
  run.add_left_out(
      "in maintenance, left out: gpu[301-305] (paused until 2026-11-26T16:00:00.000Z by ann: rack "
      "work)");
  add_group(groups, 0, "verbs.write_bw", "failed", "wrong bytes at offset 4096 of 65536", 3,
            "gpu200/mlx5_5:1,gpu[201-203]/mlx5_5:1");
  add_group(groups, 0, "verbs.write_bw", "waived",
            "not started: the stage's time budget of 1800 s was spent", 80,
            "gpu[503-512]/mlx5_[0-7]:1");
  add_group(groups, 0, "verbs.write_bw", "passed", "", 20'400, "");
  add_group(groups, 1, "nccl.all_reduce", "timed_out", "no final record within 300 s", 1,
            "gpu[009-016]/gpu[0-7]");
  add_group(groups, 1, "nccl.all_reduce", "passed", "", 62, "");
  return groups;
}

Finding finding_of(const char* id, const char* state, const char* suspect, double worse,
                   const char* summary) {
  Finding finding;
  finding.set_schema_version(1);
  finding.set_finding_id(id);
  finding.set_kind("step");
  finding.set_state(state);
  finding.set_severity("warning");
  finding.set_suspect(suspect);
  finding.set_worse_percent(worse);
  finding.set_summary(summary);
  finding.set_opened_at("2026-11-26T02:15:00.000Z");
  finding.set_changed_at("2026-11-26T02:15:00.000Z");
  finding.set_run_id(kRun);
  return finding;
}

std::vector<Finding> morning_findings() {
  Finding cable = finding_of("step-gpu017-rail3", "confirmed", "gpu017/mlx5_3:1", 24.8,
                             "verbs.write_bw 64 KiB receives 24.8 % less in two runs");
  cable.set_since("2026-11-25T01:41:00.000Z");
  for (const double level : {1.0, 1.002, 0.998, 1.001, 0.999, 1.0}) cable.add_before_levels(level);
  for (const double level : {0.751, 0.752}) cable.add_after_levels(level);
  FindingStep& confirm = *cable.add_steps();
  confirm.set_at("2026-11-26T02:15:00.000Z");
  confirm.set_who("controller");
  confirm.set_action("confirm");
  cable.add_next("railgauge preflight gpu017");
  Finding drift = finding_of("drift-gpu120-latency", "new", "gpu120/mlx5_0:1", 6.3,
                             "verbs.write_lat 8 B rises since eight nights");
  for (const double level : {1.0, 1.0, 1.01, 1.02, 1.03}) drift.add_before_levels(level);
  for (const double level : {1.045, 1.063}) drift.add_after_levels(level);
  Finding bytes = finding_of("corruption-gpu200-rail5", "new", "gpu200/mlx5_5:1", 0,
                             "wrong bytes from gpu200 on rail 5 to three partners");
  bytes.set_kind("corruption");
  bytes.clear_worse_percent();
  Finding fixed = finding_of("step-gpu333-rail1", "fixed", "gpu333/mlx5_1:1", 11.0,
                             "verbs.write_bw 64 KiB is back at its level");
  fixed.set_opened_at("2026-11-20T02:10:00.000Z");
  Finding old = finding_of("step-gpu450-rail7", "acknowledged", "gpu450/mlx5_7:1", 3.4,
                           "verbs.write_bw 64 KiB sends 3.4 % less");
  old.set_opened_at("2026-11-18T02:10:00.000Z");
  old.set_changed_at("2026-11-18T09:00:00.000Z");
  return {cable, drift, bytes, fixed, old};
}

SuspectList morning_suspects() {
  SuspectList list;
  list.set_schema_version(1);
  list.set_run_id(kRun);
  list.set_kernel("verbs.write_bw");
  list.set_nodes(505);
  list.set_measured_pairs(20'400);
  list.set_possible_pairs(2'036'160);
  list.set_noise_share(0.012);
  list.add_unmeasured_nodes("gpu041");
  list.add_unmeasured_nodes("gpu077");
  list.set_synthetic(true);
  Suspect& suspect = *list.add_suspects();
  suspect.set_place(1);
  suspect.set_name("gpu017 rail 3");
  suspect.set_confirmed(true);
  suspect.set_drop_share(0.248);
  suspect.set_sentence(
      "gpu017 rail 3 receives 24.8 % less than expected, in 5 of 5 tasks: NIC, PCIe slot, cable or "
      "switch port, receiving side");
  return list;
}

Event event_of(double id, const char* at, const char* kind, const std::string& node,
               const std::string& text) {
  Event event;
  event.set_event_id(id);
  event.set_at(at);
  event.set_kind(kind);
  if (!node.empty()) event.set_node(node);
  event.set_text(text);
  return event;
}

Proposal morning_proposal() {
  Proposal proposal{.to = "gpu_driver -> 580.95"};
  for (int i = 401; i <= 416; ++i) proposal.nodes.push_back(node_name(i));
  return proposal;
}

constexpr const char* kProposedAt = "2026-11-26T06:40:00.000Z";

std::vector<Event> morning_events() {
  std::vector<Event> events;
  events.push_back(event_of(90, kProposedAt, std::string(kProposedKind).c_str(), "",
                            proposal_text(morning_proposal(), 900)));
  for (int i = 416; i >= 401; --i)
    events.push_back(event_of(i, "2026-11-26T06:38:00.000Z", "stack_changed", node_name(i),
                              node_name(i) + ": gpu_driver 575.51 -> 580.95"));
  events.push_back(event_of(30, "2026-11-26T04:11:00.000Z", "node_lost", "gpu077",
                            "node gpu077 is lost: no heartbeat for 30 s"));
  events.push_back(event_of(21, "2026-11-26T01:52:00.000Z", "watch_xid", "gpu009",
                            "critical: 0000:1b:00.0: Xid 79: the GPU has fallen off the bus"));
  return events;
}

}  // namespace

Material morning() {
  Material material{.from_at = "2026-11-25T08:00:00.000Z", .until_at = "2026-11-26T08:00:00.000Z"};
  material.nodes = morning_nodes();
  material.runs = {morning_run()};
  material.findings = morning_findings();
  material.suspects = {morning_suspects()};
  Upgrade upgrade;
  upgrade.set_upgrade_id("ur-20261125-150000-2");
  upgrade.set_state("prepared");
  upgrade.set_created_at("2026-11-25T15:00:00.000Z");
  for (int i = 417; i <= 432; ++i) upgrade.add_nodes(node_name(i));
  material.upgrades = {upgrade};
  material.proposals = {{.at = kProposedAt, .proposal = morning_proposal()}};
  ScheduleInfo nightly;
  nightly.set_name("nightly");
  nightly.set_suite("night");
  nightly.set_state("active");
  nightly.set_next_at("2026-11-27T01:30:00.000Z");
  for (const auto& [due_at, run_id] : {std::pair("2026-11-26T01:30:00.000Z", kRun),
                                       std::pair("2026-11-25T01:30:00.000Z", kEarlierRun)}) {
    ScheduleDue& due = *nightly.add_dues();
    due.set_due_at(due_at);
    due.set_result("started");
    due.set_run_id(run_id);
  }
  ScheduleInfo hourly;
  hourly.set_name("hourly-quick");
  hourly.set_suite("quick");
  hourly.set_state("active");
  ScheduleDue& missed = *hourly.add_dues();
  missed.set_due_at("2026-11-26T02:00:00.000Z");
  missed.set_result("skipped");
  missed.set_reason("run " + std::string(kRun) + " was active");
  material.schedules = {nightly, hourly};
  material.events = morning_events();
  material.measured_twice = 1'204;
  material.measured_twice_apart = 12;
  return material;
}

PairMatrix morning_matrix() {
  constexpr int kShown = 32;
  PairMatrix matrix;
  matrix.set_schema_version(1);
  matrix.set_run_id(kRun);
  matrix.set_kernel("verbs.write_bw");
  matrix.set_metric("bandwidth_bytes_per_second");
  matrix.set_unit("bytes_per_second");
  matrix.set_larger_is_better(true);
  matrix.set_rail(3);
  matrix.set_synthetic(true);
  for (int i = 1; i <= kShown; ++i) {
    matrix.add_nodes(node_name(i));
    matrix.add_leaves(i <= kShown / 2 ? "leaf-a" : "leaf-b");
  }
  for (int from = 1; from <= kShown; ++from)
    for (int to = 1; to <= kShown; ++to)
      matrix.add_values(from == to ? 0.0F : to == 17 ? 36.5e9F : 48.6e9F);
  return matrix;
}

}  // namespace railgauge::report
