#include "controller/cli/testing/samples.h"

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

void add_node(NodeList& list, const std::string& name, const std::string& state) {
  NodeInfo* node = list.add_nodes();
  node->set_name(name);
  node->set_node_id("id-of-" + name);
  node->set_state(state);
  node->set_version("0.1.0");
  node->set_address("10.0.0.1");
  if (state == "attached") node->set_attached_at("2026-11-20T11:00:00Z");
  node->set_last_seen_at("2026-11-20T12:00:01Z");
  (*node->mutable_facts())["linux_kernel"] = "6.1.0-26-amd64";
  (*node->mutable_facts())["cpu"] = "a \"quoted\", comma";
  auto& versions = *node->mutable_stack_versions();
  versions["gpu_driver"] = name == "n1" ? "580.65.06" : "550.54.15";
  versions["linux_kernel"] = "6.1.0-26-amd64";
  (*node->mutable_stack_settings())["nic_max_read_request_bytes"] = name == "n1" ? "512" : "4096";
  node->set_stack_hash("00000000000000" + name);
  Nic* nic = node->add_nics();
  nic->set_device("mlx5_0");
  nic->set_port(1);
  nic->set_pci_address("0000:3b:00.0");
  nic->set_netdev("ens1f0");
  nic->set_state(state == "attached" ? "active" : "down");
  nic->set_link_layer("ethernet");
  nic->set_guid("0c42:a103:0011:2233");
  nic->set_rate_bits_per_second(100e9);
  nic->set_firmware("22.38.1002");
  nic->set_driver("mlx5_core");
  if (name == "n10") return;
  node->set_busy(name == "n2");
  if (node->busy()) node->add_busy_reasons("slurm: job 4711 here");
  for (const int index : {0, 1}) {
    railgauge::api::Gpu* gpu = node->add_gpus();
    gpu->set_name(fmt::format("gpu{}", index));
    gpu->set_pci_address(index == 0 ? "0000:17:00.0" : "0000:9f:00.0");
    gpu->set_uuid(fmt::format("GPU-0011-{}", index));
    gpu->set_model("NVIDIA H200");
    gpu->set_state("active");
    gpu->set_driver("nvidia");
    gpu->set_vbios("96.00.bc.00.01");
    gpu->set_numa_node_plus_one(static_cast<std::uint32_t>(index) + 1);
    (*gpu->mutable_distances())["mlx5_0"] = index == 0 ? "PIX" : "SYS";
    auto& facts = *node->mutable_facts();
    facts[gpu->name() + ".distances"] =
        index == 0 ? "gpu1=NV18 mlx5_0=PIX" : "gpu0=NV18 mlx5_0=SYS";
    facts[gpu->name() + ".cpus"] = index == 0 ? "0-55" : "56-111";
  }
}

ResultPoint base_point(const std::string& kernel, const std::string& from, const std::string& to) {
  ResultPoint result;
  result.set_run_id(kSampleRun);
  result.set_task_id("t1");
  result.set_attempt(1);
  result.set_kernel(kernel);
  result.set_revision(1);
  result.add_endpoints(from);
  result.add_endpoints(to);
  result.set_measured_at("2026-11-20T12:00:05.25Z");
  result.set_outcome("passed");
  (*result.mutable_parameters())["depth"] = "64";
  (*result.mutable_facts())["path"] = "host";
  (*result.mutable_facts())["driver"] = "mlx5_core";
  Point& point = *result.mutable_point();
  point.set_sample_count(10000);
  point.set_converged(true);
  point.set_stop_reason("converged");
  point.set_verified(true);
  point.set_warmup_count(200);
  point.set_measure_ns(2.5e8);
  return result;
}

ResultPoint latency(const std::string& from, const std::string& to, double median_ns) {
  ResultPoint result = base_point("verbs.write_lat", from, to);
  Point& point = *result.mutable_point();
  point.set_metric("latency_ns");
  point.set_meaning("half_rtt");
  point.set_unit("ns");
  point.set_message_bytes(8);
  point.set_median(median_ns);
  point.set_median_low(median_ns - 7.5);
  point.set_median_high(median_ns + 8.25);
  point.set_min(median_ns * 0.9);
  point.set_max(median_ns * 4);
  point.set_mean(median_ns * 1.01);
  point.set_p99(median_ns * 1.5);
  point.set_p99_low(median_ns * 1.4);
  point.set_p99_high(median_ns * 1.6);
  return result;
}

ResultPoint bandwidth(const std::string& from, const std::string& to, double rate) {
  ResultPoint result = base_point("verbs.write_bw", from, to);
  (*result.mutable_facts())["port_rate_bits_per_second"] = "100000000000";
  Point& point = *result.mutable_point();
  point.set_metric("bandwidth_bytes_per_second");
  point.set_meaning("unidirectional");
  point.set_unit("bytes_per_second");
  point.set_larger_is_better(true);
  point.set_message_bytes(65536);
  point.set_rate(rate);
  point.set_rate_low(rate * 0.99);
  point.set_rate_high(rate * 1.01);
  point.set_slot_p10(rate * 0.98);
  point.set_slot_ns(10e6);
  point.set_longest_pause_ns(0);
  point.set_pause_share(0);
  const double median = rate * 1.002;
  point.set_median(median);
  point.set_median_low(median * 0.999);
  point.set_median_high(median * 1.001);
  return result;
}

}  // namespace

NodeList sample_nodes() {
  NodeList list;
  list.set_schema_version(1);
  add_node(list, "n1", "attached");
  add_node(list, "n2", "attached");
  add_node(list, "n10", "lost");
  list.mutable_nodes(0)->set_spool_records(0);
  list.mutable_nodes(1)->set_busy_task_id("t1");
  return list;
}

KernelList sample_kernels() {
  KernelList list;
  list.set_schema_version(1);
  KernelInfo* kernel = list.add_kernels();
  kernel->set_name("verbs.write_lat");
  kernel->set_revision(1);
  kernel->set_summary("RDMA WRITE latency, half the round trip");
  kernel->set_min_ranks(2);
  kernel->set_max_ranks(2);
  kernel->set_endpoint_kind("nic");
  kernel->add_metrics("latency_ns");
  ParameterInfo* depth = kernel->add_parameters();
  depth->set_name("iterations");
  depth->set_type("integer");
  depth->set_unit("1");
  depth->set_summary("samples of each size, 0 is adaptive");
  depth->set_default_value("0");
  depth->set_minimum(0);
  depth->set_maximum(1e8);
  ParameterInfo* memory = kernel->add_parameters();
  memory->set_name("memory");
  memory->set_type("choice");
  memory->set_summary("where the buffers lie");
  memory->set_default_value("host");
  memory->add_choices("host");
  memory->add_choices("gpu");
  memory->set_identity(true);
  return list;
}

SuiteList sample_suites() {
  SuiteList list;
  list.set_schema_version(1);
  SuiteInfo* quick = list.add_suites();
  quick->set_name("quick");
  quick->set_summary("write latency and bandwidth between all pairs");
  quick->set_path("/usr/share/railgauge/suites/quick.yaml");
  quick->set_stages(2);
  SuiteInfo* broken = list.add_suites();
  broken->set_name("broken");
  broken->set_path("/usr/share/railgauge/suites/broken.yaml");
  broken->set_error("broken.yaml:3: stages[0].kernel: unknown kernel \"verbs.wite_lat\"");
  return list;
}

SuiteCheck sample_check() {
  SuiteCheck check;
  check.set_schema_version(1);
  check.set_kernels_checked(true);
  check.mutable_suite()->set_name("broken");
  SuiteProblem* kernel = check.add_problems();
  kernel->set_file("broken.yaml");
  kernel->set_line(3);
  kernel->set_column(13);
  kernel->set_key("stages[0].kernel");
  kernel->set_message("unknown kernel \"verbs.wite_lat\"; did you mean \"verbs.write_lat\"?");
  SuiteProblem* depth = check.add_problems();
  depth->set_file("broken.yaml");
  depth->set_line(5);
  depth->set_column(9);
  depth->set_key("stages[0].parameters.depth");
  depth->set_message("0 is below the minimum, allowed are 1 to 1024");
  return check;
}

RunPlan sample_plan() {
  RunPlan plan;
  plan.set_schema_version(1);
  plan.set_suite("quick");
  plan.add_nodes("n1");
  plan.add_nodes("n2");
  plan.set_rounds(2);
  plan.set_expected_seconds(12.5);
  plan.set_expected_bytes(1.5e9);
  for (const std::string id : {"t1", "t2"}) {
    PlannedTask* task = plan.add_tasks();
    task->set_task_id(id);
    task->set_round(id == "t1" ? 0 : 1);
    task->set_kernel(id == "t1" ? "verbs.write_lat" : "verbs.write_bw");
    task->add_endpoints("n1/mlx5_0:1");
    task->add_endpoints("n2/mlx5_0:1");
    task->set_expected_seconds(6.25);
    task->set_expected_bytes(id == "t1" ? 1.6e5 : 1.5e9);
    task->set_distance("across_fabric");
    task->set_repetition(1);
    railgauge::api::PlannedStage* stage = plan.add_planned_stages();
    stage->set_stage(id == "t1" ? "latency" : "bandwidth");
    stage->set_kernel(task->kernel());
    stage->set_rounds(1);
    stage->set_tasks(1);
    stage->set_repetitions(1);
    railgauge::api::PlannedRound* round = plan.add_planned_rounds();
    round->set_round(task->round());
    round->set_stage(stage->stage());
    round->set_distance("across_fabric");
    round->set_mixed(id == "t2");
    round->set_repetition(1);
    round->set_tasks(1);
    round->set_expected_seconds(6.25);
  }
  plan.set_tasks_total(2);
  plan.add_notes("stage bandwidth: slice 1 of 7: 1 of 7 rounds");
  plan.set_topology("slurm");
  return plan;
}

RunSummary sample_run() {
  RunSummary run;
  run.set_schema_version(1);
  run.set_run_id(kSampleRun);
  run.set_suite("quick");
  run.set_state("ended");
  run.set_outcome("passed");
  run.set_trigger("cli");
  run.set_requested_by("uid 1000");
  run.set_created_at("2026-11-20T12:00:00Z");
  run.set_started_at("2026-11-20T12:00:00.5Z");
  run.set_ended_at("2026-11-20T12:01:13Z");
  run.set_tasks_total(2);
  run.set_tasks_ended(2);
  (*run.mutable_outcomes())["passed"] = 2;
  run.add_nodes("n1");
  run.add_nodes("n2");
  return run;
}

RunDetail sample_detail() {
  RunDetail detail;
  detail.set_schema_version(1);
  *detail.mutable_run() = sample_run();
  for (const std::string id : {"t1", "t2"}) {
    TaskDetail* task = detail.add_tasks();
    task->set_task_id(id);
    task->set_kernel(id == "t1" ? "verbs.write_lat" : "verbs.write_bw");
    task->add_endpoints("n1/mlx5_0:1");
    task->add_endpoints("n2/mlx5_0:1");
    task->set_state("ended");
    task->set_outcome("passed");
    task->set_attempts(id == "t1" ? 1 : 2);
    (*task->mutable_parameters())["sizes"] = id == "t1" ? "8" : "64KiB";
    RankDetail* rank = task->add_ranks();
    rank->set_node("n1");
    rank->set_endpoint("mlx5_0:1");
    rank->set_outcome("passed");
    if (id == "t2") (*rank->mutable_facts())["site_defaults"] = "mtu=4096,traffic_class=106";
    if (id == "t2") rank->add_notes("MTU is 1024, the port could do 4096");
    rank->mutable_phases()->set_start_ns(3.25e6);
    rank->mutable_phases()->set_measure_ns(1.25e9);
  }
  return detail;
}

ResultList sample_results() {
  ResultList list;
  list.set_schema_version(1);
  *list.add_points() = latency("n1/mlx5_0:1", "n2/mlx5_0:1", 2317.25);
  *list.add_points() = latency("n2/mlx5_0:1", "n10/mlx5_0:1", 12345.5);
  *list.add_points() = bandwidth("n1/mlx5_0:1", "n2/mlx5_0:1", 12.125e9);
  ResultPoint soft = latency("v1/rxe0:1", "v2/rxe0:1", 61234.5);
  (*soft.mutable_facts())["driver"] = "rxe";
  soft.mutable_point()->set_converged(false);
  soft.mutable_point()->set_stop_reason("time_cap");
  soft.mutable_point()->clear_p99();
  *list.add_points() = soft;
  ResultPoint wrong = bandwidth("n1/mlx5_0:1", "n10/mlx5_0:1", 11.5e9);
  wrong.set_outcome("failed");
  wrong.mutable_point()->set_verified(false);
  wrong.mutable_point()->set_synthetic(true);
  *list.add_points() = wrong;
  for (const std::string pair : {"gpu0>gpu1", "gpu1>gpu0"}) {
    ResultPoint peer = bandwidth("n1/gpu0", "", 391.5e9);
    peer.set_kernel("cuda.peer_copy_bw");
    peer.clear_endpoints();
    peer.add_endpoints("n1");
    peer.mutable_facts()->erase("port_rate_bits_per_second");
    peer.mutable_point()->set_pair(pair);
    peer.mutable_point()->set_throttled(pair == "gpu1>gpu0");
    if (peer.point().throttled())
      (*peer.mutable_point()->mutable_facts())["throttle_reasons"] = "sw_power_cap";
    *list.add_points() = peer;
  }
  return list;
}

VersionInfo sample_version() {
  VersionInfo version;
  version.set_schema_version(1);
  version.set_version("0.1.0");
  version.mutable_contract()->set_major(1);
  version.mutable_contract()->set_minor(0);
  version.set_database_version(3);
  return version;
}

}  // namespace railgauge::cli
