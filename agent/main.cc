// railgauge-agent: wiring and signals.
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "agent/enrol/enroll_command.h"
#include "agent/enrol/enrolled_files.h"
#include "agent/enrol/renewer.h"
#include "agent/inventory/print.h"
#include "agent/inventory/read_inventory.h"
#include "agent/os/children.h"
#include "agent/preflight/command.h"
#include "agent/settings.h"
#include "controller/api/contract.h"
#include "controller/api/grpc_locks.h"
#include "controller/log/log.h"
#include "controller/log/service_manager.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/exhaustion.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/variables.h"
#include "kernels/core/version/commit.h"

namespace railgauge::agent {
namespace {
// Bounds glibc's arenas: one for each thread would waste resident memory.
constexpr int kMallocArenas = 2;

// Once the log is set up; a log of json has no line of another form.
int end_start(const Settings& settings, const Error& error) {
  if (settings.log_format == "json")
    spdlog::error("start: {}", error.message);
  else
    std::fprintf(stderr, "railgauge-agent: %s\n", printable(error.message).c_str());
  return kExitInvalid;
}

int complain(const Error& error, int exit_code) {
  std::fprintf(stderr, "railgauge-agent: %s\n", printable(error.message).c_str());
  return exit_code;
}

// Blocks signals in this thread and in all later ones; they are read from the descriptor.
Fd catch_signals(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// A key that others can read is refused at the start. Files that are missing or do not fit yet are
// tried at each dial, since a renewal may be under way.
Status check_key(const LinkOptions& link) {
  if (link.tls_key.empty()) return {};
  const auto key = trust::read_key("tls-key", link.tls_key);
  if (key || key.error().code != Code::kPermissionDenied) return {};
  return tl::unexpected(key.error());
}

Status serve(Metrics& metrics, const std::string& address, const std::string& web_config) {
  if (address == "none") return {};
  const int port = RG_TRY(metrics.listen(address, web_config));
  spdlog::info("metrics on {}, port {}", address, port);
  return {};
}

// Files of --tls-cert and its like, wherever they are: enrolled nodes have them in the state
// folder. Absent: certificates are renewed by hand.
std::unique_ptr<Renewer> renewer_of(const Settings& settings) {
  if (settings.renew_from.empty()) return nullptr;
  auto servers = parse_enrol_servers(settings.renew_from);
  if (!servers) return nullptr;  // check_settings() refused it
  const LinkOptions& link = settings.agent.link;
  return std::make_unique<Renewer>(
      std::move(*servers),
      trust::PemFiles{.certificate = link.tls_cert, .key = link.tls_key, .authority = link.tls_ca});
}

// A certificate of one set beside a key of another would keep the agent from attaching. An `enroll`
// that is still under way finishes its files itself.
void finish_cut_enrolment(const LinkOptions& link) {
  const std::string folder = std::filesystem::path(link.tls_cert).parent_path().string();
  if (folder.empty() || !NodeFiles::has_cut(folder)) return;
  constexpr double kWaitSeconds = 5;
  if (const auto files = NodeFiles::open_folder(folder, kWaitSeconds); !files)
    spdlog::warn("TLS: a replacement of the certificate that was cut: {}", files.error().message);
  else
    spdlog::info("TLS: a replacement of the certificate that was cut is finished or undone, in {}",
                 folder);
}

// Exports the settings that runners read from the environment, whatever their origin.
void hand_on(const Settings& settings) {
  ::setenv("RAILGAUGE_MPI_INSTALLATIONS", settings.mpi_installations.c_str(), 1);
  ::setenv("RAILGAUGE_DATA_ADDRESS", settings.data_address.c_str(), 1);
  ::setenv("RAILGAUGE_LOG_FORMAT", settings.log_format.c_str(), 1);
}

// Keeps a process of the same user, such as a runner, from reading the agent's memory, where the
// key is, and from tracing it. Linux writes no core file of the agent then.
void hide_memory() { ::prctl(PR_SET_DUMPABLE, 0); }

// All settings of this start, read anew.
Status read_settings(int argc, char** argv, Settings& settings) {
  CLI::App app;
  declare_settings(app, settings);
  EnrollCommand enroll;
  declare_enroll(app, enroll);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return invalid("{}", error.what());
  }
  return apply_file(app, settings);
}

// Another setting than the level needs a restart, since tasks, spool and streams depend on it.
void reload_log_level(int argc, char** argv, std::string& in_force) {
  Settings now;
  if (const Status read = read_settings(argc, argv, now); !read)
    return spdlog::error("SIGHUP: the settings stay as they are: {}", read.error().message);
  if (now.log_level == in_force) return;
  set_log_level(now.log_level);
  spdlog::warn("SIGHUP: log_level is {} from now on, after {}", now.log_level, in_force);
  in_force = now.log_level;
}

int run(const Settings& settings, int argc, char** argv) {
  ServiceManager manager = ServiceManager::of_environment();
  end_when_exhausted("railgauge-agent");
  hide_memory();
  adopt_orphans();
  hand_on(settings);
  const Fd signals = catch_signals({SIGTERM, SIGINT});
  const Fd hangups = catch_signals({SIGHUP});
  set_up_log({.program = "agent",
              .level = settings.log_level,
              .format = settings.log_format,
              .node = settings.agent.name});
  for (const std::string& line : unknown_variables(variable_names())) spdlog::warn("{}", line);
  if (settings.agent.link.insecure)
    spdlog::warn("--insecure: the link to {} is neither encrypted nor authenticated",
                 settings.agent.link.controller);
  finish_cut_enrolment(settings.agent.link);
  if (const Status status = check_key(settings.agent.link); !status)
    return end_start(settings, status.error());
  Metrics metrics;
  if (const Status status = serve(metrics, settings.metrics_listen, settings.web_config_file);
      !status)
    return end_start(settings, status.error());
  AgentOptions options = settings.agent;
  options.web_config = settings.web_config_file;
  options.manager = &manager;
  options.reload = [argc, argv, level = settings.log_level]() mutable {
    reload_log_level(argc, argv, level);
  };
  auto agent = Agent::open(std::move(options), metrics);
  if (!agent) return end_start(settings, agent.error());
  const std::unique_ptr<Renewer> renewer = renewer_of(settings);
  (*agent)->run(signals.get(), hangups.get());
  signalfd_siginfo info{};
  const bool interrupted = ::read(signals.get(), &info, sizeof(info)) == sizeof(info) &&
                           info.ssi_signo == static_cast<std::uint32_t>(SIGINT);
  return interrupted ? kExitInterrupted : kExitTerminated;
}

// The time limit allows for GPUs that NVML has to wake.
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

// The start's own checks have passed: prints what the agent would run with.
int show_settings(const CLI::App& app, const Settings& settings) {
  return std::fputs(settings_in_force(app, settings).c_str(), stdout) < 0 ? kExitInvalid : 0;
}

int main_of(int argc, char** argv) {
  Settings settings;
  CLI::App app("Runs measurements on this node for the Railgauge controller");
  app.set_version_flag(
      "--version", fmt::format("railgauge-agent {} (commit {}, contract {}.{})", RAILGAUGE_VERSION,
                               build_commit(), api::kContract.major, api::kContract.minor));
  declare_settings(app, settings);
  EnrollCommand enroll;
  const CLI::App* asks_for_certificate = declare_enroll(app, enroll);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::fputs(folded_help(app.help()).c_str(), stdout) < 0 ? kExitInvalid : kExitPassed;
  } catch (const CLI::Success& asked) {  // --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return complain({Code::kInvalidArgument, error.what()}, kExitUsage);
  }
  if (asks_for_certificate->parsed()) return run_enroll_command(enroll);
  Status status = apply_file(app, settings);
  if (status && settings.preflight.asked)
    return run_preflight_command(settings.preflight, settings.agent.name,
                                 settings.agent.supervisor.task.runner, settings.agent.state_dir);
  if (status && settings.print_inventory) return show_inventory(settings.agent);
  if (status) status = check_settings(settings);
  if (!status) return complain(status.error(), kExitUsage);
  return settings.check_config ? show_settings(app, settings) : run(settings, argc, argv);
}
}  // namespace
}  // namespace railgauge::agent

int main(int argc, char** argv) {
  ::mallopt(M_ARENA_MAX, railgauge::agent::kMallocArenas);
  railgauge::end_search_for_deadlocks();
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // the link logs each failure itself, once
  railgauge::end_program(railgauge::agent::main_of(argc, argv));
}
