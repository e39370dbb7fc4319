// Kernels that an agent declares, up to the plan of a run. Two honest nodes stand beside the node
// of the input. Properties: no declaration ends the process; a kernel that both honest nodes have
// stays theirs; the sums of a plan are finite and its tasks within their bound; each error is a
// line.
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "controller/api/agent.pb.h"
#include "controller/fleet/hello_check.h"
#include "controller/fleet/kernels.h"
#include "controller/plan/planner.h"
#include "deploy/fuzz/message_mutator.h"
#include "deploy/fuzz/properties.h"

namespace railgauge::fuzz {
namespace {

constexpr const char* kHonestKernel = "verbs.write_bw";

void add_parameter(KernelInfo& kernel, const char* name, const char* type, const char* value) {
  ParameterInfo& parameter = *kernel.add_parameters();
  parameter.set_name(name);
  parameter.set_type(type);
  parameter.set_default_value(value);
}

const KernelInfo& honest_kernel() {
  static const KernelInfo kernel = [] {
    KernelInfo made;
    made.set_name(kHonestKernel);
    made.set_revision(5);
    made.set_min_ranks(2);
    made.set_max_ranks(2);
    made.set_endpoint_kind("nic");
    made.add_metrics("bandwidth_bytes_per_second");
    add_parameter(made, "sizes", "bytes_list", "65536");
    add_parameter(made, "time_cap", "duration", "5s");
    return made;
  }();
  return kernel;
}

std::vector<plan::PlanNode> plan_nodes(const api::Hello& hello) {
  plan::PlanNode honest{.name = "n2"};
  honest.endpoints.push_back(
      {.kind = "nic", .name = "mlx5_0:1", .active = true, .rate_bits_per_second = 4e11});
  honest.endpoints.push_back({.kind = "gpu", .name = "gpu0", .active = true});
  plan::PlanNode own{.name = "n1"};
  for (const api::Nic& nic : hello.nics())
    own.endpoints.push_back({.kind = "nic",
                             .name = nic.device() + ":1",
                             .pci_address = nic.pci_address(),
                             .active = nic.state() == "active",
                             .rate_bits_per_second = nic.rate_bits_per_second()});
  if (own.endpoints.empty()) own.endpoints = honest.endpoints;
  plan::PlanNode third = honest;
  third.name = "n3";
  return {own, honest, third};
}

void check_plan(const KernelInfo& kernel, plan::PlacementKind kind,
                const std::vector<plan::PlanNode>& nodes, const std::vector<KernelInfo>& kernels) {
  plan::Suite suite{.name = "fuzz"};
  suite.stages.push_back({.name = "stage", .kernel = kernel.name(), .placement = {.kind = kind}});
  const auto outline = plan::PlanOutline::make(suite, nodes, kernels);
  check_error(outline);
  if (!outline) return;
  FUZZ_CHECK(std::isfinite(outline->head().expected_seconds), "seconds");
  FUZZ_CHECK(std::isfinite(outline->head().expected_bytes), "bytes");
  FUZZ_CHECK(outline->tasks() <= 3 * api::kMaxNics * api::kMaxGpus, "tasks");
  for (std::size_t round = 0; round < outline->head().rounds; ++round)
    for (const plan::PlannedTask& task : outline->tasks_of(round))
      FUZZ_CHECK(std::isfinite(task.deadline_seconds) && task.deadline_seconds > 0, "deadline");
}

void check_kernels(api::Hello hello) {
  auto declared_kernels = fleet::check_bounds(hello);
  check_error(declared_kernels);
  if (!declared_kernels) return;
  const auto own = std::make_shared<const KernelList>(*std::move(declared_kernels));
  const auto honest = std::make_shared<KernelList>();
  *honest->add_kernels() = honest_kernel();
  const std::array declared{fleet::NodeKernels{"n1", own}, fleet::NodeKernels{"n2", honest},
                            fleet::NodeKernels{"n3", honest}};
  const fleet::CommonKernels common = fleet::common_kernels(declared);
  for (const KernelInfo& kernel : common.kernels)
    if (kernel.name() == kHonestKernel) {
      FUZZ_CHECK(kernel.revision() == honest_kernel().revision(), "revision");
      FUZZ_CHECK(kernel.parameters_size() == honest_kernel().parameters_size(), "parameters");
      FUZZ_CHECK(kernel.metrics(0) == honest_kernel().metrics(0), "metrics");
    }
  for (const auto& [kernel, nodes] : common.deviating) {
    FUZZ_CHECK(nodes.size() == 1 && nodes.contains("n1"), kernel);
    check_line(nodes.begin()->second);
  }
  const std::vector<plan::PlanNode> nodes = plan_nodes(hello);
  constexpr std::size_t kPlannedKernels = 3;
  for (std::size_t i = 0; i < common.kernels.size() && i < kPlannedKernels; ++i)
    for (const plan::PlacementKind kind :
         {plan::PlacementKind::kPairs, plan::PlacementKind::kGroup, plan::PlacementKind::kNode,
          plan::PlacementKind::kLocal, plan::PlacementKind::kLoopback})
      check_plan(common.kernels[i], kind, nodes, common.kernels);
}

// Names that the planner reads, which chance would not find.
void mend_kernels(google::protobuf::Message& message, unsigned seed) {
  api::Hello& hello = *static_cast<api::AgentMessage&>(message).mutable_hello();
  hello.set_name("n1");
  hello.set_node_id("id-1");
  hello.set_incarnation("1");
  constexpr std::array kNames{"sizes",      "time_cap", "iterations", "duration",
                              "proof_time", "verify",   "gpus",       "memory",
                              "devices",    "buffer",   "gpu",        "beside"};
  constexpr std::array kTypes{"integer", "number", "bytes",  "duration",
                              "boolean", "text",   "choice", "bytes_list"};
  constexpr std::array kValues{"8", "1s", "true", "all", "65536", "8,16", "1e300s", ""};
  const auto next = [&seed](std::size_t below) {
    seed = seed * 1'103'515'245 + 12'345;
    return (seed >> 16U) % below;
  };
  if (hello.kernels().empty()) hello.add_kernels(honest_kernel().SerializeAsString());
  for (std::string& bytes : *hello.mutable_kernels()) {
    KernelInfo kernel;
    if (!kernel.ParseFromString(bytes)) continue;
    if (next(2) == 0) change_message(kernel, seed);
    if (next(3) == 0) kernel.set_name(kHonestKernel);
    if (next(3) == 0) kernel.set_endpoint_kind(next(2) == 0 ? "nic" : "none");
    if (next(3) == 0) kernel.set_max_ranks(0);
    for (ParameterInfo& parameter : *kernel.mutable_parameters()) {
      if (next(2) == 0) parameter.set_name(kNames.at(next(kNames.size())));
      if (next(2) == 0) parameter.set_type(kTypes.at(next(kTypes.size())));
      if (next(2) == 0) parameter.set_default_value(kValues.at(next(kValues.size())));
    }
    bytes = kernel.SerializeAsString();
  }
}

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const google::protobuf::LogSilencer quiet;
  return railgauge::fuzz::mutate_message(railgauge::api::AgentMessage(), data, size, max_size, seed,
                                         railgauge::fuzz::mend_kernels);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge;
  const google::protobuf::LogSilencer quiet;  // it logs each string that is no UTF-8
  api::AgentMessage message;
  if (!message.ParseFromArray(data, static_cast<int>(size)) || !message.has_hello()) return 0;
  fuzz::check_kernels(std::move(*message.mutable_hello()));
  return 0;
}
