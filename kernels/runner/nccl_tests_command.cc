#include "kernels/runner/nccl_tests_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"
#include "kernels/peers/nccl_tests/table.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

int wrong_use(const Error& error) {
  fmt::print(stderr, "railgauge-runner: {}\n", error.message);
  return exit_code_of(error);
}

StandaloneOptions options_of(const NcclTestsCall& call, const NcclTestsTask& task,
                             const KernelRow& row) {
  StandaloneOptions options;
  options.row = &row;
  options.parameters = task.parameters;
  options.ranks = call.ranks;
  options.deadline_seconds = call.deadline_seconds;
  return options;
}

void print_note(const Record& record) {
  if (record.has_note())
    fmt::print(stderr, "{}: {}\n", record.note().severity(), record.note().text());
}

Status write_document(const std::string& file, const NcclTestsReport& report) {
  const std::string text = to_json(report) + '\n';
  std::FILE* out = std::fopen(file.c_str(), "we");
  bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (out != nullptr) good = std::fclose(out) == 0 && good;
  if (good) return {};
  return fail(Code::kUnavailable, fmt::format("{}: write: {}", file, std::strerror(errno)));
}

// Task after task, each in processes of its own: NCCL reads its settings once a process.
int run_tasks(const NcclTestsProgram& program, const NcclTestsCall& call, const KernelRow& row) {
  std::vector<RunnerReport> reports;
  std::vector<int> codes;
  for (const NcclTestsTask& task : call.tasks) {
    StandaloneEnd end = measure_standalone(options_of(call, task, row), print_note);
    reports.push_back(std::move(end.report));
    codes.push_back(end.exit_code);
    if (end.interrupted) break;
  }
  const NcclTestsReport report = nccl_tests_report(program, call, reports);
  fmt::print("{}", call.format == Format::kTable ? nccl_tests_table(report)
                   : call.format == Format::kCsv ? nccl_tests_csv(report)
                                                 : to_json(report) + '\n');
  if (!call.file.empty())
    if (const Status written = write_document(call.file, report); !written) {
      fmt::print(stderr, "railgauge-runner: {}\n", written.error().message);
      codes.push_back(kExitInvalid);
    }
  return combine_exit_codes(codes);
}

}  // namespace

std::vector<std::string> nccl_tests_names() {
  std::vector<std::string> names;
  for (const NcclTestsProgram& program : nccl_tests_programs()) names.emplace_back(program.name);
  return names;
}

NcclTestsInvocation nccl_tests_invocation(std::span<char* const> argv) {
  for (std::size_t i = 0; i < std::min<std::size_t>(argv.size(), 2); ++i) {
    std::string word = argv[i];
    if (i == 0) word = word.substr(word.rfind('/') + 1);
    if (const NcclTestsProgram* program = find_nccl_tests_program(word))
      return {program, {argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end()}};
  }
  return {};
}

int run_nccl_tests_command(const NcclTestsInvocation& invocation, const FindKernel& find) {
  const NcclTestsProgram& program = *invocation.program;
  const auto call = read_nccl_tests_call(program, invocation.arguments, find);
  if (!call) return wrong_use(call.error());
  if (call->help) {
    fmt::print("{}", nccl_tests_help(program));
    return kExitPassed;
  }
  const KernelRow& row = *find(program.kernel);
  if (const Status right = check_standalone(options_of(*call, call->tasks.front(), row)); !right)
    return wrong_use(right.error());
  for (const std::string& info : call->infos) fmt::print(stderr, "info: {}\n", info);
  block_ending_signals();
  return run_tasks(program, *call, row);
}

}  // namespace railgauge
