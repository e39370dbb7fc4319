// Reads another tool's command line, runs our kernels, and prints in that tool's layout.
#include "kernels/runner/peer_command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/printable.h"
#include "kernels/core/text/text.h"
#include "kernels/peers/nccl_tests/options.h"
#include "kernels/peers/nccl_tests/table.h"
#include "kernels/peers/perftest/options.h"
#include "kernels/peers/perftest/table.h"
#include "kernels/runner/standalone.h"
#include "kernels/runner/task/watchdog.h"

namespace railgauge {
namespace {

// --- perftest ---

// With a host this side connects, without one it listens, as the tool does.
// `call` and `below` outlive the options; `below` gets the figures below the call's floors.
StandaloneOptions options_of(const PerftestCall& call, const KernelRow& row,
                             std::vector<std::string>& below) {
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
  options.table = [&call, &below](const RunnerReport& report, const TableStyle& style) {
    below = below_floors(report, call);
    return perftest_table(report, style, call);
  };
  return options;
}

// One run of one kernel under perftest's table.
int run_perftest_command(const PerftestProgram& program, const std::vector<std::string>& arguments,
                         const FindKernel& find) {
  const auto call = read_perftest_call(program, arguments, find);
  if (!call) return report_wrong_use(call.error().message, exit_code_of(call.error()));
  if (call->help) {
    fmt::print("{}", folded_help(perftest_help(program, find)));
    return kExitPassed;
  }
  if (call->version) {
    fmt::print("railgauge-runner {}\n", RAILGAUGE_VERSION);
    return kExitPassed;
  }
  for (const std::string& info : call->infos) fmt::print(stderr, "info: {}\n", printable(info));
  // Before the first child: a signal then reaches it through this process.
  block_ending_signals();
  std::vector<std::string> below;
  const int code = run_standalone(options_of(*call, *find(call->kernel), below));
  for (const std::string& line : below)
    fmt::print(stderr, "railgauge-runner: {}: {}\n", program.name, line);
  return code == kExitPassed && !below.empty() ? kExitFailed : code;
}

// --- nccl-tests ---

// Ranks of this host, or those of a launcher.
StandaloneOptions options_of(const NcclTestsCall& call, const NcclTestsTask& task,
                             const KernelRow& row, const std::optional<World>& world) {
  StandaloneOptions options;
  options.row = &row;
  options.parameters = task.parameters;
  options.world = world;
  if (!world) options.ranks = call.ranks;
  options.deadline_seconds = call.deadline_seconds;
  return options;
}

// Notes go to stderr at once; the table comes at the end.
void print_note(const Record& record) {
  if (record.has_note())
    fmt::print(stderr, "{}: {}\n", record.note().severity(), printable(record.note().text()));
}

// Runs task after task, each in processes of its own: NCCL reads its settings once a process. The
// report is printed when all have ended; the ranks of a launcher but rank 0 print nothing.
int run_tasks(const NcclTestsProgram& program, const NcclTestsCall& call, const KernelRow& row,
              const std::optional<World>& world) {
  const bool silent = world && world->rank != 0;
  std::vector<RunnerReport> reports;
  std::vector<int> codes;
  for (const NcclTestsTask& task : call.tasks) {
    StandaloneEnd end = measure_standalone(options_of(call, task, row, world),
                                           silent ? [](const Record&) {} : print_note);
    make_printable(end.report);
    reports.push_back(std::move(end.report));
    codes.push_back(end.exit_code);
    // Later tasks are skipped; finished ones are reported.
    if (end.interrupted) break;
  }
  if (silent) return combine_exit_codes(codes);
  const NcclTestsReport report = nccl_tests_report(program, call, reports);
  const std::string document = to_json(report) + '\n';
  fmt::print("{}", call.format == Format::kTable ? nccl_tests_table(report)
                   : call.format == Format::kCsv ? nccl_tests_csv(report)
                                                 : document);
  if (!call.file.empty())
    if (const Status written = write_document(call.file, document); !written)
      codes.push_back(report_wrong_use(written.error().message, kExitInvalid));
  return combine_exit_codes(codes);
}

// The tool's variables; that of a matrix's file gets the file's content, bounded.
Result<NcclTestsEnvironment> nccl_tests_environment() {
  constexpr std::size_t kMostBytes = 16U << 20U;
  NcclTestsEnvironment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const std::size_t equals = text.find('=');
        text.starts_with(kNcclTestsVariables) && equals != std::string_view::npos)
      out[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  const auto matrix = out.find(kMatrixVariable);
  if (matrix == out.end() || matrix->second.empty()) return out;
  std::ifstream file(matrix->second);
  std::string content(kMostBytes + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.empty() || content.size() > kMostBytes)
    return invalid("{}: {}: cannot be read, is empty, or has more than {} bytes", kMatrixVariable,
                   matrix->second, kMostBytes);
  matrix->second = std::move(content);
  return out;
}

// The first task's options are checked for all: they differ in parameters that are checked already.
int run_nccl_tests_command(const NcclTestsProgram& program,
                           const std::vector<std::string>& arguments, const ProfileHost& host) {
  block_ending_signals();
  const auto world = host.join_launched();
  if (!world) return report_wrong_use(world.error().message, exit_code_of(world.error()));
  const auto environment = nccl_tests_environment();
  if (!environment) return report_wrong_use(environment.error().message, kExitInvalid);
  const auto call = read_nccl_tests_call(program, arguments, host.find, *world ? (*world)->size : 0,
                                         *environment);
  if (!call) return report_wrong_use(call.error().message, exit_code_of(call.error()));
  if (call->help) {
    fmt::print("{}", folded_help(nccl_tests_help(program)));
    return kExitPassed;
  }
  const KernelRow& row = *host.find(program.kernel);
  if (const Status right = check_standalone(options_of(*call, call->tasks.front(), row, *world));
      !right)
    return report_wrong_use(right.error().message, exit_code_of(right.error()));
  for (const std::string& info : call->infos) fmt::print(stderr, "info: {}\n", printable(info));
  return run_tasks(program, *call, row, *world);
}

}  // namespace

// In the order in which --help lists them.
std::vector<std::string> peer_command_names() {
  std::vector<std::string> names = profile_names();
  for (const PerftestProgram& program : perftest_programs()) names.emplace_back(program.name);
  for (const NcclTestsProgram& program : nccl_tests_programs()) names.emplace_back(program.name);
  return names;
}

// The program's own name comes first: a link named like a tool always means that tool.
PeerInvocation peer_invocation(std::span<char* const> argv) {
  const auto names = peer_command_names();
  for (std::size_t i = 0; i < std::min<std::size_t>(argv.size(), 2); ++i) {
    std::string word = argv[i];
    if (i == 0) word = word.substr(word.rfind('/') + 1);
    if (std::ranges::find(names, word) == names.end()) continue;
    return {word, {argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end()}};
  }
  return {};
}

// The names of all tools are distinct, so the order of the questions does not matter.
std::optional<int> run_peer_command(std::span<char* const> argv, const ProfileHost& host) {
  const PeerInvocation call = peer_invocation(argv);
  if (call.name.empty()) return std::nullopt;
  if (const PerftestProgram* program = find_perftest_program(call.name))
    return run_perftest_command(*program, call.arguments, host.find);
  if (const NcclTestsProgram* program = find_nccl_tests_program(call.name))
    return run_nccl_tests_command(*program, call.arguments, host);
  return run_profile_command(call.name, call.arguments, host);
}

Result<std::pair<std::string, std::string>> read_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid("--set {} is not KEY=VALUE", in_quotes(text));
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

int report_wrong_use(std::string_view message, int exit_code) {
  fmt::print(stderr, "railgauge-runner: {}\n", printable(message));
  return exit_code;
}

}  // namespace railgauge
