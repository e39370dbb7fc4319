// The agent's settings: from flag, environment variable, settings file or default, in that order.
// CLI11 holds the declarations, which main.cc and the reference page read.
#pragma once

#include <map>
#include <string>

#include "agent/agent.h"
#include "agent/preflight/command.h"
#include "kernels/core/base/result.h"

namespace CLI {
class App;
}

namespace railgauge::agent {

inline constexpr const char* kDefaultConfig = "/etc/railgauge/agent.conf";

// The settings of one agent and of the two commands that print and end.
struct Settings {
  AgentOptions agent;
  PreflightCommand preflight;
  std::string config = kDefaultConfig;
  std::string metrics_listen = "127.0.0.1:7471";  // "none" serves no metrics
  std::string web_config_file;  // TLS and passwords of /metrics; "": plain HTTP for anybody
  std::string renew_from{};     // HOST[:PORT] where the certificate is renewed; "": it is not
  std::string log_level = "info";
  std::string log_format = "text";
  bool print_inventory = false;
  bool check_config = false;
  std::map<std::string, std::string> from_file;  // flag -> FILE:LINE: key, of what the file set
  std::string labels;                            // KEY=VALUE by commas
  std::string mpi_installations;                 // NAME=FLAVOR:/PREFIX by commas
  std::string data_address;                      // IPv4; "" derives it from the network
  std::string runner_environment;                // names of variables by commas
  double runner_core_mib = 0;
  double runner_file_gib = 64;
};

// Declares every flag and its environment variable. `settings` must outlive `app`, which writes
// into it. Reads the host's name and the program's path for defaults.
void declare_settings(CLI::App& app, Settings& settings);

// Applies the settings file to settings that neither a flag nor a variable set. kNotFound: a named
// file does not exist. kInvalidArgument, with file and line: an unknown key, a bad value, or MPI
// installations that do not parse.
Status apply_file(CLI::App& app, Settings& settings);

// Refuses settings that the agent cannot run with; kInvalidArgument names the flag.
Status check_settings(const Settings& settings);

// A line for each setting that is no default: key, value, source. For --check-config; `settings` is
// what declare_settings() and apply_file() made with `app`.
std::string settings_in_force(const CLI::App& app, const Settings& settings);

// The text of deploy/docs/reference/agent-settings.md. Defaults that depend on the machine (name,
// runner) are shown in words.
std::string agent_settings_page();

}  // namespace railgauge::agent
