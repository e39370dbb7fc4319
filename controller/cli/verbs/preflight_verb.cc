// preflight
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>

#include "controller/api/preflight.h"
#include "controller/api/states.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::size_t kMaxBytes = 64U << 20U;
constexpr int kWrongUse = 2;
// So that a page of all three fits a screen of 60 lines.
constexpr std::size_t kLinesOfNodes = 12;
constexpr std::size_t kLinesOfChecks = 26;
constexpr std::size_t kLinesOfRemedies = 18;

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

// A word for every check, so that nobody has to keep a list of ids.
constexpr std::string_view kAllChecks = "all";  // of --require

// Reports whether --require asks for every check.
bool requires_all(const Arguments& arguments) {
  const std::string list = arguments.value("require");
  return std::ranges::any_of(pieces_of(list, ','),
                             [](std::string_view id) { return id == kAllChecks; });
}

// The ids of --require, separated by commas, without "all".
std::vector<std::string> required_checks(const Arguments& arguments) {
  std::vector<std::string> ids;
  const std::string list = arguments.value("require");
  for (const std::string_view id : pieces_of(list, ','))
    if (!id.empty() && id != kAllChecks) ids.emplace_back(id);
  return ids;
}

// Reads the agent's JSON. Unknown fields are ignored: the agent may be newer.
Result<PreflightReport> ask_this_host(const Arguments& arguments) {
  if (!arguments.operands.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("--local is this host: {} cannot be named with it",
                            in_quotes(arguments.operand(0))));
  std::vector<std::string> words{"--preflight", "--format", "json"};
  if (const auto ids = required_checks(arguments); !ids.empty())
    words.insert(words.end(), {"--require", fmt::format("{}", fmt::join(ids, ","))});
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
  request.set_node_set(
      RG_TRY(and_labels(arguments, fmt::format("{}", fmt::join(arguments.operands, ",")))));
  for (const std::string& id : required_checks(arguments)) request.add_require(id);
  request.set_probe(arguments.has("probe"));
  return call(session, rpc::kRunPreflight, request, kAnswerSeconds);
}

// An id that no node has is wrong use: the nodes know what checks there are.
Status check_id(const PreflightReport& report, const std::string& id) {
  std::vector<std::string> ids;
  for (const PreflightCheck& check : report.checks()) {
    if (check.title().empty()) continue;  // a node's answer to an id that it does not know
    if (check.id() == id) return {};
    if (std::ranges::find(ids, check.id()) == ids.end()) ids.push_back(check.id());
  }
  if (ids.empty()) return {};  // no node answered: that is reported instead
  std::string hint = did_you_mean(id, ids);
  if (hint.empty()) hint = fmt::format("; there are {}", fmt::join(ids, ", "));
  return fail(Code::kInvalidArgument, fmt::format("there is no check {}{}", in_quotes(id), hint));
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

// Nodes of one state whose checks, or errors, are alike are a row.
void print_nodes(const Output& output, const PreflightReport& report) {
  struct Like {
    std::vector<std::string> names;
    std::vector<std::string> errors;
    double slowest = 0;
  };
  std::map<std::string, std::map<CheckState, int, std::greater<>>> tallies;
  for (const PreflightCheck& check : report.checks())
    ++tallies[check.node()][state_of<CheckState>(check.state()).value_or(CheckState::kUnknown)];
  const auto counts_of = [&](const std::string& node) {
    std::string text;
    for (const auto& [state, count] : tallies[node])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, text_of(state));
    return text.empty() ? "no checks" : text;
  };
  std::map<std::tuple<CheckState, std::string, std::string>, Like, std::greater<>> alike;
  for (const PreflightNode& node : report.nodes()) {
    const auto state = state_of<CheckState>(node.state()).value_or(CheckState::kUnknown);
    const std::string counts = node.error().empty() ? counts_of(node.node()) : "";
    Like& like = alike[{state, node.state(), counts}];
    like.names.push_back(node.node());
    if (!node.error().empty()) like.errors.push_back(node.error());
    like.slowest = std::max(like.slowest, node.seconds());
  }
  Rows rows;
  for (const auto& [key, like] : alike) {
    const auto& [order, state, counts] = key;
    std::string text = counts;
    for (const TextGroup& group : group_texts(like.errors, like.names))
      text += (text.empty() ? "" : "; ") + group.text;
    rows.push_back({fold_names(like.names), like.names.size(), Cell(state, tone_of_state(state)),
                    text, like.slowest > 0 ? fmt::format("{:.2f} s", like.slowest) : "-"});
  }
  output.out << render_short_table("NODES|COUNT>|STATE|CHECKS|SLOWEST>", rows, output.colour,
                                   {.lines = kLinesOfNodes});
}

// The words of a check, of the first kinds of texts.
std::string observed_text(const std::vector<std::string>& observed,
                          const std::vector<std::string>& nodes) {
  constexpr std::size_t kMostKinds = 2;
  const auto groups = group_texts(observed, nodes);
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMostKinds); ++i)
    text += (i == 0 ? "" : "; ") + groups[i].text;
  if (groups.size() > kMostKinds)
    text += fmt::format("; more kinds: {}", groups.size() - kMostKinds);
  return text;
}

// A row for each check and state. Without `all` only what needs attention; the worst comes first.
void print_checks(const Output& output, const PreflightReport& report, bool all) {
  std::map<std::pair<CheckState, std::string>, std::vector<const PreflightCheck*>, std::greater<>>
      alike;
  for (const PreflightCheck& check : report.checks()) {
    const auto state = state_of<CheckState>(check.state()).value_or(CheckState::kUnknown);
    if (!all && (state == CheckState::kPass || state == CheckState::kWaived)) continue;
    alike[{state, check.id()}].push_back(&check);
  }
  Rows rows;
  for (const auto& [key, checks] : alike) {
    std::vector<std::string> nodes;
    std::vector<std::string> subjects;
    std::vector<std::string> observed;
    std::vector<std::string> sources;
    for (const PreflightCheck* check : checks) {
      nodes.push_back(check->node());
      if (!check->subject().empty()) subjects.push_back(check->subject());
      observed.push_back(check->observed());
      if (!check->source().empty()) sources.push_back(check->source());
    }
    const std::string& state = checks.front()->state();
    rows.push_back({Cell(state, tone_of_state(state)), key.second, checks.size(),
                    fold_briefly(nodes), fold_briefly(subjects), observed_text(observed, nodes),
                    fold_briefly(sources)});
  }
  output.out << (rows.empty() ? "" : "\n");
  if (!rows.empty())
    output.out << render_short_table("STATE|CHECK|COUNT>|NODES|SUBJECTS|OBSERVED|SOURCE", rows,
                                     output.colour, {.lines = kLinesOfChecks});
}

// Line by line: its newlines stay.
void print_remedies(const Output& output, std::string_view text, std::size_t most) {
  if (text.empty()) return;
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string page;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t first = line.find_first_not_of(' ');
    page += wrapped_line(std::string(line), first == std::string_view::npos ? 0 : first + 2);
  }
  output.out << '\n'
             << screenful(page, {.lines = most, .remedy = "--explain CHECK has those of one"});
}

// The answer to one question: does GPUDirect work between this GPU and its NIC. Pairs with one
// answer are a row.
void print_summary(const Output& output, const PreflightReport& report) {
  std::map<std::pair<std::string, std::string>, std::vector<const GpuDirectPair*>> alike;
  for (const GpuDirectPair& pair : report.pairs())
    alike[{pair.answer(), gpudirect_text(pair)}].push_back(&pair);
  Rows rows;
  for (const auto& [key, pairs] : alike) {
    std::vector<std::string> nodes;
    std::vector<std::string> gpus;
    std::vector<std::string> nics;
    std::vector<std::string> distances;
    for (const GpuDirectPair* pair : pairs) {
      nodes.push_back(pair->node());
      gpus.push_back(pair->gpu());
      nics.push_back(pair->nic());
      distances.push_back(pair->distance());
    }
    const Tone tone = key.first == "yes"  ? Tone::kGood
                      : key.first == "no" ? Tone::kBad
                                          : Tone::kDoubtful;
    rows.push_back({fold_briefly(nodes), pairs.size(), fold_briefly(gpus), fold_briefly(nics),
                    fold_briefly(distances), Cell(key.second, tone)});
  }
  if (rows.empty()) {
    output.out << "no node here has an NVIDIA GPU\n";
    return;
  }
  output.out << render_short_table("NODES|PAIRS>|GPUS|NICS|DISTANCE|ANSWER", rows, output.colour);
}

// The first result carries title and reason, which are the same on all nodes.
void print_explained(const Output& output, const PreflightReport& report, const std::string& id) {
  if (!report.checks().empty())
    output.out << line_of(id + ": " + report.checks(0).title())
               << line_of("why: " + report.checks(0).why());
  print_checks(output, report, true);
  print_remedies(output, remedies_text(report, true), SIZE_MAX);
}

// Failed and unknown checks by default; --passed adds the rest.
void print_tables(const Output& output, const PreflightReport& report, const Arguments& arguments) {
  const std::string id = arguments.value("explain");
  if (!id.empty()) return print_explained(output, report, id);
  if (arguments.has("summary")) return print_summary(output, report);
  print_nodes(output, report);
  print_checks(output, report, arguments.has("passed"));
  print_remedies(output, remedies_text(report), kLinesOfRemedies);
}

}  // namespace

// The exit code is computed before the report is narrowed to one check.
Result<int> show_preflight(Session& session, const Arguments& arguments) {
  PreflightReport report = RG_TRY(arguments.has("local") ? ask_this_host(arguments)
                                                         : ask_controller(session, arguments));
  const PreflightDemand demand{.require = required_checks(arguments),
                               .strict = requires_all(arguments)};
  for (const std::string& id : demand.require) RG_TRY_OK(check_id(report, id));
  const int code = preflight_exit_code(report, demand);
  if (const std::string id = arguments.value("explain"); !id.empty()) {
    RG_TRY_OK(check_id(report, id));
    keep_check(report, id);
  }
  const Output& output = session.output;
  if (!print_document(output, report, arguments.has("summary") ? "pairs" : "checks"))
    print_tables(output, report, arguments);
  std::vector<std::string> failed;
  for (const PreflightNode& node : report.nodes())
    if (!node.error().empty())
      failed.push_back(fmt::format("node {}: {}", node.node(), node.error()));
  for (const TextGroup& group : group_texts(failed)) print_fault(output, group.text);
  return code;
}

}  // namespace railgauge::cli
