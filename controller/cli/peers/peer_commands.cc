#include "controller/cli/peers/peer_commands.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/peers/nccl_tests.h"
#include "controller/cli/peers/perftest.h"
#include "controller/cli/render/table.h"
#include "kernels/core/text/text.h"
#include "kernels/peers/nccl_tests/profile.h"
#include "kernels/peers/tools.h"

namespace railgauge::cli {
namespace {

using api::TaskDetail;

constexpr std::string_view kPerftest = "perftest";

// The tool measures on the task's only node.
Result<std::vector<PeerLine>> local_lines(const std::string& tool, const TaskDetail& task) {
  const std::string planned = task.endpoints_size() > 0 ? task.endpoints(0) : "";
  const std::size_t slash = planned.find('/');
  const std::string endpoint = slash == std::string::npos ? "" : planned.substr(slash + 1);
  const bool is_gpu = endpoint.starts_with("gpu");
  std::map<std::string, std::string> parameters(task.parameters().begin(), task.parameters().end());
  // A BAR kernel may have chosen its path by itself; the command takes that path.
  if (const auto backend = parameters.find("backend");
      backend != parameters.end() && backend->second == "auto" && task.ranks_size() > 0)
    if (const auto path = task.ranks(0).facts().find("path"); path != task.ranks(0).facts().end())
      backend->second = path->second;
  std::vector<PeerLine> lines;
  std::stringstream commands(
      RG_TRY(peer_command(tool, task.kernel(), parameters, is_gpu ? endpoint : "")));
  for (std::string line; std::getline(commands, line);)
    lines.push_back({0, planned.substr(0, slash), line});
  return lines;
}

// Adds the task's commands, or one entry with the reason why there is none.
void add_task(const std::string& tool, const TaskDetail& task, PeerCommands& commands) {
  const auto lines = tool == kPerftest           ? perftest_lines(task)
                     : tool == kNcclTestsProfile ? nccl_tests_lines(task)
                                                 : local_lines(tool, task);
  const auto add = [&]() -> PeerCommand& {
    PeerCommand& command = *commands.add_commands();
    command.set_task_id(task.task_id());
    command.set_kernel(task.kernel());
    return command;
  };
  if (!lines) return add().set_reason(lines.error().message);
  for (const PeerLine& line : *lines) {
    PeerCommand& command = add();
    command.set_rank(line.rank);
    command.set_node(line.node);
    command.set_command(line.command);
  }
}

}  // namespace

Result<PeerCommands> peer_commands(const api::RunDetail& detail, const std::string& tool) {
  const std::vector<std::string> tools{"nvbandwidth", "gdrcopy", std::string(kPerftest),
                                       std::string(kNcclTestsProfile)};
  if (std::ranges::find(tools, tool) == tools.end())
    return invalid("--as {}: is not {}{}", in_quotes(tool), one_of(tools),
                   did_you_mean(tool, tools));
  PeerCommands commands;
  commands.set_schema_version(1);
  commands.set_run_id(detail.run().run_id());
  commands.set_tool(tool);
  for (const TaskDetail& task : detail.tasks()) add_task(tool, task, commands);
  return commands;
}

// Machine formats get the document, people a table.
void print_peer_commands(const Output& output, const PeerCommands& commands) {
  if (print_document(output, commands, "commands")) return;
  Rows rows;
  for (const PeerCommand& command : commands.commands())
    rows.push_back({command.task_id(),
                    command.kernel(),
                    command.node(),
                    command.command(),
                    {command.reason(), Tone::kDoubtful}});
  output.out << render_table({{"TASK"}, {"KERNEL"}, {"NODE"}, {"COMMAND"}, {"NONE, SINCE"}}, rows,
                             output.colour);
}

}  // namespace railgauge::cli
