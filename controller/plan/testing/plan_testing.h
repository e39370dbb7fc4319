// Kernels and nodes that tests of this folder share.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/plan/planner.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::plan {

inline void add_parameter(KernelInfo& kernel, std::string name, std::string type,
                          std::string default_value, bool identity = false) {
  ParameterInfo* parameter = kernel.add_parameters();
  parameter->set_name(std::move(name));
  parameter->set_type(std::move(type));
  parameter->set_default_value(std::move(default_value));
  parameter->set_identity(identity);
}

inline KernelInfo fake_kernel(std::string name, std::string metric) {
  KernelInfo kernel;
  kernel.set_name(std::move(name));
  kernel.set_revision(1);
  kernel.set_min_ranks(2);
  kernel.set_max_ranks(2);
  kernel.set_endpoint_kind("nic");
  kernel.add_metrics(std::move(metric));
  add_parameter(kernel, "sizes", "bytes_list", "8");
  add_parameter(kernel, "iterations", "integer", "0");
  kernel.mutable_parameters()->rbegin()->set_minimum(0);
  add_parameter(kernel, "time_cap", "duration", "5s");
  return kernel;
}

// fake.lat and fake.bw for pairs on NICs, fake.group for any number of ranks without endpoints,
// fake.gpu and fake.nic for one rank on such an endpoint.
inline std::vector<KernelInfo> fake_kernels() {
  KernelInfo bandwidth = fake_kernel("fake.bw", "bandwidth_bytes_per_second");
  add_parameter(bandwidth, "depth", "integer", "16", true);
  bandwidth.mutable_parameters()->rbegin()->set_minimum(1);
  bandwidth.mutable_parameters()->rbegin()->set_maximum(1024);
  KernelInfo group = fake_kernel("fake.group", "latency_ns");
  group.set_min_ranks(1);
  group.set_max_ranks(0);
  group.set_endpoint_kind("none");
  KernelInfo gpu = fake_kernel("fake.gpu", "bandwidth_bytes_per_second");
  gpu.set_min_ranks(1);
  gpu.set_max_ranks(1);
  gpu.set_endpoint_kind("gpu");
  add_parameter(gpu, "beside", "integer", "0", true);
  KernelInfo nic = gpu;
  nic.set_name("fake.nic");
  nic.set_endpoint_kind("nic");
  return {fake_kernel("fake.lat", "latency_ns"), bandwidth, group, gpu, nic};
}

// n1 to nN, each with one active port of 8 Gb/s.
inline std::vector<PlanNode> some_nodes(std::size_t n) {
  std::vector<PlanNode> nodes;
  for (std::size_t i = 1; i <= n; ++i)
    nodes.push_back(
        {.name = fmt::format("n{}", i),
         .endpoints = {
             {.kind = "nic", .name = "rxe0:1", .active = true, .rate_bits_per_second = 8e9}}});
  return nodes;
}

inline Suite suite_of(std::vector<Stage> stages) {
  return {.name = "test", .stages = std::move(stages)};
}

inline Stage stage_of(const std::string& kernel, PlacementKind kind) {
  return {.name = kernel, .kernel = kernel, .placement = {.kind = kind}};
}

// Returns "ROUND NODE/ENDPOINT" of each task's rank 0, followed by the reason of a waived task.
inline std::vector<std::string> placed(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlannedTask& task : plan.tasks)
    out.push_back(fmt::format("{} {}/{}{}", task.round, task.ranks.at(0).node,
                              task.ranks.at(0).endpoint, task.waived_reason));
  return out;
}

}  // namespace railgauge::plan
