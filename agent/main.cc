// railgauge-agent: wiring, settings and signals.
#include <malloc.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "agent/inventory/print.h"
#include "agent/inventory/read_inventory.h"
#include "agent/preflight/command.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/settings_file.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr const char* kDefaultConfig = "/etc/railgauge/agent.conf";
// Without a bound glibc gives each thread an arena of its own: resident memory for nothing.
constexpr int kMallocArenas = 2;

constexpr const char* kPreflightGroup = "Preflight of this node, with no controller";

struct Settings {
  AgentOptions agent;
  PreflightCommand preflight;
  std::string config = kDefaultConfig;
  std::string metrics_listen = "127.0.0.1:7471";
  std::string log_level = "info";
  bool print_inventory = false;
  std::string mpi_installations;
  std::string data_address;
};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// railgauge-runner beside this binary.
std::string default_runner() {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() /
          "railgauge-runner")
      .string();
}

void declare_guard(CLI::App& app, AgentOptions& agent) {
  BusyOptions& busy = agent.busy;
  app.add_option("--busy-sources", busy.sources,
                 std::string("what keeps this node from being measured: auto (those that are "
                             "present), none, or some of ") +
                     kBusySources)
      ->capture_default_str();
  app.add_option("--busy-marker", busy.marker, "while this file is there the node is busy")
      ->capture_default_str();
  app.add_option("--busy-jobs-folder", busy.jobs_folder,
                 "folder with a file for each job here, made by a prolog, removed by an epilog")
      ->capture_default_str();
  app.add_option("--busy-kubelet-socket", busy.kubelet_socket, "the kubelet's pod-resources socket")
      ->capture_default_str();
  app.add_option("--busy-own-pod", busy.own_pod, "NAMESPACE/NAME of the agent's own pod");
  app.add_option("--busy-hook", busy.hook,
                 "command that tells: exit code 0 idle, 1 busy with the reason printed");
  app.add_option("--busy-load-per-cpu", busy.load_per_cpu,
                 "busy above so much load a CPU beside ours; 0: load is not looked at")
      ->capture_default_str();
  app.add_option("--busy-gpu-percent", busy.gpu_percent,
                 "busy when a GPU computes longer than this without a process to be seen")
      ->capture_default_str();
  app.add_option("--busy-settle-seconds", busy.settle_seconds,
                 "idle again after so long without a reason")
      ->capture_default_str();
  app.add_option("--watch-seconds", agent.watch.seconds,
                 "between two looks at error counters and the kernel's log; 0: none")
      ->capture_default_str();
  app.add_option("--watch-kernel-log", agent.watch.kernel_log, "device of the kernel's log")
      ->capture_default_str();
}

void declare(CLI::App& app, Settings& settings) {
  AgentOptions& agent = settings.agent;
  LinkOptions& link = agent.link;
  agent.name = host_name();
  agent.state_dir = "/var/lib/railgauge";
  agent.supervisor.task.runner = default_runner();
  app.add_option("--controller", link.controller, "HOST:PORT or unix:/path of the controller");
  app.add_option("--name", agent.name, "name of this node")->capture_default_str();
  app.add_option("--state-dir", agent.state_dir, "folder for identity and spool")
      ->capture_default_str();
  app.add_option("--spool-keep-hours", agent.spool_keep_hours,
                 "how long records stay after the controller stored them, should it lose them")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--runner", agent.supervisor.task.runner, "path of railgauge-runner")
      ->capture_default_str();
  app.add_option("--metrics-listen", settings.metrics_listen, "ADDRESS:PORT of /metrics, or none")
      ->capture_default_str();
  app.add_option("--tls-cert", link.tls_cert, "certificate of this agent (PEM)");
  app.add_option("--tls-key", link.tls_key, "its private key (PEM)");
  app.add_option("--tls-ca", link.tls_ca, "CA that signed the controller's certificate (PEM)");
  app.add_flag("--insecure", link.insecure, "plain TCP, without certificates");
  app.add_option("--sysfs-root", agent.sysfs_root, "folder that stands for /sys")
      ->capture_default_str();
  app.add_option("--proc-root", agent.proc_root, "folder that stands for /proc, for GPUs")
      ->capture_default_str();
  app.add_option("--mpi-installations", settings.mpi_installations,
                 "MPIs beside those that are found: NAME=openmpi:/PREFIX or NAME=mpich:/PREFIX, by "
                 "commas");
  app.add_option("--data-address", settings.data_address,
                 "this node's IPv4 address on the data network, where its network does not tell");
  declare_guard(app, agent);
  app.add_flag("--inventory", settings.print_inventory,
               "print what is known of this node and how long it took, then end");
  app.add_option("--log-level", settings.log_level, "what to log")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_option("--config", settings.config, "settings file, key = value lines")
      ->capture_default_str();
  for (CLI::Option* option : app.get_options()) {
    option->take_last();  // wrappers put theirs in front of what they pass on
    const std::string& name = option->get_single_name();
    if (name != "help" && name != "version") option->envname(setting_variable(name));
  }
}

void declare_preflight(CLI::App& app, PreflightCommand& command) {
  app.add_flag("--preflight", command.asked, "check this node, print what was found, end")
      ->group(kPreflightGroup);
  app.add_option("--format", command.format, "of --preflight")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str()
      ->group(kPreflightGroup);
  app.add_option("--require", command.require, "checks whose unknown counts, by commas")
      ->group(kPreflightGroup);
  app.add_flag("--strict", command.strict, "every unknown counts")->group(kPreflightGroup);
  app.add_flag("--probe", command.probe, "register memory of idle GPUs with their NICs")
      ->group(kPreflightGroup);
  app.add_option("--root", command.root, "a tree of files that stands for the machine")
      ->group(kPreflightGroup);
}

// The flags that may stand in the settings file.
std::vector<std::string> setting_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_single_name();
    if (option->get_group() == kPreflightGroup) continue;
    if (name != "help" && name != "version" && name != "config") names.push_back(name);
  }
  return names;
}

// Fills in what neither flag nor variable gave. A file that was named must be there.
Status apply_file(CLI::App& app, const std::string& path) {
  const bool named = app.get_option("--config")->count() > 0;
  for (const auto& [name, setting] : RG_TRY(read_settings_file(path, setting_names(app), named))) {
    CLI::Option* option = app.get_option("--" + name);
    if (option->count() > 0) continue;
    try {
      option->add_result(setting.value);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return fail(Code::kInvalidArgument, fmt::format("{}: {}", setting.source, error.what()));
    }
  }
  return {};
}

Status take_installations(Settings& settings) {
  settings.agent.mpi_installations = RG_TRY(read_installations(settings.mpi_installations));
  return {};
}

Status check(const Settings& settings) {
  if (settings.agent.name.empty())
    return fail(Code::kInvalidArgument, "the host has no name; use --name");
  if (valid_utf8(settings.agent.name) != settings.agent.name)
    return fail(Code::kInvalidArgument, "--name: is no UTF-8");
  if (const auto sources = read_busy_sources(settings.agent.busy); !sources)
    return tl::unexpected(sources.error());
  if (!(settings.agent.watch.seconds >= 0 && settings.agent.watch.seconds <= 3600))
    return fail(Code::kInvalidArgument, "--watch-seconds: not between 0 and 3600");
  return check_link_options(settings.agent.link);
}

int complain(const Error& error, int exit_code) {
  std::fprintf(stderr, "railgauge-agent: %s\n", error.message.c_str());
  return exit_code;
}

void set_up_log(const std::string& level) {
  auto logger = spdlog::stderr_logger_mt("agent");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

// Blocks the signals that end the agent, in this thread and all that come after it.
Fd catch_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

Status serve(Metrics& metrics, const std::string& address) {
  if (address == "none") return {};
  const int port = RG_TRY(metrics.listen(address));
  spdlog::info("metrics on {}, port {}", address, port);
  return {};
}

// Runners read these two themselves, whoever said them.
void hand_on(const Settings& settings) {
  ::setenv("RAILGAUGE_MPI_INSTALLATIONS", settings.mpi_installations.c_str(), 1);
  ::setenv("RAILGAUGE_DATA_ADDRESS", settings.data_address.c_str(), 1);
}

int run(const Settings& settings) {
  hand_on(settings);
  const Fd signals = catch_signals();
  set_up_log(settings.log_level);
  if (settings.agent.link.insecure)
    spdlog::warn("--insecure: the link to {} is neither encrypted nor authenticated",
                 settings.agent.link.controller);
  Metrics metrics;
  if (const Status status = serve(metrics, settings.metrics_listen); !status)
    return complain(status.error(), kExitInvalid);
  auto agent = Agent::open(settings.agent, metrics);
  if (!agent) return complain(agent.error(), kExitInvalid);
  (*agent)->run(signals.get());
  signalfd_siginfo info{};
  const bool interrupted = ::read(signals.get(), &info, sizeof(info)) == sizeof(info) &&
                           info.ssi_signo == static_cast<std::uint32_t>(SIGINT);
  return interrupted ? kExitInterrupted : kExitTerminated;
}

// NVML gets the time that a GPU takes to wake.
int show_inventory(const AgentOptions& agent) {
  InventoryOptions options = inventory_options(agent);
  options.source_seconds = 2;
  const double begin_ns = monotonic_now_ns();
  const Inventory inventory = read_inventory(options);
  const double took_ms = (monotonic_now_ns() - begin_ns) / 1e6;
  const std::string text =
      print_inventory(inventory, RAILGAUGE_VERSION) + fmt::format("all took {:.1f} ms\n", took_ms);
  return std::fputs(text.c_str(), stdout) < 0 ? kExitInvalid : 0;
}

int main_of(int argc, char** argv) {
  Settings settings;
  CLI::App app("Runs measurements on this node for the Railgauge controller");
  app.set_version_flag("--version", RAILGAUGE_VERSION);
  declare(app, settings);
  declare_preflight(app, settings.preflight);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain({Code::kInvalidArgument, error.what()}, kExitUsage);
  }
  Status status = apply_file(app, settings.config);
  if (status) status = take_installations(settings);
  if (status && settings.preflight.asked)
    return run_preflight_command(settings.preflight, settings.agent.name,
                                 settings.agent.supervisor.task.runner, settings.agent.state_dir);
  if (status && settings.print_inventory) return show_inventory(settings.agent);
  if (status) status = check(settings);
  return status ? run(settings) : complain(status.error(), kExitUsage);
}
}  // namespace
}  // namespace railgauge::agent

int main(int argc, char** argv) {
  ::mallopt(M_ARENA_MAX, railgauge::agent::kMallocArenas);
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // the link says itself what went wrong, once
  return railgauge::agent::main_of(argc, argv);
}
