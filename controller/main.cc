// railgauge-controller: plans and drives runs, keeps their results, answers people's tools.
#include <grpc/support/log.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/api/grpc_locks.h"
#include "controller/config.h"
#include "controller/deliver/send.h"
#include "controller/history/sql_process.h"
#include "controller/listen/descriptors.h"
#include "controller/log/log.h"
#include "controller/log/service_manager.h"
#include "controller/plan/topology/site.h"
#include "controller/server.h"
#include "controller/store/upkeep/backup.h"
#include "controller/turn.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/exhaustion.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/help.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/variables.h"
#include "kernels/core/version/commit.h"

namespace railgauge {
namespace {

constexpr double kDrainSeconds = 20;  // for running tasks to end after a signal
// For the stop itself: the store commits its queue in 30 s at most. With the drain it is less than
// the TimeoutStopSec of the service.
constexpr unsigned kStopSeconds = 35;

struct CommandLine {
  Values flags;
  std::string config;   // "" when not given
  std::string restore;  // likewise
  bool check_config = false;
  bool take_over = false;
};

// Exits by itself for --help, --version and wrong use.
CommandLine parse_command_line(int argc, char** argv) {
  CLI::App app{
      "Measures a GPU cluster's fabric through the agents on its nodes.\n"
      "Each flag --some-name is also the variable RAILGAUGE_SOME_NAME and the key some_name of "
      "the settings file."};
  std::map<std::string, std::string> values;
  std::map<std::string, bool> switches;
  CommandLine parsed;
  app.add_option("--config", parsed.config, fmt::format("settings file [{}]", kDefaultConfigPath));
  app.add_option("--restore", parsed.restore,
                 "put this backup in the database's place and end; the old file is kept beside it");
  app.set_version_flag("--version",
                       fmt::format("railgauge-controller {} (commit {}, contract {}.{}, schema {})",
                                   RAILGAUGE_VERSION, build_commit(), api::kContract.major,
                                   api::kContract.minor, kSchemaVersion));
  app.add_flag("--take-over", parsed.take_over,
               "with --standby: take the site over although the last active controller had not "
               "admitted this one; only where no other one is alive");
  app.add_flag("--check-config", parsed.check_config,
               "print the settings that are no default, each with its source, then end");
  for (const SettingInfo& setting : settings()) {
    const std::string name(setting.name);
    std::string summary(setting.summary);
    if (!setting.default_value.empty() && !setting.is_switch)
      summary += fmt::format(" [{}]", setting.default_value);
    if (setting.is_switch)
      app.add_flag("--" + name, switches[name], summary);
    else
      app.add_option("--" + name, values[name], summary)->type_name("TEXT");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", folded_help(app.help()));
    std::exit(kExitPassed);
  } catch (const CLI::CallForVersion& version) {
    std::exit(app.exit(version));
  } catch (const CLI::Error& error) {
    fmt::print(stderr, "railgauge-controller: {}; --help lists the flags\n",
               printable(error.what()));
    std::exit(kExitUsage);
  }
  for (const auto& [name, value] : values)
    if (app.count("--" + name) > 0) parsed.flags[name] = value;
  for (const auto& [name, on] : switches)
    if (app.count("--" + name) > 0) parsed.flags[name] = on ? "true" : "false";
  return parsed;
}

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<SettingsFile> read_file(const CommandLine& command_line) {
  const std::string named = command_line.config.empty()
                                ? environment("RAILGAUGE_CONFIG").value_or("")
                                : command_line.config;
  return read_settings_file(named.empty() ? std::string(kDefaultConfigPath) : named,
                            setting_names(), !named.empty());
}

// The settings, and the text of each.
struct ChosenConfig {
  Config config{};
  Values texts{};
};
Result<ChosenConfig> read_config(const CommandLine& command_line) {
  const SettingsFile file = RG_TRY(read_file(command_line));
  Config config = RG_TRY(resolve(command_line.flags, environment, file));
  std::error_code error;
  if (config.site_profile.empty() && std::filesystem::exists(kDefaultSitePath, error))
    config.site_profile = kDefaultSitePath;
  return ChosenConfig{.config = std::move(config),
                      .texts = chosen_values(command_line.flags, environment, file)};
}

// For --check-config, after the settings were resolved: they and the site profile are in order, or
// the first problem in one line.
Result<std::string> check_config(const CommandLine& command_line, const Config& config) {
  std::string lines =
      settings_in_force(command_line.flags, environment, RG_TRY(read_file(command_line)));
  for (const deliver::Target& target : RG_TRY(deliver::read_targets(config.deliver)))
    lines += fmt::format("# {}: reports go to {}\n", target.name, target.where);
  if (config.site_profile.empty()) return lines;
  const plan::Site site = RG_TRY(plan::read_site_file(config.site_profile));
  return lines +
         fmt::format("# {}: in order, {} defaults\n", config.site_profile, site.defaults.size());
}

int show_config(const CommandLine& command_line, const Config& config) {
  const Result<std::string> lines = check_config(command_line, config);
  if (!lines) {
    fmt::print(stderr, "railgauge-controller: {}\n", printable(lines.error().message));
    return kExitUsage;
  }
  fmt::print("{}", *lines);
  return kExitPassed;
}

void set_up_logging(const Config& config) {
  set_up_log({.program = "controller", .level = config.log_level, .format = config.log_format});
  // Keep only gRPC's lines about refused connections (TLS): nothing else reports these.
  gpr_set_log_function([](gpr_log_func_args* line) {
    static OnceAMinute failed_handshakes;  // a peer causes them at will
    if (std::string_view(line->message).find("Handshake failed") == std::string_view::npos)
      return spdlog::debug("gRPC: {}", line->message);
    if (const auto times = failed_handshakes.note(fleet::monotonic_seconds()))
      spdlog::warn("gRPC: {} ({} failed handshakes since the last line)", line->message, *times);
  });
}

// Waits for one of the set, or `seconds`; 0 when none came.
int wait_for_signal(const sigset_t& signals, double seconds) {
  constexpr double kNanosecondsPerSecond = 1e9;
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_nsec =
      static_cast<long>((seconds - static_cast<double>(limit.tv_sec)) * kNanosecondsPerSecond);
  const int signal = ::sigtimedwait(&signals, nullptr, &limit);
  return signal > 0 ? signal : 0;
}

// SIGHUP of logrotate: later lines go to a new file.
void reopen_logs(Server& server) {
  if (const Status reopened = server.reopen_logs(); reopened)
    spdlog::info("SIGHUP: the audit log is opened anew");
  else
    spdlog::error("SIGHUP: {}", reopened.error().message);
}

// The last resort, which needs neither memory nor a thread nor a lock.
void end_overdue_stop(int /*signal*/) {
  constexpr std::string_view kLine =
      "railgauge-controller: stop: a part of it hangs; the process ends at once, and what it has "
      "acknowledged is kept\n";
  static_cast<void>(::write(STDERR_FILENO, kLine.data(), kLine.size()) < 0);
  ::_exit(kExitInvalid);
}

// From now on the process ends within so many seconds, whatever hangs.
void end_within(unsigned seconds) {
  ::signal(SIGALRM, end_overdue_stop);
  ::alarm(seconds);
}

// A stop that is asked for while the program starts: its signal waits until the start has ended.
void look_for_stop(int /*signal*/) {
  sigset_t pending;
  ::sigpending(&pending);
  if (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1)
    end_within(kStopSeconds);
  else
    ::alarm(1);
}

Result<std::unique_ptr<Server>> start_server(const Config& config, fleet::Term term) {
  ::signal(SIGALRM, look_for_stop);
  ::alarm(1);
  failpoint("controller.starting");
  Result<std::unique_ptr<Server>> server = Server::start(config, {.term = std::move(term)});
  ::alarm(0);
  return server;
}

// The files may name other settings now.
void reload_settings(Server& server, const CommandLine& command_line, Values& in_force) {
  const Result<ChosenConfig> now = read_config(command_line);
  if (!now) return server.refuse_settings(now.error());
  if (const Status done = server.reload(now->config, changes_between(in_force, now->texts)); !done)
    return server.refuse_settings(done.error());
  take_reloaded(in_force, now->texts);
}

// A log of json has no line of another form.
int end_start(const Config& config, const Error& error) {
  if (config.log_format == "json")
    spdlog::error("start: {}", error.message);
  else
    fmt::print(stderr, "railgauge-controller: {}\n", printable(error.message));
  return error.code == Code::kInvalidArgument ? kExitUsage : kExitInvalid;
}

// Waits as a standby; `signal`: that ended the wait, 0: it is this controller's turn. The service
// manager hears of a start that is complete and of a loop that lives, as it does of an active
// controller: a standby is at work. A deposed controller is watched while it opens its database
// as well, and an update may have a migration then, for which no loop runs yet.
Result<Turn> stand_by(const Config& config, const SelfStart& again, ServiceManager& manager,
                      const sigset_t& signals, int& signal) {
  constexpr auto kLook = std::chrono::milliseconds(200);
  const std::string state = fmt::format("a standby of site {}", config.mirror.site);
  std::atomic<bool> is_open = false;
  std::jthread signs([&] {
    for (; !is_open; std::this_thread::sleep_for(kLook))
      manager.alive(monotonic_now_ns(), state + ", which opens its database");
  });
  const auto opened = [&] {
    is_open = true;
    signs.join();
    manager.ready(state);
  };
  Result<Turn> turn = await_turn(config, again, opened, [&] {
    manager.alive(monotonic_now_ns(), state);
    if (const int came = wait_for_signal(signals, 0); came != 0 && came != SIGHUP) signal = came;
    return signal != 0;
  });
  is_open = true;
  return turn;
}

// The next active controller begins with what the archive has.
void hand_over(Server& server) {
  constexpr double kMostSeconds = 3;
  constexpr double kLookSeconds = 0.05;
  for (double waited = 0; waited < kMostSeconds && !server.is_archived(); waited += kLookSeconds)
    std::this_thread::sleep_for(std::chrono::duration<double>(kLookSeconds));
}

int exit_code_of(int signal) { return signal == SIGINT ? kExitInterrupted : kExitTerminated; }

int serve(const CommandLine& command_line, const Config& config, Values in_force,
          char** arguments) {
  end_search_for_deadlocks();
  ServiceManager manager = ServiceManager::of_environment();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: all inherit it
  ::signal(SIGPIPE, SIG_IGN);
  end_when_exhausted("railgauge-controller");
  for (const std::string& line : unknown_variables(variable_names())) spdlog::warn("{}", line);
  if (const Status raised = raise_descriptor_limit(); !raised)
    spdlog::warn("{}", raised.error().message);
  Config own = config;
  own.standby.is_forced = command_line.take_over;
  own.sql_program = "/proc/self/exe";  // also after an upgrade replaced the file
  own.post_program = own.sql_program;
  const SelfStart again{.arguments = arguments, .variables = manager.variables()};
  int signal = 0;
  Turn turn;
  if (own.standby.is_on) {
    if (const std::string fault = enrolment_fault(own); !fault.empty())
      spdlog::warn(
          "standby: {}; after a takeover this host enrols and renews no node: it needs ca.crt, "
          "ca.key, index.txt, keys.txt and crl.pem of the site's authority",
          fault);
    if (const std::string fault = archive_fault(own); !fault.empty())
      spdlog::warn("standby: {}", fault);
    Result<Turn> came = stand_by(own, again, manager, signals, signal);
    if (!came) return end_start(config, came.error());
    if (signal != 0) return exit_code_of(signal);
    turn = std::move(*came);
    // The nodes that are there are measured all the same.
    if (turn.has_taken_over && !enrolment_fault(own).empty()) own.enroll = {};
  }
  Result<std::unique_ptr<Server>> server =
      start_server(own, turn.lease ? term_of(turn) : fleet::Term());
  if (!server) return end_start(config, server.error());
  spdlog::info("railgauge-controller {} serves", RAILGAUGE_VERSION);
  (*server)->report_to(manager);
  while (signal == 0 || signal == SIGHUP) {
    if (signal == SIGHUP) {
      (*server)->reload_tls();
      reopen_logs(**server);
      reload_settings(**server, command_line, in_force);
    }
    ::sigwait(&signals, &signal);
  }
  spdlog::info("stopping; a second signal does not wait for running tasks");
  manager.stopping("stopping; running tasks end");
  end_within(static_cast<unsigned>(kDrainSeconds) + kStopSeconds);
  (*server)->begin_stop();
  constexpr double kLookSeconds = 0.05;
  const double give_up = fleet::monotonic_seconds() + kDrainSeconds;
  while (!(*server)->idle() && fleet::monotonic_seconds() < give_up)
    if (const int came = wait_for_signal(signals, kLookSeconds); came != 0 && came != SIGHUP) break;
  end_within(kStopSeconds);
  if (turn.lease) hand_over(**server);
  server->reset();
  if (turn.lease) turn.lease->release();
  return exit_code_of(signal);
}

int restore(const std::string& backup, const std::string& database) {
  const auto kept = store::restore(backup, database);
  if (!kept) {
    fmt::print(stderr, "railgauge-controller: {}\n", printable(kept.error().message));
    return kExitInvalid;
  }
  fmt::print("{} restored from {}{}\n", database, backup,
             kept->empty() ? "" : fmt::format("; what stood there is kept as {}", *kept));
  return kExitPassed;
}

}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) {
  using namespace railgauge;
  // By no person: sql_process.h and deliver/send.h start these.
  if (argc == 2 && std::string_view(argv[1]) == deliver::kPostProcessFlag)
    return deliver::serve_post_process();
  if (argc == 3 && std::string_view(argv[1]) == kSqlProcessFlag) return serve_sql_process(argv[2]);
  const CommandLine command_line = parse_command_line(argc, argv);
  Result<ChosenConfig> chosen = read_config(command_line);
  if (!chosen) {
    fmt::print(stderr, "railgauge-controller: {}\n", printable(chosen.error().message));
    return kExitUsage;
  }
  const Config& config = chosen->config;
  if (command_line.check_config) return show_config(command_line, config);
  if (!command_line.restore.empty()) return restore(command_line.restore, config.database);
  set_up_logging(config);
  end_program(serve(command_line, config, std::move(chosen->texts), argv));
}
