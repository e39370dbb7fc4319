#include "kernels/runner/perftest_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/peers/perftest/table.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

StandaloneOptions options_of(const PerftestCall& call, const KernelRow& row) {
  StandaloneOptions options;
  options.row = &row;
  options.parameters = call.parameters;
  options.endpoint = call.endpoint;
  if (call.host) options.connect = TcpAddress{*call.host, call.port};
  if (!call.host) options.listen = std::to_string(call.port);
  options.deadline_seconds = call.deadline_seconds;
  options.raw_samples = call.raw_samples;
  options.format = call.format;
  options.file = call.file;
  options.style = {.colour = stdout_takes_colour()};
  options.table = [gigabits = call.gigabits](const RunnerReport& report, const TableStyle& style) {
    return perftest_table(report, style, gigabits);
  };
  return options;
}

}  // namespace

std::vector<std::string> perftest_names() {
  std::vector<std::string> names;
  for (const PerftestProgram& program : perftest_programs()) names.emplace_back(program.name);
  return names;
}

PerftestInvocation perftest_invocation(std::span<char* const> argv) {
  for (std::size_t i = 0; i < std::min<std::size_t>(argv.size(), 2); ++i) {
    std::string word = argv[i];
    if (i == 0) word = word.substr(word.rfind('/') + 1);
    if (const PerftestProgram* program = find_perftest_program(word))
      return {program, {argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end()}};
  }
  return {};
}

int run_perftest_command(const PerftestInvocation& invocation, const FindKernel& find) {
  const auto call = read_perftest_call(*invocation.program, invocation.arguments, find);
  if (!call) {
    fmt::print(stderr, "railgauge-runner: {}\n", call.error().message);
    return exit_code_of(call.error());
  }
  if (call->help) {
    fmt::print("{}", perftest_help(*invocation.program, find));
    return kExitPassed;
  }
  if (call->version) {
    fmt::print("railgauge-runner {}\n", RAILGAUGE_VERSION);
    return kExitPassed;
  }
  for (const std::string& info : call->infos) fmt::print(stderr, "info: {}\n", info);
  block_ending_signals();
  return run_standalone(options_of(*call, *find(call->kernel)));
}

}  // namespace railgauge
