// railgauge-fleet: wiring and signals.
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "agent/fleet/fleet.h"
#include "agent/fleet/fleet_enrolment.h"
#include "agent/tasks/kernel_list.h"
#include "controller/api/contract.h"
#include "controller/api/controller_list.h"
#include "controller/api/grpc_locks.h"
#include "controller/log/log.h"
#include "kernels/core/base/exhaustion.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/core/text/variables.h"
#include "kernels/core/version/commit.h"

namespace railgauge::fleet {
namespace {

constexpr double kListSeconds = 20;
// A stream takes one descriptor, and a dial another one for a moment.
constexpr std::uint64_t kSpareDescriptors = 256;

struct Settings {
  std::string controller;
  bool insecure = false;
  std::string certificates;
  std::string enroll;
  std::string token_file;
  std::uint32_t at_once = 16;
  std::string scenario;
  std::uint32_t nodes = 0;
  std::string runner;
  std::vector<std::string> kernels;
  std::string at = "0";
  std::string simulated_clock;
  std::uint32_t dials = 256;
  std::string acknowledged;
  std::string log_level = "info";
  std::string log_format = "text";
};

std::string beside_this(const char* program) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / program)
      .string();
}

void declare(CLI::App& app, Settings& settings) {
  settings.runner = beside_this("railgauge-runner");
  app.add_option("--controller", settings.controller, "HOST:PORT or unix:/path; several by commas");
  app.add_flag("--insecure", settings.insecure,
               "plain TCP, where nobody else can reach the controller");
  app.add_option("--certificates", settings.certificates,
                 "folder of railgauge pki, with a certificate for each node by its name, for TCP");
  app.add_option("--enroll", settings.enroll,
                 "HOST[:7444]: get the nodes certificates there, into --certificates, print the "
                 "time that it took, and end");
  app.add_option("--token-file", settings.token_file,
                 "of --enroll: file with a token for all nodes");
  app.add_option("--at-once", settings.at_once, "of --enroll: nodes that ask at a time")
      ->check(CLI::Range(1U, 64U).description(""));
  auto* const scenario = app.add_option("--scenario", settings.scenario,
                                        "file, as deploy/docs/reference/scenarios.md has it");
  app.add_option("--nodes", settings.nodes, "healthy nodes in place of a scenario")
      ->check(CLI::Range(1U, kMaxNodes).description(""))
      ->excludes(scenario);
  app.add_option("--runner", settings.runner, "railgauge-runner, whose kernels the nodes declare");
  app.add_option(
         "--kernels", settings.kernels,
         "declare these of the runner's kernels alone, by commas; a hello with all has 600 kB")
      ->delimiter(',');
  auto* const at = app.add_option("--at", settings.at, "time of the scenario at the start, as 36h");
  app.add_option("--simulated-clock", settings.simulated_clock,
                 "the file of the controller's simulated clock, whose dates are the scenario's")
      ->excludes(at);
  app.add_option("--dials", settings.dials, "most agents that dial at once")
      ->check(CLI::Range(1U, kMaxNodes).description(""));
  app.add_option("--acknowledged", settings.acknowledged,
                 "file for the key of each point that a controller acknowledged: run, task, "
                 "attempt, rank and sequence, a line each");
  app.add_option("--log-level", settings.log_level, "trace, debug, info, warn or error");
  app.add_option("--log-format", settings.log_format, "text, or json for one object a line")
      ->check(CLI::IsMember({"text", "json"}));
}

// Some noise, so that a fabric of --nodes looks like one.
Result<Scenario> scenario_of(const Settings& settings) {
  if (!settings.scenario.empty()) return read_scenario_file(settings.scenario);
  if (settings.nodes == 0)
    return invalid("neither --scenario nor --nodes is given; --nodes 16 is a healthy fabric");
  return read_scenario(fmt::format("version: 1\nmetadata: {{name: healthy}}\n"
                                   "fabric: {{nodes: {}}}\n"
                                   "noise: [{{kind: gaussian, size: 0.005}}]\n",
                                   settings.nodes),
                       "--nodes");
}

Status check_controller(const Settings& settings) {
  if (api::controllers_of(settings.controller).empty())
    return invalid("no controller is given; use --controller unix:/path or HOST:PORT");
  const bool is_unix = std::ranges::all_of(
      api::controllers_of(settings.controller),
      [](const std::string& controller) { return controller.starts_with("unix:"); });
  if (!settings.certificates.empty() && (settings.insecure || is_unix))
    return invalid("--certificates is for TCP, and not with --insecure");
  if (settings.insecure || is_unix || !settings.certificates.empty()) return {};
  return invalid(
      "controller {}: TCP needs --certificates DIR, or --insecure where nobody else can reach it",
      settings.controller);
}

// Each agent has a connection of its own.
Status raise_descriptors(std::uint32_t nodes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const std::uint64_t wanted = nodes + kSpareDescriptors;
  if (limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted)
    return fail(Code::kResourceExhausted,
                "{} nodes need {} descriptors, the limit is {}; raise it by ulimit -Hn", nodes,
                wanted, limit.rlim_max);
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return {};
}

int complain(const Error& error) {
  std::fprintf(stderr, "railgauge-fleet: %s\n", printable(error.message).c_str());
  return error.code == Code::kInvalidArgument ? kExitUsage : kExitInvalid;
}

// Blocks signals in this thread and in all later ones; they are read from the descriptor.
Fd catch_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The kernels of these names; without names all.
Result<std::vector<KernelInfo>> declared(const KernelList& list,
                                         const std::vector<std::string>& names) {
  std::vector<KernelInfo> kernels;
  for (const KernelInfo& kernel : list.kernels())
    if (names.empty() || std::ranges::count(names, kernel.name()) > 0) kernels.push_back(kernel);
  for (const std::string& name : names)
    if (std::ranges::count(kernels, name, &KernelInfo::name) == 0)
      return invalid(
          "--kernels {}: the runner has no such kernel; railgauge-runner --list names them",
          in_quotes(name));
  return kernels;
}

Result<std::unique_ptr<Fleet>> open_fleet(const Settings& settings) {
  RG_TRY_OK(check_controller(settings));
  Scenario scenario = RG_TRY(scenario_of(settings));
  RG_TRY_OK(raise_descriptors(scenario.fabric.nodes));
  const double at_ns = RG_TRY(parse_duration_ns(settings.at));
  KernelList list = RG_TRY(agent::list_kernels(settings.runner, kListSeconds));
  const std::vector<KernelInfo> kernels = RG_TRY(declared(list, settings.kernels));
  std::shared_ptr<ClockPage> clock;
  // The controller's clock is the real one, so that the scenario's is moved to it.
  if (settings.simulated_clock.empty())
    scenario.begin_unix_seconds = unix_now() - at_ns / kNsPerSecond;
  else
    clock = RG_TRY(ClockPage::open(settings.simulated_clock));
  const double begun_ns =
      clock ? (clock->now() - scenario.begin_unix_seconds) * kNsPerSecond : at_ns;
  spdlog::info("{} modelled nodes, synthetic, dial {}", scenario.fabric.nodes, settings.controller);
  return Fleet::open({.stream = {.controller = settings.controller},
                      .certificates = settings.certificates,
                      .at_ns = static_cast<Nanoseconds>(begun_ns),
                      .dials = settings.dials,
                      .clock = std::move(clock),
                      .acknowledged = settings.acknowledged},
                     std::move(scenario), kernels);
}

Result<EnrolmentTimes> enrol_nodes(const Settings& settings, std::size_t& nodes) {
  if (settings.certificates.empty() || settings.token_file.empty())
    return invalid("--enroll needs --certificates, a folder for the files, and --token-file");
  std::ifstream file(settings.token_file);
  std::string text;
  if (!file || !std::getline(file, text))
    return invalid("--token-file {}: it cannot be read", settings.token_file);
  const Scenario scenario = RG_TRY(scenario_of(settings));
  FleetEnrolment order{.server = RG_TRY(agent::parse_enrol_server(settings.enroll)),
                       .token = RG_TRY(trust::parse_enrolment_token(text)),
                       .folder = settings.certificates,
                       .at_once = settings.at_once};
  for (std::uint32_t node = 0; node < scenario.fabric.nodes; ++node)
    order.names.push_back(node_name(scenario.fabric, node));
  nodes = order.names.size();
  return enrol_fleet(order, unix_now());
}

int run_enrolment(const Settings& settings) {
  ::signal(SIGPIPE, SIG_IGN);
  std::size_t nodes = 0;
  const auto times = enrol_nodes(settings, nodes);
  if (!times) return complain(times.error());
  const double a_second =
      times->all_seconds > 0 ? static_cast<double>(nodes) / times->all_seconds : 0;
  std::printf(
      "%zu nodes enrolled in %.2f s, %.1f a second, %u at once; one took %.3f s (median), "
      "%.3f s at most\n",
      nodes, times->all_seconds, a_second, settings.at_once, times->median_seconds,
      times->slowest_seconds);
  return kExitPassed;
}

int run(const Settings& settings) {
  end_when_exhausted("railgauge-fleet");
  const Fd signals = catch_signals();
  set_up_log({.program = "fleet", .level = settings.log_level, .format = settings.log_format});
  for (const std::string& line : unknown_variables(variable_names())) spdlog::warn("{}", line);
  auto fleet = open_fleet(settings);
  if (!fleet) return complain(fleet.error());
  (*fleet)->run(signals.get(), [](const FleetCounts& counts) {
    spdlog::info(
        "{} attached, {} dial, {} ranks started; last {} ranks prepared within {:.0f} ms; {} "
        "streams "
        "begun, {} failed, {} ended",
        counts.attached, counts.dialling, counts.tasks, counts.burst_ranks, counts.burst_ms,
        counts.streams, counts.failed, counts.ended);
  });
  signalfd_siginfo info{};
  const bool interrupted = ::read(signals.get(), &info, sizeof(info)) == sizeof(info) &&
                           info.ssi_signo == static_cast<std::uint32_t>(SIGINT);
  return interrupted ? kExitInterrupted : kExitTerminated;
}

int main_of(int argc, char** argv) {
  Settings settings;
  CLI::App app("Plays the agents of a modelled fabric; all that they report is synthetic");
  app.set_version_flag(
      "--version", fmt::format("railgauge-fleet {} (commit {}, contract {}.{})", RAILGAUGE_VERSION,
                               build_commit(), api::kContract.major, api::kContract.minor));
  declare(app, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::fputs(folded_help(app.help()).c_str(), stdout) < 0 ? kExitInvalid : kExitPassed;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain({Code::kInvalidArgument, error.what()});
  }
  return settings.enroll.empty() ? run(settings) : run_enrolment(settings);
}

}  // namespace
}  // namespace railgauge::fleet

int main(int argc, char** argv) {
  railgauge::end_search_for_deadlocks();
  return railgauge::fleet::main_of(argc, argv);
}
