// The judgements of the large site: an upgrade of 16 nodes that lost functions, findings, levels.
// Made up.
#include "controller/cli/testing/large_judged.h"

#include <fmt/format.h>

#include "controller/cli/testing/large_figures.h"

namespace railgauge::cli {

using namespace railgauge::api;

namespace {

constexpr const char* kUpgrade = "ur-20261126-030000-1";

// Two are worse, two unsettled, the others pass; the first has the loss of each node.
void add_metrics(Upgrade& upgrade) {
  for (int i = 0; i < 14; ++i) {
    JudgedMetric& metric = *upgrade.add_metrics();
    metric.set_name(fmt::format("verbs.write_bw bandwidth_bytes_per_second rate {} B", 1 << i));
    metric.set_verdict(i < 2 ? "regressed" : i < 4 ? "inconclusive" : "pass");
    metric.set_worse_percent(8 - 0.5 * i);
    metric.set_low_percent(7 - 0.5 * i);
    metric.set_high_percent(9 - 0.5 * i);
    metric.set_bound_percent(1);
    metric.set_changed_nodes(16);
    metric.set_control_nodes(48);
    metric.set_coverage(1);
    metric.set_reason(fmt::format("{:.2f} % worse", 8 - 0.5 * i));
    for (int node = 401; i == 0 && node <= 416; ++node) {
      JudgedPlace& place = *metric.add_places();
      place.set_node(large_node(node));
      place.set_endpoint("mlx5_0:1");
      place.set_worse_percent(8);
      place.set_low_percent(6.5);
      place.set_high_percent(9.5);
    }
    PlaceSight& sight = *upgrade.add_sight();
    sight.set_metric(metric.name());
    sight.set_places("gpu[401-416]/mlx5_[0-7]:1");
    sight.set_count(128);
    sight.set_smallest_loss_percent(1.5 + 0.1 * i);
  }
}

}  // namespace

// Every port of eight of its nodes lost the registration of GPU memory.
Upgrade large_upgrade() {
  Upgrade upgrade;
  upgrade.set_schema_version(1);
  upgrade.set_upgrade_id(kUpgrade);
  upgrade.set_state("judged");
  upgrade.set_verdict("regressed");
  upgrade.set_kind("lost_function");
  upgrade.set_reason(
      "gpudirect_registration passed before on 64 ports of 8 nodes, now it is "
      "waived; verbs.write_bw bandwidth_bytes_per_second rate 1 B: 8.00 % worse");
  upgrade.set_suite("upgrade");
  upgrade.set_requested_by("ada");
  upgrade.set_created_at("2026-11-26T03:00:00Z");
  upgrade.set_judged_at("2026-11-26T05:00:00Z");
  upgrade.set_since("2026-11-26T03:30:00Z");
  upgrade.add_before_runs("20261126-013000-8e02b7");
  upgrade.add_after_runs("20261126-043000-11aa02");
  for (int node = 401; node <= 416; ++node) upgrade.add_nodes(large_node(node));
  for (int node = 101; node <= 148; ++node) upgrade.add_controls(large_node(node));
  add_metrics(upgrade);
  for (int node = 401; node <= 408; ++node)
    for (int rail = 0; rail < kLargeRails; ++rail) {
      LostFunction& lost = *upgrade.add_lost();
      lost.set_node(large_node(node));
      lost.set_endpoint(fmt::format("mlx5_{}:1", rail));
      lost.set_kind("lost_function");
      lost.set_name("gpudirect_registration");
      lost.set_what("passed before, now waived");
    }
  for (int i = 0; i < 6; ++i) {
    UpgradeCause& cause = *upgrade.add_causes();
    cause.add_changes(fmt::format("part_{} 575.5{} -> 580.9{}", i, i, i));
    cause.set_exposed(16);
    cause.set_exposed_worse(static_cast<std::uint32_t>(16 - i));
    cause.set_unexposed(48);
    cause.set_p(0.01 * i);
    cause.set_explains(i == 0);
  }
  for (int i = 0; i < 12; ++i) {
    upgrade.add_excluded(
        fmt::format("cause {}: nothing of it changed on these nodes between the "
                    "two sides of the upgrade",
                    i));
    upgrade.add_notes(
        fmt::format("pair {} was measured on one side alone and has no part in it", i));
    upgrade.add_next(
        fmt::format("undo part_{} on gpu401, then: railgauge upgrades gate --nodes "
                    "gpu401",
                    i));
  }
  upgrade.set_finding_id(fmt::format("{}-lost_function", kUpgrade));
  upgrade.set_synthetic(true);
  return upgrade;
}

// Sixty of one event, the others alone; the first has many series and a long life.
FindingList large_findings() {
  FindingList list;
  list.set_schema_version(1);
  for (int i = 0; i < 100; ++i) {
    Finding& finding = *list.add_findings();
    const std::string node = large_node(i + 1);
    finding.set_schema_version(1);
    finding.set_finding_id(fmt::format("step-{}-verbs.write_bw", node));
    finding.set_kind(i % 9 == 0 ? "drift" : "step");
    finding.set_state("new");
    finding.set_severity("warning");
    finding.set_suspect(large_port(i + 1, i % kLargeRails));
    finding.set_worse_percent(3 + 0.1 * i);
    finding.set_opened_at("2026-11-26T02:15:00.000Z");
    finding.set_summary(fmt::format("verbs.write_bw 64 KiB {} receives {:.1f} % less than before",
                                    node, 3 + 0.1 * i));
    if (i < 60) finding.set_event_id(list.findings(0).finding_id());
  }
  Finding& first = *list.mutable_findings(0);
  for (int i = 0; i < 200; ++i) {
    FindingSeries& series = *first.add_series();
    series.set_series_id(static_cast<std::uint32_t>(4'700 + i));
    series.set_name(fmt::format("verbs.write_bw bandwidth_bytes_per_second 65536 B {} {}",
                                large_port(i + 2, i % kLargeRails),
                                large_port(1, i % kLargeRails)));
    series.set_unit("bytes_per_second");
    series.set_before(48.6e9);
    series.set_after(46e9 - 1e7 * i);
    first.add_same_event(fmt::format("step-{}-verbs.write_bw: 3.1 % worse", large_node(i + 2)));
  }
  for (int i = 0; i < 40; ++i) {
    FindingStep& step = *first.add_steps();
    step.set_at(fmt::format("2026-11-26T{:02}:15:00Z", i % 24));
    step.set_who("ada");
    step.set_action("commented");
    step.set_text(fmt::format("look number {} at the cable of rack 7 changed nothing", i));
    first.add_causes(
        fmt::format("gpu{:03}: gpu_driver 575.51 -> 580.95 (2026-11-25T16:00:00Z)", i));
  }
  list.set_measured_twice(1'204);
  list.set_measured_twice_apart(12);
  return list;
}

// Golden levels of ports, every fifth one accepted.
BaselineList large_baselines() {
  BaselineList list;
  list.set_schema_version(1);
  for (int i = 0; i < 400; ++i) {
    Baseline& one = *list.add_baselines();
    one.set_series_id(static_cast<std::uint32_t>(4'700 + i));
    one.set_name(fmt::format("verbs.write_bw bandwidth_bytes_per_second 65536 B {} {}",
                             large_port(i + 1, i % kLargeRails),
                             large_port((i + 256) % kLargeNodes + 1, i % kLargeRails)));
    one.set_kind(i % 5 == 0 ? "accepted" : "golden");
    one.set_unit("bytes_per_second");
    one.set_level(48.6e9);
    one.set_now(48.6e9 - 5e6 * i);
    one.set_worse_percent(0.01 * i);
    one.set_set_at("2026-11-01T00:00:00Z");
    one.set_who("ada");
    one.set_note(fmt::format("acceptance of rack {}", i / 16));
  }
  return list;
}

}  // namespace railgauge::cli
