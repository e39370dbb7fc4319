// Suites, site profiles and topologies: files of a user, and output of other programs. The first
// byte chooses the reader: S suite, P site profile, 0 to 4 a source of a topology.
// Properties: a suite is there exactly when there is no problem; problems have a place and are
// lines; parameters are a fixed point of their own check; a suite survives with_night(); a topology
// names given nodes only.
#include <array>
#include <map>
#include <set>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/topology/site.h"
#include "controller/plan/topology/topology_sources.h"
#include "deploy/fuzz/properties.h"
#include "kernels/core/params.h"

namespace railgauge::fuzz {
namespace {

void add_parameter(KernelInfo& kernel, const char* name, const char* type, const char* value) {
  ParameterInfo& parameter = *kernel.add_parameters();
  parameter.set_name(name);
  parameter.set_type(type);
  parameter.set_default_value(value);
  if (std::string_view(type) == "choice")
    for (const char* choice : {"hot", "cold"}) parameter.add_choices(choice);
  if (std::string_view(type) == "integer") parameter.set_minimum(0);
}

// Declarations with a parameter of every type, for pairs, groups and single endpoints.
const std::vector<KernelInfo>& declared_kernels() {
  static const auto* const kernels = [] {
    auto* all = new std::vector<KernelInfo>;
    struct Shape {
      const char* name;
      const char* endpoint;
      std::uint32_t least;
      std::uint32_t most;
    };
    for (const Shape& shape :
         {Shape{"verbs.write_lat", "nic", 2, 2}, Shape{"verbs.write_bw", "nic", 2, 2},
          Shape{"nccl.all_reduce", "gpu", 1, 0}, Shape{"cuda.host_copy_bw", "gpu", 1, 1}}) {
      KernelInfo& kernel = all->emplace_back();
      kernel.set_name(shape.name);
      kernel.set_revision(1);
      kernel.set_min_ranks(shape.least);
      kernel.set_max_ranks(shape.most);
      kernel.set_endpoint_kind(shape.endpoint);
      kernel.add_metrics("latency_ns");
      add_parameter(kernel, "sizes", "bytes_list", "8");
      add_parameter(kernel, "iterations", "integer", "0");
      add_parameter(kernel, "depth", "integer", "16");
      add_parameter(kernel, "precision", "number", "0.02");
      add_parameter(kernel, "time_cap", "duration", "5s");
      add_parameter(kernel, "buffer", "bytes", "4KiB");
      add_parameter(kernel, "cache", "choice", "hot");
      add_parameter(kernel, "verify", "boolean", "true");
      add_parameter(kernel, "traffic_class", "integer", "0");
      add_parameter(kernel, "pkey", "text", "");
      add_parameter(kernel, "devices", "text", "");
    }
    return all;
  }();
  return *kernels;
}

void check_problems(const plan::SuiteReading& reading) {
  FUZZ_CHECK(reading.suite.has_value() == reading.problems.empty(), "");
  FUZZ_CHECK(reading.problems.size() <= plan::kMaxSuiteProblems + 1, "");
  for (const plan::SuiteProblem& problem : reading.problems) {
    check_line(plan::describe(problem));
    FUZZ_CHECK((problem.line == 0) == (problem.column == 0), plan::describe(problem));
  }
}

void check_parameters(const plan::Stage& stage) {
  const auto& kernels = declared_kernels();
  const auto kernel = std::ranges::find(kernels, stage.kernel, &KernelInfo::name);
  FUZZ_CHECK(kernel != kernels.end(), stage.kernel);
  for (const auto& [name, value] : stage.parameters) {
    const auto declared =
        std::ranges::find(kernel->parameters(), name, [](const auto& p) { return p.name(); });
    FUZZ_CHECK(declared != kernel->parameters().end(), name);
    const auto once = check_parameter(*declared, value);
    FUZZ_CHECK(once && *once == value, value);
  }
}

void check_suite_values(const plan::Suite& suite) {
  FUZZ_CHECK(suite.version == plan::kSuiteVersion, suite.name);
  FUZZ_CHECK(!suite.stages.empty() && suite.stages.size() <= plan::kMaxStages, suite.name);
  check_line(suite.name);
  for (const plan::Stage& stage : suite.stages) {
    check_line(stage.name);
    check_parameters(stage);
    FUZZ_CHECK(!stage.deadline_seconds || (*stage.deadline_seconds > 0 &&
                                           *stage.deadline_seconds <= plan::kMaxDeadlineSeconds),
               stage.name);
    FUZZ_CHECK(stage.repetitions > 0, stage.name);
    const plan::Placement& placement = stage.placement;
    FUZZ_CHECK(placement.slice_of >= 1 && placement.slice_of <= plan::kMaxRunSlices, stage.name);
    FUZZ_CHECK(!placement.slice || *placement.slice < placement.slice_of, stage.name);
  }
}

// A run's text has the origin of its slices behind it, and must still be the same suite.
void check_night(const std::string& text, const plan::Suite& suite) {
  FUZZ_CHECK(plan::is_same_suite(text, text), text);
  if (suite.night) return;
  const plan::SliceOrigin origin{.number = 7, .nodes = {"n1", "n2"}};
  const std::string with = plan::with_night(text, origin);
  if (with.size() > plan::kMaxSuiteBytes) return;
  const auto again = plan::read_suite(with, "run", declared_kernels());
  FUZZ_CHECK(again.suite, again.problems.empty() ? with : plan::describe(again.problems.front()));
  FUZZ_CHECK(again.suite->night && again.suite->night->number == origin.number &&
                 again.suite->night->nodes == origin.nodes,
             with);
  FUZZ_CHECK(plan::is_same_suite(with, text), with);
  FUZZ_CHECK(plan::with_night(with, origin) == with, with);
}

void check_suite(const std::string& text) {
  const auto reading = plan::read_suite(text, "quick.yaml", declared_kernels());
  check_problems(reading);
  check_problems(plan::read_suite(text, "quick.yaml", {}));
  if (!reading.suite) return;
  check_suite_values(*reading.suite);
  check_night(text, *reading.suite);
}

void check_site(const std::string& text) {
  const auto site = plan::read_site(text, "site.yaml");
  check_error(site);
  if (!site) return;
  FUZZ_CHECK(!site->lossless_priority || *site->lossless_priority <= 7, text);
  for (const KernelInfo& kernel : declared_kernels()) {
    std::map<std::string, std::string> parameters{{"depth", "1"}};
    const auto added = plan::add_site_defaults(*site, kernel, parameters);
    check_error(added);
    if (!added) continue;
    FUZZ_CHECK(parameters["depth"] == "1", text);
    for (const std::string& name : *added) FUZZ_CHECK(parameters.contains(name), name);
  }
}

const std::vector<plan::TopologyNode>& nodes() {
  static const auto* const all = [] {
    auto* list = new std::vector<plan::TopologyNode>;
    for (int i = 1; i <= 6; ++i) {
      const std::string number = std::to_string(i);
      list->push_back({.name = "gpu00" + number,
                       .guids = {"0xb8cef6030000010" + number},
                       .netdevs = {"ens1f0", "ib0"},
                       .labels = {{"leaf", "l" + std::to_string(i % 2)}}});
    }
    return list;
  }();
  return *all;
}

void check_topology(std::size_t number, const std::string& text) {
  constexpr std::array kSources{"labels",     "slurm", "ibnetdiscover",
                                "iblinkinfo", "lldp",  "latency"};
  const plan::TopologySource source{.source = kSources.at(number % kSources.size())};
  const auto topology = plan::read_topology(source, text, nodes());
  check_error(topology);
  if (!topology) return;
  FUZZ_CHECK(!topology->nodes.empty(), text);
  std::map<std::string, std::string> pods;
  for (const auto& [name, place] : topology->nodes) {
    FUZZ_CHECK(std::ranges::find(nodes(), name, &plan::TopologyNode::name) != nodes().end(), name);
    FUZZ_CHECK(!place.leaf.empty(), name);
    if (source.source == "labels") continue;  // two lines may place one leaf in two pods
    FUZZ_CHECK(pods.emplace(place.leaf, place.pod).first->second == place.pod, place.leaf);
  }
}

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::fuzz;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'S')
    check_suite(text);
  else if (data[0] == 'P')
    check_site(text);
  else
    check_topology(data[0], text);
  return 0;
}
