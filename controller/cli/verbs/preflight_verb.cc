// preflight
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>

#include "controller/api/preflight.h"
#include "controller/api/states.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::size_t kMaxBytes = 64U << 20U;
constexpr int kWrongUse = 2;

// The installed pair first, so that a build tree uses its own agent.
std::string agent_path() {
  std::error_code error;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "railgauge-agent";
  return std::filesystem::exists(beside, error) ? beside.string() : "railgauge-agent";
}

// Runs railgauge-agent, the one beside this program or the first in PATH, and returns its stdout.
// Its stderr is this program's. Its exit code reports findings, so no code but wrong use is an
// error. Errors: kNotFound when it cannot be started, kCancelled when it was interrupted,
// kUnavailable when another signal ended it, kResourceExhausted when it prints more than kMaxBytes.
Result<std::string> ask_local_agent(const std::vector<std::string>& arguments) {
  const std::string path = agent_path();
  PipeEnds pipe = RG_TRY(make_pipe());
  Program program{
      .argv = {path}, .descriptors = {{STDOUT_FILENO, pipe.write.get()}}, .searches_path = true};
  program.argv.insert(program.argv.end(), arguments.begin(), arguments.end());
  const auto child = start_program(program);
  // Only the child may keep the writing end, or reading would never end.
  pipe.write.reset();
  if (!child)
    return fail(Code::kNotFound,
                fmt::format("{}; install the agent on this host, or leave out --local",
                            child.error().message));
  std::string text;
  const bool whole = !read_available(pipe.read.get(), kMaxBytes + 1, text);
  pipe.read.reset();  // one that still prints gets SIGPIPE
  const int status = wait_for_end(*child).value_or(0);
  if (!whole)
    return fail(Code::kResourceExhausted,
                fmt::format("{}: prints more than {} bytes", path, kMaxBytes));
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // A terminal's Ctrl-C goes to the agent as well.
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)
    return fail(Code::kCancelled, "interrupted");
  if (signal != 0)
    return fail(Code::kUnavailable, fmt::format("{}: ended by signal {}", path, signal));
  if (text.empty() && WEXITSTATUS(status) == kWrongUse)
    return fail(Code::kInvalidArgument, fmt::format("{} refused these words", path));
  return text;
}

constexpr double kAnswerSeconds = 30;  // the nodes read and probe meanwhile

// The ids of --require, separated by commas.
std::vector<std::string> required_checks(const Arguments& arguments) {
  std::vector<std::string> ids;
  const std::string list = arguments.value("require");
  for (const std::string_view id : pieces_of(list, ','))
    if (!id.empty()) ids.emplace_back(id);
  return ids;
}

// Reads the agent's JSON. Unknown fields are ignored: the agent may be newer.
Result<PreflightReport> ask_this_host(const Arguments& arguments) {
  if (!arguments.operands.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("--local is this host: {} cannot be named with it",
                            in_quotes(arguments.operand(0))));
  std::vector<std::string> words{"--preflight", "--format", "json"};
  if (arguments.has("require"))
    words.insert(words.end(), {"--require", arguments.value("require")});
  if (arguments.has("probe")) words.emplace_back("--probe");
  const std::string json = RG_TRY(ask_local_agent(words));
  PreflightReport report;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &report, options);
  if (!status.ok())
    return fail(Code::kInternal,
                fmt::format("railgauge-agent --preflight: its answer is no report: {}",
                            std::string(status.message())));
  return report;
}

// The controller asks the nodes, which takes longer than a usual answer.
Result<PreflightReport> ask_controller(Session& session, const Arguments& arguments) {
  PreflightRequest request;
  request.set_node_set(fmt::format("{}", fmt::join(arguments.operands, ",")));
  for (const std::string& id : required_checks(arguments)) request.add_require(id);
  request.set_probe(arguments.has("probe"));
  return call(session, rpc::kRunPreflight, request, kAnswerSeconds);
}

// An id that no node has is wrong use: the nodes know what checks there are.
Status check_id(const PreflightReport& report, const std::string& id) {
  std::vector<std::string> ids;
  for (const PreflightCheck& check : report.checks()) {
    if (check.id() == id && !check.title().empty()) return {};
    if (std::ranges::find(ids, check.id()) == ids.end()) ids.push_back(check.id());
  }
  if (ids.empty()) return {};  // no node answered: that is reported instead
  return fail(Code::kInvalidArgument,
              fmt::format("there is no check {}{}; there are {}", in_quotes(id),
                          did_you_mean(id, ids), fmt::join(ids, ", ")));
}

// Removes the results of all other checks.
void keep_check(PreflightReport& report, const std::string& id) {
  PreflightReport kept = report;
  kept.clear_checks();
  kept.clear_pairs();
  for (const PreflightCheck& check : report.checks())
    if (check.id() == id) *kept.add_checks() = check;
  report = std::move(kept);
}

// unknown and warn are doubtful, never good.
Tone tone_of_state(const std::string& text) {
  const auto state = state_of<CheckState>(text);
  if (state == CheckState::kPass) return Tone::kGood;
  if (state == CheckState::kFail || state == CheckState::kError) return Tone::kBad;
  return state == CheckState::kWaived ? Tone::kPlain : Tone::kDoubtful;
}

// One row a node: state, counts of its checks or the error of the call, time taken.
void print_nodes(const Output& output, const PreflightReport& report) {
  const Rows rows = rows_of(report.nodes(), [&](const PreflightNode& node) {
    return Row({node.node(), Cell(node.state(), tone_of_state(node.state())),
                node.error().empty() ? state_counts_text(report, node.node()) : node.error(),
                node.has_seconds() ? fmt::format("{:.2f} s", node.seconds()) : "-"});
  });
  output.out << render_table("NODE|STATE|CHECKS|TOOK>", rows, output.colour);
}

// Without `all` only what needs attention.
void print_checks(const Output& output, const PreflightReport& report, bool all) {
  Rows rows;
  for (const PreflightCheck& check : report.checks()) {
    const auto state = state_of<CheckState>(check.state());
    if (!all && (state == CheckState::kPass || state == CheckState::kWaived)) continue;
    rows.push_back({check.node(), Cell(check.state(), tone_of_state(check.state())), check.id(),
                    check.subject(), check.observed(), check.source()});
  }
  output.out << render_section("NODE|STATE|CHECK|SUBJECT|OBSERVED|SOURCE", rows, output.colour);
}

// Line by line: its newlines stay.
void print_remedies(const Output& output, std::string_view text) {
  if (text.empty()) return;
  output.out << '\n';
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : lines_of(text)) output.out << printable(line) << '\n';
}

// The answer to one question: does GPUDirect work between this GPU and its NIC.
void print_summary(const Output& output, const PreflightReport& report) {
  Rows rows;
  for (const GpuDirectPair& pair : report.pairs()) {
    const Tone tone = pair.answer() == "yes"  ? Tone::kGood
                      : pair.answer() == "no" ? Tone::kBad
                                              : Tone::kDoubtful;
    rows.push_back(
        {pair.node(), pair.gpu(), pair.nic(), pair.distance(), Cell(gpudirect_text(pair), tone)});
  }
  if (rows.empty()) {
    output.out << "no node here has an NVIDIA GPU\n";
    return;
  }
  output.out << render_table("NODE|GPU|NIC|DISTANCE|ANSWER", rows, output.colour);
}

// The first result carries title and reason, which are the same on all nodes.
void print_explained(const Output& output, const PreflightReport& report, const std::string& id) {
  if (!report.checks().empty())
    output.out << line_of(id + ": " + report.checks(0).title())
               << line_of("why: " + report.checks(0).why());
  print_checks(output, report, true);
  print_remedies(output, remedies_text(report, true));
}

// Failed and unknown checks by default; --passed adds the rest.
void print_tables(const Output& output, const PreflightReport& report, const Arguments& arguments) {
  const std::string id = arguments.value("explain");
  if (!id.empty()) return print_explained(output, report, id);
  if (arguments.has("summary")) return print_summary(output, report);
  print_nodes(output, report);
  print_checks(output, report, arguments.has("passed"));
  print_remedies(output, remedies_text(report));
}

}  // namespace

// The exit code is computed before the report is narrowed to one check.
Result<int> show_preflight(Session& session, const Arguments& arguments) {
  PreflightReport report = RG_TRY(arguments.has("local") ? ask_this_host(arguments)
                                                         : ask_controller(session, arguments));
  const PreflightDemand demand{.require = required_checks(arguments),
                               .strict = arguments.has("strict")};
  for (const std::string& id : demand.require) RG_TRY_OK(check_id(report, id));
  const int code = preflight_exit_code(report, demand);
  if (const std::string id = arguments.value("explain"); !id.empty()) {
    RG_TRY_OK(check_id(report, id));
    keep_check(report, id);
  }
  const Output& output = session.output;
  if (!print_document(output, report, arguments.has("summary") ? "pairs" : "checks"))
    print_tables(output, report, arguments);
  for (const PreflightNode& node : report.nodes())
    if (!node.error().empty())
      print_notice(output, fmt::format("node {}: {}", node.node(), node.error()));
  return code;
}

}  // namespace railgauge::cli
