// The figures of the large site: points of a night, their series, a comparison, a plan. Made up.
#include "controller/cli/testing/large_figures.h"

#include <fmt/format.h>

#include "controller/cli/testing/samples.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kUsualRate = 48.6e9;
constexpr double kUsualLatency = 2'300;

// Half the fabric away, so that most pairs cross it.
int partner_of(int node) { return (node + 255) % kLargeNodes + 1; }

bool is_away(int node) { return node == kDeadNode || is_paused_node(node); }

// Within 1 % of 1, the same in every test.
double jitter(int node, int rail) { return 1 + ((node * 37 + rail * 101) % 200 - 100) * 1e-4; }

// Two ports receive little, the upgraded nodes send less, and one latency is far off.
double rate_of(int from, int to, int rail) {
  double share = jitter(from, rail);
  if (to == 17 && rail == 3) share *= 0.75;
  if (to == 18) share *= 0.9;
  if (is_upgraded_node(from)) share *= 0.92;
  return kUsualRate * share;
}

// The fields that rate and latency of a port share.
ResultPoint large_point(int from, int rail, const char* kernel) {
  const int to = partner_of(from);
  ResultPoint result;
  result.set_run_id(kSampleRun);
  result.set_task_id(fmt::format("t{:06}", from * kLargeRails + rail));
  result.set_attempt(1);
  result.set_kernel(kernel);
  result.set_revision(3);
  result.add_endpoints(large_port(from, rail));
  result.add_endpoints(large_port(to, rail));
  result.set_measured_at("2026-11-26T02:15:00.000Z");
  result.set_outcome("passed");
  (*result.mutable_facts())["memory"] = "gpu";
  (*result.mutable_facts())["path"] = "dma-buf";
  (*result.mutable_facts())["driver"] = "mlx5_core";
  (*result.mutable_facts())["port_rate_bits_per_second"] = "400000000000";
  Point& point = *result.mutable_point();
  point.set_converged(true);
  point.set_verified(true);
  point.set_sample_count(10'000);
  return result;
}

// Messages of 64 KiB.
ResultPoint large_rate(int from, int rail) {
  ResultPoint result = large_point(from, rail, "verbs.write_bw");
  Point& point = *result.mutable_point();
  point.set_metric("bandwidth_bytes_per_second");
  point.set_meaning("unidirectional");
  point.set_unit("bytes_per_second");
  point.set_larger_is_better(true);
  point.set_message_bytes(65'536);
  const double rate = rate_of(from, partner_of(from), rail);
  point.set_rate(rate);
  point.set_rate_low(rate * 0.995);
  point.set_rate_high(rate * 1.005);
  point.set_median(rate * 1.002);
  point.set_slot_p10(rate * 0.99);
  point.set_pause_share(0);
  return result;
}

// Messages of 8 bytes; that of one port is three times the usual.
ResultPoint large_latency(int from, int rail) {
  ResultPoint result = large_point(from, rail, "verbs.write_lat");
  Point& point = *result.mutable_point();
  point.set_metric("latency_ns");
  point.set_meaning("half_rtt");
  point.set_unit("ns");
  point.set_message_bytes(8);
  const double median = kUsualLatency * jitter(from, rail) * (from == 230 && rail == 5 ? 3 : 1);
  point.set_median(median);
  point.set_median_low(median * 0.99);
  point.set_median_high(median * 1.01);
  point.set_p99(median * 1.4);
  return result;
}

// The identity of the series that the point belongs to.
Series series_of(const ResultPoint& point, std::uint32_t number) {
  Series series;
  series.set_series_id(number);
  series.set_kernel(point.kernel());
  series.set_revision(point.revision());
  series.set_metric(point.point().metric());
  series.set_meaning(point.point().meaning());
  series.set_unit(point.point().unit());
  series.set_message_bytes(point.point().message_bytes());
  series.set_larger_is_better(point.point().larger_is_better());
  *series.mutable_endpoints() = point.endpoints();
  return series;
}

}  // namespace

std::string large_node(int number) { return fmt::format("gpu{:03}", number); }
std::string large_port(int node, int rail) {
  return fmt::format("{}/mlx5_{}:1", large_node(node), rail);
}
bool is_paused_node(int node) { return node >= 301 && node <= 305; }
bool is_upgraded_node(int node) { return node >= 401 && node <= 416; }

ResultList large_results() {
  ResultList list;
  list.set_schema_version(1);
  for (int from = 1; from <= kLargeNodes; ++from)
    for (int rail = 0; rail < kLargeRails; ++rail) {
      if (is_away(from) || is_away(partner_of(from))) continue;
      *list.add_points() = large_rate(from, rail);
      *list.add_points() = large_latency(from, rail);
    }
  return list;
}

SeriesList large_series(const ResultList& results) {
  SeriesList list;
  list.set_schema_version(1);
  for (int i = 0; i < 1'000; ++i)
    *list.add_series() = series_of(results.points(i), static_cast<std::uint32_t>(i) + 1);
  return list;
}

Comparison large_comparison(const ResultList& results) {
  Comparison comparison;
  comparison.set_schema_version(1);
  comparison.set_run_a("20261125-013000-5f3a1c");
  comparison.set_run_b("20261126-013000-8e02b7");
  comparison.set_series_only_in_a(12);
  comparison.set_series_only_in_b(3);
  for (int i = 0; i < results.points_size(); ++i) {
    ComparedSeries& each = *comparison.add_series();
    *each.mutable_series() = series_of(results.points(i), static_cast<std::uint32_t>(i) + 1);
    const double now = results.points(i).point().median();
    const double usual = results.points(i).point().larger_is_better() ? kUsualRate : kUsualLatency;
    each.set_median_a(usual);
    each.set_median_b(now);
    each.set_b_over_a(now / usual);
    each.set_points_a(5);
    each.set_points_b(5);
  }
  return comparison;
}

History large_history(const Series& series) {
  History history;
  history.set_schema_version(1);
  *history.mutable_series() = series;
  for (int i = 0; i < 500; ++i) {
    HistoryPoint& point = *history.add_points();
    point.set_measured_at(
        fmt::format("2026-{:02}-{:02}T02:{:02}:00.000Z", 1 + i / 50, 1 + i % 28, i % 60));
    point.set_run_id(fmt::format("20261126-{:06}-5f3a1c", i));
    point.set_outcome(i % 40 == 7 ? "failed" : "passed");
    point.set_headline(kUsualRate * jitter(i, 1));
    point.set_rate_low(kUsualRate * 0.995);
    point.set_rate_high(kUsualRate * 1.005);
    point.set_median(kUsualRate);
    point.set_slot_p10(kUsualRate * 0.99);
    point.set_pause_share(0);
    point.set_converged(i % 9 != 0);
    point.set_epoch(static_cast<std::uint32_t>(i / 100));
  }
  return history;
}

// A night's tasks; those of four nodes lost a function, and others failed for several reasons.
RunDetail large_detail() {
  RunDetail detail;
  detail.set_schema_version(1);
  *detail.mutable_run() = sample_run();
  for (int from = 1; from <= kLargeNodes; ++from)
    for (int rail = 0; rail < kLargeRails; ++rail) {
      if (is_away(from) || is_away(partner_of(from))) continue;
      TaskDetail& task = *detail.add_tasks();
      task.set_task_id(fmt::format("t{:06}", from * kLargeRails + rail));
      task.set_round(static_cast<std::uint32_t>(rail));
      task.set_kernel("verbs.write_bw");
      task.add_endpoints(large_port(from, rail));
      task.add_endpoints(large_port(partner_of(from), rail));
      task.set_state("ended");
      task.set_outcome("passed");
      task.set_attempts(1);
      (*task.mutable_parameters())["sizes"] = "64KiB";
      if (from >= 450 && from <= 453) {
        task.set_outcome("waived");
        task.set_reason(fmt::format("{} rank 0: GPU memory cannot be registered with mlx5_{}",
                                    large_node(from), rail));
      }
      if (from == 17 && rail == 6) {
        task.set_outcome("timed_out");
        task.set_reason("gpu017 rank 0: no answer within 30 s");
      }
      RankDetail& rank = *task.add_ranks();
      rank.set_node(large_node(from));
      rank.set_endpoint(fmt::format("mlx5_{}:1", rail));
      rank.set_outcome(task.outcome());
      (*rank.mutable_facts())["site_defaults"] = "mtu=4096,traffic_class=106";
      if (from % 16 == 0)
        rank.add_notes(fmt::format("MTU is 1024, port mlx5_{} could do 4096", rail));
      rank.mutable_phases()->set_start_ns(3.25e6 + from * 1e3);
      rank.mutable_phases()->set_measure_ns(1.25e9);
    }
  return detail;
}

RunPlan large_plan() {
  RunPlan plan;
  plan.set_schema_version(1);
  plan.set_suite("nightly");
  plan.set_rounds(80);
  plan.set_expected_seconds(5'400);
  plan.set_expected_bytes(1.5e15);
  plan.set_tasks_total(20'480);
  plan.set_topology("slurm");
  plan.add_notes(
      "stage bandwidth: slice 3 of 7: 73 of 511 rounds, so that each pair is measured "
      "once in seven nights");
  for (int i = 1; i <= kLargeNodes; ++i)
    if (!is_away(i)) plan.add_nodes(large_node(i));
  for (int i = 0; i < 12; ++i) {
    PlannedStage& stage = *plan.add_planned_stages();
    stage.set_stage(fmt::format("stage{}", i));
    stage.set_kernel(i % 2 == 0 ? "verbs.write_bw" : "verbs.write_lat");
    stage.set_rounds(80);
    stage.set_tasks(20'480);
    stage.set_repetitions(static_cast<std::uint32_t>(1 + i % 3));
  }
  for (int i = 0; i < 80; ++i) {
    PlannedRound& round = *plan.add_planned_rounds();
    round.set_round(static_cast<std::uint32_t>(i));
    round.set_stage("stage0");
    round.set_distance(i % 3 == 0 ? "within_leaf" : "across_fabric");
    round.set_repetition(1);
    round.set_tasks(256);
    round.set_expected_seconds(60 + i);
  }
  for (int i = 0; i < 2'000; ++i) {
    PlannedTask& task = *plan.add_tasks();
    const int from = i / kLargeRails + 1;
    task.set_task_id(fmt::format("t{:06}", i));
    task.set_round(static_cast<std::uint32_t>(i / 256));
    task.set_kernel("verbs.write_bw");
    task.add_endpoints(large_port(from, i % kLargeRails));
    task.add_endpoints(large_port(partner_of(from), i % kLargeRails));
    task.set_expected_seconds(6.25);
    task.set_expected_bytes(1.5e9);
  }
  return plan;
}

KernelList large_kernels() {
  KernelList list;
  list.set_schema_version(1);
  for (int i = 0; i < 80; ++i) {
    KernelInfo& kernel = *list.add_kernels();
    kernel.set_name(i == 0 ? "verbs.write_lat" : fmt::format("nccl.kind_{:02}", i));
    kernel.set_revision(static_cast<std::uint32_t>(1 + i % 5));
    kernel.set_summary(
        fmt::format("measures what number {} of the catalog measures, and proves "
                    "the data that it moved",
                    i));
    kernel.set_min_ranks(2);
    kernel.set_max_ranks(static_cast<std::uint32_t>(i % 2 == 0 ? 2 : 0));
    kernel.set_endpoint_kind("nic");
    kernel.add_metrics(i % 2 == 0 ? "latency_ns" : "bus_bandwidth_bytes_per_second");
    for (int n = 0; i == 0 && n < 40; ++n) {
      ParameterInfo& parameter = *kernel.add_parameters();
      parameter.set_name(fmt::format("parameter_{:02}", n));
      parameter.set_type("integer");
      parameter.set_summary(
          fmt::format("what number {} is for, said in a sentence of the usual "
                      "length",
                      n));
      parameter.set_default_value(std::to_string(n));
      parameter.set_minimum(n);
      parameter.set_maximum(1e8);
    }
  }
  return list;
}

Space large_space() {
  Space space;
  space.set_schema_version(1);
  space.set_file_bytes(3e11);
  space.set_wal_bytes(16e6);
  space.set_free_bytes(5e9);
  space.set_disk_free_bytes(2e12);
  space.set_runs(4'200);
  space.set_points(2.5e9);
  space.set_nodes(kLargeNodes);
  space.set_days(365);
  space.set_bytes_per_point(112.5);
  for (int i = 0; i < 90; ++i) {
    SpacePart& part = *space.add_parts();
    part.set_name(i == 0 ? "point" : fmt::format("table_{:02}", i));
    part.set_kind(i % 2 == 0 ? "table" : "index");
    part.set_table("point");
    part.set_bytes(7e10 / (i + 4));
    part.set_entries(1e6 * (90 - i));
  }
  return space;
}

}  // namespace railgauge::cli
