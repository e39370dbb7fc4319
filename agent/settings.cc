#include "agent/settings.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "agent/enrol/enrol_client.h"
#include "kernels/core/text/settings_file.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr double kMebi = 1024.0 * 1024.0;
constexpr double kGibi = kMebi * 1024.0;
constexpr double kMostLimit = 1e6;  // in MiB or GiB
constexpr const char* kPreflightGroup = "Preflight of this node, with no controller";

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The path of a program that is installed beside this one.
std::string beside_this(const char* program) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / program)
      .string();
}

void declare_runner(CLI::App& app, Settings& settings) {
  TaskOptions& task = settings.agent.supervisor.task;
  task.runner = beside_this("railgauge-runner");
  task.confinement.keeper = beside_this("railgauge-launch-shim");
  app.add_option("--runner", task.runner, "path of railgauge-runner, by default beside the agent")
      ->default_str("");
  app.add_option("--runner-environment", settings.runner_environment,
                 "more variables that a runner gets, by commas; NAME or BEGINNING*");
  app.add_option("--runner-landlock", settings.agent.supervisor.task.confinement.landlock,
                 "hide the agent's key and state from runners, and other tasks' processes");
  app.add_option("--runner-core-mib", settings.runner_core_mib,
                 "largest core file of a runner; 0: none")
      ->check(CLI::Range(0.0, kMostLimit).description(""));
  app.add_option("--runner-file-gib", settings.runner_file_gib,
                 "largest file of a runner, shared memory included")
      ->check(CLI::Range(0.001, kMostLimit).description(""));
}

void declare_guard(CLI::App& app, AgentOptions& agent) {
  BusyOptions& busy = agent.busy;
  app.add_option("--busy-sources", busy.sources,
                 std::string("what keeps this node from being measured: auto (those that are "
                             "present), none, or some of ") +
                     busy_source_names());
  app.add_option("--busy-marker", busy.marker, "while this file is there the node is busy");
  app.add_option("--busy-jobs-folder", busy.jobs_folder,
                 "folder with a file for each job here, made by a prolog, removed by an epilog");
  app.add_option("--busy-kubelet-socket", busy.kubelet_socket,
                 "the kubelet's pod-resources socket");
  app.add_option("--busy-own-pod", busy.own_pod, "NAMESPACE/NAME of the agent's own pod");
  app.add_option("--busy-hook", busy.hook,
                 "command that reports: exit code 0 idle, 1 busy with the reason printed");
  app.add_option("--busy-load-per-cpu", busy.load_per_cpu,
                 "busy above so much load a CPU beside ours; 0: load is not looked at");
  app.add_option("--busy-gpu-percent", busy.gpu_percent,
                 "busy when a GPU computes longer than this without a process to be seen");
  app.add_option("--busy-settle-seconds", busy.settle_seconds,
                 "idle again after so long without a reason");
  app.add_option("--watch-seconds", agent.watch.seconds,
                 "between two looks at error counters and the kernel's log; 0: none");
  app.add_option("--watch-kernel-log", agent.watch.kernel_log, "device of the kernel's log");
}

void declare_agent(CLI::App& app, Settings& settings) {
  AgentOptions& agent = settings.agent;
  LinkOptions& link = agent.link;
  agent.name = host_name();
  agent.state_dir = "/var/lib/railgauge-agent";
  app.add_option("--controller", link.controller,
                 "HOST:PORT or unix:/path of the controller; of a site with several all of them, "
                 "HOST:PORT,HOST:PORT: the one that is active counts");
  app.add_option("--name", agent.name, "name of this node");
  app.add_option("--labels", settings.labels, "labels of this node: rack=rack7,pod=p1");
  app.add_option("--labels-file", agent.labels_file,
                 "more labels, a line each, as Kubernetes' downward API writes them");
  app.add_option("--state-dir", agent.state_dir, "folder for identity and spool");
  app.add_option("--spool-keep-hours", agent.spool_keep_hours,
                 "how long records stay after the controller stored them, should it lose them")
      ->check(CLI::NonNegativeNumber);
  declare_runner(app, settings);
  app.add_option("--metrics-listen", settings.metrics_listen, "ADDRESS:PORT of /metrics, or none");
  app.add_option("--web-config-file", settings.web_config_file,
                 "TLS and passwords of /metrics, in the form of Prometheus' exporters; by default "
                 "plain HTTP for anybody");
  app.add_option("--tls-cert", link.tls_cert, "certificate of this agent (PEM)");
  app.add_option("--tls-key", link.tls_key, "its private key (PEM)");
  app.add_option("--tls-ca", link.tls_ca, "CA that signed the controller's certificate (PEM)");
  app.add_option("--renew-from", settings.renew_from,
                 "HOST[:7444] of the enrolment port of each controller, several by commas: where "
                 "the certificate is renewed when a third of its life is left; by default it is "
                 "not");
  app.add_flag("--insecure", link.insecure, "plain TCP, without certificates");
  // The empty group keeps both out of the help: they serve tests and containers.
  app.add_option("--sysfs-root", agent.sysfs_root, "folder read in place of /sys")->group("");
  app.add_option("--proc-root", agent.proc_root, "folder read in place of /proc for GPUs")
      ->group("");
  app.add_option("--mpi-installations", settings.mpi_installations,
                 "MPIs beside those that are found: NAME=openmpi:/PREFIX or NAME=mpich:/PREFIX, by "
                 "commas");
  app.add_option(
      "--data-address", settings.data_address,
      "this node's IPv4 address on the data network, where its network does not show it");
  declare_guard(app, agent);
  app.add_flag("--inventory", settings.print_inventory,
               "print what is known of this node and how long it took, then end");
  app.add_flag("--check-config", settings.check_config,
               "print the settings that are no default, each with its source, then end");
  app.add_option("--log-level", settings.log_level, "what to log")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.add_option("--log-format", settings.log_format, "text, or json for one object a line")
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option(
      "--config", settings.config,
      "settings file, key = value lines; those of agent.d beside agent.conf come after it");
  for (CLI::Option* option : app.get_options()) {
    option->take_last();  // the last one counts: wrappers put their flags in front of the user's
    const std::string& name = option->get_single_name();
    if (name != "help" && name != "version") option->envname(setting_variable(name));
  }
}

void declare_preflight(CLI::App& app, PreflightCommand& command) {
  app.option_defaults()->group(kPreflightGroup);
  app.add_flag("--preflight", command.asked, "check this node, print what was found, end");
  app.add_option("--format", command.format, "of --preflight")
      ->check(CLI::IsMember({"table", "json"}));
  app.add_option("--require", command.require, "checks whose unknown counts, by commas");
  app.add_flag("--strict", command.strict, "every unknown counts");
  app.add_flag("--probe", command.probe, "register memory of idle GPUs with their NICs");
  app.add_option("--root", command.root, "a tree of files read in place of the machine");
}

// The flags that the settings file may have.
std::vector<std::string> setting_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_single_name();
    if (option->get_group() == kPreflightGroup) continue;
    if (name != "help" && name != "version" && name != "config" && name != "check-config")
      names.push_back(name);
  }
  return names;
}

}  // namespace

void declare_settings(CLI::App& app, Settings& settings) {
  app.option_defaults()->always_capture_default();
  declare_agent(app, settings);
  declare_preflight(app, settings.preflight);
}

Status apply_file(CLI::App& app, Settings& settings) {
  const bool named = app.get_option("--config")->count() > 0;
  for (const auto& [name, setting] :
       RG_TRY(read_settings_files(settings.config, setting_names(app), named))) {
    CLI::Option* option = app.get_option("--" + name);
    if (option->count() > 0) continue;
    try {
      option->add_result(setting.value);
      option->run_callback();
      settings.from_file[name] = setting.source;
    } catch (const CLI::Error& error) {
      return fail(Code::kInvalidArgument, fmt::format("{}: {}", setting.source, error.what()));
    }
  }
  const auto labels = parse_labels(settings.labels);
  if (!labels) return fail(Code::kInvalidArgument, "--labels: " + labels.error().message);
  settings.agent.labels = *labels;
  settings.agent.mpi_installations = RG_TRY(read_installations(settings.mpi_installations));
  Confinement& confinement = settings.agent.supervisor.task.confinement;
  confinement.variables = RG_TRY(read_variables(settings.runner_environment));
  confinement.core_bytes = static_cast<std::uint64_t>(settings.runner_core_mib * kMebi);
  confinement.file_bytes = static_cast<std::uint64_t>(settings.runner_file_gib * kGibi);
  return {};
}

Status check_settings(const Settings& settings) {
  if (settings.agent.name.empty())
    return fail(Code::kInvalidArgument, "the host has no name; use --name");
  if (valid_utf8(settings.agent.name) != settings.agent.name)
    return fail(Code::kInvalidArgument, "--name: is no UTF-8");
  if (const auto sources = read_busy_sources(settings.agent.busy); !sources)
    return tl::unexpected(sources.error());
  if (!(settings.agent.watch.seconds >= 0 && settings.agent.watch.seconds <= 3600))
    return fail(Code::kInvalidArgument, "--watch-seconds: not between 0 and 3600");
  if (!settings.renew_from.empty()) {
    if (settings.agent.link.tls_cert.empty()) return invalid("--renew-from needs --tls-cert");
    if (const auto servers = parse_enrol_servers(settings.renew_from); !servers)
      return invalid("--renew-from {}: HOST or HOST:PORT is needed, or several by commas",
                     in_quotes(settings.renew_from));
  }
  return check_link_options(settings.agent.link);
}

std::string settings_in_force(const CLI::App& app, const Settings& settings) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_single_name();
    if (option->count() == 0 || name == "check-config") continue;
    const std::string value = fmt::format("{}", fmt::join(option->results(), ","));
    std::string source = "--" + name;
    if (const auto file = settings.from_file.find(name); file != settings.from_file.end())
      source = file->second;
    else if (const char* variable = std::getenv(option->get_envname().c_str());
             variable != nullptr && value == variable)
      source = option->get_envname();
    lines += fmt::format("{} = {}  # {}\n", setting_key(name), value, source);
  }
  return lines;
}

std::string agent_settings_page() {
  Settings settings;
  CLI::App app;
  declare_settings(app, settings);
  std::string page =
      "# Settings of railgauge-agent\n\n"
      "Rendered from the flags in `agent/settings.cc`; a test compares the two. A flag comes\n"
      "before its environment variable, the variable before the settings file, and the file\n"
      "before the default. The file has lines `key = value` with the names below.\n\n"
      "| flag | variable | default | meaning |\n|---|---|---|---|\n";
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_single_name();
    if (option->get_group() == kPreflightGroup || name == "help") continue;
    std::string standard = option->get_default_str();
    if (name == "name")
      standard = "the host's name";
    else if (!standard.empty())
      standard = fmt::format("`{}`", standard);
    page += fmt::format("| `--{}` | `{}` | {} | {} |\n", name, option->get_envname(), standard,
                        option->get_description());
  }
  return page;
}

}  // namespace railgauge::agent
