#include "controller/cli/peers/nccl_tests.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/render/compared_figures.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/profile.h"

namespace railgauge::cli {
namespace {

using api::TaskDetail;
using Strings = std::vector<std::string>;

// The reason why the tool cannot measure this task.
tl::unexpected<Error> none(const TaskDetail& task, std::string_view reason) {
  return fail(Code::kUnimplemented, "{}: {}: {}", kNcclTestsProfile, task.kernel(), reason);
}

// --- where the ranks are ----------------------------------------------------------------------

// Which GPUs of which nodes the task used.
struct Places {
  Strings nodes;                        // each once, in the ranks' order
  std::map<std::string, Strings> gpus;  // by node: "0", "1"; none where the node chose
  std::size_t ranks = 0;
};

// Reads "n1/gpu0" of each rank, in the order of ranks.
Places places_of(const TaskDetail& task) {
  Places places;
  for (const std::string& endpoint : task.endpoints()) {
    const std::size_t slash = endpoint.find('/');
    const std::string node = endpoint.substr(0, slash);
    if (std::ranges::find(places.nodes, node) == places.nodes.end()) places.nodes.push_back(node);
    const std::string gpu = slash == std::string::npos ? "" : endpoint.substr(slash + 1);
    places.gpus[node].push_back(gpu.starts_with("gpu") ? gpu.substr(3) : "");
    ++places.ranks;
  }
  return places;
}

// The value of CUDA_VISIBLE_DEVICES that makes the task's GPUs the first ones; "" where they are
// already. Nothing where the nodes would need different values.
std::optional<std::string> visible_gpus(const Places& places) {
  std::set<std::string> all;
  for (const auto& [node, gpus] : places.gpus) {
    bool as_they_come = true;
    for (std::size_t i = 0; i < gpus.size(); ++i)
      as_they_come = as_they_come && (gpus[i].empty() || gpus[i] == std::to_string(i));
    all.insert(as_they_come ? "" : fmt::format("{}", fmt::join(gpus, ",")));
  }
  if (all.size() > 1) return std::nullopt;
  return all.empty() ? "" : *all.begin();
}

// --- what is measured -------------------------------------------------------------------------

// "-b 8 -e 64 -f 2"; several where the sizes are no progression.
Result<Strings> size_options(const TaskDetail& task) {
  const auto sizes = RG_TRY(parse_bytes_list(value_of(task.parameters(), "sizes")));
  const std::uint64_t first = sizes.front();
  if (sizes.size() == 1) return Strings{fmt::format("-b {0} -e {0}", first)};
  // The tool steps by a factor (-f) or by an increment (-i).
  bool by_factor = true;
  bool by_step = true;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    by_factor = by_factor && sizes[i] > sizes[i - 1] && sizes[1] % first == 0 &&
                sizes[i] == sizes[i - 1] * (sizes[1] / first);
    by_step = by_step && sizes[i] > sizes[i - 1] && sizes[i] - sizes[i - 1] == sizes[1] - first;
  }
  const std::string range = fmt::format("-b {} -e {}", first, sizes.back());
  if (by_factor) return Strings{fmt::format("{} -f {}", range, sizes[1] / first)};
  if (by_step) return Strings{fmt::format("{} -i {}", range, sizes[1] - first)};
  Strings each;
  for (const std::uint64_t size : sizes) each.push_back(fmt::format("-b {0} -e {0}", size));
  return each;
}

// Data type, operation, root, counts and modes as the tool's flags. Errors: kUnimplemented for a
// data type that the tool lacks.
Result<std::string> measured_options(const TaskDetail& task) {
  const auto type = type_for_nccl_tests(value_of(task.parameters(), "datatype"));
  if (!type) return none(task, "it has no such data type");
  std::string out = fmt::format(" -d {}", *type);
  if (const std::string op = value_of(task.parameters(), "reduction"); !op.empty())
    out += " -o " + op;
  if (const std::string root = value_of(task.parameters(), "root"); !root.empty())
    out += " -r " + root;
  const std::string iterations = value_of(task.parameters(), "iterations");
  const bool counted = parse_integer(iterations).value_or(0) > 0;
  if (value_of(task.parameters(), "mode") == "graph")
    out += fmt::format(" -n {} -G {}", value_of(task.parameters(), "graph_calls"),
                       counted ? iterations : "20");
  else if (counted)
    out += " -n " + iterations;
  const std::string registered = value_of(task.parameters(), "registered");
  if (registered == "true") out += " -R 1";
  if (registered == "symmetric") out += " -R 2";
  const std::string group = value_of(task.parameters(), "aggregate");
  if (!group.empty() && group != "1") out += " -m " + group;
  const std::string policy = value_of(task.parameters(), "cta_policy");
  if (policy == "default") out += " -x 0";
  if (policy == "efficiency") out += " -x 1";
  if (policy == "zero") out += " -x 2";
  if (value_of(task.parameters(), "verify") == "false") out += " -c 0";
  return out;
}

// Everything in front of the program's options.
Result<std::string> launch(const TaskDetail& task, const std::string& program,
                           const Places& places) {
  const auto visible = visible_gpus(places);
  if (!visible)
    return none(task, "one launch shows the same GPUs on all nodes, the task had different ones");
  std::vector<std::pair<std::string, std::string>> environment;
  if (!visible->empty()) environment.emplace_back("CUDA_VISIBLE_DEVICES", *visible);
  for (auto& setting : nccl_environment({task.parameters().begin(), task.parameters().end()}))
    environment.push_back(std::move(setting));
  if (!value_of(task.parameters(), "traffic").empty())
    return none(task, "it reads the matrix of the parameter traffic from a file");
  if (value_of(task.parameters(), "blocking") == "false")
    return none(task, "its communicators block");
  for (const auto& [parameter, variable] :
       {std::pair{"split", "NCCL_TESTS_SPLIT"}, {"spread", "NCCL_TESTS_ALLTOALLV_SPREAD"}})
    if (const std::string value = value_of(task.parameters(), parameter); !value.empty())
      environment.emplace_back(variable, value);
  const bool clean = value_of(task.parameters(), "environment") == "clean";
  std::string out;
  // One process drives all GPUs of one node; no launcher is needed.
  if (places.nodes.size() == 1) {
    if (clean) out = R"(env -i HOME="$HOME" PATH="$PATH" LD_LIBRARY_PATH="$LD_LIBRARY_PATH" )";
    for (const auto& [name, value] : environment)
      out += fmt::format("{}={} ", name, shell_quoted(value));
    return out + program;
  }
  if (clean) return none(task, "mpirun cannot hide the other nodes' NCCL_ variables from it");
  Strings hosts;
  for (const std::string& node : places.nodes)
    hosts.push_back(fmt::format("{}:{}", node, places.gpus.at(node).size()));
  out = fmt::format("mpirun -np {} --host {}", places.ranks,
                    shell_quoted(fmt::format("{}", fmt::join(hosts, ","))));
  for (const auto& [name, value] : environment)
    out += " -x " + shell_quoted(fmt::format("{}={}", name, value));
  return out + " " + program;
}

}  // namespace

// One command for each list of sizes. -g is the number of GPUs of one process: all ranks where the
// task has one node, else one.
Result<std::vector<PeerLine>> nccl_tests_lines(const TaskDetail& task) {
  const NcclTestsProgram* program = nccl_tests_program_of(task.kernel());
  if (program == nullptr) return none(task, "it has no test of this kind");
  const Places places = places_of(task);
  if (places.ranks == 0) return none(task, "the task has no rank");
  const std::string begin = RG_TRY(launch(task, std::string(program->name), places));
  const std::string options = RG_TRY(measured_options(task));
  const std::size_t gpus = places.nodes.size() == 1 ? places.ranks : 1;
  std::vector<PeerLine> lines;
  for (const std::string& sizes : RG_TRY(size_options(task)))
    lines.push_back(
        {0, places.nodes.front(), fmt::format("{} {}{} -g {}", begin, sizes, options, gpus)});
  return lines;
}

}  // namespace railgauge::cli
